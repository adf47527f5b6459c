#!/usr/bin/env bash
# A model file and its data are enough to compute what the program predicts: numpy_logits.py does it
# from the documented tensors and equations, for every form of the network.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
python=""
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import numpy' 2>/dev/null; then python=$candidate && break; fi
done
[ -n "$python" ] || skip "NumPy is not installed (Debian: apt-get install python3-numpy)"
script=$PATHGCN_SOURCE/tests/e2e/numpy_logits.py

"$python" "$script" make dense
"$python" "$script" make sparse sparse
"$python" "$script" make arcs arcs
"$python" "$script" make graphs graphs
"$python" "$script" make labels labels
# weights that are far from their start and tell the nodes apart: those of the last epoch
fast=(--epochs 40 --eval-every 40 --patience 0 --channels 12 --dropout 0.2 --lr-ends 0.05 --wd-kernel 0.01)
agrees() { # folder, train arguments...
    local mix=(--wd-mix 0.01)
    [[ $* != *"--kernel full"* ]] || mix=() # it has no 1x1 weights to decay
    run 0 pathgcn train "$@" "${fast[@]}" "${mix[@]}" --out run --overwrite --quiet
    run 0 pathgcn predict run/model.safetensors --all --out predictions.csv
    run 0 "$python" "$script" check "${1%%:*}" run/model.safetensors predictions.csv
    echo "$(cat "$out"): $*"
}
agrees dense
agrees sparse
agrees dense --normalise rows
agrees sparse --normalise none --scaling walk
agrees sparse --frequency 0.5
agrees sparse --frequency -0.5 --normalise none
agrees dense --normalise standardise
agrees sparse --normalise standardise --kernel layer
agrees dense --scaling walk --self-loops no --residual none
agrees dense --scaling symmetric --self-loops no --residual previous --alpha 0.4
agrees dense --walk weighted --self-loops no
agrees dense --walk weighted --scaling walk --kernel layer
agrees dense --self-mix yes --layers 3
agrees sparse --self-mix yes --mix random --batch-norm yes --residual none
agrees graphs --self-mix yes --layers 2 --batch-norm yes
agrees dense --batch-norm yes --norm-gain yes --mix random --residual none
agrees dense --kernel global --layers 3 --path-length 4
agrees dense --kernel layer --kernel-start random --layers 4
agrees dense --kernel depthwise --kernel-noise 0.3 --path-length 2
agrees dense --kernel full --layers 2 --path-length 3
agrees sparse --kernel full --batch-norm --scaling walk
agrees dense --batch-norm --mix random --residual initial
agrees dense --batch-norm --norm-over graph --layers 3
agrees sparse --input-hops 1 --input-norm yes --norm-over graph
agrees graphs --batch-norm --norm-over graph
agrees labels --batch-norm --norm-over graph
agrees dense --batch-norm --kernel global --residual none --train-form exact
agrees arcs:directed
agrees arcs:directed --direction backward --scaling walk --self-loops no
agrees arcs:directed --direction backward --kernel full --residual none
agrees dense --walk weighted --kernel full
agrees sparse --dropout-hidden 0.2
agrees sparse --input-hops 2 --input-norm yes --drop-rows 0.3
agrees dense --input-hops 1 --train-form exact
agrees labels
agrees labels --batch-norm --kernel full --scaling walk
agrees graphs
agrees graphs --readout linear --kernel layer --residual initial --self-loops yes --scaling symmetric
agrees graphs --readout layers --kernel global --residual previous --alpha 0.3 --mix identity
agrees graphs --kernel full --batch-norm no --layers 2
agrees graphs --train-form exact --scaling sum --kernel depthwise --path-length 2 --lr-mix 1e-3
agrees graphs --model gin --layers 3 --dropout-last -1 --lr-kernel 0.01
agrees dense --path-length 1 --layers 1

# the comparison can fail: another model of the same shape does not agree
cp predictions.csv old.csv
run 0 pathgcn train dense "${fast[@]}" --path-length 1 --layers 1 --seed 1 --out run --overwrite --quiet
run 1 "$python" "$script" check dense run/model.safetensors old.csv
holds "$err" "NumPy computes"
