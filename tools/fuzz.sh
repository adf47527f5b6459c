#!/usr/bin/env bash
# Runs the fuzz targets of tests/fuzz with clang's libFuzzer, under the address and
# undefined-behaviour sanitizers, one after the other.
#
#   tools/fuzz.sh TARGET|all RUNS|SECONDSs     e.g. tools/fuzz.sh all 1000000; tools/fuzz.sh npy 60s
#
# Prints executions, seconds, coverage and what 10^7 executions would take, for each reader and for
# all of them, and keeps these lines in build-fuzz/executions.log. A reader that fails says where
# its input is, build-fuzz/failed/, and the next one is run. Put the input into
# tests/fuzz/corpus/TARGET/found-WORDS when it is fixed. What libFuzzer learnt is kept in
# build-fuzz/corpus and used the next time. Needs clang (tools/setup.sh full).
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# = 2 ] && [[ $2 =~ ^[1-9][0-9]*s?$ ]] || { sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 2; }
targets=$1 limit=-runs=$2
[ "$2" = "${2%s}" ] || limit=-max_total_time=${2%s}
build='build-fuzz'
if [ "$targets" = all ]; then
    targets=$(find tests/fuzz -name 'fuzz_*.c' | sed -E 's/.*fuzz_(.*)\.c/\1/' | sort)
fi
mkdir -p $build/objects $build/failed
flags=(-std=gnu11 -O2 -g -fno-omit-frame-pointer -fno-sanitize-recover=all -DPGCN_SMALL_WINDOWS -DPGCN_ISA=baseline
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
for file in src/{base,io,graph,data,kernels,paths,nn,models}/*.c src/train/{config,usage,recipe_*}.c tests/fuzz/fuzz.c; do
    compile "$file"
    objects+=("$(object_of "$file")")
done

say() { printf '%s\n' "$*" | tee -a $build/executions.log; }
# report NAME EXECUTIONS MILLISECONDS MORE
report() {
    local rate=$(($2 * 1000 / ($3 + 1) + 1))
    say "$1: $2 executions in $(($3 / 1000)) s, $rate a second;$4 10^7 take $((10000000 / rate / 60)) min"
}
# fuzz TARGET
fuzz() {
    local target=$1 log=$build/$1.log begin
    compile "tests/fuzz/fuzz_$target.c"
    # shellcheck disable=SC2086 # several libraries
    clang -fsanitize=fuzzer,address,undefined "${objects[@]}" \
        "$(object_of "tests/fuzz/fuzz_$target.c")" -o "$build/fuzz_$target" $libraries -lpthread -lm
    mkdir -p "$build/corpus/$target"
    begin=$(date +%s%3N)
    FUZZ_SCRATCH=$scratch "$build/fuzz_$target" "$limit" -timeout=20 -rss_limit_mb=4096 \
        -max_len=16384 -print_final_stats=1 -artifact_prefix="$build/failed/$target-" \
        "$build/corpus/$target" "tests/fuzz/corpus/$target" >"$log" 2>&1 || {
        grep -aE 'ERROR|runtime error|^fuzz:|SUMMARY|Test unit written' "$log" | head -n 8
        say "$target: FAILED, see $log"
        return 1
    }
    spent=$(($(date +%s%3N) - begin))
    runs=$(sed -nE 's/^stat::number_of_executed_units: *//p' "$log")
    report "$target" "$runs" "$spent" " $(grep -aoE 'cov: [0-9]+' "$log" | tail -n 1),"
}

total_runs=0 total_spent=0 readers=0 failed=()
for target in $targets; do
    if ! fuzz "$target"; then
        failed+=("$target")
        continue
    fi
    readers=$((readers + 1)) total_runs=$((total_runs + runs)) total_spent=$((total_spent + spent))
done
if [ $readers -gt 0 ]; then
    minutes=$((total_spent * 10000 / (total_runs / 1000 + 1) * readers / 60000))
    say "$readers readers without a finding: $total_runs executions in $((total_spent / 1000)) s;" \
        "10^7 of each take about $minutes min"
fi
[ ${#failed[@]} -eq 0 ] || { say "failed: ${failed[*]}" && exit 1; }
