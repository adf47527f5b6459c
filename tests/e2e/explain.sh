#!/usr/bin/env bash
# pathgcn explain: sums that are logits, nodes by id and number, classes by name, pictures, and what is refused.
# shellcheck source=tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
python=$(command -v python3 || true)
[ -n "$python" ] || skip "no python3 to read JSON with"

# adds_up FILE: contributions of nodes, biases and norms are the logit, and all of it is consistent
adds_up() {
    "$python" - "$1" <<'PY' || fail "$1 does not add up"
import json, math, sys
e = json.load(open(sys.argv[1]))
scale = max(1, *map(abs, e["logits"]))
nodes = sum(n["sum"] for n in e["nodes"])
assert len(e["nodes"]) == e["nodes_reached"]
parts = e["features_sum"] + e["residual_sum"] + e["biases_sum"] + e["norms_sum"]
for got, want in ((e["sum"], e["logit"]), (parts, e["logit"]), (nodes, e["features_sum"] + e["residual_sum"]),
                  (sum(e["by_hop"]), nodes), (sum(f["sum"] for f in e["features"]), nodes),
                  (sum(f["sum"] for f in e["features_of_nodes"]), nodes),
                  (sum(c["sum"] for c in e["constants"]), e["biases_sum"] + e["norms_sum"])):
    assert abs(got - want) <= 1e-5 * scale, (got, want)
PY
}

# ---- a node ----------------------------------------------------------------------------------------

run 0 pathgcn train karate --epochs 40 --out runs/karate
run 0 pathgcn explain runs/karate 5 --json --top 0
adds_up "$out"
cp "$out" five.json
run 0 pathgcn explain runs/karate/model.safetensors 5 karate --json --top 0 --threads 3
same "a data set by its name, other threads" five.json "$out"
[ "$(json five.json node)" = 5 ] || fail "not node 5"
run 0 pathgcn explain runs/karate 5
holds "$out" "node 5 of karate: class" "in the data: class 0" "features, along layers" "hop 2" "feature, of all nodes" \
    "embed.bias" "without the links of" "these 5 together" "the node itself"
run 0 pathgcn explain runs/karate 5 --removals 0 --hops 1
holds "$out" "further"
! grep -q "without the links" "$out" || fail "removals although 0 were asked for"
run 0 pathgcn explain runs/karate 5 --mask
holds "$out" "links counted 0 of"
run 0 pathgcn explain runs/karate 5 --class 1 --against 0 --json --top 0
adds_up "$out"
[ "$(json "$out" class) $(json "$out" against)" = "1 0" ] || fail "not the classes asked for"

# ---- a picture ---------------------------------------------------------------------------------------

run 0 pathgcn explain runs/karate 5 --svg five.svg --top 4
holds "$out" "five.svg shows"
"$python" - five.svg <<'PY' || fail "five.svg is not as it should be"
import re, sys, xml.etree.ElementTree as tree
text = open(sys.argv[1]).read()
tree.fromstring(text)
widths = [float(w) for w in re.findall(r'stroke-width="([0-9.]+)"', text)]
assert max(widths) > 5 and "http" not in text.replace("http://www.w3.org/2000/svg", ""), widths
assert len(re.findall("<circle", text)) >= 4 and "carries" in text
PY

# ---- names, steps, one draw ----------------------------------------------------------------------------

printf '%s\n' id,class ann,red bob,red cat,blue dan,blue eve,red fay,blue >labels.csv
printf '%s\n' from,to ann,bob bob,cat cat,dan dan,eve eve,fay fay,ann ann,eve cat,fay >edges.csv
printf '%s\n' id,age,'<b>' ann,1,2 bob,2,1 cat,5,6 dan,6,5 eve,1,1 fay,6,6 >features.csv
run 0 pathgcn train --edges edges.csv --features features.csv --labels labels.csv --epochs 20 --out own \
    --prepare random=50/25/25,order=degree --recipe none
run 0 pathgcn explain own cat --class blue --against red --json --top 0 --svg own.svg
adds_up "$out"
holds "$out" '"node":"cat"' '"class":"blue"' '"against":"red"' '"feature":"<b>"' '"feature":"age"'
"$python" -c 'import sys, xml.etree.ElementTree as t; t.parse("own.svg")' || fail "own.svg is no XML"
"$python" - "$out" <<'PY' || fail "with a class to compare with there is no second one"
import json, sys
e = json.load(open(sys.argv[1]))
assert e["second"] is None and e["over_second"] is None and "over_second" not in e["constants"][0]
assert e["values"].startswith("standardised"), e["values"]
PY
run 0 pathgcn explain own cat --json --top 0
"$python" - "$out" <<'PY' || fail "what speaks for the class over the second one does not add up"
import json, sys
e = json.load(open(sys.argv[1]))
parts = sum(entry["over_second"] for name in ("nodes", "constants") for entry in e[name])
assert abs(parts - e["over_second"]) < 1e-5 * max(1, abs(e["over_second"])), (parts, e["over_second"])
assert abs(abs(e["logits"][0] - e["logits"][1]) - abs(e["over_second"])) < 1e-5
PY
run 0 pathgcn explain own cat
holds "$out" "Values are as the network reads them: standardised"
[ "$(grep -cE ' over (red|blue)' "$out")" = 4 ] || fail "sums, nodes, features and constants are not all compared"
for line in "^biases" "^what the network has" "^classifier.bias"; do
    grep -qE "$line +-?[0-9.]+ +-?[0-9.]+\$" "$out" || fail "$line is not compared with the second class"
done
run 0 pathgcn explain runs/karate 5
holds "$out" "Values are as the network reads them: each row over the sum of its magnitudes"
refused 2 "has the id 'cats' (did you mean cat?)" explain own cats
refused 2 "--class is 'green', expected the name of a class or its number from 0 to 1" explain own cat --class green

run 0 pathgcn train karate --epochs 5 --walk node2vec --self-loops no --recipe none --out walks
run 0 pathgcn explain walks 3 --seed 4 --json --top 0
adds_up "$out"
holds "$out" '"form":"sampled"' '"seed":4'
run 0 pathgcn explain runs/karate 3 --sampled --seed 9
holds "$out" "of one draw of paths, seed 9"

# ---- names of several bytes a letter, and of two columns ------------------------------------------------

sed 's/ann/zoé/; s/bob/東京/' labels.csv >labels-8.csv
sed 's/ann/zoé/g; s/bob/東京/g' edges.csv >edges-8.csv
sed 's/ann/zoé/; s/bob/東京/; s/age/âge-größe-von-allen-zusammen-hier/' features.csv >features-8.csv
run 0 pathgcn train --edges edges-8.csv --features features-8.csv --labels labels-8.csv --epochs 2 --out utf \
    --prepare random=50/25/25 --recipe none
run 0 pathgcn explain utf cat --top 0
"$python" - "$out" <<'PY' || fail "names are not padded by columns"
import sys, unicodedata
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
width = lambda text: sum(2 if unicodedata.east_asian_width(c) == "W" else 1 for c in text)
head = next(i for i, line in enumerate(lines) if line.startswith("node  "))
rows = [line for line in lines[head + 1 : head + 8]]
assert any(line.startswith("東京") for line in rows) and any(line.startswith("zoé") for line in rows)
assert len({width(line) for line in rows}) == 1, [(width(line), line) for line in rows]
long = [line for line in lines if line.startswith("âge-größe")]
assert long and all(line[:26] == "âge-größe-von-allen-zusamm" and line[26] == " " for line in long), long
PY

# ---- a graph of many, several labels -------------------------------------------------------------------

if [ -d "${PATHGCN_DATA:-/nonexistent}/MUTAG" ]; then
    run 0 pathgcn train MUTAG --epochs 2 --seed 0 --out mutag --recipe any-graph
    run 0 pathgcn explain mutag 7 --json --top 0 --svg mutag.svg
    adds_up "$out"
    [ "$(json "$out" graph)" = 7 ] || fail "not graph 7"
    refused 2 "is no graph of MUTAG" explain mutag 188
fi

# ---- what is refused -----------------------------------------------------------------------------------

refused 2 "'34' is no node of karate: expected a number from 0 to 33" explain runs/karate 34
refused 2 "--seed 1 does nothing" explain runs/karate 0 --seed 1
refused 2 "--mask does nothing with --removals 0" explain runs/karate 0 --mask --removals 0
refused 2 "--top is '-1'" explain runs/karate 0 --top -1
refused 2 "mask keeps the degrees of the exact form" explain runs/karate 0 --mask --sampled
refused 1 "missing/deep.svg" explain runs/karate 0 --svg missing/deep.svg
refused 2 "explain" explain runs/karate
