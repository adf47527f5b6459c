"""Recomputes the predictions of a model file with NumPy, from docs/FORMATS.md alone.

    numpy_logits.py make DIRECTORY [sparse|arcs|graphs|labels]  writes a data folder
    numpy_logits.py check DIRECTORY MODEL CSV  compares with `pathgcn predict --all`

Nothing of pathgcn is used: the safetensors file is read by hand, the operator is a dense matrix,
and all sums are in double precision. Exit code 1 and a sentence if a probability differs by more
than the tolerance.
"""
import json
import os
import struct
import sys

import numpy as np

TOLERANCE = 1e-5
NORM_EPSILON = 1e-5


def make_graphs(directory):
    """40 graphs of 3 to 7 nodes, of which the first has no edge; rings are one class, stars the other."""
    rng = np.random.default_rng(8)
    sizes = 3 + np.arange(40) % 5
    begin = np.concatenate([[0], np.cumsum(sizes)])
    y = (np.arange(40) % 2).astype("<i4")
    edges = [(first + i, first + ((i + 1) % size if kind else 0))
             for first, size, kind in zip(begin[1:], sizes[1:], y[1:]) for i in range(1, size)]
    os.makedirs(directory, exist_ok=True)
    for name, array in [("graph_ptr", begin.astype("<i8")), ("y", y), ("edges", np.array(edges, "<i4")),
                        ("node_attr", rng.normal(size=(begin[-1], 6)).astype("<f4"))]:
        np.save(os.path.join(directory, name + ".npy"), array)


def make(directory, sparse, arcs, several):
    """61 nodes in 3 communities, two of them isolated; weighted edges, or arcs; 19 features; one class
    each or three labels."""
    rng = np.random.default_rng(7)
    n, features, classes = 61, 19, 3
    y = rng.integers(0, classes, n).astype("<i4")
    pairs = [(u, v) for u in range(2, n) for v in range(u + 1, n)
             if rng.random() < (0.2 if y[u] == y[v] else 0.04)]
    edges = np.array(pairs, dtype="<i4")
    x = (rng.normal(size=(n, features)) + 1.5 * np.eye(classes, features)[y]).astype("<f4")
    part = np.arange(n) % 3
    os.makedirs(directory, exist_ok=True)

    def save(name, array):
        np.save(os.path.join(directory, name), np.ascontiguousarray(array))

    save("edges.npy", edges)
    if arcs:
        save("edges_directed.npy", edges)
    else:
        save("edge_weight.npy", rng.uniform(0.5, 2, len(edges)).astype("<f4"))
    save("y.npy", (x[:, :classes] > 0.5).astype("|u1") if several else y)
    for index, name in enumerate(["train", "val", "test"]):
        save(f"{name}_mask.npy", (part == index).astype("|u1"))
    if not sparse:
        save("x.npy", x)
        return
    x[np.abs(x) < 0.8] = 0
    x[5] = 0  # a row without features
    rows, columns = np.nonzero(x)
    save("x_indptr.npy", np.searchsorted(rows, np.arange(n + 1)).astype("<i8"))
    save("x_indices.npy", columns.astype("<i4"))
    save("x_data.npy", x[rows, columns])


def read_safetensors(path):
    """8 bytes: length of the header, little-endian; the header, JSON; the data."""
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32", name
        begin, end = entry["data_offsets"]
        data = np.frombuffer(content[8 + length + begin:8 + length + end], "<f4")
        tensors[name] = data.reshape(entry["shape"]).astype(np.float64)
    return metadata, tensors


def node_count(directory):
    pointer = os.path.join(directory, "graph_ptr.npy")
    if os.path.exists(pointer):
        return np.load(pointer)[-1]
    return len(np.load(os.path.join(directory, "y.npy")))


def read_features(directory, normalise, power):
    def load(name):
        return np.load(os.path.join(directory, name))

    n = node_count(directory)
    if os.path.exists(os.path.join(directory, "node_attr.npy")):
        return load("node_attr.npy").astype(np.float64)  # of graphs, and not normalised here
    sparse = os.path.exists(os.path.join(directory, "x_indptr.npy"))
    if sparse:
        indptr, indices, data = load("x_indptr.npy"), load("x_indices.npy"), load("x_data.npy")
        x = np.zeros((n, indices.max() + 1))
        for node in range(n):
            row = slice(indptr[node], indptr[node + 1])
            x[node, indices[row]] = data[row]
    else:
        x = load("x.npy").astype(np.float64)
    if power:
        nodes = (x[load("train_mask.npy").astype(bool)] != 0).sum(axis=0)
        x *= ((nodes + 1) / (nodes.max() + 1)) ** power
    if normalise == "rows" or (normalise == "auto" and sparse):
        total = np.abs(x).sum(axis=1, keepdims=True)
        x = np.divide(x, total, out=np.zeros_like(x), where=total > 0)
    return x


def operator(directory, config, directed, turned):
    """T = D^-1 A or D^-1/2 A D^-1/2; a node that cannot go anywhere stays; or A. Turned: of A^T."""
    n = node_count(directory)
    edges = np.load(os.path.join(directory, "edges.npy"))
    weight = np.ones(len(edges))
    if config["walk"] == "weighted":
        weight = np.load(os.path.join(directory, "edge_weight.npy")).astype(np.float64)
    a = np.zeros((n, n))
    a[edges[:, 0], edges[:, 1]] = weight
    if not directed:
        a[edges[:, 1], edges[:, 0]] = weight
    if turned:
        a = a.T.copy()
    if config["scaling"] == "sum":
        return a
    stays = np.ones(n) if config["self-loops"] == "yes" else (a.sum(axis=1) == 0).astype(float)
    a += np.diag(stays)
    degree = a.sum(axis=1)
    if config["scaling"] == "symmetric":
        return a / np.sqrt(np.outer(degree, degree))
    return a / degree[:, None]


def path_convolution(h, t, kernel):
    """sum_i s_i (.) T^i H, or sum_i T^i H W_i for a full kernel."""
    result = np.zeros_like(h)
    for s in kernel:
        result += h @ s if s.ndim == 2 else h * s
        h = t @ h
    return result


def norm(x, w, of, begin=None):
    """Batch norm with gain and shift, by the running statistics; without these each graph by its own."""
    if of + "norm.mean" in w:
        mean, variance = w[of + "norm.mean"], w[of + "norm.variance"]
    else:
        begin = np.array([0, len(x)]) if begin is None else begin
        rows = np.diff(begin)
        mean = np.repeat([x[a:b].mean(axis=0) for a, b in zip(begin, begin[1:])], rows, axis=0)
        variance = np.repeat([x[a:b].var(axis=0) for a, b in zip(begin, begin[1:])], rows, axis=0)
    return (x - mean) / np.sqrt(variance + NORM_EPSILON) * w[of + "norm.gain"] + w[of + "norm.shift"]


def graphs_of(directory):
    """Where the rows of each graph of a set begin, and the end; None: there is one graph."""
    path = os.path.join(directory, "graph_ptr.npy")
    return np.load(path) if os.path.exists(path) else None


def gin_layers(x, t, w, layers):
    """H_0 .. H_L of GIN."""
    h = [x]
    for layer in range(layers):
        of = f"layers.{layer}."
        v = path_convolution(h[-1], t, w[of + "kernel"])
        for half in [of + "inner.", of]:
            v = np.maximum(norm(v @ w[half + "weight"] + w[half + "bias"], w, half), 0)
        h.append(v)
    return h


def readout(directory, w, h, kind):
    """The logits of graphs from H_0 .. H_L."""
    begin = np.load(os.path.join(directory, "graph_ptr.npy"))[:-1]
    sums = [np.add.reduceat(rows, begin, axis=0) for rows in h]
    if kind == "layers":
        return sum(s @ w[f"classifier.{i}.weight"] + w[f"classifier.{i}.bias"]
                   for i, s in enumerate(sums))
    r = sums[-1] @ w["readout.weight"] + w["readout.bias"]
    return (np.maximum(r, 0) if kind == "relu" else r) @ w["classifier.weight"] + w["classifier.bias"]


def probabilities(directory, model):
    metadata, w = read_safetensors(model)
    config = json.loads(metadata["config"])
    assert metadata["format"] == "pathgcn-model" and metadata["format_version"] == "1"
    x = read_features(directory, config["normalise"], float(config.get("frequency", 0)))
    if config["normalise"] == "standardise":
        train = np.load(os.path.join(directory, "train_mask.npy")).astype(bool)
        assert np.allclose(w["input.mean"], x[train].mean(axis=0), atol=1e-6)
        x = (x - w["input.mean"]) / w["input.deviation"]
    directed = ":directed" in metadata["dataset"]
    t = operator(directory, config, directed, config["direction"] == "backward")
    alpha = float(config["alpha"])
    if "input.kernel" in w:
        x = path_convolution(x, t, w["input.kernel"])
    begin = graphs_of(directory)
    if "input.norm.gain" in w:
        x = norm(x, w, "input.", begin)
    layers, of_graphs = int(config["layers"]), metadata["task"] == "graph"
    if config["model"] == "gin":
        h = gin_layers(x, t, w, layers)
    else:
        h = [np.maximum(x @ w["embed.weight"] + w["embed.bias"], 0)]
    for layer in range(layers if config["model"] == "pathgcn" else 0):
        def of_layer(part):
            return w[f"layers.{layer}.{part}"]

        u = path_convolution(h[-1], t, w["kernel"] if "kernel" in w else of_layer("kernel"))
        residual = {"none": None, "initial": h[0], "previous": h[-1]}[config["residual"]]
        if residual is not None:
            u = (1 - alpha) * u + alpha * residual
        if of_graphs and config["batch-norm"] == "yes":
            u = norm(u, w, f"layers.{layer}.", begin)
        if config["kernel"] != "full":
            u = u @ of_layer("weight") + (of_layer("bias") if of_graphs else 0)
        if config["self-mix"] == "yes":
            u = u + h[-1] @ of_layer("self.weight")
        if f"layers.{layer}.norm.gain" in w and not of_graphs:
            u = norm(u, w, f"layers.{layer}.", begin)
        elif config["batch-norm"] == "yes" and not of_graphs:
            u = (u - of_layer("norm.mean")) / np.sqrt(of_layer("norm.variance") + NORM_EPSILON)
        h.append(np.maximum(u, 0))
    if of_graphs:
        logits = readout(directory, w, h, config["readout"])
    else:
        logits = h[-1] @ w["classifier.weight"] + w["classifier.bias"]
    if metadata["task"] == "multilabel":
        return 1 / (1 + np.exp(-logits))
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def check(directory, model, predictions):
    expected = probabilities(directory, model)
    found = np.genfromtxt(predictions, delimiter=",", skip_header=1)  # several labels are no number
    if not np.array_equal(found[:, 0], np.arange(len(expected))):
        sys.exit(f"{predictions}: the rows are not 0 .. {len(expected) - 1}")
    difference = np.abs(found[:, 3:] - expected)
    if not difference.max() <= TOLERANCE:
        node, label = np.unravel_index(np.nanargmax(difference), difference.shape)
        sys.exit(f"{predictions}: row {node} has probability {found[node, 3 + label]:.9g} of class "
                 f"{label}, NumPy computes {expected[node, label]:.9g}")
    spread = expected.max() - expected.min()
    if spread < 0.2:  # a constant would agree with anything
        sys.exit(f"{model}: the probabilities hardly differ ({spread:.3g}); the test says nothing")
    print(f"largest difference {difference.max():.1e}, probabilities from {expected.min():.3f} to "
          f"{expected.max():.3f}")


if __name__ == "__main__":
    if sys.argv[1] == "make" and sys.argv[3:] == ["graphs"]:
        make_graphs(sys.argv[2])
    elif sys.argv[1] == "make":
        make(sys.argv[2], *(sys.argv[3:] == [kind] for kind in ["sparse", "arcs", "labels"]))
    else:
        check(*sys.argv[2:5])
