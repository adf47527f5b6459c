#!/usr/bin/env bash
# Several ranks under mpirun: the same tensors and the same history as one process, whatever is trained; nobody but rank
# 0 prints; a rank that fails, is killed or hangs ends the job with a sentence, and the run goes on from its checkpoint.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_ranks

! ldd "$PATHGCN" | grep -i mpi || fail "the program is linked with MPI"
grep -rlw 'MPI_[A-Z][A-Za-z_]*' "$PATHGCN_SOURCE/src" | grep -v '/src/mpi/' && fail "MPI is called outside src/mpi"

# ---- the same bits -----------------------------------------------------------------------------------

plain="--recipe none --epochs 4 --quiet"
check() { # NAME 'RANKS...' DATA OPTIONS...
    local name=$1 numbers=$2 number
    shift 2
    # shellcheck disable=SC2086 # words
    run 0 "$PATHGCN" train "$@" $plain --threads 2 --out "$name"
    cp "$out" "$name.out"
    for number in $numbers; do
        # shellcheck disable=SC2086
        run 0 ranks "$number" train "$@" $plain --threads 1 --out "$name-$number"
        same_training "$name" "$name-$number"
        # all but times
        sed "s|$name-$number|$name|; s/ *[0-9.]*$//" "$out" | diff <(sed 's/ *[0-9.]*$//' "$name.out") - ||
            fail "other words on $number ranks"
    done
}
check sampled "2 3 8" sbm:nodes=700 --layers 3 --residual initial --samples 2
check few "4" powerlaw:nodes=3000,edges=20000 --prepare order=parts,groups=64 --samples 1 --consistency 0 --batch-norm yes
# so many nodes and ranks that rows of one level belong to other ranks in the next
check nodes "3 8" powerlaw:nodes=20000,edges=60000 --batch-by nodes --batch 512 --steps 2 --layers 3 --channels 16 \
    --paths 3 --path-length 3 --residual initial --samples 2
check graphs "4" "$PATHGCN_SOURCE/examples/shapes" --batch 8
check graph-norm "3" "$PATHGCN_SOURCE/examples/shapes" --batch 8 --batch-norm yes --norm-over graph
# classes of the nodes of 60 rings, of which each has one to seven with a class: the mean over the graphs is said, too
mkdir rings
columns=(edges x y graph_id train_mask val_mask test_mask)
awk 'BEGIN {
    for (i = 0; i < 480; i++) {
        g = int(i / 8)
        print i, g * 8 + (i + 1) % 8 > "rings/edges"
        print i % 2, int(i / 2) % 2, i % 5 == 0 > "rings/x"
        print i % 8 <= g % 7 ? (i % 3 == 0) + g % 2 : -1 > "rings/y"
        print g > "rings/graph_id"
        print (g < 30) + 0 > "rings/train_mask"
        print (g >= 30 && g < 45) + 0 > "rings/val_mask"
        print (g >= 45) + 0 > "rings/test_mask"
    }
}'
for column in "${columns[@]}"; do
    mapfile -t values < <(tr ' ' '\n' <"rings/$column")
    case $column in
    edges) i32 "${values[@]}" | npy rings/edges.npy '<i4' '(480, 2)' ;;
    x) f32 "${values[@]}" | npy rings/x.npy '<f4' '(480, 3)' ;;
    y | graph_id) i32 "${values[@]}" | npy "rings/$column.npy" '<i4' '(480,)' ;;
    *) u8 "${values[@]}" | npy "rings/$column.npy" '|u1' '(480,)' ;;
    esac
    rm "rings/$column"
done
check nodes-of-graphs "3" rings --batch 7 --channels 16 --lr-ends 0.05 --lr-mix 0.05
holds nodes-of-graphs.out "mean of graphs" "Labelled and scored: 59 of 120 nodes of 15 validation graphs"
check sparse "3" sbm:nodes=700 --prepare features=adjacency --samples 2
check links "3" powerlaw:nodes=6000,edges=30000,features=100 --model sage --layers 2 --channels 16 --batch-by nodes \
    --batch 100 --steps 2
check attention "2" sbm:nodes=300 --model gat
# values of links that go from rank to rank: of few live rows along few edges, by all steps together, and gates
cut=(grid:rows=40,cols=40 --prepare order=parts,groups=16)
check few-links "3" "${cut[@]},per-class=5/100/200" --model gat --layers 3 --dropout-attention 0.3
check diffusion "4" "${cut[@]}" --model grand --layers 2 --channels 16
check pairs "3" sbm:nodes=700 --model supergat --channels 16
check pools "3" "$PATHGCN_SOURCE/examples/shapes" --batch 8 --model gat
# what is divided along the exact transition, by steps, by propagation with few live rows, and along links
check exact "3" sbm:nodes=700 --train-form exact --samples 2
check pseudo "3" sbm:nodes=700 --samples 2 --pseudo-labels 20 --pseudo-from 1
check propagation "3" sbm:nodes=700 --model gcn
check flux "3" sbm:nodes=700 --model pde-gcn-d
# few live rows in several layers of walks, read in bf16; and scores by a measure that needs all probabilities
check live "2 5" powerlaw:nodes=3000,edges=20000 --prepare order=parts,groups=64 --samples 2 --consistency 0 \
    --residual initial --bf16 yes --select macro-f1
check full "2 3" sbm:nodes=300 --kernel full --samples 2
check full-exact "3" sbm:nodes=300 --kernel full --train-form exact
check tiny "3" karate # one group: two ranks have no nodes
check tiny-attention "3" karate --model gat

# ---- ranks without nodes: told once, with what helps ---------------------------------------------------

few=(--recipe none --epochs 1 --threads 1)
idle() { # RANKS DATA: the note
    run 0 ranks "$1" train "$2" "${few[@]}" --out idle --overwrite
    grep "have no nodes" "$err" || true
}
[ "$(idle 3 karate)" = "note: 2 of 3 ranks have no nodes, because the nodes are 1 group; start 1 rank" ] ||
    { show_last && fail "three ranks for one group"; }
[ "$(idle 3 sbm:nodes=300:groups=2)" = "note: 1 of 3 ranks have no nodes, because the nodes are 2 \
groups; start 2 ranks, or make more groups by 'pathgcn data partition --parts N', N from 3 on" ] ||
    { show_last && fail "three ranks for two groups"; }
[ -z "$(idle 2 sbm:nodes=300:groups=2)" ] || fail "every rank has nodes"
run 0 ranks 3 train karate "${few[@]}" --quiet --out idle --overwrite
[ ! -s "$err" ] || fail "a quiet run had something to say: $(cat "$err")"

# ---- memory that falls -----------------------------------------------------------------------------

run 0 "$PATHGCN" data partition powerlaw:nodes=40000,edges=120000,features=64 --parts 64 --out law64.pgcn
kind() { # RANKS KIND
    grep -o "\"$2\": [0-9]*" "memory-$1/result.json" | tail -1 | grep -o '[0-9]*$'
}
for number in 2 8; do
    run 0 ranks "$number" train law64.pgcn --recipe none --epochs 2 --channels 64 --layers 2 --paths 5 --path-length 4 \
        --samples 1 --consistency 0 --threads 1 --quiet --out "memory-$number"
done
# a quarter, and pages that are begun; whole on every rank it would not fall at all
for name in rows features walks; do
    [ $((10 * $(kind 8 $name))) -lt $((7 * $(kind 2 $name))) ] ||
        fail "$name: $(kind 2 $name) bytes on 2 ranks, $(kind 8 $name) on 8"
done

# ---- killed, and resumed with fewer ------------------------------------------------------------------

long=(train sbm:nodes=700 --recipe none --checkpoint-every 1 --threads 1)

begin_long() { # RANKS DIRECTORY
    # so many epochs that it is still running
    mpirun -n "$1" "$PATHGCN" "${long[@]}" --epochs 100000 --quiet --out "$2" >"$out" 2>"$err" </dev/null &
    job=$!
    wait_for 60 test -e "$2/checkpoint.safetensors"
    victim=$(rank_process 1) || fail "rank 1 was not found"
}
begin_long 4 killed
kill -KILL "$victim"
code=0
wait $job || code=$?
[ $code != 0 ] || fail "a job whose rank was killed ended well"
holds "$err" "rank 1"
epochs=$(($(wc -l <killed/history.jsonl) + 6))
run 0 ranks 2 "${long[@]}" --epochs $((epochs - 3)) --quiet --out killed --resume
run 0 "$PATHGCN" "${long[@]}" --epochs $epochs --quiet --out killed --resume
run 0 "$PATHGCN" "${long[@]}" --epochs $epochs --quiet --out whole
same_training whole killed

# ---- stopped inside an epoch, which others go on with --------------------------------------------------

inside=(train sbm:nodes=700 --recipe none --batch-by nodes --batch 20 --steps 1200 --epochs 1 --channels 8 --paths 2
    --path-length 3 --samples 1 --consistency 0 --threads 1 --quiet)
mpirun -n 2 "$PATHGCN" "${inside[@]}" --out stopped >"$out" 2>"$err" </dev/null &
job=$!
wait_for 60 test -e stopped/history.jsonl
leader=$(rank_process 0) && kill -INT "$leader"
code=0
wait $job || code=$?
[ $code = 130 ] || [ $code = 0 ] || { show_last && fail "exit code $code"; } # 0: it was done already
[ $code = 0 ] || grep -qE "mpirun -n 2 .*train --resume" "$err" || { show_last && fail "no word of how to go on"; }
run 0 timeout 100 mpirun -n 3 "$PATHGCN" "${inside[@]}" --out stopped --resume
run 0 "$PATHGCN" "${inside[@]}" --out steps
same_training steps stopped

# ---- hanging -----------------------------------------------------------------------------------------

export PATHGCN_MPI_PATIENCE=3
check_hanging() { # DIRECTORY
    begin_long 2 "$1"
    kill -STOP "$victim"
    code=0
    wait_for 60 gone $job
    wait $job || code=$?
    [ $code != 0 ] || fail "a job whose rank hangs ended well"
    tr '\n' ' ' <"$err" | grep -q "has not answered rank 0" || { show_last && fail "nobody said that rank 1 hangs"; }
}
gone() { # PROCESS
    ! kill -0 "$1" 2>/dev/null
}
check_hanging hangs

# MPI_Abort itself may hang, where its daemons cannot be reached.
echo 'int MPI_Abort(void *ranks, int code); int pause(void);
int MPI_Abort(void *ranks, int code) { for (;;) pause(); return ranks ? code : 0; }' >abort.c
cc -shared -fPIC -o abort.so abort.c
export LD_PRELOAD=$PWD/abort.so
check_hanging hangs_twice

# Rank 0 hangs, and MPI itself hangs within a call of rank 1 that should only have a look.
echo '#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
int MPI_Test(void *request, int *done, void *status) {
    static int (*real)(void *, int *, void *);
    static long idle;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "MPI_Test");
    int code = real(request, done, status);
    idle = *done ? 0 : idle + 1;
    while (idle > 2000 && rank && *rank == 49 && access("stuck", F_OK) == 0) pause();
    return code;
}' >test.c
cc -D_GNU_SOURCE -shared -fPIC -o test.so test.c -ldl
export LD_PRELOAD=$PWD/test.so
begin_long 2 stuck_in_call
touch stuck
leader=$(rank_process 0) && kill -STOP "$leader"
code=0
wait_for 60 gone $job
wait $job || code=$?
[ $code != 0 ] || fail "a job whose MPI hangs ended well"
grep -qE "rank 1 \(.*\) ends: MPI hangs within a call" "$err" || { show_last && fail "nobody said that MPI hangs"; }

# Rank 0 hangs while it writes a checkpoint and the others wait for its next order.
echo 'int fsync(int file); int pause(void); char *getenv(const char *name);
int fsync(int file) {
    static int calls;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    while (rank && *rank == 48 && ++calls > 30) pause();
    return file < 0;
}' >write.c
cc -shared -fPIC -o write.so write.c
export LD_PRELOAD=$PWD/write.so PATHGCN_MPI_PATIENCE=1
begin_long 2 writes
code=0
wait_for 60 gone $job
wait $job || code=$?
[ $code != 0 ] || fail "a job whose rank 0 hangs ended well"
tr '\n' ' ' <"$err" | grep -q "rank 0 has not answered rank 1 .* for 4 seconds" ||
    { show_last && fail "nobody said that rank 0 hangs"; }
unset PATHGCN_MPI_PATIENCE LD_PRELOAD

# ---- sentences ---------------------------------------------------------------------------------------

both() { # WORDS, ARGUMENTS of rank 1: rank 0 trains on sbm
    local words=$1
    shift
    local code=0
    mpirun -n 1 "$PATHGCN" train sbm:nodes=200 --recipe none --quiet --out both : \
        -n 1 "$PATHGCN" train "$@" --quiet --out both >"$out" 2>"$err" </dev/null || code=$?
    [ $code = 1 ] || { show_last && fail "exit code $code"; }
    tr '\n' ' ' <"$err" | tr -s ' ' | grep -q "$words" || { show_last && fail "'$words' was not said"; }
    [ ! -e both/model.safetensors ] || fail "a model was written"
}
both "rank 1 on $(hostname): .*nowhere" nowhere.pgcn --recipe none
both "rank 1 on $(hostname): it has read other data" sbm:nodes=300 --recipe none
run 2 ranks 2 train sbm:nodes=200 --epochs many --out usage
[ "$(grep -c "epochs" "$err")" = 1 ] || { show_last && fail "said more than once"; }
run 0 ranks 2 data info karate
[ "$(grep -c karate "$out")" -ge 1 ] || fail "rank 0 said nothing"
