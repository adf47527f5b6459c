#!/usr/bin/env bash
# The benchmarks do not rot: every case of bench_kernels gives the right answer on tiny graphs and leaves a JSON line,
# bench_model trains, tables.py understands the lines, and record.py finds a changed digit. PyTorch is not needed.
# Nothing is said about times.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
bench=$PATHGCN_BUILD/bench_kernels
[ -x "$bench" ] || skip "the benchmarks were not built"

run 0 "$bench" --smoke --json kernels.jsonl
for name in "walks" "walks, lists, transposes" "path convolution forward" "path convolution backward" \
    "exact form, one product" "sparse input gradient" "64 rows times W" "layer backward" "dropout" "Adam" \
    "softmax and cross-entropy"; do
    holds kernels.jsonl "\"bench\": \"kernels\", \"case\": \"$name\""
done
holds kernels.jsonl '"case": "random rows"' '"percent_of_limit"' '"unit": "GB/s"'
run 0 "$PATHGCN_BUILD/bench_products" --smoke --json products.jsonl
holds products.jsonl '"bench": "products", "case": "x^T g"' '"library": "pathgcn"'
run 1 "$bench" --nonsense
holds "$err" "usage: kernels"

# single nodes: of a model, one question at a time
run 0 pathgcn train karate --epochs 3 --quiet --out single
run 0 "$PATHGCN_BUILD/bench_nodes" single/model.safetensors karate 2 20
holds "$out" "known node median" "new node   median" "us per row" "handle"

model=$PATHGCN_BUILD/bench_model
run 0 "$model" sbm:nodes=300 --bench scaling --case nodes --train-only --seconds 0 threads=1
cp "$out" scaling.jsonl
run 0 "$model" sbm:nodes=300 --case cora --seconds 0 --train-all threads=2 --model model --logits logits
cp "$out" model.jsonl
[ "$(stat -c %s logits)" = $((300 * 4 * 4)) ] || fail "the logits are not 300 x 4 floats"
[ "$(json model.jsonl train_nodes)" = 298 ] || fail "not all nodes are in the training mask"
run 0 "$model" sbm:nodes=300 --bench peers --case "sbm, gcn" --seconds 0 threads=1 model=gcn wd-mix=0
cp "$out" peers.jsonl
holds peers.jsonl '"inference_ms"' '"dense_features":true'
if grep -q walks_ms peers.jsonl; then fail "walks of a network without walks were timed"; fi
run 0 "$model" sbm:nodes=300 --bench peers --case "sbm, gat" --seconds 0 threads=1 model=gat heads-last=2 wd-mix=0
cat "$out" >>peers.jsonl
run 1 "$model" sbm layers=none
holds "$err" "layers"

run 0 "$model" sbm:nodes=300 --bench batches --case "sbm, sage" --seconds 0 threads=1 model=sage batch=20 steps=1 \
    neighbours=3,2 lr-ends=0.003 lr-mix=0.003 wd-mix=0
cp "$out" batches.jsonl
holds batches.jsonl '"sampling_ms"' '"batch_rows":[' '"batch_items":20'

python=$(command -v python3) || skip "there is no python3; tables.py was not tried"
tables=$PATHGCN_SOURCE/bench/tables.py
run 0 "$python" "$tables" --show kernels kernels.jsonl
holds "$out" "**sbm n=300 k=5 p=5 c=64**" "| path convolution forward" "ns / walk step"
run 0 "$python" "$tables" --show scaling scaling.jsonl
holds "$out" "ns per unit"
run 0 "$python" "$tables" --show batches batches.jsonl
holds "$out" '| sbm, sage' '| pathgcn'
run 0 "$python" "$tables" --show peers peers.jsonl products.jsonl
holds "$out" "**sbm**: n=300" "| gcn      | 1 " "| gat      | 1 " "| products"
printf 'before\n<!-- table: model -->\nold\n<!-- end -->\nafter\n<!-- table: load -->\nkept\n<!-- end -->\n' >doc.md
run 0 "$python" "$tables" --write doc.md kernels.jsonl model.jsonl
holds doc.md before after kept "| pathgcn"
if grep -q old doc.md; then fail "the old table is still there"; fi

# records of results: made with reporting seeds only, repeated to the digit, and a changed digit is found
record=("$python" "$PATHGCN_SOURCE/bench/record.py" --records records --threads 1)
export PATHGCN
run 0 "${record[@]}" add club train karate --recipe any-alike --epochs 5 --seeds 2 --seed 1000
holds records/club.json '"command": "pathgcn train karate' '"seeds": [1000, 1001]' '"recipe": "any-alike"'
run 0 "${record[@]}" repeat club
holds "$out" "the same to the digit"
cp records/club.json once.json
run 0 "${record[@]}" --runs kept add club train karate --recipe any-alike --epochs 5 --seeds 2 --seed 1000
touch kept/before
run 0 "${record[@]}" --runs kept add club train karate --recipe any-alike --epochs 5 --seeds 2 --seed 1000
[ -z "$(find kept/club -name history.jsonl -newer kept/before)" ] || fail "a run that was kept was trained again"
digits() { grep -E '"(mean|deviation|values|epochs|fingerprint)"' "$1"; }
cmp <(digits once.json) <(digits records/club.json) || fail "the record of a run that was kept has other digits"
run 0 "${record[@]}" add area train karate --recipe any-alike --select auc --epochs 5 --seeds 2 --seed 1000
holds records/area.json '"measure": "auc"'
for i in {0..19}; do echo "n$i,n$(((i + 1) % 20))" >>ring.csv && echo "n$i,$((i % 2)),$((i / 2 % 2))" >>two.csv; done
sed -i '1i from,to' ring.csv
sed -i '1i id,odd,second' two.csv
run 0 "${record[@]}" add area train --edges ring.csv --features two.csv --labels two.csv --recipe any-multilabel \
    --epochs 3 --seed 1000
holds records/area.json '"measure": "micro-F1"'
holds "$out" ", in place of "
rm records/area.json
run 1 "${record[@]}" add early train karate --seed ten
holds "$err" "--seed is 'ten', expected a number"
# Ctrl-C, which reaches both: the program saves, and the same command goes on
long=(--runs kept add long train sbm --recipe any-alike --epochs 100000 --patience 0 --seed 1000)
setsid env --default-signal=INT "${record[@]}" "${long[@]}" >"$out" 2>"$err" &
script=$!
for ((i = 0; i < 300; i++)); do
    if [ "$(cat kept/long/history.jsonl 2>>"$out" | wc -l)" -gt 20 ]; then break; fi
    sleep 0.1
done
kill -INT -- "-$script"
code=0
wait "$script" || code=$?
[ "$code" = 130 ] || fail "Ctrl-C ended with $code: $(cat "$err")"
holds "$err" "interrupted; the same command goes on with what is in kept/long"
! grep -q Traceback "$err" || fail "Ctrl-C left a traceback"
epochs=$(wc -l <kept/long/history.jsonl)
run 0 "${record[@]}" --runs kept add long train sbm --recipe any-alike --epochs $((epochs + 1)) --patience 0 --seed 1000
holds "$err" "going on after epoch $epochs"
rm records/long.json
sed -i 's/"values": \[/&1/' records/club.json
run 1 "${record[@]}" repeat club
holds "$out" "values: [1"
run 1 "${record[@]}" add early train karate --recipe any-alike --epochs 5 --seeds 2
holds "$err" "seeds below 1000 are for choosing"
[ ! -e records/early.json ] || fail "a result of choosing seeds was kept"
run 1 "${record[@]}" check
holds "$err" "club: docs/RESULTS.md does not have"
