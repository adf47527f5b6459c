#!/usr/bin/env python3
"""How long a training step takes on several hosts: a model, and what it says.

    network_model.py check RESULTS     lines of bench/network.sh: predicted beside measured
    network_model.py papers100M        computed for 8, 64 and 256 hosts of 10 and 100 Gbit/s

A step computes, waits for `exchanges` rounds of messages (rows of layers, who needs which, sums in two rounds), and
makes `sums` sums that go from rank to rank in pieces, and come back through a tree:

    t = compute + exchanges x latency + rows / bandwidth - hidden + sums x relay
    relay = (R - 1) x (latency + piece / bandwidth) + (V - piece) / bandwidth + ceil(log2 R) x (latency + V / bandwidth)

with R ranks, V bytes of a sum and pieces of at most 64 KiB. Rows travel while others are made (src/nn/travel.c): hidden
is what of their time lies behind computing, at most AHEAD of the latter, and never the rows of the last slice:

    hidden = min(AHEAD x compute, (1 - 1 / SLICES) x rows / bandwidth)

A sum in two rounds, of G groups in all, which is made where it is faster (src/nn/sums.c), takes

    2 x latency + (G / R + 1) x (R - 1) / R x V / bandwidth
"""

import json
import math
import sys

PIECE = 16384 * 4  # bytes: RELAY_CHUNK of src/nn/sums.c
SLICES = 8  # MOST_SLICES of src/nn/travel.c
AHEAD = 0.4  # of computing, in loops whose rows travel: fitted to lines of bench/network.sh, of two layers


def relay_seconds(ranks, bytes_of_sum, latency, bandwidth):
    """A sum in the order of the ranks, which all get at the end."""
    piece = min(bytes_of_sum, PIECE)
    chain = (ranks - 1) * (latency + piece / bandwidth) + (bytes_of_sum - piece) / bandwidth
    return chain + math.ceil(math.log2(ranks)) * (latency + bytes_of_sum / bandwidth)


def two_rounds_seconds(ranks, bytes_of_sum, latency, bandwidth, groups):
    """The same sum: every rank makes a part of it."""
    return 2 * latency + (groups / ranks + 1) * (ranks - 1) / ranks * bytes_of_sum / bandwidth


def network_seconds(ranks, exchanges, rows_bytes, sums, sums_bytes, latency, bandwidth):
    """What the network adds to a step: bytes, seconds, bytes per second. Returns (rounds, rows, sums)."""
    relays = sums * relay_seconds(ranks, sums_bytes / sums, latency, bandwidth) if sums else 0.0
    return exchanges * latency, rows_bytes / bandwidth, relays


def hidden_seconds(compute, rows):
    """What of the time of rows lies behind computing."""
    return min(AHEAD * compute, (1 - 1 / SLICES) * rows)


def check(path):
    """A line of results is one network: its probe, what a step sent, and how long it took."""
    print("| ranks | Gbit/s asked, found | ms asked, found | exchanges | sums | MB of rows | predicted ms | measured ms |")
    print("|---|---|---|---|---|---|---|---|")
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            r = json.loads(line)
            latency, bandwidth = r["latency_ms"] / 1e3, r["gbit_s"] * 1e9 / 8
            rows = r["bytes_step"] - r["sums_bytes_step"]  # rows, and who needs which
            added = network_seconds(r["ranks"], r["exchanges_step"], rows, r["sums_step"], r["sums_bytes_step"],
                                    latency, bandwidth)
            hidden = hidden_seconds(r["compute_ms"] / 1e3, added[1])
            print(f"| {r['ranks']} | {r['asked_gbit_s']:g}, {r['gbit_s']:.2f} | {r['asked_ms']:g}, {r['latency_ms']:.2f} "
                  f"| {r['exchanges_step']} | {r['sums_step']} | {rows / 1e6:.2f} "
                  f"| {r['compute_ms'] + 1e3 * (sum(added) - hidden):.0f} | {r['step_ms']:.0f} |")


# ---- ogbn-papers100M, computed ------------------------------------------------------------------------------

NODES = 111_059_956  # ogb.stanford.edu; features 128, classes 172
CLASSES, FEATURES = 172, 128


def papers100m():
    """One step of a full batch. What is assumed is printed; only the cost of a node and a channel is measured."""
    layers, channels, paths, length, samples, groups = 2, 64, 5, 3, 1, 256
    exchanges, sums = 9, 5  # measured, of two layers: bench/network.sh
    latency = 20e-6  # of MPI over Ethernet; a fast network has 2
    core_seconds_per_node = 1.27 / 169_343  # measured: CLUSTER.md, powerlaw:size=arxiv, one core
    cores = 32
    weights = 4 * (FEATURES * channels + layers * (channels * channels + length) + channels * CLASSES)
    visits = paths * (length - 1)
    print(f"full batch of {NODES:,} nodes, {layers} layers, {channels} channels, {paths} walks of {length} nodes, "
          f"{samples} sample; {cores} cores a host, {core_seconds_per_node * 1e6:.1f} us of a core for each node; "
          f"{latency * 1e6:.0f} us latency; {weights / 1e3:.0f} kB of weights in {sums} sums over {groups} groups")
    print("| hosts | Gbit/s | cut | rows, GB in | compute s | rows s | sums s | a step, s |")
    print("|---|---|---|---|---|---|---|---|")
    for hosts in (8, 64, 256):
        own = NODES / hosts
        compute = NODES * core_seconds_per_node / hosts / cores
        for gbit in (10, 100):
            for cut in (1.0, 0.2):  # the share of visits that leave the host: no partition at all, or a good one
                # every visit of another host's node brings its row, at most every row once; forward and backward
                away = min(own * visits * cut, NODES - own)
                rows_bytes = 2 * away * channels * 4 * layers * samples
                rounds, rows, added = network_seconds(hosts, exchanges, rows_bytes, sums, weights, latency,
                                                      gbit * 1e9 / 8)
                two = sums * two_rounds_seconds(hosts, weights / sums, latency, gbit * 1e9 / 8, groups)
                added = min(added, two)
                # gradients travel meanwhile only where a thread has four groups: here values alone do
                step = compute + rows - hidden_seconds(compute / 2, rows / 2) + rounds + added
                print(f"| {hosts} | {gbit} | {100 * cut:.0f} % | {rows_bytes / 1e9:.1f} | {compute:.2f} | {rows:.2f} "
                      f"| {added:.3f} | {step:.2f} |")
    print("\nPublished, of other methods on other hosts, as epochs of mini-batches of the 1.2 million training nodes:")
    print("DistGNN-MB, 64 sockets of 36 cores: GraphSAGE 2 s, GAT 4.9 s, 5.2 times as fast as DistDGL (arXiv 2211.06385);")
    print("DistDGL, 8 partitions: 20.9 s (dgl issue 5529). DistGNN, full batch: 97 times one socket of DGL on 128 sockets")
    print("(arXiv 2104.06700). A full batch above goes through all 111 million nodes, an epoch of these does not.")


def main():
    if sys.argv[1:2] == ["check"] and len(sys.argv) == 3:
        check(sys.argv[2])
    elif sys.argv[1:] == ["papers100M"]:
        papers100m()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
