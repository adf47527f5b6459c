#!/usr/bin/env bash
# Memory of a run: the peak is predicted within 15 %, computing again instead of keeping takes less of
# it and ends in the same bits, a resumed run may change its mind, and what cannot fit is refused.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

predicted_right() { # train arguments...
    local predicted measured
    run 0 pathgcn train "$@" --json --quiet --out measured --overwrite
    predicted=$(json "$out" predicted_peak_rss_bytes) measured=$(json "$out" peak_rss_bytes)
    [ -n "$sanitized" ] || awk -v p="$predicted" -v m="$measured" \
        'BEGIN { exit !(p > 0.85 * m && p < 1.15 * m) }' ||
        fail "predicted $predicted bytes, $measured were needed: train $*"
    echo "predicted $predicted, needed $measured: $*"
}

predicted_right karate --epochs 3
predicted_right sbm --epochs 3 --threads 1
predicted_right sbm:nodes=20000 --epochs 2 --channels 256
predicted_right sbm:nodes=3000 --epochs 2 --layers 32
kept=$(json "$out" peak_rss_bytes)
mv measured kept
predicted_right sbm:nodes=3000 --epochs 2 --layers 32 --recompute yes
again=$(json "$out" peak_rss_bytes)
[ -n "$sanitized" ] || [ "$((again * 10))" -lt "$((kept * 7))" ] || fail "$again bytes instead of $kept"
same_runs "kept and computed again" kept measured
[ -z "$cora" ] || predicted_right "$cora" --layers 64 --epochs 2

run 0 pathgcn train karate --layers 6 --epochs 8 --patience 0 --out whole --quiet
run 0 pathgcn train karate --layers 6 --epochs 5 --patience 0 --out parts --quiet
run 0 pathgcn train karate --layers 6 --epochs 8 --patience 0 --out parts --quiet --resume --recompute yes
same_runs "half of it computed again" whole parts

# A thousand times the memory of any machine. A sanitizer's malloc would end the program itself.
[ -n "$sanitized" ] || refused 1 "out of memory|needs about|in all|are available" train sbm:nodes=20000 --channels 65536 --layers 4096 --out nowhere --samples 64 --paths 1
