#!/usr/bin/env bash
# Runs the fuzz targets of tests/fuzz with clang's libFuzzer, under the address and
# undefined-behaviour sanitizers, one after the other.
#
#   tools/fuzz.sh TARGET|all SECONDS       e.g. tools/fuzz.sh npy 60; tools/fuzz.sh all 60
#
# Prints seconds, executions and coverage of each, and stops with the input that failed:
# build-fuzz/failed/. Put it into tests/fuzz/corpus/TARGET/found-WORDS when it is fixed. What
# libFuzzer learnt is kept in build-fuzz/corpus and used the next time. Needs clang
# (tools/setup.sh full).
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# = 2 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" && exit 2; }
targets=$1 seconds=$2
build='build-fuzz'
if [ "$targets" = all ]; then
    targets=$(find tests/fuzz -name 'fuzz_*.c' | sed -E 's/.*fuzz_(.*)\.c/\1/' | sort)
fi
mkdir -p $build/objects $build/failed
flags=(-std=gnu11 -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all -DPGCN_SMALL_WINDOWS
    -Iinclude -Isrc -Itests/fuzz)
memory=/dev/shm
[ -w $memory ] || memory=${TMPDIR:-/tmp}
scratch=$(mktemp -d "$memory/pathgcn-fuzz-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
libraries=$(pkg-config --libs jansson libzip libcurl libisal libcrypto)

object_of() { echo "$build/objects/$(tr / _ <<<"${1%.c}").o"; }
# compile FILE: if it or any header is newer than its object.
compile() {
    local object newer=$1
    object=$(object_of "$1")
    if [ -e "$object" ]; then
        newer=$(find include src tests/fuzz \( -name '*.h' -o -path "$1" \) -newer "$object")
    fi
    [ -n "$newer" ] || return 0
    clang "${flags[@]}" -fsanitize=fuzzer-no-link,address,undefined -c "$1" -o "$object"
}
objects=()
for file in src/{base,io,graph,data}/*.c src/train/{config,recipe_*}.c tests/fuzz/fuzz.c; do
    compile "$file"
    objects+=("$(object_of "$file")")
done

for target in $targets; do
    program=$build/fuzz_$target
    compile "tests/fuzz/fuzz_$target.c"
    # shellcheck disable=SC2086 # several libraries
    clang -fsanitize=fuzzer,address,undefined "${objects[@]}" \
        "$(object_of "tests/fuzz/fuzz_$target.c")" -o "$program" $libraries -lpthread -lm
    mkdir -p "$build/corpus/$target"
    log=$build/$target.log
    begin=$(date +%s)
    FUZZ_SCRATCH=$scratch "$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 \
        -max_len=16384 -print_final_stats=1 -artifact_prefix="$build/failed/$target-" \
        "$build/corpus/$target" "tests/fuzz/corpus/$target" >"$log" 2>&1 || {
        grep -aE 'ERROR|runtime error|^fuzz:|SUMMARY|Test unit written' "$log" | head -n 8
        echo "$target: FAILED, see $log"
        exit 1
    }
    runs=$(sed -nE 's/^stat::number_of_executed_units: *//p' "$log")
    covered=$(grep -aoE 'cov: [0-9]+' "$log" | tail -n 1)
    echo "$target: $(($(date +%s) - begin)) s, $runs executions, ${covered:-cov: ?}"
done
