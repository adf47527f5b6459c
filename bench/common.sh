# shellcheck shell=bash
# shellcheck disable=SC2034 # used by the scripts of this folder, which source this file
# Where things are, and what every JSON line should say.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
python=${PYTHON:-/usr/bin/python3}
build=${PATHGCN_BUILD:-build}
results=${BENCH_RESULTS:-$build/bench}
mkdir -p "$results"
BENCH_COMMIT=$(git describe --always --dirty 2>/dev/null || echo unknown)
export BENCH_COMMIT

have_set() { # NAME: says so if it is not there
    [ -d "${PATHGCN_DATA:-}/$1" ] && return
    echo "bench: PATHGCN_DATA does not name a folder that holds $1/: $1 is not measured."
    return 1
}
