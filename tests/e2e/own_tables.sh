#!/usr/bin/env bash
# Tables as people have them: the walk-through of docs/OWN_DATA.md from customers with categories, dates and
# gaps to predictions for new ones; columns by name; decimal commas; and what is refused, at once.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
from=$PATHGCN_SOURCE/examples/customers
files=(--edges "$from/calls.csv" --features "$from/customers.csv" --labels "$from/churn.csv")
few=()
[ -n "$sanitized" ] && few=(--epochs 20)

# ---- the walk-through ----------------------------------------------------------------------------

refused 1 "1 column cannot be made numbers|'name' (column 2) has 200 different texts|--ignore name" data info "${files[@]}"
run 0 pathgcn data info "${files[@]}" --ignore name
holds "$out" "features             21" "feature storage      dense" \
    "city                 category        4  a column each: Bonn" "1 rare value as other; a column for the empty cells" \
    "plan                 category        0  a column each: basic, plus, pro" "age                  number         23  mean 40.096" \
    "since                date           12  days since 1970, read as year-month-day" "newsletter           yes/no         23  yes is 1, no is 0"
run 0 pathgcn data info "${files[@]}" --ignore name --json
holds "$out" '"city=Berlin"' '"age missing"' '"kind":"category"' '"columns":['
plain=$(json "$out" fingerprint)
run 0 pathgcn train "${files[@]}" --ignore name --out runs/churn "${few[@]}"
holds "$err" "note: the columns of customers.csv became 21 features; numbers: age (23 empty)"
holds runs/churn/data.json '"ignore": "name"'
run 0 pathgcn eval runs/churn/model.safetensors --json
awk -v got="$(json "$out" test_accuracy)" 'BEGIN { exit !(got > 80) }' || [ -n "$sanitized" ] ||
    fail "test accuracy is $(json "$out" test_accuracy)"
run 0 pathgcn predict runs/churn/model.safetensors --unlabelled
[ "$(wc -l <"$out")" = 51 ] || fail "not the customers without a label"
new=(--edges "$from/new_calls.csv" --features "$from/new_customers.csv")
run 0 pathgcn predict runs/churn/model.safetensors "${new[@]}" --out new.csv
holds "$err" "count as other: 1 of 'city' (such as 'Wien')" "the model does not read column 2 ('name') of new_customers.csv"
[ "$(tail -n +2 new.csv | cut -d, -f2 | sort -u | xargs)" = "left stayed" ] || [ -n "$sanitized" ] || fail "other classes"

# the rules are the model's: a file of one customer means the same as in the file of all
{ head -n 1 "$from/new_customers.csv" && grep '^n00[0-9]' "$from/new_customers.csv" | tac; } >some.csv
grep 'n00.*n00\|caller' "$from/new_calls.csv" >some_calls.csv
awk -F, 'BEGIN { OFS = FS } { print $8, $7, $1, $6, $5, $4, $3 }' some.csv >turned.csv # without name
run 0 pathgcn predict runs/churn/model.safetensors --edges some_calls.csv --features some.csv --out one.csv
run 0 pathgcn predict runs/churn/model.safetensors --edges some_calls.csv --features turned.csv --out other.csv --id customer
same "columns in another order" one.csv other.csv
run 0 pathgcn predict runs/churn/model.safetensors --edges some_calls.csv --features turned.csv --out again.csv # the model knows the ids
same "ids by the name of the training" one.csv again.csv
cut -d, -f1-7 some.csv >lacking.csv
refused 1 "lacking.csv|it has no column 'newsletter'|add it" predict runs/churn/model.safetensors --edges some_calls.csv --features lacking.csv
sed '2s/,[0-9]*,20/,old,20/' some.csv >wrong.csv
refused 1 "wrong.csv|line 2|column 5 ('age'): found 'old', expected a number" predict runs/churn/model.safetensors --edges some_calls.csv --features wrong.csv

# a container keeps them, for a model that is trained from it
run 0 pathgcn data convert "${files[@]}" --ignore name --name churn --out churn.pgcn
run 0 pathgcn train churn.pgcn --out runs/container --epochs 3
run 0 pathgcn predict runs/container/model.safetensors "${new[@]}"
holds "$err" "count as other: 1 of 'city'"

# a model of numbers does not learn rules from new files
club=$PATHGCN_SOURCE/examples/club
run 0 pathgcn train --edges "$club/friends.csv" --features "$club/people.csv" --labels "$club/group.csv" --epochs 3 --out runs/club
sed '2s/,24,/,,/' "$club/people.csv" >gap.csv
refused 1 "gap.csv|line 2|found an empty cell|the model was trained on numbers only" \
    predict runs/club/model.safetensors --edges "$club/friends.csv" --features gap.csv
refused 1 "line 2|found 'Max Baum'|--encode is no" data info "${files[@]}" --encode no
run 0 pathgcn data info --edges "$club/friends.csv" --features "$club/people.csv" --json
numbers=$(json "$out" fingerprint)
run 0 pathgcn data info --edges "$club/friends.csv" --features "$club/people.csv" --encode no --json
[ "$(json "$out" fingerprint)" = "$numbers" ] || fail "plain numbers are read in two ways"
holds "$out" '"columns":null'

# ---- columns by name and number -------------------------------------------------------------------

run 0 pathgcn data info "${files[@]}" --use city,4,age,since,monthly_spend,8 --json
[ "$(json "$out" fingerprint)" = "$plain" ] || fail "--use is not --ignore"
# one file with everything, ids not in front; edges with more columns, in two files
awk -F, 'BEGIN { OFS = FS } NR == FNR { churn[$1] = $2; next }
    { print $2, $1, $3, $4, $5, $6, $7, $8, $1 in churn ? churn[$1] : "" }' "$from/churn.csv" "$from/customers.csv" >all.csv
awk -F, 'BEGIN { OFS = FS } { print $3, NR == 1 ? "day" : 7, $2, $1 > (NR % 2 ? "odd.csv" : "even.csv") }
    NR == 1 { print $3, "day", $2, $1 > "even.csv" }' "$from/calls.csv"
one=(--edges odd.csv,even.csv --from caller --to called --weight minutes --features all.csv --labels all.csv --id customer --label churn)
run 0 pathgcn data info "${one[@]}" --ignore name --json
[ "$(json "$out" fingerprint)" = "$plain" ] || { show_last && fail "the same in other files is another graph"; }
run 0 pathgcn train "${one[@]}" --ignore name --epochs 3 --out runs/one
holds runs/one/data.json '"from": "caller"' '"label": "churn"' "odd.csv,$PWD/even.csv\""
(cd / && "$PATHGCN" predict "$OLDPWD/runs/one/model.safetensors" >/dev/null 2>"$err") || { cat "$err" >&2 && fail "the run does not find its files"; }
refused 1 "all.csv|--ignore is 'fax', which is none of its columns: 'name', 'customer'" data info "${one[@]}" --ignore fax
refused 1 "odd.csv|4 cells|--from, --to and --weight" data info --edges odd.csv
refused 2 "--label names columns of the labels|add --labels" data info --edges odd.csv --from 3 --to 4 --label churn
refused 2 "--use belongs to --edges" data info karate --use a
refused 2 "--encode-from is 'test', expected all or train" data info "${files[@]}" --encode-from test

# ---- decimal commas; rules from training nodes only --------------------------------------------------

sed 's/,/;/g; s/\([0-9]\)\.\([0-9]\)/\1,\2/' "$from/customers.csv" >german.csv
run 0 pathgcn data info --edges "$from/calls.csv" --features german.csv --labels "$from/churn.csv" --ignore name --json
[ "$(json "$out" fingerprint)" = "$plain" ] || { show_last && fail "decimal commas are other numbers"; }
holds "$out" "monthly_spend (decimal commas, 7 empty)"
refused 1 "'monthly_spend' (column 7)" data info --edges "$from/calls.csv" --features german.csv --ignore name --decimal point
refused 2 "has 10 splits|--prepare only-split=0" train "${files[@]}" --ignore name --encode-from train --out nowhere
[ ! -e nowhere ] || fail "a refused command left a directory"
run 0 pathgcn train "${files[@]}" --ignore name --encode-from train --prepare only-split=0 --epochs 3 --out runs/strict
holds runs/strict/data.json '"encode-from": "train"'
run 0 pathgcn eval runs/strict/model.safetensors

# ---- mistakes that only all files together show ---------------------------------------------------------

awk 'BEGIN { print "from,to"; for (i = 0; i < 60; i++) print "n" i ",n" (i + 2) % 60 }' >ring.csv
awk 'BEGIN { print "who,age,churned"; for (i = 0; i < 60; i++) print "n" i "," 20 + i "," i % 2 }' >leak.csv
awk 'BEGIN { print "who,churned"; for (i = 0; i < 60; i++) print "n" i "," (i % 2 ? "yes" : "no") }' >churned.csv
leak=(--edges ring.csv --features leak.csv --labels churned.csv)
run 1 pathgcn data info "${leak[@]}"
holds "$err" "has a column 'churned', which is the class in 'churned.csv'" "--ignore churned"
run 0 pathgcn data info "${leak[@]}" --ignore churned
run 1 pathgcn data info "${leak[@]}" --ignore churned --id whom
holds "$err" "--id is 'whom', which is a column of none of the files"
run 0 pathgcn data info "${leak[@]}" --ignore churned --id who

# the directory of a run is as good as its model
run 0 pathgcn train "${leak[@]}" --ignore churned --recipe none --epochs 3 --seeds 2 --out runs/leak
holds "$out" "In 2 of 2 runs, such as that of seed 0: On validation nodes"
run 0 pathgcn eval runs/leak
run 0 pathgcn kernels runs/leak
run 2 pathgcn compare runs/leak runs/leak/model.safetensors
holds "$err" "is a model; give the directory of its run"
