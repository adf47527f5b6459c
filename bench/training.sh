#!/usr/bin/env bash
# The whole training of Cora as it is typed, `pathgcn train cora`, beside the same training in PyTorch
# (bench/pytorch_training.py), in turns on the same cores: seconds from the start of the process to its end, those of
# the epochs, processor time, peak memory, and the accuracy that both reach.
#
#   PATHGCN_DATA=<folder with cora/> bench/training.sh           some minutes on two idle cores
#   TURNS=3 THREADS=2 VERSIONS='best sparse' bench/training.sh   versions: those of pytorch_training.py
#   PEERS_PYTHON=<a python3 that has torch>; without it a virtual environment is made in build/peers
#
# Turn i has seed i on both sides. Writes JSON lines to build/bench/training.jsonl and prints the table.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source tests/peers/environment.sh
have_set cora || exit 0
peers_python || exit 0
lines=$results/training.jsonl
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
turns=${TURNS:-3} threads=${THREADS:-2}
read -ra versions <<<"${VERSIONS:-best best* sparse}"
: >"$lines"

# timed COMMAND...: its JSON line with what the process took
timed() {
    python3 - "$@" <<'PYTHON'
import json, os, resource, subprocess, sys, time
load, begin = os.getloadavg()[0], time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=True, text=True)
wall, usage = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
line = json.loads(done.stdout.splitlines()[-1])
if "runs" in line:  # of pathgcn train --json
    line = {"bench": "training", "who": "pathgcn", "epochs": int(line["epochs"]), "config": line["config"],
            "val_accuracy": line["val_accuracy_mean"], "test_accuracy": line["test_accuracy_mean"],
            "seed": int(line["config"]["seed"])}
with open("/proc/cpuinfo") as file:
    cpu = next((row.split(":", 1)[1].strip() for row in file if row.startswith("model name")), "unknown")
line.update(wall_s=wall, cpu_s=usage.ru_utime + usage.ru_stime, peak_bytes=usage.ru_maxrss * 1024, cpu=cpu,
            cores=os.cpu_count(), load=load, commit=os.environ["BENCH_COMMIT"])
print(json.dumps(line))
PYTHON
}

ours() { # SEED
    timed "$build/pathgcn" train cora --quiet --json --threads "$threads" --seed "$1" --out "$scratch/run" --overwrite
}
torch=("$python" -W ignore bench/pytorch_training.py --data "$scratch/cora.npz" --settings "$scratch/line")

"$build/pathgcn" data convert cora --out "$scratch/cora.npz" >/dev/null
ours 0 >"$scratch/line"
"$build/pathgcn" predict "$scratch/run/model.safetensors" --all --out "$scratch/predicted.csv" >/dev/null
"${torch[@]}" --check "$scratch/run/model.safetensors" "$scratch/predicted.csv" | tee -a "$lines" >&2
for ((turn = 1; turn <= turns; turn++)); do
    ours "$turn" | tee -a "$lines" >&2
    for version in "${versions[@]}"; do
        timed "${torch[@]}" --version "$version" --threads "$threads" --seed "$turn" | tee -a "$lines" >&2
    done
done
"$python" bench/tables.py --show training "$lines"
