#!/usr/bin/env bash
# Several ranks on one machine: two ranks of one thread against one process of two threads, in turns; the bytes that a
# rank gets in a step against what `data partition` predicts; and the memory of a rank by kind, on 2, 4 and 8 ranks.
#
#   bench/ranks.sh [pubmed] [arxiv] [products] [batches]      sizes of graphs, all of them if none is named
#
# batches: mini-batches of 1024 nodes at arxiv's size, 20 steps an epoch; milliseconds are those of all steps of an epoch.
# ROUNDS [3] pairs of runs, EPOCHS [6] each; MEMORY_RANKS ['2 4 8'] may be empty. Graphs are built-in ones with hubs, in
# 64 parts. Needs mpirun and the module for MPI. Figures of speed say something on an idle machine only. Writes a JSON
# line per size to build/bench/ranks.jsonl.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
command -v mpirun >/dev/null || { echo "bench: there is no mpirun (Debian: openmpi-bin)" >&2 && exit 1; }
[ -e "$build/pathgcn_mpi.so" ] || { echo "bench: this build has no module for MPI" >&2 && exit 1; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch # sessions of MPI
lines=$results/ranks.jsonl
: >"$lines"

# One evaluation, at the end. Full batch: all rows count, so that nothing depends on how many nodes are labelled.
network=(--recipe none --layers 2 --samples 1 --consistency 0 --eval-every 1000 --patience 0 --quiet)
full=(--batch-norm yes)
batches=(--batch-by nodes --batch 1024 --steps 20 --eval-nodes 1000)

measure() { # SIZE DATA PATHS LENGTH CHANNELS OPTIONS...
    local size=$1 file=$scratch/$1.pgcn round ranks
    local walks=(--paths "$3" --path-length "$4" --channels "$5") steps=("${@:6}") like=(--layers 2 --samples 1)
    echo "$size: $2" >&2
    [ "$size" = batches ] || like+=("${full[@]}")
    "$build/pathgcn" data partition "$2" --parts 64 --ranks 2,4,8 "${walks[@]}" "${like[@]}" --json --out "$file" \
        >"$scratch/predicted.json"
    train() { # NAME RANKS THREADS EPOCHS
        local start=()
        [ "$2" = 1 ] || start=(mpirun -n "$2")
        "${start[@]}" "$build/pathgcn" train "$file" "${network[@]}" "${walks[@]}" "${steps[@]}" --threads "$3" --epochs "$4" \
            --overwrite --out "$scratch/$1" >/dev/null
    }
    for round in $(seq "${ROUNDS:-3}"); do
        train "one-$round" 1 2 "${EPOCHS:-6}"
        train "two-$round" 2 1 "${EPOCHS:-6}"
    done
    for ranks in ${MEMORY_RANKS-2 4 8}; do train "memory-$ranks" "$ranks" 1 2; done
    "$python" - "$size" "$scratch" <<'PYTHON' | tee -a "$lines"
import glob, json, os, statistics, sys
size, scratch = sys.argv[1:]
def results(name):
    return [json.load(open(path)) for path in sorted(glob.glob(f"{scratch}/{name}/result.json"))]
one = [r["step_ms_median"] for r in results("one-*")]
two = [r["step_ms_median"] for r in results("two-*")]
ratios = [a / b for a, b in zip(one, two)]
line = {"bench": "ranks", "case": size, "commit": os.environ["BENCH_COMMIT"], "one_process_ms": one, "two_ranks_ms": two,
        "speed_of_two_ranks": round(statistics.median(ratios), 3), "ratios": [round(r, 3) for r in ratios],
        "predicted": json.load(open(f"{scratch}/predicted.json")).get("ranks")}
for r in results("memory-*"):
    line[f"on_{r['ranks']['ranks']}"] = r["ranks"]
print(json.dumps(line))
PYTHON
    rm -rf "$scratch"/*-[0-9]* "$file"
}
[ $# -gt 0 ] || set -- pubmed arxiv products batches
for size; do
    case $size in
    pubmed) measure pubmed powerlaw:nodes=19717,edges=44324,features=500,classes=3 10 7 256 "${full[@]}" ;;
    arxiv) measure arxiv powerlaw:size=arxiv 5 5 64 "${full[@]}" ;;
    batches) measure batches powerlaw:size=arxiv 5 5 64 "${batches[@]}" ;;
    products) measure products powerlaw:size=products 5 3 64 "${full[@]}" ;;
    *) echo "bench: '$size' is no size, expected pubmed, arxiv, products or batches" >&2 && exit 2 ;;
    esac
done
