#!/usr/bin/env python3
"""Searches settings by what the chosen epoch is worth on validation nodes that had no say in it.

  bench/inner.py DATA[,DATA..] --space FILE --results FILE [--recipe NAME] [--candidates N] [--rungs R,R,..]
                 [--measure accuracy|auc] [--options "..."]
  bench/inner.py --report FILE

DATA are what bench/halves.py writes: the "test" of its splits are validation nodes of the original. A validation set of
59 nodes that chooses both an epoch and one of many settings says little about either; here one half chooses the epoch,
the other one judges, and several data sets may judge the same settings together.

A line of the space is `setting = a | b | c`, `a .. b` or `a .. b log`; after `unless SETTING=VALUE` the line is not drawn
where a line above it has drawn that; the setting `prepare` are steps of the data set (`none`: no step). Candidate 0 is the
recipe. Odd candidates draw every line, even ones about a third of them. All candidates have the runs of the first rung
(seeds from 0), the better third of them those of the second, and so on. A line of the results is one candidate on one
data set; what is there is not trained again. PATHGCN names the program [build/pathgcn].
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile


def read_space(path):
    space = []
    for line in open(path):
        line = line.split("#")[0].strip()
        if line:
            line, _, condition = line.partition(" unless ")
            name, values = (part.strip() for part in line.split("=", 1))
            space.append((name, values, tuple(part.strip() for part in condition.split("=")) if condition else None))
    return space


def draw_value(values, rng):
    if ".." not in values:
        return rng.choice([value.strip() for value in values.split("|")])
    low, high = values.replace("log", "").split("..")
    if "log" in values:
        return f"{math.exp(rng.uniform(math.log(float(low)), math.log(float(high)))):.3g}"
    return f"{rng.uniform(float(low), float(high)):.3g}"


def draw(space, number):
    """Settings of a candidate; they depend on its number and the space only."""
    rng = random.Random(number)
    settings = {}
    for name, values, condition in space:
        value, wanted = draw_value(values, rng), rng.random() < (1 if number % 2 else 1 / 3)
        if number and wanted and (condition is None or settings.get(condition[0]) != condition[1]):
            settings[name] = value
    return settings


def train(program, data, settings, arguments, first, runs):
    """Scores of the runs first, first + 1, ... or the reason why there are none."""
    steps = settings.get("prepare", "none")
    command = [program, "train", data + ("" if steps == "none" else ":" + steps), "--recipe", arguments.recipe,
               "--seed", str(first), "--seeds", str(runs), "--threads", "1", "--json", "--quiet"]
    command += arguments.options.split()
    for name, value in settings.items():
        if name != "prepare":
            command += ["--" + name, value]
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(command + ["--out", out + "/run"], capture_output=True, text=True)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or ["killed"])[-1]
    return [[run["val_" + arguments.measure], run["test_" + arguments.measure]]
            for run in json.loads(done.stdout.strip().splitlines()[-1])["runs"]], None


def mean_error(values):
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, float("nan")
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))


def inner_of(record, sets):
    """Mean over the data sets of the inner figure, run by run."""
    runs = min(len(record["runs"][data]) for data in sets)
    return [sum(record["runs"][data][run][1] for data in sets) / len(sets) for run in range(runs)]


def report(records):
    sets = records[0]["sets"]
    usable = [record for record in records if not record.get("failed")]
    if not usable or usable[0]["candidate"] != 0:
        sys.exit(f"inner.py: candidate 0, the recipe, failed: {records[0].get('failed')}")
    base = inner_of(usable[0], sets)
    print(f"{len(records)} candidates, {len(records) - len(usable)} failed, "
          f"{sum(len(runs) for record in records for runs in record['runs'].values())} trainings")
    print("| candidate | runs | val | inner | " + " | ".join(sets) + " | difference | settings |")
    for record in sorted(usable, key=lambda r: (-len(inner_of(r, sets)), -mean_error(inner_of(r, sets))[0])):
        own = inner_of(record, sets)
        val = sum(run[0] for data in sets for run in record["runs"][data]) / len(sets) / len(record["runs"][sets[0]])
        parts = " | ".join("%.2f" % mean_error([run[1] for run in record["runs"][data]])[0] for data in sets)
        difference = mean_error([a - b for a, b in zip(own, base)])
        print("| %d | %d | %.2f | %.2f ± %.2f | %s | %+.2f ± %.2f | %s |" % (
            record["candidate"], len(own), val, *mean_error(own), parts, *difference,
            " ".join(f"--{name} {value}" for name, value in record["settings"].items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default="")
    parser.add_argument("--space")
    parser.add_argument("--results")
    parser.add_argument("--report")
    parser.add_argument("--recipe", default="any-unlike")
    parser.add_argument("--options", default="")
    parser.add_argument("--candidates", type=int, default=60)
    parser.add_argument("--rungs", default="20")
    parser.add_argument("--measure", default="accuracy")
    arguments = parser.parse_args()
    path = arguments.report or arguments.results
    records = [json.loads(line) for line in open(path)] if path and os.path.exists(path) else []
    if arguments.report:
        return report(records)
    if not (arguments.data and arguments.space and arguments.results):
        parser.error("DATA, --space and --results are needed")
    program = os.environ.get("PATHGCN", "build/pathgcn")
    sets, space = arguments.data.split(","), read_space(arguments.space)
    known = {record["candidate"]: record for record in records}
    field = list(range(arguments.candidates))
    for rung, runs in enumerate(int(part) for part in arguments.rungs.split(",")):
        if runs > 100:
            parser.error("seeds from 100 on are not for choosing")
        if rung:
            able = [number for number in field if not known[number].get("failed")]
            able.sort(key=lambda number: -mean_error(inner_of(known[number], sets))[0])
            kept = able[:max(1, math.ceil(len(field) / 3))]
            field = kept if 0 in kept else [0] + kept
        for number in field:
            record = known.setdefault(number, {"candidate": number, "sets": sets, "settings": draw(space, number),
                                               "runs": {data: [] for data in sets}})
            for data in sets:
                have = len(record["runs"][data])
                if have < runs and not record.get("failed"):
                    scores, reason = train(program, data, record["settings"], arguments, have, runs - have)
                    if scores is None:
                        record["failed"] = reason
                    else:
                        record["runs"][data] += scores
            with open(arguments.results + ".new", "w") as file:
                file.writelines(json.dumps(known[key]) + "\n" for key in sorted(known))
            os.replace(arguments.results + ".new", arguments.results)
    report([known[number] for number in sorted(known)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
