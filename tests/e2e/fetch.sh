#!/usr/bin/env bash
# pathgcn data fetch against a server on this machine that breaks in every way: http_server.py. The
# files are the real ones, where they are at hand, since the table knows their SHA-256.
raw=${PATHGCN_DATA:+$(realpath -m "$PATHGCN_DATA")/raw}
# shellcheck source=tests/e2e/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export XDG_CACHE_HOME=$scratch/cache
cache=$XDG_CACHE_HOME/pathgcn
unset PATHGCN_MIRROR http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy

# ---- without any file ----------------------------------------------------------------------------

run 0 pathgcn data fetch --list
holds "$out" "ogbn-arxiv" "MUTAG" "film (actor)" "licence:" "reference:" "48/32/20" "that of texas"
run 0 pathgcn data fetch --list --json
[ "$(grep -o '"in_paper":true' "$out" | wc -l)" = 15 ] || fail "not fifteen data sets of the paper"
run 0 pathgcn data fetch --help
refused 2 "name a data set|--all|--list" data fetch
refused 2 "coar|did you mean cora|--list" data fetch coar
refused 2 "aktor|did you mean actor" data fetch aktor
refused 2 "nothing-like-it" data fetch cora nothing-like-it
refused 2 "--retries|-1|0 to 100" data fetch cora --retries -1
refused 2 "--least-rate|fast" data fetch cora --least-rate fast
refused 2 "--pause|soon" data fetch cora --pause soon
refused 2 "nowhere|neither a URL" data fetch cora --mirror nowhere
refused 2 "only the mirror" data fetch cora --mirror-only
if [ "${PATHGCN_FETCH:-ON}" = OFF ]; then
    refused 1 "this build cannot download" data fetch cora
    [ ! -e "$cache" ] || fail "a folder appeared where nothing can be downloaded"
    skip "this build cannot download"
fi
refused 1 "/proc/nothing|--out" data fetch cora --out /proc/nothing --mirror . --mirror-only
run 2 env -u HOME -u XDG_CACHE_HOME "$PATHGCN" data fetch cora --mirror .
holds "$err" "XDG_CACHE_HOME" "--out"
[ ! -e "$cache/cora" ] || fail "a folder appeared without any file"

# ---- the server ----------------------------------------------------------------------------------

[ -d "$raw/cora" ] || skip "PATHGCN_DATA is not set, or has no folder raw"
python=""
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import http.server' 2>/dev/null; then python=$candidate && break; fi
done
[ -n "$python" ] || skip "python3 is not installed"
log=$scratch/log
"$python" "$PATHGCN_SOURCE/tests/e2e/http_server.py" "$scratch/www" "$log" >"$scratch/port" &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$scratch"' EXIT
for _ in {1..100}; do [ -s "$scratch/port" ] || sleep 0.1; done
[ -s "$scratch/port" ] || fail "the server does not start"
url=http://127.0.0.1:$(cat "$scratch/port")

# what the server serves: the raw folders, and MUTAG as the archive that TU Dortmund publishes
mkdir "$scratch/www"
for name in cora film texas MUTAG; do ln -s "$raw/$name" "$scratch/www/$name"; done
mkdir -p "$scratch/www/packed/MUTAG"
"$python" - "$raw/MUTAG" "$scratch/www/packed/MUTAG/MUTAG.zip" <<'PYTHON'
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED) as archive:
    for name in sorted(os.listdir(sys.argv[1])):
        archive.write(os.path.join(sys.argv[1], name), "MUTAG/" + name)
PYTHON

quick=(--pause 0.01 --mirror-only)
# fetched WHAT NAME: it is in the cache, byte for byte, and nothing else is there
fetched() {
    diff -r -x README.txt "$raw/$2" "$cache/$2" >&2 || fail "$1: $2 is not what was published"
    [ ! -e "$cache/.$2.part" ] || fail "$1: the working folder of $2 is left"
}
forget() { rm -rf "$cache" "$log"; }
requests() { grep -c "$1" "$log" || true; }

# ---- good servers --------------------------------------------------------------------------------

run 0 pathgcn data fetch cora film --mirror "$url/good/" "${quick[@]}"
holds "$out" "cora: 18 files fetched" "film: 12 files fetched" "licence:" "reference:" "48/32/20"
[ ! -s "$err" ] || fail "a bar without a terminal"
fetched "http" cora
fetched "http" film
# a second time nothing is asked for
rm "$log"
run 0 pathgcn data fetch cora --mirror "$url/good" "${quick[@]}" --json
[ "$(json "$out" fetched) $(json "$out" kept)" = "0 18" ] || fail "what is here was fetched again"
[ ! -e "$log" ] || fail "the server was asked for what is here"
# one damaged file is replaced
echo damage >>"$cache/cora/ind.cora.graph"
run 0 pathgcn data fetch Cora --mirror "$url/good" "${quick[@]}" --json
[ "$(json "$out" fetched) $(json "$out" kept)" = "1 17" ] || fail "not one file was repaired"
fetched "repair" cora
run 0 pathgcn data fetch cora --mirror "$url/good" "${quick[@]}" --force --quiet
[ ! -s "$out" ] || fail "--quiet prints"
fetched "force" cora

# an archive; its members; an archive from a directory, by the environment
run 0 pathgcn data fetch MUTAG --mirror "$url/good/packed" "${quick[@]}"
fetched "archive" MUTAG
[ ! -e "$cache/MUTAG/README.txt" ] || fail "a member that the table does not list was unpacked"
# more in the archive than the table lists: edges.npy would be read in place of the text files
mkdir -p "$scratch/evil/MUTAG"
"$python" - "$scratch/www/packed/MUTAG/MUTAG.zip" "$scratch/evil/MUTAG/MUTAG.zip" <<'PYTHON'
import shutil, sys, zipfile
shutil.copy(sys.argv[1], sys.argv[2])
with zipfile.ZipFile(sys.argv[2], "a", zipfile.ZIP_DEFLATED) as archive:
    for name in ("edges.npy", "graph_ptr.npy"):
        archive.writestr("MUTAG/" + name, bytes(50_000_000))
PYTHON
rm -r "$cache/MUTAG"
run 0 pathgcn data fetch MUTAG --mirror "$scratch/evil" "${quick[@]}"
fetched "extra members" MUTAG
rm -r "$cache/MUTAG"
run 0 pathgcn data fetch mutag --mirror "$url/good" "${quick[@]}"
fetched "members" MUTAG
rm -r "$cache/MUTAG"
run 0 env PATHGCN_MIRROR="$scratch/www/packed" "$PATHGCN" data fetch MUTAG
fetched "directory" MUTAG
run 0 pathgcn data fetch actor --mirror "file://$raw" --out elsewhere
diff -r "$raw/film" elsewhere/film || fail "file:// is not what was published"
refused 1 "elsewhere/cora|holds other files" data fetch cora --mirror "$raw" --out "$(
    mkdir -p elsewhere/cora && touch elsewhere/cora/edges.npy && echo elsewhere)"

forget
run 0 pathgcn data fetch texas --mirror "$url/moved" "${quick[@]}"
fetched "redirection" texas

# ---- bad servers ---------------------------------------------------------------------------------

forget
run 0 pathgcn data fetch texas --mirror "$url/dies" "${quick[@]}"
fetched "server that dies half-way" texas
[ "$(requests 'bytes=[1-9]')" = 12 ] || fail "$(requests 'bytes=[1-9]') of 12 transfers were continued"

forget
run 0 pathgcn data fetch texas --mirror "$url/busy" "${quick[@]}"
fetched "busy server" texas
[ "$(requests /busy)" = 36 ] || fail "a busy server was asked $(requests /busy) times, not 36"

forget
refused 1 "broke off|2 attempts|ind.cora.x" \
    data fetch cora --mirror "$url/cut" --retries 1 "${quick[@]}"
[ ! -e "$cache/cora" ] || fail "half a set has its folder"
# half of the first file came at the first attempt, half of the rest at the second
part=$cache/.cora.part/ind.cora.x.part
[ "$(stat -c %s "$part")" = $((22119 - 22119 / 4 - 1)) ] || fail "the part has $(stat -c %s "$part") bytes"
run 0 pathgcn data fetch cora --mirror "$url/norange" "${quick[@]}"
fetched "server without ranges, after one that cuts" cora

forget
refused 1 "SHA-256|expected|has changed|by hand" data fetch texas --mirror "$url/wrong" "${quick[@]}"
[ -z "$(find "$cache" -type f)" ] || fail "a wrong file was kept"
refused 1 "HTTP status 404|$url/none/texas/out1_graph_edges.txt" \
    data fetch texas --mirror "$url/none" "${quick[@]}"
refused 1 "not followed" data fetch texas --mirror "$url/local" "${quick[@]}"
refused 1 "nobody answers" data fetch texas --mirror http://127.0.0.1:1 --retries 0 "${quick[@]}"
[ ! -e "$cache/texas" ] || fail "a folder appeared without its files"
# of several sets the others still come
run 1 pathgcn data fetch chameleon texas --mirror "$url/good" --retries 0 "${quick[@]}"
holds "$out" "texas: 12 files"
holds "$err" "chameleon"
fetched "after a failure" texas

# Ctrl-C keeps what came, and the next call goes on from there
forget
run 0 true
"$PATHGCN" data fetch cora --mirror "$url/stops" --mirror-only >"$out" 2>"$err" &
client=$!
part=$cache/.cora.part/ind.cora.x.part
for _ in {1..100}; do
    if [ "$(stat -c %s "$part" 2>/dev/null)" = 11059 ]; then break; else sleep 0.1; fi
done
kill -INT $client
wait $client && fail "an interrupted program says it is done"
holds "$err" "stopped" "11059 bytes are kept"
[ "$(wc -l <"$err")" = 1 ] || fail "more than one line: $(cat "$err")"
[ "$(stat -c %s "$part")" = 11059 ] || fail "the part was not kept"
run 0 pathgcn data fetch cora --mirror "$url/good" "${quick[@]}"
fetched "after Ctrl-C" cora
grep -q 'ind.cora.x bytes=11059-' "$log" || fail "the download did not go on where it ended"

# ---- what was fetched is found by its name ---------------------------------------------------------

run 0 pathgcn data info cora --json
[ "$(json "$out" nodes) $(json "$out" edges)" = "2708 5278" ] || fail "cora of the cache is not cora"
run 0 pathgcn train cora --epochs 2 --quiet --out run
echo "fetch: texas, cora, film and MUTAG came through $(wc -l <"$log") requests of the last round"
