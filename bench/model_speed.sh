#!/usr/bin/env bash
# Whole training steps, inference and sampling beside PyTorch, in one run. The two sides take turns; PyTorch gets two
# threads with OpenBLAS on one, two threads for both, and one thread for both, since each may be the fastest, and of
# each side the best median counts. So a machine that is busy for a moment favours nobody.
#
#   PATHGCN_DATA=<folder with cora/ and pubmed/> bench/model_speed.sh            (make bench)
#   PATHGCN_DATA=... bench/model_speed.sh --full                                 (make bench-full)
#   bench/model_speed.sh --large      only the graph of ogbn-arxiv's size, added to the lines that are there
#
#   PEERS_PYTHON   a python3 that has torch; without it PYTHON, or that of the system
#
# Writes a JSON line per run to build/bench/model_speed.jsonl and prints the table that tables.py makes of them.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python=${PEERS_PYTHON:-$python}
mode=${1:-}
lines=$results/model_speed.jsonl
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "bench: $python has no PyTorch; whole models are not measured."
    exit 0
fi
[ "$mode" = --large ] || : >"$lines"

ours() { "$build/bench_model" "$scratch/data.pgcn" --case "$name" "${all[@]}" "$@" threads=2 "${settings[@]}"; }
torch() { # VERSION THREADS BLAS_THREADS
    OPENBLAS_NUM_THREADS=$3 "$python" bench/pytorch_models.py --data "$scratch/data.npz" --threads "$2" \
        --settings "$scratch/line" "${all[@]}" --version "$1" --seconds "$seconds"
}

# compare NAME DATA SECONDS 'VERSIONS' [--train-all] KEY=VALUE...
compare() {
    name=$1 data=$2 seconds=$3 versions=$4
    shift 4
    all=()
    if [ "$1" = --train-all ]; then
        all=(--train-all)
        shift
    fi
    settings=("$@")
    echo "$name: pathgcn, PyTorch $versions" >&2
    "$build/pathgcn" data convert "$data" --out "$scratch/data.pgcn" >/dev/null
    "$build/pathgcn" data convert "$data" --out "$scratch/data.npz" >/dev/null
    ours --seconds 1 --model "$scratch/model" --logits "$scratch/logits" >"$scratch/line"
    if [ "$name" = cora ]; then # the answers are compared before anything is timed
        "$python" bench/pytorch_models.py --data "$scratch/data.npz" --settings "$scratch/line" \
            --check "$scratch/model" "$scratch/logits" | tee -a "$lines" >&2
    fi
    local turn version
    for turn in "2 1" "2 2" "1 1"; do
        for version in $versions; do
            ours --seconds 2 >>"$lines"
            # shellcheck disable=SC2086 # two numbers
            torch "$version" $turn >>"$lines"
        done
    done
}

small=(layers=2 path-length=5 paths=5 channels=64)
if [ "$mode" != --large ] && have_set cora; then
    compare cora cora 2 "plain sparse best gcn" "${small[@]}"
    compare "cora, all nodes in training" cora 2 "plain best" --train-all "${small[@]}"
fi
# Few steps are run from here on: at the usual rates the loss may rise first, which ends the program.
slowly=(lr-ends=1e-3 lr-mix=1e-3 lr-kernel=1e-3)
medium=(layers=2 path-length=7 paths=10 channels=256 "${slowly[@]}")
if [ "$mode" != --large ] && have_set pubmed; then
    if [ "$mode" = --full ]; then
        compare pubmed pubmed 4 "plain sparse best gcn" "${medium[@]}"
    else
        compare pubmed pubmed 2 "best" "${medium[@]}"
    fi
fi
if [ "$mode" = --full ] || [ "$mode" = --large ]; then # PyTorch written plainly would need more than 20 GB
    compare "power law of ogbn-arxiv's size" \
        powerlaw:nodes=169343,edges=1166243,features=128,classes=40 4 "sparse best gcn" \
        layers=2 path-length=5 paths=10 channels=256 "${slowly[@]}"
fi
"$python" bench/tables.py --show model "$lines"
