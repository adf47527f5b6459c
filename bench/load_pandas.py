#!/usr/bin/python3
"""The other side of bench/load.sh, and the maker of its files.

    load_pandas.py make DIR    a folder in the layout of ogbn-arxiv: 169343 nodes, 1166243 edges, 128
                               features with 6 decimals, 40 classes, the split by time; values are random
    load_pandas.py read DIR    reads all of it as OGB's own reader does: pandas.read_csv and a NumPy array
                               of the final type; prints one JSON line

The time of `read` leaves out the start of Python and the imports.
"""
import gzip
import json
import os
import resource
import sys
import time

import numpy as np

NODES, EDGES, FEATURES, CLASSES = 169343, 1166243, 128, 40
TRAIN, VALID = 90941, 29799


def write(folder, name, text):
    path = os.path.join(folder, name + ".csv.gz")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with gzip.open(path, "wb", compresslevel=6) as file:
        for piece in text:
            file.write(piece.encode())


def lines(array):
    return ["\n".join(map(str, array.tolist())) + "\n"]


def make(folder):
    rng = np.random.default_rng(1)

    def features():
        for begin in range(0, NODES, 4096):
            rows = rng.standard_normal((min(4096, NODES - begin), FEATURES)) * 0.15
            yield "\n".join(",".join("%.6f" % x for x in row) for row in rows.tolist()) + "\n"

    edges = rng.integers(0, NODES, (EDGES, 2))
    order = rng.permutation(NODES)
    write(folder, "raw/node-feat", features())
    write(folder, "raw/edge", ["\n".join("%d,%d" % (a, b) for a, b in edges.tolist()) + "\n"])
    write(folder, "raw/node-label", lines(rng.integers(0, CLASSES, NODES)))
    write(folder, "raw/num-node-list", ["%d\n" % NODES])
    write(folder, "raw/num-edge-list", ["%d\n" % EDGES])
    write(folder, "split/time/train", lines(order[:TRAIN]))
    write(folder, "split/time/valid", lines(order[TRAIN:TRAIN + VALID]))
    write(folder, "split/time/test", lines(order[TRAIN + VALID:]))


def read(folder):
    import pandas

    def table(name, dtype):
        path = os.path.join(folder, name + ".csv.gz")
        return pandas.read_csv(path, compression="gzip", header=None).values.astype(dtype)

    begin = time.perf_counter()
    edges = table("raw/edge", np.int64)
    features = table("raw/node-feat", np.float32)
    label = table("raw/node-label", np.int64)
    split = [table("split/time/" + part, np.int64) for part in ("train", "valid", "test")]
    wall_s = time.perf_counter() - begin
    assert edges.shape == (EDGES, 2) and features.shape == (NODES, FEATURES)
    assert len(label) == sum(map(len, split)) == NODES
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"wall_s": wall_s, "peak_bytes": peak, "pandas": pandas.__version__,
                      "numpy": np.__version__}))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("make", "read"):
        sys.exit(__doc__)
    {"make": make, "read": read}[sys.argv[1]](sys.argv[2])
