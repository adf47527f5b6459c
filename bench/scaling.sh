#!/usr/bin/env bash
# How the cost of a training step grows: with the number of nodes, with k, p and c, and with the number of threads. Each
# case is a process of its own, on graphs with a power-law degree and seven edges per node.
#
#   bench/scaling.sh              10^4 to 10^6 nodes, two threads on Pubmed (needs PATHGCN_DATA)
#   bench/scaling.sh --full       in addition 10^7 nodes (13 GB), and a graph of ogbn-products' size (10 GB)
#
# Writes a JSON line per case to build/bench/scaling.jsonl and prints the tables.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
full=${1:-}
lines=$results/scaling.jsonl
: >"$lines"

# A few steps at the usual rates may overshoot, and a loss that rises ends the program. Times do not depend on it.
slowly=(lr-ends=1e-3 lr-mix=1e-3 lr-kernel=1e-3)

# run CASE DATA KEY=VALUE...
run() {
    local name=$1 data=$2
    shift 2
    echo "$name $*" >&2
    "$build/bench_model" "$data" --bench scaling --case "$name" --train-only --seconds 3 "${slowly[@]}" "$@" >>"$lines"
}
graph() { echo "powerlaw:nodes=$1,edges=$(($1 * 7)),features=${2:-32},classes=8"; }

base=(layers=2 path-length=5 paths=5)
for nodes in 10000 100000 1000000; do
    for threads in 1 2; do
        run nodes "$(graph "$nodes")" "${base[@]}" channels=64 threads="$threads"
    done
done
for k in 2 3 5 9; do run k "$(graph 50000)" layers=2 paths=5 channels=64 path-length="$k" threads=2; done
for p in 2 5 10 20; do run p "$(graph 50000)" layers=2 path-length=5 channels=64 paths="$p" threads=2; done
for c in 16 32 64 128 256; do run c "$(graph 50000)" "${base[@]}" channels="$c" threads=2; done
if have_set pubmed; then
    for threads in 1 2 1 2; do
        run pubmed pubmed layers=2 path-length=7 paths=10 channels=256 threads="$threads"
    done
fi
if have_set cora; then
    for threads in 1 2; do run recipe cora --recipe cora threads="$threads"; done
    run layers cora layers=64 path-length=5 paths=5 channels=64 threads=2
fi
if [ "$full" = --full ]; then
    for nodes in 100000 1000000 10000000; do
        for threads in 1 2; do
            run "nodes, full" "$(graph "$nodes" 8)" layers=2 path-length=3 paths=5 channels=32 threads="$threads"
        done
    done
    run products powerlaw:nodes=2449029,edges=61859140,features=100,classes=47 \
        layers=2 path-length=3 paths=5 channels=64 threads=2
fi
"$python" bench/tables.py --show scaling "$lines"
