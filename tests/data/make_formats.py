#!/usr/bin/env python3
"""Writes small invented data sets in every format that pathgcn reads.

    make_formats.py DIRECTORY [NODES]

makes, below DIRECTORY, four groups; all of a group are the same data in different files:

    node/    one graph, features, one class per node, a split
    multi/   the same graph with several labels per node
    sets/    many small graphs with a class each
    bare/    a graph and nothing else

Formats whose originals are not at hand (OGB, Wiki-CS, GraphSAGE, PPI of DGL, gnn-benchmark) are
written exactly as their authors' scripts write them. Pickles are put together byte by byte, as
Python 2 wrote them. Standard library and numpy. tests/e2e/formats.sh compares what pathgcn makes of
them; tests/fuzz/make_corpus.py makes seeds of them.
"""
import gzip
import json
import os
import random
import struct
import sys

import numpy as np


class Graph:
    """n nodes; few features are 1 and the others 0, so that every format stores them sparsely."""

    def __init__(self, n, features=20, classes=3, seed=1):
        r = random.Random(seed)
        self.n, self.f, self.c = n, features, classes
        self.y = [i % classes for i in range(n)]
        arcs = {(i, (i + 1) % n) for i in range(n - 2)}
        while len(arcs) < 2 * n:
            arcs.add((r.randrange(n), r.randrange(n)))
        self.arcs = sorted(a for a in arcs if a[0] != a[1])
        r.shuffle(self.arcs)
        self.x = np.zeros((n, features), np.float32)
        for i in range(n):
            self.x[i, [self.y[i], r.randrange(features)]] = 1
        self.x[0, features - 1] = 1
        self.labels = np.array([[int(self.y[i] == c or r.random() < 0.3) for c in range(classes)]
                                for i in range(n)], np.uint8)
        train = max(classes, n // 10)
        val = 500 if n >= 600 else n // 2 - train
        self.parts = [range(0, train), range(train, train + val), range(train + val, n)]

    def mask(self, part):
        return [i in self.parts[part] for i in range(self.n)]

    def undirected(self):
        return sorted({(min(a), max(a)) for a in self.arcs})


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def write_gz(path, text):
    write(path, gzip.compress(text.encode(), mtime=0))


def save(path, array):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    np.save(path, np.ascontiguousarray(array))


def csr(matrix):
    rows, columns = np.nonzero(matrix)
    pointer = np.zeros(len(matrix) + 1, np.int64)
    np.add.at(pointer, rows + 1, 1)
    return np.cumsum(pointer), columns, matrix[rows, columns]


# ---- one class per node --------------------------------------------------------------------------

def folder(out, g, several=False):
    pointer, column, value = csr(g.x)
    save(f"{out}/edges.npy", np.array(g.undirected(), "<i4"))
    save(f"{out}/x_indptr.npy", pointer.astype("<i8"))
    save(f"{out}/x_indices.npy", column.astype("<i4"))
    save(f"{out}/x_data.npy", value.astype("<f4"))
    save(f"{out}/y.npy", g.labels if several else np.array(g.y, "<i4"))
    write(f"{out}/info.txt", f"nodes {g.n}\nfeatures {g.f}\n")
    for part, name in enumerate(("train", "val", "test")):
        save(f"{out}/{name}_mask.npy", np.array(g.mask(part), np.uint8))


def ogb(out, g, several=False, pack=True):
    def table(name, rows):
        text = "".join(",".join(map(str, row)) + "\n" for row in rows)
        if pack:
            write_gz(f"{out}/{name}.csv.gz", text)
        else:
            write(f"{out}/{name}.csv", text)
    table("raw/edge", g.arcs)
    table("raw/node-feat", [["%.6f" % v for v in row] for row in g.x])
    table("raw/node-label", g.labels.tolist() if several else [[c] for c in g.y])
    table("raw/num-node-list", [[g.n]])
    table("raw/num-edge-list", [[len(g.arcs)]])
    for part, name in enumerate(("train", "valid", "test")):
        table(f"split/time/{name}", [[i] for i in g.parts[part]])


def wikics(out, g, splits=20):
    """As data_processing/pyscripts/process_dataset.py of pmernyei/wiki-cs-dataset dumps it."""
    links = [[] for _ in range(g.n)]
    for a, b in g.arcs:
        links[a].append(b)
    none = [False] * g.n
    write(f"{out}/data.json", json.dumps({
        "features": g.x.astype(float).tolist(), "labels": g.y, "links": links,
        "train_masks": [g.mask(0)] * splits, "stopping_masks": [none] * splits,
        "val_masks": [g.mask(1)] * splits, "test_mask": g.mask(2)}))


def graphsage(out, g, several=False, names=lambda i: i):
    """networkx 1.11's node_link_data, links by position; ids are numbers or names."""
    write(f"{out}/toy-G.json", json.dumps({
        "directed": False, "graph": {"name": "disjoint_union( ,  )"},
        "nodes": [{"test": i in g.parts[2], "id": names(i), "val": i in g.parts[1]}
                  for i in range(g.n)],
        "links": [{"source": a, "target": b, "test_removed": False, "train_removed": False}
                  for a, b in g.arcs],
        "multigraph": False}))
    ids = [str(names(i)) for i in range(g.n)]
    write(f"{out}/toy-id_map.json", json.dumps({ids[i]: i for i in range(g.n)}))
    write(f"{out}/toy-class_map.json", json.dumps(
        {ids[i]: g.labels[i].tolist() if several else g.y[i] for i in range(g.n)}))
    save(f"{out}/toy-feats.npy", g.x.astype("<f8"))


def geom(out, g):
    rows = "".join(f"{i}\t{','.join(str(int(v)) for v in g.x[i])}\t{g.y[i]}\n"
                   for i in reversed(range(g.n)))
    write(f"{out}/out1_node_feature_label.txt", "node_id\tfeature\tlabel\n" + rows)
    write(f"{out}/out1_graph_edges.txt", "node_id\tnode_id\n" +
          "".join(f"{a}\t{b}\n" for a, b in g.arcs))
    os.makedirs(f"{out}/splits", exist_ok=True)
    for s in range(2):
        np.savez(f"{out}/splits/toy_split_0.6_0.2_{s}.npz",
                 train_mask=np.array(g.mask(0), np.uint8), val_mask=np.array(g.mask(1), np.uint8),
                 test_mask=np.array(g.mask(2), np.uint8))


def planetoid(out, g):
    tests = list(g.parts[2])
    order = tests[1:] + tests[:1]  # rows of tx stand in the order of test.index
    first = tests[0]
    one_hot = np.eye(g.c, dtype=np.int32)[g.y]
    both = {i: [] for i in range(g.n)}
    for a, b in g.arcs:
        both[a].append(b)
        both[b].append(a)
    for name, value in (("x", pickled_csr(g.x[g.parts[0]])), ("allx", pickled_csr(g.x[:first])),
                        ("tx", pickled_csr(g.x[order])), ("y", pickled_array(one_hot[g.parts[0]])),
                        ("ally", pickled_array(one_hot[:first])),
                        ("ty", pickled_array(one_hot[order])), ("graph", pickled_graph(both))):
        write(f"{out}/ind.toy.{name}", b"\x80\x02" + value + b".")
    write(f"{out}/ind.toy.test.index", "".join(f"{i}\n" for i in order))


def npz_benchmark(out, g):
    """gnn-benchmark of Shchur et al.: adjacency and features as CSR."""
    adjacency = np.zeros((g.n, g.n), np.float32)
    for a, b in g.arcs:
        adjacency[a, b] = 1
    arrays = {}
    for name, matrix in (("adj", adjacency), ("attr", g.x)):
        pointer, column, value = csr(matrix)
        arrays.update({f"{name}_data": value, f"{name}_indices": column.astype("<i4"),
                       f"{name}_indptr": pointer.astype("<i4"),
                       f"{name}_shape": np.array(matrix.shape, "<i8")})
    os.makedirs(out, exist_ok=True)
    np.savez_compressed(f"{out}/toy.npz", labels=np.array(g.y, "<i8"), **arrays)


def npz_heterophilous(out, g):
    os.makedirs(out, exist_ok=True)
    np.savez_compressed(f"{out}/toy.npz", node_features=g.x, node_labels=np.array(g.y, "<i8"),
                        edges=np.array(g.undirected(), "<i8"),
                        **{f"{name}_masks": np.array([g.mask(part)] * 2)
                           for part, name in enumerate(("train", "val", "test"))})


def own_files(out, g):
    write(f"{out}/edges.csv", "source,target\n" + "".join(f"{a},{b}\n" for a, b in g.arcs))
    write(f"{out}/features.csv", "".join(f"{i}," + ",".join("%g" % v for v in g.x[i]) + "\n"
                                         for i in range(g.n)))
    write(f"{out}/labels.csv", "id,label\n" + "".join(f"{i},{g.y[i]}\n" for i in range(g.n)))
    write(f"{out}/splits.csv", "id,part\n" + "".join(
        f"{i},{name}\n" for part, name in enumerate(("train", "val", "test"))
        for i in g.parts[part]))


# ---- several labels per node ---------------------------------------------------------------------

def dgl_ppi(out, g):
    """ppi.zip of DGL. Every part is a graph of its own, so edges between parts are left out: the
    same data as folder_of_parts()."""
    for part, name in enumerate(("train", "valid", "test")):
        first, last = g.parts[part][0], g.parts[part][-1]
        rows = slice(first, last + 1)
        write(f"{out}/{name}_graph.json", json.dumps({
            "directed": False, "multigraph": False, "graph": {},
            "nodes": [{"id": i - first} for i in g.parts[part]],
            "links": [{"source": a - first, "target": b - first} for a, b in inside(g)
                      if first <= a <= last]}))
        save(f"{out}/{name}_feats.npy", g.x[rows].astype("<f8"))
        save(f"{out}/{name}_labels.npy", g.labels[rows].astype("<i8"))
        save(f"{out}/{name}_graph_id.npy", np.full(last - first + 1, part + 1, "<i8"))


def part_of(g, node):
    return next(p for p in range(3) if node in g.parts[p])


def inside(g):
    return [(a, b) for a, b in g.arcs if part_of(g, a) == part_of(g, b)]


def folder_of_parts(out, g):
    folder(out, g, several=True)
    save(f"{out}/edges.npy", np.array(sorted({(min(a), max(a)) for a in inside(g)}), "<i4"))
    save(f"{out}/graph_id.npy", np.array([part_of(g, i) for i in range(g.n)], "<i4"))


# ---- many graphs ---------------------------------------------------------------------------------

class Graphs:
    def __init__(self, count, seed=2):
        r = random.Random(seed)
        self.sizes = [3 + r.randrange(4) for _ in range(count)]
        self.y = [g % 2 for g in range(count)]
        self.first = [sum(self.sizes[:g]) for g in range(count + 1)]
        self.tag = [r.randrange(3) for _ in range(self.first[-1])]
        self.tag[:3] = [0, 1, 2]
        self.edges = [[(i, i + 1) for i in range(n - 1)] + [(0, n - 1)] * (n > 3)
                      for n in self.sizes]

    def both(self):
        return [(self.first[g] + a, self.first[g] + b) for g, edges in enumerate(self.edges)
                for p in edges for a, b in (p, p[::-1])]


def tu(out, s):
    write(f"{out}/TOY_A.txt", "".join(f"{a + 1}, {b + 1}\n" for a, b in s.both()))
    write(f"{out}/TOY_graph_indicator.txt",
          "".join(f"{g + 1}\n" * n for g, n in enumerate(s.sizes)))
    write(f"{out}/TOY_graph_labels.txt", "".join(f"{2 * c - 1}\n" for c in s.y))
    write(f"{out}/TOY_node_labels.txt", "".join(f"{t}\n" for t in s.tag))


def gin(out, s):
    lines = [f"{len(s.sizes)}"]
    for g, n in enumerate(s.sizes):
        lines.append(f"{n} {2 * s.y[g] - 1}")
        for i in range(n):
            near = [b if a == i else a for a, b in s.edges[g] if i in (a, b)]
            lines.append(" ".join(map(str, [s.tag[s.first[g] + i], len(near)] + near)))
    write(f"{out}/TOY.txt", "\n".join(lines) + "\n")


def folder_of_graphs(out, s):
    save(f"{out}/graph_ptr.npy", np.array(s.first, "<i8"))
    save(f"{out}/edges.npy", np.array([(a, b) for a, b in s.both() if a < b], "<i4"))
    save(f"{out}/y.npy", np.array(s.y, "<i4"))
    save(f"{out}/node_label.npy", np.array(s.tag, "<i4"))


# ---- a graph and nothing else --------------------------------------------------------------------

def edge_list(path, g, end=" "):
    write(path, "".join(f"{a}{end}{b}\n" for a, b in g.arcs))


def matrix_market(path, g, symmetric=False):
    arcs = [(b, a) for a, b in g.undirected()] if symmetric else g.arcs
    kind = "symmetric" if symmetric else "general"
    write(path, f"%%MatrixMarket matrix coordinate pattern {kind}\n% a toy\n"
          f"{g.n} {g.n} {len(arcs)}\n" + "".join(f"{a + 1} {b + 1}\n" for a, b in arcs))


# ---- pickles, as Python 2 and NumPy 1 wrote them (protocol 2) ------------------------------------

def whole(number):
    if 0 <= number < 256:
        return b"K" + bytes([number])
    return b"J" + struct.pack("<i", number)


def text(data):
    if len(data) < 256:
        return b"U" + bytes([len(data)]) + data
    return b"T" + struct.pack("<i", len(data)) + data


def called(module, name):
    return f"c{module}\n{name}\n".encode()


def pickled_array(array):
    array = np.ascontiguousarray(array)
    code = array.dtype.str[1:].encode()
    dtype = (called("numpy", "dtype") + text(code) + whole(0) + whole(1) + b"\x87R(" + whole(3) +
             text(b"<") + b"NNN" + whole(-1) + whole(-1) + whole(0) + b"tb")
    return (called("numpy.core.multiarray", "_reconstruct") + called("numpy", "ndarray") +
            whole(0) + b"\x85" + text(b"b") + b"\x87R(" + whole(1) + b"(" +
            b"".join(whole(n) for n in array.shape) + b"t" + dtype + b"\x89" +
            text(array.tobytes()) + b"tb")


def pickled_csr(matrix):
    pointer, column, value = csr(matrix)
    return (called("copy_reg", "_reconstructor") + b"(" + called("scipy.sparse.csr", "csr_matrix") +
            called("__builtin__", "object") + b"NtR}(" +
            text(b"_shape") + b"(" + whole(matrix.shape[0]) + whole(matrix.shape[1]) + b"t" +
            text(b"maxprint") + whole(50) +
            text(b"indices") + pickled_array(column.astype("<i4")) +
            text(b"indptr") + pickled_array(pointer.astype("<i4")) +
            text(b"data") + pickled_array(value.astype("<f4")) + b"ub")


def pickled_graph(both):
    items = b"".join(whole(i) + b"](" + b"".join(map(whole, near)) + b"e"
                     for i, near in both.items())
    return (called("collections", "defaultdict") + called("__builtin__", "list") + b"\x85R(" +
            items + b"u")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    out, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 640
    g, s = Graph(n), Graphs(30)
    node = f"{out}/node"
    folder(f"{node}/folder", g)
    ogb(f"{node}/ogb", g)
    ogb(f"{node}/ogb_plain", g, pack=False)
    wikics(f"{node}/wikics", g)
    graphsage(f"{node}/graphsage", g)
    graphsage(f"{node}/graphsage_names", g, names=lambda i: f"t3_{i:x}")
    geom(f"{node}/geom", g)
    planetoid(f"{node}/planetoid", g)
    npz_benchmark(f"{node}/npz_benchmark", g)
    npz_heterophilous(f"{node}/npz_heterophilous", g)
    own_files(f"{node}/own_files", g)
    folder(f"{out}/multi/folder", g, several=True)
    ogb(f"{out}/multi/ogb", g, several=True)
    graphsage(f"{out}/multi/graphsage", g, several=True)
    dgl_ppi(f"{out}/parts/dgl_ppi", g)
    folder_of_parts(f"{out}/parts/folder", g)
    tu(f"{out}/sets/tu", s)
    gin(f"{out}/sets/gin", s)
    folder_of_graphs(f"{out}/sets/folder", s)
    edge_list(f"{out}/bare/toy.edges", g)
    edge_list(f"{out}/bare/toy.csv", g, ",")
    write_gz(f"{out}/bare/toy.tsv.gz", "".join(f"{a}\t{b}\n" for a, b in g.arcs))
    matrix_market(f"{out}/bare/toy.mtx", g)
    matrix_market(f"{out}/bare/symmetric.mtx", g, symmetric=True)


if __name__ == "__main__":
    main()
