#!/usr/bin/env bash
# Measures and unequal classes on the command line: what train, eval and tune tell, --select by any
# measure, --class-weights by word, list and file, the note about unequal classes and the sentence about a
# class that is never predicted.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Two classes, one in ten is rare; features that say nothing.
awk 'BEGIN { for (i = 0; i < 100; i++) print "n" i ",n" (i + 1) % 100 }' >edges.csv
awk 'BEGIN { print "id,class"; for (i = 0; i < 100; i++) print "n" i "," (i % 10 ? "common" : "rare") }' >labels.csv
awk 'BEGIN { for (i = 0; i < 100; i++) print "n" i "," i % 7 "," i % 3 }' >features.csv
own="--edges edges.csv --labels labels.csv --features features.csv"

# shellcheck disable=SC2086
{
run 0 pathgcn data info $own
grep -q "note: the classes are unequal: class 'common' has 54 of the 60 training nodes" "$out" || fail "no note: $(cat "$out")"
run 0 pathgcn train $own --epochs 3 --out plain
grep -q "classes are unequal.*--select auc" "$err" || fail "no note in train"
grep -q "most frequent class alone has 90.00%, which is not beaten, and class 'rare' is never predicted; try --class-weights balanced" "$out" ||
    fail "no advice: $(cat "$out")"
grep -q "accuracy 90.00 (most frequent class 90.00), balanced accuracy 50.00, macro-F1 47.37" "$out" || fail "measures: $(cat "$out")"
run 0 pathgcn train $own --epochs 3 --out selected --select auc
! grep -q "classes are unequal" "$err" || fail "a note although a measure was named"

# Four validation nodes decide nothing, and the note says so; many are no matter.
run 0 pathgcn train karate --prepare random=60/10/30 --epochs 5 --out few
grep -q "note: [1-4] validation nodes decided" "$err" || fail "no note about few validation nodes: $(cat "$err")"
run 0 pathgcn train sbm --epochs 2 --out enough
! grep -q "validation nodes decide" "$err" || fail "a note about enough validation nodes"
grep -q '"val_auc":' selected/history.jsonl || fail "history.jsonl does not tell the measure"
! grep -q '"val_auc":' plain/history.jsonl || fail "history.jsonl tells a measure that nobody named"

# by word, list and file: the file comes to the list, in the order of the classes
printf 'class,weight\nrare,9\ncommon,1\n' >weights.csv
run 0 pathgcn train $own --epochs 20 --out balanced --class-weights balanced --json
run 0 pathgcn train $own --epochs 3 --out file --class-weights weights.csv --json
grep -q '"class-weights": *"1,9"' "$out" || fail "the file is not the list: $(cat "$out")"
grep -q '"test_average_precision_mean"' "$out" || fail "JSON lacks measures"
run 0 pathgcn train $own --epochs 3 --out list --class-weights 1,9 --quiet
same "list and file" list/model.safetensors file/model.safetensors
printf 'rare,9\nodd,1\n' >odd.csv
run 1 pathgcn train $own --class-weights odd.csv --out no
grep -q "odd.csv.*line 2.*class 'odd'" "$err" || fail "$(cat "$err")"
printf 'rare,9\n' >short.csv
run 1 pathgcn train $own --class-weights short.csv --out no
grep -q "no weight for the class 'common'" "$err" || fail "$(cat "$err")"
run 2 pathgcn train $own --class-weights heavy --out no
grep -q "expected none | balanced" "$err" || fail "$(cat "$err")"

# eval
run 0 pathgcn eval plain/model.safetensors
grep -Eq "^balanced accuracy +50.00 +50.00 +50.00" "$out" || fail "$(cat "$out")"
run 0 pathgcn eval plain/model.safetensors --json
for key in test_auc val_macro_f1 train_majority all_average_precision test_balanced_accuracy; do
    grep -q "\"$key\":" "$out" || fail "eval --json lacks $key"
done

# Class by class: the model says one class of all, which is named.
run 0 pathgcn eval plain/model.safetensors --csv classes.csv
grep -Eq "^rare +- +0.00 +0.00 +2 +0$" "$out" || fail "no line of the rare class: $(cat "$out")"
grep -Eq "^rare +2 +0$" "$out" || fail "no confusion matrix: $(cat "$out")"
grep -q "The model says class common of all 20 nodes" "$out" || fail "no word about one class: $(cat "$out")"
grep -q "^log loss [0-9.]*, Brier score [0-9.]*, calibration error" "$out" || fail "$(cat "$out")"
grep -q "^part,class,precision,recall,f1,support,predicted,hits,taken for common,taken for rare$" classes.csv || fail "$(cat classes.csv)"
grep -q "^test,rare,,0,0,2,0,0,2,0$" classes.csv || fail "$(cat classes.csv)"
run 0 pathgcn eval plain/model.safetensors --part val --json
grep -q '"verdict":{"train":{"items":60' "$out" || fail "$(cat "$out")"
run 2 pathgcn eval plain/model.safetensors --part tests
grep -q "expected train, val, test or all" "$err" || fail "$(cat "$err")"
}

# tune ranks by any measure, and its recipe names it
run 0 pathgcn tune karate --candidates 2 --runs 1 --score macro-f1 --epochs 5 --patience 0 --quiet --out tuned
grep -q "validation macro-F1" "$out" || fail "$(cat "$out")"
grep -q '"chosen_by": "val_macro_f1"' tuned/tune.json || fail "tune.json"
grep -q "^measure = macro-f1" tuned/karate.recipe || fail "$(cat tuned/karate.recipe)"
run 0 pathgcn train karate --recipe tuned/karate.recipe --epochs 5 --out by-recipe
grep -q "test macro-F1" "$out" || fail "the recipe's measure does not come first: $(cat "$out")"
run 2 pathgcn tune karate --score luck
grep -q "average-precision" "$err" || fail "$(cat "$err")"
