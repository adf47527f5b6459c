#!/usr/bin/env bash
# What the end-to-end tests share: a directory of their own, assertions that show what went wrong,
# and data folders written without any help. `source` it first. ctest runs every script of this
# folder; run by itself, this one checks that its assertions can fail.
set -euo pipefail
: "${PATHGCN:?set PATHGCN to the program, e.g. PATHGCN=build/pathgcn}"
PATHGCN=$(realpath "$PATHGCN")
PATHGCN_SOURCE=$(realpath "${PATHGCN_SOURCE:-$(dirname "${BASH_SOURCE[0]}")/../..}")
# Cora is used where it is; a relative path is meant from where `make` was called.
cora=""
for candidate in "${PATHGCN_DATA:-/nonexistent}" "$PATHGCN_SOURCE/${PATHGCN_DATA:-nonexistent}"; do
    [ -z "$cora" ] && [ -d "$candidate/cora" ] && cora=$(realpath "$candidate/cora")
done
raw="" # the published files as they are, where they are
[ -z "$cora" ] || [ ! -d "${cora%/cora}/raw" ] || raw=${cora%/cora}/raw
unset PATHGCN_DATA
# shellcheck disable=SC2034 # for the scripts
sanitized=${PATHGCN_SANITIZE:-} # the program is then many times slower: do less
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/work"
cd "$scratch/work"
export XDG_CACHE_HOME=$scratch/cache # what the user has downloaded is of no concern
out=$scratch/stdout err=$scratch/stderr

# Tests that are not about the race for settings name a recipe: all but auto.sh, by this.
default_recipe=usual
pathgcn() {
    local word
    if [ "${1:-}" = train ] && [ -n "$default_recipe" ]; then
        for word; do
            case $word in --recipe | --recipe=* | --help) "$PATHGCN" "$@" && return || return ;; esac
        done
        shift
        "$PATHGCN" train --recipe "$default_recipe" "$@"
        return
    fi
    "$PATHGCN" "$@"
}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}
skip() {
    echo "SKIPPED: $*"
    exit 77
}
show_last() {
    echo "--- standard output:" && head -n 20 "$out" && echo "--- standard error:" && head -n 20 "$err"
} >&2

# run CODE COMMAND...: its output is in $out and $err, and it must exit with CODE.
run() {
    local wanted=$1 code=0
    shift
    "$@" >"$out" 2>"$err" </dev/null || code=$?
    [ "$code" = "$wanted" ] && return
    show_last
    fail "exit code $code, expected $wanted: $*"
}

# holds FILE TEXT...: every TEXT is somewhere in the file.
holds() {
    local file=$1 text
    shift
    for text; do
        grep -qF -e "$text" "$file" && continue
        show_last
        fail "'$text' is not in $file"
    done
}

# refused CODE 'words|more words' ARGUMENTS...: the program says so in one sentence, and nothing else.
refused() {
    local code=$1 words=$2 text
    shift 2
    run "$code" pathgcn "$@"
    [ ! -s "$out" ] || { show_last && fail "printed on standard output: pathgcn $*"; }
    [ "$(wc -l <"$err")" = 1 ] || { show_last && fail "more or less than one line: pathgcn $*"; }
    grep -qE '^pathgcn[a-z ]*: .{20,}' "$err" || { show_last && fail "no sentence: pathgcn $*"; }
    while IFS= read -r text; do holds "$err" "$text"; done < <(tr '|' '\n' <<<"$words")
}

sha() { sha256sum "$1" | cut -d ' ' -f 1; }

# same WHAT FILE FILE: byte for byte.
same() { cmp "$2" "$3" >&2 || fail "$1: $2 and $3 differ"; }

# same_runs WHAT DIR DIR: everything a run leaves that does not hold times.
same_runs() {
    local file
    for file in checkpoint.safetensors model.safetensors history.jsonl; do
        [ -s "$2/$file" ] || fail "$1: $2/$file is missing"
        same "$1" "$2/$file" "$3/$file"
    done
}

wait_for() { # seconds, command...: until it succeeds
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < end)) || fail "waited in vain for: $*"
        sleep 0.01
    done
}

# Finished jobs of an experiment.
records() { find "$1/jobs" -name '*.json' 2>/dev/null | wc -l; } # DIR
has_records() { [ "$(records "$1")" -ge "$2" ]; }                # DIR NUMBER

# No record of a search holds a test accuracy. (What grep -L returns depends on its version.)
untested() { # DIR
    local tested
    tested=$(grep -L '"test_accuracy": null' "$1"/jobs/*.json || true)
    [ -z "$tested" ] || fail "these records hold a test accuracy: $tested"
}

no_leftovers() { # DIR...
    local found
    found=$(find "$@" -name '*.tmp')
    [ -z "$found" ] || fail "temporary files are left: $found"
}

# json FILE KEY: the number or text of a key of the outermost object of the last line.
json() {
    local value
    value=$(tail -n 1 "$1" | grep -oE "\"$2\":(\"[^\"]*\"|[-+0-9.eE]+)" | head -n 1) ||
        { show_last && fail "no key $2 in $1"; }
    value=${value#*:}
    value=${value#\"}
    echo "${value%\"}"
}

# commands_of FILE: the pathgcn commands in ```sh blocks of a document, one a line.
commands_of() {
    awk '/^```/ { inside = /^```sh/; next }
        !inside { next }
        { line = held $0; held = "" }
        line ~ /\\$/ { sub(/\\$/, "", line); held = line; next }
        line ~ /^([A-Z_]+=[^ ]* )*pathgcn / { print line }' "$1"
}

# ---- several ranks -------------------------------------------------------------------------------

# need_ranks: the test is skipped where there is no Open MPI; afterwards mpirun starts any number of ranks.
need_ranks() {
    [ -z "$sanitized" ] || skip "MPI is not clean under sanitizers"
    command -v mpirun >/dev/null || skip "there is no mpirun (Debian: openmpi-bin)"
    [ -e "$PATHGCN_BUILD/pathgcn_mpi.so" ] || skip "this build has no module for MPI (Debian: libopenmpi-dev)"
    mpirun --version | grep -q "Open MPI" || skip "this test knows the options of Open MPI's mpirun only"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    export TMPDIR=$scratch # a session of MPI has its files there
}
ranks() { # RANKS ARGUMENTS...
    mpirun -n "$1" "$PATHGCN" "${@:2}"
}
# rank_process RANK: the process of that rank, of the job that this test has started last.
rank_process() {
    local directory
    for directory in /proc/[0-9]*; do
        { tr '\0' '\n' <"$directory/environ"; } 2>/dev/null >"$scratch/environ" || continue
        grep -qxF "TMPDIR=$scratch" "$scratch/environ" || continue
        grep -qxE "(OMPI_COMM_WORLD_RANK|PMI_RANK)=$1" "$scratch/environ" && echo "${directory#/proc/}" && return
    done
    return 1
}

# tensors FILE: a hash of what comes after the header of a safetensors file.
tensors() {
    local header
    header=$(od -An -t u8 -N 8 "$1" | tr -d ' ')
    tail -c +$((header + 9)) "$1" | sha256sum
}
# same_training DIRECTORY OTHER: history and tensors; headers may differ in what does not change a bit.
same_training() {
    local file
    cmp "$1/history.jsonl" "$2/history.jsonl" || fail "other history: $2"
    for file in checkpoint model; do
        [ "$(tensors "$1/$file.safetensors")" = "$(tensors "$2/$file.safetensors")" ] ||
            fail "other tensors: $2/$file.safetensors"
    done
}

# ---- data folders --------------------------------------------------------------------------------

# npy FILE TYPE SHAPE: a .npy file with that header; the data come from standard input.
npy() {
    local header="{'descr': '$2', 'fortran_order': False, 'shape': $3, }"
    local length=$(((${#header} + 11 + 63) / 64 * 64 - 10))
    {
        printf '\x93NUMPY\x01\x00'
        # shellcheck disable=SC2059 # the format is the escaped length
        printf "\\x$(printf %02x $((length & 255)))\\x$(printf %02x $((length >> 8)))"
        printf "%-$((length - 1))s\n" "$header"
        cat
    } >"$1"
}
u8() { # NUMBER...
    local n
    for n; do printf '%b' "\\x$(printf %02x $((n & 255)))"; done
}
i32() {
    local n
    for n; do u8 "$n" $((n >> 8)) $((n >> 16)) $((n >> 24)); done
}
f32() { # of the numbers below only
    local n
    for n; do
        case $n in
            0) i32 0 ;;
            0.5) i32 $((0x3f000000)) ;;
            1) i32 $((0x3f800000)) ;;
            nan) i32 $((0x7fc00000)) ;;
            inf) i32 $((0x7f800000)) ;;
            *) fail "f32 does not know $n" ;;
        esac
    done
}

# ring DIR: twelve nodes, 0 to 10 in a ring and 11 alone; label = node modulo 2; features tell the
# label of most. Training 0-3, validation 4-7, test 8-11.
ring() {
    mkdir -p "$1"
    local node edges=() x=() y=()
    for node in {0..10}; do edges+=("$node" $(((node + 1) % 11))); done
    for node in {0..11}; do
        y+=($((node % 2)))
        if ((node % 2)); then x+=(0 1 0.5); else x+=(1 0 0.5); fi
    done
    i32 "${edges[@]}" | npy "$1/edges.npy" '<i4' '(11, 2)'
    f32 "${x[@]}" | npy "$1/x.npy" '<f4' '(12, 3)'
    i32 "${y[@]}" | npy "$1/y.npy" '<i4' '(12,)'
    u8 1 1 1 1 0 0 0 0 0 0 0 0 | npy "$1/train_mask.npy" '|u1' '(12,)'
    u8 0 0 0 0 1 1 1 1 0 0 0 0 | npy "$1/val_mask.npy" '|u1' '(12,)'
    u8 0 0 0 0 0 0 0 0 1 1 1 1 | npy "$1/test_mask.npy" '|u1' '(12,)'
}

# ---- by itself -----------------------------------------------------------------------------------

about() { # VALUE VALUE TOLERANCE
    awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { exit !(a - b <= t && b - a <= t) }' ||
        fail "$1 and $2 are further apart than $3"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    must_fail() { if ("$@") >"$scratch/inner" 2>&1; then fail "this assertion cannot fail: $*"; fi; }
    echo one >a
    echo two >b
    run 0 true
    run 1 false
    must_fail run 0 false
    must_fail run 1 true
    holds a one
    must_fail holds a two
    must_fail holds a one two
    same "two copies" a a
    must_fail same "two files" a b
    refused 2 "no command 'nonsense'|--help" nonsense
    must_fail refused 1 "no command" nonsense
    must_fail refused 2 "no command|absent words" nonsense
    must_fail refused 0 "version" --version
    must_fail refused 2 "Usage"
    mkdir -p records/jobs
    echo '"test_accuracy": null' >records/jobs/1.json
    untested records
    echo '"test_accuracy": 50' >records/jobs/2.json
    must_fail untested records
    touch x.tmp
    must_fail no_leftovers .
    ring folder
    run 0 pathgcn data info folder --json
    [ "$(json "$out" nodes) $(json "$out" edges) $(json "$out" isolated)" = "12 11 1" ] ||
        fail "the ring is not a ring"
    must_fail json "$out" absent
    mkdir one two
    echo 1 | tee one/checkpoint.safetensors one/model.safetensors >one/history.jsonl
    must_fail same_runs "runs" one two
    cp one/* two
    same_runs "runs" one two
fi
