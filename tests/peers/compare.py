"""Every network of pathgcn beside PyTorch Geometric: logits and all gradients, with our weights.

    compare.py PEERS_DUMP [MODEL...]

Runs peers_dump (tests/peers/dump.c) on every case below, repeats its step in double precision with the layers of
networks.py, and compares: logits of all nodes in evaluation, those of training nodes in training (batch statistics in
batch norms), and the gradient of each tensor of the loss on the training nodes. A difference of more than
TOLERANCE of the tensor's largest element fails. A gradient that is exactly 0, such as that of a bias before a batch
norm, is rounding in ours: there the difference is one of ZERO of the network's largest gradient.
"""
import json
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F

from networks import Peer

TOLERANCE, ZERO = 1e-4, 0.1
LONELY = "sbm:nodes=120,degree=2,features=9,classes=3"  # some nodes have no edge
NO_EDGE_WEIGHTS = ("mlp", "sage", "gin", "gat", "supergat", "grand")  # SAGEConv and GINConv know none

CASES = {
    "mlp": ["layers=1", "layers=2", "layers=3 bias=no", "layers=3 batch-norm=yes", "layers=3 layer-norm=yes"],
    "gcn": ["layers=1 residual=none", "layers=2 residual=none", "layers=2 residual=none bias=no",
            "layers=2 residual=none scaling=walk", "layers=4 residual=initial alpha=0.2",
            "layers=4 residual=previous alpha=0.3 scaling=walk", "layers=3 residual=none self-mix=yes",
            "layers=4 residual=initial self-mix=yes batch-norm=yes", "layers=3 residual=none batch-norm=yes bias=no",
            "layers=3 residual=none layer-norm=yes"],
    "sgc": ["powers=0", "powers=1 bias=no", "powers=2", "powers=5"],
    "cheb": ["layers=1 order=0", "layers=2 order=1", "layers=2 order=2 bias=no", "layers=2 order=5",
             "layers=3 order=3 eigenvalue=two", "layers=3 order=2 batch-norm=yes", "layers=3 order=2 layer-norm=yes"],
    "appnp": ["layers=2 powers=0", "layers=2 powers=1 alpha=0.5", "layers=2 powers=10", "layers=3 powers=7 bias=no",
              "layers=3 powers=4 batch-norm=yes", "layers=1 powers=3 alpha=0"],
    "gcnii": ["layers=1", "layers=2 lambda=1", "layers=8 alpha=0.5 lambda=1.5", "layers=4 skip=yes",
              "layers=4 batch-norm=yes skip=yes", "layers=3 layer-norm=yes"],
    "gcnii-star": ["layers=1", "layers=2 lambda=1", "layers=8 alpha=0.5 lambda=1.5", "layers=4 skip=yes",
                   "layers=4 batch-norm=yes skip=yes"],
    "sage": ["layers=1", "layers=2", "layers=3 bias=no", "layers=2 batch-norm=yes", "layers=2 layer-norm=yes"],
    "jknet": ["layers=2", "layers=4", "layers=4 jump=max", "layers=5 jump=max bias=no scaling=walk",
              "layers=4 self-mix=yes scaling=walk", "layers=4 batch-norm=yes", "layers=3 jump=max layer-norm=yes"],
    "incep": ["layers=2", "layers=3", "layers=5", "layers=4 bias=no scaling=walk", "layers=4 self-mix=yes",
              "layers=4 batch-norm=yes"],
    "gat": ["layers=1 heads-last=3", "layers=2 heads=2", "layers=3 heads=4 heads-last=2 self-mix=yes",
            "layers=3 heads=8 bias=no batch-norm=yes", "layers=3 heads=1 layer-norm=yes"],
    "egnn": ["layers=1 threshold=0", "layers=2 threshold=0.2 c-max=2", "layers=8 orthogonal=0 threshold=-0.1",
             "layers=4 c-min=0.5 beta=0.5 orthogonal=0.3", "layers=3 threshold=0 batch-norm=yes orthogonal=1"],
    "pde-gcn-d": ["layers=1", "layers=4 step=0.5", "layers=3 step=0.3 activation=relu bias=no"],
    "pde-gcn-h": ["layers=1 activation=relu", "layers=5 step=0.4"],
    "pde-gcn-m": ["layers=1 step=2", "layers=5 step=0.5", "layers=3 activation=relu bias=no"],
    "supergat": ["layers=1 heads-last=3 edge-loss=0", "layers=2 heads=2 edge-loss=0",
                 "layers=3 heads=4 heads-last=2 self-mix=yes edge-loss=0"],
    "grand": ["layers=1 integrator=euler heads=2 attention-channels=4", "layers=3 step=0.5 heads=4 attention-channels=8",
              "layers=2 step=0.7 attention=recomputed heads=1 attention-channels=6"],
    "gin": ["layers=1", "layers=3", "layers=2 eps=0.5"],
    "pathgcn": ["layers=2 path-length=4", "layers=3 path-length=3 scaling=walk residual=previous",
                "layers=2 path-length=3 batch-norm=yes residual=none",
                "layers=2 path-length=2 batch-norm=yes norm-gain=yes residual=none", "layers=2 path-length=5 self-loops=no"],
}


def write_arcs(path):
    """A directed graph with weights, in our own format: where T is not its transpose. Every node has an edge that
    leaves it: a degree of 0 counts as 1 in ours, and deletes the edges to the node in ChebConv."""
    random = np.random.default_rng(3)
    n, arcs = 60, random.random((60, 60)) < 0.05
    arcs[np.diag_indices(n)] = arcs[:, 9] = False
    arcs[~arcs.any(axis=1), 30] = True
    edges = np.argwhere(arcs).astype(np.int32)
    part = np.eye(3, dtype=np.uint8)[random.integers(3, size=n)].T
    np.savez(path, pathgcn=np.int64(1), name=np.array("arcs"), split_names=np.array(["one"]), directed=np.int64(1),
             num_nodes=np.int64(n), num_classes=np.int64(3), edges=edges,
             edge_weight=random.uniform(0.2, 1.2, len(edges)).astype(np.float32),
             x=random.normal(size=(n, 9)).astype(np.float32), y=(np.arange(n) % 3).astype(np.int32),
             train_masks=part[:1], val_masks=part[1:2], test_masks=part[2:])
    return path


def repeat(config, arrays):
    """Logits and gradients of the peer, by the names of the file."""
    peer = Peer(config, arrays)
    with torch.no_grad():
        found = {"logits/eval": peer.logits(training=False)}
    logits = peer.logits(training=True)
    train = torch.from_numpy(arrays["train"]).bool()
    label = torch.from_numpy(arrays["label"]).long()
    (F.cross_entropy(logits[train], label[train]) + peer.term()).backward()
    found["logits/train"] = logits.detach()[train]
    found.update({"gradient/" + name: weight.grad for name, weight in peer.weight.items() if weight.requires_grad})
    return {name: tensor.numpy() for name, tensor in found.items()}


def differences(ours, theirs):
    """Of each tensor: the largest difference, as a share of its largest element."""
    largest = max(np.abs(array).max() for name, array in theirs.items() if name.startswith("gradient/"))
    for name, want in theirs.items():
        got = ours[name][ours["train"].astype(bool)] if name == "logits/train" else ours[name]
        size = np.abs(want).max()
        if size < 1e-12 * largest:
            size = ZERO * largest
        yield name, np.abs(got - want).max() / size if got.shape == want.shape else np.inf


def check(dump, data, settings, path):
    """The largest difference, and a sentence for each tensor that is wrong."""
    run = subprocess.run([dump, data, path, *settings.split()], capture_output=True, text=True)
    if run.returncode != 0:
        return np.inf, [run.stderr.strip()]
    with np.load(path) as file:
        ours = {name: file[name] for name in file.files}
    if data == LONELY and np.diff(ours["graph/offset"]).min() > 0:
        return np.inf, ["every node has an edge; the data is meant to have one without"]
    found = list(differences(ours, repeat(json.loads(run.stdout), ours)))
    missing = {name for name in ours if name.startswith("gradient/")} - {name for name, _ in found}
    wrong = [f"{name} is {part:.2g} off" for name, part in found if not part <= TOLERANCE]
    return max(part for _, part in found), wrong + [f"{name} has no peer" for name in missing]


def main():
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(CASES):
        sys.exit(__doc__)
    torch.set_default_dtype(torch.float64)
    count = failures = 0
    with tempfile.TemporaryDirectory() as folder:
        arcs = write_arcs(folder + "/arcs.npz")
        for model in sys.argv[2:] or CASES:
            worst = 0
            for settings in CASES[model]:
                for data in ("karate", LONELY, arcs):
                    text = f"model={model} channels=8 train-form=exact {settings}"
                    if data == arcs and model not in NO_EDGE_WEIGHTS and "scaling=walk" not in settings:
                        text += " walk=weighted"
                    largest, wrong = check(sys.argv[1], data, text, folder + "/step.npz")
                    worst, count, failures = max(worst, largest), count + 1, failures + bool(wrong)
                    if wrong:
                        print(f"FAILED {data} {text}: {'; '.join(wrong)}")
            print(f"{model}: {len(CASES[model])} settings on 3 graphs, largest difference {worst:.1e}", flush=True)
    print(f"{count - failures} of {count} cases agree to {TOLERANCE:g}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
