#!/usr/bin/env bash
# pathgcn reproduce on built-in graphs: tables, files, the command that repeats a run; interrupted,
# killed and failing jobs, after which the same command ends with the same table.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

epochs=60 graph=sbm:nodes=150
[ -z "$sanitized" ] || { epochs=15 graph=sbm:nodes=60; }
common=(semi --datasets "karate,$graph" --layers 1,2 --seeds 2 --epochs "$epochs" --patience 0 --jobs 2)

works() { [ -n "$(find "$1/jobs" -name '*.log' 2>/dev/null)" ]; }
# same_tables WHAT DIR DIR: all but what was measured with a clock
same_tables() {
    same "$1" "$2/semi.md" "$3/semi.md"
    cut -d , -f 1-23,25 "$2/semi.csv" >"$scratch/a.csv"
    cut -d , -f 1-23,25 "$3/semi.csv" >"$scratch/b.csv"
    same "$1" "$scratch/a.csv" "$scratch/b.csv"
}

# ---- a whole experiment --------------------------------------------------------------------------

run 0 pathgcn reproduce "${common[@]}" --out whole
holds "$out" "Semi-supervised" "karate" "$graph" "±" "whole/semi.json"
holds "$err" "8 jobs on 2 processes"
[ "$(grep -c "^karate\|^$graph" "$out")" = 4 ] || { show_last && fail "not four lines"; }
[ "$(records whole)" = 8 ] || fail "there are $(records whole) records of 8 jobs"
[ "$(wc -l <whole/semi.csv)" = 5 ] || fail "the CSV has not a line per cell"
holds whole/semi.md "| karate | 1 | 2 |"
[ -z "$(find whole -name '*.log' -o -name '*.tmp')" ] || fail "logs or temporary files are left"

# again: nothing is trained, the table is the same; --json prints it on one line
cp -rp whole before
run 0 pathgcn reproduce "${common[@]}" --out whole --json
[ "$(wc -l <"$out")" = 1 ] || fail "--json printed more than one line"
holds "$out" '"experiment":"semi"' '"runs_done":2'
diff -r before whole || fail "a finished experiment was changed by being asked for again"
[ -z "$(find whole/jobs -newer before/semi.json)" ] || fail "a finished job was done again"

# every run is repeated by its command, to the last digit
awk -F '"' '/"command"/ { command = $4 } /"key"/ { key = $4 } /"selected"/ { inside = 1 }
    inside && /"epoch"/ { gsub(/[^0-9]/, "", $3); epoch = $3 }
    inside && /"test_accuracy"/ { gsub(/[ :,]/, "", $3); print $3, epoch, key, command; inside = 0 }' \
    whole/semi.json | awk 'NR % 2 == 0' >"$scratch/commands" # the second run of each cell
[ "$(wc -l <"$scratch/commands")" = 4 ] || fail "not a command for each cell"
while read -r accuracy epoch key command; do
    [[ $command == "pathgcn train "*"--seed 1"* ]] || fail "no command: $command"
    run 0 eval "${command/#pathgcn/\"$PATHGCN\"} --quiet --json --out again --overwrite --threads 2"
    cmp -s again/history.jsonl whole/jobs/"$key".history.jsonl || fail "another learning curve: $command"
    [ "$(json "$out" best_epoch)" = "$epoch" ] || fail "another epoch: $command"
    awk -v a="$accuracy" -v b="$(json "$out" test_accuracy_mean)" \
        'BEGIN { exit !(a - b < 1e-7 && b - a < 1e-7) }' ||
        fail "$(json "$out" test_accuracy_mean) instead of $accuracy: $command"
done <"$scratch/commands"

# a table that shares jobs with it trains only the rest; two depths of --layers, one kernel more
run 0 pathgcn reproduce variants --datasets karate --layers 2 --seeds 2 --epochs "$epochs" \
    --patience 0 --jobs 2 --out whole
holds "$out" global layer depthwise full
holds "$err" "6 jobs (2 more are done already)"

# all experiments at once: a training that several need is done once
run 0 pathgcn reproduce all --quick --datasets karate --seeds 1 --epochs 3 --out all
holds "$out" "mean of 10 draws" "path-length" "test accuracy by paths" "depthwise"
for experiment in semi full inference variants paths lengths frozen; do
    [ -s all/$experiment.json ] && [ -s all/$experiment.csv ] && [ -s all/$experiment.md ] &&
        [ -s all/$experiment.tex ] ||
        fail "$experiment left no files"
done
[ "$(records all)" = 11 ] || fail "$(records all) jobs instead of the 11 that the 16 lines share"

holds all/frozen.json '"variant": "frozen"' '--lr-kernel 0 ' '"variant": "no walks"' '--path-length 1 '
holds "$out" "no walks"

# names with steps hold commas: then blanks separate
run 0 pathgcn reproduce full --datasets 'karate:stratified=50/25/25,splits=3 karate' --epochs 2 --out steps
holds "$out" "karate:stratified=50/25/25,splits=3       2     3"

# ---- a grid --------------------------------------------------------------------------------------

run 0 pathgcn reproduce sweep karate "$graph" --path-length 2,3 --paths 5,10 --dropout 0.5 --layers 1,2 \
    --seeds 2 --epochs 8 --jobs 2 --out grid
holds "$err" "grid: 2 data sets x 2 layers x 2 path-length x 2 paths, 16 lines, 32 jobs" "32 jobs on 2 processes: about"
[ "$(grep -c "^karate .*path-length=[23] paths=[0-9]* .* ± .* ± " "$out")" = 8 ] || fail "not 8 lines of karate"
[ "$(grep -c "^karate .* best$" "$out")" = 1 ] || { show_last && fail "not one best line of karate"; }
[ "$(grep -c "^$graph .* best$" "$out")" = 1 ] || { show_last && fail "not one best line of $graph"; }
holds grid/sweep.tex "\\begin{tabular}{llrrrrl}" "path-length=2 paths=5" ' $\pm$ ' "\\end{tabular}"
holds grid/sweep.json '"best_by_validation": true' '"settings": {' '--path-length 3 --paths 10'
# the marked line is the one with the highest validation mean, field 14 of the CSV
awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    $2 == "karate" && $14 > most { most = $14; marked = $at["best_by_validation"] } END { exit marked != "yes" }' \
    grid/sweep.csv || fail "another line than the best on validation is marked"
refused 2 "stands twice in the list of --paths" reproduce sweep karate --paths 5,5 --out refusals
refused 2 "in the list of --paths: paths is 'x'" reproduce sweep karate --paths 5,x --out refusals
refused 2 "--paths does nothing in the line 'edge-keep=0.5 paths=3' of karate: model is gcn" reproduce sweep karate \
    --model gcn --edge-keep 0.5,1 --paths 3,5 --epochs 5 --seeds 2 --out refusals
refused 2 "--paths does nothing in the line 'model=gcn paths=5'" reproduce sweep karate --model pathgcn,gcn \
    --paths 5,10 --out refusals
refused 2 "sweep needs a data set" reproduce sweep --paths 5,10 --out refusals
refused 2 "'karate' is one argument too many|--datasets karate" reproduce semi karate --out refusals
refused 2 "path-length is '2,3'" reproduce semi --datasets karate --path-length 2,3 --out refusals

# ---- tables of facts -----------------------------------------------------------------------------

# a folder that is called texas, but is not: each difference is told
ring sets/texas
run 0 pathgcn reproduce datasets --data sets --datasets texas,wikics --out facts
holds "$out" "2 (paper 5)" "12 (paper 183)" "309" "not explained" "data not here"
holds facts/datasets.tex "edges, paper" "texas &"
holds facts/datasets.json '"edges, paper": "309"' '"edges, ours": "11"'
refused 2 "Table 1 of the paper has no data set 'karate'" reproduce datasets --datasets karate
refused 2 "--epochs does nothing: datasets trains nothing" reproduce datasets --epochs 5

# a folder in the working directory goes before the data set of its name, and that is said
mkdir ppi
ring citeseer
run 0 pathgcn reproduce datasets --data sets --datasets ppi,citeseer --out facts
holds "$out" "./ppi of the working directory was read and is no such data set" \
    "./citeseer of the working directory was read;"
! grep -q "data not here" "$out" || { show_last && fail "./ppi is here"; }
run 0 pathgcn reproduce semi --datasets citeseer --layers 2 --epochs 2 --seeds 1 --out facts
holds "$out" "citeseer: ./citeseer of the working directory was read."
rm -r ppi citeseer

run 0 pathgcn reproduce settings --out facts
holds "$out" "paper-pubmed-full" "not given, recipe 256" "0 values of the recipes differ"
mkdir own-recipes
sed 's/^paths = .*/paths = 6/' "$PATHGCN_SOURCE/recipes/paper-cora.recipe" >own-recipes/paper-cora.recipe
PATHGCN_RECIPES=own-recipes run 0 pathgcn reproduce settings --out facts --json
holds "$out" '"p":"5, recipe 6"' "1 value of the recipes differs"

# ---- interrupted ---------------------------------------------------------------------------------

one=("${common[@]}")
one[-1]=1 # job at a time
for signal in INT KILL; do
    "$PATHGCN" reproduce "${one[@]}" --out "stopped-$signal" >"$out" 2>"$err" &
    pid=$!
    wait_for 60 has_records "stopped-$signal" 2
    wait_for 60 works "stopped-$signal"
    kill -$signal $pid
    code=0
    wait $pid 2>/dev/null || code=$?
    if [ $signal = INT ]; then
        [ $code = 130 ] || { show_last && fail "interrupted, but exit code $code"; }
        holds "$err" "Interrupted" "of 8 jobs are done"
        [ ! -s "$out" ] || fail "an interrupted experiment printed a table"
    else
        [ $code = 137 ] || fail "not killed: $code"
        sleep 0.1 # for the system to end its worker
    fi
    kept=$(records "stopped-$signal")
    [ "$kept" -lt 8 ] || fail "it was not interrupted in the middle"
    cp -rp "stopped-$signal" "kept-$signal"
    sleep 0.3
    [ "$(records "stopped-$signal")" = "$kept" ] || fail "a worker outlived its parent"
    run 0 pathgcn reproduce "${common[@]}" --out "stopped-$signal"
    holds "$err" "($kept more are done already)"
    for record in "kept-$signal"/jobs/*.json; do
        same "a finished job" "$record" "stopped-$signal/jobs/${record##*/}"
    done
    same_tables "interrupted by $signal and resumed" whole "stopped-$signal"
done
echo "interrupted by SIGINT and SIGKILL, resumed: the same tables"

# only what is there, on demand
rm "$(find stopped-INT/jobs -name '*.json' | sort | head -n 1)"
run 1 pathgcn reproduce "${common[@]}" --out stopped-INT --report
holds "$out" "1 of 2" "1 run is missing"
[ "$(records stopped-INT)" = 7 ] || fail "--report trained"

# a record that is damaged is made again; --fresh makes all again
record=$(find stopped-INT/jobs -name '*.json' | sort | head -n 1)
head -c 100 "$record" >"$scratch/part" && cp "$scratch/part" "$record"
run 0 pathgcn reproduce "${common[@]}" --out stopped-INT
same_tables "with a damaged record" whole stopped-INT
run 0 pathgcn reproduce "${common[@]}" --out stopped-INT --fresh --quiet
[ ! -s "$err" ] || fail "--quiet prints"
[ -z "$(find stopped-INT/jobs -name '*.json' ! -newer "$scratch/part")" ] || fail "--fresh kept a record"
same_tables "--fresh" whole stopped-INT

# ---- failing jobs --------------------------------------------------------------------------------

ring two # split 1 has no training node of class 1
mkdir two/splits
rm two/*_mask.npy
u8 1 1 1 1 0 0 0 0 0 0 0 0 1 0 1 0 0 0 0 0 0 0 0 0 | npy two/splits/train_masks.npy '|u1' '(2, 12)'
u8 0 0 0 0 1 1 1 1 0 0 0 0 0 0 0 0 1 1 1 1 0 0 0 0 | npy two/splits/val_masks.npy '|u1' '(2, 12)'
u8 0 0 0 0 0 0 0 0 1 1 1 1 0 0 0 0 0 0 0 0 1 1 1 1 | npy two/splits/test_masks.npy '|u1' '(2, 12)'
run 1 pathgcn reproduce full --datasets ./two --epochs 5 --out failing --allow-missing-class no
holds "$out" "1 of 2 (1 failed)" "fewer runs than asked for"
holds "$err" "a job failed" "no training node of class 1" "seed 1" "failing/jobs/" ".log"
holds failing/full.json '"state": "failed"' '"failure": ' '"runs_failed": 1'
run 1 pathgcn reproduce full --datasets ./two --epochs 5 --out failing --allow-missing-class no
holds "$err" "a job failed" # it is tried again

# no worker outlives a parent that is killed
"$PATHGCN" reproduce semi --datasets karate --layers 1 --seeds 1 --epochs 1000000 --patience 0 \
    --out orphan >"$out" 2>"$err" &
pid=$!
wait_for 60 works orphan
read -r worker _ <"/proc/$pid/task/$pid/children" || true # its line does not end
kill -KILL $pid
wait $pid 2>/dev/null || true
gone() { ! kill -0 "$1" 2>/dev/null; }
wait_for 20 gone "$worker"

# a worker that is killed
"$PATHGCN" reproduce semi --datasets karate --layers 1 --seeds 2 --epochs 2000 --patience 0 --jobs 1 \
    --out killed >"$out" 2>"$err" &
pid=$!
wait_for 60 works killed
read -r worker _ <"/proc/$pid/task/$pid/children" || true
kill -KILL "$worker"
code=0
wait $pid || code=$?
[ $code = 1 ] || { show_last && fail "exit code $code although a worker was killed"; }
holds "$err" "ended by signal 9"
holds "$out" "1 of 2 (1 failed)"
run 0 pathgcn reproduce semi --datasets karate --layers 1 --seeds 2 --epochs 2000 --patience 0 --out killed
holds "$err" "1 job (1 more are done already)"

# ---- refusals ------------------------------------------------------------------------------------

refused 1 "no data set 'cora'|PATHGCN_DATA|--datasets" reproduce semi
refused 1 "no data set 'nowhere'" reproduce full --datasets karate,nowhere
refused 2 "there is no experiment 'simi'|did you mean semi" reproduce simi
refused 2 "--layers is 'two'" reproduce semi --datasets karate --layers two
refused 2 "dropout is '2'" reproduce semi --datasets karate --dropout 2
refused 2 "--jobs" reproduce semi --datasets karate --jobs -1
