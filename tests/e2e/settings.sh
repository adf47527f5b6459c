#!/usr/bin/env bash
# Settings that would do nothing, numbers that are none, seeds of one range, an instruction set that is
# not there, and predictions that are not finite: each is one sentence and no result.
source "$(dirname "$0")/lib.sh"

# ---- options that the model or form does not use --------------------------------------------------

train() { # WORDS ARGUMENTS...: refused
    local words=$1
    shift
    refused 2 "$words" train karate --out nowhere --epochs 1 "$@"
}
train "paths is 77 and does nothing|exact|leave it out" --train-form exact --paths 77 --bf16 yes
train "bf16 is yes and does nothing" --train-form exact --bf16
for option in "path-length 7" "kernel full" "kernel-start random" "kernel-noise 0.5" "residual initial" \
    "self-loops yes" "scaling walk" "batch-norm no" "train-form sampled" "paths 9" "alpha 0.3" \
    "walk node2vec" "input-hops 1" "readout relu"; do
    read -r name value <<<"$option"
    train "$name is $value and does nothing|gin" --model gin "--$name" "$value"
done
train "return-p is 4|node2vec" --return-p 4
train "temperature is 0.3|consistency is 0" --consistency 0 --temperature 0.3
train "direction is backward|undirected" --direction backward
train "hops is 100|0..4" --hops 100
train "hops is 5|0..2|path-length" --hops 5 --path-length 3
run 0 pathgcn train karate --epochs 1 --out exact --train-form exact # the default is nobody's option
run 0 pathgcn train karate --epochs 1 --out gin --model gin --batch-norm yes --dropout-last 0.3

# A recipe's settings are not the user's.
printf '%s\n' "recipe = mine" "version = 1" "task = node" "dataset = any" "about = x" "paths = 9" \
    "temperature = 0.3" "hops = 4" >mine.recipe
run 0 pathgcn train karate --epochs 1 --out mine --recipe ./mine.recipe --train-form exact --path-length 3 \
    --consistency 0
echo "train-form = exact" >>mine.recipe
refused 1 "mine.recipe|paths is 9 and does nothing" train karate --out nowhere --recipe ./mine.recipe
run 0 pathgcn recipes show cora --layers 2
cp "$out" shown.recipe
run 0 pathgcn train karate --epochs 1 --out shown --recipe ./shown.recipe

refused 2 "--seed 5 does nothing|deterministic" predict exact/model.safetensors --seed 5
refused 2 "--return-p does nothing|node2vec" paths karate --return-p 2
refused 2 "--inout-q does nothing|one step" paths karate --walk node2vec --path-length 2 --inout-q 2
refused 2 "readout|nodes are classified" tune karate --readout relu --candidates 2 --out nowhere
refused 2 "--paths 7 does nothing in any|the experiment has its own" \
    reproduce paths --datasets karate --paths 7 --quick --seeds 1 --out nowhere
rm -rf nowhere

# A space has no candidate with a setting that does nothing; equal trainings are one job.
printf '%s\n' "residual = none" "alpha = 0.1 .. 0.9" >no.space
run 0 pathgcn tune karate --space no.space --candidates 6 --runs 1 --epochs 2 --patience 0 --out tuned --quiet
[ "$(records tuned)" = 2 ] || fail "alpha beside residual none made $(records tuned) jobs, expected 2"

# ---- the same option twice -------------------------------------------------------------------------

train "--dropout is given twice|'0.5'|'0.6'" --dropout 0.5 --dropout 0.6
train "--epochs is given twice" --epochs 2
refused 2 "--out is given twice" train karate --out a --out b
refused 2 "--seed is given twice" paths karate --seed 1 --seed 2
refused 2 "'nodes=20' and 'nodes=30'" data info sbm:nodes=20,nodes=30
refused 2 "'split-seed=1' and 'split-seed=2'" data info karate:stratified=50/25/25,split-seed=1,split-seed=2
run 0 pathgcn train karate --out same --epochs 1 --epochs 1 --dropout 0.5 --dropout 0.50 --out same
run 0 pathgcn data info powerlaw:size=arxiv,nodes=1000,edges=3000

# ---- numbers ---------------------------------------------------------------------------------------

for number in 0x2 1e inf nan ' 3' +3 3x ''; do
    train "layers is '$number'|1..4096" "--layers=$number"
    train "dropout is '$number'" "--dropout=$number"
    train "seed is '$number'" "--seed=$number"
    train "--seeds is '$number'" "--seeds=$number"
    refused 2 "--paths is '$number'" paths karate "--paths=$number"
    refused 2 "--return-p is '$number'" paths karate --walk node2vec "--return-p=$number"
    refused 2 "--pause is '$number'" data fetch cora "--pause=$number"
    refused 2 "nodes=$number" data info "sbm:nodes=$number"
    refused 2 "kfold=$number" data info "karate:kfold=$number"
done
printf 'alpha = 0x0 .. 0x1\n' >hex.space
refused 2 "0x0" tune karate --space hex.space --out nowhere
rm -rf nowhere
printf 'version = 1\nrecipe = hex\ntask = node\ndataset = any\nabout = x\nalpha = 0x1\n' >hex.recipe
refused 1 "alpha is '0x1'" train karate --out nowhere --recipe ./hex.recipe
run 0 pathgcn tune karate --layers 1e0 --candidates 2 --runs 1 --epochs 2 --patience 0 --out depth --quiet
grep -q '"layers": "1"' depth/jobs/*.json || fail "--layers 1e0 is not one layer"

# ---- seeds -----------------------------------------------------------------------------------------

most=9223372036854775807 over=9223372036854775808
run 0 pathgcn train "sbm:nodes=40,seed=$most:stratified=50/25/25,split-seed=$most" --epochs 1 --seed $most \
    --out seeds --json
holds "$out" "\"seed\":$most"
run 0 pathgcn eval seeds/model.safetensors --inference stochastic:2 --seed $most
run 0 pathgcn paths karate --seed $most --starts 0
run 0 pathgcn tune karate --search-seed $most --seed $((most - 1)) --candidates 2 --runs 1 --epochs 2 \
    --patience 0 --out searched --quiet
train "seed is '$over'|0..$most" --seed $over
train "leaves no room for 2 seeds" --seed $most --seeds 2
refused 2 "--seed is '$over'|$most" eval seeds/model.safetensors --inference stochastic:2 --seed $over
refused 2 "--seed is '$over'|$most" predict seeds/model.safetensors --inference stochastic:2 --seed $over
refused 2 "--seed is '$over'|$most" paths karate --seed $over
refused 2 "seed is '$over'|$most" tune karate --seed $over --out nowhere
refused 2 "--search-seed is '$over'|$most" tune karate --search-seed $over --out nowhere
refused 2 "leaves no room for 3 seeds" tune karate --seed $most --runs 3 --out nowhere
refused 2 "seed is '$over'|$most" reproduce semi --datasets karate --seed $over --out nowhere
rm -rf nowhere
refused 2 "leaves no room for 2 seeds" reproduce semi --datasets karate --seed $most --seeds 2 --out nowhere
rm -rf nowhere
refused 2 "seed=$over|$most" data info sbm:seed=$over
refused 2 "split-seed=$over|$most" data info karate:kfold=3,split-seed=$over
sed "s/^paths.*/seed = $over/" mine.recipe >over.recipe
refused 1 "seed is '$over'" train karate --out nowhere --recipe ./over.recipe

# ---- instruction sets ------------------------------------------------------------------------------

for isa in avx513 AVX2 'avx2 ' base; do
    export PATHGCN_ISA=$isa
    for command in "info" "train karate --out nowhere" "eval seeds/model.safetensors" \
        "predict seeds/model.safetensors" "paths karate" "tune karate --out nowhere" \
        "reproduce semi --datasets karate --out nowhere"; do
        # shellcheck disable=SC2086 # words
        refused 1 "PATHGCN_ISA is '$isa', which this build does not know|baseline" $command
    done
done
if PATHGCN_ISA=avx512 pathgcn info >/dev/null 2>&1; then
    echo "this processor has every instruction set"
else
    PATHGCN_ISA=avx512 refused 1 "PATHGCN_ISA is 'avx512', which this" info
fi
PATHGCN_ISA=nonsense run 0 pathgcn train --help
PATHGCN_ISA=nonsense run 0 pathgcn data list
PATHGCN_ISA='' run 0 pathgcn info
unset PATHGCN_ISA
PATHGCN_ISA=baseline run 0 pathgcn info
holds "$out" "baseline"

# ---- what a network refuses is not offered by its help -------------------------------------------------

run 0 pathgcn train --model gat --help
holds "$out" "--heads 1..64" "--readout linear | relu "
if grep -qE '^ *--walk|readout .*layers *$' "$out"; then
    show_last && fail "the help of gat offers what gat refuses"
fi
run 0 pathgcn train --model gcn --help
holds "$out" "--walk uniform | weighted " "--scaling walk | symmetric "

# ---- predictions that are not finite ----------------------------------------------------------------

people() { # INCOME of the last node, which is not in training
    echo "id,age,income"
    for i in {1..12}; do echo "p$i,$((i % 5)),$((i * i % 7))"; done
    echo "p13,1,$1"
}
for i in {1..12}; do echo "p$i,p$((i % 12 + 1))"; done >edges.csv
echo "p13,p1" >>edges.csv
{ for i in {1..12}; do echo "p$i,$((i % 2))"; done; } >labels.csv
people 3 >people.csv
people 3e38 >rich.csv
wild=(--normalise none --kernel-noise 10 --layers 4) # values grow by ten with every layer
run 0 pathgcn train --edges edges.csv --features people.csv --labels labels.csv "${wild[@]}" --epochs 2 --out people
for command in predict eval; do
    refused 1 "not finite|feature column 'income' has values of 3e+38" $command people/model.safetensors \
        --edges edges.csv --features rich.csv --labels labels.csv
done
refused 1 "not finite" predict people/model.safetensors --edges edges.csv --features rich.csv --out rich.json
[ ! -e rich.json ] || fail "a prediction that is not finite was written"
sed 's/^p1,1,1$/p1,1,3e38/' people.csv >poor.csv
cmp -s people.csv poor.csv && fail "nothing was replaced"
run 1 pathgcn train --edges edges.csv --features poor.csv --labels labels.csv "${wild[@]}" --epochs 4 \
    --out broken --quiet
holds "$err" "loss of epoch 1 is not finite" "feature column 'income' has values of 3e+38"
