#!/usr/bin/env bash
# pathgcn reproduce networks, cheb, forms and times: ours above the paper's numbers; networks that are
# not built are quoted; data that is not here is named; generated sets in the formats of Wiki-CS and
# ogbn-arxiv run the whole command.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# wikics DIR: 24 nodes in a ring as Wiki-CS stores them; two splits.
wikics() {
    mkdir -p "$1"
    awk 'BEGIN { n = 24
        for (i = 0; i < n; i++) {
            s = i ? ", " : ""
            features = features s "[" (i % 2 ? "1.0, 0.1" : "0.1, 1.0") ", " (i * 7 % 5) / 10 "]"
            labels = labels s i % 2
            links = links s "[" (i + 1) % n ", " (i + 2) % n "]"
            train = train s (i < 8 ? "true" : "false")
            val = val s (i >= 8 && i < 16 ? "true" : "false")
            test = test s (i >= 16 ? "true" : "false")
        }
        printf "{\"features\": [%s], \"labels\": [%s], \"links\": [%s], ", features, labels, links
        printf "\"train_masks\": [[%s], [%s]], \"val_masks\": [[%s], [%s]], ", train, val, val, train
        printf "\"stopping_masks\": [[%s], [%s]], \"test_mask\": [%s]}", val, train, test }' >"$1/data.json"
}

# arxiv DIR: the same as ogbn-arxiv stores it.
arxiv() {
    mkdir -p "$1/raw" "$1/split/time"
    seq 0 23 | awk '{ print $1 "," ($1 + 1) % 24 }' | gzip >"$1/raw/edge.csv.gz"
    seq 0 23 | awk '{ print ($1 % 2 ? "1.0,0.1" : "0.1,1.0") }' | gzip >"$1/raw/node-feat.csv.gz"
    seq 0 23 | awk '{ print $1 % 2 }' | gzip >"$1/raw/node-label.csv.gz"
    echo 24 | gzip | tee "$1/raw/num-edge-list.csv.gz" >"$1/raw/num-node-list.csv.gz"
    seq 0 7 | gzip >"$1/split/time/train.csv.gz"
    seq 8 15 | gzip >"$1/split/time/valid.csv.gz"
    seq 16 23 | gzip >"$1/split/time/test.csv.gz"
}
few=(--epochs 3 --seeds 2 --layers 2 --jobs 2)

# ---- generated sets ------------------------------------------------------------------------------

ring sets/film
run 0 pathgcn reproduce networks --tables 5,6 --data sets "${few[@]}" --out absent
grep -q '^pathGCN  *ours  *[0-9.]* ± [0-9.]*  *data not here$' "$out" || { show_last && fail "arxiv is not named"; }
grep -q '^pathGCN  *ours  *data not here$' "$out" || { show_last && fail "Wiki-CS is not named"; }
grep -q '^pathGCN  *paper  *37.54  *72.83$' "$out" || { show_last && fail "not the numbers of Table 5"; }
holds "$out" "ogbn-arxiv: data not here; 'pathgcn data fetch ogbn-arxiv' downloads it"
[ "$(grep -c '^wikics: data not here' "$out")" = 1 ] || fail "Wiki-CS is not named once"

wikics sets/wikics
arxiv sets/ogbn-arxiv
run 0 pathgcn reproduce networks --tables 5,6 --data sets "${few[@]}" --out present
! grep -q "data not here" "$out" || { show_last && fail "a set is here, but not found"; }
grep -q '^pathGCN  *ours  *[0-9.]* ± [0-9.]*  *[0-9.]* ± [0-9.]*$' "$out" || { show_last && fail "no line of ours"; }
grep -q '^Geom-GCN-P  *paper, quoted: not built here  *31.63$' "$out" ||
    { show_last && fail "Geom-GCN-P is not quoted, or its empty cell is not empty"; }
grep -qE '^SuperGAT +paper(, quoted: not built here)? +77.90$' "$out" || { show_last && fail "no number of SuperGAT"; }
holds present/networks-5.tex "pathGCN & ours &" "pathGCN & paper & 37.54 & 72.83"
holds present/networks-5.json '"quoted": true' '"variant": "Geom-GCN-P"'
! grep -q "networks-4" <(ls present) || fail "a table was made that --tables does not name"

# ---- lines and columns ---------------------------------------------------------------------------

# Table 3 on its own depths: what the paper leaves empty stays empty
ring sets/cora
run 0 pathgcn reproduce networks --tables 3 --data sets --datasets cora --epochs 2 --seeds 1 --quick --out depths
holds "$out" "data set  network"
grep -q '^cora  *pathGCN  *paper  *84.2  *84.6$' "$out" || { show_last && fail "not the depths 2 and 8 of Table 3"; }
grep -q '^cora  *EGNN  *paper  *83.2$' "$out" ||
    { show_last && fail "the empty cell of EGNN at 8 layers is not empty"; }

grep -qE '^cora +JKNet +ours +[0-9.]+ ± 0.00( ~)?$' "$out" ||
    { show_last && fail "JKNet has another cell than the one at 8 layers"; }

# rows by depth are DropEdge's runs: its recipes, with all edges or with the share that it keeps; only the
# settings of its best depth, with dropped edges, are published
some='[0-9.]+ ± 0.00'
! grep -q "gcn-authors" depths/networks-3.json || fail "a recipe for two layers is used by depth"
grep -qE "^cora +GCN +ours +$some ~ +$some ~$" "$out" || { show_last && fail "plain GCN is not marked"; }
grep -qE "^cora +GCN \(Drop\) +ours +$some +$some ~$" "$out" || { show_last && fail "GCN (Drop) at 8 layers"; }
grep -qE "^cora +Incep \(Drop\) +ours +$some ~$" "$out" || { show_last && fail "Incep (Drop) at 8 layers"; }
for network in gcn jknet incep; do
    grep -q -- "--recipe $network-drop-cora --layers 8 .*--edge-keep 1" depths/networks-3.json ||
        fail "no row of $network keeps all edges"
    grep -- "--recipe $network-drop-cora --layers 8 " depths/networks-3.json | grep -qv -- "--edge-keep" ||
        fail "no row of $network drops the edges of its recipe"
done
run 0 pathgcn reproduce networks --tables 2 --models gcn,cheb --data sets --datasets cora --epochs 2 --seeds 1 --out own
! grep -q "~" "$out" || { show_last && fail "published settings are marked"; }
holds own/networks-2.json "--recipe gcn-authors-cora --layers 2"
run 0 pathgcn reproduce networks --tables 2 --models gcn,cheb --data sets --datasets cora --layers 4 --epochs 2 \
    --seeds 1 --out own
[ "$(grep -cE "^(GCN|ChebNet) +ours +$some ~$" "$out")" = 2 ] || { show_last && fail "4 layers are not marked"; }
grep -q -- "--recipe gcn-drop-cora --layers 4 .*--edge-keep 1" own/networks-2.json || fail "no GCN of 4 layers"
# GAT's settings are published for two layers, on PPI for three
run 0 pathgcn reproduce networks --tables 2 --models gat --data sets --datasets cora --epochs 2 --seeds 1 --out own
grep -qE "^GAT +ours +$some$" "$out" || { show_last && fail "GAT's published settings are marked, or not used"; }
holds own/networks-2.json "--recipe gat-authors-cora --layers 2"
run 0 pathgcn reproduce networks --tables 2 --models gat --data sets --datasets cora --layers 3 --epochs 2 --seeds 1 --out own
grep -qE "^GAT +ours +$some ~$" "$out" || { show_last && fail "GAT of 3 layers is not marked"; }

# a data set that DropEdge has no settings of
run 0 pathgcn reproduce networks --tables 3 --models gcn --datasets karate --layers 2 --epochs 2 --seeds 1 --out own
holds own/networks-3.json "--edge-keep 0.5"

# settings that nobody published are marked, in matrices and in lines
run 0 pathgcn reproduce networks --tables 8 --datasets "$PATHGCN_SOURCE/examples/shapes" --models gcn \
    --epochs 2 --seeds 1 --steps 1 --channels 4 --out marks
grep -qE "^GCN +ours, protocol GIN +[0-9.]+ ± 0.00 ~$" "$out" || { show_last && fail "no mark"; }
holds marks/networks-8.json '"unpublished_settings": true'
run 0 pathgcn reproduce sweep karate --model pathgcn,gcn --epochs 2 --seeds 1 --out marks
grep -q "^karate  *model=gcn ~ " "$out" || { show_last && fail "no mark in lines"; }
! grep -q "^karate  *model=pathgcn ~" "$out" || { show_last && fail "pathGCN is marked"; }

holds "$out" "~: settings that nobody published"
! grep -q "one seed\|quoted\|stay empty" "$out" || { show_last && fail "a mark is explained that no line has"; }

# --models leaves the other lines out; graphs have both protocols
run 0 pathgcn reproduce networks --tables 8 --datasets "$PATHGCN_SOURCE/examples/shapes" --models gin,pathgcn \
    --epochs 2 --seeds 2 --steps 1 --channels 4 --jobs 2 --out graphs
holds "$out" "GIN      ours, protocol GIN" "pathGCN  ours, protocol held out"
! grep -q "^GCN\|^CIN" "$out" || { show_last && fail "--models does not choose"; }
refused 2 "no table that is asked for has a network 'gni'|there are cheb, gcn, gat" reproduce networks --models gni --out refusals
refused 2 "has a network 'sgc'; there are gcn, jknet, incep, gcnii, gcnii-star, pde-gcn-d, egnn, pathgcn" \
    reproduce networks --tables 3 --models gcn,sgc --out refusals
for experiment in networks cheb times graphs; do
    refused 2 "--model gcn|use --models gcn" reproduce $experiment --model gcn --out refusals
done
refused 2 "--models chooses lines of networks; semi has none" reproduce semi --models gin --out refusals
refused 2 "--tables is '9'" reproduce networks --tables 9 --out refusals
refused 2 "--tables is for networks" reproduce semi --tables 3 --out refusals

# a table without a line of the chosen networks is left out
run 0 pathgcn reproduce networks --tables 6,8 --data sets --models gat --epochs 2 --seeds 1 --out chosen
holds "$out" "Table 6"
[ ! -e chosen/networks-8.json ] || { show_last && fail "Table 8 was made, which has no GAT"; }
run 0 pathgcn reproduce cheb --models cheb --datasets karate --layers 1 --epochs 2 --seeds 1 --out chosen
! grep -q "pathGCN  *ours" "$out" || { show_last && fail "--models does not choose a line of cheb"; }

# ---- cheb, forms, times --------------------------------------------------------------------------

run 0 pathgcn reproduce cheb --datasets karate,grid --layers 1,2 --epochs 2 --seeds 1 --out curves
grep -q '^karate  *pathGCN  *ours  *[0-9.]* ± 0.00  *[0-9.]* ± 0.00$' "$out" || { show_last && fail "no depths"; }
holds "$out" "ChebNet" "grid"

run 0 pathgcn reproduce forms --datasets karate --epochs 6 --seeds 2 --jobs 2 --out curves
for form in "p = 1 " "p = 5 " "p = 20 " "p = 100 " "exact "; do
    grep -qE "^karate +$form.* 0\.[0-9]{5}$" "$out" || { show_last && fail "no seconds of $form"; }
done
holds curves/forms.json '"train-form": "exact"' '"paths": "100"' '"step_ms": '

run 0 pathgcn reproduce times --data sets --epochs 6 --seeds 1 --out curves
holds "$out" "of this machine" "pathGCN, k = 5 (2 layers)" "GAT (2 layers)" "multiply-adds"
# sampling is a part of the step, and there are figures of each; the name of a line of pathGCN has a comma
awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    function has(key, commas) { return $(at[key] + commas) > 0 }
    function figures(commas) { return has("step_ms", commas) && has("inference_ms", commas) &&
        has("parameters", commas) && has("multiply_adds", commas) }
    /pathGCN, k = 5/ { paths = figures(1) && has("sampling_ms", 1) }
    /GAT \(2 layers\)/ { attention = figures(0) && !has("sampling_ms", 0) }
    END { exit !(paths && attention) }' curves/times.csv || { cat curves/times.csv && fail "a time is missing"; }
run 0 pathgcn reproduce times --data sets --epochs 6 --seeds 1 --out curves --report
grep -qE "^cora +pathGCN, k = 5 \(2 layers\) +2 +1 +- +-" "$out" || { show_last && fail "--report measured"; }
