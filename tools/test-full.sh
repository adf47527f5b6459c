#!/usr/bin/env bash
# The slow part of `make test-full`, after `make test`: the tests again under the address and
# undefined-behaviour sanitizers, the thread sanitizer, clang, a leak check by valgrind, and a small
# version of the paper's semi-supervised table.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Runs a command and shows what it printed only if it failed.
quietly() {
    "$@" >"$scratch/log" 2>&1 || {
        cat "$scratch/log"
        exit 1
    }
}
# directory, cmake options...
build() {
    local directory=$1
    shift
    echo "== $directory: $*"
    quietly cmake -S . -B "$directory" -DPATHGCN_TESTS=ON -DPATHGCN_WERROR=ON "$@"
    quietly cmake --build "$directory" -j"$jobs"
}
run_tests() {
    local directory=$1
    shift
    ctest --test-dir "$directory" -j"$jobs" --output-on-failure "$@"
}

build build-asan -DPATHGCN_SANITIZE=address,undefined
run_tests build-asan

build build-tsan -DPATHGCN_SANITIZE=thread
run_tests build-tsan -L unit
quietly build-tsan/pathgcn train karate --epochs 20 --threads 4 --out "$scratch/tsan"

# Clang warns about other things than GCC, and its undefined-behaviour checks are others too.
build build-clang -DCMAKE_C_COMPILER=clang -DPATHGCN_SANITIZE=undefined
run_tests build-clang

echo "== valgrind"
# The baseline kernels, because valgrind 3.19 knows no AVX-512.
PATHGCN_ISA=baseline quietly valgrind --quiet --leak-check=full \
    --errors-for-leak-kinds=definite,indirect --error-exitcode=1 \
    build/pathgcn train karate --epochs 5 --threads 2 --out "$scratch/valgrind"
echo "== fuzz: that it still links, and a second of one reader"
quietly tools/fuzz.sh recipe 1s
echo "== reproduce semi --quick"
if [ -d "${PATHGCN_DATA:-/nonexistent}/cora" ]; then
    begin=$SECONDS
    quietly build/pathgcn reproduce semi --quick --fresh --out "$scratch/reproduce"
    took=$((SECONDS - begin))
    echo "the paper's semi-supervised table in small: $took seconds"
    [ $took -lt 300 ] || { echo "it must take less than 5 minutes on two cores" && exit 1; }
else
    echo "skipped: PATHGCN_DATA is not set to a folder with cora, citeseer and pubmed"
fi
echo "test-full: all passed"
