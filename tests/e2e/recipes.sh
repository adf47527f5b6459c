#!/usr/bin/env bash
# Recipes on the command line: listed, shown, chosen by data set, name, family, file and depth,
# overridden by options, recorded in what a run leaves, and refused with a sentence.
# shellcheck source=tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
unset PATHGCN_RECIPES
quick=(--epochs 2 --quiet --threads 1)

# -- list ------------------------------------------------------------------------------------------
run 0 pathgcn recipes
holds "$out" "paper-cora-full" "Wiki-CS" "version" "any-multilabel" "paper-ptc"
cp "$out" listed
run 0 pathgcn recipes list
same "recipes and recipes list" listed "$out"
[ "$(wc -l <listed)" = "$(($(find "$PATHGCN_SOURCE/recipes" -name '*.recipe' | wc -l) + 1))" ] ||
    fail "not every file of recipes/ is listed"
run 0 pathgcn recipes --json
[ "$(wc -l <"$out")" = 1 ] || fail "more than one JSON line"
holds "$out" '{"recipes":[{"name":"any-alike","version":' '"sha256"'
refused 2 "'lst' is not understood|did you mean list" recipes lst

# -- show: what is printed is a recipe --------------------------------------------------------------
run 0 pathgcn recipes show cora --layers 8
holds "$out" "recipe = cora" "layers = 8" "hops = 4.9195" "lr-mix = 0.001"
cp "$out" shown.recipe
run 0 pathgcn recipes show shown.recipe
diff <(tail -n +2 shown.recipe) <(tail -n +2 "$out") >&2 || fail "shown twice and not the same"
run 0 pathgcn recipes show paper --dataset citeseer --json
holds "$out" '"name":"paper-citeseer"' '"lr-ends":"0.007"' '"channels":"256"'
run 0 pathgcn recipes show none
holds "$out" "dropout = 0.6"
# a default that does nothing beside the others is not shown: there are gains, whatever norm-gain is
run 0 pathgcn recipes show ppi
holds "$out" "norm-over = graph"
! grep norm-gain "$out" || fail "norm-gain does nothing beside norm-over graph, and is shown"
refused 2 "no recipe 'papr'|pathgcn recipes" recipes show papr
refused 2 "--layers is '-3'" recipes show cora --layers -3

# -- train ------------------------------------------------------------------------------------------
# What a run came to: config KEY of the JSON line
config() { grep -oE "\"$1\":\"[^\"]*\"" "$out" | head -n 1 | cut -d '"' -f 4; }
ring sets/cora # named like the real one, and with a public split only
export PATHGCN_DATA=sets
run 0 pathgcn train cora "${quick[@]}" --json --out a --overwrite
version=$(sed -n 's/^version = //p' "$PATHGCN_SOURCE/recipes/cora.recipe")
holds "$out" "\"recipe\":{\"name\":\"cora\",\"version\":$version,\"sha256\":\""
holds a/result.json '"name": "cora"' '"sha256"'
mark="cora version $version sha256 $(sha "$PATHGCN_SOURCE/recipes/cora.recipe")"
holds a/model.safetensors "$mark"
# a norm of smoothed inputs gives way where they are not smoothed
run 0 pathgcn train cora "${quick[@]}" --recipe "$PATHGCN_SOURCE/recipes/pubmed.recipe" --input-hops 0 --json --out a --overwrite
holds "$out" '"input-norm":"no"'
run 0 pathgcn train cora "${quick[@]}" --json --out a --overwrite --layers 8
[ "$(config layers) $(config hops) $(config lr-mix)" = "8 4.9195 0.001" ] || fail "not the section"
run 0 pathgcn train cora "${quick[@]}" --json --out a --overwrite --layers 8 --lr-mix 0.5
[ "$(config hops) $(config lr-mix)" = "4.9195 0.5" ] || fail "the option does not win"
run 0 pathgcn train cora "${quick[@]}" --json --out a --overwrite --recipe paper
[ "$(config lr-mix) $(config residual)" = "0.001 none" ] || fail "not the paper's"
holds "$out" '"name":"paper-cora"'
run 0 pathgcn train cora "${quick[@]}" --json --out a --overwrite --recipe none
holds "$out" '"recipe":null'
refused 1 "no split 'numbered'" train cora "${quick[@]}" --recipe full --out b
run 0 pathgcn train karate "${quick[@]}" --json --out a --overwrite
holds "$out" '"recipe":null'
run 0 pathgcn train cora --epochs 2 --threads 1 --out a --overwrite
holds "$out" "Recipe: cora, version $version"

# -- a file of the user's ------------------------------------------------------------------------
cat >mine.recipe <<'R'
# mine
recipe = mine
version = 4
task = node
dataset = cora
about = to be tested
dropout = 0.25          # less
[layers = 3..4]
hops = 2.5
R
run 0 pathgcn train cora "${quick[@]}" --json --out a --overwrite --recipe mine.recipe --layers 3
[ "$(config dropout) $(config hops)" = "0.25 2.5" ] || fail "not the settings of the file"
holds "$out" "\"recipe\":{\"name\":\"mine\",\"version\":4,\"sha256\":\"$(sha mine.recipe)\"}"
run 0 pathgcn train karate --epochs 2 --threads 1 --out a --overwrite --recipe ./mine.recipe
holds "$err" "note: recipe mine was written for data set cora, not for karate"
mkdir own
mv mine.recipe own
PATHGCN_RECIPES=own run 0 pathgcn train cora "${quick[@]}" --json --out a --overwrite --recipe mine
[ "$(config dropout)" = 0.25 ] || fail "not found in the folder"
PATHGCN_RECIPES=own run 0 pathgcn recipes
holds "$out" "mine " "to be tested" "paper-cora"
echo "dropout" >own/broken.recipe
PATHGCN_RECIPES=own run 1 pathgcn recipes
holds "$out" "mine " "paper-cora"
holds "$err" "broken.recipe': line 1: found 'dropout', expected key = value"
PATHGCN_RECIPES=nowhere refused 1 "PATHGCN_RECIPES|nowhere" train cora "${quick[@]}" --out b

# -- steps of the data set -----------------------------------------------------------------------
sed 's/^dataset = .*/dataset = karate\nprepare = features=own+degrees/' own/mine.recipe >steps.recipe
run 0 pathgcn train karate --epochs 2 --threads 1 --out s --recipe steps.recipe
holds "$err" "note: recipe mine prepares the data set: features=own+degrees"
holds "$out" "karate:features=own+degrees"
run 0 pathgcn eval s/model.safetensors
run 0 pathgcn train karate:features=own --epochs 2 --threads 1 --out s2 --recipe steps.recipe
! grep -q "prepares the data set" "$err" || fail "steps that were given are not replaced"
run 0 pathgcn recipes show chameleon
holds "$out" "prepare = directed,features=adjacency"

# -- refusals ------------------------------------------------------------------------------------
sed 's/dropout/drop_out/' own/mine.recipe >key.recipe
refused 1 "key.recipe': line 7|'drop_out'|did you mean dropout?" train cora --recipe key.recipe --out b
sed 's/0.25/1.25/' own/mine.recipe >value.recipe
refused 1 "value.recipe': line 7|dropout is '1.25', expected 0..0.999" train cora --recipe value.recipe --out b
sed 's/node/graph/' own/mine.recipe >task.recipe
refused 2 "recipe mine is for the task graph|the task node" train cora --recipe task.recipe --out b
refused 2 "recipe texas is for data set texas and not for cora" train cora --recipe texas --out b
refused 2 "no recipe 'papr' for data set cora|cora, cora-full, paper-cora" train cora --recipe papr --out b
refused 1 "binary.recipe" train cora --recipe binary.recipe --out b
head -c 300 "$PATHGCN" >binary.recipe
refused 1 "binary.recipe': it is not" train cora --recipe binary.recipe --out b
refused 2 "--recipe needs a value" train cora --recipe
[ ! -e b ] || fail "a refused run left a directory"
