#!/usr/bin/env bash
# pathgcn tune on small graphs: a table, a recipe that trains, resuming after SIGINT and SIGKILL, and
# that the labels of test nodes have no influence on anything it writes.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

epochs=40
[ -z "$sanitized" ] || epochs=10
cat >small.space <<SPACE
# three settings
lr-mix = 1e-3 .. 1e-1 log
dropout = 0.2 | 0.5 | 0.7
path-length = 2 .. 4
SPACE
common=(tune karate --space small.space --candidates 6 --runs 3 --epochs $epochs --patience 0 --jobs 2)

# same_search WHAT DIR DIR: all but the clock and the name of the directory
same_search() {
    local directory
    for directory in "$2" "$3"; do
        grep -v '"seconds"' "$directory/tune.json" | sed "s|\"$directory/|\"DIR/|" >"$scratch/${directory##*/}.json"
    done
    same "$1" "$scratch/${2##*/}.json" "$scratch/${3##*/}.json"
    same "$1" "$2"/*.recipe "$3"/*.recipe
}

# ---- a whole search ------------------------------------------------------------------------------

run 0 pathgcn "${common[@]}" --out whole
holds "$out" "6 candidates of space small.space" "6 x 1 runs" "2 x 3 runs" "the present recipe" \
    "no split had test nodes" "Of the 10 splits, test nodes of one train or validate in others" \
    "--nested" "whole/karate.recipe"
holds "$err" "rung 1 of 2" "rung 2 of 2"
holds whole/karate.recipe "#   lr-mix = 1e-3 .. 1e-1 log" "searched = 6 candidates" "layers = 2"
holds whole/tune.json '"space_text"' '"best"' '"chosen_by": "val_accuracy"'
untested whole
for key in fingerprint split split_sha256 bits_revision isa; do
    [ -z "$(grep -L "\"$key\": " whole/jobs/*.json)" ] || fail "a record does not tell its $key"
done
run 0 pathgcn recipes show whole/karate.recipe
run 0 pathgcn train karate --epochs 3 --quiet --out trained --recipe whole/karate.recipe

run 0 pathgcn "${common[@]}" --out whole --json
[ "$(wc -l <"$out")" = 1 ] || fail "--json printed more than one line"
holds "$out" '"dataset":"karate"' '"candidates":['
run 0 pathgcn "${common[@]}" --search-seed 1 --out other --quiet
[ ! -s "$err" ] || fail "--quiet prints"
cmp -s whole/tune.json other/tune.json && fail "another seed of the search, the same candidates"

# the present recipe stays to the end, bad as it may be
echo 'lr-ends = 0.01 .. 0.03' >better.space
run 0 pathgcn tune karate --space better.space --candidates 6 --runs 3 --epochs $epochs --patience 0 \
    --lr-ends 1e-6 --out bad --json
grep -oE '\{"candidate":0,"rung":2,"runs":3,' "$out" >/dev/null ||
    { show_last && fail "the present recipe has not all its runs"; }

# batches of one graph, as train makes them: for every candidate, and for who takes the recipe
run 0 pathgcn tune karate --model gcn --batch 8 --neighbours 3 --space better.space --candidates 3 --runs 1 \
    --epochs 2 --patience 0 --out batches --quiet
[ "$(grep -l '"batch-by": "nodes"' batches/jobs/*.json | wc -l)" = 3 ] || fail "a candidate is not in batches"
run 0 pathgcn train karate --model gcn --batch 8 --neighbours 3 --epochs 2 --patience 0 --out in-batches --quiet
run 0 pathgcn train karate --recipe batches/karate.recipe --out from-recipe --quiet
grep -qaE 'batch-by[\\": ]+nodes' from-recipe/model.safetensors || fail "the recipe does not train in batches"
loss=$(sed -n 's/.*"val_loss":\([^,]*\).*/\1/p' in-batches/history.jsonl | tail -n 1)
grep -qF "\"val_loss\":$loss" batches/jobs/*.history.jsonl || fail "no candidate trained as train does"
printf '%s\n' "batch = 4 | 8" >batch.space
run 0 pathgcn tune karate --space batch.space --candidates 4 --runs 1 --epochs 2 --patience 0 --out drawn --quiet
grep -q '"batch-by": "nodes"' drawn/jobs/*.json || fail "a drawn batch is not a batch of nodes"
refused 2 "neighbours is 3,3,3, 3 numbers" tune karate --model gcn --layers 2 --batch 8 --neighbours 3,3,3 --out nowhere

# ---- interrupted ---------------------------------------------------------------------------------

one=("${common[@]}")
one[-1]=1 # job at a time
for signal in INT KILL; do
    "$PATHGCN" "${one[@]}" --out "stopped-$signal" >"$out" 2>"$err" &
    pid=$!
    wait_for 60 has_records "stopped-$signal" 3
    kill -$signal $pid
    code=0
    wait $pid 2>/dev/null || code=$?
    [ $code != 0 ] || fail "it was not interrupted in the middle"
    [ ! -e "stopped-$signal/tune.json" ] || fail "an interrupted search has a result"
    [ $signal = KILL ] || holds "$err" "Interrupted"
    sleep 0.2 # for the system to end a worker
    run 0 pathgcn "${common[@]}" --out "stopped-$signal"
    same_search "interrupted by $signal and resumed" whole "stopped-$signal"
done
echo "interrupted by SIGINT and SIGKILL, resumed: the same search"

# ---- test labels have no influence ---------------------------------------------------------------

for labels in one two; do
    ring $labels/graph
    [ $labels = one ] || i32 0 1 0 1 0 1 0 1 1 0 1 0 | npy two/graph/y.npy '<i4' '(12,)' # 8 to 11 test
    (
        cd $labels
        run 0 pathgcn tune graph --space ../small.space --candidates 4 --runs 3 --epochs 10 --quiet \
            --out search
        cp "$out" table
    )
done
cmp -s one/graph/y.npy two/graph/y.npy && fail "the labels do not differ"
mv one/search one/first && mv two/search two/second
same "the table with other test labels" one/table two/table
for file in graph.recipe tune.json; do
    grep -v '"seconds"' one/first/$file >"$scratch/a"
    grep -v '"seconds"' two/second/$file >"$scratch/b"
    same "$file with other test labels" "$scratch/a" "$scratch/b"
done
[ "$(ls one/first/jobs)" = "$(ls two/second/jobs)" ] || fail "other jobs with other test labels"
echo "other labels of test nodes: the same search"

# ---- a budget, failing candidates, refusals ------------------------------------------------------

# how many candidates fit is decided once: going on must not make another search of it
budget=(tune karate --space small.space --budget 1 --runs 2 --epochs 1000 --patience 0 --keep 2 --out budget)
for decided in first again; do
    : >"$err"
    "$PATHGCN" "${budget[@]}" >"$out" 2>"$err" &
    pid=$!
    wait_for 60 grep -q "rung 1" "$err" # which is later than the number was decided
    kill -INT $pid
    wait $pid || true
    cp budget/budget.json $decided.json
done
holds first.json '"candidates"'
same "the number of candidates" first.json again.json

# candidates that cannot be trained are out, the others are not
ring missing
u8 1 0 1 0 0 0 0 0 0 0 0 0 | npy missing/train_mask.npy '|u1' '(12,)' # no node of class 1
echo 'allow-missing-class = no' >strict.space
run 1 pathgcn tune missing --space strict.space --candidates 3 --runs 1 --epochs 5 \
    --allow-missing-class yes --out strict
holds "$out" "0, the present recipe" "failed" "2 candidates were dropped"
holds "$err" "a job failed" "no training node of class 1" "1 training failed, and not because of its numbers"
holds strict/missing.recipe "allow-missing-class = yes"
# numbers that are not finite are what a search has to expect
printf 'lr-mix = 100\nlr-ends = 100\nlr-kernel = 100\n' >wild.space
run 0 pathgcn tune sbm --space wild.space --candidates 2 --runs 1 --epochs 100 --patience 0 --layers 16 \
    --wd-mix 0 --wd-kernel 0 --channels 8 --out wild
holds "$out" "1 candidate was dropped"
holds "$err" "a job failed" "not finite"
run 1 pathgcn tune missing --recipe none --candidates 3 --runs 1 --epochs 5 --allow-missing-class no --out all-fail
holds "$err" "every candidate failed"

echo 'dropot = 0 .. 1' >bad.space
refused 2 "space bad.space, line 1|dropot|did you mean dropout" tune karate --space bad.space
refused 2 "nowhere.space|semi, full, heterophilous, graph and multilabel" tune karate --space nowhere.space
refused 2 "--budget and --candidates" tune karate --budget 1 --candidates 5
run 0 pathgcn tune karate --recipe none --candidates 2 --runs 2 --epochs 2 --score loss --out by-loss
holds "$out" "gain in accuracy ± standard error" "Chosen by validation loss"
refused 2 "--score is 'f1'" tune karate --score f1
refused 2 "there is no data set" tune
run 0 pathgcn tune --list-spaces
holds "$out" "# semi:" "# full:" "# heterophilous:" "# graph:" "# multilabel:" "lr-mix = "

# ---- where no recipe is known, the winner of a race is the start ---------------------------------

run 0 pathgcn tune karate --candidates 4 --runs 1 --epochs 18 --out raced
holds "$err" "the search starts from recipe any-" "which won the race on validation"
first=$(sha raced/tune.json)
run 0 pathgcn tune karate --candidates 4 --runs 1 --epochs 18 --out raced
[ "$(sha raced/tune.json)" = "$first" ] || fail "the same command again is another search"
