#!/usr/bin/env bash
# A limited address space (ulimit -v), from the least one in which the program starts: every command
# works, or ends within seconds with exit 1 and one sentence. None hangs, none crashes, and what a run
# has left before is still there.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -z "$sanitized" ] || skip "a sanitizer maps more than any limit"

run 0 pathgcn train karate --epochs 3 --quiet --out good
good=$(sha good/model.safetensors)

# limited KILOBYTES COMMAND...: its exit code, in $code
limited() {
    local kilobytes=$1
    shift
    code=0
    (ulimit -v "$kilobytes" && exec timeout -k 1 10 "$PATHGCN" "$@") >"$out" 2>"$err" </dev/null || code=$?
}

# The loader itself needs some space for the shared libraries, and is not ours (exit 127).
floor=4000
until limited $floor --version && [ "$code" = 0 ]; do
    [ "$code" != 124 ] && [ "$code" != 137 ] || fail "ulimit -v $floor: a library hangs when it is loaded"
    floor=$((floor + 200))
    [ $floor -lt 1000000 ] || fail "the program does not start in a gigabyte: $(tail -n 1 "$err")"
done

# A library may warn before us; we say one sentence, last.
one_sentence() { # KILOBYTES COMMAND
    [ "$(grep -c '^pathgcn' "$err")" = 1 ] && tail -n 1 "$err" | grep -qE '^pathgcn[a-z ]*: .{20,}' && return
    show_last
    fail "ulimit -v $1: not one sentence: $2"
}

refusals=0
check() { # KILOBYTES COMMAND...
    limited "$@"
    [ "$code" = 0 ] && return
    [ "$code" = 1 ] || { show_last && fail "exit code $code, expected 0 or 1: ulimit -v $1; pathgcn ${*:2}"; }
    one_sentence "$1" "${*:2}"
    refusals=$((refusals + 1))
}

every_command() { # KILOBYTES CHECK
    "$2" "$1" info
    "$2" "$1" train karate --epochs 2 --threads 2 --quiet --out "run-$1"
    "$2" "$1" predict good/model.safetensors karate --threads 2
    "$2" "$1" data convert karate --out "karate-$1.npz"
}

for more in 0 100 200 300 400 500 700 900 1200 1600 2000 3000 4000; do
    every_command $((floor + more)) check
done
[ $refusals -gt 3 ] || fail "only $refusals commands were refused: the limits do not limit"
[ "$(sha good/model.safetensors)" = "$good" ] || fail "a model was changed"
no_leftovers .

# Eight megabytes more are enough for two threads, whatever the stack of a thread usually is.
works() {
    limited "$@"
    [ "$code" = 0 ] || { show_last && fail "exit code $code: ulimit -v $1; pathgcn ${*:2}"; }
}
every_command $((floor + 8000)) works
for limit in 80000 120000; do
    [ $limit -lt $((floor + 8000)) ] || every_command $limit works
done
echo "address space: the program starts in $floor kB; $refusals commands beyond were refused"

# A stack that is too small is told, too.
code=0
(ulimit -s 256 && exec "$PATHGCN" --version) >"$out" 2>"$err" || code=$?
[ "$code" = 1 ] || fail "exit code $code with a stack of 256 kB"
holds "$err" "the stack is limited to 256 kB, expected at least 1024; raise it (ulimit -s)"
