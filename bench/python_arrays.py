#!/usr/bin/env python3
"""What Python costs: a graph of 50,000 nodes and a million edges from arrays, and the same in the program.

    PYTHONPATH=build/python python3 bench/python_arrays.py [--pathgcn build/pathgcn] [--rounds 5]

Both train the same epochs with the same settings and end with the same bytes, which is checked. The program reads
the graph from its container, the fastest way it has; Python gets SciPy and NumPy arrays, checks and copies them.
Times are medians of rounds in turn; the ratio is what counts. Memory is the peak of each process.
"""

import argparse
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

GRAPH = "powerlaw:nodes=50000,edges=1000000,features=64"
SETTINGS = {"recipe": "none", "epochs": 20, "patience": 0, "seed": 1, "threads": 1}


def child(folder: str) -> None:
    """One training in Python from arrays on disk, which are read before the clock starts."""
    import numpy as np
    import scipy.sparse

    import pathgcn

    with np.load(f"{folder}/arrays.npz") as stored:
        arrays = {key: stored[key] for key in stored}
    n = len(arrays["label"])
    adjacency = scipy.sparse.csr_array((np.ones(len(arrays["indices"])), arrays["indices"], arrays["indptr"]), (n, n))
    begin = time.perf_counter()
    data = pathgcn.Dataset(
        adjacency,
        arrays["features"],
        arrays["label"],
        train=arrays["train"].astype(bool),
        val=arrays["val"].astype(bool),
        test=arrays["test"].astype(bool),
        name="arrays",
    )
    loaded = time.perf_counter()
    model = pathgcn.train(data, progress=False, **SETTINGS)
    done = time.perf_counter()
    tensors = hashlib.sha256(b"".join(t.tobytes() for t in model.state_dict().values())).hexdigest()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"load": loaded - begin, "all": done - begin, "tensors": tensors, "peak_mb": peak / 1024}))


def write_arrays(folder: str) -> None:
    import numpy as np

    import pathgcn

    data = pathgcn.load(GRAPH)
    data.save(f"{folder}/graph.pgcn")
    split = data.splits["0"]
    adjacency = data.adjacency
    np.savez(
        f"{folder}/arrays.npz",
        indptr=adjacency.indptr.astype(np.int64),
        indices=adjacency.indices.astype(np.int64),
        features=np.ascontiguousarray(data.features),
        label=data.labels.astype(np.int64),
        train=split.train,
        val=split.val,
        test=split.test,
    )


def run_program(program: str, folder: str) -> dict[str, object]:
    import pathgcn

    options = [f"--{key}={value}" for key, value in SETTINGS.items()]
    begin = time.perf_counter()
    command = [program, "train", f"{folder}/graph.pgcn", *options, "--split=0", "--quiet", "--overwrite"]
    result = subprocess.run([*command, "--json", f"--out={folder}/run"], check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    model = pathgcn.load_model(f"{folder}/run/model.safetensors")
    tensors = hashlib.sha256(b"".join(t.tobytes() for t in model.state_dict().values())).hexdigest()
    return {"all": seconds, "tensors": tensors, "peak_mb": json.loads(result.stdout)["peak_rss_bytes"] / 2**20}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pathgcn", default="build/pathgcn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        child(chosen.child)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_arrays(folder)
        python, program = [], []
        for _ in range(chosen.rounds):
            program.append(run_program(chosen.pathgcn, folder))
            command = [sys.executable, os.path.abspath(__file__), "--child", folder]
            python.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    if {run["tensors"] for run in python} != {run["tensors"] for run in program}:
        sys.exit("the tensors of Python and of the program differ")
    median = {
        "program": statistics.median(run["all"] for run in program),
        "python": statistics.median(run["all"] for run in python),
        "python_load": statistics.median(run["load"] for run in python),
    }
    print(f"program, container and {SETTINGS['epochs']} epochs  {median['program']:.2f} s, "
          f"peak {program[0]['peak_mb']:.0f} MB")
    print(f"Python, arrays and {SETTINGS['epochs']} epochs      {median['python']:.2f} s, "
          f"peak {python[0]['peak_mb']:.0f} MB, of it the data set {median['python_load']:.2f} s")
    print(f"Python / program {median['python'] / median['program']:.3f}; the tensors are the same")
    print(json.dumps({"bench": "python_arrays", "ratio": median["python"] / median["program"], **median}))


if __name__ == "__main__":
    main()
