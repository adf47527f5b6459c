#!/usr/bin/env bash
# tune and reproduce under mpirun: ranks take jobs, and leave the same recipe, tables and records as processes of one
# machine; a rank that is killed or hangs, and Ctrl-C, end the job, and the same command goes on.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_ranks

varies='"(seconds|core_seconds|peak_rss_bytes)"'
# same_jobs WHAT DIRECTORY OTHER: the same jobs with the same records, but for times and memory.
same_jobs() {
    local file
    diff <(cd "$2" && find . -type f | sort) <(cd "$3" && find . -type f | sort) >&2 || fail "$1: other files in $3"
    while IFS= read -r file; do
        diff <(grep -vE "$varies" "$2/$file") <(grep -vE "$varies" "$3/$file") >&2 ||
            fail "$1: $3/$file is another one"
    done < <(cd "$2" && find . -path '*/jobs/*' -type f)
}
# table_of FILE: without times
table_of() { sed -E 's/[0-9.]+ (seconds|minutes|s)\b//g; /core/d' "$1" | sed "s|$2|DIR|g"; }

search=(tune karate --recipe usual --candidates 6 --runs 3 --epochs 30 --patience 0)

# ---- a search, on any number of ranks ----------------------------------------------------------------

run 0 "$PATHGCN" "${search[@]}" --jobs 2 --out plain
table_of "$out" plain >plain.table
for number in 2 4; do
    run 0 ranks $number "${search[@]}" --threads 2 --out on-$number
    holds "$err" "on $((number - 1)) rank"
    same "the recipe of $number ranks" plain/karate.recipe on-$number/karate.recipe
    same_jobs "a search on $number ranks" plain on-$number
    table_of "$out" on-$number | diff plain.table - >&2 || fail "another table on $number ranks"
done
run 0 ranks 3 "${search[@]}" --jobs 1 --out few
holds "$err" "on 1 rank:"
run 0 ranks 3 tune --list-spaces
[ "$(grep -c '^# semi' "$out")" = 1 ] || fail "the spaces are not printed once"
run 2 ranks 3 tune karate --candidates many
[ "$(grep -c many "$err")" = 1 ] || { show_last && fail "said more than once"; }

# nested: data without the labels of tests, a list of jobs for each split
nested=(tune karate:stratified=50/25/25,splits=2 --nested --recipe usual --candidates 3 --runs 2 --epochs 10 --quiet)
run 0 "$PATHGCN" "${nested[@]}" --out nested
run 0 ranks 3 "${nested[@]}" --out nested-on-3
same_jobs "a nested search" nested nested-on-3
# own files, which only rank 0 reads
printf 'source,target\n' >edges.csv
for i in {0..19}; do echo "n$i,n$(((i + 1) % 20))"; done >>edges.csv
{ echo "id,label" && for i in {0..19}; do echo "n$i,c$((i % 2))"; done; } >labels.csv
own=(tune --edges edges.csv --labels labels.csv --model gcn --candidates 3 --runs 2 --epochs 5 --quiet)
run 0 "$PATHGCN" "${own[@]}" --out own
run 0 ranks 2 "${own[@]}" --out own-on-2
same_jobs "own files" own own-on-2

# ---- tables --------------------------------------------------------------------------------------------

tables=(reproduce semi --datasets karate,sbm:nodes=200 --layers 2,4 --seeds 2 --epochs 6 --quiet)
run 0 "$PATHGCN" "${tables[@]}" --out tables
cp "$out" tables.out
run 0 ranks 3 "${tables[@]}" --out tables-on-3
sed 's|tables-on-3|tables|g' "$out" | diff tables.out - >&2 || fail "another table"
same_jobs "tables" tables tables-on-3
# models travel too: a figure is drawn from them
figures=(reproduce figures --only 4 --quick --datasets karate --quiet)
run 0 "$PATHGCN" "${figures[@]}" --out figures
run 0 ranks 2 "${figures[@]}" --out figures-on-2
[ "$(find figures/jobs -name '*.safetensors' | wc -l)" -ge 1 ] || fail "no model was kept, so this test shows nothing"
for file in figures/jobs/*.safetensors; do same "a model" "$file" "figures-on-2/jobs/${file##*/}"; done
# cells of the arena are searches of rank 0, whose jobs ranks take
arena=(reproduce arena --quick --models pathgcn,mlp --datasets karate:stratified=50/25/25)
run 0 "$PATHGCN" "${arena[@]}" --out arena
run 0 ranks 3 "${arena[@]}" --out arena-on-3
holds "$err" "cell 2 of 2, mlp on karate"
same_jobs "the arena" arena/arena arena-on-3/arena
diff <(cut -d , -f 1-7 arena/arena.csv) <(cut -d , -f 1-7 arena-on-3/arena.csv) >&2 || fail "another arena"

# ---- a job that fails is told as ever -------------------------------------------------------------------

ring missing
u8 1 0 1 0 0 0 0 0 0 0 0 0 | npy missing/train_mask.npy '|u1' '(12,)' # no node of class 1
echo 'allow-missing-class = no' >strict.space
strict=(tune missing --space strict.space --candidates 3 --runs 1 --epochs 5 --allow-missing-class yes --quiet)
told() { tr '\n' ' ' <"$err" | tr -s ' ' | sed 's|strict-on-2|strict|g; s/ --*  *Primary.*//; s/-----.*//; s/ *$//'; }
run 1 "$PATHGCN" "${strict[@]}" --out strict
told >strict.err
run 1 ranks 2 "${strict[@]}" --out strict-on-2
holds "$err" "a job failed" "no training node of class 1"
told | diff strict.err - >&2 || fail "other words for a job that failed"
same_jobs "jobs that failed" strict strict-on-2
printf 'lr-mix = 100\nlr-ends = 100\nlr-kernel = 100\n' >wild.space
run 0 ranks 2 tune sbm --space wild.space --candidates 2 --runs 1 --epochs 100 --patience 0 --layers 16 --wd-mix 0 \
    --wd-kernel 0 --channels 8 --out wild
holds "$out" "1 candidate was dropped"
! compgen -G '*/jobs/*.tmp' || fail "a data set was left behind"

# ---- killed, stopped, hanging ------------------------------------------------------------------------------

long=(tune karate --recipe usual --candidates 8 --runs 1 --epochs 2000 --patience 0 --quiet)
run 0 "$PATHGCN" "${long[@]}" --jobs 2 --out long
begin() { # DIRECTORY: a search that has done two of its jobs
    mpirun -n 3 "$PATHGCN" "${long[@]}" --out "$1" >"$out" 2>"$err" </dev/null &
    job=$!
    wait_for 60 has_records "$1" 2
}
end() { # CODE: how it must end; 1: not well
    local code=0
    wait $job || code=$?
    [ "$code" = "$1" ] || { [ "$1" = 1 ] && [ $code != 0 ]; } || { show_last && fail "exit code $code"; }
}
go_on() { # DIRECTORY
    has_records "$1" 2 || fail "records were lost"
    [ ! -e "$1/tune.json" ] || fail "it was not ended in the middle"
    run 0 ranks 2 "${long[@]}" --out "$1"
    same_jobs "a search that went on" long "$1"
}
# mpirun gives the others a second between SIGTERM and SIGKILL: too little for a sentence on a busy machine
export OMPI_MCA_odls_base_sigkill_timeout=5
begin killed
kill -KILL "$(rank_process 1)"
end 1
holds "$err" "rank 1" "SIGTERM" "the same command goes on"
go_on killed
begin stopped
kill -INT "$(rank_process 0)"
end 130
holds "$err" "Interrupted" "The same command goes on"
go_on stopped
export PATHGCN_MPI_PATIENCE=3
begin hangs
kill -STOP "$(rank_process 2)"
end 1
unset PATHGCN_MPI_PATIENCE
tr '\n' ' ' <"$err" | tr -s ' ' | grep -q "rank 2 has not answered rank 0 .* the same command goes on" ||
    { show_last && fail "nobody said that rank 2 hangs"; }
go_on hangs
