#!/usr/bin/env bash
# Every network beside PyTorch Geometric (make test-peers): logits and gradients, with our weights.
#
#   tests/peers/run.sh [MODEL...]
#
#   PEERS_PYTHON   a python3 that has torch and torch_geometric; without it a virtual environment is made
#   PEERS_VENV     where (build/peers); pip's own variables, PIP_INDEX_URL and the like, count
#   PATHGCN_BUILD  the build directory (build)
#
# Skipped with a sentence where the packages cannot be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${PATHGCN_BUILD:-build}
source tests/peers/environment.sh
peers_python || exit 0
exec "$python" tests/peers/compare.py "$build/peers_dump" "$@"
