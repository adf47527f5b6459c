#!/usr/bin/env python3
"""The reported results: how each was made, and whether it still comes out to the digit.

  bench/record.py add NAME train DATA [options]   train, and keep the result as records/results/NAME.json
  bench/record.py repeat [NAME ...]               train again, all or these, and compare every run to the digit
  bench/record.py check                           whether README.md, docs/RESULTS.md and the recipes say the same
  bench/record.py list                            a line for each

Before the action: --threads N, which changes no digit [one per core], and --records DIR [records/results].

A record holds the command, the recipe with its version, the instruction set, and of every run its figure and the epoch
that was chosen. `repeat` uses the instruction set of the record, because training on another one differs as by another
seed. Where no item tests (`crossval=10`), the figure is that of GIN's protocol: the accuracy of all folds at the one
epoch at which their mean is best. `check` trains nothing and needs no data. It looks at mean and deviation, at the line
that README.md has of the data set, and at version and figure of the recipe; other sentences it cannot read. PATHGCN
names the program [build/pathgcn].
"""
import argparse
import decimal
import json
import os
import pathlib
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
FIRST_REPORTING_SEED = 1000  # docs/PROTOCOL.md, rule 2
COMPARED = ("fingerprint", "recipe_version", "bits_revision", "seeds", "values", "epochs")


def fail(reason):
    sys.exit(f"record.py: {reason}")


# ---- records ---------------------------------------------------------------------------------------------------------


def read_records(folder):
    if not folder.is_dir():
        fail(f"there is no folder {folder}")
    records = {}
    for path in sorted(folder.glob("*.json")):
        try:
            records[path.stem] = json.loads(path.read_text())
        except json.JSONDecodeError as error:
            fail(f"{path} is not JSON: {error}")
        missing = {"command", "recipe", "mean", "deviation", "isa", *COMPARED} - set(records[path.stem])
        if missing:
            fail(f"{path} lacks {', '.join(sorted(missing))}")
    return records


def write_record(folder, name, record):
    folder.mkdir(parents=True, exist_ok=True)
    lines = ",\n ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in record.items())
    (folder / f"{name}.json").write_text("{" + lines + "}\n")


def figure(record):
    mean = f"{record['mean']:.2f}"
    return mean if record["deviation"] is None else f"{mean} ± {record['deviation']:.2f}"


def mean_of(values):
    """With two digits; a tie goes up, whatever the order of the sum."""
    exact = sum(decimal.Decimal(f"{value:.4f}") for value in values) / len(values)
    return float(exact.quantize(decimal.Decimal("0.01"), decimal.ROUND_HALF_UP))


# ---- training --------------------------------------------------------------------------------------------------------


def gin_protocol(folder, runs):
    """Accuracy of every fold in percent at the epoch with the best mean over the folds, the first one if several are."""
    curves = []
    for run in runs:
        history = (pathlib.Path(folder) / f"seed-{run['seed']}" / "history.jsonl").read_text().splitlines()
        curves.append([json.loads(line)["val_accuracy"] for line in history])
    if len({len(curve) for curve in curves}) != 1:
        fail("the folds have different numbers of epochs: GIN's protocol needs --patience 0")
    means = [statistics.mean(column) for column in zip(*curves)]
    best = means.index(max(means))
    return [curve[best] for curve in curves], best + 1


def best_test_epoch(runs, measure):
    """What looking at the test items would give: no result, and told beside the result as a measure of optimism."""
    values = [run.get(f"best_epoch_test_{measure}") for run in runs]
    return None if None in values else mean_of(values)


def train(command, isa, threads):
    """Trains; returns what a record holds."""
    program = shutil.which(os.environ.get("PATHGCN", str(SOURCE / "build" / "pathgcn")))
    if not program:
        fail("there is no build/pathgcn: run make, or let PATHGCN name the program")
    environment = dict(os.environ, **({"PATHGCN_ISA": isa} if isa else {}))
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(scratch, "runs")
        options = ["--json", "--out", folder, "--threads", str(threads)]
        done = subprocess.run([program, *command, *options], env=environment, stdout=subprocess.PIPE)
        if done.returncode:
            fail(f"pathgcn {shlex.join(command)} failed with exit code {done.returncode}")
        result = json.loads(done.stdout)
        runs = result.get("runs") or [result]
        machine = json.loads(next(pathlib.Path(folder).rglob("result.json")).read_text())["machine"]
        measure = result["metric"]
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
        "mean": mean_of(values),
        "deviation": round(statistics.stdev(values), 2) if len(values) > 1 else None,
        "validation_mean": mean_of([run[f"val_{measure}"] for run in runs]),
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


def first_seed(command):
    return next((int(word) for option, word in zip(command, command[1:]) if option == "--seed"), 0)


def add(folder, name, command, threads):
    if not re.fullmatch(r"[\w.-]+", name):
        fail(f"'{name}' is no name of a record: letters, digits, '-', '_' and '.'")
    if first_seed(command) < FIRST_REPORTING_SEED:
        fail("seeds below 1000 are for choosing (docs/PROTOCOL.md): give --seed 1000")
    record = train(command, None, threads)
    write_record(folder, name, record)
    print(f"{name}: {figure(record)}")


def repeat(records, names, threads):
    """Trains again; says of every record whether all its runs have the same digits. Returns how many have not."""
    for name in names:
        if name not in records:
            fail(f"there is no record {name}; there are {', '.join(records) or 'none'}")
    differences = 0
    for name in names or records:
        old = records[name]
        new = train(shlex.split(old["command"])[1:], old["isa"], threads)
        different = [f"{what}: {old[what]} then, {new[what]} now" for what in COMPARED if old[what] != new[what]]
        print(f"{name}: {figure(new)}, " + ("the same to the digit" if not different else "; ".join(different)))
        differences += bool(different)
    return differences


# ---- documents -------------------------------------------------------------------------------------------------------


def plain(path):
    return path.read_text().replace("**", "").replace("`", "")


def has_recipe_alone(record):
    """Whether no setting was given beside the recipe's own, so that the recipe may tell this figure as its own."""
    options = [word for word in shlex.split(record["command"]) if word.startswith("--")]
    return set(options) <= {"--seed", "--seeds", "--recipe"}


def row_of(record, readme):
    """The row of README.md's table with this command, or 'the same for' its data set where that was said above."""
    command = record["command"]
    data, options = command.split()[2], command.split()[3:]
    if "--recipe" in options or "--layers" in options:
        data = None
    for row in readme.splitlines():
        cells = [cell.strip() for cell in row.split("|")]
        if len(cells) > 2 and cells[-2] in (command, f"the same for {data}"):
            return row
    return None


def recipe_fields(name):
    path = SOURCE / "recipes" / f"{name}.recipe"
    if not path.exists():
        return None
    return dict(re.findall(r"^(version|about) = (.*)$", path.read_text(), re.MULTILINE))


def disagreements(name, record, readme, results):
    if figure(record) not in results:
        yield f"docs/RESULTS.md does not have {figure(record)}"
    row = row_of(record, readme)
    if row and figure(record) not in row:
        yield f"README.md does not have {figure(record)} in its row: {row}"
    best = record.get("best_test_epoch_mean")
    if row and best is not None and f"| {best:.2f} |" not in row:
        yield f"README.md does not have the best test epoch {best:.2f} in its row: {row}"
    recipe = recipe_fields(record["recipe"])
    if recipe is None:
        yield f"there is no recipe {record['recipe']}"
    elif int(recipe["version"]) != record["recipe_version"]:
        yield (f"made with version {record['recipe_version']} of the recipe {record['recipe']}, "
               f"which is version {recipe['version']} now")
    elif has_recipe_alone(record) and f"{record['mean']:.1f} %" not in recipe["about"]:
        yield f"the recipe {record['recipe']} says '{recipe['about']}', not {record['mean']:.1f} %"
    if min(record["seeds"]) < FIRST_REPORTING_SEED:
        yield f"it has seeds below {FIRST_REPORTING_SEED}, which are for choosing"


def check(records):
    """Compares records, documents and recipes; returns the number of disagreements."""
    readme, results = plain(SOURCE / "README.md"), " ".join(plain(SOURCE / "docs" / "RESULTS.md").split())
    wrong = [f"{name}: {line}" for name, record in records.items() for line in disagreements(name, record, readme, results)]
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"{len(records)} records agree with README.md, docs/RESULTS.md and their recipes")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--records", type=pathlib.Path, default=SOURCE / "records" / "results")
    actions = parser.add_subparsers(dest="action", required=True, metavar="add | repeat | check | list")
    adding = actions.add_parser("add")
    adding.add_argument("name")
    adding.add_argument("command", nargs=argparse.REMAINDER)
    actions.add_parser("repeat").add_argument("names", nargs="*")
    actions.add_parser("check")
    actions.add_parser("list")
    arguments = parser.parse_args()
    if arguments.action == "add":
        if len(arguments.command) < 2 or arguments.command[0] != "train":
            parser.error("add takes a name and a command: add cora train cora --seeds 20 --seed 1000")
        add(arguments.records, arguments.name, arguments.command, arguments.threads)
        return 0
    records = read_records(arguments.records)
    if arguments.action == "repeat":
        return 1 if repeat(records, arguments.names, arguments.threads) else 0
    if arguments.action == "check":
        return 1 if check(records) else 0
    for name, record in records.items():
        print(f"{name:24} {figure(record):16} {record['isa']:8} {record['command']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
