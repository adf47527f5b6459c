#!/usr/bin/env bash
# pathgcn tune --nested: every split is searched by itself and tested once. The labels of its test nodes,
# which train in other splits, change nothing that is chosen for it, and everything that is tested.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

club=karate:stratified=50/25/25,splits=3
small=(--recipe none --nested --candidates 4 --runs 2 --keep 2 --epochs 10 --patience 0)

# steady FILE: what does not depend on the clock
steady() { grep -vE '"(seconds|core_seconds|peak_rss_bytes)"' "$1"; }
# test_of FILE SPLIT: the mean test accuracy of a split in nested.json
test_of() {
    awk -v which="\"$2\"," '$1 == "\"split\":" { here = $2 == which }
        here && /"test_accuracy": \{/ { getline; gsub(/[^0-9.]/, ""); print; exit }' "$1"
}

# ---- a whole one, interrupted and resumed --------------------------------------------------------

run 0 pathgcn tune "$club" "${small[@]}" --jobs 2 --out whole
holds "$out" "$club, 3 splits, each searched by itself from the defaults: 4 candidates" \
    "rungs: 4 x 1 runs, 2 x 2 runs" "validation accuracy" "test accuracy" "95 % interval of the mean" \
    "Split 2, candidate" "seeds 0 to 1" "whole/nested.json"
holds "$err" "split 0, rung 1 of 2" "split 2, rung 2 of 2" "test: 6 jobs"
[ "$(records whole)" = 6 ] || fail "not one test for every split and seed"
spent=$(sed -n 's/.*"core_seconds": \([0-9.e-]*\),*/\1/p' whole/nested.json)
cat whole/jobs/*.json whole/split-?/jobs/*.json | awk -v spent="$spent" '
    /"core_seconds":/ { gsub(/[^0-9.e-]/, "", $2); sum += $2 }
    END { exit !(sum > 0 && spent > 0.999 * sum && spent < 1.001 * sum) }' ||
    fail "core_seconds, $spent, is not the sum over all trainings"
for split in {0..2}; do
    untested "whole/split-$split"
    [ -n "$(test_of whole/nested.json "$split")" ] || fail "split $split was not tested"
done
holds whole/split-1/karate.recipe "split = 1"
run 0 pathgcn train "$club" --recipe whole/split-1/karate.recipe --seeds 2 --quiet --out again --json
about "$(json "$out" test_accuracy_mean)" "$(test_of whole/nested.json 1)" 1e-6 # the same runs
[ "$(grep -o '"split":"1"' "$out" | wc -l)" -ge 2 ] || fail "the recipe of split 1 trains on another"

# the mean is over the splits, and its interval that of Student's t for three of them
for split in {0..2}; do test_of whole/nested.json "$split"; done >tests
read -r mean half < <(awk '{ s += $1; q += $1 * $1 }
    END { m = s / NR; print m, 4.3027 * sqrt((q - s * m) / (NR - 1) / NR) }' tests)
run 0 pathgcn tune "$club" "${small[@]}" --jobs 2 --out whole --json
[ "$(wc -l <"$out")" = 1 ] || fail "--json printed more than one line"
got=$(grep -oE '"test_accuracy":\{"mean":[0-9.]+' "$out" | head -n 1 | grep -oE '[0-9.]+$')
read -r low high < <(grep -oE '"interval_95":\[[^]]*' "$out" | sed -n 2p | sed 's/.*\[//; s/,/ /')
about "$got" "$mean" 1e-3
about "$low" "$(awk "BEGIN { x = $mean - $half; print (x < 0 ? 0 : x) }")" 1e-2
about "$high" "$(awk "BEGIN { x = $mean + $half; print (x > 100 ? 100 : x) }")" 1e-2

# what was tested is what was chosen: trained again with test nodes, validation is the same to the digit
for split in {0..2}; do
    best=$(grep -m 1 -A 40 '"candidates": \[' "whole/split-$split/tune.json" |
        awk '/"val_accuracy": \{/ { getline; gsub(/[^0-9.]/, ""); print; exit }')
    again=$(awk -v which="\"$split\"," '$1 == "\"split\":" { here = $2 == which }
        here && /"val_accuracy": \{/ { getline; gsub(/[^0-9.]/, ""); print; exit }' whole/nested.json)
    [ -n "$best" ] || fail "no validation accuracy in split-$split/tune.json"
    about "$best" "$again" 1e-9
done

for moment in search test; do
    cp -r whole "stopped-$moment"
    rm "stopped-$moment/nested.json"
    rm -f "stopped-$moment"/jobs/*
    [ $moment = test ] || rm -r stopped-search/split-[12]
    count=$(find "stopped-$moment" -name '*.json' | wc -l)
    "$PATHGCN" tune "$club" "${small[@]}" --jobs 1 --out "stopped-$moment" >"$out" 2>"$err" &
    pid=$!
    more() { [ "$(find "stopped-$moment" -name '*.json' | wc -l)" -gt $((count + 1)) ]; }
    wait_for 60 more
    kill -KILL $pid
    wait $pid 2>/dev/null || true
    [ ! -e "stopped-$moment/nested.json" ] || fail "it was not interrupted in the middle"
    sleep 0.2 # for the system to end a worker
    run 0 pathgcn tune "$club" "${small[@]}" --jobs 2 --out "stopped-$moment" --quiet
    [ ! -s "$err" ] || fail "--quiet prints"
    same "killed in the $moment and resumed" <(steady whole/nested.json | sed 's|whole/||') \
        <(steady "stopped-$moment/nested.json" | sed "s|stopped-$moment/||")
done
echo "killed while searching and while testing, resumed: the same result"

# ---- test labels have no influence on choices ----------------------------------------------------

# three splits of twelve nodes: of the groups 0-3, 4-7 and 8-11 each tests once and trains once
three_splits() { # DIR GROUP: the labels of a group are exchanged; -1: of none
    local node labels=() part
    ring "$1"
    rm "$1"/*_mask.npy
    mkdir "$1/splits"
    for node in {0..11}; do labels+=($(((node + (node / 4 == $2)) % 2))); done
    i32 "${labels[@]}" | npy "$1/y.npy" '<i4' '(12,)'
    for part in 0 1 2; do # in split s: group s tests, s + 1 validates, s + 2 trains
        local name=(test val train) mask=()
        for split in 0 1 2; do
            for node in {0..11}; do mask+=($((node / 4 == (split + part) % 3))); done
        done
        u8 "${mask[@]}" | npy "$1/splits/${name[part]}_masks.npy" '|u1' '(3, 12)'
    done
}

for changed in -1 0 1 2; do
    three_splits "labels$changed/graph" "$changed"
    (cd "labels$changed" && run 0 pathgcn tune graph "${small[@]}" --jobs 2 --quiet --out search)
done
for split in 0 1 2; do
    one=labels-1/search/split-$split two=labels$split/search/split-$split
    for file in graph.recipe tune.json; do
        same "split $split, $file with other test labels" <(steady $one/$file) <(steady $two/$file)
    done
    [ "$(ls $one/jobs)" = "$(ls $two/jobs)" ] || fail "split $split: other jobs with other test labels"
    # but it is tested with the labels that it has: two classes, all of them exchanged
    about "$(test_of labels-1/search/nested.json $split)" \
        "$(awk "BEGIN { print 100 - $(test_of labels$split/search/nested.json $split) }")" 1e-4
    other=$(((split + 1) % 3)) # where these nodes train or validate they do count
    cmp -s <(steady labels-1/search/split-$other/tune.json) <(steady labels$split/search/split-$other/tune.json) &&
        fail "the labels do not differ"
done
echo "other labels of the test nodes of a split: the same choices for it"

# ---- graphs, recipes, refusals -------------------------------------------------------------------

cp -r "$PATHGCN_SOURCE/examples/shapes" shapes
run 0 pathgcn tune shapes:kfold=3 --nested --candidates 2 --runs 1 --epochs 2 --quiet --out graphs
holds "$out" "3 splits, each searched by itself from the winner of its own race" "test graphs" "Test accuracy"
holds graphs/nested.json '"task": "graph"' '"start_is_of_this_data_set": false'

run 0 pathgcn tune karate --nested --split 2 --candidates 2 --runs 1 --epochs 2 --out one
holds "$out" "karate, 1 split, each searched by itself" "One run for each split, seed 0"
holds one/nested.json '"interval_95": null'

# a recipe of the data set has seen all its splits: it is used when asked for, and that is said
run 0 pathgcn tune grid --nested --split 0 --candidates 2 --runs 1 --epochs 2 --out plain
grep -q "recipe grid" "$err" && fail "the recipe of the data set was used"
run 0 pathgcn tune grid --nested --split 0 --recipe grid --candidates 2 --runs 1 --epochs 2 --out seen
holds "$err" "note: recipe grid is one of this data set"
holds "$out" "recipe grid, is one of this data set and may have seen these labels"
holds seen/nested.json '"start_is_of_this_data_set": true'

refused 2 "has no test graphs|kfold=K in place of crossval=K" tune shapes:crossval=3 --nested --quiet
refused 2 "--score common-epoch|accuracy or loss" tune karate --nested --score common-epoch
