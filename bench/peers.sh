#!/usr/bin/env bash
# Networks beside those of PyTorch Geometric's layers on the same cores, in turns: training steps and inference, on Cora
# and on a generated graph of ogbn-arxiv's size, with one thread and two; and the memory of steps on the large one. The
# rate of our products is measured too, which bounds the time of a step from below.
#
#   PATHGCN_DATA=<folder with cora/> bench/peers.sh     (make bench-peers)   some hours on two cores, and 16 GB
#   bench/peers.sh --small | --large                    only Cora, only the large graph
#   NETWORKS='gcn-64 sgc' FORMS='csr,csr compiled' THREADS=2 bench/peers.sh     only these
#
#   PEERS_PYTHON   a python3 that has torch and torch_geometric; without it a virtual environment is made in build/peers
#
# Writes JSON lines to build/bench/peers.jsonl (the two data sets add to it) and prints the tables.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source tests/peers/environment.sh
peers_python || exit 0
mode=${1:-}
lines=$results/peers.jsonl
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Threads that wait do not spin: on a machine with other work PyTorch is up to 30 times slower otherwise.
export OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=0

# Few steps are run: small rates, so that the loss falls at once.
rates=(lr-ends=1e-3 lr-mix=1e-3 wd-ends=5e-4 wd-mix=0)
usual=("${rates[@]}" dropout=0.5)
declare -A settings=(
    [gcn-16]="model=gcn layers=2 channels=16 residual=none ${usual[*]}"
    [gcn-64]="model=gcn layers=2 channels=64 residual=none ${usual[*]}"
    [gat]="model=gat layers=2 channels=64 heads=8 heads-last=1 dropout=0.6 dropout-attention=0.6 ${rates[*]}"
    [gcnii-2]="model=gcnii layers=2 channels=64 dropout-hidden=0.5 ${usual[*]}"
    [gcnii-8]="model=gcnii layers=8 channels=64 dropout-hidden=0.5 ${usual[*]}"
    [appnp]="model=appnp layers=2 channels=64 powers=10 ${usual[*]}"
    [sgc]="model=sgc powers=2 dropout=0 lr-ends=1e-3 wd-ends=5e-4"
    [sage]="model=sage layers=2 channels=64 dropout-hidden=0.5 ${usual[*]}"
    [pathgcn-2]="layers=2 channels=64 path-length=2 paths=5 lr-kernel=1e-3 ${usual[*]}"
    [pathgcn-5]="layers=2 channels=64 path-length=5 paths=5 lr-kernel=1e-3 ${usual[*]}"
)
order=(gcn-16 gcn-64 gat gcnii-2 gcnii-8 appnp sgc sage pathgcn-2 pathgcn-5)
read -r -a order <<<"${NETWORKS:-${order[*]}}"
forms=(index csr csr+x "index compiled" "csr compiled")
[ "${FORMS:-}" ] && IFS=, read -r -a forms <<<"$FORMS"
read -r -a threads <<<"${THREADS:-1 2}"

torch() { # CASE SECONDS NETWORK ARGUMENTS...
    local case=$1 seconds=$2 network=$3
    shift 3
    # shellcheck disable=SC2086 # words
    "$python" bench/pytorch_peers.py "$scratch" "$case, $network" --bench "$build/bench_model" --seconds "$seconds" \
        "$@" --settings ${settings[$network]}
}

# compare CASE DATA SECONDS
compare() {
    local case=$1 data=$2 seconds=$3 network count
    "$build/pathgcn" data convert "$data" --out "$scratch/data.pgcn" >/dev/null
    "$build/pathgcn" data convert "$data" --out "$scratch/data.npz" >/dev/null
    for network in "${order[@]}"; do
        echo "$case, $network" >&2
        if [[ $network != pathgcn-* ]]; then
            torch "$case" "$seconds" "$network" --forms "${forms[@]}" --threads "${threads[@]}" >>"$lines"
            continue
        fi
        for count in "${threads[@]}" "${threads[@]}"; do # PyTorch Geometric has none
            # shellcheck disable=SC2086
            "$build/bench_model" "$scratch/data.pgcn" --bench peers --case "$case, $network" --seconds "$seconds" \
                "threads=$count" ${settings[$network]} >>"$lines"
        done
    done
}

"$build/bench_products" --json "$scratch/products" >/dev/null
grep '"case": "x W"' "$scratch/products" | grep '"library": "pathgcn"' >>"$lines"
if [ "$mode" != --large ] && have_set cora; then
    compare Cora cora 1
fi
if [ "$mode" != --small ]; then
    compare "ogbn-arxiv's size" powerlaw:size=arxiv 2
    for network in gcn-64 gat gcnii-8; do
        [[ " ${order[*]} " = *" $network "* ]] || continue
        # From here and not from Python: a process begins with the peak of the one that starts it.
        # shellcheck disable=SC2086
        "$build/bench_model" "$scratch/data.pgcn" --bench "peers memory" --case "ogbn-arxiv's size, $network" \
            --train-only --seconds 1 threads=2 ${settings[$network]} >>"$lines"
        for form in index csr; do
            torch "ogbn-arxiv's size" 1 "$network" --memory "$form" >>"$lines"
        done
    done
fi
"$python" bench/tables.py --show peers "$lines"
