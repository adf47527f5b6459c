#!/usr/bin/env bash
# The same data in every format that is read (tests/data/make_formats.py writes them) have one
# fingerprint, and keep it when they are converted. A reader that is missing or changes a single
# number fails here.
source "$(dirname "$0")/lib.sh"

python=""
for candidate in /usr/bin/python3 python3; do
    "$candidate" -c 'import numpy' 2>/dev/null && python=$candidate && break
done
[ -n "$python" ] || skip "python3 with numpy is not installed, which writes the formats"
"$python" "$PATHGCN_SOURCE/tests/data/make_formats.py" formats

# fingerprint ARGUMENTS...: of what they name.
fingerprint() {
    run 0 pathgcn data info "$@" --json
    json "$out" fingerprint
}
own() {
    echo "--edges $1/edges.csv --features $1/features.csv" \
        "--labels $1/labels.csv --splits $1/splits.csv"
}

# all_equal GROUP LEAST [STEPS]: everything in formats/GROUP; at least LEAST sets were compared.
all_equal() {
    local first="" set found count=0
    for set in formats/"$1"/*; do
        case $set in
            */own_files) # shellcheck disable=SC2046 # several arguments
                found=$(fingerprint $(own "$set")) ;;
            *) found=$(fingerprint "$set${3:-}") ;;
        esac
        [ ${#found} = 64 ] || fail "$set has the fingerprint '$found'"
        [ "${first:=$found}" = "$found" ] || fail "$set is not equal to the others of $1"
        count=$((count + 1))
    done
    [ "$count" -ge "$2" ] || fail "only $count sets in $1"
    echo "$1: $count sets, $first"
}
all_equal node 11
all_equal multi 3
all_equal parts 2
all_equal sets 3
all_equal bare 5

# What is in a split is not in the fingerprint.
for set in folder ogb wikics graphsage geom planetoid npz_heterophilous; do
    run 0 pathgcn data info "formats/node/$set" --json
    tr -d ' ' <"$out" | grep -qE '"train":64,"val":500,"test":76' || {
        show_last
        fail "the split of $set is not 64, 500 and 76 nodes"
    }
done

# Directed edges, where the format has them.
first=""
for set in geom ogb wikics npz_benchmark; do
    found=$(fingerprint "formats/node/$set:directed")
    [ "${first:=$found}" = "$found" ] || fail "the directed edges of $set differ"
done
[ "$first" != "$(fingerprint formats/node/geom)" ] || fail "directed changes nothing"

# Converted, and read again.
for set in node/wikics node/graphsage_names multi/graphsage parts/dgl_ppi sets/tu bare/toy.mtx; do
    for ending in pgcn npz; do
        run 0 pathgcn data convert "formats/$set" --out "converted.$ending"
        [ "$(fingerprint "converted.$ending")" = "$(fingerprint "formats/$set")" ] ||
            fail "$set is not the same after conversion to .$ending"
    done
done

# One number that differs is seen.
sed -i 's/"labels": \[0, 1, 2/"labels": [1, 1, 2/' formats/node/wikics/data.json
[ "$(fingerprint formats/node/wikics)" != "$(fingerprint formats/node/folder)" ] ||
    fail "another label gives the same fingerprint"
