#!/bin/sh
# Prints a SHA-256 of the tensors of many small models: one line per task, form and instruction set.
# Two programs that print the same lines compute the same bits; metadata of the files may differ.
#
#   tools/tensor_hashes.sh build/pathgcn > before        ... change something ...
#   tools/tensor_hashes.sh build/pathgcn | diff before -
#
# THREADS [2] is handed on. With PATHGCN_DATA Cora and PPI are among the models.
set -eu
program=$(realpath "${1:?usage: tensor_hashes.sh PROGRAM}")
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The tensors come after a header whose length is the first eight bytes, little-endian.
tensor_hash() {
    header=$(od -An -t u8 -N 8 "$1" | tr -d ' ')
    tail -c +$((header + 9)) "$1" | sha256sum | cut -c 1-16
}

hash_of() { # NAME DATA OPTIONS...
    name=$1
    shift
    rm -rf "$scratch/run"
    if PATHGCN_ISA=$isa "$program" train "$@" --threads "${THREADS:-2}" --seed 3 --quiet --out "$scratch/run" \
        > "$scratch/log" 2>&1 && PATHGCN_ISA=$isa "$program" predict "$scratch/run/model.safetensors" \
        --threads "${THREADS:-2}" --all --inference "${inference:-deterministic}" --out "$scratch/predicted.csv" > "$scratch/log" 2>&1; then
        printf '%s %s %s %s\n' "$isa" "$name" "$(tensor_hash "$scratch/run/model.safetensors")" \
            "$(sha256sum < "$scratch/predicted.csv" | cut -c 1-16)"
    else
        printf '%s %s failed: %s\n' "$isa" "$name" "$(tail -n 1 "$scratch/log")"
    fi
}

plain="--recipe none --epochs 12"
for isa in baseline avx2 avx512; do
    PATHGCN_ISA=$isa "$program" info > /dev/null 2>&1 || continue
    wide="sbm:nodes=700 $plain"
    node="$wide --channels 24"
    hash_of node/sampled $node
    hash_of node/exact $node --train-form exact --samples 1
    hash_of node/wide $wide --channels 100 --layers 3
    hash_of node/wide-exact $wide --channels 150 --train-form exact
    for kernel in global layer depthwise full; do
        hash_of node/$kernel $node --kernel $kernel --layers 3
        hash_of node/$kernel-exact $node --kernel $kernel --train-form exact
    done
    hash_of node/batch-norm $node --batch-norm yes --mix random --residual previous
    hash_of node/no-residual $node --residual none --kernel-start random --dropout-hidden 0.3
    hash_of node/paths-per-layer $node --paths-per-layer yes --layers 3
    hash_of node/recompute $node --layers 12 --recompute yes
    hash_of node/bf16 $node --bf16 yes
    hash_of node/hidden-rows $node --hidden-rows bf16
    hash_of node/hidden-rows-one $node --hidden-rows bf16 --samples 1
    inference=stochastic:2 hash_of node/node2vec $node --walk node2vec --return-p 4 --inout-q 0.5
    inference=stochastic:3 hash_of node/walk-scaling $node --scaling walk --self-loops no
    hash_of node/input-hops $node --input-hops 2 --input-norm yes --drop-rows 0.2
    hash_of node/class-weights $node --samples 1 --class-weights balanced
    hash_of node/few-labels $node --prepare per-class=5/100/200 --samples 1
    hash_of node/sparse $node --prepare features=identity --samples 2
    hash_of node/sparse-one $node --prepare features=adjacency --samples 1
    hash_of node/gin $node --model gin
    hash_of node/auto karate --epochs 20
    for readout in linear relu layers; do
        hash_of graph/$readout examples/shapes $plain --readout $readout --batch 8
        hash_of graph/$readout-exact examples/shapes $plain --readout $readout --train-form exact --batch-norm yes
    done
    hash_of graph/gin examples/shapes $plain --model gin --batch 8
    if [ -n "${PATHGCN_DATA:-}" ]; then
        hash_of node/cora cora --epochs 8
        hash_of node/cora-no-consistency cora --epochs 8 --samples 1
        hash_of labels/ppi ppi --recipe none --channels 24 --epochs 1 --batch 2 --normalise standardise --samples 1 --batch-norm yes --train-form exact
        hash_of labels/ppi-sampled ppi --recipe none --channels 24 --epochs 1 --batch 2 --samples 1
    fi
done
