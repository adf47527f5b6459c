#!/usr/bin/env bash
# The published files, as they were published, are the prepared arrays: same graph, features and labels
# (fingerprint), same splits, with and without direction and self-loops; and training does not care
# which of them it reads, or whether they went through the container.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -n "$raw" ] || skip "PATHGCN_DATA is not set, or has no folder raw"
data=${raw%/raw}

# name, nodes, edges, self-loops, lines of the source, features, classes, splits or folds: README there
while read -r name nodes edges loops lines features classes parts; do
    run 0 pathgcn data info "$raw/$name" --json
    cp "$out" raw.json
    figures=$(for key in nodes edges dropped_self_loops source_edges features classes; do json raw.json $key; done | xargs)
    [ "$figures" = "$nodes $edges $loops $lines $features $classes" ] || fail "$name: $figures"
    [ "$(grep -o '"train":' raw.json | wc -l) $(json raw.json folds)" = "$parts" ] || fail "$name has other splits"
    for steps in "" :self-loops :directed; do
        case $steps/$name in :directed/*cora | :directed/citeseer | :directed/pubmed | :directed/*_fixed | :directed/[A-Z]*) continue ;; esac
        run 0 pathgcn data convert "$raw/$name$steps" --out raw.pgcn
        run 0 pathgcn data convert "$data/$name$steps" --out prepared.pgcn
        run 0 pathgcn data info raw.pgcn --json
        sed 's/.*"fingerprint":"\([0-9a-f]*\)".*/\1/; q' "$out" >first
        sed 's/.*"splits":\(\[[^]]*\]\).*/\1/; q' "$out" >>first
        run 0 pathgcn data info prepared.pgcn --json
        sed 's/.*"fingerprint":"\([0-9a-f]*\)".*/\1/; q' "$out" >second
        sed 's/.*"splits":\(\[[^]]*\]\).*/\1/; q' "$out" >>second
        same "raw and prepared $name$steps" first second
    done
    echo "$name: equal"
done <<'LIST'
cora 2708 5278 0 10858 1433 7 11 0
citeseer 3327 4552 124 9464 3703 6 11 0
pubmed 19717 44324 3 88676 500 3 11 0
chameleon 2277 31371 50 36101 2325 5 10 0
cornell 183 277 3 298 1703 5 10 0
cornell_fixed 183 277 0 277 1703 5 10 0
texas 183 279 16 325 1703 5 10 0
wisconsin 251 450 16 515 1703 5 10 0
film 7600 26659 93 33391 932 5 10 0
MUTAG 3371 3721 0 7442 7 2 10 0
PTC_MR 4915 5054 0 10108 18 2 10 0
PROTEINS 43471 81044 0 162088 3 2 10 0
NCI1 122747 132753 0 265506 37 2 10 0
MUTAG-gin 3371 3721 0 7442 7 2 10 10
PTC-gin 8792 8931 0 17862 19 2 10 10
PROTEINS-gin 43471 81044 0 162088 3 2 10 10
NCI1-gin 122747 132753 0 265506 37 2 10 10
LIST

# a container cannot give back what was left out
run 0 pathgcn data convert "$raw/texas" --out texas.pgcn
refused 2 "texas.pgcn|16 self-loops|convert" data info texas.pgcn:self-loops
refused 2 "texas.pgcn|no directed edges" data info texas.pgcn:directed
run 0 pathgcn data convert "$raw/texas:directed" --out texas.pgcn
run 0 pathgcn data info texas.pgcn:symmetrise --json
symmetrised=$(json "$out" fingerprint)
run 0 pathgcn data info "$raw/texas" --json
[ "$(json "$out" fingerprint)" = "$symmetrised" ] || fail "a directed container does not symmetrise to the source"

# what should be known is said where it applies
run 0 pathgcn data info "$raw/cornell"
holds "$out" "same file as that of Texas" "48/32/20"
run 0 pathgcn data info "$raw/texas"
! grep -q "same file" "$out" || fail "the Cornell note appears on Texas"
run 0 pathgcn data info "$raw/citeseer"
holds "$out" "15 of the nodes"

# the same checkpoint from the pickles, the arrays, the container and the archive
run 0 pathgcn data convert "$raw/cora" --out cora.pgcn
run 0 pathgcn data convert "$data/cora" --out cora.npz
epochs=(--epochs 30)
[ -n "$sanitized" ] && epochs=(--epochs 3)
number=0
for source in "$raw/cora" "$data/cora" cora.pgcn cora.npz; do
    number=$((number + 1))
    run 0 pathgcn train "$source" "${epochs[@]}" --out "run$number" --quiet
    for file in checkpoint.safetensors model.safetensors; do
        same "$file from $source" "run1/$file" "run$number/$file"
    done
done
sha256sum run1/checkpoint.safetensors
