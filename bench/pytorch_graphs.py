#!/usr/bin/python3
"""The networks of `bench_model` on sets of many graphs in PyTorch: the yardstick of bench/graphs_speed.sh.

The same data (a .npz file that `pathgcn data convert` wrote), the same settings (the JSON line that bench_model
printed), the same mathematics. A training step is: the next graphs as one block-diagonal graph, put together as
torch_geometric's Batch does it; fresh paths on it; forward, loss, backward, Adam. Its time is that of a step of mean
size: batches have more or fewer nodes. With T the operator D^-1 A:

    graphs   H = ReLU(X W + b);  L x H = ReLU(BN(sum_i s_i (.) mean_q H[path_q(i)]) W + b);  rows of a graph added up;
             out = Dropout(ReLU(sum W + b)) W + b                                  cross-entropy of the graphs
    gin      L x H = ReLU(BN(ReLU(BN((H + A H) W + b)) W + b));  out = sum over layers of Dropout(sum W_l + b_l)
    nodes    the network of pytorch_models.py                                      binary cross-entropy of all labels

In evaluation mean_q becomes T^i, by Horner's rule. Versions, the last two those of pytorch_models.py:

    index    index_select of all visits and a mean; its backward pass is an index_add
    sparse   the visits of each hop as a sparse tensor, shared by the layers, gradients by autograd
    best     embedding_bag over the visits and over their transposed lists, gradients by hand

    pytorch_graphs.py --data X.npz --settings LINE.json --version best [--threads 2] [--seconds 5]
    pytorch_graphs.py --data X.npz --settings LINE.json --check MODEL LOGITS

Prints one JSON line; times in ms. The peak memory is that of this process, Python and PyTorch included.
"""
import argparse
import json
import os
import resource
import sys

import numpy as np
import torch
import torch.nn.functional as F

from pytorch_models import TOLERANCE, BagProduct, Best, Data, PathGCN, Settings, Sparse, horner, read_safetensors, time_ms


class GraphSettings(Settings):
    GRAPHS = {"residual": "none", "scaling": "walk", "self-loops": "no", "batch-norm": "yes", "train-form": "sampled",
              "mix": "random", "readout": "relu", "dropout": "0"}
    GIN = {"scaling": "sum", "self-loops": "no", "train-form": "exact", "readout": "layers", "lr-kernel": "0"}

    def __init__(self, path):
        super().__init__(path, {})
        self.of_nodes = self.line["task"] != "graph"
        self.gin = self.config["model"] == "gin"
        super().__init__(path, self.NODES if self.of_nodes else self.GIN if self.gin else {**self.ALL, **self.GRAPHS})
        last = float(self.config["dropout-last"])
        self.dropout_last = self.dropout if last < 0 else last
        self.scaling, self.loops = self.config["scaling"], self.config["self-loops"] == "yes"
        self.batch = int(self.config["batch"])


class Graph:
    """One graph of the set: what a batch concatenates, prepared once."""


class Graphs:
    def __init__(self, path, settings):
        with np.load(path) as file:
            array = {name: file[name] for name in file.files}
        n = int(array["num_nodes"])
        self.settings, self.classes = settings, int(array["num_classes"])
        edges, x = array["edges"], self.features_of(array, n)
        pointer, order = array.get("graph_ptr"), np.arange(n)
        if pointer is None:  # the nodes of a graph do not follow each other
            order = np.argsort(array["graph_of"], kind="stable")
            pointer = np.concatenate([[0], np.cumsum(np.bincount(array["graph_of"]))])
            place = np.empty(n, np.int64)
            place[order] = np.arange(n)
            edges, x = place[edges], x[order]
        row, column = self.entries(edges, n)
        self.features = x.shape[1]
        degree = np.bincount(row, minlength=n)
        offset = np.concatenate([[0], np.cumsum(degree)])
        self.graph = []
        for first, last in zip(pointer[:-1], pointer[1:]):
            graph, entries = Graph(), slice(offset[first], offset[last])
            graph.n, graph.count = int(last - first), int(offset[last] - offset[first])
            graph.x = torch.from_numpy(x[first:last].copy())
            graph.row = torch.from_numpy((row[entries] - first).astype(np.int32))
            graph.neighbour = torch.from_numpy((column[entries] - first).astype(np.int32))
            graph.choices = torch.from_numpy(degree[first:last].astype(np.float32))
            if settings.of_nodes:
                graph.label = torch.from_numpy(array["labels"][order[first:last]].astype(np.float32))
            self.graph.append(graph)
        if not settings.of_nodes:
            for graph, label in zip(self.graph, array["graph_label"]):
                graph.label = torch.tensor([int(label)])
        masks = [array[name + "_masks"][0] for name in ("train", "val", "test")]
        if settings.of_nodes:
            masks = [mask[order[pointer[:-1]]] for mask in masks]  # a graph's nodes are all in one part
        self.train = np.flatnonzero(masks[0])
        self.others = np.flatnonzero(masks[1] | masks[2])

    def entries(self, edges, n):
        """Rows and columns of A, or A + I; without neighbours a walk stays, so there is a loop too."""
        row = np.concatenate([edges[:, 0], edges[:, 1]])
        column = np.concatenate([edges[:, 1], edges[:, 0]])
        alone = np.bincount(row, minlength=n) == 0
        loops = np.arange(n) if self.settings.loops else np.flatnonzero(alone & (self.settings.scaling != "sum"))
        row, column = np.concatenate([row, loops]), np.concatenate([column, loops])
        order = np.lexsort((column, row))
        return row[order], column[order]

    def features_of(self, array, n):
        if "x" in array:
            return array["x"]
        start, value = array["x_indptr"], array["x_data"].astype(np.float64)
        row = np.repeat(np.arange(n), np.diff(start))
        if self.settings.config["normalise"] == "rows":
            value = value / np.bincount(row, weights=np.abs(value), minlength=n)[row]
        x = np.zeros(array["x_shape"], np.float32)
        x[row, array["x_indices"]] = value
        return x

    def batches(self):
        """For ever: all training graphs in a new order, in batches of nearly equal size."""
        steps = -(-len(self.train) // self.settings.batch)
        while True:
            order = self.train[torch.randperm(len(self.train)).numpy()]
            yield from np.array_split(order, steps)


class Batch:
    """Some graphs as one: arrays are concatenated, ids of nodes move up. Has what the versions ask of a `data`."""
    sparse = False
    sample = Data.sample

    def __init__(self, graphs, chosen):
        settings, part = graphs.settings, [graphs.graph[g] for g in chosen]
        sizes = torch.tensor([graph.n for graph in part])
        self.n, self.graphs = int(sizes.sum()), len(part)
        first = (sizes.cumsum(0) - sizes).int().repeat_interleave(torch.tensor([graph.count for graph in part]))
        self.neighbour = torch.cat([graph.neighbour for graph in part]).add_(first)
        self.row = torch.cat([graph.row for graph in part]).add_(first)
        self.choices = torch.cat([graph.choices for graph in part])
        self.offset = (self.choices.cumsum(0) - self.choices).int()
        self.x_dense = torch.cat([graph.x for graph in part])
        self.label = torch.cat([graph.label for graph in part])
        self.graph_of = torch.arange(self.graphs).repeat_interleave(sizes)
        self.scaling = settings.scaling
        self.root = self.choices.sqrt() if self.scaling == "symmetric" else None

    @property
    def value(self):
        if self.scaling == "sum":
            return torch.ones(len(self.row))
        inverse = 1 / (self.choices if self.root is None else self.root)
        value = inverse.index_select(0, self.row)
        return value if self.root is None else value * inverse.index_select(0, self.neighbour)

    def operator(self):
        index = torch.stack([self.row.long(), self.neighbour.long()])
        return torch.sparse_coo_tensor(index, self.value, (self.n, self.n))._coalesced_(True)


# ---- versions: path convolutions, and sums over neighbours ---------------------------------------------------------

class IndexVersion(Sparse):
    def sampled(self):
        n, paths, root = self.data.n, self.settings.paths, self.data.root
        hops = self.data.sample(paths, self.settings.length)

        def convolve(h, kernel):
            total, scaled = kernel[0] * h, h if root is None else h / root[:, None]
            for i, hop in enumerate(hops, 1):
                mean = scaled.index_select(0, hop).view(n, paths, -1).mean(1)
                total = total + kernel[i] * (mean if root is None else root[:, None] * mean)
            return total

        return convolve

    def neighbours(self):
        row, neighbour = self.data.row, self.data.neighbour
        return lambda h: torch.zeros_like(h).index_add(0, row, h.index_select(0, neighbour))


class SparseVersion(Sparse):
    def neighbours(self):
        return lambda h: torch.sparse.mm(self.coo, h)


class BestVersion(Best):
    def neighbours(self):
        lists = self.operator  # symmetric: its own transpose
        return lambda h: BagProduct.apply(h, lists, lambda: lists)


VERSIONS = {"index": IndexVersion, "sparse": SparseVersion, "best": BestVersion}


# ---- networks ------------------------------------------------------------------------------------------------------

def linear(channels, out):
    layer = torch.nn.Linear(channels, out)
    torch.nn.init.xavier_uniform_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    return layer


def load_linear(layer, tensor, name):
    layer.weight.copy_(tensor[name + "weight"].T)
    layer.bias.copy_(tensor[name + "bias"])


def load_norm(norm, tensor, name):
    for to, part in ((norm.weight, "gain"), (norm.bias, "shift"), (norm.running_mean, "mean"),
                     (norm.running_var, "variance")):
        to.copy_(tensor[f"{name}norm.{part}"])


def add_up(batch, h):
    return torch.zeros(batch.graphs, h.shape[1]).index_add(0, batch.graph_of, h)


class GraphNetwork(torch.nn.Module):
    def __init__(self, graphs, settings):
        super().__init__()
        self.settings, c = settings, settings.channels
        self.embed = linear(graphs.features, c)
        self.kernel = torch.nn.Parameter(torch.full((settings.layers, settings.length, c), 1 / settings.length))
        self.norm = torch.nn.ModuleList(torch.nn.BatchNorm1d(c) for _ in range(settings.layers))
        self.mix = torch.nn.ModuleList(linear(c, c) for _ in range(settings.layers))
        self.readout, self.classifier = linear(c, c), linear(c, graphs.classes)

    def groups(self):
        rate = self.settings.rate
        return [{"params": [self.kernel], "lr": rate["kernel"]},
                {"params": [*self.norm.parameters(), *self.mix.parameters()], "lr": rate["mix"]},
                {"params": [*self.embed.parameters(), *self.readout.parameters(), *self.classifier.parameters()],
                 "lr": rate["ends"]}]

    def forward(self, batch, version):
        convolve = version.sampled() if self.training else version.exact()
        h = F.relu(self.embed(batch.x_dense))
        for kernel, norm, mix in zip(self.kernel, self.norm, self.mix):
            h = F.relu(mix(norm(convolve(h, kernel))))
        h = F.relu(self.readout(add_up(batch, h)))
        return self.classifier(F.dropout(h, self.settings.dropout_last, self.training))

    def load(self, tensor):
        with torch.no_grad():
            load_linear(self.embed, tensor, "embed.")
            for layer in range(self.settings.layers):
                name = f"layers.{layer}."
                self.kernel[layer] = tensor[name + "kernel"]
                load_norm(self.norm[layer], tensor, name)
                load_linear(self.mix[layer], tensor, name)
            load_linear(self.readout, tensor, "readout.")
            load_linear(self.classifier, tensor, "classifier.")


class GIN(torch.nn.Module):
    def __init__(self, graphs, settings):
        super().__init__()
        self.settings, c, layers = settings, settings.channels, range(settings.layers)
        self.first = torch.nn.ModuleList(linear(c if layer else graphs.features, c) for layer in layers)
        self.first_norm = torch.nn.ModuleList(torch.nn.BatchNorm1d(c) for _ in layers)
        self.second = torch.nn.ModuleList(linear(c, c) for _ in layers)
        self.second_norm = torch.nn.ModuleList(torch.nn.BatchNorm1d(c) for _ in layers)
        self.classifier = torch.nn.ModuleList(linear(c if layer else graphs.features, graphs.classes)
                                              for layer in range(settings.layers + 1))

    def groups(self):
        ends = list(self.classifier.parameters())
        known = {id(tensor) for tensor in ends}
        return [{"params": ends, "lr": self.settings.rate["ends"]},
                {"params": [p for p in self.parameters() if id(p) not in known], "lr": self.settings.rate["mix"]}]

    def forward(self, batch, version):
        neighbours, h = version.neighbours(), batch.x_dense
        logits = self.part(batch, h, 0)
        for layer in range(self.settings.layers):
            h = F.relu(self.first_norm[layer](self.first[layer](h + neighbours(h))))
            h = F.relu(self.second_norm[layer](self.second[layer](h)))
            logits = logits + self.part(batch, h, layer + 1)
        return logits

    def part(self, batch, h, layer):
        return F.dropout(self.classifier[layer](add_up(batch, h)), self.settings.dropout_last, self.training)

    def load(self, tensor):
        with torch.no_grad():
            for layer in range(self.settings.layers):
                name = f"layers.{layer}."
                load_linear(self.first[layer], tensor, name + "inner.")
                load_norm(self.first_norm[layer], tensor, name + "inner.")
                load_linear(self.second[layer], tensor, name)
                load_norm(self.second_norm[layer], tensor, name)
            for layer in range(self.settings.layers + 1):
                load_linear(self.classifier[layer], tensor, f"classifier.{layer}.")


class NodeNetwork(PathGCN):
    def forward(self, batch, version):
        convolve = version.sampled() if self.training else version.exact()
        return super().forward(lambda weight: version.opening(weight, self.training), convolve, version.drop)


def network_of(graphs, settings):
    kind = NodeNetwork if settings.of_nodes else GIN if settings.gin else GraphNetwork
    return kind(graphs, settings)


def loss_of(logits, batch, of_nodes):
    if of_nodes:
        return F.binary_cross_entropy_with_logits(logits, batch.label, reduction="sum") / batch.n
    return F.cross_entropy(logits, batch.label)


# ---- timing and checking -------------------------------------------------------------------------------------------

def measure(name, graphs, settings, seconds):
    torch.manual_seed(1)
    network = network_of(graphs, settings).train()
    adam = torch.optim.Adam(network.groups(), foreach=True)
    batches, losses = graphs.batches(), []

    def step():
        batch = Batch(graphs, next(batches))
        loss = loss_of(network(batch, VERSIONS[name](batch, settings)), batch, settings.of_nodes)
        adam.zero_grad(set_to_none=True)
        loss.backward()
        adam.step()
        losses.append(loss.item())
        return batch.n / settings.line["step_nodes"]

    line = {"bench": "graphs", "who": "pytorch " + name, "case": settings.line["case"],
            "threads": torch.get_num_threads(), "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", ""),
            "torch": torch.__version__}

    def add(key, times):
        line[key + "_ms"], line[key + "_ms_min"] = times["median"], times["min"]

    times = time_ms(step, seconds)
    add("step", times)
    line["step_cpu_ms"] = times["cpu"]
    part = max(1, len(losses) // 4)
    first, last = np.mean(losses[:part]), np.mean(losses[-part:])
    if not last < first:
        sys.exit(f"{name}: the loss went from {first:.3f} to {last:.3f}; this is not training, so its time means nothing")
    line.update(loss_first=round(float(first), 4), loss_last=round(float(last), 4), steps=len(losses),
                peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    add("assembly", time_ms(lambda: Batch(graphs, next(batches)), seconds / 8))
    return line


def check(graphs, settings, model, logits):
    """Evaluation with pathgcn's weights gives pathgcn's logits of validation and test graphs, in every version."""
    wanted = torch.from_numpy(np.fromfile(logits, "<f4")).reshape(-1, graphs.classes)
    network = network_of(graphs, settings).eval()
    network.load(read_safetensors(model))
    worst = 0
    for name, kind in VERSIONS.items():
        found = []
        with torch.no_grad():
            for begin in range(0, len(graphs.others), settings.batch):
                batch = Batch(graphs, graphs.others[begin:begin + settings.batch])
                found.append(network(batch, kind(batch, settings)))
        difference = (torch.cat(found) - wanted).abs().max().item() / wanted.abs().max().item()
        if not difference <= TOLERANCE:
            sys.exit(f"{name}: the logits differ from pathgcn's by {difference:.2g} of the largest")
        worst = max(worst, difference)
    return {"bench": "graphs check", "case": settings.line["case"], "largest_difference": worst}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--version", choices=VERSIONS)
    parser.add_argument("--check", nargs=2, metavar=("MODEL", "LOGITS"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    settings = GraphSettings(options.settings)
    graphs = Graphs(options.data, settings)
    if options.check:
        print(json.dumps(check(graphs, settings, *options.check)))
    if options.version:
        print(json.dumps(measure(options.version, graphs, settings, options.seconds)), flush=True)


if __name__ == "__main__":
    main()
