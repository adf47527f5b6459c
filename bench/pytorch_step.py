#!/usr/bin/python3
"""One training step of pathGCN on Cora in PyTorch: the other side of bench/step.sh.

The same step as `pathgcn train cora --layers 2 --path-length 5 --paths 5 --channels 64 --samples 1
--consistency 0`: fresh paths, forward, backward, Adam with three groups. With d~ the degree plus
one, and paths on which staying is one more choice of every step:

    H0  = ReLU(Dropout(X) W_in + b_in)                                   X row-normalised
    A   = D~^1/2 sum_i s_i (.) mean_q (D~^-1/2 H)[path_q(i)]             depth-wise kernels
    H   = ReLU((0.9 A + 0.1 H0) (I + dW))                                two layers
    out = Dropout(H) W_out + b_out

Two ways to write it. `plain` is what one writes first: dense X, H[paths] of shape [n, p, k, c].
`sparse` is what a careful user of PyTorch writes: X as a sparse tensor whose values are dropped,
and no [n, p, k, c] tensor: the visits of a hop are one sparse matrix (faster here than
embedding_bag or index_select).

    PATHGCN_DATA=... bench/pytorch_step.py [--threads 2] [--steps 50]

Prints one JSON line per version; times in ms, over --steps steps after a warm-up of 10.
"""
import argparse
import json
import os
import statistics
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

LAYERS, LENGTH, PATHS, CHANNELS = 2, 5, 5, 64
DROPOUT, ALPHA = 0.6, 0.1
WARM_UP = 10


class Cora:
    def __init__(self, folder):
        def read(name):
            return np.load(os.path.join(folder, name + ".npy"))

        edges = read("edges").astype(np.int64)
        self.label = torch.from_numpy(read("y").astype(np.int64))
        self.train = torch.from_numpy(np.flatnonzero(read("train_mask")))
        self.n = n = len(self.label)
        self.classes = int(self.label.max()) + 1

        # Adjacency with self-loops as CSR: to stay is one of the d~ choices of a step.
        loops = np.arange(n)
        row = np.concatenate([edges[:, 0], edges[:, 1], loops])
        column = np.concatenate([edges[:, 1], edges[:, 0], loops])
        order = np.lexsort((column, row))
        row, column = row[order], column[order]
        degree = np.bincount(row, minlength=n)
        self.offset = torch.from_numpy(np.concatenate([[0], np.cumsum(degree)[:-1]]))
        self.choices = torch.from_numpy(degree.astype(np.float32))
        self.neighbour = torch.from_numpy(column)
        self.root_degree = self.choices.sqrt()[:, None]  # [n, 1]
        value = 1 / np.sqrt(degree[row] * degree[column])
        self.operator = torch.sparse_coo_tensor(
            np.stack([row, column]), torch.from_numpy(value.astype(np.float32)), (n, n)
        ).coalesce()

        with open(os.path.join(folder, "info.txt")) as file:
            features = int(dict(line.split() for line in file)["features"])
        start, index, value = read("x_indptr"), read("x_indices"), read("x_data")
        x_row = np.repeat(loops, np.diff(start))
        sums = np.bincount(x_row, weights=value, minlength=n)
        value = value / sums[x_row]
        self.x_sparse = torch.sparse_coo_tensor(
            np.stack([x_row, index.astype(np.int64)]), torch.from_numpy(value.astype(np.float32)),
            (n, features),
        ).coalesce()
        self.x_dense = self.x_sparse.to_dense()

    def sample_paths(self):
        """k tensors [n, p] of node ids; hop 0 is the start."""
        node = torch.arange(self.n)[:, None].expand(self.n, PATHS)
        hops = [node]
        for _ in range(LENGTH - 1):
            choice = (torch.rand(self.n, PATHS) * self.choices[node]).long()
            node = self.neighbour[self.offset[node] + choice]
            hops.append(node)
        return hops


class PathGCN(torch.nn.Module):
    def __init__(self, data):
        super().__init__()
        features = data.x_dense.shape[1]
        self.w_in = torch.nn.Parameter(torch.empty(features, CHANNELS))
        self.b_in = torch.nn.Parameter(torch.zeros(CHANNELS))
        self.w_out = torch.nn.Parameter(torch.empty(CHANNELS, data.classes))
        self.b_out = torch.nn.Parameter(torch.zeros(data.classes))
        torch.nn.init.xavier_uniform_(self.w_in)
        torch.nn.init.xavier_uniform_(self.w_out)
        # Both are kept as the difference to their start, so that weight decay pulls towards it.
        self.d_mix = torch.nn.Parameter(torch.zeros(LAYERS, CHANNELS, CHANNELS))
        self.d_kernel = torch.nn.Parameter(torch.zeros(LAYERS, LENGTH, CHANNELS))
        self.eye = torch.eye(CHANNELS)

    def groups(self):
        return [
            {"params": [self.w_in, self.b_in, self.w_out, self.b_out], "weight_decay": 5e-4},
            {"params": [self.d_mix], "weight_decay": 2.0},
            {"params": [self.d_kernel], "weight_decay": 1.0},
        ]

    def forward(self, opening, convolve):
        h0 = h = F.relu(opening(self.w_in) + self.b_in)
        for layer in range(LAYERS):
            u = (1 - ALPHA) * convolve(h, 1 / LENGTH + self.d_kernel[layer]) + ALPHA * h0
            h = F.relu(u @ (self.eye + self.d_mix[layer]))
        return F.dropout(h, DROPOUT, self.training) @ self.w_out + self.b_out


class Plain:
    name = "pytorch plain"

    def __init__(self, data):
        self.data = data

    def opening(self, weight, training):
        return F.dropout(self.data.x_dense, DROPOUT, training) @ weight

    def sampled(self, hops):
        paths = torch.stack(hops, dim=2)  # [n, p, k]
        root = self.data.root_degree

        def convolve(h, kernel):
            return root * (kernel * (h / root)[paths].mean(1)).sum(1)

        return convolve


class Sparse:
    name = "pytorch sparse"

    def __init__(self, data):
        self.data = data

    def opening(self, weight, training):
        x = self.data.x_sparse
        if training:
            # _coalesced_: the indices are in order already, do not sort them again.
            x = torch.sparse_coo_tensor(x.indices(), F.dropout(x.values(), DROPOUT),
                                        x.shape)._coalesced_(True)
        return torch.sparse.mm(x, weight)

    def sampled(self, hops):
        data = self.data
        row = torch.arange(data.n).repeat_interleave(PATHS)
        visits = []  # S_i with the degree scaling in its values: shared by the layers
        for hop in hops[1:]:
            column = hop.reshape(-1)
            value = data.root_degree[row, 0] / data.root_degree[column, 0] / PATHS
            visits.append(torch.sparse_coo_tensor(torch.stack([row, column]), value,
                                                  (data.n, data.n))._coalesced_(True))

        def convolve(h, kernel):
            total = kernel[0] * h
            for i, visit in enumerate(visits, 1):
                total = total + kernel[i] * torch.sparse.mm(visit, h)
            return total

        return convolve


def exact(data):
    """The expectation over all paths: powers of D~^-1/2 A~ D~^-1/2, by Horner's rule."""

    def convolve(h, kernel):
        total = kernel[LENGTH - 1] * h
        for i in range(LENGTH - 2, -1, -1):
            total = torch.sparse.mm(data.operator, total) + kernel[i] * h
        return total

    return convolve


def time_ms(run, steps):
    for _ in range(WARM_UP):
        run()
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - begin))
    return times


def measure(version, data, steps):
    torch.manual_seed(1)
    model = PathGCN(data)
    adam = torch.optim.Adam(model.groups(), lr=1e-2, foreach=True)
    losses = []

    def step():
        model.train()
        hops = data.sample_paths()
        logits = model(lambda w: version.opening(w, True), version.sampled(hops))
        loss = F.cross_entropy(logits[data.train], data.label[data.train])
        adam.zero_grad(set_to_none=True)
        loss.backward()
        adam.step()
        losses.append(loss.item())

    def infer():
        model.eval()
        with torch.no_grad():
            return model(lambda w: version.opening(w, False), exact(data))

    step_ms = time_ms(step, steps)
    if not losses[-1] < 0.9 * losses[0]:
        sys.exit(f"{version.name}: the loss went from {losses[0]:.3f} to {losses[-1]:.3f}; this "
                 "is not training, so its time means nothing")
    print(json.dumps({
        "case": version.name,
        "train_step_ms_median": round(statistics.median(step_ms), 3),
        "min": round(min(step_ms), 3),
        "sampling_ms": round(statistics.median(time_ms(data.sample_paths, steps)), 3),
        "inference_ms": round(statistics.median(time_ms(infer, steps)), 3),
        "loss_first": round(losses[0], 4),
        "loss_last": round(losses[-1], 4),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=50)
    options = parser.parse_args()
    if "PATHGCN_DATA" not in os.environ:
        sys.exit("PATHGCN_DATA is not set: it names the folder that holds cora/")
    torch.set_num_threads(options.threads)
    data = Cora(os.path.join(os.environ["PATHGCN_DATA"], "cora"))
    for version in (Plain(data), Sparse(data)):
        measure(version, data, options.steps)


if __name__ == "__main__":
    main()
