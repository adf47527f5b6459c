#!/usr/bin/env bash
# A graph that is larger than memory: converted within a bound, its rows read by batches through the bounded cache,
# and trained on with --memory beside the same training in memory, whose model must have the same bits. By default
# 10^7 nodes, 10^8 edges, 100 features of float16 within 2 GiB: an hour, 12 GB of disk, and 12 GB of memory for the
# training in memory (HUGE_PARTS leaves it out). Where the machine allows it (root, control groups), every process but
# that one runs in a control group of that size, and its peak is what the kernel counted; elsewhere it is the peak of
# resident memory. Prints a JSON line per case.
#
#   bench/huge.sh
#   HUGE_PARTS="train inside" bench/huge.sh         of: rows train lru cold inside; all by default
#   HUGE=powerlaw:nodes=1e6,edges=1e7,features=100 HUGE_MEMORY=512M bench/huge.sh       smaller
#   HUGE_DIR=<folder> bench/huge.sh          keeps the container there for the next time
set -euo pipefail
# shellcheck source=common.sh
source "$(dirname "$0")/common.sh"
huge=${HUGE:-powerlaw:size=huge} memory=${HUGE_MEMORY:-2G} store=${HUGE_STORE:-float16}
parts=${HUGE_PARTS:-rows train lru cold inside}
cache=${HUGE_CACHE:-256} batches=${HUGE_BATCHES:-60} nodes=${HUGE_NODES:-2000} fanout=${HUGE_FANOUT:-10}
scratch=$(mktemp -d "${HUGE_DIR:-${TMPDIR:-/tmp}}/huge.XXXXXX")
group="" everywhere=""
trap 'rm -rf "$scratch"; [ -z "$group" ] || rmdir "$group" 2>/dev/null || true' EXIT
file=${HUGE_DIR:-$scratch}/huge.pgcn
cmake --build "$build" --target pathgcn_inside pathgcn_program >/dev/null
# shellcheck disable=SC2046 # several libraries
${CC:-cc} -O2 -Iinclude -Isrc bench/rows.c -o "$scratch/rows" "$build/libpathgcn_inside.a" \
    $(pkg-config --libs jansson libzip libcurl libisal libcrypto) \
    $(pkg-config --libs liburing 2>/dev/null || true) -lpthread -lm

# A control group of our own below the one we are in, of version 1 or 2, if we may make one.
own1=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup) own2=$(sed -n 's/^0:://p' /proc/self/cgroup)
for place in "/sys/fs/cgroup/memory$own1" "/sys/fs/cgroup$own2"; do
    [ -z "$group" ] && mkdir "$place/pathgcn-huge-$$" 2>/dev/null || continue
    group=$place/pathgcn-huge-$$
    limit=$group/memory.max
    [ ! -e "$group/memory.limit_in_bytes" ] || limit=$group/memory.limit_in_bytes
    if ! { echo "$memory" >"$limit"; } 2>/dev/null; then
        rmdir "$group"
        group=""
    fi
done
[ -n "$group" ] && echo "control group $group of $memory" || echo "no control group: peaks are of resident memory"

# inside COMMAND...: runs it in the group; its seconds, peak of the group and peak of resident memory are printed.
inside() {
    [ -z "$group" ] || echo 0 2>/dev/null >"$group/memory.max_usage_in_bytes" || true
    # shellcheck disable=SC2016 # for the inner shell
    /usr/bin/python3 - "${everywhere:-$group}" "$scratch/measured" "$@" <<'PYTHON'
import json, os, resource, subprocess, sys, time
group, out, command = sys.argv[1], sys.argv[2], sys.argv[3:]
def enter():
    if group and group != "-":
        with open(group + "/cgroup.procs", "w") as procs:
            procs.write(str(os.getpid()))
begin = time.monotonic()
code = subprocess.call(command, preexec_fn=enter)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
result = {"wall_s": round(time.monotonic() - begin, 2), "code": code,
          "user_s": round(used.ru_utime, 2), "system_s": round(used.ru_stime, 2),
          "peak_rss_bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024}
for name in "memory.peak", "memory.max_usage_in_bytes":
    if group and os.path.exists(group + "/" + name):
        result["group_peak_bytes"] = int(open(group + "/" + name).read())
for name in "memory.failcnt",:
    if group and os.path.exists(group + "/" + name):
        result["group_limit_hits"] = int(open(group + "/" + name).read())
json.dump(result, open(out, "w"))
sys.exit(code)
PYTHON
}

if [ ! -e "$file" ]; then
    inside "$build/pathgcn" data convert "$huge" --store "$store" --memory "$memory" --out "$file" 2>&1
    echo "{\"case\":\"convert\",\"set\":\"$huge\",\"store\":\"$store\",\"memory\":\"$memory\",\"bytes\":$(stat -c %s "$file"),\"measured\":$(cat "$scratch/measured"),\"commit\":\"$BENCH_COMMIT\"}"
fi
read_case() { # WARMTH POLICY WAY CACHE KNOWN
    [ "$1" = warm ] || dd if="$file" iflag=nocache count=0 status=none # the cache of this file alone
    inside "$scratch/rows" "$file" "$2" "$3" "$4" "$batches" "$nodes" "$fanout" "$5" >"$scratch/line"
    echo "{\"case\":\"rows, $1\",\"measured\":$(cat "$scratch/measured"),\"result\":$(cat "$scratch/line"),\"commit\":\"$BENCH_COMMIT\"}"
}
is_part() { case " $parts " in *" $1 "*) ;; *) return 1 ;; esac; }
if is_part rows; then
    read_case warm future best 0 8 # fills the page cache
    for policy in future lru; do
        read_case warm $policy best "$cache" 16
    done
    read_case warm future plain "$cache" 16
    for known in 4 32; do read_case warm future best "$cache" "$known"; done
    for way in best plain; do read_case cold future "$way" "$cache" 16; done
    read_case cold lru best "$cache" 16
fi

# ---- training: a few epochs of a few steps; milliseconds of a step are the median of the epochs --------------------
steps=${HUGE_STEPS:-12} epochs=${HUGE_EPOCHS:-4} batch=${HUGE_BATCH:-500}
train_case() { # WARMTH POLICY [--memory SIZE]
    local warmth=$1 policy=$2
    shift 2
    if [ "$warmth" = warm ]; then cat "$file" >/dev/null; else dd if="$file" iflag=nocache count=0 status=none; fi
    rm -rf "$scratch/run"
    PATHGCN_ROWS=$policy inside "$build/pathgcn" train "$file" --recipe usual --prepare per-class=200/20/20,splits=1 \
        --samples 1 --consistency 0 --batch "$batch" --eval-nodes "$batch" --steps "$steps" --epochs "$epochs" \
        --patience 0 --seed 1 --out "$scratch/run" "$@" --json --quiet >"$scratch/trained"
    /usr/bin/python3 - "$scratch" "$warmth" "$policy" "$steps" "$BENCH_COMMIT" "$@" <<'PYTHON'
import hashlib, json, sys
scratch, warmth, policy, steps, commit = sys.argv[1:6]
result = json.loads(open(scratch + "/trained").read().splitlines()[-1])
run = result["runs"][0]
line = {"case": "train, " + warmth, "options": " ".join(sys.argv[6:]), "rows": policy,
        "step_ms": round(result["step_ms_median"] / int(steps), 1), "training_s": round(run["seconds"], 2),
        "peak_rss_bytes": result["peak_rss_bytes"], "predicted_bytes": result["predicted_peak_rss_bytes"],
        "hits": run.get("row_hits"), "misses": run.get("row_misses"), "bytes_read": run.get("row_bytes_read"),
        "measured": json.load(open(scratch + "/measured")), "commit": commit,
        "model": hashlib.sha256(open(scratch + "/run/model.safetensors", "rb").read()).hexdigest()[:16]}
print(json.dumps(line))
open(scratch + "/models", "a").write(line["model"] + "\n")
PYTHON
}
if is_part train; then train_case warm future --memory "$memory"; fi
if is_part lru; then train_case warm lru --memory "$memory"; fi
if is_part cold; then train_case cold future --memory "$memory"; fi
if is_part inside; then everywhere=- train_case warm future; fi
if [ -e "$scratch/models" ] && [ "$(sort -u "$scratch/models" | wc -l)" != 1 ]; then
    echo "the models differ"
    exit 1
fi
