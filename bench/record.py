#!/usr/bin/env python3
"""The reported results: how each was made, and whether it still comes out to the digit.

  bench/record.py add NAME train DATA [options]   train, and keep the result as records/results/NAME.json
  bench/record.py repeat NAME [NAME ...]          train again, and compare every run to the digit
  bench/record.py check                           whether README.md, docs/RESULTS.md and the recipes say the same
  bench/record.py list                            a line for each

Before the action: --threads N, which changes no digit [one per core], and --records DIR [records/results].

A record holds the command, the recipe with its version, the instruction set, and of every run its figure and the epoch
that was chosen. `repeat` uses the instruction set of the record, because training on another one differs as by another
seed. Where no item tests (`crossval=10`), the figure is that of GIN's protocol: the accuracy of all folds at the one
epoch at which their mean is best. `check` trains nothing and needs no data. PATHGCN names the program [build/pathgcn].
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
FIRST_REPORTING_SEED = 1000  # docs/PROTOCOL.md, rule 2


def all_records(folder):
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def gin_protocol(folder, runs):
    """Accuracy of every fold in percent at the epoch with the best mean over the folds, the first one if several are."""
    curves = []
    for run in runs:
        history = (pathlib.Path(folder) / f"seed-{run['seed']}" / "history.jsonl").read_text().splitlines()
        curves.append([json.loads(line)["val_accuracy"] for line in history])
    if len({len(curve) for curve in curves}) != 1:
        sys.exit("record.py: the folds have different numbers of epochs: GIN's protocol needs --patience 0")
    means = [statistics.mean(column) for column in zip(*curves)]
    best = means.index(max(means))
    return [curve[best] for curve in curves], best + 1


def best_test_epoch(runs, measure):
    """What looking at the test items would give: no result, and told beside the result as a measure of optimism."""
    values = [run.get(f"best_epoch_test_{measure}") for run in runs]
    return None if None in values else round(statistics.mean(values), 2)


def train(command, isa, threads):
    """Trains; returns what a record holds."""
    program = os.environ.get("PATHGCN", str(SOURCE / "build" / "pathgcn"))
    environment = dict(os.environ, **({"PATHGCN_ISA": isa} if isa else {}))
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(scratch, "runs")
        options = ["--json", "--out", folder, "--threads", str(threads)]
        done = subprocess.run([program, *command, *options], env=environment, stdout=subprocess.PIPE)
        if done.returncode:
            sys.exit(f"record.py: {shlex.join(command)} failed with exit code {done.returncode}")
        result = json.loads(done.stdout)
        runs = result.get("runs") or [result]
        machine = json.loads(next(pathlib.Path(folder).rglob("result.json")).read_text())["machine"]
        measure = {"auc": "auc", "f1": "micro_f1"}.get(result["metric"], result["metric"])
        if runs[0]["items"]["test"]:
            values = [run[f"test_{measure}"] for run in runs]
            epochs = [run["best_epoch"] for run in runs]
            rule = "validation chooses the epoch, test nodes or graphs are looked at once"
        else:
            values, epoch = gin_protocol(folder, runs)
            epochs = [epoch] * len(runs)
            rule = "GIN's protocol: the epoch with the best mean over the folds; nothing tests"
    return {
        "command": "pathgcn " + shlex.join(command),
        "recipe": result["recipe"]["name"],
        "recipe_version": result["recipe"]["version"],
        "rule": rule,
        "measure": measure,
        "mean": round(statistics.mean(values), 2),
        "deviation": round(statistics.stdev(values), 2) if len(values) > 1 else None,
        "validation_mean": round(statistics.mean(run[f"val_{measure}"] for run in runs), 2),
        "best_test_epoch_mean": best_test_epoch(runs, measure),
        "seeds": [run["seed"] for run in runs],
        "values": [round(value, 4) for value in values],
        "epochs": epochs,
        "isa": machine["isa"],
        "bits_revision": machine["bits_revision"],
        "processor": machine["processor"],
        "training_seconds": round(sum(run["seconds"] for run in runs)),
        "peak_mib": round(result["peak_rss_bytes"] / 2**20),
        "fingerprint": result["fingerprint"],
    }


def figure(record):
    mean = f"{record['mean']:.2f}"
    return mean if record["deviation"] is None else f"{mean} ± {record['deviation']:.2f}"


def add(folder, name, command, threads):
    record = train(command, None, threads)
    if min(record["seeds"]) < FIRST_REPORTING_SEED:
        sys.exit("record.py: seeds below 1000 are for choosing (docs/PROTOCOL.md); nothing was kept")
    folder.mkdir(parents=True, exist_ok=True)
    lines = ",\n ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in record.items())
    (folder / f"{name}.json").write_text("{" + lines + "}\n")
    print(f"{name}: {figure(record)}")


def repeat(records, names, threads):
    """Trains again; says of every record whether all its runs have the same digits. Returns how many have not."""
    for name in names:
        if name not in records:
            sys.exit(f"record.py: there is no record {name}; there are {', '.join(records)}")
    differences = 0
    for name in names or records:
        old = records[name]
        new = train(shlex.split(old["command"])[1:], old["isa"], threads)
        different = [
            f"{what}: {old[what]} then, {new[what]} now"
            for what in ("fingerprint", "recipe_version", "bits_revision", "seeds", "values", "epochs")
            if old[what] != new[what]
        ]
        print(f"{name}: {figure(new)}, " + ("the same to the digit" if not different else "; ".join(different)))
        differences += bool(different)
    return differences


def has_recipe_alone(record):
    """Whether no setting was given beside the recipe's own, so that the recipe may tell this figure as its own."""
    options = [word for word in shlex.split(record["command"]) if word.startswith("--")]
    return set(options) <= {"--seed", "--seeds", "--recipe"}


def recipe_fields(name):
    path = SOURCE / "recipes" / f"{name}.recipe"
    if not path.exists():
        return None
    return dict(re.findall(r"^(version|about) = (.*)$", path.read_text(), re.MULTILINE))


def check(records):
    """Compares records, documents and recipes; returns the number of disagreements."""
    plain = {
        name: " ".join((SOURCE / name).read_text().replace("**", "").replace("`", "").split())
        for name in ("README.md", "docs/RESULTS.md")
    }
    wrong = []
    for name, record in records.items():
        if figure(record) not in plain["docs/RESULTS.md"]:
            wrong.append(f"{name}: docs/RESULTS.md does not have {figure(record)}")
        if record["command"] in plain["README.md"] and figure(record) not in plain["README.md"]:
            wrong.append(f"{name}: README.md has its command, and not its figure {figure(record)}")
        recipe = recipe_fields(record["recipe"])
        if recipe is None:
            wrong.append(f"{name}: there is no recipe {record['recipe']}")
        elif int(recipe["version"]) != record["recipe_version"]:
            wrong.append(f"{name}: made with version {record['recipe_version']} of the recipe {record['recipe']}, which "
                         f"is version {recipe['version']} now")
        elif has_recipe_alone(record) and f"{record['mean']:.1f} %" not in recipe["about"]:
            wrong.append(f"{name}: the recipe {record['recipe']} says '{recipe['about']}', not {record['mean']:.1f} %")
        if min(record["seeds"]) < FIRST_REPORTING_SEED:
            wrong.append(f"{name}: has seeds below {FIRST_REPORTING_SEED}, which are for choosing")
    for line in wrong:
        print(line, file=sys.stderr)
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("action", choices=("add", "repeat", "check", "list"))
    parser.add_argument("words", nargs=argparse.REMAINDER)
    parser.add_argument("--records", type=pathlib.Path, default=SOURCE / "records" / "results")
    arguments = parser.parse_args()
    records = all_records(arguments.records)
    if arguments.action == "add":
        if len(arguments.words) < 3 or arguments.words[1] != "train":
            parser.error("add takes a name and a command: add cora train cora --seeds 20 --seed 1000")
        add(arguments.records, arguments.words[0], arguments.words[1:], arguments.threads)
    elif arguments.action == "repeat":
        sys.exit(1 if repeat(records, arguments.words, arguments.threads) else 0)
    elif arguments.action == "check":
        sys.exit(1 if check(records) else 0)
    else:
        for name, record in records.items():
            print(f"{name:24} {figure(record):16} {record['isa']:8} {record['command']}")


if __name__ == "__main__":
    main()
