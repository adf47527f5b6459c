#!/usr/bin/env python3
"""A path convolution of pathgcn.torch beside the same one in plain PyTorch: forward and backward, in turns.

    bench/pathconv_torch.py [--threads 1 2] [--seconds 2] [--cases cora pubmed] [--cpu] [--json FILE]

The same graph, features, kernel and paths for all, and the same results to 1e-4 before anything is timed. The graphs
are Cora and Pubmed if PATHGCN_DATA names their folder, else random ones of their size. Forms of PyTorch, hop by hop:

    gather    x[paths[:, :, i]].mean(1), the formula as it is written
    bag       torch.nn.functional.embedding_bag(mode="mean")
    csr       torch.sparse.mm with S_i as a CSR matrix, gradient by autograd
    csr+t     the same in an autograd.Function that has the transposes as CSR matrices, too

Drawing paths is timed apart: ours with lists and transposes, PyTorch's as an array [n, p, k] by vectorised walks, and
with matrices made of it for the last two forms. Prints a table, and a JSON line per case and number of threads.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings

import numpy
import torch
import torch.nn.functional as F

import pathgcn.torch as pt

warnings.filterwarnings("ignore", message=".*[Ss]parse.*")
CASES = {
    "cora": {"n": 2708, "m": 5278, "c": 64, "k": 5, "p": 5},
    "pubmed": {"n": 19717, "m": 44324, "c": 256, "k": 7, "p": 10},
}
TOLERANCE = 1e-4


# ---- material ----------------------------------------------------------------------------------------------------


def edges_of(name, size):
    """[2, m], and where it comes from."""
    path = os.path.join(os.environ.get("PATHGCN_DATA", ""), name, "edges.npy")
    if os.path.exists(path):
        edges = torch.from_numpy(numpy.load(path)).long()
        return (edges if edges.shape[0] == 2 else edges.t()).contiguous(), "PATHGCN_DATA"
    random = torch.Generator().manual_seed(1)
    popular = (torch.rand(size["m"], generator=random) ** 3 * size["n"]).long()  # some nodes have many edges
    other = torch.randint(0, size["n"], (size["m"],), generator=random)
    return torch.stack([popular, other]), "generated"


class Walks:
    """Uniform walks in PyTorch: what one writes without a library."""

    def __init__(self, edges, n, k, p):
        both = torch.cat([edges, edges.flip(0)], 1)
        both = both[:, both[0] != both[1]]
        keys = torch.unique(both[0] * n + both[1])
        self.n, self.k, self.p = n, k, p
        self.neighbour = torch.cat([keys % n, torch.zeros(1, dtype=torch.int64)])
        self.degree = torch.bincount(keys // n, minlength=n)
        self.first = self.degree.cumsum(0) - self.degree

    def draw(self):
        at = torch.arange(self.n).repeat_interleave(self.p)
        hops = [at]
        for _ in range(self.k - 1):
            degree = self.degree[at]
            step = (torch.rand(at.shape) * degree).long()
            at = torch.where(degree > 0, self.neighbour[torch.where(degree > 0, self.first[at] + step, -1)], at)
            hops.append(at)
        return torch.stack(hops, 1).view(self.n, self.p, self.k)


def matrix_of(row, column, p, n):
    """A CSR matrix of visits, equal ones merged."""
    keys, count = torch.unique(row * n + column, return_counts=True)
    offset = torch.zeros(n + 1, dtype=torch.int64)
    offset[1:] = torch.bincount(keys // n, minlength=n).cumsum(0)
    return torch.sparse_csr_tensor(offset, keys % n, count.float() / p, (n, n))


def matrices_of(paths, transposed):
    n, p, k = paths.shape
    row = torch.arange(n).repeat_interleave(p)
    columns = [paths[:, :, i].reshape(-1) for i in range(1, k)]
    plain = [matrix_of(row, column, p, n) for column in columns]
    return plain, [matrix_of(column, row, p, n) for column in columns] if transposed else None


# ---- forms ---------------------------------------------------------------------------------------------------------


def gather(x, s, hops):
    out = s[0] * x
    for i, nodes in enumerate(hops, 1):
        out = out + s[i] * x[nodes].mean(1)
    return out


def bag(x, s, hops):
    out = s[0] * x
    for i, nodes in enumerate(hops, 1):
        out = out + s[i] * F.embedding_bag(nodes, x, mode="mean")
    return out


def csr(x, s, matrices):
    out = s[0] * x
    for i, matrix in enumerate(matrices, 1):
        out = out + s[i] * torch.sparse.mm(matrix, x)
    return out


class Transposed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, s, plain, transposed):
        ctx.save_for_backward(x, s)
        ctx.transposed = transposed
        out = s[0] * x
        for i, matrix in enumerate(plain, 1):
            out.addcmul_(s[i], matrix @ x)
        return out

    @staticmethod
    def backward(ctx, grad):
        x, s = ctx.saved_tensors
        grad_x, grad_s = s[0] * grad, [(x * grad).sum(0)]
        for i, matrix in enumerate(ctx.transposed, 1):
            t = matrix @ grad
            grad_x.addcmul_(s[i], t)
            grad_s.append((x * t).sum(0))
        return grad_x, torch.stack(grad_s), None, None


def forms_of(graph, size, threads, seed):
    """Functions of (x, s), and what each needs to draw paths anew."""
    settings = (size["k"], size["p"], "uniform", 1.0, 1.0, False, "walk", threads)
    visits = pt._core.Visits(graph._capsule, *settings)
    visits.sample(seed, 0)
    array = numpy.empty((graph.num_nodes, size["p"], size["k"]), dtype=numpy.int32)
    visits.paths(seed, 0, array)
    paths = torch.from_numpy(array).long()
    hops = [paths[:, :, i].contiguous() for i in range(1, size["k"])]
    plain, transposed = matrices_of(paths, True)
    return {
        "ours": lambda x, s: pt._Convolution.apply(x, s, visits, None),
        "gather": lambda x, s: gather(x, s, hops),
        "bag": lambda x, s: bag(x, s, hops),
        "csr": lambda x, s: csr(x, s, plain),
        "csr+t": lambda x, s: Transposed.apply(x, s, plain, transposed),
    }, visits


# ---- measuring -------------------------------------------------------------------------------------------------------


def results_of(form, x, s, g):
    x, s = x.detach().requires_grad_(), s.detach().requires_grad_()
    out = form(x, s)
    out.backward(g)
    return out.detach(), x.grad, s.grad


def check(forms, x, s, g):
    want = results_of(forms["ours"], x, s, g)
    for name, form in forms.items():
        for a, b in zip(results_of(form, x, s, g), want):
            if not float((a - b).abs().max()) <= TOLERANCE * float(b.abs().max()):
                sys.exit(f"bench: the form {name} has other results than ours")


def time_all(calls, seconds, cpu):
    """Times in ms of calls that are run in turns, for so many seconds each: medians, or the least time of the CPU."""
    clock, summary = (time.process_time, min) if cpu else (time.perf_counter, statistics.median)
    times = {name: [] for name in calls}
    for call in calls.values():
        call()
    while any(sum(taken) < seconds * 1e3 and len(taken) < 1000 for taken in times.values()):
        for name, call in calls.items():
            if sum(times[name]) >= seconds * 1e3 and len(times[name]) >= 5:
                continue
            begin = clock()
            call()
            times[name].append((clock() - begin) * 1e3)
    return {name: summary(taken) for name, taken in times.items()}


def measure(name, threads, seconds, cpu):
    size = CASES[name]
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    edges, origin = edges_of(name, size)
    graph = pt.prepare(edges, size["n"])
    forms, visits = forms_of(graph, size, threads, seed=1)
    x, g = torch.randn(size["n"], size["c"]), torch.randn(size["n"], size["c"])
    s = torch.randn(size["k"], size["c"])
    check(forms, x, s, g)
    x.requires_grad_(), s.requires_grad_()

    def both(form):
        x.grad = s.grad = None
        form(x, s).backward(g)

    def forward(form):
        with torch.no_grad():
            form(x, s)

    conv = pt.PathConv(size["c"], size["k"], size["p"], threads=threads)
    walks = Walks(edges, size["n"], size["k"], size["p"])
    draws = {
        "ours": lambda: visits.sample(1, int(time.perf_counter_ns()) % 2**32),
        "paths": walks.draw,
        "csr": lambda: matrices_of(walks.draw(), False),
        "csr+t": lambda: matrices_of(walks.draw(), True),
    }
    result = {
        "bench": "pathconv_torch", "case": name, **size, "edges_from": origin, "threads": threads,
        "forward_ms": time_all({form: lambda f=f: forward(f) for form, f in forms.items()}, seconds / 2, cpu),
        "both_ms": time_all({form: lambda f=f: both(f) for form, f in forms.items()}, seconds, cpu),
        "draw_ms": time_all(draws, seconds / 2, cpu),
        "layer_step_ms": time_all({"layer": lambda: both(lambda x, _: conv(x, graph))}, seconds / 2, cpu)["layer"],
        "cpu_time": cpu, "torch": torch.__version__, "commit": os.environ.get("BENCH_COMMIT") or commit(),
    }  # fmt: skip
    best = min((form for form in forms if form != "ours"), key=lambda form: result["both_ms"][form])
    result["best"] = best
    result["ratio"] = result["both_ms"][best] / result["both_ms"]["ours"]
    return result


def commit():
    return subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()


def show(result):
    print(f"\n{result['case']} ({result['edges_from']}): n={result['n']} m={result['m']} c={result['c']} "
          f"k={result['k']} p={result['p']}, {result['threads']} thread(s)")  # fmt: skip
    print(f"{'form':8} {'forward ms':>11} {'fwd+bwd ms':>11} {'x ours':>7} {'draw ms':>9}")
    ours = result["both_ms"]["ours"]
    for form, both in result["both_ms"].items():
        draw = result["draw_ms"].get(form, result["draw_ms"]["paths"])
        print(f"{form:8} {result['forward_ms'][form]:11.3f} {both:11.3f} {both / ours:7.1f} {draw:9.3f}")
    print(f"best of PyTorch: {result['best']}, {result['ratio']:.1f} times ours; "
          f"a step of the layer with its draw: {result['layer_step_ms']:.3f} ms")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--cpu", action="store_true", help="least CPU time: for one thread, on busy machines")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    for name in arguments.cases:
        for threads in arguments.threads:
            result = measure(name, threads, arguments.seconds, arguments.cpu)
            show(result)
            line = json.dumps(result)
            print(line)
            if arguments.json:
                with open(arguments.json, "a", encoding="utf-8") as file:
                    file.write(line + "\n")


if __name__ == "__main__":
    main()
