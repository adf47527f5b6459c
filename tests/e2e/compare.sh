#!/usr/bin/env bash
# pathgcn compare: means, intervals and tests of results written by hand, whose figures SciPy has given
# (ttest_rel, ttest_ind with equal_var=False, t.sf); and of real runs.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

result() { # DIR SEED SPLIT VALUE [ITEMS]
    mkdir -p "$1/seed-$2"
    printf '{"task": "node", "seed": %d, "split_sha256": "%s", "test_accuracy": %s, "val_accuracy": %s, "val_macro_f1": 10%s}\n' \
        "$2" "$3" "$4" "$4" "${5:-}" >"$1/seed-$2/result.json"
}
seed=0
for values in "80 81" "82 84" "84 83" "86 88" "88 90"; do
    read -r a b <<<"$values"
    result first $seed one "$a"
    result second $seed one "$b"
    result split-a $seed "split$seed" "$a" ', "items": {"train": 60, "val": 20, "test": 20}'
    result split-b $((seed + 100)) "split$seed" "$b" ', "items": {"train": 60, "val": 20, "test": 20}'
    result old-b $((seed + 100)) "split$seed" "$b"
    seed=$((seed + 1))
done
for value in 90 91 92; do result other $value one $value; done

run 0 pathgcn compare first second
grep -Eq "^first +5 +84.00 +3.16   80.07 to 87.93$" "$out" || fail "mean and interval: $(cat "$out")"
grep -q "second against first: +1.20 (standard error 0.58, 5 pairs by seed and split; p = 0.109): tied" "$out" ||
    fail "pairs by seed: $(cat "$out")"
for seed in 0 1 2 3 4; do result near $seed one $((80 + 2 * seed - seed % 2)).$((seed % 2 * 999)); done
run 0 pathgcn compare first near # 0.0004 less: no sign, which would look like a difference
grep -q "near against first: 0.00 (standard error 0.00" "$out" || fail "a difference of nothing: $(cat "$out")"
run 0 pathgcn compare split-a split-b
grep -q "+1.20 (standard error 0.95, 5 pairs by split, raised for overlapping splits; p = 0.276): tied" "$out" ||
    fail "pairs by split: $(cat "$out")"
run 0 pathgcn compare split-a old-b
grep -q "p is too small" "$out" || fail "an older result is not told: $(cat "$out")"
run 0 pathgcn compare first other
grep -q "+7.00 (standard error 1.53, no pairs: other seeds or splits; p = 0.00593): better" "$out" || fail "no pairs: $(cat "$out")"
result fewer 0 one 70
result fewer 1 one 71
run 0 pathgcn compare first fewer
grep -q "Only 2 of 5 and 2 trainings have a partner" "$out" || fail "$(cat "$out")"
result lone 0 one 70 # one pair tells no p, and still is not all
run 0 pathgcn compare first lone
grep -q "Only 1 of 5 and 1 trainings have a partner" "$out" || fail "a single pair: $(cat "$out")"
run 0 pathgcn compare first second other # the smaller p twice, the other once
grep -q "second against first.*p = 0.109 by Holm's rule): tied" "$out" || fail "$(cat "$out")"
grep -q "other against first.*p = 0.0119 by Holm's rule): better" "$out" || fail "$(cat "$out")"
run 0 pathgcn compare first second --part val --json
grep -q '"part":"val","measure":"accuracy"' "$out" || fail "$(cat "$out")"
grep -q '"pairs":5,"difference":1.2,' "$out" || fail "$(cat "$out")"

# one training each: no deviation, no test
run 0 pathgcn compare first/seed-0 second/seed-0
grep -q "one training tells no deviation" "$out" || fail "$(cat "$out")"
grep -q "+1.00. Train each with --seeds 5" "$out" || fail "$(cat "$out")"

# mistakes
run 2 pathgcn compare first
run 1 pathgcn compare first nowhere
grep -q "'nowhere' holds no finished run" "$err" || fail "$(cat "$err")"
run 2 pathgcn compare first second --measure luck
grep -q "expected accuracy, balanced-accuracy" "$err" || fail "$(cat "$err")"
run 2 pathgcn compare first second --part train
mkdir broken && printf '{"task": 3' >broken/result.json
run 1 pathgcn compare first broken
grep -q "broken/result.json' is no JSON" "$err" || fail "$(cat "$err")"
printf '{"task": "graph", "seed": 1, "split_sha256": "one", "test_accuracy": 3}' >broken/result.json
run 1 pathgcn compare first broken
grep -q "cannot be compared" "$err" || fail "$(cat "$err")"

sed 's/"seed"/"classes": ["no", "yes"], "seed"/' first/seed-0/result.json >broken/result.json
mkdir named && sed 's/"seed"/"classes": ["No", "no", "yes"], "seed"/' first/seed-0/result.json >named/result.json
run 1 pathgcn compare broken named
grep -q "predict other classes, 2 (no, yes) and 3 (No, no, yes): their figures cannot be compared" "$err" || fail "$(cat "$err")"
run 0 pathgcn compare first/seed-0 named # of a result that is older, the classes are not known
run 0 pathgcn compare named named

# real runs
run 0 pathgcn train karate --recipe none --epochs 5 --seeds 3 --out real-a --quiet
run 0 pathgcn train karate --model mlp --epochs 5 --seeds 3 --out real-b --quiet
run 0 pathgcn compare real-a real-b --measure macro-f1
grep -q "3 pairs by seed and split, raised for overlapping splits" "$out" || fail "$(cat "$out")"

# a single run tells no deviation
run 0 pathgcn train karate --recipe none --epochs 5 --out single --json --quiet
grep -q '"test_accuracy_std":null' "$out" || fail "a deviation of one run: $(cat "$out")"
printf 'a,b\nb,c\nc,d\nd,a\n' >square.csv
printf 'id,class\na,x\nb,y\nc,x\nd,y\n' >two.csv
printf 'id,class\na,x\nb,y\nc,z\nd,y\n' >three.csv
for labels in two three; do
    run 0 pathgcn train --edges square.csv --labels $labels.csv --prepare random=50/25/25 --allow-missing-class yes \
        --recipe none --epochs 2 --out $labels --quiet
done
run 1 pathgcn compare two three
grep -q "2 (x, y) and 3 (x, y, z)" "$err" || fail "other classes are compared: $(cat "$err")"
