#!/usr/bin/env bash
# Training on sets of many graphs beside PyTorch, in one run: graphs per second of NCI1 in batches of 32 (the paper's
# network and GIN), edges per second of PPI, graph by graph. The two sides take turns with the same number of threads.
# How much of a step goes into putting a batch together is measured too, on MUTAG as well.
#
#   PATHGCN_DATA=<folder with NCI1/, ppi/ and MUTAG/> bench/graphs_speed.sh
#   PATHGCN_DATA=... bench/graphs_speed.sh --full      three turns instead of one, longer ones
#   PATHGCN_DATA=... bench/graphs_speed.sh --smoke     both networks for a moment, on MUTAG
#
# Writes a JSON line per run to build/bench/graphs_speed.jsonl and prints the table that tables.py makes of them.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
mode=${1:-}
lines=$results/graphs_speed.jsonl
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
turns=1 seconds=3
[ "$mode" = --full ] && turns=3 seconds=8
[ "$mode" = --smoke ] && turns=1 seconds=0.5
with_torch=yes
if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "bench: $python has no PyTorch; pathgcn is measured alone."
    with_torch=
fi
: >"$lines"

# steps=1: an epoch is one step, so that single steps are timed.
ours() { "$build/bench_model" "$scratch/data.pgcn" --bench graphs --case "$name" --seconds "$@" steps=1 "${settings[@]}"; }
torch() { # ARGUMENTS
    "$python" bench/pytorch_graphs.py --data "$scratch/data.npz" --settings "$scratch/line" "$@"
}

# compare NAME DATA 'VERSIONS' KEY=VALUE...
compare() {
    name=$1 data=$2 versions=$3
    shift 3
    settings=("$@")
    echo "$name: pathgcn, PyTorch $versions" >&2
    "$build/pathgcn" data convert "$data" --out "$scratch/data.pgcn" >/dev/null
    "$build/pathgcn" data convert "$data" --out "$scratch/data.npz" >/dev/null
    ours 1 --model "$scratch/model" --logits "$scratch/logits" threads=1 >"$scratch/line"
    if [ "$with_torch" ] && [ "$versions" ]; then # the answers are compared before anything is timed
        torch --check "$scratch/model" "$scratch/logits" | tee -a "$lines" >&2
    fi
    local turn threads version
    for ((turn = 0; turn < turns; turn++)); do
        for threads in 1 2; do
            ours "$seconds" "threads=$threads" >>"$lines"
            for version in ${with_torch:+$versions}; do
                OPENBLAS_NUM_THREADS=$threads torch --version "$version" --threads "$threads" --seconds "$seconds" \
                    >>"$lines"
                ours "$seconds" "threads=$threads" >>"$lines"
            done
        done
    done
}

gin=(model=gin layers=5 channels=32 batch=32 dropout=0 dropout-last=0.5 normalise=none wd-mix=0 wd-ends=0 lr-kernel=0
    lr-ends=1e-3 lr-mix=1e-3)
small=(layers=4 channels=32 path-length=10 paths=5 batch=32 batch-norm=yes mix=random residual=none self-loops=no
    scaling=walk dropout=0 dropout-last=0.5 readout=relu normalise=none wd-mix=0 wd-kernel=0 wd-ends=0
    lr-ends=1e-3 lr-mix=1e-3 lr-kernel=1e-3)
if [ "$mode" = --smoke ]; then
    have_set MUTAG || exit 0
    compare MUTAG MUTAG:kfold=10 "index sparse best" "${small[@]}"
    compare "MUTAG, GIN" MUTAG:kfold=10 "index sparse best" "${gin[@]}"
else
    if have_set NCI1; then
        compare NCI1 NCI1:kfold=10 "index sparse best" "${small[@]}"
        compare "NCI1, GIN" NCI1:kfold=10 "index sparse best" "${gin[@]}"
    fi
    if have_set MUTAG; then
        compare MUTAG MUTAG:kfold=10 "" "${small[@]}"
    fi
    if have_set ppi; then
        compare PPI ppi "index sparse best" layers=8 channels=256 path-length=5 paths=10 batch=1 dropout=0.2 \
            lr-ends=1e-3 lr-mix=1e-3 lr-kernel=1e-3
    fi
fi
"$python" bench/tables.py --show graphs "$lines"
