#!/usr/bin/env bash
# Sets of graphs with a class each, from TU files that are made here: train, eval, predict for graphs
# that were not in training, Ctrl-C and resume, threads, GIN, and what is refused.
# shellcheck source=tests/e2e/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# graphs DIR COUNT FIRST: TU files. Graph g is a ring (class -1) or a star (class 1) of 4 to 6 nodes, by its
# number from FIRST on; node labels tell nothing.
graphs() {
    mkdir -p "$1"
    awk -v count="$2" -v first="$3" -v to="$1/small" '
        function edge(a, b) { print a ", " b "\n" b ", " a > (to "_A.txt") }
        BEGIN {
            for (g = first; g < first + count; g++) {
                nodes = 4 + g % 3
                print (g % 2 ? 1 : -1) > (to "_graph_labels.txt")
                for (i = 1; i <= nodes; i++) {
                    print g - first + 1 > (to "_graph_indicator.txt")
                    print i % 2 > (to "_node_labels.txt")
                    if (g % 2 && i > 1) edge(n + 1, n + i)
                    if (g % 2 == 0) edge(n + i, n + i % nodes + 1)
                }
                n += nodes
            }
        }'
}
graphs small 40 0
graphs new 9 1 && rm new/small_graph_labels.txt
few=(--epochs 30)
[ -z "$sanitized" ] || few=(--epochs 4)
quick=("${few[@]}" --threads 1)

# ---- train, eval -----------------------------------------------------------------------------------

run 0 pathgcn train small "${quick[@]}" --out a
holds "$err" "ten were made (kfold=10)"
holds "$out" "ms per epoch" "small: test accuracy" "at the epoch chosen on validation graphs" \
    "Recipe: any-graph, version"
accuracy=$(sed -n 's/.*test accuracy \(.*\)%.*/\1/p' "$out")
[ -n "$sanitized" ] || awk -v got="$accuracy" 'BEGIN { exit !(got > 70) }' || fail "test accuracy is $accuracy"
run 0 pathgcn train small "${quick[@]}" --out a --json
holds "$out" '"task":"graph"' '"metric":"accuracy"' '"batch":"32"'
holds a/result.json '"task": "graph"' '"metric": "accuracy"'
holds a/model.safetensors '"task":"graph"'
tested=$(json "$out" test_accuracy_mean)
run 0 pathgcn eval a/model.safetensors --json
holds "$out" '"task":"graph"' '"metric":"accuracy"'
[ "$(json "$out" test_accuracy)" = "$tested" ] || fail "eval has another accuracy than train"
run 0 pathgcn eval a/model.safetensors
holds "$out" "graphs       accuracy %"

# without a test there is no number that is none
run 0 pathgcn train small:crossval=10 "${quick[@]}" --seeds 2 --out c
holds "$out" "small:crossval=10: validation accuracy" "(no test: crossval)" "         - "
! grep -qi nan "$out" || fail "nan in the table"
run 0 pathgcn train small:crossval=10 "${quick[@]}" --seeds 2 --out c --json
holds "$out" '"test_accuracy_mean":null' '"test_accuracy_std":null' '"test_accuracy":null'
run 0 pathgcn train small:without-test "${quick[@]}" --out w
holds "$out" "(no test: without-test)"
run 0 pathgcn eval c/model.safetensors
grep -qE '^test +- +-$' "$out" || { show_last && fail "no dash for the test that there is not"; }
run 0 pathgcn eval c/model.safetensors --json
holds "$out" '"test_accuracy":null'

# ---- predict ---------------------------------------------------------------------------------------

run 0 pathgcn predict a/model.safetensors --out all.csv
[ "$(head -n 1 all.csv)" = "graph,label,probability" ] || fail "another header"
[ "$(tail -n +2 all.csv | cut -d, -f1 | xargs)" = "$(seq -s ' ' 0 39)" ] || fail "not a line per graph"
[ "$(tail -n +2 all.csv | cut -d, -f2 | sort -u | xargs)" = "-1 1" ] || [ -n "$sanitized" ] ||
    fail "not the names of the classes"
run 0 pathgcn predict a/model.safetensors new --out new.csv
[ "$(wc -l <new.csv)" = 10 ] || fail "not a line per new graph"
# new graph i is graph i + 1 of the training set
diff <(sed 1d new.csv | cut -d, -f2-) <(sed 1d all.csv | sed -n 2,10p | cut -d, -f2-) >&2 ||
    fail "the same graphs, predicted otherwise"
run 0 pathgcn predict a/model.safetensors --unlabelled
[ "$(cat "$out")" = "graph,label,probability" ] || fail "--unlabelled: all graphs have a label"
run 0 pathgcn train small "${quick[@]}" --scaling walk --train-form sampled --out paths --quiet
run 0 pathgcn predict paths/model.safetensors new --unlabelled --all --inference stochastic:3 --json
holds "$out" '"task":"graph"' '{"graph":8,"label":"' '"deviation":' '"probabilities":['
for file in new.pgcn new.npz; do
    run 0 pathgcn data convert new --out $file
    run 0 pathgcn predict a/model.safetensors $file --out converted.csv
    same "$file" new.csv converted.csv
done
run 0 pathgcn data info new
holds "$out" "there are no labels" "there is no small_graph_labels.txt"

# a model prepares new graphs as it was trained
run 0 pathgcn train small "${quick[@]}" --prepare features=degrees,crossval=5 --out d --quiet
run 0 pathgcn predict d/model.safetensors --out all.csv
run 0 pathgcn predict d/model.safetensors new --out new.csv
diff <(sed 1d new.csv | cut -d, -f2-) <(sed 1d all.csv | sed -n 2,10p | cut -d, -f2-) >&2 ||
    fail "features=degrees of the training was not used"
refused 1 "new:features=labels has the feature column 'label=0', which|had not" \
    predict d/model.safetensors new:features=labels
run 0 pathgcn kernels d/model.safetensors
holds "$out" "kernel depthwise" "    4 "

# columns are found by what they stand for: nodes of kind 1 alone, and the same beside a graph with both kinds
graphs fewer 9 1 && sed -i 's/.*/1/' fewer/small_node_labels.txt
graphs more 10 1 && sed -i "1,$(wc -l <fewer/small_node_labels.txt)s/.*/1/" more/small_node_labels.txt
grep -qx 0 more/small_node_labels.txt || fail "only one kind of nodes"
for file in fewer fewer.pgcn fewer.npz; do
    [ -d $file ] || run 0 pathgcn data convert fewer --out $file
    run 0 pathgcn predict a/model.safetensors $file --out "${file/./-}.csv"
    run 0 pathgcn predict a/model.safetensors more --out more.csv
    same "$file, the same graphs beside another" "${file/./-}.csv" <(head -n 10 more.csv)
done
# so are classes, of which a set may have only one
graphs one 12 0
sed -i 's/.*/1/' one/small_graph_labels.txt
run 0 pathgcn predict a/model.safetensors one
share=$(sed 1d "$out" | awk -F, '$2 == 1 { n++ } END { printf "%.4f", 100 * n / NR }')
run 0 pathgcn eval a/model.safetensors one --json
about "$(json "$out" all_accuracy)" "$share" 0.001
run 0 pathgcn eval a/model.safetensors one
holds "$out" "all  "

# ---- the same bytes: threads, interrupted ------------------------------------------------------------

for threads in 2 3; do
    run 0 pathgcn train small "${few[@]}" --threads $threads --out "t$threads" --quiet
    same_runs "$threads threads" a "t$threads"
done
run 0 pathgcn train small --epochs 400 --threads 1 --out whole --quiet
"$PATHGCN" train --recipe usual small --epochs 400 --threads 1 --out parts --quiet >"$out" 2>"$err" &
pid=$!
wait_for 60 test -s parts/checkpoint.safetensors
kill -INT $pid
code=0
wait $pid || code=$?
[ $code = 130 ] || fail "exit code $code after Ctrl-C; was it finished already?"
holds "$err" "Interrupted after epoch" "--resume"
run 0 pathgcn train small --epochs 400 --threads 1 --out parts --quiet --resume
same_runs "interrupted and resumed" whole parts

# ---- GIN -------------------------------------------------------------------------------------------

run 0 pathgcn train small "${quick[@]}" --model gin --out g --quiet
run 0 pathgcn predict g/model.safetensors new
[ "$(wc -l <"$out")" = 10 ] || fail "not a line per new graph"
run 0 pathgcn kernels g/model.safetensors
holds "$out" "gin, kernel layer"
refused 2 "no paths to draw" predict g/model.safetensors new --inference stochastic:2

# ---- tune ------------------------------------------------------------------------------------------

run 0 pathgcn tune small --candidates 3 --runs 2 --epochs 2 --jobs 1 --out tuned
holds "$out" "3 candidates of space graph" "validation accuracy" "no split had test graphs" "tuned/small.recipe"
holds tuned/small.recipe "recipe = small" "version = 1" "task = graph" "dataset = small" "of any-graph version"
untested tuned
run 0 pathgcn train small --recipe tuned/small.recipe --epochs 2 --out tuned/run --quiet
holds "$out" "Recipe: small, version 1"

# ---- refused ---------------------------------------------------------------------------------------

graphs other 12 0 && sed -i '1s/.*/2/' other/small_node_labels.txt # a third kind of node
refused 1 "data set other has the feature column 'label=2', which|(small) had not" predict a/model.safetensors other
graphs stars 12 0 && sed -i 's/.*/7/' stars/small_graph_labels.txt
refused 1 "data set stars has the class '7', which|(small, 2 classes) had not" eval a/model.safetensors stars
refused 1 "a class for every graph|data set karate is a single graph" predict a/model.safetensors karate
refused 1 "predicts one class per graph, which data set new does not tell" eval a/model.safetensors new
refused 2 "recipe cora is for the task node, and data set small has the task graph" train small --recipe cora --out no
refused 2 "recipe any-graph is for the task graph, and data set karate has the task node" \
    train karate --recipe any-graph --out no
refused 2 "data set new has no labels" train new --quiet --out no
[ ! -e no ] || fail "a refused run left a directory"

# ---- reproduce: one epoch for all folds ------------------------------------------------------------

run 0 pathgcn reproduce graphs --datasets small --seeds 3 --epochs 6 --steps 1 --channels 4 --jobs 2 --quiet --out folds
holds "$out" "GIN       pathgcn" "GIN       gin" "held out  pathgcn" "held out  gin"
# GIN's figure by hand: the best mean over the folds of the validation accuracies of an epoch
best_common() { # DIR KEY...
    local directory=$1 key
    shift
    for key in "$@"; do
        tr -d ' \n' <"$directory/jobs/$key.json" | sed 's/.*"val_curve":\[\([^]]*\)\].*/\1/' | tr , '\n' | nl
    done | awk -v folds=$# '{ sum[$1] += $2 }
        END { for (e in sum) if (sum[e] / folds > best) best = sum[e] / folds; printf "%.2f", best }'
}
mapfile -t keys < <(grep -o '"key": "[0-9a-f]*"' folds/graphs.json | cut -d '"' -f 4 | head -3)
holds "$out" "pathgcn       4     3  $(best_common folds "${keys[@]}") ±"

# a search ranks by the same rule
echo 'lr-mix = 1e-3 .. 1e-1 log' >rates.space
ranked=(tune small:crossval=3 --space rates.space --lr-mix 0.01 --candidates 2 --runs 3 --epochs 6 --steps 1
    --channels 4 --quiet --out common)
run 0 pathgcn "${ranked[@]}"
holds "$out" "at one epoch for all runs"
holds common/tune.json '"chosen_by": "val_accuracy_at_common_epoch"' '"common_epoch"'
for those in -l -L; do # with the rate of the present recipe, and without: the candidate
    mapfile -t keys < <(grep $those '"lr-mix": "0.01"' common/jobs/*.json | sed 's|.*/||; s|\.json||')
    holds "$out" " $(best_common common "${keys[@]}") ±"
done
run 0 pathgcn "${ranked[@]}" --score accuracy
holds common/tune.json '"chosen_by": "val_accuracy"'
refused 1 "which needs a class for every graph" reproduce graphs --datasets karate --out none
