#!/usr/bin/env bash
# A data set that no recipe knows: families of settings race on validation, and the winner is trained.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
default_recipe="" # this is about the race

winner_of() { sed -n 's/.*"winner": "\(.*\)".*/\1/p' "$1/race.json"; }

# ---- who won is told, remembered and repeated --------------------------------------------------------

run 0 pathgcn train karate --out first
winner=$(winner_of first)
holds "$err" "no recipe is known for this data set; recipe $winner won the race on validation"
holds "$out" "Recipe: $winner, version 1, which won the race; --recipe $winner repeats the run without it"
run 0 pathgcn train karate --out first
holds "$err" "first holds this training, finished, and nothing was trained"
holds "$out" "Recipe: $winner"
run 0 pathgcn train karate --recipe "$winner" --out alone
same "the winner's recipe alone" first/model.safetensors alone/model.safetensors
run 0 pathgcn train karate --recipe auto --out named
same "--recipe auto is the default" first/model.safetensors named/model.safetensors
refused 1 "its settings came from a race on other data, with other settings" train karate --dropout 0.3 --out first
refused 1 "its settings did not come from a race" train karate --out alone
run 0 pathgcn train karate --json --quiet --out first
holds "$out" "\"races_won\":{\"$winner\":1}"
cp "$out" raced.json
run 0 pathgcn train karate --recipe "$winner" --json --quiet --out alone
[ "$(grep -o '"config":{[^}]*}' "$out")" = "$(grep -o '"config":{[^}]*}' raced.json)" ] ||
    fail "the JSON line tells other settings than those of the winner"

# ---- same bits: any threads, killed in the middle ----------------------------------------------------

short=(sbm:nodes=300,homophily=0.2 --epochs 90 --quiet)
for threads in 1 2 5; do
    run 0 pathgcn train "${short[@]}" --threads $threads --out "threads-$threads"
done
for threads in 2 5; do
    same_runs "$threads threads" threads-1 "threads-$threads"
    same "the race on $threads threads" threads-1/race.json "threads-$threads/race.json"
done
for pause in 0.05 0.2 0.5; do
    "$PATHGCN" train "${short[@]}" --out killed --resume >/dev/null 2>&1 &
    sleep $pause
    kill -9 $! 2>/dev/null || true
    wait $! 2>/dev/null || true
done
run 0 pathgcn train "${short[@]}" --out killed --resume
same_runs "killed three times" threads-1 killed

"$PATHGCN" train sbm:nodes=2000 --out stopped >"$out" 2>"$err" &
sleep 0.7
kill -INT $! && code=0 && wait $! || code=$?
[ $code = 130 ] || fail "exit code $code after Ctrl-C in the race"
holds "$err" "Interrupted in the race for the settings, of which nothing is kept; the same command races again"

# ---- several seeds: a race each ----------------------------------------------------------------------

run 0 pathgcn train karate --seeds 3 --epochs 90 --out seeds
[ "$(grep -c 'won [123] of 3 races' "$out")" -ge 1 ] || fail "the table does not count who won"
for seed in 0 1 2; do [ -s "seeds/seed-$seed/race.json" ] || fail "seed $seed has no race"; done

# ---- a winner whose figure is not the highest: the reason is told ---------------------------------------

# below_best FILE: whether the winner of race.json scored less than the best of the last rung.
below_best() {
    awk -F '[:,] *' -v winner="$(sed -n 's/.*"winner": "\(.*\)".*/\1/p' "$1")" '
        /"recipe"/ { name = $2; gsub(/"/, "", name) }
        /"rung"/ { rung[name] = $2; if ($2 > last) last = $2 }
        /"val_score"/ { score[name] = $2 }
        END { for (name in score) if (rung[name] == last && score[name] > score[winner]) exit 0; exit 1 }' "$1"
}
told=0
for seed in {0..7}; do
    run 0 pathgcn train sbm:nodes=100,homophily=0.5 --seed "$seed" --epochs 45 --out "tied-$seed"
    if below_best "tied-$seed/race.json"; then
        told=$((told + 1))
        grep -qE "^note: .* is not better than $(winner_of "tied-$seed") by more than a standard error: they are tied, and \
$(winner_of "tied-$seed") needs [0-9]+ % of its operations$" "$err" || { show_last && fail "the tie of seed $seed"; }
    else
        ! grep "they are tied" "$err" || fail "a tie of the best one, seed $seed"
    fi
done
[ $told -gt 0 ] || fail "no race had a tie"

# ---- what users' options mean in it ------------------------------------------------------------------

refused 2 "readout is relu and does nothing|none of the others that race takes these settings" train karate --readout relu --out no
run 0 pathgcn train karate --layers 3 --epochs 36 --out deep --json
holds "$out" '"layers":"3"'
run 0 pathgcn train karate --hidden-rows bf16 --epochs 5 --out halves
holds "$err" "recipes do not race with these settings"

# ---- links as input: the model is used on data of the same form --------------------------------------

run 0 pathgcn train sbm:nodes=200 --recipe any-links --epochs 20 --out links
holds links/data.json "features=own+adjacency"
run 0 pathgcn eval links/model.safetensors
run 0 pathgcn predict links/model.safetensors

# ---- the README's block model: one link in ten joins equal nodes -------------------------------------

if [ -z "$sanitized" ]; then
    run 0 pathgcn train sbm:classes=2,homophily=0.1 --seed 1000 --json --quiet --out unlike
    accuracy=$(sed -n 's/.*"test_accuracy_mean":\([0-9.]*\).*/\1/p' "$out")
    awk -v a="$accuracy" 'BEGIN { exit !(a > 98) }' || fail "unlike neighbours: $accuracy %"
fi
echo "race: $winner on karate; unlike neighbours ${accuracy:-not run} %"
