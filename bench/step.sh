#!/usr/bin/env bash
# One training step on Cora: pathgcn beside two PyTorch versions of the same step, in one run.
# The two sides take turns and of each the best median counts, so that a machine that is busy for a
# moment favours nobody. OpenBLAS below PyTorch gets one thread in its first turn and all in the
# second: either may be the faster. Prints a table and one JSON line.
#
#   PATHGCN_DATA=<folder with cora/> bench/step.sh          (or: make bench)
set -euo pipefail
cd "$(dirname "$0")/.."
if [ ! -d "${PATHGCN_DATA:-}/cora" ]; then
    echo "bench: PATHGCN_DATA does not name a folder that holds cora/; nothing was measured."
    exit 0
fi
python=${PYTHON:-/usr/bin/python3}
pathgcn=${PATHGCN:-build/pathgcn}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
threads=2
command=("$pathgcn" train cora --layers 2 --path-length 5 --paths 5 --channels 64 --samples 1
    --consistency 0 --epochs 300 --patience 0 --threads "$threads" --json)

read -r LOAD _ </proc/loadavg # before we add to it
ours() { "${command[@]}" --out "$scratch/run" --overwrite | tail -n 1 >>"$scratch/pathgcn"; }
OPENBLAS_NUM_THREADS=1 "$python" bench/pytorch_step.py --threads "$threads" >"$scratch/pytorch"
ours
OPENBLAS_NUM_THREADS=$threads "$python" bench/pytorch_step.py --threads "$threads" \
    >>"$scratch/pytorch"
ours

export LOAD COMMIT COMMAND="${command[*]}"
COMMIT=$(git describe --always --dirty 2>/dev/null || echo unknown)
"$python" - "$scratch" <<'PYTHON'
import json, os, sys

folder = sys.argv[1]
with open(folder + "/pathgcn") as file:
    ours = min(json.loads(line)["step_ms_median"] for line in file)
best = {}
with open(folder + "/pytorch") as file:
    for case in map(json.loads, file):
        name, ms = case["case"], case["train_step_ms_median"]
        best[name] = min(ms, best.get(name, ms))
with open("/proc/cpuinfo") as file:
    cpu = next((line.split(": ", 1)[1].strip() for line in file if "model name" in line), "unknown")

label = f"n=2708 m=5278 L=2 c=64 k=5 p=5, {case['threads']} threads"
print(f"training step on Cora, {label}")
print(f"{'':16}{'ms (median)':>12}{'pathgcn is faster by':>22}")
print(f"{'pathgcn':16}{ours:12.2f}")
for name, ms in best.items():
    print(f"{name:16}{ms:12.2f}{ms / ours:21.1f}x")
load = float(os.environ["LOAD"])
if load > 0.5:
    print(f"The machine was busy (load {load} before the start): repeat when it is idle.")
print(json.dumps({
    "bench": "step", "label": label, "pathgcn_ms": ours,
    **{name.replace(" ", "_") + "_ms": ms for name, ms in best.items()},
    **{"ratio_" + name.split()[1]: round(ms / ours, 2) for name, ms in best.items()},
    "torch": case["torch"], "cpu": cpu, "load": load, "commit": os.environ["COMMIT"],
    "command": os.environ["COMMAND"],
}))
PYTHON
