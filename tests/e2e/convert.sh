#!/usr/bin/env bash
# data convert: narrow features, data larger than the memory it may take, what was interrupted goes on, a full
# disk loses nothing, and what does not fit is said at once.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

law=powerlaw:nodes=20000,edges=150000,features=30

# narrow features: smaller files, shown by info, other fingerprints
run 0 pathgcn data convert $law --out full.pgcn
for store in float16 bf16 int8; do
    run 0 pathgcn data convert $law --store $store --out $store.pgcn
    [ "$(stat -c %s $store.pgcn)" -lt "$(stat -c %s full.pgcn)" ] || fail "$store is not smaller"
    run 0 pathgcn data check $store.pgcn
    run 0 pathgcn data info $store.pgcn
    holds "$out" "$store in the file, float32 in memory"
    run 0 pathgcn data info $store.pgcn --json
    holds "$out" "\"feature_store\":\"$store\""
done
run 0 pathgcn data info full.pgcn --json
holds "$out" '"feature_store":"float32"'

# the settings of a built-in set are no steps for its file
run 0 pathgcn data convert sbm:nodes=80,classes=2,features=6 --out block.pgcn
run 0 pathgcn train block.pgcn --recipe none --epochs 2 --quiet --out block
run 0 pathgcn eval block/model.safetensors block.pgcn

# the same bytes within little memory, of a built-in set, of the user's own text, of a container, of arrays
run 0 pathgcn data convert $law --memory 24M --out small.pgcn
cmp full.pgcn small.pgcn || fail "a built-in set is another file within 24M"
[ ! -e small.pgcn.parts ] || fail "the temporary files are still there"
run 0 pathgcn data convert full.pgcn --memory 24M --store int8 --out again.pgcn
run 0 pathgcn data info again.pgcn
again=$(grep fingerprint "$out")
run 0 pathgcn data info int8.pgcn
[ "$again" = "$(grep fingerprint "$out")" ] || fail "a container gives other int8 features than its source"
awk 'BEGIN { srand(3); for (i = 0; i < 120000; i++) print "n" int(rand() * 9000) "," "n" int(rand() * 9000) "," 1 + int(rand() * 9) }' >edges.csv
awk 'BEGIN { srand(4); for (i = 0; i < 9000; i++) print "n" i "," rand() "," rand() "," int(rand() * 50) }' >features.csv
awk 'BEGIN { srand(5); for (i = 0; i < 9000; i++) print "n" i "," int(rand() * 4) }' >labels.csv
own=(--edges edges.csv --features features.csv --labels labels.csv)
run 0 pathgcn data convert "${own[@]}" --out own.pgcn
run 0 pathgcn data convert "${own[@]}" --memory 16M --out own_small.pgcn
cmp own.pgcn own_small.pgcn || fail "own files are another file within 16M"
run 0 pathgcn data convert "${own[@]}" --prepare largest-component,order=community --out o1.pgcn
run 0 pathgcn data convert "${own[@]}" --prepare largest-component,order=community --memory 16M --out o2.pgcn
cmp o1.pgcn o2.pgcn || fail "steps give another file within 16M"

# wrong values
run 2 pathgcn data convert karate --out k.pgcn --memory 1M
holds "$err" "--memory is '1M', expected a size from 16M on"
run 2 pathgcn data convert karate --out k.pgcn --memory much
run 2 pathgcn data convert karate --out k.pgcn --store int4
holds "$err" "expected float32, float16, bf16 or int8"
run 2 pathgcn data convert karate --out k.npz --store int8
holds "$err" "is for containers"
[ ! -e k.pgcn ] || fail "a file was made of wrong values"

# a limit of file lengths is a full disk to us: a sentence, no file, and the same command goes on
limited() { (ulimit -f 2000 && trap '' XFSZ && "$PATHGCN" "$@"); } # 2 MB
run 1 limited data convert $law --memory 24M --out full_disk.pgcn
holds "$err" "raise the limit of file sizes" "the same command goes on"
[ "$(wc -l <"$err")" -eq 1 ] || fail "not one sentence"
[ ! -e full_disk.pgcn ] || fail "half a file was left"
[ -d full_disk.pgcn.parts ] || fail "nothing was kept"
run 0 pathgcn data convert $law --memory 24M --out full_disk.pgcn
cmp full.pgcn full_disk.pgcn || fail "going on after a full disk gives another file"
[ ! -e full_disk.pgcn.parts ] || fail "the temporary files are still there"

# a disk that is full, in the sorting of edges, in a temporary array, in the result: one sentence with the file, what it
# needs and what is left; the container that was there is as it was; with more room the same command goes on
full_disk() { # MIB SENTENCE: with so much room, and the rest afterwards
    mount -t tmpfs -o "size=$1m" none disk
    cp block.pgcn disk/law.pgcn
    run 1 pathgcn data convert $law --memory 24M --out disk/law.pgcn
    holds "$err" "$2" "No space left on device (" "are left on this disk); make space" "the same command goes on"
    [ "$(wc -l <"$err")" -eq 1 ] || fail "not one sentence"
    cmp block.pgcn disk/law.pgcn || fail "the container that was there has changed"
    [ "$(find disk -name '*.tmp' | wc -l)" = 0 ] || fail "half a file was left"
    mount -o remount,size=64m disk
    run 0 pathgcn data convert $law --memory 24M --out disk/law.pgcn
    cmp full.pgcn disk/law.pgcn || fail "going on after a full disk gives another file"
    [ "$(ls -A disk)" = law.pgcn ] || fail "the temporary files are still there"
    umount disk
}
mkdir disk
if mount -t tmpfs -o size=1m none disk 2>/dev/null; then
    trap 'umount disk 2>/dev/null || true; rm -rf "$scratch"' EXIT
    umount disk
    full_disk 1 "of sorted edges"
    full_disk 4 "cannot make a temporary file of"
    full_disk 8 "making room for its"
else
    echo "no file system may be mounted here: full disks were tried as limits of file lengths only"
fi

# what does not fit: at once, with what is needed and what there is
begin=$SECONDS
(ulimit -v 2000000 && run 1 "$PATHGCN" data info powerlaw:size=huge)
holds "$err" "powerlaw:size=huge' needs about 4.8 GiB" "are available" "data convert --memory"
(ulimit -v 2000000 && run 1 "$PATHGCN" train powerlaw:size=huge)
[ $((SECONDS - begin)) -lt 30 ] || fail "that took $((SECONDS - begin)) seconds"

# interrupted: nothing is written, and the same command goes on (skipped where it was too quick)
"$PATHGCN" data convert powerlaw:nodes=200000,edges=2000000 --memory 64M --out late.pgcn >"$out" 2>"$err" &
pid=$!
sleep 2
kill -INT $pid 2>/dev/null || true
code=0
wait $pid || code=$?
if [ "$code" != 0 ]; then
    [ "$code" = 130 ] || fail "exit code $code after Ctrl-C"
    holds "$err" "the same command goes on from there"
    [ ! -e late.pgcn ] || fail "half a file was left"
fi
run 0 pathgcn data convert powerlaw:nodes=200000,edges=2000000 --memory 64M --out late.pgcn
run 0 pathgcn data check late.pgcn
