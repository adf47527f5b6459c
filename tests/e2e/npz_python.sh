#!/usr/bin/env bash
# Files for Python: NumPy reads what `data convert` writes, without pickle, and the program reads what
# NumPy and SciPy write in the layouts of published graphs.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
python=""
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import numpy' 2>/dev/null; then python=$candidate && break; fi
done
[ -n "$python" ] || skip "NumPy is not installed (Debian: apt-get install python3-numpy)"

same_data() { # A B: the same fingerprint
    local first
    run 0 pathgcn data info "$1" --json
    # shellcheck disable=SC2154 # out is lib.sh's
    first=$(json "$out" fingerprint)
    run 0 pathgcn data info "$2" --json
    [ "$(json "$out" fingerprint)" = "$first" ] || fail "$1 and $2 are not the same data"
}

# ---- what we write ------------------------------------------------------------------------------

ring folder
run 0 pathgcn data convert folder --out ring.npz
run 0 pathgcn data convert karate --out karate.npz
run 0 pathgcn data convert karate --out again.npz
same "the same data twice" karate.npz again.npz
same_data karate karate.npz
same_data folder ring.npz
cat >look.py <<'EOF'
import sys, numpy as np
def look(path):
    archive = np.load(path, allow_pickle=False)
    return {name: archive[name] for name in archive.files}  # every one must be readable
k = look("karate.npz")
assert int(k["pathgcn"]) == 1 and str(k["name"]) == "karate" and int(k["directed"]) == 0
assert k["edges"].dtype == np.int32 and k["edges"].shape == (78, 2)
assert (k["edges"][:, 0] <= k["edges"][:, 1]).all() and k["edges"].max() == 33
assert int(k["num_nodes"]) == 34 and k["y"].shape == (34,) and k["y"].sum() == 17
assert k["train_masks"].shape == k["test_masks"].shape == (10, 34)
assert list(k["split_names"]) == [str(i) for i in range(10)], k["split_names"]
assert k["x_indptr"].shape == (35,) and list(k["x_shape"]) == [34, 34]
assert (k["x_indices"] == np.arange(34)).all() and (k["x_data"] == 1).all()
r = look("ring.npz")
assert str(r["name"]) == "folder" and r["x"].shape == (12, 3) and r["x"].dtype == np.float32
assert (r["x"] == np.load("folder/x.npy")).all() and (r["y"] == np.load("folder/y.npy")).all()
assert list(r["split_names"]) == ["public"]
assert (r["val_masks"][0] == np.load("folder/val_mask.npy")).all()
EOF
run 0 "$python" look.py

# names of nodes, classes and features, as text of any kind
printf 'from,to\nZürich,東京\n東京,a b\na b,ναί\n' >edges.csv
printf 'id,class\nZürich,north\n東京,south\na b,north\nναί,south\n' >labels.csv
run 0 pathgcn data convert --edges edges.csv --labels labels.csv --out own.npz
run 0 "$python" -c '
import numpy as np
a = np.load("own.npz", allow_pickle=False)
assert sorted(a["node_id"]) == sorted(["Zürich", "東京", "a b", "ναί"]), a["node_id"]
assert sorted(a["class_name"]) == ["north", "south"], a["class_name"]
kind = dict(zip(a["node_id"], a["class_name"][a["y"]]))
assert kind["東京"] == "south" and kind["a b"] == "north", kind
ids = a["node_id"][a["edges"]]
assert {frozenset(e) for e in ids} == {frozenset(e) for e in
    [("Zürich", "東京"), ("東京", "a b"), ("a b", "ναί")]}, ids
'

# ---- the container, from its description alone (docs/FORMATS.md) ----------------------------------

run 0 pathgcn data convert karate --out karate.pgcn
cat >container.py <<'EOF'
import hashlib, json, struct, numpy as np
raw = open("karate.pgcn", "rb").read()
magic, version, count, length, digest, zero = struct.unpack("<8sIIQ32sQ", raw[:64])
assert (magic, version, length, zero) == (b"PGCNDATA", 1, len(raw), 0)
assert hashlib.sha256(raw[64:]).digest() == digest
types, section = ["u1", "<i4", "<i8", "<f4"], {}
at = -(-(64 + 80 * count) // 64) * 64
for i in range(count):
    name, kind, rank, *shape, offset, size = struct.unpack("<24sII4QQQ", raw[64 + 80 * i : 144 + 80 * i])
    assert offset == at and not any(shape[rank:])
    array = np.frombuffer(raw, types[kind], int(np.prod(shape[:rank])), offset).reshape(shape[:rank])
    assert array.nbytes == size and not any(raw[offset + size : -(-(offset + size) // 64) * 64])
    section[name.rstrip(b"\0").decode()] = array
    at = -(-(offset + size) // 64) * 64
assert at == len(raw)
meta = json.loads(section["meta"].tobytes())
k = np.load("karate.npz")
assert meta["name"] == "karate" and meta["classes"] == 2 and meta["features"] == 34
assert meta["splits"] == list(k["split_names"]) and meta["directed"] is False
assert (section["label"] == k["y"]).all() and (section["val"] == k["val_masks"]).all()
assert (section["x.column"] == k["x_indices"]).all() and (section["x.offset"] == k["x_indptr"]).all()
rows = np.repeat(np.arange(34), np.diff(section["graph.offset"]))
arcs = np.stack([rows, section["graph.neighbour"]], 1)
assert (arcs[arcs[:, 0] <= arcs[:, 1]] == k["edges"]).all()
EOF
run 0 "$python" container.py

# ---- what Python writes -------------------------------------------------------------------------

"$python" - <<'EOF'
import numpy as np
rng = np.random.default_rng(0)
n, f = 40, 6
dense = (rng.random((n, n)) < 0.1).astype(np.float32)
np.fill_diagonal(dense, 0)
x = (rng.random((n, f)) < 0.3).astype(np.float32)
y = rng.integers(0, 3, n)
def csr(a):
    rows = [np.flatnonzero(r) for r in a]
    return dict(data=np.concatenate([a[i, r] for i, r in enumerate(rows)]),
                indices=np.concatenate(rows).astype(np.int32),
                indptr=np.cumsum([0] + [len(r) for r in rows]).astype(np.int32),
                shape=np.array(a.shape))
adj, attr = csr(dense), csr(x)
names = np.array(["object", 1, None], dtype=object)  # gnn-benchmark files hold such; never touched
np.savez("benchmark.npz", labels=y, node_names=names,
         **{"adj_" + k: v for k, v in adj.items()}, **{"attr_" + k: v for k, v in attr.items()})
np.savez_compressed("newer.npz", labels=y,
         **{"adj_matrix." + k: v for k, v in adj.items()},
         **{"attr_matrix." + k: v for k, v in attr.items()})
edges = np.argwhere(np.triu(np.maximum(dense, dense.T)))
part = rng.integers(0, 3, (5, n))
np.savez_compressed("hetero.npz", node_features=x, node_labels=y, edges=edges,
         train_masks=np.asfortranarray(part == 0), val_masks=part == 1, test_masks=part == 2)
np.savez("broken.npz", labels=y, **{"adj_" + k: v for k, v in adj.items()},
         **{"attr_" + k: v.astype(">f4") if k == "data" else v for k, v in attr.items()})
np.savez("objects.npz", adj_data=names, adj_shape=np.array([3, 3]), adj_indptr=np.arange(4),
         adj_indices=np.arange(3))
EOF
same_data newer.npz benchmark.npz
[ "$(json "$out" nodes) $(json "$out" features) $(json "$out" classes)" = "40 6 3" ] || fail "benchmark.npz is misread"
pairs=$(json "$out" edges)
run 0 pathgcn data info hetero.npz --json
[ "$(json "$out" edges)" = "$pairs" ] || fail "the same graph has other edges in the other layout"
holds "$out" '{"name":"4",'
refused 1 "attr_data.npy|big-endian|astype('<f4')" data info broken.npz
refused 1 "adj_data.npy|Python objects" data info objects.npz
