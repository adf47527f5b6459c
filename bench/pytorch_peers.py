#!/usr/bin/python3
"""A network of pathgcn beside the same one of PyTorch Geometric's layers, in turns: the work horse of bench/peers.sh.

The same data (.pgcn for us, .npz for PyTorch, both written by `pathgcn data convert`), the same dropout, whole training
steps (forward, cross-entropy on the training nodes, backward, Adam; no evaluation) and inference with softmax. Before
anything is timed, the logits of every form with our weights are compared with ours.

Forms of PyTorch Geometric:
    index     what one writes first: edge_index, dense features, layers with their defaults
    csr       what its manual advises: the adjacency as a torch CSR matrix, normalised once; SGConv with cached=True
    csr+x     the same, and the first layer's features as a CSR matrix too, with dropout on its values; where features
              are sparse and the first layer is a product (not sage, sgc)
GATConv has nothing to normalise: its self-loops are put in at every step in the form index, and once in the others. It
drops features and attention, not the transformed features: the setting dropout-values must be 0.
    ... compiled    the same through torch.compile

    pytorch_peers.py FOLDER CASE --bench BENCH_MODEL [--threads 1 2] [--seconds 2] [--forms ...] KEY=VALUE...
    pytorch_peers.py ... --memory FORM     some steps of one form alone, and the memory they take

FOLDER holds data.pgcn and data.npz. Prints a JSON line per run. Our own runs come before each form.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings

import torch
import torch.nn.functional as F
import torch_geometric
import torch_geometric.nn as pyg

import pytorch_models
from pytorch_models import Data, TOLERANCE, read_safetensors, time_ms

FORMS = ("index", "csr", "csr+x", "index compiled", "csr compiled")
warnings.filterwarnings("ignore", message=".*[Ss]parse.*")


class SparseLinear(torch.nn.Linear):
    """Of a CSR matrix; dropout is on its values."""

    def forward(self, x):
        y = torch.sparse.mm(x, self.weight.t())
        return y if self.bias is None else y + self.bias


class Network(torch.nn.Module):
    """The layers of one network, in one form. `sources` says which of our tensors each parameter is."""

    def __init__(self, data, config, form):
        super().__init__()
        self.data, self.model = data, config["model"]
        self.dropout = float(config["dropout"])
        self.layers, c, alpha = int(config["layers"]), int(config["channels"]), float(config["alpha"])
        f, classes = data.features, data.classes
        self.sparse_x = form == "csr+x"
        index = form.startswith("index")
        once = {} if index else {"normalize": False}
        bias = config.get("bias", "yes") == "yes"
        self.edges = self.adjacency(index)
        self.x = self.features()
        if self.model == "gcn":
            sizes = [f] + [c] * (self.layers - 1) + [classes]
            self.convs = torch.nn.ModuleList(pyg.GCNConv(a, b, bias=bias, **once) for a, b in zip(sizes, sizes[1:]))
            if self.sparse_x:
                self.convs[0].lin = SparseLinear(f, c, bias=False)
        elif self.model == "gat":
            self.convs = self.attention(config, index, bias)
        elif self.model == "sage":
            self.convs = torch.nn.ModuleList(pyg.SAGEConv(f if l == 0 else c, c, bias=bias) for l in range(self.layers))
            self.last = torch.nn.Linear(c, classes)
        elif self.model == "sgc":
            self.conv = pyg.SGConv(f, classes, int(config["powers"]), cached=not index, bias=bias)
            if not index:  # SGConv normalises itself, once
                self.edges = self.adjacency(True)
        elif self.model == "appnp":
            self.first, self.last = self.linear(f, c, bias), torch.nn.Linear(c, classes, bias)
            self.conv = pyg.APPNP(int(config["powers"]), alpha, **once)
        elif self.model == "gcnii":
            self.first, self.last = self.linear(f, c, True), torch.nn.Linear(c, classes)
            self.convs = torch.nn.ModuleList(
                pyg.GCN2Conv(c, alpha, float(config["lambda"]), l + 1, **once) for l in range(self.layers))
        else:
            sys.exit(f"PyTorch Geometric has no {self.model}")

    def attention(self, config, index, bias):
        if float(config["dropout-values"]) != 0:
            sys.exit("GATConv does not drop transformed features: dropout-values must be 0")
        c, heads, options = int(config["channels"]), int(config["heads"]), {
            "dropout": float(config["dropout-attention"]), "add_self_loops": index, "bias": bias}
        sizes = [self.data.features] + [c] * (self.layers - 1)
        convs = torch.nn.ModuleList(pyg.GATConv(size, c // heads, heads, **options) for size in sizes[:-1])
        convs.append(pyg.GATConv(sizes[-1], self.data.classes, int(config["heads-last"]), concat=False, **options))
        if self.sparse_x:
            convs[0].lin = SparseLinear(self.data.features, c, bias=False)
        return convs

    def linear(self, a, b, bias):
        return SparseLinear(a, b, bias) if self.sparse_x else torch.nn.Linear(a, b, bias)

    def adjacency(self, index):
        data = self.data
        row, column = torch.from_numpy(data.row).long(), data.neighbour.long()
        links = row != column
        if index:
            return torch.stack([column[links], row[links]])
        if self.model == "sage":
            row, column, value = row[links], column[links], torch.ones(int(links.sum()))
        else:
            value = data.value
        offset = torch.zeros(data.n + 1, dtype=torch.int64)
        offset[1:] = torch.bincount(row, minlength=data.n).cumsum(0)
        return torch.sparse_csr_tensor(offset, column, value, (data.n, data.n))

    def features(self):
        data = self.data
        if not data.sparse:
            return data.x_dense
        x = data.x_coo(data.x_value)
        return x.to_sparse_csr() if self.sparse_x else x.to_dense()

    def drop(self, x):
        if x.layout == torch.sparse_csr:
            return torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(),
                                           F.dropout(x.values(), self.dropout, self.training), x.shape)
        return F.dropout(x, self.dropout, self.training)

    def forward(self):
        h = self.drop(self.x)
        if self.model == "sgc":
            return self.conv(self.x, self.edges)
        if self.model == "appnp":
            return self.conv(self.last(self.drop(F.relu(self.first(h)))), self.edges)
        if self.model in ("gcn", "gat"):
            activation = F.elu if self.model == "gat" else F.relu
            for conv in self.convs[:-1]:
                h = self.drop(activation(conv(h, self.edges)))
            return self.convs[-1](h, self.edges)
        if self.model == "sage":
            for conv in self.convs:
                h = self.drop(F.relu(conv(h, self.edges)))
            return self.last(h)
        h = first = F.relu(self.first(h))
        for conv in self.convs:
            h = F.relu(conv(self.drop(h), first, self.edges))
        return self.last(self.drop(h))

    def load(self, tensor):
        """Our weights, by the names of our files."""
        def put(to, name, transposed=True):
            if to is not None:
                to.copy_(tensor[name].t() if transposed and tensor[name].dim() == 2 else tensor[name])

        def put_linear(to, of):
            put(to.weight, of + "weight")
            put(to.bias, of + "bias")

        with torch.no_grad():
            if self.model == "sgc":
                put_linear(self.conv.lin, "classifier.")
            elif self.model == "appnp":
                put_linear(self.first, "layers.0.")
                put_linear(self.last, "layers.1.")
            elif self.model == "gcnii":
                put_linear(self.first, "embed.")
                put_linear(self.last, "classifier.")
                for l, conv in enumerate(self.convs):
                    put(conv.weight1, f"layers.{l}.weight", transposed=False)
            else:
                for l, conv in enumerate(self.convs):
                    of = f"layers.{l}."
                    if self.model in ("gcn", "gat"):
                        put(conv.lin.weight, of + "weight")
                        put(conv.bias, of + "bias")
                    if self.model == "gat":
                        for vector, name in ((conv.att_src, "source"), (conv.att_dst, "target")):
                            vector.copy_(tensor[of + name].view(vector.shape))
                    elif self.model == "sage":
                        put_linear(conv.lin_l, of)
                        put(conv.lin_r.weight, of + "self.weight")
                if self.model == "sage":
                    put_linear(self.last, "classifier.")


class Bench:
    def __init__(self, options):
        self.options = options
        self.folder = options.folder

    def ours(self, *extra, seconds=None):
        command = [self.options.bench, self.folder + "/data.pgcn", "--bench", "peers", "--case", self.options.case,
                   "--seconds", str(seconds or self.options.seconds), *extra, *self.options.settings]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(run.stderr)
        return json.loads(run.stdout)

    def say(self, **line):
        print(json.dumps({"bench": "peers", "case": self.options.case, **line}), flush=True)

    def prepare(self):
        """Our weights and logits, then the data."""
        with tempfile.TemporaryDirectory() as scratch:
            model, logits = scratch + "/model", scratch + "/logits"
            self.line = self.ours("--model", model, "--logits", logits, "threads=2", seconds=0.5)
            self.weights = read_safetensors(model)
            self.wanted = torch.frombuffer(bytearray(open(logits, "rb").read()), dtype=torch.float32)
        self.config = self.line["config"]
        self.data = Data(self.folder + "/data.npz", False)
        self.wanted = self.wanted.view(self.data.n, self.data.classes)

    def network(self, form):
        torch.manual_seed(1)
        network = Network(self.data, self.config, form)
        network.load(self.weights)
        with torch.no_grad():
            found = network.eval()()
        difference = (found - self.wanted).abs().max().item() / self.wanted.abs().max().item()
        if not difference <= TOLERANCE:
            sys.exit(f"{form}: the logits differ from pathgcn's by {difference:.2g} of the largest")
        return network

    def measure(self, form, threads, network):
        run = torch.compile(network) if form.endswith("compiled") else network
        groups = [{"params": list(network.parameters()), "lr": 1e-3, "weight_decay": 5e-4}]
        adam, data, losses = torch.optim.Adam(groups, foreach=True), self.data, []

        def step():
            network.train()
            loss = F.cross_entropy(run()[data.train], data.label[data.train])
            adam.zero_grad(set_to_none=True)
            loss.backward()
            adam.step()
            losses.append(loss.item())

        def infer():
            network.eval()
            with torch.no_grad():
                return F.softmax(run(), dim=1)

        step()
        infer()  # compiles both
        times = {"step": time_ms(step, self.options.seconds), "inference": time_ms(infer, self.options.seconds / 4)}
        line = {"who": form, "threads": threads, "torch": torch.__version__, "pyg": torch_geometric.__version__,
                "loss_first": losses[0], "loss_last": losses[-1], "steps": len(losses)}
        for name, time in times.items():
            line.update({f"{name}_ms": time["median"], f"{name}_ms_min": time["min"], f"{name}_cpu_ms": time["cpu"]})
        return line

    def turns(self):
        self.prepare()
        sparse = self.data.sparse and self.config["model"] in ("gcn", "gat", "appnp", "gcnii")
        networks = {form: self.network(form) for form in self.options.forms if sparse or form != "csr+x"}
        for threads in self.options.threads:
            torch.set_num_threads(threads)
            torch._dynamo.reset()
            for form, network in networks.items():
                print(json.dumps(self.ours(f"threads={threads}")), flush=True)
                try:
                    self.say(**self.measure(form, threads, network))
                except Exception as error:  # a form that does not work here is told, and the others are measured
                    text = f"{type(error).__name__}: {error}".splitlines()[0]
                    self.say(who=form, threads=threads, failed=text[:200])
            print(json.dumps(self.ours(f"threads={threads}")), flush=True)

    def memory(self):
        """What the steps take beyond Python, PyTorch, the data and the weights."""
        self.prepare()
        torch.set_num_threads(2)
        network = Network(self.data, self.config, self.options.memory)
        before = resident("VmRSS")
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak begins anew
        self.measure(self.options.memory, 2, network)
        self.say(who=self.options.memory, step_bytes=resident("VmHWM") - before, threads=2)


def resident(key):
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(key))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("case")
    parser.add_argument("--bench", required=True)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--memory", choices=FORMS)
    parser.add_argument("--settings", nargs="+", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    pytorch_models.WARM_UP, pytorch_models.LEAST_STEPS = 1, 3
    torch._dynamo.config.recompile_limit = 64  # deep networks have more versions of a layer than the 8 of the default
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(options.folder, "inductor"))
    bench = Bench(options)
    bench.memory() if options.memory else bench.turns()


if __name__ == "__main__":
    main()
