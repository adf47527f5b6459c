#!/usr/bin/env bash
# Loading a graph of ogbn-arxiv's size: pgcn_dataset_load beside pandas and NumPy on the same csv.gz files, and
# from our container. All take turns, five times, each in a process of its own; medians count. "read" turns
# the files into arrays, as pandas does; "load" is pgcn_dataset_load with all checks, the graph in both
# directions and the fingerprint. The start of the process and imports count for nobody. Prints a table and
# one JSON line per case.
#
#   bench/load.sh                          (or: make bench)
#   LOAD_DIR=<folder> bench/load.sh        keeps the files there for the next time (they take 30 s to make)
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-/usr/bin/python3}
if ! "$python" -c 'import numpy, pandas' 2>/dev/null; then
    echo "bench: $python has no pandas; nothing was measured."
    exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
folder=${LOAD_DIR:-$scratch/arxiv}
build=${PATHGCN_BUILD:-build}
[ -e "$folder/split/time/test.csv.gz" ] || "$python" bench/load_pandas.py make "$folder"
cmake --build "$build" --target pathgcn_inside >/dev/null
# shellcheck disable=SC2046 # several libraries
${CC:-cc} -O2 -Iinclude -Isrc bench/load.c -o "$scratch/load" "$build/libpathgcn_inside.a" \
    $(pkg-config --libs jansson libzip libcurl libisal libcrypto) -lpthread -lm
"$build/pathgcn" data convert "$folder" --out "$scratch/arxiv.pgcn" >/dev/null

export COMMIT
COMMIT=$(git describe --always --dirty 2>/dev/null || echo unknown)
"$python" - "$folder" "$scratch/arxiv.pgcn" "$scratch/load" <<'PYTHON'
import json, os, statistics, subprocess, sys

ROUNDS, NODES, EDGES, FEATURES = 5, 169343, 1166243, 128
folder, container, program = sys.argv[1:]
load = os.getloadavg()[0]  # before we add to it
# What has to be in memory in the end: features, edges once, labels, masks of one split.
data_bytes = NODES * FEATURES * 4 + EDGES * 2 * 4 + NODES * 4 + 3 * NODES
with open("/proc/cpuinfo") as file:
    cpu = next((line.split(": ", 1)[1].strip() for line in file if "model name" in line), "unknown")
commands = {"pandas": [sys.executable, "bench/load_pandas.py", "read", folder],
            "csv.gz, read": [program, "read", folder, str(NODES)],
            "csv.gz, load": [program, "load", folder, str(NODES)],
            "container, load": [program, "load", container, str(NODES)]}
results = {case: [] for case in commands}
for _ in range(ROUNDS):
    for case, command in commands.items():
        results[case].append(json.loads(subprocess.check_output(command)))
median = {case: {key: statistics.median(result[key] for result in rounds)
                 for key, value in rounds[0].items() if not isinstance(value, str)}
          for case, rounds in results.items()}

print(f"loading {NODES} nodes, {EDGES} edges, {FEATURES} features")
print(f"{'':20}{'seconds':>9}{'of CPU':>9}{'page faults':>13}{'peak memory / data':>20}")
for case, m in median.items():
    cpu_s = f"{m['user_s'] + m['sys_s']:9.3f}{m['faults']:13.0f}" if "user_s" in m else " " * 22
    print(f"{case:20}{m['wall_s']:9.3f}{cpu_s}{m['peak_bytes'] / data_bytes:20.2f}")
ratio = {case: median["pandas"]["wall_s"] / median[case]["wall_s"] for case in commands}
print("faster than pandas: " + ", ".join(f"{case} {ratio[case]:.1f}x" for case in list(commands)[1:]))
if load > 0.5:
    print(f"The machine was busy (load {load:.1f} before the start): repeat when it is idle.")
about = {"nodes": NODES, "edges": EDGES, "features": FEATURES, "data_bytes": data_bytes, "rounds": ROUNDS,
         "pandas": results["pandas"][0]["pandas"], "numpy": results["pandas"][0]["numpy"], "cpu": cpu,
         "cores": os.cpu_count(), "load": load, "commit": os.environ["COMMIT"], "command": "bench/load.sh"}
for case, m in median.items():
    print(json.dumps({"bench": "load", "case": case, **{key: round(value, 4) for key, value in m.items()},
                      "peak_over_data": round(m["peak_bytes"] / data_bytes, 3),
                      "pandas_over_this": round(ratio[case], 2), **about}))
PYTHON
