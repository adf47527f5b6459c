#!/usr/bin/env bash
# Same seed, same bits: what a run leaves does not depend on the number of threads. Every form of
# the network that has sums of its own is tried.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

thread_counts=(1 2 5 7)
[ -z "$sanitized" ] || thread_counts=(1 3)
case_number=0
same_bits() { # train arguments...
    local threads first=""
    case_number=$((case_number + 1))
    for threads in "${thread_counts[@]}"; do
        run 0 pathgcn train "$@" --threads "$threads" --out "$case_number-$threads" --quiet
        first=${first:-$case_number-$threads}
        same_runs "train $* --threads $threads" "$first" "$case_number-$threads"
    done
    echo "same with ${thread_counts[*]} threads: $* ($(sha "$first/checkpoint.safetensors"))"
}

same_bits karate --epochs 60
same_bits sbm --epochs 20
[ "$(sha 1-1/checkpoint.safetensors)" != "$(sha 2-1/checkpoint.safetensors)" ] || fail "one hash for all"
# many blocks of nodes, the last of them ragged
same_bits sbm:nodes=5003 --epochs 2
same_bits sbm:nodes=1501 --epochs 4 --kernel full --channels 24
same_bits sbm:nodes=1501 --epochs 4 --train-form exact --kernel layer
same_bits sbm:nodes=1501 --epochs 4 --train-form exact --kernel full --channels 24
same_bits sbm:nodes=1501 --epochs 4 --batch-norm --mix random --residual previous
same_bits sbm:nodes=1501 --epochs 4 --batch-norm --norm-over graph
same_bits sbm:nodes=1501 --epochs 4 --samples 1 --kernel global --scaling walk --self-loops no
same_bits sbm:nodes=1501 --epochs 4 --walk node2vec --return-p 4 --inout-q 0.25 --paths-per-layer
same_bits sbm:nodes=1501 --epochs 4 --samples 3 --drop-rows 0.3 --resample-every 2 --channels 17
# batches of nodes, whose rows are numbered by all threads
same_bits sbm:nodes=1501 --epochs 4 --batch 64 --unlabelled 64 --channels 17
same_bits sbm:nodes=5003 --epochs 2 --batch 200 --samples 1 --layers 3 --batch-paths 5,2 --eval-nodes 100
same_bits sbm:nodes=1501 --epochs 4 --batch 64 --model gcn --neighbours 5,3 --batch-norm
same_bits sbm:nodes=1501 --epochs 4 --batch 64 --model gat --heads 4 --dropout-attention 0.3
[ -z "$cora" ] || same_bits "$cora" --epochs "$([ -z "$sanitized" ] && echo 40 || echo 2)"

# another seed is another run
run 0 pathgcn train karate --epochs 60 --seed 1 --out other --quiet
[ "$(sha other/model.safetensors)" != "$(sha 1-1/model.safetensors)" ] || fail "the seed does nothing"
