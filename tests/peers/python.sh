#!/usr/bin/env bash
# The wheel of the Python package beside what it works with (make test-peers): python/tests with the newest and the
# oldest NumPy, SciPy and scikit-learn, and with PyTorch and PyTorch Geometric; then what its import costs.
#
#   tests/peers/python.sh [newest | oldest | torch]...    all of them without a name
#
#   PEERS_PYTHON, PEERS_VENV   the Python with PyTorch, as of run.sh
#   PATHGCN_BUILD              the build directory (build)
#
# Skipped with a sentence where PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${PATHGCN_BUILD:-build}
folder=$build/wheel
source tests/peers/environment.sh

code=0
tools/wheel.sh "$folder" || code=$?
[ $code != 77 ] || exit 0
[ $code = 0 ] || exit $code
wheel=$(realpath "$folder"/*.whl)
tests=$PWD/python/tests
failed=0

# The tests by a Python; from a folder without the sources, so that it is the wheel that is imported.
run_tests() { # NAME PYTHON
    echo "== python, $1: $("$2" -c 'if True:
        import importlib.metadata as m
        for name in ("numpy", "scipy", "scikit-learn", "torch", "torch_geometric"):
            try: print(name, m.version(name), end=" ")
            except m.PackageNotFoundError: pass')"
    (cd "$folder/elsewhere" && "$2" -m pytest -q -rs -p no:cacheprovider "$tests") || failed=1
}

# An environment with the wheel and these packages; fails with a sentence.
environment() { # NAME PACKAGE...
    local name=$1 log=$folder/$1.log
    shift
    python=$PWD/$folder/$name/bin/python
    [ -x "$python" ] || "$PWD/$folder/tools/bin/python" -m venv "$folder/$name" >"$log" 2>&1
    "$python" -m pip install --retries 1 --only-binary :all: pytest "$@" >>"$log" 2>&1 &&
        "$python" -m pip install --retries 1 --force-reinstall --no-deps "$wheel" >>"$log" 2>&1 && return
    echo "peers: python, $name: skipped, because pip cannot install $* here; $log says why."
    return 1
}

newest() {
    environment newest numpy scipy scikit-learn pandas networkx || return 0
    run_tests newest "$python"
    "$python" tests/peers/import_cost.py
}
# The oldest that has wheels for Python 3.11, and is not older than the package asks for.
oldest() {
    environment oldest numpy==1.23.5 scipy==1.9.3 scikit-learn==1.2.2 || return 0
    run_tests oldest "$python"
}
# That environment belongs to others too: wheel and pytest are put beside it.
torch() {
    local log=$PWD/$folder/torch.log beside=$PWD/$folder/torch
    peers_python || return 0
    python=$(realpath -s "$(command -v "$python")")
    rm -rf "$beside"
    if ! "$folder/tools/bin/python" -m pip install --retries 1 --target "$beside" pytest >"$log" 2>&1 ||
        ! "$folder/tools/bin/python" -m pip install --target "$beside" --no-deps "$wheel" >>"$log" 2>&1; then
        echo "peers: python, torch: skipped, because pip cannot install pytest here; $log says why."
        return 0
    fi
    PYTHONPATH=$beside run_tests torch "$python"
}

mkdir -p "$folder/elsewhere"
[ $# -gt 0 ] || set -- newest oldest torch
for name; do "$name"; done
exit $failed
