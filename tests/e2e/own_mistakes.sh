#!/usr/bin/env bash
# What goes wrong with files of one's own without anybody noticing: names that a terminal would obey,
# headers taken as data, nodes without features, ids that match nothing, numbers taken as classes. Each
# is said, or refused with a way to go on.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
club=$PATHGCN_SOURCE/examples/club
no_controls() { # FILE...: nothing but line feeds and tabs
    ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$@" || { show_last && fail "control characters are printed"; }
}

# ---- names that a terminal would obey --------------------------------------------------------------

esc=$'\x1b[31m' bell=$'\a' c1=$'\xc2\x9b2J'
{ echo "source,target" && for i in {0..11}; do echo "n$esc$i,n$esc$(((i + 1) % 12))"; done; } >odd_edges.csv
{ echo "id,x$bell,y$c1" && for i in {0..11}; do echo "n$esc$i,$((i % 2)),$((1 + i))"; done; } >odd_x.csv
{ echo "id,class" && for i in {0..11}; do echo "n$esc$i,c$c1$((i % 2))"; done; } >odd_y.csv
odd=(--edges odd_edges.csv --features odd_x.csv --labels odd_y.csv --name "odd$esc")
run 0 pathgcn data info "${odd[@]}"
no_controls "$out" "$err"
holds "$out" 'odd\x1b[31m' 'c\u009b2J0:6'
run 0 pathgcn data info "${odd[@]}" --json
no_controls "$out" "$err"
holds "$out" '"feature_names":["x\u0007","y\u009B2J"]'
run 0 pathgcn train "${odd[@]}" --epochs 3 --out odd
no_controls "$out" "$err"
run 0 pathgcn predict odd/model.safetensors
no_controls "$out" "$err"
holds "$out" 'n\x1b[31m0,c\u009b2J'
run 0 pathgcn predict odd/model.safetensors --json
no_controls "$out" "$err"
holds "$out" '{"node":"n\u001B[31m0","label":"c\u009B2J'
run 0 pathgcn paths --edges odd_edges.csv --path-length 2 --paths 1
no_controls "$out" "$err"
printf 'a,b,%s\nb,c,x%s\n' 1 "$esc" >odd_weight.csv
refused 1 "odd_weight.csv|line 2|the weight 'x\\x1b[31m'" data info --edges odd_weight.csv

# ---- headers ------------------------------------------------------------------------------------------

# two cliques of twelve, ids and classes are text
{ echo caller,callee && for i in {0..11}; do echo "p$i,p$(((i + 1) % 12))" && echo "q$i,q$(((i + 5) % 12))"; done; } >calls.csv
{ echo customer,status && for i in {0..11}; do echo "p$i,stays" && echo "q$i,gone"; done; } >status.csv
run 0 pathgcn data info --edges calls.csv --labels status.csv
holds "$out" "nodes                24" "class sizes          gone:12 stays:12" \
    "'caller,callee' (line 1 of calls.csv) was taken for a header" "'customer,status' (line 1 of status.csv) was taken for a header"
run 0 pathgcn data info calls.csv
holds "$out" "nodes                24" "taken for a header"
run 0 pathgcn data info calls.csv --header no
holds "$out" "nodes                26" "taken for data: as --header says"
run 0 pathgcn paths calls.csv --header no --path-length 2 --paths 1
holds "$out" "caller,0,caller,callee"
# the run remembers what was said
tail -n +2 calls.csv >plain_calls.csv
tail -n +2 status.csv >plain_status.csv
run 0 pathgcn train --edges plain_calls.csv --labels plain_status.csv --header no --epochs 3 --out said
holds "$err" "taken for data: as --header says"
holds said/data.json '"header": "no"'
run 0 pathgcn predict said/model.safetensors
[ "$(wc -l <"$out")" = 25 ] || fail "not the nodes of the training"
refused 2 "--header is 'maybe', expected auto, yes or no" data info calls.csv --header maybe
refused 2 "karate|leave out --header" data info karate --header yes
refused 2 "--unknown-ids belongs to --edges" data info calls.csv --unknown-ids keep

# ---- ids that match nothing, numbers that are no classes ------------------------------------------------

umlauts() { awk -v name="$1" 'BEGIN { for (i = 0; i < 500; i++) print (i < 475 ? name : "Maier") i "," (i % 2 ? "odd" : "even") }'; }
{ echo from,to && for i in {0..499}; do echo "$([ "$i" -lt 475 ] && echo Müller || echo Maier)$i,Maier$((475 + i % 25))"; done; } >umlauts.csv
umlauts $'M\xfcller' >latin1.csv
umlauts Müller >utf8.csv
refused 1 "475 of the 500 ids of 'latin1.csv' are not in 'umlauts.csv'|latin1.csv does not look like UTF-8|--unknown-ids keep" \
    train --edges umlauts.csv --labels latin1.csv --out nowhere --quiet
run 0 pathgcn data info --edges umlauts.csv --labels latin1.csv --unknown-ids keep
holds "$out" "nodes                975" "note: 475 of the 500 ids of latin1.csv are not in umlauts.csv" "does not look like UTF-8"
run 0 pathgcn data info --edges umlauts.csv --labels utf8.csv
holds "$out" "nodes                500"
refused 2 "--unknown-ids is 'skip', expected refuse or keep" data info --edges umlauts.csv --labels utf8.csv --unknown-ids skip

awk 'BEGIN { for (i = 0; i < 500; i++) print i "," (i + 1) % 500 }' >ring.csv
awk 'BEGIN { for (i = 0; i < 500; i++) print i "," 1000 + (i < 485 ? i : 0) * 17.25 }' >prices.csv
refused 1 "485 different numbers|regression, which is not supported|a few classes" train --edges ring.csv --labels prices.csv --out nowhere --quiet
run 0 pathgcn data info --edges ring.csv --labels prices.csv
holds "$out" "note: the labels of prices.csv are 485 different numbers"
[ ! -e nowhere ] || fail "a refused command left a directory"

# ---- nodes without features ---------------------------------------------------------------------------------

club_files=(--edges "$club/friends.csv" --labels "$club/group.csv")
who=$(sed -n '150p' "$club/people.csv" | cut -d, -f1)
grep -v "^$who," "$club/people.csv" >fewer_people.csv
said="note: 1 node is not in fewer_people.csv and gets the mean of the training nodes in its columns: '$who'"
run 0 pathgcn data info "${club_files[@]}" --features fewer_people.csv
holds "$out" "nodes without them   1" "$said"
run 0 pathgcn train "${club_files[@]}" --features fewer_people.csv --epochs 20 --out lacking
holds "$err" "$said"
run 0 pathgcn predict lacking/model.safetensors
holds "$err" "$said"
run 0 pathgcn eval lacking/model.safetensors --json
holds "$err" "$said"
# a model of all members, and one of them is missing later: as if it had the mean of the training nodes,
# which is 0 when standardised, for this node and its friends
run 0 pathgcn train "${club_files[@]}" --features "$club/people.csv" --normalise none --epochs 20 --out whole
run 0 pathgcn predict whole/model.safetensors --edges "$club/friends.csv" --features fewer_people.csv --out lacking.csv
holds "$err" "$said"
mean=$(python3 - whole/model.safetensors <<'P' 2>/dev/null || true
import json, struct, sys
raw = open(sys.argv[1], "rb").read()
length = struct.unpack("<Q", raw[:8])[0]
at = json.loads(raw[8 : 8 + length])["input.fill"]["data_offsets"]
print(",".join("%.9g" % v for v in struct.unpack("<4f", raw[8 + length + at[0] : 8 + length + at[1]])))
P
)
if [ -n "$mean" ]; then
    { cat fewer_people.csv && echo "$who,$mean"; } >mean_people.csv
    run 0 pathgcn predict whole/model.safetensors --edges "$club/friends.csv" --features mean_people.csv --out mean.csv
    sort lacking.csv >a.txt && sort mean.csv >b.txt
    same "a member without features and one with the mean" a.txt b.txt
else
    echo "no Python: the mean in the model was not compared"
fi
run 0 pathgcn data convert "${club_files[@]}" --features fewer_people.csv --out lacking.npz
run 0 pathgcn train lacking.npz --epochs 2 --out from_npz
holds "$err" "1 node is without features and gets the mean of the training nodes"
