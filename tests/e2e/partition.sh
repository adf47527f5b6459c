#!/usr/bin/env bash
# data partition: parts are written into the container once, with the same ids and predictions afterwards; what it
# prints; what it refuses.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

run 0 pathgcn data partition grid:rows=40,cols=40 --parts 8 --by builtin --out grid.pgcn
holds "$out" "grid:rows=40,cols=40:order=parts,groups=8" "7, of 256 nodes each but the last" "built in" "written to" "grid.pgcn" \
    "ranks" "visited" "memory"
run 0 pathgcn data info grid.pgcn
holds "$out" "order=parts,groups=8"
run 0 pathgcn data check grid.pgcn

# for programs
run 0 pathgcn data partition grid:rows=40,cols=40 --parts 8 --by builtin --ranks 2,7 --channels 16 --out b.pgcn --json
holds "$out" '"by":"builtin"' '"parts":7' '"rows":256' '"cut_share":' '"bytes_step":' '"memory":' '"channels":16' '"samples":2'
cmp grid.pgcn b.pgcn || fail "the same partition twice gives other bytes"
fetched() { grep -o '"bytes_step":[0-9]*' "$out" | head -1 | grep -o '[0-9]*$'; }
two=$(fetched)
run 0 pathgcn data partition grid:rows=40,cols=40 --parts 8 --by builtin --ranks 2,7 --channels 16 --samples 6 --out c.pgcn --json
[ "$(fetched)" = $((3 * two)) ] || fail "three times the samples: $(fetched) bytes in place of $two"

# batch norm needs more memory for the rows of a rank, and nothing else
of_rows() { grep -o '"memory_rows":[0-9]*' "$out" | head -1 | grep -o '[0-9]*$'; }
plain_rows=$(of_rows)
run 0 pathgcn data partition grid:rows=40,cols=40 --parts 8 --by builtin --ranks 2,7 --channels 16 --samples 6 --batch-norm yes \
    --out c.pgcn --json
holds "$out" '"batch_norm":true'
[ "$(of_rows)" -gt "$plain_rows" ] && [ "$(fetched)" = $((3 * two)) ] || fail "batch norm: $(of_rows) bytes, without $plain_rows"
run 2 pathgcn data partition grid --batch-norm maybe --out a.pgcn
holds "$err" "batch-norm"

# a container is written over itself, once; the model of the plain data predicts the same for it
run 0 pathgcn data convert sbm:nodes=300 --out own.pgcn
run 0 pathgcn train own.pgcn --epochs 5 --out plain --quiet
run 0 pathgcn predict plain/model.safetensors own.pgcn --out before.csv
run 0 pathgcn data partition own.pgcn --parts 4 --by builtin
run 0 pathgcn predict plain/model.safetensors own.pgcn --out after.csv
paste -d, before.csv after.csv | awk -F, 'NR > 1 && ($1 != $4 || $2 != $5 || ($3 - $6) ^ 2 > 1e-10) { exit 1 }' ||
    fail "a partition changes predictions"
run 2 pathgcn data partition own.pgcn --parts 4
holds "$err" "are in another order already" "order=parts,groups=4"
run 0 pathgcn train own.pgcn --epochs 2 --out parted --threads 1 --quiet
run 0 pathgcn train own.pgcn --epochs 2 --out parted2 --threads 2 --quiet
cmp parted/model.safetensors parted2/model.safetensors || fail "threads change bits on parts"

# METIS, where it is
run 0 pathgcn info
if grep -q METIS "$out"; then
    run 0 pathgcn data partition grid:rows=40,cols=40 --parts 8 --out metis.pgcn --json
    holds "$out" '"by":"metis"'
    run 0 pathgcn data partition grid:rows=40,cols=40 --parts 8 --by metis --out metis2.pgcn
    cmp metis.pgcn metis2.pgcn || fail "METIS gives other parts the second time"
else
    echo "skipped: this program has no METIS"
    run 2 pathgcn data partition grid --by metis --out a.pgcn
    holds "$err" "libmetis-dev"
fi

# what is refused
run 2 pathgcn data partition karate
holds "$err" "--out is missing"
run 2 pathgcn data partition karate --out karate.npz
holds "$err" "'karate.npz', expected the name of a file that ends in .pgcn"
run 2 pathgcn data partition karate --by scotch --out a.pgcn
holds "$err" "--by is 'scotch', expected auto | metis | builtin"
run 2 pathgcn data partition karate --parts 0 --out a.pgcn
holds "$err" "--parts" "4096"
run 2 pathgcn data partition sbm:nodes=300 --parts 4 --ranks 2,9 --out a.pgcn
holds "$err" "9 ranks: expected 1 to 3"
[ ! -e a.pgcn ] || fail "a file is written although the command failed"

# what is partitioned already
run 0 pathgcn data partition sbm:nodes=300 --parts 4 --by builtin --out parts.pgcn
cp parts.pgcn before.pgcn
run 2 pathgcn data partition parts.pgcn --parts 4 --by builtin
holds "$err" "are in another order already (order=parts,groups=4)" "partition its source again"
cmp parts.pgcn before.pgcn || fail "a refused partition changed the file"

# A search hides the test nodes of a file that is partitioned, and trains on its groups.
run 0 pathgcn tune parts.pgcn --recipe usual --candidates 2 --runs 1 --epochs 5 --quiet --out tuned
run 0 pathgcn tune parts.pgcn --nested --recipe usual --candidates 2 --runs 1 --epochs 5 --quiet --out nested
run 0 pathgcn train parts.pgcn:without-test --recipe usual --epochs 3 --quiet --out hidden-after
run 0 pathgcn train sbm:nodes=300:without-test,order=parts,groups=4 --recipe usual --epochs 3 --quiet --out hidden-before
cmp hidden-after/history.jsonl hidden-before/history.jsonl || fail "labels hidden after the order give another training"

# Fewer parts than were asked for are told.
run 0 pathgcn data partition karate --parts 4 --out few.pgcn
grep -q "note: 1 parts instead of 4" "$err" || fail "$(cat "$err")"

# Ctrl-C ends it in the middle, METIS too, and leaves no file.
"$PATHGCN" data partition powerlaw:nodes=150000,edges=1500000,features=1,classes=2 --parts 64 --out stopped.pgcn \
    2>stopped.err &
pid=$!
sleep 1
kill -INT $pid
code=0 && wait $pid || code=$?
[ $code = 130 ] && grep -q "stopped while" stopped.err || fail "Ctrl-C: code $code, $(cat stopped.err)"
[ ! -e stopped.pgcn ] || fail "a file is written although the command was stopped"
