#!/usr/bin/env bash
# pathgcn reproduce arena: a nested search for every network and data set, one budget for all; cells that are done are
# not searched again, and those that are not stay empty.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

club=karate:stratified=50/25/25,splits=2
arena=(reproduce arena --quick --datasets "$club grid:rows=6,cols=6:stratified=50/25/25,splits=2" --jobs 2 --out made)

# ---- refused before anything is trained ------------------------------------------------------------
refused 2 "there is no network 'gcnn'|did you mean gcn" reproduce arena --models mlp,gcnn --out made
refused 2 "'karate' is one argument too many|--datasets karate" reproduce arena karate --out made
refused 2 "--models names 'mlp' twice" reproduce arena --models mlp,gcn,mlp --out made
refused 2 "--datasets names 'grid' twice" reproduce arena --datasets grid,grid --out made
refused 2 "--layers|the same budget" reproduce arena --layers 3 --out made
refused 2 "--recipe|the same budget" reproduce arena --recipe none --out made
refused 2 "--seeds is '0', expected a whole number from 1" reproduce arena --seeds 0 --out made
refused 2 "--model|--models chooses networks" reproduce arena --model gcn --out made
[ ! -e made/arena ] || fail "a refused command left a directory"

# ---- nothing is done yet ---------------------------------------------------------------------------
refused 2 "made|does not exist|without --report" "${arena[@]}" --report
[ ! -e made ] || fail "a report of nothing left a directory"
mkdir made
run 0 pathgcn "${arena[@]}" --models pathgcn,mlp --report
holds "$err" "note: 0 of 4 cells are done; the same command without --report goes on with the others"
holds "$out" "mlp"
run 0 pathgcn "${arena[@]}" --models pathgcn,mlp --report --quiet
[ ! -s "$err" ] || fail "a quiet report had something to say: $(cat "$err")"

# ---- two networks, then a third: what is done stays --------------------------------------------------
run 0 pathgcn "${arena[@]}" --models pathgcn,mlp
holds "$err" "cell 1 of 4, pathgcn on $club" "split 0, rung 1 of 1: 2 jobs on 2 processes" "test: 2 jobs" \
    "cell 4 of 4, mlp on grid"
! awk -F, 'NR > 1 { print $(NF - 1) }' made/arena.csv | grep -vE '[1-9]' || fail "core-hours of a search are 0"
holds "$out" "tied" "core-hours" "95 % interval" "pathgcn is better in " " of 2 pairs" "By p below 0.05: " " accuracy " \
    "with --nested --candidates 2 --search-seed 0 --seed 1000 --epochs 5"
holds made/arena/karate-stratified-50-25-25-splits-2/mlp/arena.txt "--candidates 2" "--epochs 5" "--seed 1000" \
    "--model mlp" "--runs 1"
holds made/arena/karate-stratified-50-25-25-splits-2/mlp/nested.json '"candidates": 2' '"peak_rss_bytes"' '"train": 18'
for file in json csv md tex; do [ -s "made/arena.$file" ] || fail "there is no arena.$file"; done
cp made/arena.csv first.csv
run 0 pathgcn "${arena[@]}" --models pathgcn,mlp,gcn
! grep -qE "(pathgcn|mlp) on" "$err" || fail "a cell that was done was searched again"
holds "$err" "gcn on $club" "gcn on grid"
run 0 pathgcn "${arena[@]}" --models pathgcn,mlp --report
[ ! -s "$err" ] || fail "a report had something to say: $(cat "$err")"
cmp made/arena.csv first.csv || fail "a report of the same cells is another one"

# ---- two small files are all that a finished cell needs ------------------------------------------------
(cd made && find arena -name arena.txt -o -name nested.json) | while read -r file; do
    mkdir -p "moved/${file%/*}"
    cp "made/$file" "moved/$file"
done
run 0 pathgcn "${arena[@]/made/moved}" --models pathgcn,mlp --report
cmp moved/arena.csv first.csv || fail "cells that were moved make another table"
sed -i '/"core_seconds"/d; s/"train": /"taught": /' moved/arena/*/*/nested.json # as of a build that did not record them
run 0 pathgcn "${arena[@]/made/moved}" --models mlp --report
[ -z "$(awk -F, 'NR > 1 { printf "%s", $(NF - 1) }' moved/arena.csv)" ] || fail "core-hours of cells that have none"
run 0 pathgcn "${arena[@]/made/moved}" --models pathgcn,mlp --report
holds "$out" "pathgcn is better in " # by the plain error; p needs the sizes of splits
! grep -q "By p below" "$out" || fail "p-values of splits whose sizes are not known"

# ---- a difference that rounds to nothing has no sign -----------------------------------------------------
all_tests() { # NETWORK FIGURE: of all splits of its cells
    local file
    for file in moved/arena/*/"$1"/nested.json; do
        awk -v figure="$2" '/"test_[a-z]*": {/ { print; getline; sub(/[0-9.]+/, figure) } { print }' "$file" >changed
        mv changed "$file"
    done
}
all_tests mlp 50
for figure in 49.999 50 50.001; do
    all_tests pathgcn $figure
    run 0 pathgcn "${arena[@]/made/moved}" --models pathgcn,mlp --report
    [ "$(grep -c ',0.00 ± 0.00,' moved/arena.csv)" = 2 ] || fail "$figure minus 50: $(cat moved/arena.csv)"
done
all_tests pathgcn 49.9
run 0 pathgcn "${arena[@]/made/moved}" --models pathgcn,mlp --report
holds moved/arena.csv ",-0.10 ± 0.00,"
run 0 pathgcn "${arena[@]/made/moved}" --models pathgcn,mlp --report --json
holds "$out" '"test_mean":49.9,' '"splits":2,' '"difference_mean":null,' '"verdict":"pathgcn worse"' '"measure":"accuracy"'

# ---- cells of other data are not compared ----------------------------------------------------------------
sed -i 's/"fingerprint": "[0-9a-f]*"/"fingerprint": "0"/' moved/arena/grid*/mlp/nested.json
run 0 pathgcn "${arena[@]/made/moved}" --models pathgcn,mlp --report
holds "$out" " of 1 pair,"
holds "$err" "mlp on grid" "was searched on other data than pathgcn" "--fresh"

# ---- another budget is another cell, and what is done is not written over ----------------------------------
run 0 pathgcn "${arena[@]}" --models pathgcn,mlp --epochs 6 --report
holds "$err" "0 of 4 cells are done" "4 of the others are done with other arguments"
mkdir before
cp -r made/arena before
refused 2 "made/arena/karate|other arguments|--out|--fresh" "${arena[@]}" --models mlp --epochs 6
diff -r made/arena before/arena || fail "a refused arena changed what was done"
run 0 pathgcn "${arena[@]/made/before}" --models mlp --epochs 6 --fresh
echo '{' >before/arena/karate-stratified-50-25-25-splits-2/mlp/nested.json
run 0 pathgcn "${arena[@]/made/before}" --models mlp --epochs 6 --report
holds "$err" "mlp/nested.json' cannot be read" "1 of 2 cells are done"

# ---- a part key=value belongs to the name before it ----------------------------------------------------------
run 0 pathgcn reproduce arena --quick --datasets "$club,grid:rows=6,cols=6:stratified=50/25/25,splits=2" --models mlp \
    --jobs 2 --out made --report
[ ! -s "$err" ] || fail "names with commas were taken apart: $(cat "$err")"

# ---- one that fails stays empty ----------------------------------------------------------------------------
run 1 pathgcn reproduce arena --quick --datasets "$club nowhere" --models mlp,gcn --jobs 2 --out made
holds "$err" "no data set 'nowhere'" "the cells of nowhere stay empty" \
    "2 of 4 cells are done; the others are of data sets that are not here"
[ "$(grep -c nowhere "$err")" = 1 ] || fail "a data set that is not here is named more than once"
[ ! -e made/arena/nowhere ] || fail "a search was begun on a data set that is not here"
run 1 pathgcn reproduce arena --quick --datasets "$club grid:rows=6,cols=6" --models mlp --jobs 2 --epochs 0 --out failing
holds "$err" "--epochs is '0', expected" "is not done, for the reason above, and its cell stays empty"
run 1 pathgcn reproduce arena --quick --datasets "$club" --models mlp --jobs 2 --epochs 0 --out failing --quiet
holds "$err" "--epochs is '0', expected"
