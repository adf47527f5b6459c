#!/usr/bin/env bash
# Several models in one eval or predict: the mean of their probabilities.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

quick="--recipe none --epochs 20 --quiet"
run 0 pathgcn train karate $quick --split 0 --seeds 3 --out several
run 0 pathgcn train karate $quick --split 0 --model gcn --out gcn
run 0 pathgcn train karate $quick --split 1 --out other_split
run 0 pathgcn train grid $quick --out other_data

# ---- predictions -----------------------------------------------------------------------------------
members=(several/seed-0 several/seed-1/model.safetensors gcn)
for i in 0 1 2; do run 0 pathgcn predict "${members[i]}" --all --out "alone-$i.csv"; done
run 0 pathgcn predict "${members[@]}" --all --out together.csv
[ "$(head -n 1 together.csv)" = "node,label,probability,deviation,p0,p1" ] || fail "$(head -n 1 together.csv)"
paste -d , alone-0.csv alone-1.csv alone-2.csv together.csv | awk -F , '
    NR > 1 { mean = ($4 + $9 + $14) / 3; if ((mean - $20) ^ 2 > 1e-14) exit 1 }' || fail "it is not the mean"
for threads in 1 2; do
    run 0 pathgcn predict "${members[@]}" karate --all --threads $threads --out again.csv
    cmp together.csv again.csv || fail "other bits with the data named, on $threads threads"
done
run 0 pathgcn predict "${members[@]}" --all --nodes 5,2 --out some.csv
diff <(grep -E '^(2|5),' together.csv) <(tail -n +2 some.csv) || fail "other rows of some nodes"
run 0 pathgcn predict "${members[@]}" --json
holds "$out" '"deviation":' '"models":3'

# ---- evaluation ------------------------------------------------------------------------------------
run 0 pathgcn eval several/seed-0 several/seed-1 several/seed-2
holds "$out" "mean of 3 models" "a single model: mean, deviation"
run 0 pathgcn eval several/seed-0 several/seed-1 --json
holds "$out" '"models":2' '"epoch":null' '"test_accuracy_of_single_models_mean":' '"split_match":"same"'
run 0 pathgcn eval several/seed-0 --json
holds "$out" '"models":1' '"test_accuracy_of_single_draws_mean":' '"epoch":20'

# ---- what does not go together -----------------------------------------------------------------------
refused 1 "models 1 and 2 were trained on different splits, 0 and 1:|--split" eval gcn other_split
run 0 pathgcn predict gcn other_split # nobody is scored
refused 1 "'gcn' was trained on karate and 'other_data' on grid|fingerprints" predict gcn other_data
refused 2 "models 1 and 2 are the same|leave one of them out" eval gcn gcn/model.safetensors
refused 2 "'sbm' is neither a model.safetensors nor the directory of a run|only the last" eval gcn sbm karate
refused 2 "'karate' is neither a model|models come first" eval karate gcn
refused 2 "no data set 'several/seed-7'|a further model is|model.safetensors" eval several/seed-0 several/seed-7
many=()
for ((i = 0; i < 128; i++)); do many+=(several/seed-0); done
refused 2 "models 1 and 2 are the same" eval "${many[@]}"
refused 2 "one argument too many: there may be 128 at a time" eval "${many[@]}" karate

# ---- a model is not written over -----------------------------------------------------------------------
cp -r gcn kept
refused 2 "--out 'kept/model.safetensors' is the model itself" predict kept --out kept/model.safetensors
refused 2 "--csv 'kept/model.safetensors' is the model itself" eval several/seed-0 kept --csv kept/model.safetensors
cmp gcn/model.safetensors kept/model.safetensors || fail "a model was written over"
