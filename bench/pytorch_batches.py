#!/usr/bin/python3
"""Batches of nodes of one large graph in PyTorch, beside ours in turns: the work horse of bench/batches.sh.

A step takes N training nodes, draws what they need of the graph, layer by layer, and makes one update: sampling,
forward, cross-entropy, backward, Adam. No evaluation. Both sides have the same data, N, layers, channels, features,
rates of dropout and threads. Sampling is timed by itself, too.

    pathgcn   H0 = ReLU(Dropout(X) W + b) of the last level's rows; L layers ReLU((0.9 A + 0.1 H0) (I + dW)) with
              A = D~^1/2 sum_i s_i (.) mean_q (D~^-1/2 H)[path_q(i)]; Dropout, 1x1. Paths of a node are the same in all
              layers of a step. Random walks by indexing of the CSR arrays.
        plain    H[paths], mean, product with the kernel: what one writes first; autograd's own backward
        bag      an embedding_bag per hop; its backward is another one over transposed lists (a radix sort)
        csr      the visits of a hop as a torch CSR matrix, its transpose made by the same sort for the backward
    sage      PyTorch Geometric's SAGEConv, each layer only for the rows that it is needed for (bipartite)
        index    edge_index
        csr      the adjacency of a level as a torch CSR matrix
        loader   NeighborLoader's batches, where pyg-lib or torch-sparse is there
    ... compiled: the network through torch.compile (dynamic shapes)

Rows get their numbers by an array with an entry for every node, not by torch.unique, which sorts.
Neighbours are drawn without replacement: Floyd's algorithm on all rows at once. Dropout is decided by 16 bits an
element (pytorch_models.py): F.dropout takes six times as long.

    pytorch_batches.py --prepare DATA.npz FOLDER           the arrays as .npy files, once
    pytorch_batches.py FOLDER CASE --bench BENCH_MODEL --data DATA.pgcn [--forms ...] [--threads 2] [--turns 3]
                       [--seconds 4] --settings KEY=VALUE...
    pytorch_batches.py ... --memory FORM                   some steps of one form, and the memory they take

Before anything is timed, loss and gradients of all forms of a network on one batch are compared. Prints JSON lines.
"""
import argparse
import json
import os
import subprocess
import sys

import numpy as np
import torch
import torch.nn.functional as F

import pytorch_models
from pytorch_models import PathGCN, bag, drop_by_16_bits, sorted_order, time_ms

FORMS = {"pathgcn": ("plain", "bag", "csr", "bag compiled"), "sage": ("index", "csr", "loader", "csr compiled")}
TOLERANCE = 1e-4


def prepare(source, folder):
    """CSR with self-loops (paths) and without (sage) from the .npz, and standardised features."""
    import scipy.sparse
    with np.load(source) as file:
        n, edges = int(file["num_nodes"]), file["edges"]
        edges = edges[edges[:, 0] != edges[:, 1]]
        row = np.concatenate([edges[:, 0], edges[:, 1]]).astype(np.int32)
        column = np.concatenate([edges[:, 1], edges[:, 0]]).astype(np.int32)
        del edges
        graph = scipy.sparse.coo_matrix((np.ones(len(row), np.int8), (row, column)), (n, n)).tocsr()
        del row, column
        graph.sort_indices()
        np.save(folder + "/offset.npy", graph.indptr.astype(np.int64))
        np.save(folder + "/neighbour.npy", graph.indices.astype(np.int32))
        label, train = file["y"].astype(np.int64), np.flatnonzero(file["train_masks"][0])
        np.save(folder + "/label.npy", label)
        np.save(folder + "/train.npy", train)
        x = file["x"]
        mean, deviation = x[train].mean(0, dtype=np.float64), x[train].std(0, dtype=np.float64)
        deviation[deviation <= 1e-6 * np.abs(mean)] = 1
        np.save(folder + "/x.npy", ((x - mean.astype(np.float32)) / deviation.astype(np.float32)).astype(np.float32))
        with open(folder + "/classes.json", "w") as out:
            json.dump({"classes": int(file["num_classes"])}, out)


class Data:
    def __init__(self, folder):
        def array(name):
            return torch.from_numpy(np.load(f"{folder}/{name}.npy"))
        self.offset, self.neighbour = array("offset"), array("neighbour")
        self.label, self.train, self.x = array("label"), array("train"), array("x")
        self.n, self.features = self.x.shape
        with open(folder + "/classes.json") as file:
            self.classes = json.load(file)["classes"]
        self.degree = self.offset[1:] - self.offset[:-1]
        self.root = (self.degree + 1).float().sqrt()  # with the self-loop
        self.place = torch.zeros(self.n, dtype=torch.int32)
        self.seen = torch.zeros(self.n, dtype=torch.bool)
        self.order, self.at = None, 0

    def batch(self, count):
        """The next training nodes of a shuffled pass, cut evenly."""
        steps = -(-len(self.train) // count)
        if self.order is None or self.at == steps:
            self.order, self.at = self.train[torch.randperm(len(self.train))], 0
        begin, end = (len(self.train) * i // steps for i in (self.at, self.at + 1))
        self.at += 1
        return self.order[begin:end].int()

    def number(self, nodes, visited):
        """`nodes` and those visited that are not among them; places of `visited`."""
        self.seen.index_fill_(0, visited.long(), True)  # takes 64-bit indices only
        self.seen.index_fill_(0, nodes.long(), False)
        fresh = self.seen.nonzero().view(-1)
        self.seen.index_fill_(0, fresh, False)
        found = torch.cat([nodes, fresh.int()])
        self.place.index_copy_(0, found.long(), torch.arange(len(found), dtype=torch.int32))
        return found, self.place.index_select(0, visited)

    def walks(self, nodes, paths, length):
        """[length - 1, nodes, paths] where walks are after 1, 2, ... steps; to stay is one more choice."""
        at = nodes.repeat_interleave(paths)
        random = torch.rand(length - 1, len(at), dtype=torch.float64)
        hops = []
        for draw in random:
            degree = self.degree.index_select(0, at)
            choice = draw.mul_(degree + 1).long()
            stays = choice == degree
            edge = self.offset.index_select(0, at).add_(choice).masked_fill_(stays, 0)
            at = torch.where(stays, at, self.neighbour.index_select(0, edge))
            hops.append(at)
        return torch.stack(hops).view(length - 1, len(nodes), paths)

    def neighbours(self, nodes, most):
        """Rows and columns of at most `most` neighbours of each node, without replacement (Floyd)."""
        degree, start = self.degree.index_select(0, nodes), self.offset.index_select(0, nodes)
        many = (degree > most).nonzero().view(-1)
        few = (degree <= most).nonzero().view(-1)
        d = degree.index_select(0, many)
        chosen = torch.empty(most, len(many), dtype=torch.int64)
        random = torch.rand(most, len(many), dtype=torch.float64)
        for i in range(most):
            last = d - most + i
            pick = random[i].mul_(last + 1).long()
            if i > 0:
                pick = torch.where((chosen[:i] == pick).any(0), last, pick)
            chosen[i] = pick
        count = degree.index_select(0, few)
        within = torch.arange(int(count.sum())) - (count.cumsum(0) - count).repeat_interleave(count)
        edge = torch.cat([(chosen + start.index_select(0, many)).t().reshape(-1),
                          within + start.index_select(0, few).repeat_interleave(count)])
        row = torch.cat([many.repeat_interleave(most), few.repeat_interleave(count)])
        return row, self.neighbour.index_select(0, edge), torch.where(degree < most, degree, most)


# ---- path layers ----------------------------------------------------------------------------------------------------

class CsrConvolution(torch.autograd.Function):
    """y = s_0 (.) h[:rows] + sum_i s_i (.) S_i h, as pytorch_models.BagConvolution, for lists of fewer rows."""

    @staticmethod
    def forward(context, h, s, rows, hops, hops_t, product):
        context.save_for_backward(h, s)
        context.rest = rows, hops_t, product
        y = s[0] * h[:rows]
        for i, lists in enumerate(hops, 1):
            y.addcmul_(product(lists, h), s[i])
        return y

    @staticmethod
    def backward(context, g):
        h, s = context.saved_tensors
        rows, hops_t, product = context.rest
        g = g.contiguous()
        dh, ds = torch.zeros_like(h), torch.empty_like(s)
        dh[:rows] = s[0] * g
        ds[0] = (h[:rows] * g).sum(0)
        for i, lists in enumerate(hops_t, 1):
            q = product(lists, g)
            dh.addcmul_(q, s[i])
            ds[i] = q.mul_(h).sum(0)
        return dh, ds, None, None, None, None


class Paths:
    def __init__(self, data, config, form):
        self.data, self.form = data, form.split()[0]
        settings = pytorch_models.Settings.__new__(pytorch_models.Settings)
        settings.read(config)
        self.settings, self.network = settings, PathGCN(data, settings)
        self.groups = self.network.groups()

    def sample(self, nodes):
        """Rows of the last level, and for each level the places that its rows visit [hops, rows, paths]."""
        data, s, levels = self.data, self.settings, []
        first, walks, known = nodes, None, 0
        for _ in range(s.layers):
            fresh = data.walks(nodes[known:], s.paths, s.length)
            walks = fresh if walks is None else torch.cat([walks, fresh], 1)
            known = len(nodes)
            nodes, place = data.number(nodes, walks.reshape(-1))
            levels.append((known, place.view(walks.shape), len(nodes)))
        root = data.root.index_select(0, nodes)
        return first, nodes, root, [self.lists(*level, root) for level in levels]

    def lists(self, rows, place, columns, root):
        if self.form == "plain":
            return rows, place.permute(1, 2, 0).long(), None
        paths, hops, hops_t = place.shape[2], [], []
        row = torch.arange(rows, dtype=torch.int32).repeat_interleave(paths)
        start = torch.arange(0, rows * paths + 1, paths, dtype=torch.int32)
        scale = root[:rows].repeat_interleave(paths) / paths
        for hop in place.view(len(place), -1):
            weight = scale / root.index_select(0, hop)
            order = sorted_order(hop.numpy())
            begin = torch.zeros(columns + 1, dtype=torch.int32)
            begin[1:] = torch.bincount(hop, minlength=columns).cumsum(0)
            turned = row.index_select(0, order), begin, weight.index_select(0, order)
            if self.form == "bag":
                hops.append((hop, start[:-1], weight))
                hops_t.append((turned[0], begin[:-1], turned[2]))
            else:
                hops.append(torch.sparse_csr_tensor(start, hop, weight, (rows, columns), check_invariants=False))
                hops_t.append(torch.sparse_csr_tensor(begin, turned[0], turned[2], (columns, rows),
                                                      check_invariants=False))
        return rows, hops, hops_t

    def convolve(self, h, kernel, root, level):
        rows, hops, hops_t = level
        if self.form == "plain":
            scaled = h / root[:len(h), None]
            y = (kernel[1:] * scaled[hops].mean(1)).sum(1) * root[:rows, None]
            return y + kernel[0] * h[:rows]
        product = bag if self.form == "bag" else torch.sparse.mm
        return CsrConvolution.apply(h, kernel, rows, hops, hops_t, product)

    def __call__(self, batch, drop):
        first, nodes, root, levels = batch
        net, alpha = self.network, self.settings.alpha
        x = drop(self.data.x.index_select(0, nodes), self.settings.dropout)
        h0 = h = F.relu(torch.addmm(net.b_in, x, net.w_in))
        for layer, level in enumerate(reversed(levels)):
            kernel = (1 - alpha) * (net.kernel_start + net.d_kernel[layer])
            u = torch.add(self.convolve(h, kernel, root, level), h0[:level[0]], alpha=alpha)
            h = F.relu(u @ (net.eye + net.d_mix[layer]))
        logits = torch.addmm(net.b_out, drop(h, self.settings.dropout), net.w_out)
        return F.cross_entropy(logits, self.data.label.index_select(0, first))


# ---- SAGE -----------------------------------------------------------------------------------------------------------

class Sage:
    def __init__(self, data, config, form):
        import torch_geometric.nn as pyg
        self.data, self.form, self.config = data, form.split()[0], config
        layers, c = int(config["layers"]), int(config["channels"])
        self.rate, self.hidden = float(config["dropout"]), float(config["dropout-hidden"])
        self.most = [int(number) for number in config["neighbours"].split(",")]
        self.most += [self.most[-1]] * (layers - len(self.most))
        self.convs = torch.nn.ModuleList(pyg.SAGEConv(data.features if l == 0 else c, c) for l in range(layers))
        self.last = torch.nn.Linear(c, data.classes)
        self.network = torch.nn.ModuleList([self.convs, self.last])
        mix = [tensor for conv in self.convs[1:] for tensor in conv.parameters()]
        ends = [*self.convs[0].parameters(), *self.last.parameters()]
        self.groups = [{"params": tensors, "lr": float(config["lr-" + part]),
                        "weight_decay": float(config["wd-" + part])}
                       for part, tensors in (("ends", ends), ("mix", mix))]
        self.loader = None

    def sample(self, nodes):
        if self.form == "loader":
            return self.loaded()
        data, first, levels = self.data, nodes, []
        for most in self.most:
            rows = len(nodes)
            row, column, count = data.neighbours(nodes, most)
            nodes, place = data.number(nodes, column)
            levels.append((rows, row, place, count, len(nodes)))
        return first, nodes, [self.level(*level) for level in levels]

    def level(self, rows, row, column, count, columns):
        if self.form == "index":
            return rows, torch.stack([column.long(), row])
        # rows in order: those with many neighbours were drawn apart from the others
        order = sorted_order(row.numpy())
        start = torch.zeros(rows + 1, dtype=torch.int64)
        start[1:] = count.cumsum(0)
        return rows, torch.sparse_csr_tensor(start, column.index_select(0, order).long(), torch.ones(len(column)),
                                             (rows, columns), check_invariants=False)

    def loaded(self):
        """A batch of NeighborLoader: nodes in the order of hops, edges of all hops; trimmed layer by layer."""
        import torch_geometric
        if self.loader is None:
            data = self.data
            row = torch.arange(data.n).repeat_interleave(data.degree)
            graph = torch_geometric.data.Data(edge_index=torch.stack([data.neighbour.long(), row]), num_nodes=data.n)
            self.loader = torch_geometric.loader.NeighborLoader(
                graph, num_neighbors=self.most, input_nodes=data.train, batch_size=int(self.config["batch"]),
                shuffle=True, is_sorted=True)
            self.iterator = iter(self.loader)
        try:
            batch = next(self.iterator)
        except StopIteration:
            self.iterator = iter(self.loader)
            batch = next(self.iterator)
        nodes, edges = batch.num_sampled_nodes, batch.num_sampled_edges
        rows, levels = 0, []
        for hop in range(len(self.most)):
            rows += nodes[hop]
            levels.append((rows, batch.edge_index[:, :sum(edges[:hop + 1])]))
        return batch.input_id, batch.n_id, levels

    def __call__(self, batch, drop):
        first, nodes, levels = batch
        h = drop(self.data.x.index_select(0, nodes), self.rate)
        label = self.data.label.index_select(0, first)
        for conv, (rows, links) in zip(self.convs, reversed(levels)):
            h = drop(F.relu(conv((h, h[:rows]), links)), self.rate if conv is self.convs[-1] else self.hidden)
        return F.cross_entropy(self.last(h), label)


# ---- measuring ------------------------------------------------------------------------------------------------------

def resident(key):
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(key))


class Bench:
    def __init__(self, options):
        self.options, self.folder = options, options.folder

    def ours(self, threads, seconds=None):
        command = [self.options.bench, self.options.data, "--bench", "batches", "--case", self.options.case,
                   "--seconds", str(seconds or self.options.seconds), "steps=1", f"threads={threads}",
                   *self.options.settings]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(run.stderr)
        return json.loads(run.stdout)

    def say(self, **line):
        print(json.dumps({"bench": "batches", "case": self.options.case, "torch": torch.__version__, **line}),
              flush=True)

    def network(self, form, data=None):
        torch.manual_seed(1)
        make = Sage if self.config["model"] == "sage" else Paths
        return make(data or self.data, self.config, form)

    def compare(self):
        """Loss and gradients of a batch without dropout, the same draw in all forms."""
        found = {}
        for form in self.options.forms:
            if form.split()[0] == "loader" or form.endswith("compiled"):
                continue
            network = self.network(form)
            torch.manual_seed(2)
            loss = network(network.sample(self.data.train[:256].int()), lambda x, rate: x)
            loss.backward()
            grads = torch.cat([p.grad.view(-1) for p in network.network.parameters()])
            found[form] = loss.item(), grads
        (first, (loss, grads)), *others = found.items()
        for form, (other, other_grads) in others:
            difference = max(abs(loss - other) / loss, ((grads - other_grads).abs().max() / grads.abs().max()).item())
            if not difference <= TOLERANCE:
                sys.exit(f"{form} and {first} differ by {difference:.2g}")

    def measure(self, form, threads):
        network = self.network(form)
        run = torch.compile(network.__call__, dynamic=True) if form.endswith("compiled") else network
        adam = torch.optim.Adam(network.groups, foreach=True)
        count, losses, rows = int(self.config["batch"]), [], []

        def sample():
            batch = network.sample(self.data.batch(count))
            rows.append(len(batch[1]))
            return batch

        def step():
            loss = run(sample(), drop_by_16_bits)
            adam.zero_grad(set_to_none=True)
            loss.backward()
            adam.step()
            losses.append(loss.item())

        step()
        steps = time_ms(step, self.options.seconds)
        samples = time_ms(lambda: sample() and None, self.options.seconds / 2)
        return {"who": form, "threads": threads, "rows": sum(rows) / len(rows), "steps": len(losses),
                "loss_first": losses[0], "loss_last": losses[-1], "step_ms": steps["median"],
                "step_ms_min": steps["min"], "step_cpu_ms": steps["cpu"], "sampling_ms": samples["median"],
                "sampling_ms_min": samples["min"], "sampling_cpu_ms": samples["cpu"]}

    def turns(self):
        first = self.ours(self.options.threads, seconds=0.5)
        self.config, self.data = first["config"], Data(self.folder)
        self.options.forms = self.options.forms or FORMS["sage" if self.config["model"] == "sage" else "pathgcn"]
        torch.set_num_threads(self.options.threads)
        self.compare()
        failed = set()
        for _ in range(self.options.turns):
            for form in self.options.forms:
                if form in failed:
                    continue
                print(json.dumps(self.ours(self.options.threads)), flush=True)
                try:
                    self.say(**self.measure(form, self.options.threads))
                except Exception as error:  # a form that does not work here is told, and the others are measured
                    failed.add(form)
                    self.say(who=form, failed=f"{type(error).__name__}: {error}".splitlines()[0][:200])

    def memory(self):
        """The peak of this process, and what of it the steps take beyond Python, PyTorch and the data."""
        self.config = self.ours(self.options.threads, seconds=0.5)["config"]
        torch.set_num_threads(self.options.threads)
        self.data = Data(self.folder)
        if self.options.memory == "loader":
            self.network("loader").sample(None)
        before = resident("VmRSS")
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak begins anew
        self.measure(self.options.memory, self.options.threads)
        peak = resident("VmHWM")
        self.say(bench="batches memory", who=self.options.memory, threads=self.options.threads, loaded_bytes=before,
                 peak_bytes=peak)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("case", nargs="?")
    parser.add_argument("--prepare", metavar="DATA.npz")
    parser.add_argument("--bench")
    parser.add_argument("--data")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--forms", nargs="+")
    parser.add_argument("--memory", metavar="FORM")
    parser.add_argument("--settings", nargs="+", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    if options.prepare:
        return prepare(options.prepare, options.folder)
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(options.folder, "inductor"))
    pytorch_models.WARM_UP, pytorch_models.LEAST_STEPS = 1, 3
    bench = Bench(options)
    bench.memory() if options.memory else bench.turns()


if __name__ == "__main__":
    main()
