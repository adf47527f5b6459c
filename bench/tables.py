#!/usr/bin/python3
"""Turns the JSON lines of the benchmarks into the tables of docs/PERFORMANCE_RECORD.md, so that nobody types a figure.

    tables.py --show TABLE FILE...      prints one table: limits, kernels, model, graphs, targets, scaling, load, peers,
                                        batches, training
    tables.py --write DOC FILE...       replaces what stands between `<!-- table: NAME -->` and `<!-- end -->`; a table
                                        without lines keeps what it has

Of several runs of one case the best median counts, on either side.
"""
import json
import statistics
import sys
import textwrap

PAPER_MS = {"step_ms": 5.35, "inference_ms": 2.17, "walks_ms": 0.384}  # Titan RTX, Cora, L=2 k=5 p=5 c=64


def read(paths):
    lines = []
    for path in paths:
        with open(path) as file:
            lines += [json.loads(line) for line in file if line.startswith("{")]
    return lines


def table(head, rows):
    """Markdown; columns are padded so that the terminal reads it too."""
    cells = [head] + [[str(cell) for cell in row] for row in rows]
    width = [max(len(row[i]) for row in cells) for i in range(len(head))]

    def line(row):
        return "| " + " | ".join(f"{cell:{width[i]}}" for i, cell in enumerate(row)).rstrip() + " |"

    text = [line(cells[0]), "|" + "---|" * len(head)] + [line(row) for row in cells[1:]]
    if max(map(len, text)) > 120:  # documents have no longer lines
        text = [text[1] if i == 1 else "| " + " | ".join(row) + " |"
                for i, row in enumerate([cells[0], None] + cells[1:])]
    return "\n".join(text)


def number(value, digits=3):
    if value is None:
        return ""
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text else text


def measured_on(lines):
    """One sentence for all lines that were measured in one go: the first of each kind tells."""
    first = {}
    for line in lines:
        if "commit" in line:
            first.setdefault((line["bench"], line["commit"]), line)
    several = len({line["commit"] for line in first.values()}) > 1
    texts = []
    for line in first.values():
        text = f"{line['bench']}: " if several else ""
        text += f"{line['cpu']}, {line['cores']} cores, commit {line['commit']}, load before the start {line['load']:.1f}"
        text += "; the machine was busy, so these times are too long." if line["load"] > 0.5 else "."
        if several or not texts:
            texts.append(textwrap.fill(text, 120))
    return "\n\n".join(texts)


# ---- limits and kernels --------------------------------------------------------------------------------------------

def both_threads(lines, bench):
    """One row for the figures of one and two threads: (case, shape) -> {threads: line}"""
    rows = {}
    for line in lines:
        if line["bench"] == bench:
            rows.setdefault((line["case"], line["shape"]), {})[line["threads"]] = line
    return rows


def limits_table(lines):
    rows = []
    for (case, shape), by_threads in both_threads(lines, "limits").items():
        rows.append([case, shape] + [number(by_threads[t]["achieved"]) if t in by_threads else "" for t in (1, 2)]
                    + [next(iter(by_threads.values()))["unit"]])
    return rows and table(["", "of", "1 thread", "2 threads", ""], rows)


def kernels_table(lines):
    groups = {}  # by graph and sizes; what else a shape says goes behind the name
    for (case, shape), by_threads in both_threads(lines, "kernels").items():
        sizes, _, note = shape.partition(", ")
        first = next(iter(by_threads.values()))
        row = [case + (f" ({note})" if note else "")]
        for t in (1, 2):
            line = by_threads.get(t)
            row += [number(line["median_us"]), number(line["achieved"]), number(line["limit"]),
                    f"{line['percent_of_limit']:.0f}"] if line else [""] * 4
        groups.setdefault(sizes, []).append(row + [first["unit"] + (f" / {first['per']}" if first["per"] else "")])
    head = ["", "1 thread: us", "achieved", "limit", "%", "2 threads: us", "achieved", "limit", "%", "unit"]
    return "\n\n".join(f"**{sizes}**\n\n" + table(head, rows) for sizes, rows in groups.items())


# ---- whole models ----------------------------------------------------------------------------------------------------

def best_runs(lines, bench="model"):
    """case -> who -> key -> the least of all runs; the rest of the line is that of the first one."""
    cases = {}
    for line in lines:
        if line["bench"] != bench:
            continue
        best = cases.setdefault(line["case"], {}).setdefault(line["who"], dict(line))
        for key, value in line.items():
            if key.endswith("_ms"):
                best[key] = min(value, best.get(key, value))
            if key == "peak_bytes":
                best[key] = max(value, best.get(key, value))
    return cases


def shape_of(ours):
    config = ours["config"]
    return (f"n={ours['nodes']} m={ours['edges']} L={config['layers']} k={config['path-length']} p={config['paths']} "
            f"c={config['channels']}, {ours['features']} features, {ours['train_nodes']} training nodes")


def model_table(lines):
    parts = []
    for case, runs in best_runs(lines).items():
        ours = runs["pathgcn"]
        rows = []
        for who, run in runs.items():
            row = [who]
            for key in ("step_ms", "inference_ms", "inference_sampled_ms", "walks_ms"):
                value, mine = run.get(key), ours.get(key)
                row.append(number(value) + (f" ({value / mine:.1f} x)" if value and run is not ours else ""))
            row.append(f"{run['peak_bytes'] / 2 ** 20:.0f}"
                       + ("" if run is ours else f" ({run['peak_bytes'] / ours['peak_bytes']:.1f} x)"))
            rows.append(row)
        if case == "cora":
            rows.append(["the paper, on a Titan RTX"] + [
                f"{PAPER_MS[key]} ({PAPER_MS[key] / ours[key]:.1f} x)" if key in PAPER_MS else ""
                for key in ("step_ms", "inference_ms", "inference_sampled_ms", "walks_ms")] + [""])
        head = ["ms", "training step", "inference, exact", "inference, one draw", "walks", "peak MiB"]
        about = (f"**{case[0].upper()}{case[1:]}**: {shape_of(ours)}. Our sampling, with lists and transposes, takes "
                 f"{number(ours['visits_ms'])} ms.")
        parts.append(textwrap.fill(about, 120) + "\n\n" + table(head, rows))
    return "\n\n".join(parts)


# ---- many graphs -----------------------------------------------------------------------------------------------------

def per_second(ours, run):
    """Graphs, or edges where a step has one graph, in thousands."""
    return ours["step_edges" if ours["task"] == "node" else "step_graphs"] / run["step_ms"]


def graphs_runs(lines):
    """case -> who -> threads -> the medians of all runs: ours runs before and after each of the others, so that the
    best of its runs would be the best of more."""
    cases = {}
    for line in lines:
        if line["bench"] == "graphs":
            cases.setdefault(line["case"], {}).setdefault(line["who"], {}).setdefault(line["threads"], []).append(line)
    for runs in cases.values():
        for by_threads in runs.values():
            for threads, several in by_threads.items():
                middle = {key: statistics.median(line[key] for line in several if key in line)
                          for key in several[0] if key.endswith("_ms") or key == "peak_bytes"}
                by_threads[threads] = {**several[0], **middle}
    return cases


def times(ratio):
    return f" ({ratio:.1f} x)" if ratio < 10 else f" ({ratio:.0f} x)"


def graphs_row(who, runs, ours):
    row = [who]
    for threads, run in runs.items():
        rate = number(per_second(ours[threads], run) * 1e3, 4)
        faster = "" if run is ours[threads] else times(run["step_ms"] / ours[threads]["step_ms"])
        cpu = "" if run is ours[threads] else times(run["step_cpu_ms"] / ours[threads]["step_cpu_ms"])
        row += [number(run["step_ms"]) + faster, number(run["step_cpu_ms"]) + cpu, rate]
    peak = max(run["peak_bytes"] for run in runs.values())
    mine = max(run["peak_bytes"] for run in ours.values())
    shares = [f"{100 * run['assembly_ms'] / run['step_ms']:.1f}" for run in runs.values()]
    return row + [", ".join(shares), f"{peak / 2 ** 20:.0f}" + ("" if runs is ours else times(peak / mine))]


def graphs_table(lines):
    parts = []
    for case, runs in graphs_runs(lines).items():
        ours = runs["pathgcn"]
        first = next(iter(ours.values()))
        config, unit = first["config"], "edges" if first["task"] == "node" else "graphs"
        about = (f"**{case}**: {first['graphs']} graphs, {first['step_nodes']:.0f} nodes and {first['step_edges']:.0f} "
                 f"edges per step, L={config['layers']} c={config['channels']}")
        if first["config"]["model"] != "gin":
            visits = ", ".join(f"{number(run['visits_ms'])} ms" for run in ours.values())
            about += (f" k={config['path-length']} p={config['paths']}; our sampling, with lists and transposes, takes "
                      f"{visits} of a step")
        head = ["", "1 thread: ms per step", "CPU ms", f"{unit}/s", "2 threads: ms per step", "CPU ms", f"{unit}/s",
                "assembly %", "peak MiB"]
        rows = [graphs_row(who, run, ours) for who, run in runs.items()]
        parts.append(textwrap.fill(about + ".", 120) + "\n\n" + table(head, rows))
    return "\n\n".join(parts)


# ---- scaling ---------------------------------------------------------------------------------------------------------

def cost_ns(line):
    config = line["config"]
    work = line["nodes"] * int(config["layers"])
    for key in ("paths", "channels"):
        work *= int(config[key])
    return 1e6 * line["step_ms"] / (work * (int(config["path-length"]) - 1))


def scaling_runs(lines, case):
    runs = {}
    for line in lines:
        if line["bench"] == "scaling" and line["case"] == case:
            key = (json.dumps(line["config"]), line["nodes"], line["threads"])
            if key not in runs or line["step_ms"] < runs[key]["step_ms"]:
                runs[key] = line
    return list(runs.values())


def scaling_row(line, first):
    config = line["config"]
    return [line["nodes"], line["edges"], config["path-length"], config["paths"], config["channels"], line["threads"],
            number(line["step_ms"]), number(cost_ns(line)), f"{cost_ns(line) / cost_ns(first):.2f}",
            f"{100 * line['waited']:.0f}" if "waited" in line else "", f"{line['peak_bytes'] / 2 ** 20:.0f}"]


def scaling_table(lines):
    head = ["nodes", "edges", "k", "p", "c", "threads", "step ms", "ns per unit", "to the first", "waits %", "peak MiB"]
    names = {"nodes": "Nodes", "nodes, full": "Nodes, as far as the memory goes", "k": "Path length", "p": "Paths",
             "c": "Channels", "recipe": "Cora by its recipe", "pubmed": "Threads, on Pubmed",
             "layers": "64 layers, on Cora",
             "products": "A graph of ogbn-products' size"}
    parts = []
    for case, title in names.items():
        runs = sorted(scaling_runs(lines, case), key=lambda line: line["threads"])
        if runs:
            firsts = {line["threads"]: line for line in reversed(runs)}
            rows = [scaling_row(line, firsts[line["threads"]]) for line in runs]
            parts.append(f"**{title}**\n\n" + table(head, rows))
    return "\n\n".join(parts)


# ---- targets ---------------------------------------------------------------------------------------------------------

def target(rows, what, wanted, found, reached):
    rows.append([what, wanted, found, "yes" if reached else "no"])


def model_targets(rows, lines):
    cases = best_runs(lines)

    def ratio(case, who, key, least, what):
        runs = cases.get(case, {})
        if "pathgcn" in runs and who in runs:
            found = runs[who][key] / runs["pathgcn"][key]
            target(rows, what, f"{least} x", f"{found:.1f} x", found >= least)

    for key, name, plain, best in (("step_ms", "step", 60, 15), ("inference_ms", "inference", 20, 8)):
        ratio("cora", "pytorch plain", key, plain, f"Cora, {name}, against plain PyTorch")
        if key == "step_ms":
            ratio("cora", "pytorch sparse", key, best, f"Cora, {name}, against sparse tensors with autograd")
        ratio("cora", "pytorch best", key, best, f"Cora, {name}, against the best PyTorch")
    ratio("cora", "pytorch best", "walks_ms", 8, "Cora, walks, against a vectorised PyTorch walk")
    ratio("cora, all nodes in training", "pytorch best", "step_ms", 15, "the same step, all nodes in training")
    if "cora" in cases:
        ours = cases["cora"]["pathgcn"]
        for key, name in (("visits_ms", "sampling"), ("step_ms", "step"), ("inference_ms", "inference")):
            paper = PAPER_MS["walks_ms" if key == "visits_ms" else key]
            target(rows, f"Cora, {name}, against the paper's GPU", f"< {paper} ms", f"{ours[key]:.3g} ms",
                   ours[key] < paper)
    ratio("pubmed", "pytorch best", "step_ms", 6, "Pubmed, step, against the best PyTorch")
    large = "power law of ogbn-arxiv's size"
    ratio(large, "pytorch best", "step_ms", 6, "ogbn-arxiv's size, step, against the best PyTorch")
    ratio(large, "pytorch best", "peak_bytes", 4, "ogbn-arxiv's size, peak memory of PyTorch to ours")


def kernel_targets(rows, lines):
    for (case, shape), by_threads in both_threads(lines, "kernels").items():
        wanted = ("path convolution" in case and ("cora" in shape or "random" in shape)
                  or case.startswith("layer") and "c=256" in shape)
        for threads, line in by_threads.items():
            if wanted:
                place = "in cache" if "cora" in shape else shape.split(", ")[-1] + ", out of cache"
                place = "bound by the product" if case.startswith("layer") else place
                target(rows, f"{case}, {place}, {threads} thread{'s' * (threads > 1)}", "70 % of the limit",
                       f"{line['percent_of_limit']:.0f} %", line["percent_of_limit"] >= 70)


def scaling_targets(rows, lines):
    pubmed = {line["threads"]: line["step_ms"] for line in scaling_runs(lines, "pubmed")}
    if len(pubmed) == 2:
        target(rows, "Pubmed, two threads against one", "1.8 x", f"{pubmed[1] / pubmed[2]:.2f} x",
               pubmed[1] / pubmed[2] >= 1.8)
    for threads in (1, 2):
        cost = {line["nodes"]: cost_ns(line) for line in scaling_runs(lines, "nodes") if line["threads"] == threads}
        if cost:
            growth = cost[max(cost)] / cost[min(cost)]
            target(rows, f"cost per node, path, hop and channel, 10^4 to 10^6 nodes, {threads} thread"
                   + "s" * (threads > 1), "< 2 x", f"{growth:.2f} x", growth < 2)
    for line in scaling_runs(lines, "layers"):
        mib = line["peak_bytes"] / 2 ** 20
        target(rows, "64 layers on Cora, peak memory", "< 300 MB", f"{mib:.0f} MiB", line["peak_bytes"] < 300e6)
    for line in scaling_runs(lines, "products"):
        target(rows, "a training step on ogbn-products' size", "it runs",
               f"{line['step_ms'] / 1e3:.1f} s, {line['peak_bytes'] / 2 ** 30:.1f} GiB", True)


def graphs_targets(rows, lines):
    """CPU times on one thread: of short steps and long ones, a busy machine makes the long ones longer. Threads that wait
    for each other use CPU time too, so that of two threads the clock on the wall counts."""
    cases = graphs_runs(lines)
    for case, unit, least in (("NCI1", "graphs/s", 20), ("PPI", "edges/s", 8)):
        for threads, key, of in ((1, "step_cpu_ms", "1 thread"), (2, "step_ms", "2 threads")):
            step = {who: run[threads][key] for who, run in cases.get(case, {}).items() if threads in run}
            for who in ("pytorch index", "pytorch sparse"):
                if who in step:
                    found = step[who] / step["pathgcn"]
                    target(rows, f"{case}, {unit}, against {who[8:]} in PyTorch, {of}", f"{least} x", f"{found:.1f} x",
                           found >= least)
    shares = [100 * run["assembly_ms"] / run["step_ms"] for runs in cases.values() for run in runs["pathgcn"].values()]
    if shares:
        target(rows, "putting batches together, largest share of a step", "< 10 %", f"{max(shares):.1f} %",
               max(shares) < 10)


def targets_table(lines):
    rows = []
    model_targets(rows, lines)
    graphs_targets(rows, lines)
    kernel_targets(rows, lines)
    scaling_targets(rows, lines)
    return rows and table(["what", "wanted", "found", "reached"], rows)


# ---- networks beside PyTorch Geometric -------------------------------------------------------------------------------

def peers_runs(lines):
    """(data, network) -> threads -> who -> step_ms, inference_ms. A step on one thread: the CPU time, which other work
    on the machine does not make longer; else the least time of a run. The median over runs: ours runs before and after
    each of the others, and the best of its runs would be the best of more."""
    cases = {}
    for line in lines:
        if line["bench"] == "peers" and "step_bytes" not in line:  # those are of memory
            by_who = cases.setdefault(tuple(line["case"].rsplit(", ", 1)), {}).setdefault(line["threads"], {})
            by_who.setdefault(line["who"], []).append(line)
    for by_threads in cases.values():
        for by_who in by_threads.values():
            for who, runs in by_who.items():
                keys = {"step_ms": "step_cpu_ms" if runs[0]["threads"] == 1 else "step_ms_min",
                        "inference_ms": "inference_ms_min"}
                measured = [run for run in runs if "failed" not in run]
                if measured:
                    by_who[who] = {**measured[0], **{key: statistics.median(run[of] for run in measured)
                                                     for key, of in keys.items()}}
                else:
                    by_who[who] = runs[0]
    return cases


def peers_flops(ours):
    """Multiply-adds of the dense products of a step, times two: forward, and backward for weights and rows."""
    config, n, classes = ours["config"], ours["nodes"], ours["classes"]
    c, layers, model = int(config["channels"]), int(config["layers"]), config["model"]
    f = ours["features"] if ours.get("dense_features") else 0  # sparse ones: no dense product
    if model == "sgc":
        return 2 * n * 2 * f * classes
    first, square = (2, 2) if model == "sage" else (1, 1)
    squares = {"gcn": layers - 2, "gat": layers - 2, "appnp": layers - 2, "sage": layers - 1}.get(model, layers)
    last = classes * int(config["heads-last"]) if model == "gat" else classes
    return 2 * n * (2 * first * f * c + 3 * square * squares * c * c + 3 * c * last)


def peers_bound(ours, rates):
    """Milliseconds that our products alone would take, at the rate of matrices of this size."""
    c = int(ours["config"]["channels"])
    near = min(rates, key=lambda size: abs(size - c), default=None)
    flops = peers_flops(ours)
    return 1e-6 * flops / (rates[near] * ours["threads"]) if near and flops else None


def peers_row(network, threads, by_who, rates, forms):
    ours = by_who["pathgcn"]
    mine, bound = ours["step_ms"], peers_bound(ours, rates)
    row = [network, threads, number(mine)]
    for form in forms:
        run = by_who.get(form, {})
        row.append("failed" if "failed" in run else number(run.get("step_ms")))
    others = {who: run for who, run in by_who.items() if "step_ms" in run and run is not ours}
    best = min((run["step_ms"] for run in others.values()), default=None)
    row.append(f"{best / mine:.1f} x" if best else "")
    row.append(f"{number(bound)} ({100 * bound / mine:.0f} %)" if bound else "")
    fast = min((run["inference_ms"] for run in others.values()), default=None)
    row += [number(ours["inference_ms"]), number(fast), f"{fast / ours['inference_ms']:.1f} x" if fast else ""]
    return row


def peers_memory(lines):
    rows = {}
    for line in lines:
        if line["bench"] == "peers memory":  # ours
            line["step_bytes"] = line["peak_bytes"] - line["loaded_bytes"]
        if "step_bytes" in line:
            rows.setdefault(line["case"].rsplit(", ", 1)[1], {})[line["who"]] = line["step_bytes"] / 2 ** 20
    rows = [[network, number(by_who["pathgcn"])] + [
        f"{number(by_who[form])} ({by_who[form] / by_who['pathgcn']:.1f} x)" if form in by_who else ""
        for form in ("index", "csr")] for network, by_who in rows.items() if "pathgcn" in by_who]
    return rows and table(["MiB of a step, beyond the data", "ours", "index", "csr"], rows)


def peers_table(lines):
    cases, parts = peers_runs(lines), []
    rates = {line["channels"]: line["gflops"] for line in lines
             if line["bench"] == "products" and line["channels"] == line["classes"]}
    for data in dict.fromkeys(case[0] for case in cases):
        chosen = {case[1]: runs for case, runs in cases.items() if case[0] == data}
        present = {who for runs in chosen.values() for by_who in runs.values() for who in by_who}
        forms = [form for form in ("index", "csr", "csr+x", "index compiled", "csr compiled") if form in present]
        names = [form.replace(" compiled", "*") for form in forms]
        ours = next(iter(next(iter(chosen.values())).values()))["pathgcn"]
        rows = [peers_row(network, threads, by_who, rates, forms)
                for network, runs in chosen.items() for threads, by_who in sorted(runs.items())]
        head = ["step, ms", "threads", "ours", *names, "ratio", "products", "inference", "best", "ratio"]
        parts.append(f"**{data}**: n={ours['nodes']} m={ours['edges']}, {ours['features']} features, "
                     f"{ours['train_nodes']} training nodes\n\n" + table(head, rows))
    memory = peers_memory(lines)
    return "\n\n".join(parts + ([memory] if memory else []))


# ---- batches of nodes -----------------------------------------------------------------------------------------------

def batches_cell(value, ours):
    return "" if value is None else number(value) + (f" ({value / ours:.1f} x)" if ours and value is not ours else "")


def batches_table(lines):
    """The least of all steps and the median of processor time, of the best run: a busy machine changes these least."""
    parts = []
    for case in dict.fromkeys(line["case"] for line in lines):
        runs, memory = {}, {}
        for line in lines:
            if line["case"] != case or "failed" in line:
                continue
            if line["bench"] == "batches memory":
                memory[line["who"]] = line
            else:
                best = runs.setdefault(line["who"], dict(line))
                for key in ("step_ms", "step_ms_min", "step_cpu_ms", "sampling_ms", "sampling_ms_min"):
                    best[key] = min(best[key], line[key])
        ours, held = runs.get("pathgcn", {}), memory.get("pathgcn")
        rows = []
        for who, run in runs.items():
            row = [who] + [batches_cell(run[key], ours.get(key) if run is not ours else None)
                           for key in ("step_ms_min", "step_ms", "step_cpu_ms", "sampling_ms_min")]
            used = memory.get(who)
            for key in ("all", "steps"):
                size = {name: line["peak_bytes"] - (line["loaded_bytes"] if key == "steps" else 0)
                        for name, line in (("own", used), ("ours", held)) if line}
                row.append("" if not used else f"{size['own'] / 2 ** 20:.0f}"
                           + (f" ({size['own'] / size['ours']:.1f} x)" if held and used is not held else ""))
            rows.append(row)
        head = [case, "least step, ms", "median", "processor", "least sampling", "peak MiB", "beyond the data"]
        parts.append(table(head, rows))
        parts += [f"{line['who']}: {line['failed']}" for line in lines if line["case"] == case and "failed" in line]
    return "\n\n".join(dict.fromkeys(parts))


# ---- whole trainings -------------------------------------------------------------------------------------------------

def training_table(lines):
    """Of each the turn with the least seconds of the whole process, also over its epochs; epochs and accuracies are
    means over the turns."""
    runs = {}
    for line in lines:
        if line["bench"] == "training":
            runs.setdefault(line["who"], []).append(line)
    ours = min(runs.get("pathgcn", []), key=lambda line: line["wall_s"], default=None)
    rows = []
    for who, turns in runs.items():
        best = min(turns, key=lambda line: line["wall_s"])
        mean = {key: sum(line[key] for line in turns) / len(turns)
                for key in ("epochs", "val_accuracy", "test_accuracy")}
        each = {key: batches_cell(best[key] * factor, ours[key] * factor if ours and best is not ours else None)
                for key, factor in (("wall_s", 1), ("cpu_s", 1), ("peak_bytes", 2 ** -20))}
        per_epoch = [1e3 * line["wall_s"] / line["epochs"] for line in (best, ours) if line]
        rows.append([who, each["wall_s"], number(best.get("import_s")), batches_cell(*per_epoch)
                     if best is not ours else number(per_epoch[0]), each["cpu_s"], each["peak_bytes"],
                     f"{mean['epochs']:.0f}", f"{mean['val_accuracy']:.2f}", f"{mean['test_accuracy']:.2f}"])
    head = ["", "seconds", "of them import", "ms / epoch", "CPU s", "peak MiB", "epochs", "val. %", "test %"]
    return rows and table(head, rows)


# ---- loading ---------------------------------------------------------------------------------------------------------

def load_table(lines):
    rows = [[line["case"], number(line["wall_s"]), number(line["peak_over_data"]),
             f"{line['pandas_over_this']:.1f} x" if line["case"] != "pandas" else ""]
            for line in lines if line["bench"] == "load"]
    return rows and table(["", "seconds", "peak memory / data", "faster than pandas by"], rows)


TABLES = {"limits": limits_table, "kernels": kernels_table, "model": model_table, "graphs": graphs_table,
          "targets": targets_table, "scaling": scaling_table, "load": load_table, "peers": peers_table,
          "batches": batches_table, "training": training_table}
SOURCE = {"limits": ("limits",), "kernels": ("kernels",), "model": ("model",), "graphs": ("graphs",),
          "scaling": ("scaling",), "load": ("load",), "peers": ("peers", "peers memory", "products"),
          "batches": ("batches", "batches memory"), "training": ("training",),
          "targets": ("kernels", "model", "graphs", "scaling")}


def make(name, lines):
    used = [line for line in lines if line["bench"] in SOURCE[name]]
    text = TABLES[name](used)
    return text and text + "\n\n" + measured_on(used)


def write(document, lines):
    with open(document) as file:
        text = file.read()
    for name in TABLES:
        begin, end = f"<!-- table: {name} -->\n", "<!-- end -->"
        content = make(name, lines)
        if content and begin in text:
            before, rest = text.split(begin, 1)
            text = before + begin + "\n" + content + "\n\n" + end + rest.split(end, 1)[1]
    with open(document, "w") as file:
        file.write(text)


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("--show", "--write"):
        sys.exit(__doc__)
    lines = read(sys.argv[3:])
    if sys.argv[1] == "--write":
        write(sys.argv[2], lines)
    else:
        print(make(sys.argv[2], lines) or "nothing was measured")


if __name__ == "__main__":
    main()
