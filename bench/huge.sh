#!/usr/bin/env bash
# A graph that is larger than memory: converted within a bound, its rows read by batches through the bounded cache,
# and trained on with --memory beside the same training in memory, whose model must have the same bits. By default
# 10^7 nodes, 10^8 edges, 100 features of float16 within 2 GiB: an hour, 12 GB of disk, and 12 GB of memory for the
# training in memory (HUGE_PARTS leaves it out). Where the machine allows it (root, control groups), every process but
# that one runs in a control group of that size, and its peak is what the kernel counted; elsewhere it is the peak of
# resident memory. Prints a JSON line per case, and a table of all cases at the end.
#
#   bench/huge.sh
#   HUGE_PARTS="train inside" bench/huge.sh         of: rows train lru cold inside predict; all by default
#   HUGE=powerlaw:nodes=1e6,edges=1e7,features=100 HUGE_MEMORY=512M bench/huge.sh       smaller
#   HUGE_DIR=<folder> bench/huge.sh          keeps the container there for the next time, and the lines of all cases in
#                                            cases.jsonl, so that parts can be run one after the other; remove that file
#                                            to begin anew. HUGE_PARTS="" prints the table alone.
set -euo pipefail
# shellcheck source=common.sh
source "$(dirname "$0")/common.sh"
huge=${HUGE:-powerlaw:size=huge} memory=${HUGE_MEMORY:-2G} store=${HUGE_STORE:-float16}
parts=${HUGE_PARTS-rows train lru cold inside predict}
cache=${HUGE_CACHE:-256} batches=${HUGE_BATCHES:-60} nodes=${HUGE_NODES:-2000} fanout=${HUGE_FANOUT:-10}
scratch=$(mktemp -d "${HUGE_DIR:-${TMPDIR:-/tmp}}/huge.XXXXXX")
group="" everywhere=""
trap 'rm -rf "$scratch"; [ -z "$group" ] || rmdir "$group" 2>/dev/null || true' EXIT
keep=${HUGE_DIR:-$scratch} file=${HUGE_DIR:-$scratch}/huge.pgcn
tell() { tee -a "$keep/cases.jsonl"; } # a line of a case
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
    echo "{\"case\":\"convert\",\"set\":\"$huge\",\"store\":\"$store\",\"memory\":\"$memory\",\"bytes\":$(stat -c %s "$file"),\"measured\":$(cat "$scratch/measured"),\"commit\":\"$BENCH_COMMIT\"}" | tell
fi
read_case() { # WARMTH POLICY WAY CACHE KNOWN
    [ "$1" = warm ] || dd if="$file" iflag=nocache count=0 status=none # the cache of this file alone
    inside "$scratch/rows" "$file" "$2" "$3" "$4" "$batches" "$nodes" "$fanout" "$5" >"$scratch/line"
    echo "{\"case\":\"rows, $1\",\"measured\":$(cat "$scratch/measured"),\"result\":$(cat "$scratch/line"),\"commit\":\"$BENCH_COMMIT\"}" | tell
}
is_part() { case " $parts " in *" $1 "*) ;; *) return 1 ;; esac; }
if is_part rows; then
    read_case warm future best 0 8 # fills the page cache
    for policy in future lru; do
        read_case warm $policy best "$cache" 16
    done
    read_case warm future plain "$cache" 16
    # the last is the optimum: a cache that knows all batches before the first
    for known in 4 32 "$batches"; do read_case warm future best "$cache" "$known"; done
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
    /usr/bin/python3 - "$scratch" "$warmth" "$policy" "$steps" "$BENCH_COMMIT" "$@" <<'PYTHON' | tell
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
PYTHON
    cp "$scratch/run/model.safetensors" "$keep/model.safetensors"
}
if is_part train; then train_case warm future --memory "$memory"; fi
if is_part lru; then train_case warm lru --memory "$memory"; fi
if is_part cold; then train_case cold future --memory "$memory"; fi
if is_part inside; then everywhere=- train_case warm future; fi

# ---- predictions by draws of some nodes, with the model of the last training ---------------------------------------
predict_case() { # NODES [--memory SIZE]: as many from all over the graph
    local count=$1
    shift
    cat "$file" >/dev/null
    awk -v some="$count" -v all="${HUGE_ALL:-10000000}" 'BEGIN { for (i = 0; i < some; i++) print int(i * all / some) }' >"$scratch/nodes"
    inside "$build/pathgcn" predict "$keep/model.safetensors" "$file" --prepare per-class=200/20/20,splits=1 \
        --inference stochastic:1 --nodes "$scratch/nodes" --all "$@" --out "$scratch/predictions.csv" 2>"$scratch/said"
    echo "{\"case\":\"predict $count nodes\",\"options\":\"$*\",\"said\":\"$(tail -n 1 "$scratch/said" | tr -d '"')\",\"predictions\":\"$(sha256sum <"$scratch/predictions.csv" | cut -c 1-16)\",\"measured\":$(cat "$scratch/measured"),\"commit\":\"$BENCH_COMMIT\"}" | tell
}
if is_part predict; then
    predict_case 10000 --memory "$memory"
    everywhere=- predict_case 10000
fi

# ---- all cases so far ------------------------------------------------------------------------------------------------
/usr/bin/python3 - "$keep/cases.jsonl" <<'PYTHON'
import json, sys
models, predictions = set(), set()
form = "%-22s %-14s %-7s %9s %9s %8s %8s %10s"
print(form % ("case", "options", "rows", "step ms", "training s", "hits", "GB read", "GB in group"))
for line in open(sys.argv[1]):
    case = json.loads(line)
    result, measured = case.get("result", case), case.get("measured", {})
    hits = result.get("hit_rate")
    if case.get("hits") is not None:
        hits = case["hits"] / (case["hits"] + case["misses"])
    peak = measured.get("group_peak_bytes", measured.get("peak_rss_bytes", 0))
    rows = case.get("rows") if case["case"].startswith("train") else result.get("policy")
    if "known" in result:
        rows += " " + result["known"] if isinstance(result["known"], str) else " %d" % result["known"]
    print(form % (case["case"], case.get("options", ""), rows or "", case.get("step_ms", ""),
                  case.get("training_s", result.get("seconds", measured.get("wall_s", ""))),
                  "" if hits is None else "%.1f %%" % (100 * hits),
                  "%.2f" % (result["bytes_read"] / 1e9) if result.get("bytes_read") else "", "%.2f" % (peak / 1e9)))
    if "model" in case: models.add(case["model"])
    if "predictions" in case: predictions.add(case["predictions"])
if len(models) > 1 or len(predictions) > 1:
    sys.exit("the models, or the predictions, differ")
PYTHON
