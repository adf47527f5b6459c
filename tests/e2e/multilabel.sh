#!/usr/bin/env bash
# Nodes with several labels: from CSV files of one's own and from folders of several graphs; reports,
# predictions, graphs that were not in training, and what is refused.
# shellcheck source=tests/e2e/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
quick=(--epochs 100 --channels 16 --lr-ends 0.03 --lr-mix 0.01)
[ -z "$sanitized" ] || quick=(--epochs 3 --channels 8)

# ---- own files: a ring of 40, two labels that the features tell, of which the last 10 are not known --

{
    echo "from,to"
    for i in {0..39}; do echo "n$i,n$(((i + 1) % 40))"; done
} >edges.csv
{
    echo "id,a,b"
    for i in {0..39}; do echo "n$i,$((i % 2)),$((i / 2 % 2))"; done
} >features.csv
{
    echo 'id,"odd, or so",second'
    for i in {0..29}; do echo "n$i,$((i % 2)),$((i / 2 % 2))"; done
} >labels.csv
files=(--edges edges.csv --features features.csv --labels labels.csv)

run 0 pathgcn train "${files[@]}" "${quick[@]}" --out a
holds "$out" "val F1 %" "test F1 %" "edges: test micro-F1" "at the epoch chosen on validation nodes" \
    "Recipe: any-multilabel, version"
run 0 pathgcn train "${files[@]}" "${quick[@]}" --out a --json
holds "$out" '"task":"multilabel"' '"metric":"micro-F1"' '"test_accuracy_mean":'
tested=$(json "$out" test_accuracy_mean)
holds a/result.json '"task": "multilabel"' '"metric": "micro-F1"'
run 0 pathgcn eval a/model.safetensors
holds "$out" "nodes        micro-F1 %"
run 0 pathgcn eval a/model.safetensors --inference stochastic:3
holds "$out" "The micro-F1 is that of the mean of the 3 draws"
run 0 pathgcn eval a/model.safetensors --json
holds "$out" '"metric":"micro-F1"'
[ "$(json "$out" test_accuracy)" = "$tested" ] || fail "eval has another F1 than train"
# labels are found by their names: other columns, the same score
scored=$(json "$out" all_accuracy)
sed 's/,\([01]\),\([01]\)$/,\2,\1/; 1s/.*/id,second,"odd, or so"/' labels.csv >swapped.csv
run 0 pathgcn eval a/model.safetensors --edges edges.csv --features features.csv --labels swapped.csv --json
[ "$(json "$out" all_accuracy)" = "$scored" ] || fail "labels in another order have another F1"

run 0 pathgcn predict a/model.safetensors --out all.csv
[ "$(head -n 1 all.csv)" = "node,labels,probability" ] || fail "another header"
[ "$(wc -l <all.csv)" = 41 ] || fail "not a line per node"
# the nodes with both labels, one with the name that needs quotes, none: as the features tell
if [ -z "$sanitized" ]; then
    grep -qE '^n3,"odd, or so;second",[01]\.?[0-9]*;[01]\.?[0-9]*$' all.csv || fail "n3 has both labels"
    grep -qE '^n1,"odd, or so",[01]\.?[0-9]*$' all.csv || fail "n1 has one label"
    grep -qE '^n0,,$' all.csv || fail "n0 has no label"
fi
run 0 pathgcn predict a/model.safetensors --unlabelled
[ "$(sed 1d "$out" | cut -d, -f1 | xargs)" = "$(printf 'n%d ' {30..39} | xargs)" ] || fail "not the unknown ones"
run 0 pathgcn predict a/model.safetensors --all --inference stochastic:2
[ "$(head -n 1 "$out")" = 'node,labels,probability,deviation,"odd, or so",second' ] || fail "another header"
run 0 pathgcn predict a/model.safetensors --all --json
holds "$out" '"task":"multilabel"' '"class_names":["odd, or so","second"]' '{"node":"n3","labels":[' '"probabilities":['
run 0 pathgcn kernels a/model.safetensors
run 0 pathgcn train "${files[@]}" "${quick[@]}" --threads 3 --out a3 --quiet
same_runs "3 threads" a a3

# ---- folders of three graphs, one each to train, to validate and to test ----------------------------

# rings DIR: three rings of 8 nodes
rings() {
    mkdir -p "$1"
    local i edges=() x=() y=() graph=() train=() val=() test=()
    for i in {0..23}; do
        edges+=("$i" $((i / 8 * 8 + (i + 1) % 8)))
        x+=($((i % 2)) $((i / 2 % 2)))
        y+=($((i % 2)) $((i / 2 % 2)) $((i % 4 == 3)))
        graph+=($((i / 8)))
        train+=($((i / 8 == 0))) val+=($((i / 8 == 1))) test+=($((i / 8 == 2)))
    done
    i32 "${edges[@]}" | npy "$1/edges.npy" '<i4' '(24, 2)'
    f32 "${x[@]}" | npy "$1/x.npy" '<f4' '(24, 2)'
    u8 "${y[@]}" | npy "$1/y.npy" '|u1' "(24, 3)"
    i32 "${graph[@]}" | npy "$1/graph_id.npy" '<i4' '(24,)'
    u8 "${train[@]}" | npy "$1/train_mask.npy" '|u1' '(24,)'
    u8 "${val[@]}" | npy "$1/val_mask.npy" '|u1' '(24,)'
    u8 "${test[@]}" | npy "$1/test_mask.npy" '|u1' '(24,)'
}
rings proteins
run 0 pathgcn train proteins "${quick[@]}" --out p
holds "$out" "ms per epoch" "proteins: test micro-F1" "Recipe: any-multilabel, version"
rings others
run 0 pathgcn predict p/model.safetensors --out p.csv
run 0 pathgcn predict p/model.safetensors others --out o.csv
same "the same graphs elsewhere" p.csv o.csv
[ "$(wc -l <o.csv)" = 25 ] || fail "not a line per node"
run 0 pathgcn eval p/model.safetensors others

# two graphs that test, of whose nodes three have no label; and no graph of its own that validates
cp -r proteins tested
u8 1 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 | npy tested/train_mask.npy '|u1' '(24,)'
u8 0 0 0 0 1 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 | npy tested/val_mask.npy '|u1' '(24,)'
u8 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 | npy tested/test_mask.npy '|u1' '(24,)'
u8 1 1 1 1 1 1 1 1 1 0 1 1 1 1 1 1 1 1 1 1 0 0 1 1 | npy tested/label_known.npy '|u1' '(24,)'
few=(--recipe none --samples 1 --consistency 0 --epochs 2 --channels 8) # so few epochs that much is wrong
run 0 pathgcn train tested "${few[@]}" --out t
cp "$out" t.out
run 0 pathgcn predict t/model.safetensors --out t.csv
expected=$(awk -F, '
    NR > 1 && $1 >= 8 && $1 != 9 && $1 != 20 && $1 != 21 {
        g = int($1 / 8); truth[0] = $1 % 2; truth[1] = int($1 / 2) % 2; truth[2] = $1 % 4 == 3
        for (c = 0; c < 3; c++) {
            said = ";" $2 ";" ~ ";" c ";"
            hits[g] += said && truth[c]; both[g] += said + truth[c]
        }
    }
    END { printf "%.8f", (200 * hits[1] / both[1] + 200 * hits[2] / both[2]) / 2 }' t.csv)
tr -d " \n" <t/result.json >t.json
about "$(json t.json test_graph_accuracy)" "$expected" 1e-7
[ "$(json t.json test_graphs) $(json t.json test_graph_nodes)" = "2 16" ] || fail "other graphs"
holds t.out "mean of graphs $(printf %.2f "$expected"))" \
    "Labelled and scored: 4 of 8 nodes of 1 validation graph, 13 of 16 of 2 test graphs."
run 0 pathgcn eval t/model.safetensors
holds "$out" "  mean of graphs" "Labelled and scored: 4 of 8 nodes of 1 training graph, 4 of 8 of 1 validation graph, \
13 of 16 of 2 test graphs." "$(printf %.2f "$expected") as the mean of 2 graphs"
run 0 pathgcn eval t/model.safetensors --json
about "$(json "$out" test_graph_accuracy)" "$expected" 1e-7
about "$(json "$out" test_accuracy)" "$(json t.json test_accuracy)" 1e-7
holds "$out" '"train_graphs":1' '"test_graph_nodes":16'
run 0 pathgcn train tested "${few[@]}" --seeds 2 --out t2 --json
holds "$out" '"test_graph_accuracy_mean":' '"val_graph_accuracy_std":'
# of one graph there is no word of it
run 0 pathgcn eval a/model.safetensors
! grep -E "mean of graphs|Labelled and scored" "$out" || fail "one graph has a mean over graphs"
run 0 pathgcn eval a/model.safetensors --json
! grep graph_accuracy "$out" || fail "one graph has a mean over graphs"

run 0 pathgcn tune proteins --candidates 2 --runs 1 --epochs 2 --jobs 1 --out tuned
holds "$out" "2 candidates of space multilabel" "validation micro-F1" "Chosen by validation micro-F1"
holds tuned/proteins.recipe "recipe = proteins" "task = multilabel" "validation micro-F1 "
holds tuned/tune.json '"metric": "micro-F1"'

# ---- refused ---------------------------------------------------------------------------------------

refused 2 "consistency is 1.5|several labels" train proteins --recipe none --out no
refused 2 "recipe any-graph is for the task graph, and data set proteins has the task multilabel" \
    train proteins --recipe any-graph --out no
refused 1 "the model knows 2 classes and data set proteins has 3" eval a/model.safetensors proteins
refused 1 "the model predicts several labels per node, which data set karate does not tell" \
    eval a/model.safetensors karate
refused 1 "the model reads 2 feature columns, those of proteins, and data set karate has 34" \
    predict p/model.safetensors karate
[ ! -e no ] || fail "a refused run left a directory"
