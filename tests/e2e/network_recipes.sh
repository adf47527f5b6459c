#!/usr/bin/env bash
# Recipes of networks on the command line: --model NAME takes a recipe of that network, --model auto
# races all networks, and what does not go together is refused with a sentence.
# shellcheck source=tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
unset PATHGCN_RECIPES
default_recipe="" # this is about which recipe is taken
quick=(--epochs 9 --threads 1)

# -- listed and shown ------------------------------------------------------------------------------
run 0 pathgcn recipes
grep -qE '^gin +[0-9]+ +gin +any +graph' "$out" || fail "the list does not tell gin's network"
grep -qE '^cora +[0-9]+ +pathgcn +cora +node' "$out" || fail "the list does not tell cora's network"
run 0 pathgcn recipes --json
holds "$out" '"name":"gin-default","version":1,"network":"gin"'
run 0 pathgcn recipes show auto
holds "$out" "auto is no recipe" "any-alike " "gin " "--model auto adds"
! grep -q "gin-default" "$out" || fail "a default of a network is said to race"
run 0 pathgcn recipes show auto --model auto
holds "$out" "any-alike " "gin-default "
run 0 pathgcn recipes show auto --json
holds "$out" '{"races":[{"name":"any-alike"'
refused 2 "usual is no recipe|--dataset NAME" recipes show usual
run 0 pathgcn recipes show usual --dataset cora
holds "$out" "recipe = cora"
run 0 pathgcn recipes show default --model gin
holds "$out" "recipe = gin-default" "model = gin"
refused 2 "no recipe 'any-alke' (did you mean any-alike?)" recipes show any-alke
refused 2 "did you mean any-alike?" train karate --recipe any-alke --out no

# -- train: the recipe of the network, and it says which -------------------------------------------
run 0 pathgcn train karate --model gin "${quick[@]}" --out gin
holds "$err" "note: gin has no recipe for this data set; its recipe for any is gin-default"
holds "$out" "Recipe: gin-default, version 1"
[ ! -e gin/race.json ] || fail "there was a race"
run 0 pathgcn train karate --recipe gin-default "${quick[@]}" --out named
same "by its whole name, without --model" gin/model.safetensors named/model.safetensors
for recipe in default usual; do
    run 0 pathgcn train karate --model gin --recipe $recipe "${quick[@]}" --out $recipe
    same "--recipe $recipe of gin" gin/model.safetensors $recipe/model.safetensors
done
run 0 pathgcn train karate --model gin --recipe none "${quick[@]}" --json --out none
holds "$out" '"recipe":null' '"model":"gin"'

ring sets/cora
export PATHGCN_DATA=sets
mkdir own
sed 's/^recipe = .*/recipe = gin-authors-cora/; s/^dataset = .*/dataset = cora/; s/^channels = .*/channels = 24/' \
    "$PATHGCN_SOURCE/recipes/gin-default.recipe" >own/gin-authors-cora.recipe
export PATHGCN_RECIPES=own
run 0 pathgcn train cora --model gin "${quick[@]}" --json --quiet --out ofcora
holds "$out" '"name":"gin-authors-cora"' '"model":"gin"' '"channels":"24"'
run 0 pathgcn train cora --model gin --recipe default "${quick[@]}" --json --quiet --out ofcora --overwrite
holds "$out" '"name":"gin-default"'
run 0 pathgcn tune cora --model gin --candidates 2 --runs 1 --epochs 9 --quiet --out tuned
holds tuned/tune.json "gin-authors-cora" # what it starts from

# -- refused ---------------------------------------------------------------------------------------
refused 2 "recipe cora is of the network pathgcn, and model is gin|gin has gin-authors-cora, gin-default here" \
    train cora --model gin --recipe cora --out no
refused 2 "recipe gin-default is of the network gin, and model is pathgcn" train cora --model pathgcn --recipe gin-default --out no
refused 2 "no recipe 'authors-like' of network gin for data set cora|gin-authors-cora" train cora --model gin --recipe authors-like --out no
for command in train tune; do
    refused 2 "--recipe auto is the race of pathgcn's families and --model is gin|--model auto" $command karate --model gin --recipe auto --out no
    refused 2 "--model auto races the recipes of all networks and --recipe is 'cora'" $command cora --model auto --recipe cora --out no
done
refused 2 "--model is 'auto', expected pathgcn" reproduce semi --datasets cora --model auto --out reproduced
refused 2 "--model is given twice" train karate --model auto --model gin --out no
[ ! -e no ] || fail "a refused run left a directory"
unset PATHGCN_RECIPES

# -- --model auto: a race of all networks, with the same bits on any threads and after kill -9 ---------
short=(karate --model auto --epochs 45 --quiet)
for threads in 1 3; do run 0 pathgcn train "${short[@]}" --threads $threads --out "all-$threads"; done
same_runs "a race of all networks on 3 threads" all-1 all-3
same "its race.json" all-1/race.json all-3/race.json
holds all-1/race.json '"recipe": "gin-default"' '"recipe": "any-alike"'
"$PATHGCN" train "${short[@]}" --out killed >/dev/null 2>&1 &
sleep 0.15
kill -9 $! 2>/dev/null || true
wait $! 2>/dev/null || true
run 0 pathgcn train "${short[@]}" --out killed --resume
same_runs "killed in a race of all networks" all-1 killed
refused 1 "its settings came from a race on other data, with other settings or among other recipes" \
    train karate --epochs 45 --out all-1
run 0 pathgcn train karate --epochs 45 --quiet --out paths
! grep -q gin-default paths/race.json || fail "--recipe auto races other networks"
run 0 pathgcn train karate --model auto --recipe auto --epochs 9 --seeds 2 --out seeds
[ "$(grep -c 'won [12] of 2 races' "$out")" -ge 1 ] || fail "the table does not count who won"

# where a network of another kind wins, its recipe alone repeats the run
run 0 pathgcn train "${short[@]}" --eps 0.5 --out eps
holds eps/race.json '"winner": "gin-default"'
run 0 pathgcn train karate --recipe gin-default --eps 0.5 --epochs 45 --quiet --out alone
same "the winner's recipe alone" eps/model.safetensors alone/model.safetensors
run 0 pathgcn train --model auto --help
holds "$out" "pathgcn | gin" "| auto" "auto: the one that wins a race"

# ---- findings of a new user -------------------------------------------------------------------------
refused 2 "model is jknet and shapes is a set of graphs to be classified: its last layer is a convolution" \
    train "$PATHGCN_SOURCE/examples/shapes" --model jknet --quiet
refused 2 "walk is node2vec and does nothing: model is gcn" train karate --model gcn --walk node2vec --quiet
refused 2 "--model is 'GCN'|did you mean gcn? " train karate --model GCN --quiet
refused 2 "layer-norm is 'maybe', expected no" train karate --model gcn --layer-norm maybe
run 0 pathgcn train karate --model gcn --recipe gcn-default --batch-norm yes --epochs 3 --quiet --out normed
run 0 pathgcn train karate --model gcn --layer-norm yes --epochs 3 --quiet --out normed-2
run 2 pathgcn kernels normed/model.safetensors
[ ! -s "$out" ] || fail "kernels prints a head before it refuses"
run 0 pathgcn train --model gcn --help
holds "$out" "Model of --model gcn (in brackets" "dropped before the first and the last layer"
! grep -q "wd-kernel" "$out" || fail "the help of gcn has settings of paths"
