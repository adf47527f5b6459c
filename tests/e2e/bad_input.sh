#!/usr/bin/env bash
# Whatever is wrong, the program says so in one sentence that names the thing and the place, exits
# with 1 or 2, and leaves nothing half-written.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
ring good
run 0 pathgcn train good --epochs 3 --out model --quiet
model=model/model.safetensors

# ---- the command line ----------------------------------------------------------------------------

refused 2 "no command|trian|train" trian
refused 2 "no command" ""
refused 2 "no data set|--edges" train
refused 2 "one argument too many|extra" train karate extra
refused 2 "--epoch|did you mean --epochs" train karate --epoch 5
refused 2 "--lerning-rate|--help" train karate --lerning-rate 5
refused 2 "--json|takes no value" train karate --json=yes
refused 2 "-e|two dashes" train karate -e
refused 2 "--epochs|needs a value|1..1000000" train karate --epochs
refused 2 "--out|needs a value" train karate --out
refused 2 "--out|empty" train karate --out ""
refused 2 "there is no option --layers" eval "$model" --layers 2

# setting, what it must not be (separated by commas), what the sentence must hold
while read -r setting values words; do
    for value in ${values//,/ }; do
        refused 2 "--$setting|'$value'|$words" train karate --out nowhere --"$setting" "$value"
    done
done <<'TABLE'
layers          0,-1,1.5,nan,inf,x,99999999999999999999   1..4096
channels        0,-64,1e30,nan                            1..65536
path-length     0,-1,5000,0x                              1..4096
paths           0,-5,65537,1e                             1..65536
kernel          none,Full,0                               depthwise
kernel-start    smoth                                     smooth
hops            -1,nan,inf                                0..
kernel-noise    -0.1,nan                                  0..100
mix             idn                                       identity
residual        yes                                       initial
alpha           -0.1,1.1,nan                              0..1
scaling         none                                      symmetric
walk            random                                    node2vec
return-p        0,-1,nan,inf                              1e-06
inout-q         0,-1,nan,inf                              1e-06
dropout         1,-0.1,nan,inf,half                       0..0.999
drop-rows       1,nan                                     0..0.999
normalise       columns                                   rows
train-form      both                                      exact
samples         0,65,nan                                  1..64
consistency     -1,nan                                    0..
temperature     0,nan                                     0.01
consistency-ramp -1,2.5                                   0..
lr-ends         -1,nan,inf,1e400                          0..100
lr-mix          -1,nan                                    0..100
lr-kernel       -1,nan                                    0..100
wd-ends         -1,nan                                    0..
wd-mix          -1,nan                                    0..
wd-kernel       -1,nan                                    0..
resample-every  -1,nan                                    0..
epochs          0,-1,1e9,nan                              1..1000000
patience        -1,nan                                    0..
select          best                                      accuracy
eval-every      0,nan                                     1..
split           first,-1,1.5,12345678901                  public
seed            -1,1.5,x,9223372036854775808              0..
threads         -1,1025,nan                               0..1024
seeds           0,-1,1.5,nan,100001                       1
checkpoint-every -1,nan                                   0
TABLE
for setting in self-loops batch-norm paths-per-layer allow-missing-class recompute; do
    refused 2 "--$setting|'maybe'|no | yes" train karate --out nowhere --$setting=maybe
done
refused 2 "input-norm|input-hops" train karate --out nowhere --input-hops 0 --input-norm yes
refused 2 "samples|consistency" train karate --out nowhere --samples 1 --consistency 1
refused 2 "node2vec|self-loops" train karate --out nowhere --walk node2vec --self-loops yes
refused 2 "node2vec|exact" train karate --out nowhere --walk node2vec --train-form exact
refused 2 "patience|eval-every" train karate --out nowhere --patience 5 --eval-every 50
refused 2 "--seed|2 seeds" train karate --out nowhere --seed 9223372036854775807 --seeds 2
refused 1 "split|karate|77" train karate --out nowhere --split 77

refused 2 "inference|sometimes|stochastic:N" eval "$model" good --inference sometimes
refused 2 "inference|stochastic:0" eval "$model" good --inference stochastic:0
refused 2 "inference" eval "$model" good --inference stochastic:99999999999999999999
refused 2 "--threads|x" eval "$model" good --threads x
refused 2 "--path-length|'0'" paths karate --path-length 0
refused 2 "--paths|'0'" paths karate --paths 0
refused 2 "--return-p|'nan'" paths karate --walk node2vec --return-p nan
refused 2 "--inout-q|'0'" paths karate --walk node2vec --inout-q 0
refused 2 "--walk|'drunk'|node2vec" paths karate --walk drunk
refused 2 "--starts|34|33" paths karate --starts 0,34
refused 2 "--starts|number 2" paths karate --starts 0,,1
refused 2 "--starts" paths karate --starts ""
refused 2 "neither a file that can be read|No such file|nor a node" paths karate --starts no-such-file
: >no-line.txt
refused 2 "no-line.txt|a file without a line" paths karate --starts no-line.txt
refused 2 "--starts" paths karate --starts -1
refused 2 "list|info" data show
refused 2 "too many|karate" data list karate
refused 2 "is missing" data

# ---- data sets -----------------------------------------------------------------------------------

refused 2 "no data set 'corra'|karate|PATHGCN_DATA" train corra --out nowhere
refused 2 "name|empty" train "" --out nowhere
refused 2 "no data set 'two\nlines'" train $'two\nlines' --out nowhere
# A folder here comes before a data set of its name, and is named when it cannot be read.
mkdir -p shadow/data shadow/club
run 0 pathgcn data convert karate --out shadow/data/club.pgcn
(cd shadow && PATHGCN_DATA=data refused 1 "'club' in the current directory|hides the data set 'data/club.pgcn'|rename" \
    train club --out nowhere)
(cd shadow && PATHGCN_DATA=data refused 1 "'./club' is in no format|docs/FORMATS.md" train ./club --out nowhere)
rmdir shadow/club
# Nor does a run become such a folder.
for folder in club ./club/; do
    (cd shadow && PATHGCN_DATA=data refused 2 "would hide the data set 'club'|runs/club" \
        train club --epochs 1 --quiet --out "$folder")
done
[ ! -e shadow/club ]
(cd shadow && refused 2 "would hide the data set 'karate'" train karate --epochs 1 --quiet --out karate)
(cd shadow && PATHGCN_DATA=data run 0 pathgcn train club --epochs 1 --quiet --out runs/club)
(cd shadow && PATHGCN_DATA=data run 0 pathgcn data info club)
refused 2 "'absent'|not a directory" train cora --data absent --out nowhere
refused 1 "'absent'|No such file" data list --data absent
refused 2 "sbm|nodes|number from" train sbm:nodes=-1 --out nowhere
refused 2 "sbm|colour|nodes" train sbm:colour=red --out nowhere
refused 2 "sbm|homophily|0 to 1" train sbm:homophily=nan --out nowhere
mkdir empty
refused 1 "empty" train empty --out nowhere

# broken WORDS: `broken` is a copy of `good` that the standard input (a script) has damaged.
broken() {
    rm -rf broken
    cp -r good broken
    (cd broken && source /dev/stdin)
    refused 1 "$1" train broken --out nowhere --quiet
    refused 1 "$1" data info broken
}
twelve="0 0 0 0 0 0 0 0 0 0 0 0"

broken "edges.npy" <<<'rm edges.npy'
broken "y.npy|No such file" <<<'rm y.npy'
broken "no features|x.npy" <<<'rm x.npy'
broken "val_mask.npy|missing" <<<'rm val_mask.npy'

broken "x.npy|too few" <<<': >x.npy'
broken "x.npy|cut short" <<<'head -c 200 x.npy >cut; mv cut x.npy'
broken "edges.npy|too long" <<<'echo >>edges.npy'
broken "y.npy|mark of a .npy" <<<'echo "0 1 0 1 0 1" >y.npy'
broken "x.npy|a directory" <<<'rm x.npy; mkdir x.npy'
broken "y.npy|header claims" <<<'printf "\x93NUMPY\x01\x00\xff\xff{" >y.npy'
broken "edges.npy|float32|int32" <<<"f32 0 1 | npy edges.npy '<f4' '(1, 2)'"
broken "edges.npy|expected 2|a.T" <<<"i32 0 1 2 3 4 5 | npy edges.npy '<i4' '(2, 3)'"
broken "x.npy|11 rows|12" <<<"head -c 132 /dev/zero | npy x.npy '<f4' '(11, 3)'"
broken "y.npy|at least one node" <<<"npy y.npy '<i4' '(0,)' </dev/null"
broken "x.npy|larger than any memory" <<<"npy x.npy '<f4' '(4611686018427387904, 12)' </dev/null"
broken "x.npy|Python objects" <<<"u8 1 2 3 | npy x.npy '|O' '(12, 3)'"
broken "feature 1 of node 0|nan" <<<"{ f32 0 nan 1; head -c 132 /dev/zero; } | npy x.npy '<f4' '(12, 3)'"
broken "feature 2 of node 11|inf" <<<"{ head -c 140 /dev/zero; f32 inf; } | npy x.npy '<f4' '(12, 3)'"
broken "node 0 has label 99" <<<"i32 99 0 0 0 0 0 0 0 0 0 0 0 | npy y.npy '<i4' '(12,)'"
broken "node 1 has label -2" <<<"i32 0 -2 0 0 0 0 0 0 0 0 0 0 | npy y.npy '<i4' '(12,)'"
broken "no node has a label" <<<"i32 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 | npy y.npy '<i4' '(12,)'"
broken "train mask|2 at node 0" <<<"u8 2 1 1 1 0 0 0 0 0 0 0 0 | npy train_mask.npy '|u1' '(12,)'"
broken "node 0 is in 2 masks" <<<"u8 1 0 0 0 1 1 1 1 0 0 0 0 | npy val_mask.npy '|u1' '(12,)'"
broken "no train node" <<<"u8 $twelve | npy train_mask.npy '|u1' '(12,)'"
broken "edges.npy|edge 1|12" <<<"i32 0 1 2 12 | npy edges.npy '<i4' '(2, 2)'"
broken "edges.npy|edge 0|-1" <<<"i32 -1 1 | npy edges.npy '<i4' '(1, 2)'"
broken "edge_weight.npy|10 rows|11" <<<"head -c 40 /dev/zero | npy edge_weight.npy '<f4' '(10,)'"
broken "edges.npy|weight" <<<"head -c 44 /dev/zero | npy edge_weight.npy '<f4' '(11,)'"
broken "graph_ptr.npy|too few" <<<'touch graph_ptr.npy'

# a class without a training node: only training minds, and it says how to go on
rm -rf broken && cp -r good broken
u8 1 0 1 0 0 0 0 0 0 0 0 0 | npy broken/train_mask.npy '|u1' '(12,)'
refused 1 "no training node of class 1|allow-missing-class" train broken --out nowhere
run 0 pathgcn train broken --out allowed --epochs 2 --allow-missing-class --quiet
# a graph without edges is a set of nodes
rm -rf broken && cp -r good broken
npy broken/edges.npy '<i4' '(0, 2)' </dev/null
run 0 pathgcn data info broken
holds "$out" "isolated nodes       12" "no edge joins"
[ ! -e nowhere ] || fail "a refused command made its directory"

# ---- model files ---------------------------------------------------------------------------------

cp -r good wide
cp "$model" lonely.safetensors # without the data.json that tells where the data is
head -c 192 /dev/zero | npy wide/x.npy '<f4' '(12, 4)'
for command in eval predict; do
    refused 1 "absent.safetensors|No such file" $command absent.safetensors good
    refused 1 "'good/model.safetensors'|No such file" $command good good # a directory that holds no model
    refused 1 "checkpoint|model.safetensors" $command model/checkpoint.safetensors good
    refused 1 "history.jsonl" $command model/history.jsonl good
    refused 1 "edges.npy" $command good/edges.npy good
    head -c 1000 "$model" >cut.safetensors
    refused 1 "cut.safetensors" $command cut.safetensors good
    : >none.safetensors
    refused 1 "none.safetensors" $command none.safetensors good
    refused 1 "3 feature columns|wide has 4|good" $command "$model" wide
    (cd empty && refused 2 "'good'|name the data set after the model" $command ../lonely.safetensors)
done
refused 1 "3 feature columns|karate has 34" eval "$model" karate
cp "$model" changed.safetensors
printf '\x00\x00\xc0\x7f' | dd of=changed.safetensors bs=1 seek=$(($(stat -c %s changed.safetensors) - 4)) conv=notrunc status=none
refused 1 "changed.safetensors|classifier.bias|finite" eval changed.safetensors good
mkdir other # the model names its data set; the one found under that name is another
cp -r good other/good
i32 0 2 | npy other/good/edges.npy '<i4' '(1, 2)'
(cd other && refused 1 "good|another version|fingerprint" eval ../lonely.safetensors --data .)
mv good elsewhere # and the data.json of a run whose data has gone
refused 2 "no data set|good|name the data set after the model" eval "$model"
mv elsewhere good

# ---- files that cannot be written ----------------------------------------------------------------

touch file
refused 1 "cannot make the directory 'file'" train good --out file/below
refused 1 "cannot make the directory 'file'" train good --out file
refused 1 "cannot make the directory '/proc/" train good --out /proc/pathgcn/run
mkdir -p blocked/model.safetensors
refused 1 "blocked/model.safetensors|not a file" train good --out blocked
if [ "$(id -u)" != 0 ]; then
    mkdir -m 555 denied
    refused 1 "denied|--out" train good --out denied
fi
refused 1 "file/p.csv" predict "$model" good --out file/p.csv
refused 1 "a directory" predict "$model" good --out good
refused 1 "/dev/null|regular file" predict "$model" good --out /dev/null
refused 1 "absent/w.npy" paths good --out absent/w.npy
refused 2 "name of a file" predict "$model" good --out ""

# standard output that is full, or closed
full() { # CODE is always 1
    local code=0
    "$PATHGCN" "$@" 2>"$err" >/dev/full || code=$?
    [ $code = 1 ] || fail "exit code $code with a full standard output: $*"
    holds "$err" "cannot write to standard output" "No space left"
    code=0
    "$PATHGCN" "$@" 2>"$err" >&- || code=$?
    [ $code = 1 ] || fail "exit code $code with a closed standard output: $*"
    [ "$(wc -l <"$err")" = 1 ] || { show_last && fail "more than one line: $*"; }
}
full predict "$model" good
full eval "$model" good
full eval "$model" good --json
full paths good
full data list
full data info good
full info
full train --help
full manual
full --version
full train --recipe usual good --epochs 2 --out full --quiet
run 0 pathgcn eval full/model.safetensors good
"$PATHGCN" train --recipe usual good --epochs 2 --out closed --quiet <&- >/dev/null 2>&- || fail "closed streams"
same "streams closed" full/model.safetensors closed/model.safetensors

# ---- a full disk ---------------------------------------------------------------------------------

# Files may not grow beyond 8 KiB: the model of `good` with 16 channels fits, that with 64 does not.
run 0 pathgcn train good --epochs 3 --channels 16 --out limited --quiet
before=$(sha limited/model.safetensors)
limited() { (ulimit -f 8 && "$PATHGCN" "$@"); }
run 1 limited train good --epochs 3 --out limited --overwrite --quiet
holds "$err" "limited/unfinished/checkpoint.safetensors" "File too large"
[ ! -e limited/unfinished ] || fail "a run without a checkpoint is left"
[ "$(wc -l <"$err")" = 1 ] || { show_last && fail "more than one line"; }
[ "$(sha limited/model.safetensors)" = "$before" ] || fail "the old model was changed"
no_leftovers limited
run 1 limited paths good --paths 500 --out limited/walks.csv
[ ! -e limited/walks.csv ] || fail "half a file of walks"
no_leftovers limited
run 1 limited train good --epochs 200 --patience 0 --out growing --quiet --channels 1
holds "$err" "growing/" "File too large"
no_leftovers growing

# the same on a small disk, where a mount of our own is allowed
small_disk() { # a command, in a directory that holds 64 KiB
    # shellcheck disable=SC2016 # expanded inside
    unshare -m sh -c 'mount -t tmpfs -o size=64k pathgcn-test small && cd small && "$@"; code=$?
        cp -r . ../small-left; exit $code' sh "$@"
}
mkdir small small-left
if unshare -m sh -c 'mount -t tmpfs -o size=64k pathgcn-test small' 2>/dev/null; then
    run 1 small_disk "$PATHGCN" train --recipe usual ../good --epochs 3 --channels 300 --out run --quiet
    holds "$err" "No space left on device" "run/checkpoint.safetensors"
    no_leftovers small-left
    [ ! -e small-left/run/model.safetensors ] || fail "a model without space for it"
else
    echo "no mount of our own: the small disk was left out"
fi

# ---- a loss that is not finite -------------------------------------------------------------------

cp -r good huge
for _ in {1..36}; do i32 $((0x7f000000)); done | npy huge/x.npy '<f4' '(12, 3)'
refused 2 "frequency is 0.3 and does nothing|as many training nodes have one feature as another" \
    train sbm --recipe none --normalise rows --frequency 0.3 --epochs 1 --out nowhere
refused 1 "loss of epoch 1|not finite|feature column 0|rescale" train huge --normalise none --epochs 50 --out huge-run --quiet
[ ! -e huge-run/model.safetensors ] || fail "a model without a good epoch"
# after good epochs: their best weights and the last good checkpoint stay, and both can be read
explosive=(karate --quiet --lr-ends 100 --lr-kernel 100 --kernel full --layers 8 --epochs 200)
refused 1 "not finite|exploded/model.safetensors" train "${explosive[@]}" --out exploded
run 0 pathgcn eval exploded/model.safetensors
refused 1 "not finite" train "${explosive[@]}" --out exploded --resume
[ ! -e exploded/result.json ] || fail "an exploded run says that it is finished"
no_leftovers .
