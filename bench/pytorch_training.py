#!/usr/bin/python3
"""The whole training of Cora in PyTorch, as `pathgcn train cora` does it: the yardstick of bench/training.sh.

Data, network and forms are those of pytorch_models.py; settings come from the JSON line of `pathgcn train --json`. An
epoch is one step on S samples of paths and dropout, and an evaluation by the exact form:

    loss  = cross-entropy on the training nodes of all samples
          + w mean over nodes and samples of || p_s - sharpen_T(mean_s p_s) ||^2      w rises with the epochs
    Adam with three groups, whose weight decay pulls towards the start
    best weights by validation loss; patience counts epochs without a lower loss or a higher accuracy on validation

The samples of a step are rows of one stack: two copies of the graph without edges between them, so that PyTorch makes
one call for both. Names of versions are those of pytorch_models.py; a star means through torch.compile.

    pytorch_training.py --data X.npz --settings LINE.json --version best [--threads 2] [--seed 0]
    pytorch_training.py --data X.npz --settings LINE.json --check MODEL LOGITS.csv

Prints one JSON line. Times are seconds: of the import of PyTorch, of reading the data, of the epochs.
"""
import argparse
import csv
import json
import os
import resource
import sys
import time

BEGIN = time.perf_counter()
import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

from pytorch_models import TOLERANCE, VERSIONS, Data, PathGCN, Settings, read_safetensors  # noqa: E402

IMPORTED = time.perf_counter()


class Recipe(Settings):
    """The settings of a training."""
    KNOWN = {key: value for key, value in Settings.NODES.items() if key not in ("samples", "drop-rows")}
    KNOWN.update({"select": "loss", "eval-every": "1", "lr-halve": "0", "class-weights": "none", "bf16": "no",
                  "input-hops": "0", "batch-by": "auto", "self-mix": "no", "kernel-start": "smooth"})

    def __init__(self, path):
        super().__init__(path, self.KNOWN)
        config = self.config
        self.samples, self.epochs, self.patience = (int(config[key]) for key in ("samples", "epochs", "patience"))
        self.consistency, self.temperature = float(config["consistency"]), float(config["temperature"])
        self.ramp = int(config["consistency-ramp"])

    def weight(self, epoch):
        return self.consistency * min(1, epoch / self.ramp) if self.samples > 1 else 0


def stack(data, samples):
    """So many copies of the graph, one after the other; copy s has the nodes s n .. (s + 1) n - 1."""
    copy = object.__new__(Data)
    n, links, entries = data.n, len(data.neighbour), len(data.x_value)
    shift = torch.arange(samples)

    def again(array, step=0):
        return (array.repeat(samples, 1) + (step * shift)[:, None]).flatten().to(array.dtype)

    copy.n, copy.classes, copy.features, copy.sparse = samples * n, data.classes, data.features, True
    copy.choices, copy.root = again(data.choices), again(data.root)
    copy.offset, copy.neighbour = again(data.offset, links), again(data.neighbour, n)
    copy.x_start, copy.x_row = again(data.x_start, entries), again(data.x_row, n)
    copy.x_column, copy.x_value = again(data.x_column), again(data.x_value)
    return copy


def consistency(logits, recipe):
    p = F.softmax(logits, 1).view(recipe.samples, -1, logits.shape[1])
    with torch.no_grad():
        target = p.mean(0).pow_(1 / recipe.temperature)
        target /= target.sum(1, keepdim=True)
    return (p - target).square_().sum() / logits.shape[0]


class Training:
    def __init__(self, name, data, masks, recipe):
        kind = VERSIONS[name.rstrip("*")]
        self.data, self.masks, self.recipe = data, masks, recipe
        self.stacked = kind(stack(data, recipe.samples), recipe)
        self.single = kind(data, recipe)
        self.network = PathGCN(data, recipe)
        self.adam = torch.optim.Adam(self.network.groups(), fused=True)
        self.train_rows = torch.cat([data.train + s * data.n for s in range(recipe.samples)])
        self.train_label = data.label[data.train].repeat(recipe.samples)
        self.forward = torch.compile(self.network) if name.endswith("*") else self.network

    def step(self, epoch):
        self.network.train()
        stacked = self.stacked
        convolve = stacked.sampled()
        logits = self.forward(lambda w: stacked.opening(w, True), convolve, stacked.drop)
        loss = F.cross_entropy(logits[self.train_rows], self.train_label)
        if self.recipe.weight(epoch) > 0:
            loss = loss + self.recipe.weight(epoch) * consistency(logits, self.recipe)
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        self.adam.step()

    def logits(self):
        self.network.eval()
        with torch.no_grad():
            return self.network(lambda w: self.single.opening(w, False), self.single.exact())

    def evaluate(self):
        """Loss and accuracy on validation, accuracy on test nodes."""
        logits, label = self.logits(), self.data.label
        val, test = self.masks
        hits = logits.argmax(1) == label
        return (F.cross_entropy(logits[val], label[val]).item(), 100 * hits[val].float().mean().item(),
                100 * hits[test].float().mean().item())

    def run(self):
        best = least = highest = None
        improved, state, times = 0, None, []
        for epoch in range(self.recipe.epochs):
            begin = time.perf_counter()
            self.step(epoch)
            loss, accuracy, test = self.evaluate()
            if best is None or loss < best["val_loss"]:
                best = {"epoch": epoch + 1, "val_loss": loss, "val_accuracy": accuracy, "test_accuracy": test}
                state = {key: value.clone() for key, value in self.network.state_dict().items()}
            if least is None or loss < least or accuracy > highest:
                improved = epoch
            least = loss if least is None else min(least, loss)
            highest = accuracy if highest is None else max(highest, accuracy)
            times.append(time.perf_counter() - begin)
            if 0 < self.recipe.patience <= epoch - improved:
                break
        self.network.load_state_dict(state)
        return best, times


def read(path):
    data = Data(path, False)
    with np.load(path) as file:
        masks = [torch.from_numpy(np.flatnonzero(file[name][0])) for name in ("val_masks", "test_masks")]
    if not data.sparse:
        sys.exit(f"{path}: features are dense; this script knows sparse ones only")
    return data, masks


def check(data, recipe, model, probabilities):
    """The exact form with the weights of a model file gives the probabilities that `pathgcn predict` wrote."""
    with open(probabilities) as file:
        rows = list(csv.reader(file))
    columns = [i for i, name in enumerate(rows[0]) if name.startswith("p") and name[1:].isdigit()]
    wanted = torch.tensor([[float(row[i]) for i in columns] for row in rows[1:]])
    network = PathGCN(data, recipe).eval()
    network.load(read_safetensors(model))
    worst = 0
    for name, kind in VERSIONS.items():
        version = kind(data, recipe)
        with torch.no_grad():
            found = F.softmax(network(lambda w: version.opening(w, False), version.exact()), 1)
        difference = (found - wanted).abs().max().item()
        if not difference <= TOLERANCE:
            sys.exit(f"{name}: probabilities differ from pathgcn's by {difference:.2g}")
        worst = max(worst, difference)
    return {"bench": "training check", "largest_difference": worst}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--version", choices=[*VERSIONS, *(name + "*" for name in VERSIONS)])
    parser.add_argument("--check", nargs=2, metavar=("MODEL", "PREDICTIONS"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    recipe = Recipe(options.settings)
    data, masks = read(options.data)
    if options.check:
        print(json.dumps(check(data, recipe, *options.check)))
    if not options.version:
        return
    training = Training(options.version, data, masks, recipe)
    ready = time.perf_counter()
    best, times = training.run()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({
        "bench": "training", "who": "pytorch " + options.version, "threads": options.threads, "torch": torch.__version__,
        "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", ""), "seed": options.seed, "epochs": len(times),
        "import_s": IMPORTED - BEGIN, "setup_s": ready - IMPORTED, "train_s": sum(times),
        "epoch_ms": 1e3 * float(np.median(times)), "epoch_ms_min": 1e3 * min(times),
        "cpu_s": usage.ru_utime + usage.ru_stime, "peak_bytes": usage.ru_maxrss * 1024, **best}))


if __name__ == "__main__":
    main()
