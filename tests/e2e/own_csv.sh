#!/usr/bin/env bash
# A stranger's CSV files: the three commands of docs/OWN_DATA.md lead to predictions that are right,
# and ids, class names and missing labels come back as they were, whatever the files look like.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
club=$PATHGCN_SOURCE/examples/club
files=(--edges "$club/friends.csv" --features "$club/people.csv" --labels "$club/group.csv")
few=()
[ -n "$sanitized" ] && few=(--epochs 20)

# ---- the walk-through ----------------------------------------------------------------------------

run 0 pathgcn data info "${files[@]}"
holds "$out" "nodes                150" "edges                420" "class sizes          gravel:25 road:38 track:12" \
    "unlabelled nodes     75"
run 0 pathgcn train "${files[@]}" --out runs/club "${few[@]}"
holds "$err" "note: there is no split"
! grep -qv '^note: ' "$err" || { show_last && fail "something but notes is on standard error"; }
run 0 pathgcn predict runs/club/model.safetensors --unlabelled --out predictions.csv
[ "$(head -n 1 predictions.csv)" = "node,label,probability" ] || fail "another header"
tail -n +2 predictions.csv | cut -d, -f1 | sort >predicted
tail -n +2 "$club/group.csv" | cut -d, -f1 | sort >given
tail -n +2 "$club/people.csv" | cut -d, -f1 | sort >members
sort predicted given | cmp - members || fail "the predicted ids are not those without a label"
[ "$(tail -n +2 predictions.csv | cut -d, -f2 | sort -u | xargs)" = "gravel road track" ] ||
    [ -n "$sanitized" ] || fail "the labels are not the names of the classes"

# the page shows whom it predicts and what; how likely, and who wins the race, depends on the processor
if [ -z "$sanitized" ]; then
    run 0 "$PATHGCN" train "${files[@]}" --out page --quiet
    run 0 pathgcn predict page/model.safetensors --unlabelled
    sed -n 2,3p "$out" >shown
    grep -A 2 '^node,label,probability$' "$PATHGCN_SOURCE/docs/OWN_DATA.md" | tail -n 2 | paste -d, - shown |
        awk -F, '{ if ($1 != $4 || $2 != $5) exit 1 }' ||
        { cat shown >&2 && fail "docs/OWN_DATA.md shows other predictions"; }
fi

# far better than the largest class, on members whose group was given
run 0 pathgcn eval runs/club/model.safetensors --json
awk -v got="$(json "$out" test_accuracy)" 'BEGIN { exit !(got > 70) }' || [ -n "$sanitized" ] ||
    fail "test accuracy is $(json "$out" test_accuracy)"

# ---- the same graph in other clothes ---------------------------------------------------------------

run 0 pathgcn data info "${files[@]}" --json
plain=$(json "$out" fingerprint)
holds "$out" '"feature_names":["age","km_per_week","bikes","years"]' '"class_names":["gravel","road","track"]'
looks_like() { # WHAT FILES...
    local what=$1
    shift
    run 0 pathgcn data info "$@" --json
    [ "$(json "$out" fingerprint)" = "$plain" ] || { show_last && fail "$what is another graph"; }
}
tr , '\t' <"$club/friends.csv" >friends.tsv
tr , ';' <"$club/people.csv" | sed 's/$/\r/' >people.csv
gzip -c "$club/group.csv" >group.csv.gz
looks_like "tabs, semicolons with CRLF, gzip" --edges friends.tsv --features people.csv --labels group.csv.gz
tail -n +2 "$club/friends.csv" >no_header.csv
looks_like "an edge file without header" --edges no_header.csv --features "$club/people.csv" --labels "$club/group.csv"
{ cat "$club/group.csv" && sed 's/$/,?/' predicted; } >all.csv
looks_like "question marks for missing labels" --edges "$club/friends.csv" --features "$club/people.csv" --labels all.csv
sed 's/^\([^,]*\),\(.*\)$/"\1","\2"/' "$club/friends.csv" >quoted.csv
looks_like "quoted cells" --edges quoted.csv --features "$club/people.csv" --labels "$club/group.csv"
looks_like "a container" "$(run 0 pathgcn data convert "${files[@]}" --out club.pgcn && echo club.pgcn)"
looks_like "an archive" "$(run 0 pathgcn data convert "${files[@]}" --out club.npz && echo club.npz)"

# the container keeps ids and names, and a model trained from it is the same
run 0 pathgcn train club.pgcn --out runs/container "${few[@]}" --quiet
same "the model of the container" runs/club/model.safetensors <(sed 's/"dataset":"club"/"dataset":"friends"/' runs/container/model.safetensors) ||
    fail "other bits from the container"
run 0 pathgcn predict runs/container/model.safetensors club.pgcn --unlabelled --out again.csv
same "predictions" predictions.csv again.csv

# ---- ids that need care ----------------------------------------------------------------------------

{ echo '"Smith, J.",007' && echo '007,"say ""hi"""' && echo '"say ""hi""","Smith, J."' && echo '007,lonely'; } >odd.csv
{ echo id,label && echo '"Smith, J.",a' && echo '007,b' && echo '"say ""hi""",a' && echo 'lonely,'; } >odd_labels.csv
run 0 pathgcn data info --edges odd.csv --labels odd_labels.csv
holds "$out" "nodes                4" "class sizes          a:2 b:1" "unlabelled nodes     1"
run 0 pathgcn paths --edges odd.csv --path-length 2 --paths 1
holds "$out" '"Smith, J.",0,' '"say ""hi""",0,' '007,0,' 'lonely,0,lonely,007'
run 0 pathgcn paths --edges odd.csv --path-length 2 --paths 1 --starts lonely,007
[ "$(wc -l <"$out")" = 3 ] || fail "--starts does not take ids"

# ---- given splits, several labels per node, steps ---------------------------------------------------------

{ echo member,first,second && tail -n +2 "$club/group.csv" | cut -d, -f1 |
    awk 'BEGIN { split("train val test", part, " ") } { print $0 "," part[NR % 3 + 1] "," part[(NR + 1) % 3 + 1] }'; } >splits.csv
run 0 pathgcn data info "${files[@]}" --splits splits.csv --json
holds "$out" '"splits":[{"name":"0","train":25,"val":25,"test":25},{"name":"1","train":25,"val":25,"test":25}]'
run 0 pathgcn train "${files[@]}" --splits splits.csv --split 1 --epochs 3 --out runs/given --quiet
run 0 pathgcn eval runs/given/model.safetensors --json # data.json knows the file of splits too
[ "$(json "$out" split)" = 1 ] || fail "another split than the one of the training"
{ echo member,climbs,sprints && tail -n +2 "$club/people.csv" | awk -F, '{ print $1 "," NR % 2 "," (NR % 3 == 0) }'; } >several.csv
run 0 pathgcn data info --edges "$club/friends.csv" --features "$club/people.csv" --labels several.csv
holds "$out" "several labels per node" "climbs:75 sprints:50"
run 0 pathgcn data info "${files[@]}" --prepare per-class=5/10/rest,splits=2,split-seed=3 --json
holds "$out" '"splits":[{"name":"0","train":15,"val":10,"test":50},' '"steps":"per-class=5/10/rest,splits=2,split-seed=3"' \
    '"dataset":"friends:per-class=5/10/rest,splits=2,split-seed=3"'

# ---- a model and new labels --------------------------------------------------------------------------

# known classes have changed: the model says so, and goes on when the files are named
head -n 60 "$club/group.csv" >fewer.csv
run 0 pathgcn predict runs/club/model.safetensors --edges "$club/friends.csv" --features "$club/people.csv" --labels fewer.csv
[ "$(wc -l <"$out")" = 151 ] || fail "not all nodes are predicted"

# ---- a model and other columns -----------------------------------------------------------------------

on() { run 0 pathgcn predict runs/club/model.safetensors --edges "$club/friends.csv" --features "$1"; }
on "$club/people.csv" && cp "$out" in_order.csv
awk -F, -v OFS=, '{ print $1, $4, $2, $5, $3 }' "$club/people.csv" >turned.csv
on turned.csv
awk -F, 'NR == FNR { p[$1] = $3; next } FNR > 1 { d = p[$1] - $3; if (d > 1e-5 || d < -1e-5) exit 1 }' in_order.csv "$out" ||
    { show_last && fail "columns in another order, other predictions"; }
with_columns() { # WHAT: the header and rows of the members, changed by awk
    awk -F, -v OFS=, "$1" "$club/people.csv" >changed.csv
}
reads() { refused 1 "$1" predict runs/club/model.safetensors --edges "$club/friends.csv" --features changed.csv; }
with_columns '{ print $1, $2, $3, $4 }' && reads "the model reads the feature column 'years'"
with_columns '{ print $0, NR == 1 ? "height" : 180 }' && reads "has the feature column 'height', which|leave it out"
with_columns '{ print $1, $2, $2, $4, $5 }' && reads "two feature columns of|'age'"
sed 's/\\"age\\"/1234567/' runs/club/model.safetensors >unnamed.safetensors
! cmp -s runs/club/model.safetensors unnamed.safetensors || fail "the model has no names"
refused 1 "unnamed.safetensors|feature_names is not a list of 4 strings" predict unnamed.safetensors "${files[@]}"
with_columns 'NR > 1 { print $1, $2, $3, $4 }' && reads "4 feature columns|has 3"

# ---- what is refused ------------------------------------------------------------------------------------

refused 2 "--features|--edges|missing" train --features "$club/people.csv" --out nowhere
refused 2 "not both" train karate --edges "$club/friends.csv" --out nowhere
refused 1 "absent.csv" train --edges absent.csv --out nowhere
refused 2 "no labels" train --edges "$club/friends.csv" --out nowhere --quiet
refused 2 "60/20/20" train "${files[@]}" --prepare stratified=60/20 --out nowhere
refused 2 "no list of steps" train "${files[@]}" --prepare colour=red --out nowhere
printf 'a,b\nb,c,1,2\n' >ragged.csv
refused 1 "ragged.csv|line 2" data info --edges ragged.csv
printf 'a,b\nb,c\n' >three.csv
printf 'id,x\na,1\nb,two\nc,3\n' >word.csv
refused 1 "word.csv|line 3" data info --edges three.csv --features word.csv
printf 'id,x\na,1\nb,2\na,3\n' >twice.csv
refused 1 "twice.csv|line 4|line 2" data info --edges three.csv --features twice.csv
[ ! -e nowhere ] || fail "a refused command left a directory"

# ---- a model away from its data ------------------------------------------------------------------------

cp runs/club/model.safetensors alone.safetensors
refused 2 "no data.json beside the model|give its files with --edges and --features" predict alone.safetensors
run 0 pathgcn predict alone.safetensors --edges "$club/friends.csv" --features "$club/people.csv"
sed 's/,3,/,4,/' "$club/people.csv" >changed.csv
refused 1 "--features was given without --edges|give --edges too" predict runs/club/model.safetensors --features changed.csv
run 0 pathgcn predict runs/club/model.safetensors --features changed.csv --edges "$club/friends.csv"
