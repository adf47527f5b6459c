#!/usr/bin/env bash
# pathgcn report: pages that are well-formed, small, and ask nobody for anything; from runs of every task, from several
# runs, from a model without its data; the command in a page repeats its run; bad input is refused.
# shellcheck source=tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

# check PAGE: an XML parser reads it, the policy is there, nothing is loaded or run, its JSON is JSON.
check() {
    python3 - "$1" <<'PYTHON' >&2 || fail "the page $1 is not as it should be"
import json, re, sys
import xml.etree.ElementTree as tree
text = open(sys.argv[1], encoding="utf-8").read()
root = tree.fromstring(re.sub(r"^<!DOCTYPE html>", "", text))
assert text.startswith("<!DOCTYPE html>"), "no doctype"
policy = [m.get("content") for m in root.iter("meta") if m.get("http-equiv") == "Content-Security-Policy"]
assert len(policy) == 1 and policy[0].startswith("default-src 'none'"), policy
assert "unsafe-eval" not in policy[0] and "script-src" not in policy[0], policy
# The policy stands before anything that it governs.
assert [e.tag for e in root.find("head")][:2] == ["meta", "meta"], "the policy comes late"
for element in root.iter():
    assert element.tag not in ("iframe", "object", "embed", "img", "image", "link", "use", "form"), element.tag
    if element.tag == "script":
        assert element.get("type") == "application/json", "a script"
    for name, value in element.attrib.items():
        assert not name.startswith("on") and name != "style" and name != "src", (element.tag, name)
        if name.endswith("href"):
            assert value.startswith("#"), value
assert not re.search(r"https?://|url\(|@import", text), "an address"
ids = [e.get("id") for e in root.iter() if e.get("id")]
assert len(ids) == len(set(ids)), "an id twice"
for link in root.iter("a"):
    assert link.get("href")[1:] in ids, link.get("href")
for svg in root.iter("svg"):
    assert svg.get("role") == "img" and svg.get("aria-label") and svg.get("viewBox"), "a picture without words"
    for element in svg.iter():
        assert "nan" not in " ".join(element.attrib.values()).split("aria")[0].replace("nance", ""), element.attrib
for script in root.iter("script"):
    json.loads(script.text)
PYTHON
    [ "$(stat -c %s "$1")" -lt "${2:-2000000}" ] || fail "$1 is too large: $(stat -c %s "$1") bytes"
}
part() { # PAGE EXPRESSION: of the JSON in it, as `run`
    python3 -c '
import json, re, sys
run = json.loads(re.search(r"id=\"pathgcn-report\">(.*?)</script>", open(sys.argv[1]).read(), re.S)[1])["runs"]
print(eval(sys.argv[2]))' "$1" "$2"
}

# -- one run ---------------------------------------------------------------------------------------
pathgcn train karate --epochs 40 --out one --quiet >/dev/null
run 0 pathgcn report one
holds "$out" "Report: report.html ("
check report.html
result() { python3 -c 'import json, sys; d = json.load(open("one/result.json")); print(eval(sys.argv[1]))' "$1"; }
holds report.html "The training nodes have 2 classes equally often; always predicting the one of them" \
    "Confusion matrix" "epoch $(result 'd["best_epoch"]') is kept" "fingerprint" "f(-1)" "Brier score" "prefers-color-scheme" "@media print" "Nodes in two dimensions"
[ "$(part report.html 'len(run[0]["history"]["val_loss"])')" = 40 ] || fail "the history is not in the page"
[ "$(part report.html 'sum(map(sum, run[0]["verdict"]["test"]["confusion"]))')" = \
    "$(result 'd["items"]["test"]')" ] || fail "confusion"
holds report.html "gets $(result '"%.1f" % d["test_accuracy"]') % right"
run 0 pathgcn report one/model.safetensors --out by-model.html
same "by model file" <(sed 's,one/model.safetensors,one,g' by-model.html) report.html
run 0 pathgcn report one --out again.html
same "a second time" report.html again.html

# -- the command in it repeats the run, of pathgcn and of another network ----------------------------
repeats() { # DIR PAGE
    local command
    command=$(part "$2" 'run[0]["command"]')
    rm -rf runs/again
    (eval "$command --quiet") >/dev/null || fail "the command of $2 failed: $command"
    same "the command of $2: $command" "$1/history.jsonl" runs/again/history.jsonl
    python3 - "$1" <<'PYTHON' || fail "the command of $2 gives other weights: $command"
import json, struct, sys
def tensors(path):  # bytes after the header, whose settings name their recipe
    data = open(path, "rb").read()
    return data[8 + struct.unpack("<Q", data[:8])[0]:]
sys.exit(tensors(sys.argv[1] + "/model.safetensors") != tensors("runs/again/model.safetensors"))
PYTHON
}
repeats one report.html
pathgcn train sbm:nodes=200 --model gcn --epochs 12 --seed 3 --split 1 --out gcn --quiet >/dev/null
run 0 pathgcn report gcn --out gcn.html
check gcn.html
repeats gcn gcn.html
! grep -q 'id="kernels"' gcn.html || fail "gcn has no kernels"
ring data/mygraph
pathgcn train data/mygraph --epochs 8 --layers 3 --kernel layer --class-weights balanced --out own --quiet >/dev/null
run 0 pathgcn report own --out own.html
check own.html
repeats own own.html

# -- graphs, several labels, many classes, names that must be escaped ---------------------------------
pathgcn train "$PATHGCN_SOURCE/examples/shapes" --epochs 5 --out graphs --quiet >/dev/null
run 0 pathgcn report graphs --out graphs.html
check graphs.html
holds graphs.html "Graphs in two dimensions"
python3 - <<'PYTHON'
names = ["<b>&amp;", "x\"y'z", "caf\u00e9", "</script>", "a|b"]
with open("e.csv", "w") as e, open("y.csv", "w") as y, open("m.csv", "w") as m:
    print("from,to", file=e)
    print("id,class", file=y)
    print("id,red,green,blue", file=m)
    for i in range(60):
        print(f"n<{i}>,n<{(i + 5) % 60}>", file=e)
        print(f"n<{i}>,n<{(i + 1) % 60}>", file=e)
        name = names[i % 5].replace('"', '""')
        print(f"n<{i}>,\"{name}\"", file=y)
        print(f"n<{i}>,{i % 2},{(i // 3) % 2},{(i // 5) % 2}", file=m)
PYTHON
pathgcn train --edges e.csv --labels y.csv --epochs 5 --out named --quiet >/dev/null
run 0 pathgcn report named --out named.html
check named.html
holds named.html "&lt;b&gt;&amp;amp;" "caf" "&lt;/script&gt;"
repeats named named.html
pathgcn train --edges e.csv --labels m.csv --epochs 5 --out many --quiet >/dev/null
run 0 pathgcn report many --out many.html
check many.html
holds many.html "micro-averaged F1" "By how well their labels are predicted"

# -- files for papers ----------------------------------------------------------------------------
run 0 pathgcn report one --out one.html --svg figures/svg --latex figures/tex
for name in loss accuracy confusion calibration kernels response items-by-class items-by-error; do
    python3 -c 'import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])' "figures/svg/$name.svg" ||
        fail "figures/svg/$name.svg is no XML"
    grep -q 'xmlns="http://www.w3.org/2000/svg"' "figures/svg/$name.svg" || fail "$name.svg is no SVG"
    holds "figures/tex/$name.tex" '\begin{tikzpicture}' '\end{tikzpicture}'
done
if command -v pdflatex >/dev/null && kpsewhich pgfplots.sty >/dev/null; then
    {
        echo '\documentclass{article}\usepackage[T1]{fontenc}\usepackage{pgfplots}\pgfplotsset{compat=1.16}'
        echo '\usepgfplotslibrary{fillbetween}\begin{document}'
        for name in figures/tex/*.tex; do echo "\\input{$name}\\clearpage"; done
        echo '\end{document}'
    } >paper.tex
    run 0 pdflatex -interaction=nonstopmode -halt-on-error paper.tex
fi
holds figures/tex/confusion.tex "at (axis cs:0,0) {$(part report.html 'run[0]["verdict"]["test"]["confusion"][0][0]')}"

# -- a training that ended too soon, and steps that add up ------------------------------------------------
run 0 pathgcn train karate --recipe none --epochs 3 --out short
holds "$out" "The best epoch is the last one: the network was still getting better" "--epochs 6 --resume"
run 0 pathgcn report short --out short.html
holds short.html "The epoch that was kept, 3, is the last one"
! grep -q "is the last one" report.html || fail "epoch $(result 'd["best_epoch"]') of 40 is not the last one"
run 0 pathgcn train karate --recipe none --epochs 3 --scaling sum --train-form exact --out sum --quiet
run 0 pathgcn report sum --out sum.html
holds sum.html "x reaches as far as the largest degree" "factor x of one step" "between -1 and 1, a part of the spectrum"
! grep -q "channels that smooth\|over the spectrum \[-1, 1\]" sum.html || fail "the spectrum of sums is not [-1, 1]"
holds report.html "channels that smooth" "over the spectrum [-1, 1]"
run 0 pathgcn kernels sum/model.safetensors
holds "$out" "f(1), f(0) and f(-1) do not tell"

# -- several runs, several seeds -------------------------------------------------------------------
pathgcn train karate --epochs 15 --seeds 3 --out seeds --quiet >/dev/null
pathgcn train karate --epochs 15 --seeds 3 --dropout 0.1 --out other --quiet >/dev/null
run 0 pathgcn report seeds --out seeds.html
check seeds.html
holds seeds.html "Over 3 trainings the mean is"
run 0 pathgcn report seeds other --out two.html --json
check two.html
[ "$(json "$out" runs)" = 2 ] || fail "$(cat "$out")"
holds two.html "other against seeds" "dropout" "3 pairs by seed and split"
run 0 pathgcn compare seeds other
verdict=$(grep -o 'against.*' "$out" | sed 's/seeds: //; s/against //')
holds two.html "$verdict"
# seeds are no settings
run 0 pathgcn train karate --recipe none --epochs 3 --seed 5 --out short-5 --quiet
run 0 pathgcn report short short-5 --out seeds-only.html
holds seeds-only.html "Nothing: all settings are equal" "Their seeds differ" "short 0, short-5 5"
! grep -q "<td[^>]*>seed</td>\|<th[^>]*>seed</th>" seeds-only.html || fail "the seed is told as a setting"
run 0 pathgcn report one gcn --out "other data.html"
check "other data.html"
holds "other data.html" "not of the same data"
holds "other data.html" "differences are not tested"
refused 1 "cannot be compared" report one graphs

# -- what is missing is said ------------------------------------------------------------------------
cp -r own moved
mv data/mygraph data/elsewhere
run 0 pathgcn report moved --out missing.html
check missing.html
holds missing.html "The data set is not here" "Always predicting the most frequent class" 'id="kernels"'
! grep -q 'id="calibration"' missing.html || fail "a verdict without data"
rm moved/result.json moved/data.json
run 0 pathgcn report moved --out less.html
check less.html
holds less.html "nobody can say how good it is"
mv data/elsewhere data/mygraph

# -- tune, reproduce and a race write one ------------------------------------------------------------
default_recipe=
run 0 pathgcn train karate --recipe auto --epochs 20 --out raced --quiet
holds "$out" "Report: raced/report.html"
check raced/report.html
holds raced/report.html "raced on validation"
run 0 pathgcn train karate --recipe usual --epochs 5 --out raced --overwrite --quiet
[ ! -e raced/report.html ] || fail "the report of the run before is still there"
run 0 pathgcn tune karate --recipe usual --candidates 4 --runs 2 --epochs 10 --out tuned --quiet
check tuned/report.html
holds tuned/report.html "validation data only" "Where in the space"
run 0 pathgcn reproduce semi --datasets karate --layers 2,4 --seeds 2 --quick --out tables --quiet
check tables/report.html
holds tables/report.html "test accuracy by layers"

# -- bad input -------------------------------------------------------------------------------------
refused 2 "first argument is missing|RUN" report
refused 1 "holds no model|model.safetensors" report data
refused 1 "nowhere" report nowhere
printf 'no model' >broken.safetensors
refused 1 "broken.safetensors" report broken.safetensors
refused 1 "no/such/folder" report one --out no/such/folder/page.html
printf 'a file' >file
refused 1 "file" report one --svg file
refused 2 "--colour" report one --colour
if [ -z "$sanitized" ] && [ -n "$cora" ]; then
    pathgcn train cora --data "${cora%/cora}" --epochs 5 --out cora-run --quiet >/dev/null
    run 0 pathgcn report cora-run --out cora.html
    check cora.html 2000000
fi
echo "report: all pages are well-formed and closed"
