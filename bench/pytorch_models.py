#!/usr/bin/python3
"""The network of `bench_model` in PyTorch: the yardstick of bench/model_speed.sh.

The same data (a .npz file that `pathgcn data convert` wrote), the same settings (the JSON line that bench_model
printed), the same mathematics. With d~ the degree plus one, and paths on which staying is one more choice of every
step, a training step is: fresh paths, forward, cross-entropy on the training nodes, backward, Adam with three groups.

    H0  = ReLU(Dropout(X) W_in + b_in)                        X: rows divided by their sum if sparse, else standardised
    A   = D~^1/2 sum_i s_i (.) mean_q (D~^-1/2 H)[path_q(i)]  depth-wise kernels s [k, c]
    H   = ReLU((0.9 A + 0.1 H0) (I + dW))                     L layers
    out = Dropout(H) W_out + b_out

Inference is the exact form: mean_q becomes the power T^i of T = D~^-1/2 A~ D~^-1/2, by Horner's rule.

Versions:
    plain   what one writes first: dense X, H[paths] of shape [n, p, k, c], COO matrices for inference
    sparse  what a careful user writes: X and the visits of each hop as sparse COO tensors, dropout on the values of X
    best    the fastest that was found: every sparse product is an embedding_bag with weights, and its backward pass is
            another one over the transposed lists (a torch.autograd.Function), which are made by a radix sort (NumPy's
            stable argsort of 16-bit keys: ten times faster than torch.argsort); dropout is decided by 16 bits. That
            is the algorithm of pathgcn, written in PyTorch.
            Slower were: COO and CSR products, also with transposed CSR backward; embedding_bag with autograd's own
            backward; all hops in one bag; index_select and sum.
    gcn     a usual two-layer GCN of the same width, for orientation: another network, without paths

    pytorch_models.py --data X.npz --settings LINE.json --version best [--threads 2] [--seconds 5]
    pytorch_models.py --data X.npz --settings LINE.json --check MODEL LOGITS   the exact form agrees with pathgcn's

Prints one JSON line; times in ms. The peak memory is that of this process, Python and PyTorch included.
"""
import argparse
import functools
import json
import os
import resource
import statistics
import struct
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

WARM_UP, LEAST_STEPS, MOST_STEPS = 3, 5, 400
TOLERANCE = 1e-4


class Settings:
    ALL = {"kernel": "depthwise", "walk": "uniform", "drop-rows": "0", "samples": "1", "resample-every": "1",
           "paths-per-layer": "no", "dropout-hidden": "0"}
    NODES = {**ALL, "residual": "initial", "scaling": "symmetric", "self-loops": "yes", "batch-norm": "no",
             "train-form": "sampled", "mix": "identity"}

    def __init__(self, path, expected):
        with open(path) as file:
            self.line = json.loads(file.readline())
        self.config = config = self.line["config"]
        for key, value in expected.items():
            if config[key] != value:
                sys.exit(f"{path}: {key} is {config[key]}; this script knows {value} only")
        self.read(config)

    def read(self, config):
        self.layers, self.channels = int(config["layers"]), int(config["channels"])
        self.length, self.paths = int(config["path-length"]), int(config["paths"])
        self.dropout, self.alpha = float(config["dropout"]), float(config["alpha"])
        self.drop_rows, self.hops = float(config["drop-rows"]), float(config["hops"])
        self.rate = {part: float(config["lr-" + part]) for part in ("ends", "mix", "kernel")}
        self.decay = {part: float(config["wd-" + part]) for part in ("ends", "mix", "kernel")}


class Data:
    def __init__(self, path, train_all):
        with np.load(path) as file:
            array = {name: file[name] for name in file.files}
        self.n = n = int(array["num_nodes"])
        self.classes = int(array["num_classes"])
        self.label = torch.from_numpy(array["y"].astype(np.int64))
        mask = array["train_masks"][0]
        self.train = torch.arange(n - 2) if train_all else torch.from_numpy(np.flatnonzero(mask))

        # Adjacency with self-loops as CSR: to stay is one of the d~ choices of a step.
        edges = array.pop("edges")
        edges = edges[edges[:, 0] != edges[:, 1]]
        loops = np.arange(n, dtype=edges.dtype)
        row = np.concatenate([edges[:, 0], edges[:, 1], loops])
        column = np.concatenate([edges[:, 1], edges[:, 0], loops])
        order = np.lexsort((column, row))
        row, column = row[order], column[order]
        degree = np.bincount(row, minlength=n)
        self.choices = torch.from_numpy(degree.astype(np.float32))
        self.offset = torch.from_numpy((np.cumsum(degree) - degree).astype(np.int32))
        self.neighbour = torch.from_numpy(column.astype(np.int32))
        self.root = self.choices.sqrt()
        self.row = row
        self.value = torch.from_numpy((1 / np.sqrt(degree[row] * degree[column].astype(np.float64))).astype(np.float32))
        self.read_features(array)

    def read_features(self, array):
        self.sparse = "x_indptr" in array
        if self.sparse:
            start, value = array["x_indptr"], array["x_data"].astype(np.float64)
            x_row = np.repeat(np.arange(self.n), np.diff(start))
            total = np.bincount(x_row, weights=np.abs(value), minlength=self.n)
            value = value / total[x_row]
            self.features = int(array["x_shape"][1])
            self.x_start, self.x_row = torch.from_numpy(start[:-1]), torch.from_numpy(x_row)
            self.x_column = torch.from_numpy(array["x_indices"].astype(np.int64))
            self.x_value = torch.from_numpy(value.astype(np.float32))
        else:
            x = torch.from_numpy(array["x"])
            train = x[self.train]
            deviation, mean = torch.std_mean(train, dim=0, unbiased=False)
            deviation[deviation <= 1e-6 * mean.abs()] = 1
            self.x_dense = (x - mean) / deviation
            self.features = x.shape[1]

    def x_coo(self, values):
        index = torch.stack([self.x_row, self.x_column])
        # _coalesced_: the indices are in order already, do not sort them again.
        return torch.sparse_coo_tensor(index, values, (self.n, self.features))._coalesced_(True)

    def operator(self):
        index = torch.stack([torch.from_numpy(self.row.astype(np.int64)), self.neighbour.long()])
        return torch.sparse_coo_tensor(index, self.value, (self.n, self.n))._coalesced_(True)

    def sample(self, paths, length):
        """length - 1 tensors [n p] of node ids: where the walks are after 1, 2, ... steps. int32 and index_select
        are the fastest; indexing of [n, p] tensors takes half as long again."""
        node = torch.arange(self.n, dtype=torch.int32).repeat_interleave(paths)
        random = torch.rand(length - 1, self.n * paths)
        hops = []
        for draw in random:
            choice = draw.mul_(self.choices.index_select(0, node)).int()
            node = self.neighbour.index_select(0, choice.add_(self.offset.index_select(0, node)))
            hops.append(node)
        return hops


def smooth_start(hops, length):
    """Weights proportional to (1 - a)^i that walk so many hops on average: uniform ones where these walk no more."""
    steps = np.arange(length)
    low, high = 0.0, 1.0
    if steps.mean() <= hops:
        return torch.full((length,), 1 / length)
    for _ in range(60):
        middle = (low + high) / 2
        weight = (1 - middle) ** steps
        low, high = (middle, high) if (weight * steps).sum() > hops * weight.sum() else (low, middle)
    weight = (1 - high) ** steps
    return torch.from_numpy((weight / weight.sum()).astype(np.float32))


class PathGCN(torch.nn.Module):
    def __init__(self, data, settings):
        super().__init__()
        self.settings = settings
        layers, length, channels = settings.layers, settings.length, settings.channels
        self.w_in = torch.nn.Parameter(torch.empty(data.features, channels))
        self.b_in = torch.nn.Parameter(torch.zeros(channels))
        self.w_out = torch.nn.Parameter(torch.empty(channels, data.classes))
        self.b_out = torch.nn.Parameter(torch.zeros(data.classes))
        torch.nn.init.xavier_uniform_(self.w_in)
        torch.nn.init.xavier_uniform_(self.w_out)
        # Both are kept as the difference to their start, so that weight decay pulls towards it.
        self.d_mix = torch.nn.Parameter(torch.zeros(layers, channels, channels))
        self.d_kernel = torch.nn.Parameter(torch.zeros(layers, length, channels))
        self.eye = torch.eye(channels)
        self.kernel_start = smooth_start(settings.hops / layers, length)[:, None]

    def groups(self):
        parts = {"ends": [self.w_in, self.b_in, self.w_out, self.b_out], "mix": [self.d_mix],
                 "kernel": [self.d_kernel]}
        return [{"params": tensors, "lr": self.settings.rate[part], "weight_decay": self.settings.decay[part]}
                for part, tensors in parts.items()]

    def forward(self, opening, convolve, drop=F.dropout):
        alpha = self.settings.alpha
        h0 = F.relu(opening(self.w_in) + self.b_in)
        if self.training and self.settings.drop_rows > 0:
            h0 = h0 * F.dropout(torch.ones(h0.shape[0], 1), self.settings.drop_rows)
        h = h0
        for layer in range(self.settings.layers):
            kernel = (1 - alpha) * (self.kernel_start + self.d_kernel[layer])
            u = torch.add(convolve(h, kernel), h0, alpha=alpha)
            h = F.relu(u @ (self.eye + self.d_mix[layer]))
        if self.training:
            h = drop(h, self.settings.dropout)
        return torch.addmm(self.b_out, h, self.w_out)

    def load(self, tensor):
        with torch.no_grad():
            self.w_in.copy_(tensor["embed.weight"])
            self.b_in.copy_(tensor["embed.bias"])
            self.w_out.copy_(tensor["classifier.weight"])
            self.b_out.copy_(tensor["classifier.bias"])
            for layer in range(self.settings.layers):
                self.d_mix[layer] = tensor[f"layers.{layer}.weight"] - self.eye
                self.d_kernel[layer] = tensor[f"layers.{layer}.kernel"] - self.kernel_start


def horner(product, length):
    def convolve(h, kernel):
        total = kernel[length - 1] * h
        for i in range(length - 2, -1, -1):
            total = product(total) + kernel[i] * h
        return total

    return convolve


def visit_weights(row, root, hop):
    """The value of each visit: `row`, that of its row, over the root of the degree of the node that is visited;
    roots are None where visits are not scaled."""
    return row if root is None else row / root.index_select(0, hop)


def row_weights(data, paths):
    if data.root is None:
        return torch.full((data.n * paths,), 1 / paths)
    return data.root.repeat_interleave(paths) / paths


class Plain:
    drop = staticmethod(F.dropout)

    def __init__(self, data, settings):
        self.data, self.settings = data, settings
        self.x = data.x_coo(data.x_value).to_dense() if data.sparse else data.x_dense

    @functools.cached_property
    def coo(self):
        return self.data.operator()

    def opening(self, weight, training):
        return F.dropout(self.x, self.settings.dropout, training) @ weight

    def sampled(self):
        n, paths, length = self.data.n, self.settings.paths, self.settings.length
        hops = [hop.view(n, paths).long() for hop in self.data.sample(paths, length)]
        start = torch.arange(n)[:, None].expand(n, paths)
        visited = torch.stack([start] + hops, dim=2)  # [n, p, k]
        root = self.data.root[:, None]

        def convolve(h, kernel):
            return root * (kernel * (h / root)[visited].mean(1)).sum(1)

        return convolve

    def exact(self):
        return horner(lambda x: torch.sparse.mm(self.coo, x), self.settings.length)


class Sparse(Plain):
    def __init__(self, data, settings):
        self.data, self.settings = data, settings
        self.row = torch.arange(data.n).repeat_interleave(settings.paths)
        self.root_row = row_weights(data, settings.paths)

    def opening(self, weight, training):
        if not self.data.sparse:
            return F.dropout(self.data.x_dense, self.settings.dropout, training) @ weight
        value = F.dropout(self.data.x_value, self.settings.dropout, training)
        return torch.sparse.mm(self.data.x_coo(value), weight)

    def sampled(self):
        n = self.data.n
        visits = []  # S_i with the degree scaling in its values: shared by the layers
        for hop in self.data.sample(self.settings.paths, self.settings.length):
            value = visit_weights(self.root_row, self.data.root, hop)
            index = torch.stack([self.row, hop.long()])
            visits.append(torch.sparse_coo_tensor(index, value, (n, n))._coalesced_(True))

        def convolve(h, kernel):
            total = kernel[0] * h
            for i, visit in enumerate(visits, 1):
                total = total + kernel[i] * torch.sparse.mm(visit, h)
            return total

        return convolve


def bag(lists, x):
    """sum of weight * x[index] over each list"""
    index, start, weight = lists
    return F.embedding_bag(index, x, start, mode="sum", per_sample_weights=weight)


def sorted_order(key):
    """Stable order of node ids, 16 bits at a time: NumPy sorts such keys by radix."""
    order = np.argsort(key.astype(np.uint16), kind="stable")
    if key.max(initial=0) >= 1 << 16:
        order = order[np.argsort((key[order] >> 16).astype(np.uint16), kind="stable")]
    return torch.from_numpy(order)


def drop_by_16_bits(x, rate):
    """Dropout decided by 16 random bits an element: six times as fast as F.dropout, which draws 64."""
    count = x.numel()
    words = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-1 << 63, None)
    keep = words.view(torch.int16)[:count].view_as(x) >= round(65536 * rate) - 32768
    return x * keep.mul(1 / (1 - rate))


class BagProduct(torch.autograd.Function):
    """y = A x, where the backward pass is a product with the transposed lists."""

    @staticmethod
    def forward(context, x, lists, transposed):
        context.transposed = transposed
        return bag(lists, x)

    @staticmethod
    def backward(context, g):
        return bag(context.transposed(), g), None, None


class BagConvolution(torch.autograd.Function):
    """y = sum_i s_i (.) S_i h; with q_i = S_i^T g: dh = sum_i s_i (.) q_i, ds_i = sum over nodes of h (.) q_i."""

    @staticmethod
    def forward(context, h, s, hops, hops_t):
        context.save_for_backward(h, s)
        context.hops_t = hops_t
        y = s[0] * h
        for i, lists in enumerate(hops, 1):
            y.addcmul_(bag(lists, h), s[i])
        return y

    @staticmethod
    def backward(context, g):
        h, s = context.saved_tensors
        dh, ds = s[0] * g, torch.empty_like(s)
        ds[0] = (h * g).sum(0)
        for i, lists in enumerate(context.hops_t, 1):
            q = bag(lists, g)
            dh.addcmul_(q, s[i])
            ds[i] = q.mul_(h).sum(0)
        return dh, ds, None, None


class Best:
    drop = staticmethod(drop_by_16_bits)

    def __init__(self, data, settings):
        self.data, self.settings = data, settings
        n, paths = data.n, settings.paths
        self.row = torch.arange(n, dtype=torch.int32).repeat_interleave(paths)
        self.root_row = row_weights(data, paths)
        self.start = torch.arange(0, n * paths, paths, dtype=torch.int32)
        if data.sparse:
            self.x_order = sorted_order(data.x_column.numpy())
            self.x_row_t = data.x_row.index_select(0, self.x_order)
            count = torch.bincount(data.x_column, minlength=data.features)
            self.x_start_t = count.cumsum(0) - count

    @functools.cached_property
    def operator(self):
        return self.data.neighbour, self.data.offset, self.data.value

    def opening(self, weight, training):
        data, rate = self.data, self.settings.dropout
        if not data.sparse:
            return (self.drop(data.x_dense, rate) if training else data.x_dense) @ weight
        value = self.drop(data.x_value, rate) if training else data.x_value
        return BagProduct.apply(weight, (data.x_column, data.x_start, value),
                                lambda: (self.x_row_t, self.x_start_t, value.index_select(0, self.x_order)))

    def sampled(self):
        hops, hops_t = [], []
        for hop in self.data.sample(self.settings.paths, self.settings.length):
            weight = visit_weights(self.root_row, self.data.root, hop)
            hops.append((hop, self.start, weight))
            if torch.is_grad_enabled():
                order = sorted_order(hop.numpy())
                count = torch.bincount(hop, minlength=self.data.n)
                start = (count.cumsum(0) - count).int()
                hops_t.append((self.row.index_select(0, order), start, weight.index_select(0, order)))
        return lambda h, kernel: BagConvolution.apply(h, kernel, hops, hops_t)

    def exact(self):
        return horner(lambda x: bag(self.operator, x), self.settings.length)


class GCN(torch.nn.Module):
    """softmax(T ReLU(T X W_1) W_2) of Kipf and Welling, same width, with the opening of Best."""

    def __init__(self, data, settings):
        super().__init__()
        self.best, self.settings = Best(data, settings), settings
        self.w_1 = torch.nn.Parameter(torch.empty(data.features, settings.channels))
        self.w_2 = torch.nn.Parameter(torch.empty(settings.channels, data.classes))
        torch.nn.init.xavier_uniform_(self.w_1)
        torch.nn.init.xavier_uniform_(self.w_2)

    def groups(self):
        return [{"params": [self.w_1], "lr": 1e-2, "weight_decay": 5e-4},
                {"params": [self.w_2], "lr": 1e-2, "weight_decay": 0}]

    def forward(self):
        t = self.best.operator  # symmetric: its own transpose
        h = F.relu(BagProduct.apply(self.best.opening(self.w_1, self.training), t, lambda: t))
        if self.training:
            h = drop_by_16_bits(h, self.settings.dropout)
        return BagProduct.apply(h @ self.w_2, t, lambda: t)


VERSIONS = {"plain": Plain, "sparse": Sparse, "best": Best}


def time_ms(run, seconds):
    """Medians and least times of a call; divided by what it returns, if that is a number: the size of its work."""
    begin = time.perf_counter()
    for _ in range(WARM_UP):
        if time.perf_counter() < begin + seconds:
            run()
    times, cpu, end = [], [], time.perf_counter() + seconds
    while len(times) < MOST_STEPS and (len(times) < LEAST_STEPS or time.perf_counter() < end):
        begin, cpu_begin = time.perf_counter(), time.process_time()
        size = run()
        if not isinstance(size, float):
            size = 1
        times.append(1e3 * (time.perf_counter() - begin) / size)
        cpu.append(1e3 * (time.process_time() - cpu_begin) / size)
    return {"median": round(statistics.median(times), 4), "min": round(min(times), 4),
            "cpu": round(statistics.median(cpu), 4)}


def measure(name, data, settings, seconds):
    torch.manual_seed(1)
    if name == "gcn":
        network = GCN(data, settings)
        forward = {"train": network, "exact": network}
    else:
        version, network = VERSIONS[name](data, settings), PathGCN(data, settings)
        forward = {"train": lambda: network(lambda w: version.opening(w, True), version.sampled(), version.drop),
                   "exact": lambda: network(lambda w: version.opening(w, False), version.exact()),
                   "sampled": lambda: network(lambda w: version.opening(w, False), version.sampled())}
    adam = torch.optim.Adam(network.groups(), foreach=True)
    losses = []

    def step():
        network.train()
        logits = forward["train"]()
        loss = F.cross_entropy(logits[data.train], data.label[data.train])
        adam.zero_grad(set_to_none=True)
        loss.backward()
        adam.step()
        losses.append(loss.item())

    def infer(form):
        network.eval()
        with torch.no_grad():
            return F.softmax(forward[form](), dim=1)

    line = {"bench": "model", "who": "pytorch " + name, "threads": torch.get_num_threads(),
            "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", ""), "torch": torch.__version__}

    def add(key, times):
        line[key + "_ms"], line[key + "_ms_min"] = times["median"], times["min"]

    add("step", time_ms(step, seconds))
    if not losses[-1] < losses[0]:
        sys.exit(f"{name}: the loss went from {losses[0]:.3f} to {losses[-1]:.3f}; this is not training, so its time "
                 "means nothing")
    line.update(loss_first=round(losses[0], 4), loss_last=round(losses[-1], 4),
                peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    add("inference", time_ms(lambda: infer("exact"), seconds / 4))
    if name != "gcn":
        line["inference_sampled_ms"] = time_ms(lambda: infer("sampled"), seconds / 4)["median"]
        add("walks", time_ms(lambda: data.sample(settings.paths, settings.length), seconds / 4))
    return line


def read_safetensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        content = file.read()
    header.pop("__metadata__")
    return {name: torch.from_numpy(np.frombuffer(content[slice(*entry["data_offsets"])], "<f4").copy())
            .reshape(entry["shape"]) for name, entry in header.items()}


def check(data, settings, model, logits):
    """The exact form with pathgcn's weights gives pathgcn's logits, in every version."""
    wanted = torch.from_numpy(np.fromfile(logits, "<f4")).reshape(data.n, data.classes)
    network = PathGCN(data, settings).eval()
    network.load(read_safetensors(model))
    worst = 0
    for name, kind in VERSIONS.items():
        version = kind(data, settings)
        with torch.no_grad():
            found = network(lambda w: version.opening(w, False), version.exact())
        difference = (found - wanted).abs().max().item() / wanted.abs().max().item()
        if not difference <= TOLERANCE:
            sys.exit(f"{name}: the logits differ from pathgcn's by {difference:.2g} of the largest")
        worst = max(worst, difference)
    return {"bench": "model check", "case": settings.line["case"], "largest_difference": worst}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--version", choices=[*VERSIONS, "gcn"])
    parser.add_argument("--check", nargs=2, metavar=("MODEL", "LOGITS"))
    parser.add_argument("--train-all", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    settings, data = Settings(options.settings, Settings.NODES), Data(options.data, options.train_all)
    if options.check:
        print(json.dumps(check(data, settings, *options.check)))
    if options.version:
        line = measure(options.version, data, settings, options.seconds)
        line["case"] = settings.line["case"]
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
