#!/usr/bin/env python3
"""Who wins where: every family of `--recipe auto` on every data set, and auto itself beside them.

  bench/families.py choose --results FILE [--only NAME;..]   validation only: seeds from 0, no test nodes
  bench/families.py report --results FILE [--only NAME;..]   with the test: seeds from 1000, once per release
  bench/families.py tables --results FILE                    the tables of docs/RESULTS.md, as Markdown

A line of FILE is one run of `pathgcn train` with all its splits. A run that is in FILE is not made again,
so an interrupted measurement goes on where it was. PATHGCN names the program [build/pathgcn], PATHGCN_DATA the
folder of the data sets.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

NODE_FAMILIES = ["any-alike", "any-alike-many", "any-alike-loose", "any-unlike", "any-free", "any-free-deep",
                 "any-links", "any-links-only", "any-features", "any-features-bare"]
GRAPH_FAMILIES = ["any-graph", "any-graph-means", "any-graph-features", "gin"]
LABELS_FAMILIES = ["any-multilabel", "any-multilabel-alike", "any-multilabel-features"]

NUMBERED = ["--split", "numbered"]
MISSING = ["--allow-missing-class", "yes"]
FOLDS = ["--prepare", "crossval=10"]


def label_rate(per_class):
    return ["--prepare", f"per-class={per_class}/200/400"]


FULL = ["--recipe", "full"]

# name: data, options, runs, how a recipe of its own is named (None: it has none), families
SETS = {
    "Texas": ("texas", MISSING, 10, [], NODE_FAMILIES),
    "Wisconsin": ("wisconsin", MISSING, 10, [], NODE_FAMILIES),
    "Cornell, corrected": ("cornell_fixed", MISSING, 10, None, NODE_FAMILIES),
    "chameleon_filtered": ("heterophilous/chameleon_filtered.npz", [], 10, None, NODE_FAMILIES),
    "Actor": ("film", [], 10, [], NODE_FAMILIES),
    "Cora, public": ("cora", [], 5, [], NODE_FAMILIES),
    "Citeseer, public": ("citeseer", [], 5, [], NODE_FAMILIES),
    "Cora, ten splits": ("cora", NUMBERED, 10, FULL, NODE_FAMILIES),
    "Citeseer, ten splits": ("citeseer", NUMBERED, 10, FULL, NODE_FAMILIES),
    "Chameleon": ("chameleon", [], 10, [], NODE_FAMILIES),
    "Pubmed, public": ("pubmed", [], 2, [], NODE_FAMILIES),
    "minesweeper": ("heterophilous/minesweeper.npz", [], 2, None, NODE_FAMILIES),
    "Pubmed, ten splits": ("pubmed", NUMBERED, 1, FULL, NODE_FAMILIES),
    "MUTAG": ("MUTAG", FOLDS, 10, None, GRAPH_FAMILIES),
    "PTC": ("PTC_MR", FOLDS, 10, None, GRAPH_FAMILIES),
    "PROTEINS": ("PROTEINS", FOLDS, 2, None, GRAPH_FAMILIES),
    "karate": ("karate", [], 10, None, NODE_FAMILIES),
    "grid": ("grid", [], 3, None, NODE_FAMILIES),
    "sbm, 2 classes, homophily 0.1": ("sbm:classes=2,homophily=0.1", [], 3, None, NODE_FAMILIES),
    "sbm, homophily 0.1": ("sbm:homophily=0.1", [], 3, None, NODE_FAMILIES),
    "sbm, homophily 0.3": ("sbm:homophily=0.3", [], 3, None, NODE_FAMILIES),
    "sbm, homophily 0.5": ("sbm:homophily=0.5", [], 3, None, NODE_FAMILIES),
    "sbm, homophily 0.8": ("sbm:homophily=0.8", [], 3, None, NODE_FAMILIES),
    "sbm, degree 3": ("sbm:degree=3", [], 3, None, NODE_FAMILIES),
    "sbm, degree 40, homophily 0.4": ("sbm:degree=40,homophily=0.4", [], 3, None, NODE_FAMILIES),
    "sbm, 5 labels per class": ("sbm", label_rate(5), 3, None, NODE_FAMILIES),
    "sbm, 20 labels per class": ("sbm:homophily=0.6", label_rate(20), 3, None, NODE_FAMILIES),
    "sbm, noise 0.5": ("sbm:homophily=0.3,noise=0.5", [], 3, None, NODE_FAMILIES),
    "sbm, noise 6": ("sbm:homophily=0.6,noise=6", [], 3, None, NODE_FAMILIES),
    "sbm, 8,000 nodes": ("sbm:nodes=8000,homophily=0.4", [], 1, None, NODE_FAMILIES),
    "sbm, node names as features": ("sbm:homophily=0.5,degree=20", ["--prepare", "features=identity"], 3, None,
                                    NODE_FAMILIES),
    "powerlaw": ("powerlaw:nodes=3000,edges=21000", [], 2, None, NODE_FAMILIES),
    "powerlaw, homophily 0.2": ("powerlaw:nodes=3000,edges=21000,homophily=0.2", [], 2, None, NODE_FAMILIES),
}


def source(data):
    """A file of the data folder is given by its path, a set by its name."""
    return os.path.join(os.environ.get("PATHGCN_DATA", ""), data) if "/" in data else data


def command(name, recipe, phase, threads, most_runs):
    """The command of one line: all splits of a set with one recipe."""
    data, options, runs, own, _ = SETS[name]
    options = list(options)
    if phase == "choose":
        runs = min(runs, most_runs)
        if "--prepare" in options:
            options[options.index("--prepare") + 1] += ",without-test"
        else:
            options += ["--prepare", "without-test"]
    chosen = own if recipe == "own" else ["--recipe", recipe]
    seed = "0" if phase == "choose" else "1000"
    return [os.environ.get("PATHGCN", "build/pathgcn"), "train", source(data), *options, *chosen, "--seed", seed,
            "--seeds", str(runs), "--threads", str(threads), "--quiet", "--json", "--overwrite"]


def measure(name, recipe, phase, options):
    with tempfile.TemporaryDirectory() as out:
        started = resource.getrusage(resource.RUSAGE_CHILDREN)
        arguments = command(name, recipe, phase, options.threads, options.runs) + ["--out", out]
        run = subprocess.run(arguments, capture_output=True, text=True)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Of the processor: with one thread these are the seconds of an idle machine, whatever else runs.
    seconds = ended.ru_utime - started.ru_utime + ended.ru_stime - started.ru_stime
    line = {"phase": phase, "set": name, "recipe": recipe, "threads": options.threads, "seconds": round(seconds, 2)}
    if run.returncode != 0:
        line["error"] = run.stderr.strip()[-400:]
        return line
    result = json.loads(run.stdout.strip().splitlines()[-1])
    line["runs"] = [{"val": one["val_accuracy"], "test": one.get("test_accuracy")} for one in result["runs"]]
    line["won"] = [one["recipe"]["name"] for one in result["runs"] if one.get("recipe")]
    return line


def read(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file]


def run_all(phase, options):
    done = {(line["set"], line["recipe"]) for line in read(options.results) if line["phase"] == phase}
    for name in options.only.split(";") if options.only else SETS:
        _, _, _, own, families = SETS[name]
        recipes = ["auto", *(["own"] if own is not None else []), "none", *families]
        for recipe in options.recipes.split(",") if options.recipes else recipes:
            if (name, recipe) in done:
                continue
            line = measure(name, recipe, phase, options)
            with open(options.results, "a") as file:
                file.write(json.dumps(line) + "\n")
            print(name, recipe, line.get("error") or f"{line['seconds']} s", flush=True)


def mean(line, part):
    if line is None or "runs" not in line:
        return None
    values = [one[part] for one in line["runs"] if one[part] is not None]
    return sum(values) / len(values) if values else None


def figure(value, bold=False):
    if value is None:
        return ""
    return f"**{value:.1f}**" if bold else f"{value:.1f}"


def print_tables(options):
    lines = {(line["phase"], line["set"], line["recipe"]): line for line in read(options.results)}
    for phase, part in (("choose", "val"), ("report", "val")):
        for families in (NODE_FAMILIES, GRAPH_FAMILIES, LABELS_FAMILIES):
            names = [name for name in SETS if SETS[name][4] is families
                     and any((phase, name, family) in lines for family in families)]
            if not names:
                continue
            print(f"\n{phase}: {part}\n\n| data | runs | " + " | ".join(families) + " | auto |")
            print("|---|---:|" + "---:|" * (len(families) + 1))
            for name in names:
                means = {family: mean(lines.get((phase, name, family)), part) for family in [*families, "auto"]}
                best = max((means[family] for family in families if means[family] is not None), default=0)
                runs = next(len(line["runs"]) for key, line in lines.items()
                            if key[:2] == (phase, name) and "runs" in line)
                print(f"| {name} | {runs} | " + " | ".join(
                    figure(means[family], family != "auto" and means[family] is not None
                           and means[family] >= best - 0.05) for family in [*families, "auto"]) + " |")
    print("\nreport: test\n\n| data | runs | before | s | auto | s | own recipe | s | best family in hindsight | s |")
    print("|---|---:|" + "---:|" * 6 + "---|---:|")
    for name, (_, _, runs, _, families) in SETS.items():
        def line_of(recipe):
            return lines.get(("report", name, recipe))

        def cell(recipe):
            line = line_of(recipe)
            if mean(line, "test") is None:
                return " | "
            return f"{figure(mean(line, 'test'))} | {line['seconds'] / len(line['runs']):.1f}"
        known = [family for family in families if mean(line_of(family), "test") is not None]
        if line_of("auto") is None:
            continue
        best = max(known, key=lambda family: mean(line_of(family), "test"), default=None)
        hindsight = f"{figure(mean(line_of(best), 'test'))} {best}" if best else ""
        seconds = f"{line_of(best)['seconds'] / len(line_of(best)['runs']):.1f}" if best else ""
        print(f"| {name} | {len(line_of('auto').get('runs', []))} | {cell('none')} | {cell('auto')} | {cell('own')} | "
              f"{hindsight} | {seconds} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("phase", choices=["choose", "report", "tables"])
    parser.add_argument("--results", required=True, help="file of the measured lines")
    parser.add_argument("--only", help="sets, separated by semicolons [all]")
    parser.add_argument("--recipes", help="recipes, separated by commas [all families, auto, own, none]")
    parser.add_argument("--runs", type=int, default=3, help="at most N runs of a set when choosing [3]")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if options.phase == "tables":
        print_tables(options)
    else:
        run_all(options.phase, options)


if __name__ == "__main__":
    sys.exit(main())
