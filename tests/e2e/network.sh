#!/usr/bin/env bash
# A link between two hosts that goes down in the middle of a training, in network namespaces of this machine
# (bench/network.sh): the job ends with a sentence, no process is left, and the run goes on to the same bits.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -z "$sanitized" ] || skip "MPI is not clean under sanitizers"
code=0
NETWORK_PARTS=drop BENCH_RESULTS=$scratch timeout 300 "$PATHGCN_SOURCE/bench/network.sh" >"$out" 2>"$err" || code=$?
[ $code != 77 ] || skip "$(sed 's/.*skipped, //' "$out")"
[ $code = 0 ] || { show_last && fail "exit code $code"; }
holds "$out" "has not answered rank" "goes on to the same bits"
