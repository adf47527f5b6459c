#!/usr/bin/env bash
# The step `order` changes memory only: predictions, walks and exported arrays have the ids and the order
# of the data, and a model serves data in any order.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Same nodes and labels, probabilities to 1e-5: sums of neighbours are added in another order.
same_predictions() {
    paste -d, "$1" "$2" | awk -F, 'NR > 1 && ($1 != $4 || $2 != $5 || ($3 - $6) ^ 2 > 1e-10) { exit 1 }'
}

run 0 pathgcn train sbm:nodes=300 --epochs 15 --out plain --quiet
run 0 pathgcn predict plain/model.safetensors --out plain.csv
for how in degree rcm community random; do
    run 0 pathgcn predict plain/model.safetensors sbm:nodes=300:order=$how --out $how.csv
    same_predictions plain.csv $how.csv || fail "order=$how: other predictions"
done
[ "$(tail -n +2 random.csv | cut -d, -f1 | tr '\n' ' ')" = "$(seq -s ' ' 0 299) " ] || fail "rows are not in order"

# the other way round, and with its own data from the record of the run
run 0 pathgcn train sbm:nodes=300 --prepare order=community --epochs 15 --out ordered --quiet
run 0 pathgcn predict ordered/model.safetensors --json --out own.json
run 0 pathgcn predict ordered/model.safetensors sbm:nodes=300 --json --out other.json
holds own.json '{"node":0,' '{"node":299,'
[ "$(grep -o '"node":[0-9]*,"label":[0-9]*' own.json)" = "$(grep -o '"node":[0-9]*,"label":[0-9]*' other.json)" ] ||
    fail "the model of ordered data serves the plain data otherwise"

# a run goes on in its own order only
run 0 pathgcn train sbm:nodes=300 --prepare order=community --epochs 20 --out ordered --resume --quiet
run 1 pathgcn train sbm:nodes=300 --epochs 25 --out ordered --resume --quiet
holds "$err" fingerprint

# walks: starts in order, every step an edge of the plain graph
run 0 pathgcn data convert sbm:nodes=300:order=rcm --out graph.npz
run 0 pathgcn paths sbm:nodes=300:order=rcm --path-length 3 --paths 2 --out walks.csv
run 0 pathgcn paths sbm:nodes=300:order=rcm --path-length 3 --paths 2 --out walks.npy
run 0 pathgcn paths sbm:nodes=300:order=rcm --path-length 3 --paths 2 --starts 7,250
[ "$(tail -n +2 "$out" | cut -d, -f1 | uniq | tr '\n' ' ')" = "7 250 " ] || fail "--starts are other nodes"
[ "$(tail -n +2 walks.csv | cut -d, -f1 | uniq | tr '\n' ' ')" = "$(seq -s ' ' 0 299) " ] || fail "starts are not in order"
python=""
for candidate in /usr/bin/python3 python3; do
    "$candidate" -c 'import numpy' 2>/dev/null && python=$candidate && break
done
[ -n "$python" ] || skip "python3 with numpy is not installed, which reads the arrays"
run 0 pathgcn data convert sbm:nodes=300 --out plain.npz
cmp plain.npz graph.npz || fail "the exported arrays are in another order"
"$python" - <<'EOF'
import csv
import numpy as np

edges = {tuple(e) for e in np.load("plain.npz")["edges"].tolist()}
walks = np.load("walks.npy")
assert (walks[:, :, 0] == np.arange(300)[:, None]).all()
table = np.array([[int(cell) for cell in row] for row in list(csv.reader(open("walks.csv")))[1:]])
assert (table[:, 2:].reshape(walks.shape) == walks).all()
for walk in walks.reshape(-1, 3).tolist():
    for a, b in zip(walk, walk[1:]):
        assert a == b or (min(a, b), max(a, b)) in edges, (a, b)
EOF
echo "order: predictions, walks and arrays keep their ids"
