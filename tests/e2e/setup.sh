#!/usr/bin/env bash
# tools/setup.sh asks for LIBXSMM and METIS only where there are such packages. apt-get and its relatives are replaced:
# nothing is installed.
# shellcheck source=tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
mkdir bin
printf '#!/bin/sh\nexit 0\n' | tee bin/apt-get bin/sudo bin/dpkg-query >/dev/null
printf '#!/bin/sh\n[ "$*" = "show $HAS" ]\n' >bin/apt-cache
chmod +x bin/*
export PATH=$PWD/bin:$PATH

HAS=libxsmm-dev run 0 "$PATHGCN_SOURCE/tools/setup.sh" bench
holds "$out" "installing gcc" "libopenblas-pthread-dev" "libxsmm-dev"
HAS=nothing run 0 "$PATHGCN_SOURCE/tools/setup.sh" bench
holds "$out" "installing gcc" "libopenblas-pthread-dev"
! grep -q -e libxsmm -e libmetis "$out" || fail "a package that does not exist is asked for"
HAS=libmetis-dev run 0 "$PATHGCN_SOURCE/tools/setup.sh" build
holds "$out" "installing gcc" "libmetis-dev"
run 2 "$PATHGCN_SOURCE/tools/setup.sh" nonsense
holds "$err" "usage: tools/setup.sh"
