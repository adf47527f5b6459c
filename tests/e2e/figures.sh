#!/usr/bin/env bash
# pathgcn reproduce figures: all figures on a built-in graph, their files, what is skipped, and that models are kept.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

unset PATHGCN_DATA
well_formed() {
    python3 -c 'import sys, xml.dom.minidom
for path in sys.argv[1:]: xml.dom.minidom.parse(path)' "$@" || fail "not well-formed: $*"
}
quick=(figures --quick --datasets karate --epochs 3 --jobs 2)

# ---- all of them ---------------------------------------------------------------------------------

run 0 pathgcn reproduce "${quick[@]}" --out all
holds "$out" figure-1 figure-2 figure-3 figure-4 figure-5 smoothing "all/figures.html"
for name in figure-1 figure-2 figure-3 figure-4 figure-5 smoothing; do
    for ending in svg tex csv json; do [ -s "all/$name.$ending" ] || fail "there is no $name.$ending"; done
    python3 -m json.tool "all/$name.json" >/dev/null || fail "$name.json is not JSON"
done
well_formed all/*.svg all/figures.html
holds all/figures.html "Content-Security-Policy" "What is seen:" "In the paper:" "Measured here:" "A quick run"
holds all/figure-3.svg "A quick run" "ChebNet" "pathGCN"
holds all/figure-3.csv "cheb,karate,cheb,2" "cheb,karate,pathgcn,8"
holds all/figure-5.csv "paths,karate" "lengths,karate"
holds all/figure-4.csv "all 8 layers" "layer 8"
holds all/smoothing.csv "karate,GCN,2,1" "karate,GCNII,8,0" "karate,pathGCN,8,8"
holds all/figure-1.tex '\begin{tikzpicture}' '\resizebox'
if command -v pdflatex >/dev/null && kpsewhich pgfplots.sty >/dev/null; then
    {
        echo '\documentclass{article}\usepackage[T1]{fontenc}\usepackage{tikz}\begin{document}'
        for name in all/figure-[12].tex; do echo "\\noindent\\input{$name}\\clearpage"; done
        echo '\end{document}'
    } >paper.tex
    run 0 pdflatex -interaction=nonstopmode -halt-on-error paper.tex
    ! grep -q 'Overfull .hbox' paper.log || { grep 'Overfull' paper.log && fail "a figure is wider than a page"; }
fi
! grep -q 'https\?://' <(sed 's|http://www.w3.org/2000/svg||' all/figures.html) || fail "the page names another one"

# every operator of Figure 1 adds up to the sum of the kernel
awk -F , 'NR > 1 { sum[$1] += $6 } END { for (p in sum) if (sum[p] < 2.39999 || sum[p] > 2.40001) exit 1 }' \
    all/figure-1.csv || fail "an operator of Figure 1 does not add up to 2.4"

# ---- again: nothing is trained, the same bytes; a model that is lost is made again ---------------

cp -rp all before
run 0 pathgcn reproduce "${quick[@]}" --out all --json
[ "$(wc -l <"$out")" = 1 ] || fail "--json printed more than one line"
holds "$out" '"experiment":"figures"' '"drawn":true'
diff -r before all || fail "finished figures were changed by being asked for again"
model=$(find all/jobs -name '*.safetensors' | sort | head -n 1)
rm "$model"
run 0 pathgcn reproduce "${quick[@]}" --only 4,smoothing --out all
cmp "$model" "before/${model#all/}" || fail "another model"
same "Figure 4" all/figure-4.csv before/figure-4.csv

# ---- some, and what cannot be drawn --------------------------------------------------------------

run 0 pathgcn reproduce figures --only 1,2 --quick --out two
[ ! -e two/figure-3.svg ] && [ -s two/figure-2.svg ] || fail "--only drew others"
grep -q 'slope -0\.[45]' two/figure-2.json || fail "the distance does not fall as it should"
same "Figure 1" two/figure-1.svg all/figure-1.svg
run 0 pathgcn reproduce figures --only 3,4 --quick --out none
holds "$out" "data set cora is not here" "data fetch cora"
holds none/figures.html "Skipped: data set cora is not here"
run 1 pathgcn reproduce "${quick[@]}" --report --out later
[ "$(grep -c 'none of its trainings is done' "$out")" = 3 ] || fail "figures without trainings do not say so"
[ ! -e later/figure-3.svg ] && [ -s later/figure-1.svg ] || fail "a figure of nothing was drawn"
run 2 pathgcn reproduce figures --only 7
holds "$err" "--only is '7', expected some of 1, 2, 3, 4, 5 and smoothing"
run 2 pathgcn reproduce semi --only 1
holds "$err" "--only is for figures"
run 2 pathgcn reproduce figure
holds "$err" "did you mean figures?"
