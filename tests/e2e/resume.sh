#!/usr/bin/env bash
# A run that was killed and resumed ends with the same bits as one that was left alone; nobody's
# interrupted work is lost by accident.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

seed=${PATHGCN_TEST_SEED:-$(($(date +%s) % 32768))}
RANDOM=$seed
echo "moments drawn with PATHGCN_TEST_SEED=$seed"
epochs=120 graph=sbm
[ -z "$sanitized" ] || { epochs=60 graph=sbm:nodes=100 cora=""; }

lines_in() { [ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]; }
milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# ---- SIGKILL at three random moments -------------------------------------------------------------

kill_and_resume() { # name, train arguments...
    local name=$1 begin whole moment pid code kills=0
    shift
    begin=$(milliseconds)
    run 0 pathgcn train "$@" --quiet --out "$name-whole" --checkpoint-every 5
    whole=$(($(milliseconds) - begin))
    while [ $kills -lt 3 ]; do
        "$PATHGCN" train --recipe usual "$@" --quiet --out "$name-killed" --checkpoint-every 5 --resume \
            >"$out" 2>"$err" & # not the function: its shell would be killed instead
        pid=$!
        moment=$((RANDOM % (whole / 6 + 1)))
        sleep "$(printf %d.%03d $((moment / 1000)) $((moment % 1000)))"
        # the last one has something to go on from, whatever the moments were
        [ $kills -lt 2 ] || wait_for 60 test -e "$name-killed/checkpoint.safetensors"
        kill -KILL $pid 2>/dev/null || true
        code=0
        wait $pid 2>/dev/null || code=$?
        kills=$((kills + 1))
        [ $code != 137 ] || continue
        # it was faster than the first time and ended before its time: again, with earlier moments
        [ $code,$((whole > 10)) = 0,1 ] || { show_last && fail "$name ended with $code"; }
        rm -rf "$name-killed"
        whole=$((whole / 2)) kills=0
    done
    [ ! -e "$name-killed/result.json" ] || fail "a killed run says that it is finished"
    touch "$name-killed/.pathgcn-1-0.tmp" # what a kill in the middle of a save leaves
    run 0 pathgcn train "$@" --quiet --out "$name-killed" --checkpoint-every 5 --resume
    no_leftovers "$name-killed"
    same_runs "killed three times: $*" "$name-whole" "$name-killed"
    echo "killed three times and resumed: $* ($(sha "$name-killed/checkpoint.safetensors"))"
}
kill_and_resume karate karate --epochs $((epochs * 2)) --patience 0
kill_and_resume sbm $graph --epochs $epochs --patience 0 --batch-norm --resample-every 3
kill_and_resume nodes $graph --epochs $((epochs / 2)) --patience 0 --batch 9 --unlabelled 9 --batch-norm
kill_and_resume nodes-gcn $graph --epochs $((epochs / 2)) --patience 0 --model gcn --batch 9 --neighbours 4,3
kill_and_resume nodes-gat $graph --epochs $((epochs / 2)) --patience 0 --model gat --heads 4 --batch 9
[ -z "$cora" ] || kill_and_resume cora "$cora" --epochs $((epochs / 3)) --patience 0

# ---- Ctrl-C --------------------------------------------------------------------------------------

interrupt() { # file whose lines show that it trains, train arguments...
    local history=$1 pid code=0
    shift
    "$PATHGCN" train --recipe usual "$@" --quiet >"$out" 2>"$err" &
    pid=$!
    wait_for 60 lines_in "$history" 3
    kill -INT $pid
    wait $pid || code=$?
    [ $code = 130 ] || { show_last && fail "interrupted, but exit code $code"; }
    [ ! -s "$out" ] || fail "an interrupted run printed a result"
    holds "$err" "Interrupted after epoch" "To go on:" "--resume"
}

directory="it's a run" # the command that is printed must be quoted
common=("$graph" --epochs "$epochs" --patience 0)
run 0 pathgcn train "${common[@]}" --quiet --out whole
interrupt "$directory/history.jsonl" "${common[@]}" --out "$directory"
[ -s "$directory/model.safetensors" ] || fail "no model after Ctrl-C"
[ ! -e "$directory/result.json" ] || fail "an interrupted run says that it is finished"
cp -r "$directory" interrupted
command=$(tail -n 1 "$err")

# neither started again nor changed by accident
before=$(sha "$directory/checkpoint.safetensors")
refused 1 "interrupted run|--resume|--overwrite" train "${common[@]}" --quiet --out "$directory"
refused 1 "channels|64|32" train "${common[@]}" --quiet --out "$directory" --resume --channels 32
refused 1 "dropout|0.6|0.5" train "${common[@]}" --quiet --out "$directory" --resume --dropout 0.5
refused 1 "seed" train "${common[@]}" --quiet --out "$directory" --resume --seed 9
refused 1 "sbm|fingerprint" train sbm:seed=3 --epochs $epochs --patience 0 --quiet --out "$directory" --resume
refused 2 "--resume|--overwrite" train "${common[@]}" --quiet --out "$directory" --resume --overwrite
[ "$(sha "$directory/checkpoint.safetensors")" = "$before" ] || fail "a refused command changed the run"
diff -r interrupted "$directory" || fail "a refused command changed the directory"

run 0 bash -c "$command"
same_runs "the printed command" whole "$directory"
echo "the printed command works: ${command#*pathgcn }"

# epochs of many steps: most often it is in the middle of one; wherever it is, the bits are the same
steps=("$graph" --epochs "$epochs" --patience 0 --batch 2)
run 0 pathgcn train "${steps[@]}" --quiet --out steps-whole
interrupt steps/history.jsonl "${steps[@]}" --out steps
grep "Interrupted" "$err"
place=$(sed -n 's/^Interrupted \(after epoch .*\) and saved in .*/\1/p' "$err")
run 0 bash -c "$(tail -n 1 "$err" | sed 's/ --quiet//')"
holds "$err" "note: going on $place from steps/checkpoint.safetensors"
same_runs "interrupted between two steps" steps-whole steps

# a finished run: resuming changes no file, and tells the same result
cp -rp "$directory" finished
run 0 pathgcn train "${common[@]}" --quiet --out "$directory" --resume --json
[ "$(json "$out" epochs)" = $epochs.0 ] || fail "the result of a finished run is not told again"
[ "$(json "$out" step_ms_median)" != 0.0 ] || fail "the times of a finished run are forgotten"
diff -r finished "$directory" || fail "resuming a finished run changed it"
[ -z "$(find "$directory" -newer finished/result.json -type f)" ] || fail "a finished run was written again"

# more epochs than at first go on from there
run 0 pathgcn train $graph --epochs 30 --patience 0 --quiet --out longer
run 0 pathgcn train $graph --epochs 40 --patience 0 --quiet --out longer --resume
[ ! -s "$err" ] || fail "a quiet run had something to say: $(cat "$err")"
run 0 pathgcn train "${common[@]}" --out longer --resume
holds "$err" "note: going on after epoch 40 from longer/checkpoint.safetensors"
run 0 pathgcn train "${common[@]}" --out longer --resume
! grep "going on" "$err" || fail "a finished run goes on"
same model whole/history.jsonl longer/history.jsonl

# --overwrite starts again; --resume in an empty directory starts
run 0 pathgcn train "${common[@]}" --quiet --out interrupted --overwrite
same_runs "--overwrite" whole interrupted
mkdir empty
run 0 pathgcn train "${common[@]}" --quiet --out empty --resume
same_runs "--resume in an empty directory" whole empty

# a damaged checkpoint is not taken for a beginning
head -c 5000 whole/checkpoint.safetensors >empty/checkpoint.safetensors
refused 1 "empty/checkpoint.safetensors" train "${common[@]}" --quiet --out empty --resume

# a second program in the same directory
"$PATHGCN" train --recipe usual sbm --epochs 1000000 --patience 0 --quiet --out busy >/dev/null 2>&1 &
busy=$!
wait_for 60 lines_in busy/history.jsonl 1
refused 1 "another pathgcn|busy" train sbm --quiet --out busy --overwrite
kill -TERM $busy
code=0
wait $busy || code=$?
[ $code = 143 ] || fail "SIGTERM: exit code $code, expected 143"
[ -s busy/checkpoint.safetensors ] || fail "SIGTERM: no checkpoint"

# ---- several seeds -------------------------------------------------------------------------------

common=("$graph" --seeds 3 --epochs $((epochs / 2)) --patience 0)
run 0 pathgcn train "${common[@]}" --quiet --out seeds-whole
interrupt seeds/seed-1/history.jsonl "${common[@]}" --out seeds
[ ! -e seeds/seed-2 ] || fail "a seed was trained after Ctrl-C"
run 0 bash -c "$(tail -n 1 "$err" | sed 's/ --quiet//')"
holds "$out" mean deviation "test accuracy"
[ "$(grep -c "going on" "$err")" = 1 ] || fail "one of three runs goes on: $(cat "$err")"
holds "$err" "note: run 2/3 is going on after epoch"
for seed in 0 1 2; do same_runs "--seeds" seeds-whole/seed-$seed seeds/seed-$seed; done
same "the model chosen among the seeds" seeds-whole/model.safetensors seeds/model.safetensors
no_leftovers whole "$directory" seeds longer
