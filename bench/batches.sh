#!/usr/bin/env bash
# Batches of nodes of one large graph beside PyTorch, on the same cores, in turns: path layers beside the fastest that
# was found in PyTorch, GraphSAGE beside PyTorch Geometric's SAGEConv. Steps, sampling by itself, and memory, at
# ogbn-arxiv's and at ogbn-products' size.
#
#   bench/batches.sh                     half an hour on two idle cores, and 10 GB
#   bench/batches.sh --small | --large   only ogbn-arxiv's size, only ogbn-products'
#   TURNS=3 SECONDS_EACH=4 THREADS=2 bench/batches.sh
#
#   PEERS_PYTHON   a python3 that has torch, torch_geometric and scipy; without it a virtual environment is made in
#                  build/peers
#
# Writes JSON lines to build/bench/batches.jsonl and prints the table.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source tests/peers/environment.sh
peers_python || exit 0
"$python" -c 'import scipy' 2>/dev/null || "$python" -m pip install --quiet scipy
mode=${1:-}
lines=$results/batches.jsonl
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
turns=${TURNS:-3} seconds=${SECONDS_EACH:-4} threads=${THREADS:-2}
# Threads that wait do not spin: on a machine with other work PyTorch is up to 30 times slower otherwise.
export OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=0

usual="batch=1024 layers=2 channels=64 dropout=0.5"
declare -A settings=(
    [pathgcn]="$usual path-length=5 paths=10 eval-nodes=5000"
    [sage]="$usual model=sage neighbours=15,10 eval-nodes=5000 dropout-hidden=0.5 lr-ends=0.001 lr-mix=0.001 wd-mix=0"
)

torch() { # SIZE NETWORK ARGUMENTS...
    local size=$1 network=$2
    shift 2
    # shellcheck disable=SC2086 # words
    "$python" bench/pytorch_batches.py "$scratch/$size" "ogbn-$size's size, $network" --bench "$build/bench_model" \
        --data "$scratch/$size.pgcn" --seconds "$seconds" --threads "$threads" "$@" --settings ${settings[$network]}
}

compare() { # SIZE
    local size=$1 network form
    mkdir "$scratch/$size"
    "$build/pathgcn" data convert "powerlaw:size=$size" --out "$scratch/$size.pgcn" >/dev/null
    "$build/pathgcn" data convert "$scratch/$size.pgcn" --out "$scratch/$size.npz" >/dev/null
    "$python" bench/pytorch_batches.py --prepare "$scratch/$size.npz" "$scratch/$size"
    rm "$scratch/$size.npz"
    for network in pathgcn sage; do
        torch "$size" "$network" --turns "$turns" >>"$lines"
        # From here and not from Python: a process begins with the peak of the one that starts it.
        # shellcheck disable=SC2086
        "$build/bench_model" "$scratch/$size.pgcn" --bench "batches memory" --case "ogbn-$size's size, $network" \
            --train-only --seconds 1 steps=1 "threads=$threads" ${settings[$network]} >>"$lines"
        for form in $([ "$network" = sage ] && echo index csr || echo plain bag csr); do
            torch "$size" "$network" --memory "$form" >>"$lines"
        done
    done
    rm -r "${scratch:?}/$size" "$scratch/$size.pgcn"
}

[ "$mode" = --large ] || compare arxiv
[ "$mode" = --small ] || compare products
"$python" bench/tables.py --show batches "$lines"
