#!/usr/bin/env bash
# Ranks on hosts that only seem to be: network namespaces of this machine, with a network of limited speed and delay
# between them (bench/delay.c). Measures seconds per step beside what the model says (bench/network_model.py), and drops
# a link in the middle of a training. Root only, and only addresses of these namespaces (10.77.0.0/24) are used.
#
#   bench/network.sh                                     2 and 4 ranks, 10, 1, 0.1 Gbit/s, 0.05, 1, 5 ms
#   NETWORK_RANKS=2 NETWORK_LINKS="1:1 0.1:5" bench/network.sh    Gbit/s:ms
#   NETWORK_PARTS=drop bench/network.sh                  of: steps drop; both by default
#   NETWORK_DATA=NAME NETWORK_EPOCHS=N NETWORK_CHANNELS=C    what is trained on, and what
set -euo pipefail
# shellcheck source=common.sh
source "$(dirname "$0")/common.sh"
ranks=${NETWORK_RANKS:-2 4} parts=${NETWORK_PARTS:-steps drop}
links=${NETWORK_LINKS:-10:0.05 10:1 10:5 1:0.05 1:1 1:5 0.1:0.05 0.1:1 0.1:5}
data=${NETWORK_DATA:-powerlaw:nodes=20000,edges=140000:order=parts,groups=64} epochs=${NETWORK_EPOCHS:-8}
build=$(realpath "$build") program=$(realpath "${PATHGCN:-$build/pathgcn}")

leave() {
    echo "bench/network.sh: skipped, $*"
    exit 77
}
[ "$(id -u)" = 0 ] || leave "only root may make network namespaces"
for tool in ip mpirun unshare; do command -v $tool >/dev/null || leave "there is no $tool"; done
[ -e /dev/net/tun ] || leave "the kernel has no tap devices (/dev/net/tun)"
[ -e "$build/pathgcn_mpi.so" ] || leave "this build has no module for MPI"
[ -x "$build/bench_delay" ] || leave "bench_delay was not built (PATHGCN_BENCH)"
unshare --net true 2>/dev/null || leave "network namespaces are not allowed here"
mpirun --version | grep -q "Open MPI" || leave "it knows the options of Open MPI's mpirun only"

scratch=$(mktemp -d)
name=pgcn$$ delay_process=""
take_down() { # with all processes that are still in the namespaces
    local space
    for space in $(ip netns list | cut -d ' ' -f 1 | grep "^$name-" || true); do
        ip netns pids "$space" | xargs -r kill -KILL 2>/dev/null || true
        ip netns del "$space"
    done
    [ -z "$delay_process" ] || { kill "$delay_process" && wait "$delay_process"; } 2>/dev/null || true
    delay_process=""
}
trap 'take_down; rm -rf "$scratch"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$scratch
for key in btl=tcp,self oob_tcp_if_include=eth0 btl_tcp_if_include=eth0 plm_rsh_agent="$scratch/agent" \
    hwloc_base_binding_policy=none; do
    export "OMPI_MCA_${key%%=*}=${key#*=}"
done
# What mpirun calls in place of ssh: HOST COMMAND...
cat >"$scratch/agent" <<AGENT
#!/bin/sh
host=\${1##*.}
shift
exec ip netns exec $name-\$host unshare --uts sh -c "hostname node\$host; \$*"
AGENT
chmod +x "$scratch/agent"

# set_up HOSTS GBIT MS: as many namespaces, with an address each, on one switch.
set_up() {
    local i devices=()
    for ((i = 1; i <= $1; i++)); do devices+=("$name.$i"); done
    "$build/bench_delay" "$(awk "BEGIN { print $2 * 1e9 }")" "$(awk "BEGIN { print $3 / 1e3 }")" "${devices[@]}" &
    delay_process=$!
    for ((i = 1; i <= $1; i++)); do
        ip netns add "$name-$i"
        until ip link set "$name.$i" netns "$name-$i" 2>/dev/null; do
            kill -0 "$delay_process" || exit 1
            sleep 0.05
        done
        ip -n "$name-$i" link set "$name.$i" name eth0 address "02:00:00:00:00:0$i" mtu "${NETWORK_MTU:-9000}"
        ip -n "$name-$i" addr add "10.77.0.$i/24" dev eth0
        ip -n "$name-$i" link set lo up
        ip -n "$name-$i" link set eth0 up
    done
}
hosts() { # HOSTS: as mpirun wants them
    seq -f "10.77.0.%g" -s , "$1"
}
on_hosts() { # HOSTS COMMAND...: a rank on each
    local number=$1
    shift
    "$scratch/agent" 10.77.0.1 mpirun --host "$(hosts "$number")" -n "$number" -x PATHGCN_MPI_PATIENCE "$@"
}
number_of() { # FILE KEY
    grep -oE "\"$2\": *[0-9.]+" "$1" | head -n 1 | grep -oE '[0-9.]+$'
}
export PATHGCN_MPI_PATIENCE=${PATHGCN_MPI_PATIENCE:-60}
train=(train "$data" --recipe none --epochs "$epochs" --layers 2 --channels "${NETWORK_CHANNELS:-32}" --paths 5 --path-length 3 --samples 2
    --consistency 1 --consistency-ramp 0 --threads 1 --quiet)

steps() {
    local number link compute here
    for number in $ranks; do
        # without a network: the same ranks in shared memory
        rm -rf "$scratch/alone"
        env -u OMPI_MCA_btl -u OMPI_MCA_oob_tcp_if_include -u OMPI_MCA_btl_tcp_if_include \
            mpirun --oversubscribe -n "$number" "$program" "${train[@]}" --out "$scratch/alone" >/dev/null
        compute=$(number_of "$scratch/alone/result.json" step_ms_median)
        for link in $links; do
            set_up "$number" "${link%:*}" "${link#*:}"
            on_hosts "$number" "$build/bench_ranks" >"$scratch/probe"
            rm -rf "$scratch/run"
            on_hosts "$number" "$program" "${train[@]}" --out "$scratch/run" >/dev/null
            take_down
            cmp "$scratch/alone/model.safetensors" "$scratch/run/model.safetensors" ||
                { echo "bench/network.sh: another model on this network" && exit 1; }
            here=""
            for key in bytes_step exchanges_step sums_step sums_bytes_step waited_step_ms; do
                here+=",\"$key\":$(number_of "$scratch/run/result.json" $key)"
            done
            echo "{\"bench\":\"network\",\"commit\":\"$BENCH_COMMIT\",\"ranks\":$number,\"asked_gbit_s\":${link%:*},\
\"asked_ms\":${link#*:},\"latency_ms\":$(number_of "$scratch/probe" latency_ms),\"gbit_s\":$(number_of "$scratch/probe" \
gbit_s)$here,\"compute_ms\":$compute,\"step_ms\":$(number_of "$scratch/run/result.json" step_ms_median)}"
        done
    done | tee "$results/network.jsonl"
    "$python" bench/network_model.py check "$results/network.jsonl"
}

# A link that goes down in the middle: a sentence within the patience, no process of ours left, a whole checkpoint. Open
# MPI's own mpirun may wait for its daemon beyond the link without an end, and is killed here.
drop() {
    local job i
    set_up 2 1 0.05
    PATHGCN_MPI_PATIENCE=5 on_hosts 2 "$program" train sbm:nodes=700 --recipe none --checkpoint-every 1 --threads 1 \
        --epochs 100000 --quiet --out "$scratch/dropped" >"$scratch/out" 2>&1 </dev/null &
    job=$!
    until [ -e "$scratch/dropped/checkpoint.safetensors" ]; do sleep 0.1; done
    ip -n "$name-2" link set eth0 down
    for ((i = 0; i < 600; i++)); do
        grep -q "has not answered rank" "$scratch/out" && ! pgrep -f "^$program train sbm:nodes=700.*$scratch" >/dev/null &&
            break
        sleep 0.1
    done
    tr '\n' ' ' <"$scratch/out" | grep -oE "rank [01] has not answered rank [01] \(node[12]\) for 5 seconds" ||
        { cat "$scratch/out" && echo "bench/network.sh: nobody said that the network hangs" && exit 1; }
    pgrep -f "^$program train sbm:nodes=700.*$scratch" >/dev/null && echo "bench/network.sh: a rank is left" && exit 1
    take_down
    wait $job 2>/dev/null || true
    local more=$(($(wc -l <"$scratch/dropped/history.jsonl") + 3))
    "$program" train sbm:nodes=700 --recipe none --threads 1 --epochs $more --quiet --out "$scratch/dropped" --resume >/dev/null
    "$program" train sbm:nodes=700 --recipe none --threads 1 --epochs $more --quiet --out "$scratch/whole" >/dev/null
    cmp "$scratch/whole/history.jsonl" "$scratch/dropped/history.jsonl"
    cmp "$scratch/whole/model.safetensors" "$scratch/dropped/model.safetensors"
    echo "bench/network.sh: a dropped link ends the job with a sentence, and the run goes on to the same bits"
}
for part in $parts; do $part; done
