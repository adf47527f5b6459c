#!/usr/bin/env bash
# What the commands print and write: the keys scripts rely on, CSV and JSON that others can read,
# and figures that agree with each other.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
python=$(command -v python3 || true)

# parses FILE: the whole file is one JSON value, for a parser that is not ours.
parses() {
    if [ -n "$python" ]; then
        "$python" -m json.tool "$1" >/dev/null || fail "$1 is not JSON"
    else
        grep -qE '^[{]' "$1" || fail "$1 is not JSON"
    fi
}
# ---- train ---------------------------------------------------------------------------------------

run 0 pathgcn train sbm --epochs 40 --seeds 2 --out seeds --json
[ "$(wc -l <"$out")" = 1 ] || fail "--json printed more than one line"
[ ! -s "$err" ] || { show_last && fail "progress although standard error is no terminal"; }
parses "$out"
for key in dataset test_accuracy_mean test_accuracy_std val_accuracy_mean \
    best_epoch_test_accuracy_mean seeds epochs step_ms_median peak_rss_bytes predicted_peak_rss_bytes; do
    json "$out" $key >/dev/null
done
[ "$(json "$out" dataset) $(json "$out" seeds) $(json "$out" epochs)" = "sbm 2 40.0" ] || fail "wrong figures"
cp "$out" train.json
for seed in 0 1; do
    [ "$(wc -l <seeds/seed-$seed/history.jsonl)" = 40 ] || fail "history.jsonl has not one line per epoch"
    head -n 1 seeds/seed-$seed/history.jsonl >line && parses line
    parses seeds/seed-$seed/result.json
done
for key in epoch train_loss val_loss val_accuracy test_accuracy; do json line $key >/dev/null; done
for file in model.safetensors history.jsonl; do [ -s seeds/$file ] || fail "no seeds/$file"; done

# mean and deviation are those of the runs
a=$(json <(tr -d ' \n' <seeds/seed-0/result.json) test_accuracy)
b=$(json <(tr -d ' \n' <seeds/seed-1/result.json) test_accuracy)
about "$(json train.json test_accuracy_mean)" "$(awk "BEGIN { print ($a + $b) / 2 }")" 1e-3
about "$(json train.json test_accuracy_std)" "$(awk "BEGIN { print sqrt(($a - $b) ^ 2 / 2) }")" 1e-3

# and the interval of the mean is that of Student's t, which is 12.7062 for two runs
read -r low high < <(grep -oE '"test_accuracy_interval_95":\[[^]]*' train.json | sed 's/.*\[//; s/,/ /')
half=$(awk "BEGIN { d = $a - $b; print 12.7062 * (d < 0 ? -d : d) / 2 }")
about "$low" "$(awk "BEGIN { x = ($a + $b) / 2 - $half; print (x < 0 ? 0 : x) }")" 1e-2
about "$high" "$(awk "BEGIN { x = ($a + $b) / 2 + $half; print (x > 100 ? 100 : x) }")" 1e-2
run 0 pathgcn train karate --epochs 5 --json --out one
holds "$out" '"test_accuracy_interval_95":null' '"val_accuracy_interval_95":null'

run 0 pathgcn train karate --epochs 5 --seeds 3 --out table
holds "$out" seed "best epoch" mean deviation "95 % interval, half its width" "mean of 3 seeds" \
    table/model.safetensors
[ "$(grep -cE '^[012] ' "$out")" = 3 ] || { show_last && fail "not a line per seed"; }
run 0 pathgcn train karate --epochs 5
[ -s runs/karate/model.safetensors ] || fail "no default directory"
run 0 pathgcn train karate --epochs 3 --seed 9223372036854775807 --out large --json
parses "$out"

# ---- eval ----------------------------------------------------------------------------------------

for seed in 0 1; do
    run 0 pathgcn eval seeds/seed-$seed/model.safetensors --json
    parses "$out"
    cp "$out" eval.json
    for part in test val; do
        about "$(json eval.json ${part}_accuracy)" \
            "$(json <(tr -d ' \n' <seeds/seed-$seed/result.json) ${part}_accuracy)" 1e-6
    done
done
run 0 pathgcn eval seeds/seed-1/model.safetensors --inference stochastic:10 --json
parses "$out"
about "$(json "$out" test_accuracy)" "$(json eval.json test_accuracy)" 5
about "$(json "$out" test_accuracy_of_single_draws_mean)" "$(json eval.json test_accuracy)" 10
awk -v d="$(json "$out" test_accuracy_of_single_draws_std)" 'BEGIN { exit !(d > 0 && d < 10) }' ||
    fail "no deviation over the draws"
for threads in 1 3; do
    run 0 pathgcn eval seeds/model.safetensors --inference stochastic:3 --seed 5 --threads $threads
    cp "$out" eval-$threads
done
same "eval with 1 and 3 threads" eval-1 eval-3
holds eval-1 training validation "test" "stochastic:3" "deviation"
# data without a split of that name: all that has a label
run 0 pathgcn eval seeds/model.safetensors sbm:only-split=0
holds "$out" "split none" "all  "
run 0 pathgcn eval seeds/model.safetensors sbm:only-split=0 --json
holds "$out" '"test_accuracy":null' '"split":null'
[ "$(json "$out" all_accuracy)" != null ] || fail "no accuracy"

# ---- predict -------------------------------------------------------------------------------------

ring ring # its labels and masks are known here
run 0 pathgcn train ring --epochs 60 --patience 0 --channels 8 --out ring-run --quiet
ring_model=ring-run/model.safetensors
run 0 pathgcn predict $ring_model
[ "$(head -n 1 "$out")" = node,label,probability ] || { show_last && fail "the CSV header"; }
[ "$(wc -l <"$out")" = 13 ] || fail "not one line per node and a header"
awk -F, 'NR > 1 && ($1 != NR - 2 || $2 !~ /^[01]$/ || $3 < 0.5 || $3 > 1) { exit 1 }' "$out" ||
    { show_last && fail "a line of the CSV"; }
cp "$out" predictions.csv
run 0 pathgcn eval $ring_model --json
about "$(json "$out" test_accuracy)" \
    "$(awk -F, '$1 >= 8 && NR > 1 { right += $2 == $1 % 2 } END { print 100 * right / 4 }' predictions.csv)" 1e-4
about "$(json "$out" train_accuracy)" \
    "$(awk -F, '$1 < 4 && NR > 1 { right += $2 == $1 % 2 } END { print 100 * right / 4 }' predictions.csv)" 1e-4

run 0 pathgcn predict $ring_model --out again.csv
[ ! -s "$out" ] || fail "predict --out also printed"
same "predict --out" predictions.csv again.csv
run 0 pathgcn predict $ring_model --out predictions.json
parses predictions.json
[ "$(grep -c '"node":' predictions.json)" = 12 ] || fail "not one JSON entry per node"
run 0 pathgcn predict $ring_model --json --all --inference stochastic:4
parses "$out"
holds "$out" '"deviation":' '"probabilities":['
run 0 pathgcn predict $ring_model --all --inference stochastic:4
[ "$(head -n 1 "$out")" = node,label,probability,deviation,p0,p1 ] || fail "the header of --all"
awk -F, 'NR > 1 && ($5 + $6 < 0.9999 || $5 + $6 > 1.0001) { exit 1 }' "$out" || fail "not probabilities"

# ---- paths ---------------------------------------------------------------------------------------

valid_walks() { # 1 if staying is allowed: every step follows the ring; node 11 has no edge and stays
    awk -F, -v stay="$1" '
        NR == 1 { if ($0 != "start,path,node0,node1,node2,node3") exit 1; next }
        { if ($1 != $3 || $1 != int((NR - 2) / 3) || $2 != (NR - 2) % 3) exit 1 }
        { for (i = 4; i <= 6; i++) {
              step = ($i - $(i - 1) + 22) % 11
              if ($(i - 1) == 11 ? $i != 11 : (step != 1 && step != 10 && !(stay && step == 0))) exit 1
              if (step == 0 && $i != 11) stays++ } }
        END { exit stay && !stays }' "$out" || { show_last && fail "these are not walks on the ring"; }
}
run 0 pathgcn paths ring --path-length 4 --paths 3
[ "$(wc -l <"$out")" = 37 ] || fail "not 12 x 3 walks and a header"
valid_walks 0
cp "$out" walks.csv
run 0 pathgcn paths ring --path-length 4 --paths 3 --may-stay
valid_walks 1
for threads in 1 7; do
    run 0 pathgcn paths ring --path-length 4 --paths 3 --threads $threads --out walks-$threads.csv
    same "paths with $threads threads" walks.csv walks-$threads.csv
    run 0 pathgcn paths sbm --walk node2vec --return-p 4 --threads $threads --out walks-$threads.npy
done
same "node2vec walks with 1 and 7 threads" walks-1.npy walks-7.npy
holds walks-1.npy "'<i4'" "(1000, 5, 5)"
run 0 pathgcn paths ring --path-length 4 --paths 3 --out walks.npy
holds walks.npy "(12, 3, 4)"
[ "$(tail -c 576 walks.npy | od -An -v -t d4 -w16 | tr -s ' ' , | cut -c 2-)" = \
    "$(tail -n +2 walks.csv | cut -d, -f 3-)" ] || fail "walks.npy and walks.csv differ"
run 0 pathgcn paths karate --starts 33,0 --paths 1 --path-length 1
[ "$(tr '\n' ' ' <"$out")" = "start,path,node0 33,0,33 0,0,0 " ] || fail "--starts"
run 0 pathgcn paths ring --path-length 4 --paths 3 --draw 1
! cmp -s "$out" walks.csv || fail "--draw does nothing"

# ---- data, info ----------------------------------------------------------------------------------

mkdir sets
mv ring sets/ring
run 0 pathgcn data list --data sets
holds "$out" karate sbm grid sets ring
run 0 pathgcn data list --data sets --json
parses "$out"
holds "$out" '"stored":["ring"]' '"name":"karate"'
run 0 pathgcn data info ring --data sets
holds "$out" "nodes                12" "isolated nodes       1" "public" "class sizes          6 6"
run 0 env PATHGCN_DATA=sets "$PATHGCN" data info ring --json
parses "$out"
holds "$out" '"nodes":12' '"edges":11' '"isolated":1' '"train":4' '"class_sizes":[6,6]'
run 0 pathgcn data info karate --json
holds "$out" '"nodes":34' '"edges":78' '"classes":2'
run 0 pathgcn info
holds "$out" version isa threads compiler
# ---- kernels -------------------------------------------------------------------------------------

# smooth kernels that were never trained: hops and sum are those asked for
run 0 pathgcn train karate --epochs 2 --lr-kernel 0 --hops 2 --path-length 3 --out frozen
run 0 pathgcn kernels frozen/model.safetensors --json
parses "$out"
about "$(json "$out" f_1)" 1 1e-6
about "$(json "$out" f_minus_1)" 0.3333333 1e-6
[ "$(json "$out" smooth) $(json "$out" difference) $(json "$out" any_negative)" = "64 0 0" ] ||
    { show_last && fail "a smoothing kernel is called something else"; }
run 0 pathgcn kernels frozen/model.safetensors
holds "$out" "kernel depthwise" "    2    0.333   0.333   0.333     1.000   0.333   0.333       64          0"
# the identity is neither; trained where neighbours differ it takes differences
run 0 pathgcn train karate --epochs 2 --lr-kernel 0 --kernel-start identity --out identity
run 0 pathgcn kernels identity/model.safetensors --json
[ "$(json "$out" smooth) $(json "$out" difference)" = "0 0" ] || { show_last && fail "the identity does something"; }
run 0 pathgcn train sbm:homophily=0.05 --kernel-start identity --self-loops no --scaling walk \
    --wd-kernel 0 --wd-mix 0.01 --epochs 60 --out apart
run 0 pathgcn kernels apart/model.safetensors --json
[ "$(json "$out" difference)" -gt 48 ] || { show_last && fail "neighbours that differ are smoothed"; }
run 1 pathgcn kernels nowhere/model.safetensors
holds "$err" nowhere/model.safetensors

run 0 pathgcn info --json
parses "$out"
run 0 pathgcn --version
holds "$out" "pathgcn $(sed -n 's/^#define PGCN_VERSION "\(.*\)"/\1/p' "$PATHGCN_SOURCE/include/pathgcn/pathgcn.h")"

# ---- help, manual --------------------------------------------------------------------------------

run 0 pathgcn --help
holds "$out" train eval predict kernels paths data info "First steps" "Exit codes"
run 2 pathgcn
for command in train eval predict compare kernels paths data info "data list" "data info" "data check" \
    "data convert" "data fetch" recipes "recipes list" "recipes show" reproduce tune; do
    run 0 pathgcn $command --help all
    holds "$out" "Usage: pathgcn $command" "Examples:" "--help"
    cp "$out" help
    run 0 pathgcn help $command all
    same "help $command all" help "$out"
    if [ "$command" != reproduce ]; then # its usage is a long line
        awk 'length > 101 { exit 1 }' help || fail "the help of $command has lines wider than 100 columns"
    fi
    # one screen, whose options are all in the full help
    run 0 pathgcn $command --help
    holds "$out" "Usage: pathgcn $command" "Examples:" "--help"
    cp "$out" short
    run 0 pathgcn help $command
    same "help $command" short "$out"
    [ "$(wc -l <short)" -le 24 ] || fail "the help of $command is longer than a screen"
    ! cmp -s short help || continue # nothing shorter is needed
    holds short "--help all"
    awk 'length > 80 { exit 1 }' short || fail "the short help of $command is wider than a screen"
    while read -r option; do holds help "$option"; done < <(grep -oE '^  --[a-z-]+' short)
done
run 0 pathgcn train --help
holds "$out" --data --recipe --model --layers --channels --epochs "--batch N " --batch-by --neighbours "--seed " --seeds \
    --out --resume --threads --json --quiet
refused 2 "there is no option --lerning|pathgcn train --help all lists them" train karate --lerning 1
# Of one network: what it takes, and nothing else.
run 0 pathgcn train --model gin --help
holds "$out" "Model of --model gin (" "--eps" "--channels"
! grep -qE '^  --path(-length|s) ' "$out" || fail "the help of gin shows settings of paths"
run 2 pathgcn train --model gim --help
run 2 pathgcn train karate --eps 0.5
holds "$err" "eps is 0.5 and does nothing: model is pathgcn"

run 0 pathgcn train --help all
holds "$out" "of gin: what a node weighs" "Networks ("
cp "$out" help
tr ',{}' '\n' <train.json | sed -n '/"layers"/,/"threads"/s/^"\([a-z-]*\)":.*/\1/p' >keys
[ "$(wc -l <keys)" -gt 30 ] || fail "the configuration has too few keys: $(cat keys)"
while read -r key; do holds help "--$key "; done <keys

run 0 pathgcn train --help all
holds "$out" "no progress, no notes"
run 0 pathgcn tune --help all
holds "$out" "no estimate, no progress, no notes"
run 0 pathgcn manual
holds "$out" "classification of nodes and of whole graphs"
cp "$out" pathgcn.1
holds pathgcn.1 ".TH PATHGCN 1" "PATHGCN_DATA" "EXIT STATUS"
if command -v groff >/dev/null; then
    run 0 groff -man -Tutf8 -ww -z pathgcn.1
    [ ! -s "$err" ] || { show_last && fail "groff complains of the manual"; }
fi
# On a terminal it is shown by man, or as plain text where man is missing or fails.
if command -v script >/dev/null; then
    mkdir bin none
    printf '#!/bin/sh\necho "shown by man $*"\nexec /bin/cat >"$0.page"\n' >bin/man
    chmod +x bin/man
    run 0 script -qec "PATH=$PWD/bin '$PATHGCN' manual" /dev/null
    holds "$out" "shown by man -l -"
    same "the page that man gets" pathgcn.1 bin/man.page
    printf '#!/bin/sh\n/bin/grep SigIgn /proc/self/status\n' >bin/man # leaves before it has read the page
    run 0 script -qec "PATH=$PWD/bin '$PATHGCN' manual" /dev/null
    ignored=$(sed -n 's/^SigIgn:\s*\([0-9a-f]*\).*/\1/p' "$out")
    (((0x$ignored >> 12 & 1) == 0)) || fail "man is started without SIGPIPE"
    printf '#!/bin/sh\nexit 1\n' >bin/man
    for place in none bin; do
        run 0 script -qec "PATH=$PWD/$place '$PATHGCN' manual" /dev/null
        holds "$out" "SYNOPSIS" "pathgcn train" "--path-length" "PATHGCN_DATA" "EXIT STATUS"
        ! grep -qE '^\.[A-Z]|\\-' "$out" || fail "a terminal is shown roff"
    done
else
    echo "SKIPPED: the manual on a terminal, script is missing"
fi
if command -v mandoc >/dev/null; then run 0 mandoc -T lint -W error pathgcn.1; fi
if command -v man >/dev/null; then
    run 0 env MANPAGER=cat MANWIDTH=100 man --warnings -l pathgcn.1
    [ ! -s "$err" ] || { show_last && fail "man complains of the manual"; }
fi

# ---- progress ------------------------------------------------------------------------------------

on_terminal() { # columns, train arguments...: what a terminal of that width is sent
    local columns=$1
    shift
    run 0 script -qec "stty cols $columns && '$PATHGCN' train --recipe usual $*" /dev/null
    tr '\r' '\n' <"$out" | sed 's/\x1b\[K//; /^seed/,$d' >screen # without the table
}
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    # so many epochs that a fast machine takes longer than a line of progress waits
    long=(--epochs 1500 --patience 0 --out terminal --overwrite)
    on_terminal 120 sbm "${long[@]}"
    holds screen "[#" "epoch " "/1500" "loss " "val " "epochs/s" "left"
    on_terminal 50 sbm "${long[@]}" --seeds 2
    holds screen "left" "epoch " "/1500" "run 1/2" # the most important first: val does not fit
    awk 'length > 50 { exit 1 }' screen || fail "progress wider than the terminal"
    on_terminal 120 sbm "${long[@]}" --quiet
    ! grep -q "epochs/s" screen || fail "--quiet shows progress"
else
    echo "no script(1) or no pseudo-terminals here: the progress on a terminal was left out"
fi

# ---- a terminal ------------------------------------------------------------------------------------

# Sentences are not cut inside words there, and are one line elsewhere.
club=$PATHGCN_SOURCE/examples/club
look=(data info --edges "$club/friends.csv" --features "$club/people.csv")
run 0 pathgcn "${look[@]}"
sentence=$(grep '^note: ' "$out" | head -n 1)
[ ${#sentence} -gt 100 ] || fail "the note is too short for this test: $sentence"
for columns in 60 80; do
    script -qec "stty cols $columns; $(printf '%q ' "$PATHGCN" "${look[@]}")" /dev/null </dev/null | tr -d '\r' >screen
    sed -n '/^note: /,$p' screen >notes
    awk -v most=$columns 'length > most { exit 1 }' notes || { cat notes && fail "a line is longer than $columns columns"; }
    joined=$(tr '\n' ' ' <notes)
    [[ $joined == "$sentence "* ]] || { cat notes && fail "a word was cut at $columns columns"; }
    script -qec "stty cols $columns; $(printf '%q ' "$PATHGCN" data info nowhere); true" /dev/null </dev/null | tr -d '\r' >screen
    awk -v most=$columns 'length > most { exit 1 }' screen || { cat screen && fail "an error is longer than $columns columns"; }
done

# ---- what the table of a training in batches says of itself ------------------------------------------

run 0 pathgcn train sbm:nodes=300 --recipe none --batch 20 --epochs 2 --eval-nodes 10 --channels 8 --out sampled
holds "$out" "ms per epoch" "a sample, at most 10 validation and 10 test nodes" "pathgcn eval sampled/model.safetensors"
holds "$err" "a row for each of 2 samples" "batches save little"
# a recipe has batches for other reasons than memory
printf '%s\n' 'recipe = few' 'version = 1' 'task = node' 'dataset = sbm' 'about = some nodes in a step' \
    'batch-by = nodes' 'batch = 20' 'channels = 8' >few.recipe
run 0 pathgcn train sbm:nodes=300 --recipe few.recipe --epochs 2 --out few
holds "$err" "a row for each of 2 samples"
! grep "batches save" "$err" || fail "nobody asked for batches"
