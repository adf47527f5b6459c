#!/usr/bin/env bash
# Training, predict and eval on a container whose features stay on disk (--memory): the files of the same in memory, byte
# for byte, also after SIGKILL; within the bound; refused with what is needed; and a sentence, with nothing lost, when
# the container is cut short or replaced meanwhile.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

graph=powerlaw:nodes=6000,edges=30000,features=100 epochs=2
[ -z "$sanitized" ] || { graph=powerlaw:nodes=2000,edges=9000,features=50; }
common=(--samples 1 --consistency 0 --channels 16 --paths 3 --path-length 3 --batch 100 --eval-nodes 100 --steps 6 --patience 0)

ulimited() { # BLOCKS COMMAND...: no file may have more blocks of 1 KiB than that
    (trap '' XFSZ && ulimit -f "$1" && shift && "$PATHGCN" "$@")
}

# ---- the same bits ---------------------------------------------------------------------------------

for store in float32 int8; do
    run 0 pathgcn data convert $graph --store $store --out $store.pgcn
    for threads in 1 2; do
        run 0 pathgcn train $store.pgcn "${common[@]}" --epochs $epochs --threads $threads --quiet --out inside
        run 0 pathgcn train $store.pgcn "${common[@]}" --epochs $epochs --threads $threads --memory 256M --quiet \
            --json --out outside
        same "$store, $threads threads" inside/model.safetensors outside/model.safetensors
        same "$store, $threads threads" inside/checkpoint.safetensors outside/checkpoint.safetensors
        rm -rf inside
        [ $store,$threads = int8,2 ] || rm -rf outside
    done
done
holds outside/history.jsonl '"row_hits":' '"row_misses":' '"row_bytes_read":'
holds outside/result.json '"row_bytes_read":'
python3 - "$out" outside/history.jsonl <<'PYTHON'
import json, sys
result = json.loads(open(sys.argv[1]).read().splitlines()[-1])
assert result["runs"][0]["row_misses"] > 0
assert result["peak_rss_bytes"] <= 256 << 20, result["peak_rss_bytes"]
read = [json.loads(line)["row_bytes_read"] for line in open(sys.argv[2])]
assert read[0] > 0 and sum(read) <= result["runs"][0]["row_bytes_read"], read
PYTHON

# ---- predictions and figures ----------------------------------------------------------------------------

for how in deterministic stochastic:3; do
    for some in "" "--nodes=3,1500,77" --unlabelled; do
        # shellcheck disable=SC2086 # none, or one word
        run 0 pathgcn predict outside --inference $how $some --all --out inside.csv
        # shellcheck disable=SC2086
        run 0 pathgcn predict outside --inference $how $some --all --memory 256M --out outside.csv
        same "predict $how $some" inside.csv outside.csv
    done
    run 0 pathgcn predict outside --inference $how --json --out inside.json
    run 0 pathgcn predict outside --inference $how --json --memory 256M --out outside.json
    same "predict $how --json" inside.json outside.json
    holds "$err" "features on disk: rows"
    run 0 pathgcn eval outside --inference $how --json
    cp "$out" inside.json
    run 0 pathgcn eval outside --inference $how --json --memory 256M
    python3 - inside.json "$out" <<'PYTHON'
import json, sys
inside, outside = (json.load(open(name)) for name in sys.argv[1:])
assert outside.pop("row_misses") > 0 and outside.pop("row_bytes_read") > 0
assert outside.pop("row_hits") >= 0 and outside.pop("peak_rss_bytes") <= 256 << 20
assert inside == outside
PYTHON
done
[ "$(find . -name '*.pgcn.*' | wc -l)" = 0 ] || fail "temporary files are left"

# ---- a list of nodes that is not in order --------------------------------------------------------------

run 0 pathgcn predict outside --nodes 3,77 --out some.csv
[ ! -s "$err" ] || fail "nodes in order, each once, had a note: $(cat "$err")"
run 0 pathgcn predict outside --nodes 77,3 --out sorted.csv
holds "$err" "note: the nodes of --nodes are written in the order of the data, each once"
run 0 pathgcn predict outside --nodes 3,77,3 --out once.csv
holds "$err" "each once: 1 given again left out"
same "predict --nodes" some.csv sorted.csv
same "predict --nodes" some.csv once.csv
run 1 pathgcn predict outside --inference stochastic:2 --memory 17M --out none.csv
holds "$err" "predicting" "is not possible: it needs at least" "or predict without draws (--inference deterministic)"
[ -n "$sanitized" ] || run 0 pathgcn predict outside --inference deterministic --memory 17M --out exact.csv
run 0 pathgcn eval outside --memory 256M
! grep -q "more than the" "$err" || fail "a bound that was kept is said to be exceeded"
run 0 pathgcn eval outside --memory 16M
holds "$err" "note: that is more than the 16.0 MiB of --memory"
run 0 "$PATHGCN" train int8.pgcn --batch 100 --eval-nodes 100 --steps 1 --epochs 1 --memory 256M --out raceless
holds "$err" "no race finds settings"
run 2 pathgcn eval outside karate --memory 256M
holds "$err" "is no container"
[ ! -e none.csv ] || fail "a refused prediction left a file"
if [ -z "$sanitized" ]; then # whose graph is too small for files
    run 1 ulimited 100 predict outside --memory 16M --out none.csv
    holds "$err" "cannot make a temporary file of" "nothing was changed"
    [ ! -e none.csv ] || fail "a prediction without room left a file"
fi
rm -rf outside

# ---- what can be left out, and what cannot ------------------------------------------------------------

run 0 "$PATHGCN" train int8.pgcn --batch 300 --steps 2 --epochs 1 --channels 8 --memory 256M --out defaults
holds "$err" "evaluations look at 10000 validation"
run 2 pathgcn train int8.pgcn --epochs 1 --memory 256M --out none
holds "$err" "set batch to a number of training nodes"
run 1 pathgcn train int8.pgcn "${common[@]}" --epochs 1 --memory 20M --out none
holds "$err" "within 20.0 MiB is not possible: it needs at least" "pages of the graph" "are available"
if [ -z "$sanitized" ]; then # the amount that a refusal names suffices
    bound=$(grep -o 'memory [0-9]*M' "$err" | cut -d' ' -f2)
    run 0 pathgcn train int8.pgcn "${common[@]}" --epochs 1 --quiet --json --memory "$bound" --out enough
    bound=${bound%M}
    python3 - "$out" $((bound << 20)) <<'PYTHON'
import json, sys
peak = json.loads(open(sys.argv[1]).read().splitlines()[-1])["peak_rss_bytes"]
assert peak <= int(sys.argv[2]), (peak, sys.argv[2])
PYTHON
    run 1 pathgcn predict enough --inference stochastic:2 --memory 17M --out none.csv
    bound=$(grep -o 'memory [0-9]*M' "$err" | cut -d' ' -f2)
    run 0 pathgcn predict enough --inference stochastic:2 --memory "$bound" --out enough.csv
fi
for more in "--parts 4" "--batch 100" "--eval-nodes 100"; do # no other sentence, which would advise clusters
    # shellcheck disable=SC2086 # two words
    run 2 pathgcn train int8.pgcn --batch-by cluster $more --epochs 1 --memory 256M --out none
    holds "$err" "leave batch-by out, with parts, parts-per-step and parts-by, and set batch"
done
run 2 pathgcn train int8.pgcn --parts 4 --batch 100 --epochs 1 --memory 256M --out none
holds "$err" "parts is 4 and does nothing" "the features stay on disk; leave it out"
run 0 pathgcn data convert karate --out sparse.pgcn
run 2 pathgcn train sparse.pgcn --batch 9 --memory 256M --out none
holds "$err" "only dense features can stay on disk; leave --memory out"
run 2 pathgcn train karate --batch 9 --memory 256M --out none
holds "$err" "is no container" "pathgcn data convert"
run 2 pathgcn train int8.pgcn --recipe auto --batch 9 --memory 256M --out none
holds "$err" "a race prepares the data"
run 2 pathgcn train int8.pgcn --memory 1 --out none
holds "$err" "--memory is '1', expected a size"
[ ! -e none ] || fail "a refused training left a directory"

# ---- SIGKILL ----------------------------------------------------------------------------------------

run 0 pathgcn train float32.pgcn "${common[@]}" --epochs 4 --quiet --out whole
"$PATHGCN" train float32.pgcn --recipe usual "${common[@]}" --epochs 4 --memory 256M --quiet --checkpoint-every 1 \
    --out killed >"$out" 2>"$err" &
pid=$!
wait_for 100 test -e killed/checkpoint.safetensors
kill -KILL $pid 2>/dev/null || true
wait $pid 2>/dev/null || true
run 0 pathgcn train float32.pgcn "${common[@]}" --epochs 4 --memory 256M --quiet --checkpoint-every 1 --resume \
    --out killed
same "killed and resumed" whole/model.safetensors killed/model.safetensors

# ---- a container that is cut short, or replaced ---------------------------------------------------------

damage() { # WHAT SENTENCE COMMAND...: while it trains; then the container is put back, and the run goes on in memory
    local what=$1 sentence=$2 code=0 pid
    shift 2
    cp float32.pgcn used.pgcn
    "$PATHGCN" train used.pgcn --recipe usual "${common[@]}" --epochs 100000 --memory 256M --quiet \
        --checkpoint-every 1 --out "$what" >"$out" 2>"$err" &
    pid=$!
    wait_for 100 test -e "$what/checkpoint.safetensors"
    "$@"
    wait $pid || code=$?
    [ $code = 1 ] || { show_last && fail "$what: exit code $code, expected 1"; }
    holds "$err" "--resume"
    grep -q "$sentence" "$err" || { show_last && fail "$what: no '$sentence'"; }
    [ ! -e "$what/result.json" ] || fail "$what: the run says that it is finished"
    cp float32.pgcn used.pgcn
    local done
    done=$(wc -l <"$what/history.jsonl")
    run 0 pathgcn train used.pgcn "${common[@]}" --epochs $((done + 1)) --quiet --resume --out "$what"
    run 0 pathgcn train used.pgcn "${common[@]}" --epochs $((done + 1)) --quiet --out "$what-whole"
    same "$what" "$what/model.safetensors" "$what-whole/model.safetensors"
}
damage cut 'cut short\|ended early' truncate -s 100000 used.pgcn
cp int8.pgcn other.pgcn
damage replaced 'replaced by another file' mv other.pgcn used.pgcn
echo "on disk: the same bits, within the bound, nothing lost"
