#!/usr/bin/env bash
# The checks of completion.sh in fish; skipped where it is not installed.
shell=fish
# shellcheck source=tests/e2e/completion.sh
source "$(dirname "${BASH_SOURCE[0]}")/completion.sh"
