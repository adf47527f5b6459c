#!/usr/bin/env bash
# make test-pages: reports of Cora, MUTAG, PPI (where PATHGCN_DATA has them), karate, of two runs side by side, of a
# search, of reproduce and of a race, each made by one command, and looked at in headless Chromium (look.py).
# Pictures of every view stay in $PATHGCN_BUILD/pages.
#
#   PATHGCN_BUILD=build PATHGCN_DATA=data tests/pages/run.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "${PATHGCN_BUILD:-build}")
data=${PATHGCN_DATA:+$(realpath "$PATHGCN_DATA")}
pathgcn=$build/pathgcn
pages=$build/pages
rm -rf "$pages"
mkdir -p "$pages"
cd "$pages"

# The folders of runs are not called like data sets, which would be looked for in them.
train() { "$pathgcn" train "$@" --quiet >/dev/null; }
report() { # NAME RUN...: and how long it takes
    local name=$1 begin end
    shift
    begin=$(date +%s%N)
    "$pathgcn" report "$@" --out "$name.html" --json >"$name.log"
    end=$(date +%s%N)
    grep -q '"data_found":true' "$name.log" || { echo "$name.html was made without the data" >&2 && exit 1; }
    echo "$name: $(((end - begin) / 1000000)) ms, $(stat -c %s "$name.html") bytes"
    [ "$(stat -c %s "$name.html")" -lt 2000000 ] || { echo "$name.html has more than 2 MB" >&2 && exit 1; }
}

train karate --recipe usual --seeds 3 --out run-karate
report karate run-karate
train karate --recipe usual --model gcn --seeds 3 --out run-gcn
report two run-karate run-gcn
for set in cora MUTAG ppi; do
    if [ -z "$data" ] || [ ! -d "$data/$set" ]; then
        echo "$set: PATHGCN_DATA does not have it, skipped"
        continue
    fi
    case $set in
    cora) train cora --data "$data" --layers 8 --epochs 60 --out run-cora ;;
    MUTAG) train MUTAG --data "$data" --epochs 30 --out run-MUTAG ;;
    ppi) train ppi --data "$data" --epochs 3 --channels 64 --layers 2 --out run-ppi ;;
    esac
    report "$set" "run-$set"
done
"$pathgcn" tune karate --recipe usual --candidates 12 --runs 3 --epochs 40 --out tune --quiet >/dev/null
cp tune/report.html tune.html
"$pathgcn" reproduce semi --datasets karate,sbm --layers 2,4,8 --seeds 3 --quick --out tables --quiet >/dev/null
cp tables/report.html reproduce.html
train karate --recipe auto --epochs 60 --out race
cp race/report.html race.html
# Debian's own python, which has Debian's python3-websocket
exec /usr/bin/python3 "$here/look.py" --shots shots ./*.html
