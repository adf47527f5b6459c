# shellcheck shell=bash
# peers_python: sets `python` to one that has PyTorch and PyTorch Geometric, for tests/peers/run.sh and bench/peers.sh.
# That of PEERS_PYTHON, or of a virtual environment in PEERS_VENV (the folder `peers` of $build). Fails with a sentence.
peers_python() {
    local folder=${PEERS_VENV:-$build/peers} log
    python=${PEERS_PYTHON:-$folder/bin/python}
    if "$python" -c 'import torch, torch_geometric' 2>/dev/null; then return; fi
    if [ "${PEERS_PYTHON:-}" ]; then
        echo "peers: skipped, because $PEERS_PYTHON (PEERS_PYTHON) cannot import torch and torch_geometric."
        return 1
    fi
    log=$folder.log
    mkdir -p "$(dirname "$folder")"
    echo "peers: installing torch and torch_geometric into $folder ($log)"
    if ! python3 -m venv "$folder" >"$log" 2>&1; then
        echo "peers: skipped, because python3 makes no virtual environment here; install python3-venv."
        return 1
    fi
    if ! "$python" -m pip install --retries 1 'torch==2.13.0' >>"$log" 2>&1 ||
        ! "$python" -m pip install --retries 1 torch_geometric >>"$log" 2>&1; then
        echo "peers: skipped, because pip cannot install torch and torch_geometric here; $log says why."
        return 1
    fi
}
