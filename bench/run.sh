#!/usr/bin/env bash
# All benchmarks one after the other; their JSON lines are in build/bench/*.jsonl afterwards.
#
#   bench/run.sh            (make bench)       some minutes
#   bench/run.sh --full     (make bench-full)  about an hour, with large graphs and scaling
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
mode=("$@")
echo "== kernels"
"$build/bench_kernels" "${mode[@]}" --json "$results/kernels.jsonl"
echo "== dense products beside OpenBLAS and LIBXSMM"
"$build/bench_products" --json "$results/products.jsonl"
echo "== models beside PyTorch"
bench/model_speed.sh "${mode[@]}"
if [ "${mode[*]}" = --full ]; then
    echo "== many graphs beside PyTorch"
    bench/graphs_speed.sh
    echo "== scaling"
    bench/scaling.sh --full
fi
echo "== loading"
bench/load.sh | tee "$results/load.jsonl"
echo "== targets"
"$python" bench/tables.py --show targets "$results"/*.jsonl
