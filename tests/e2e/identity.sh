#!/usr/bin/env bash
# A run is its data, the nodes of its split, and its settings: another one is neither resumed nor taken
# for it by eval, and never replaces it without --overwrite, nor before it is finished itself.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

seed=${PATHGCN_TEST_SEED:-$(($(date +%s) % 32768))}
RANDOM=$seed
echo "moments drawn with PATHGCN_TEST_SEED=$seed"
lines_in() { [ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]; }

# unchanged DIR: it is, bit for bit and time for time, what `keep DIR` has seen.
keep() { rm -rf kept && cp -rp "$1" kept; }
unchanged() {
    diff -r kept "$1" >&2 || fail "$1 was changed"
    [ "$(times kept)" = "$(times "$1")" ] || fail "a file in $1 was written again"
}
times() { (cd "$1" && find . -type f -printf '%P %T@\n' | sort); }

# ---- splits ----------------------------------------------------------------------------------------

halves=karate:stratified=50/25/25
run 0 pathgcn train $halves,split-seed=1 --out split --epochs 20 --patience 0 --quiet
refused 1 "another split 0|other training or validation nodes|split-seed" \
    train $halves,split-seed=2 --out split --epochs 40 --patience 0 --resume --quiet
run 0 pathgcn eval split/model.safetensors $halves,split-seed=2
holds "$out" "split none" "test                  -" "all  " "split 0 of this data is not the split 0" "may have been trained on"
run 0 pathgcn eval split/model.safetensors $halves,split-seed=2 --json
holds "$out" '"split":null' '"split_of_training":"0"' '"split_match":"other"' '"test_accuracy":null' '"split_note":"split 0 of'
[ "$(json "$out" all_accuracy)" != null ] || fail "no accuracy of all"
for same in $halves,split-seed=1 $halves,split-seed=1,order=degree; do
    run 0 pathgcn eval split/model.safetensors $same --json
    holds "$out" '"split":"0"' '"split_match":"same"' '"split_note":null'
    json "$out" test_accuracy >/dev/null
done
run 0 pathgcn train $halves,split-seed=1 --out split --epochs 40 --patience 0 --resume --quiet

# ---- version 0.1 -----------------------------------------------------------------------------------

mkdir old
cp "$PATHGCN_SOURCE/tests/data/karate_0.1_checkpoint.safetensors" old/checkpoint.safetensors
cp "$PATHGCN_SOURCE/tests/data/karate_0.1_model.safetensors" old/model.safetensors
run 0 pathgcn eval old/model.safetensors
holds "$out" "test  " "written by pathgcn 0.1" "found by its name"
run 0 pathgcn eval old/model.safetensors --json
holds "$out" '"split":"0"' '"split_match":"by name"' '"split_note":"the model was written by pathgcn 0.1'
longer=(karate --channels 2 --epochs 10 --patience 0 --out old)
keep old
refused 1 "pathgcn 0.1.0|last bits|revision 0|--accept-other-version" train "${longer[@]}" --resume
refused 2 "--accept-other-version belongs to --resume" train "${longer[@]}" --accept-other-version
diff -r kept old || fail "a refused command changed a run of 0.1"
run 0 pathgcn train "${longer[@]}" --resume --accept-other-version
holds "$err" "note: old/checkpoint.safetensors" "by the name only" "bits of neither version"
[ "$(wc -l <old/history.jsonl)" = 10 ] || fail "a run of 0.1 was not continued"
run 0 pathgcn train "${longer[@]}" --resume # from now on it is a run of this version
[ ! -s "$err" ] || { show_last && fail "something to say about a run of this version"; }

# ---- a finished run stays ----------------------------------------------------------------------------

common=(--epochs 8 --patience 0)
run 0 pathgcn train karate "${common[@]}" --out done --json
cp "$out" first.json
keep done
# the same command again tells the same, and trains nothing
run 0 pathgcn train karate "${common[@]}" --out done --json
holds "$err" "note: done holds this training, finished" "--overwrite"
for key in test_accuracy_mean val_accuracy_mean step_ms_median epochs; do
    [ "$(json "$out" $key)" = "$(json first.json $key)" ] || fail "another $key was told"
done
unchanged done
run 0 pathgcn train karate "${common[@]}" --out done --quiet
[ ! -s "$err" ] || { show_last && fail "--quiet tells"; }
# anything else is refused
refused 1 "done|finished run|channels 64 and not 32|--overwrite" train karate "${common[@]}" --out done --channels 32
refused 1 "finished run|data set karate|sbm" train sbm "${common[@]}" --out done
refused 1 "finished run|seed 0 and not 1" train karate "${common[@]}" --out done --seed 1
refused 1 "another split 0" train karate:stratified=50/25/25,split-seed=5 "${common[@]}" --out done
refused 1 "epochs or patience|--resume|--overwrite" train karate --epochs 9 --patience 0 --out done
refused 1 "epochs or patience" train karate --epochs 8 --patience 7 --out done
refused 1 "of epoch 8 and epochs is 5" train karate --epochs 5 --patience 0 --out done
refused 1 "run of one seed|--overwrite" train karate "${common[@]}" --out done --seeds 2
unchanged done
mkdir lonely
cp done/model.safetensors lonely
refused 1 "a model without the checkpoint|--overwrite" train karate "${common[@]}" --out lonely
refused 1 "a model without the checkpoint" train karate "${common[@]}" --out lonely --resume
same "a lonely model" done/model.safetensors lonely/model.safetensors

# a run that fails replaces nothing, with --overwrite either, and its model has its data beside it
edges=(--edges "$PATHGCN_SOURCE/examples/club/friends.csv" --features "$PATHGCN_SOURCE/examples/club/people.csv"
    --labels "$PATHGCN_SOURCE/examples/club/group.csv")
explosive=("${edges[@]}" --lr-ends 10 --lr-kernel 10 --kernel full --layers 8 --epochs 200 --patience 0)
keep done
refused 1 "not finite|done/unfinished/model.safetensors|nothing was changed of the run in done" \
    train "${explosive[@]}" --out done --overwrite --quiet
mv done/unfinished failed
unchanged done
run 0 pathgcn eval done/model.safetensors
holds "$out" "karate, split 0"
run 0 pathgcn eval failed/model.safetensors
holds "$out" "friends, split 0"
refused 1 "not finite|exploded/model.safetensors" train "${explosive[@]}" --out exploded --quiet
run 0 pathgcn eval exploded/model.safetensors # data.json tells where the files are

# one that is finished does, with all of its files
run 0 pathgcn train sbm "${common[@]}" --out fresh --quiet
run 0 pathgcn train sbm "${common[@]}" --out done --overwrite --quiet
same_runs "--overwrite" fresh done
same "data.json" fresh/data.json done/data.json
[ "$(ls -A done)" = "$(ls -A fresh)" ] || fail "--overwrite left something: $(ls -A done)"

# ---- interrupted -------------------------------------------------------------------------------------

# Ctrl-C in a run with --overwrite: the finished one is still there, --resume goes on with the new one
stop() { # SIGNAL FILE: ends the program $pid when FILE has three lines
    local code=0
    wait_for 60 lines_in "$2" 3
    kill "-$1" $pid
    wait $pid 2>"$scratch/wait" || code=$?
    [ $code != 0 ] || fail "the run was finished before it was interrupted"
}
long=(--epochs 4000 --patience 0)
keep done
"$PATHGCN" train --recipe usual karate "${long[@]}" --out done --overwrite --quiet >"$out" 2>"$err" &
pid=$!
stop INT done/unfinished/history.jsonl
holds "$err" "saved in done/unfinished" "done keeps the run that it holds" "--resume"
mv done/unfinished aside
unchanged done
mv aside done/unfinished
refused 1 "finished run|karate" train karate "${long[@]}" --out done --quiet # not lost by accident
at=$(wc -l <done/unfinished/history.jsonl)
go_on=(karate --epochs $((at + 5)) --patience 0)
run 0 pathgcn train "${go_on[@]}" --out done --resume --quiet
run 0 pathgcn train "${go_on[@]}" --out whole --quiet
same_runs "interrupted, resumed and put in its place" whole done
[ ! -e done/unfinished ] || fail "the folder of the unfinished run is still there"

# more epochs for a finished run, killed: it is still there too
keep done
"$PATHGCN" train --recipe usual karate "${long[@]}" --out done --resume --quiet --checkpoint-every 2 >"$out" 2>"$err" &
pid=$!
wait_for 60 test -e done/unfinished/checkpoint.safetensors
stop KILL done/unfinished/history.jsonl
mv done/unfinished aside
unchanged done
mv aside done/unfinished
run 0 pathgcn eval done/model.safetensors
at=$(grep -ao '"epoch":"[0-9]*"' done/unfinished/checkpoint.safetensors | tr -dc 0-9)
run 0 pathgcn train karate --epochs $((at + 5)) --patience 0 --out done --resume --quiet
run 0 pathgcn train karate --epochs $((at + 5)) --patience 0 --out whole2 --quiet
same_runs "more epochs, killed and resumed" whole2 done

# killed whenever: the files in the directory are those of one run, and work
belong_together() { # DIR
    local epochs
    run 0 pathgcn eval "$1/model.safetensors" --json # data.json is that of the model
    [ -e "$1/.replacing" ] || [ -e "$1/.placing" ] || {
        epochs=$(grep -ao '"epoch":"[0-9]*"' "$1/checkpoint.safetensors" | tr -dc 0-9)
        [ "$epochs" = "$(wc -l <"$1/history.jsonl")" ] || fail "the history of another run"
        [ "$(grep -ao '"dataset":"[a-z]*' "$1/checkpoint.safetensors")" = \
            "$(grep -ao '"dataset":"[a-z]*' "$1/model.safetensors")" ] || fail "the checkpoint of another run"
    }
}
run 0 pathgcn train karate --epochs 7 --patience 0 --channels 8 --out turns --quiet
for round in {1..8}; do
    data=sbm:nodes=60 epochs=5
    ((round % 2)) || data=karate epochs=7
    "$PATHGCN" train --recipe usual $data --epochs $epochs --patience 0 --channels 8 --out turns --overwrite --quiet \
        >"$out" 2>"$err" &
    pid=$!
    sleep "0.0$((RANDOM % 70 + 10))"
    kill -KILL $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    belong_together turns
done
run 0 pathgcn train karate --epochs 9 --patience 0 --channels 8 --out turns --overwrite --quiet
run 0 pathgcn train karate --epochs 9 --patience 0 --channels 8 --out turned --quiet
same_runs "after many kills" turned turns
[ "$(ls -A turns)" = "$(ls -A turned)" ] || fail "kills left something: $(ls -A turns)"

# ---- several seeds -----------------------------------------------------------------------------------

seeds=(karate --epochs 4 --patience 0 --quiet)
run 0 pathgcn train "${seeds[@]}" --seeds 3 --out seeds
cp -rp seeds kept-seeds
run 0 pathgcn train "${seeds[@]}" --seeds 3 --out seeds # told again
refused 1 "runs of several seeds|--overwrite" train "${seeds[@]}" --out seeds
refused 1 "seed 2|not one of the 2 seeds from 0" train "${seeds[@]}" --seeds 2 --out seeds
refused 1 "seed 0|not one of" train "${seeds[@]}" --seeds 3 --seed 1 --out seeds --resume
refused 1 "holds finished runs of 3 of these 4 seeds|--resume to train the others" train "${seeds[@]}" --seeds 4 --out seeds
refused 1 "finished run|dropout" train "${seeds[@]}" --seeds 3 --out seeds --dropout 0.1
diff -r kept-seeds seeds || fail "a refused command changed the seeds"
run 0 pathgcn train "${seeds[@]}" --seeds 4 --out seeds --resume
for file in model.safetensors history.jsonl; do
    [ -e seeds/seed-3/$file ] || fail "no fourth seed"
done
run 0 pathgcn train "${seeds[@]}" --seeds 2 --channels 8 --out few
run 0 pathgcn train "${seeds[@]}" --seeds 2 --channels 8 --out seeds --overwrite
[ "$(cd seeds && find . | sort)" = "$(cd few && find . | sort)" ] || fail "seeds are mixed: $(find seeds)"
for folder in . seed-0 seed-1; do same "$folder" few/$folder/model.safetensors seeds/$folder/model.safetensors; done
run 0 pathgcn train "${seeds[@]}" --out seeds --overwrite # one seed in the place of two
[ ! -e seeds/seed-0 ] || fail "seeds are left beside a run of one"
run 0 pathgcn eval seeds/model.safetensors

# the directory is locked, whichever seed is being trained
"$PATHGCN" train --recipe usual sbm --epochs 1000000 --patience 0 --seeds 2 --quiet --out busy >/dev/null 2>&1 &
pid=$!
wait_for 60 lines_in busy/seed-0/history.jsonl 1
refused 1 "another pathgcn|busy" train sbm --quiet --out busy --overwrite
refused 1 "another pathgcn|busy" train sbm --quiet --out busy --seeds 2 --seed 7
refused 1 "another pathgcn|busy" train sbm --quiet --out busy/seed-0 --overwrite
kill -KILL $pid
wait $pid 2>/dev/null || true
no_leftovers done turns seeds
