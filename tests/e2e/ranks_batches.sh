#!/usr/bin/env bash
# Mini-batches of nodes, predictions and evaluations under mpirun: the tensors, histories and files of one process on any
# number of ranks; what a rank draws and keeps of a batch falls with their number.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_ranks

law=powerlaw:nodes=12000,edges=40000
nodes=(--recipe none --epochs 3 --batch-by nodes --steps 2 --layers 2 --channels 16 --quiet)
walks=(--paths 3 --path-length 3)
check() { # NAME 'RANKS...' DATA OPTIONS...
    local name=$1 numbers=$2 number
    shift 2
    run 0 "$PATHGCN" train "$@" "${nodes[@]}" --threads 2 --out "$name"
    for number in $numbers; do
        run 0 ranks "$number" train "$@" "${nodes[@]}" --threads 1 --out "$name-$number"
        same_training "$name" "$name-$number"
    done
}

# ---- the same bits -----------------------------------------------------------------------------------

# several samples, nodes without labels, and evaluations of which every rank takes some nodes
check evaluated "2 3 4 8" $law "${walks[@]}" --batch 300 --samples 2 --consistency 1 --consistency-ramp 0 \
    --unlabelled 100 --eval-nodes 500 --clip 0.01
# fewer nodes than ranks have groups: some have none
check few "8" $law "${walks[@]}" --batch 50 --eval-nodes 5
# features of the first layer that are gathered; walks of their own in every layer; rows in bf16
check sparse "3" $law --prepare features=adjacency "${walks[@]}" --batch 200 --eval-nodes 100
check layers "4" $law,features=48 "${walks[@]}" --batch 200 --paths-per-layer yes --bf16 yes --residual initial
# neighbours: drawn, all of them, and of a network that every rank has whole lists for
check drawn "3" powerlaw:nodes=6000,edges=30000,features=100 --model sage --batch 100 --neighbours 5,3 --eval-nodes 60
check all "3" powerlaw:nodes=6000,edges=30000,features=100 --model jknet --batch 100 --eval-nodes 60
check attention "2" powerlaw:nodes=2000,edges=8000,features=20 --model gat --batch 50 --eval-nodes 60

# ---- what falls ----------------------------------------------------------------------------------------

# bytes KIND RANKS: of a rank's memory
bytes() { grep -o "\"$1\": [0-9]*" "memory-$2/result.json" | tail -1 | grep -o '[0-9]*$'; }
run 0 "$PATHGCN" data convert powerlaw:nodes=60000,edges=400000 --out law.pgcn
for number in 2 8; do
    run 0 ranks "$number" train law.pgcn --recipe none --epochs 1 --batch-by nodes --batch 2048 --steps 2 --layers 2 \
        --channels 8 --paths 8 --path-length 4 --samples 1 --consistency 0 --eval-nodes 100 --threads 1 --quiet \
        --out "memory-$number"
done
# lists of a rank's own rows; whole on every rank they would not fall at all. Numbers of all rows, and huge pages that are
# begun, do not
[ $((10 * $(bytes walks 8))) -lt $((7 * $(bytes walks 2))) ] ||
    fail "lists: $(bytes walks 2) bytes on 2 ranks, $(bytes walks 8) on 8"
# features of a rank's own nodes, and those that its rows of a batch need
[ $((10 * $(bytes features 8))) -lt $((7 * $(bytes features 2))) ] ||
    fail "features: $(bytes features 2) bytes on 2 ranks, $(bytes features 8) on 8"

# ---- features that stay on disk: each rank reads those of its own rows ---------------------------------------

from_disk() { # NAME 'RANKS...' OPTIONS...
    local name=$1 numbers=$2 number
    shift 2
    run 0 "$PATHGCN" train law.pgcn "${nodes[@]}" "$@" --threads 2 --out "$name"
    for number in $numbers; do
        run 0 ranks "$number" train law.pgcn "${nodes[@]}" "$@" --threads 1 --memory 200M --out "$name-$number"
        sed -i -E 's/, ?"row_[a-z_]*": ?[0-9]+//g' "$name-$number/history.jsonl" # what was read
        same_training "$name" "$name-$number"
    done
}
from_disk walked "2 5" "${walks[@]}" --batch 256 --samples 2 --eval-nodes 300
from_disk linked "3" --model sage --batch 100 --neighbours 4,3 --eval-nodes 90
# rows of this rank alone: half of them, and those that evaluated nodes of both lead to
reads() { grep -oE '"row_(hits|misses)": [0-9]*' "$1/result.json" | awk '{ rows += $2 } END { print rows }'; }
run 0 "$PATHGCN" train law.pgcn "${nodes[@]}" "${walks[@]}" --batch 256 --samples 2 --eval-nodes 300 --memory 200M \
    --threads 1 --out alone
[ $((10 * $(reads walked-2))) -lt $((7 * $(reads alone))) ] ||
    fail "rank 0 of two needs $(reads walked-2) rows, and one process $(reads alone)"

# ---- predictions and evaluations -------------------------------------------------------------------------

inference() { # NAME 'RANKS...' MODEL OPTIONS...
    local name=$1 numbers=$2 model=$3 number
    shift 3
    run 0 "$PATHGCN" predict "$model" "$@" --all --out "$name.csv"
    run 0 "$PATHGCN" eval "$model" "$@" --csv "$name.classes"
    cp "$out" "$name.out"
    for number in $numbers; do
        run 0 ranks "$number" predict "$model" "$@" --all --threads 1 --out "$name-$number.csv"
        same "predictions of $name on $number ranks" "$name.csv" "$name-$number.csv"
        run 0 ranks "$number" eval "$model" "$@" --threads 1 --csv "$name-$number.classes"
        same "the scores of $name on $number ranks" "$name.out" "$out"
        same "the classes of $name on $number ranks" "$name.classes" "$name-$number.classes"
    done
}
inference exact "2 8" evaluated
inference draws "3" evaluated --inference stochastic:3
inference features "3" sparse
run 0 "$PATHGCN" train law.pgcn "${walks[@]}" --recipe none --epochs 2 --hidden-rows bf16 --quiet --out halves
inference halves "2" halves
run 2 ranks 2 train law.pgcn "${walks[@]}" --recipe none --epochs 2 --hidden-rows bf16 --quiet --out no-halves
holds "$err" "train in one process, or leave it out"
inference links "2" attention
run 0 "$PATHGCN" train "$PATHGCN_SOURCE/examples/shapes" --recipe none --epochs 2 --batch 8 --quiet --out shapes
inference graphs "3" shapes
# to standard output, once; and what rank 0 does alone
run 0 ranks 3 predict evaluated --all
same "standard output" exact.csv "$out"
run 0 ranks 2 predict evaluated --nodes 5,7 --all
same "some nodes" <(sed -n '1p; 7p; 9p' exact.csv) "$out"
# a rank that has read other data, or none
run 1 ranks 2 predict nowhere
[ "$(grep -c 'cannot open' "$err")" = 1 ] || { show_last && fail "said more than once, or not at all"; }
code=0
mpirun -n 1 "$PATHGCN" predict evaluated --out both.csv : -n 1 "$PATHGCN" predict evaluated $law,seed=9 --out both.csv \
    >"$out" 2>"$err" </dev/null || code=$?
[ $code = 1 ] || { show_last && fail "exit code $code"; }
tr '\n' ' ' <"$err" | tr -s ' ' | grep -q "rank 1 on $(hostname): it has read other data" ||
    { show_last && fail "nobody said that rank 1 has other data"; }
[ ! -e both.csv ] || fail "predictions were written"
