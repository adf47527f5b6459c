#!/usr/bin/env bash
# The same as e2e.ranks and e2e.ranks_jobs, in short, with MPICH: its module is built here, beside that of the build.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -z "$sanitized" ] || skip "MPI is not clean under sanitizers"
command -v mpicc.mpich >/dev/null && command -v mpirun.mpich >/dev/null || skip "there is no MPICH (Debian: libmpich-dev, mpich)"
[ -e "$PATHGCN_BUILD/pathgcn_mpi.so" ] || skip "this build has no module for MPI"
export TMPDIR=$scratch
mpicc.mpich -O2 -shared -fPIC -fvisibility=hidden -I"$PATHGCN_SOURCE/include" -I"$PATHGCN_SOURCE/src" \
    "$PATHGCN_SOURCE/src/mpi/mpi.c" -o pathgcn_mpi.so
mpich() { mpirun.mpich -n "$1" "$PATHGCN" "${@:2}"; } # RANKS ARGUMENTS...

# the module of the build is for another MPI, where it is Open MPI's
if ldd "$PATHGCN_BUILD/pathgcn_mpi.so" | grep -q libmpi.so.40; then
    run 1 mpich 2 train karate --recipe none --epochs 2 --quiet --out other
    holds "$err" "pathgcn_mpi.so was built for another MPI"
fi
export PATHGCN_MPI_MODULE=$PWD/pathgcn_mpi.so

# ---- the same bits -----------------------------------------------------------------------------------
whole=(train sbm:nodes=700 --recipe none --layers 3 --residual initial --samples 2 --epochs 4 --quiet --threads 1)
parts=(train powerlaw:nodes=6000,edges=30000 --recipe none --batch-by nodes --batch 512 --steps 2 --channels 16 --paths 3
    --path-length 3 --epochs 3 --quiet --threads 1)
run 0 "$PATHGCN" "${whole[@]}" --out whole
run 0 "$PATHGCN" "${parts[@]}" --out parts
for number in 2 3; do
    run 0 mpich $number "${whole[@]}" --out whole-$number
    same_training whole whole-$number
    run 0 mpich $number "${parts[@]}" --out parts-$number
    same_training parts parts-$number
done

# ---- jobs --------------------------------------------------------------------------------------------
search=(tune karate --recipe usual --candidates 4 --runs 2 --epochs 10 --patience 0 --quiet)
run 0 "$PATHGCN" "${search[@]}" --out search
run 0 mpich 3 "${search[@]}" --out search-on-3
same "the recipe" search/karate.recipe search-on-3/karate.recipe

# ---- killed, and hanging -----------------------------------------------------------------------------
begin() { # DIRECTORY
    mpich 2 train sbm:nodes=700 --recipe none --checkpoint-every 1 --threads 1 --epochs 100000 --quiet --out "$1" \
        >"$out" 2>"$err" </dev/null &
    job=$!
    wait_for 60 test -e "$1/checkpoint.safetensors"
}
end() {
    local code=0
    wait $job || code=$?
    [ $code != 0 ] || fail "a job that lost a rank ended well"
}
begin killed
kill -KILL "$(rank_process 1)"
end
epochs=$(($(wc -l <killed/history.jsonl) + 3))
run 0 mpich 2 train sbm:nodes=700 --recipe none --threads 1 --epochs $epochs --quiet --out killed --resume
run 0 "$PATHGCN" train sbm:nodes=700 --recipe none --threads 1 --epochs $epochs --quiet --out unkilled
same_training unkilled killed
export PATHGCN_MPI_PATIENCE=3
begin hangs
kill -STOP "$(rank_process 1)"
end
cat "$err" "$out" | tr "\n" " " | grep -q "has not answered rank 0" || { show_last && fail "nobody said that rank 1 hangs"; }
