#!/usr/bin/env python3
"""The reported results: how each was made, and whether it still comes out to the digit.

  bench/record.py add NAME train DATA [options]   train, and keep the result as records/results/NAME.json
  bench/record.py repeat [NAME ...]               train again, all or these, and compare every run to the digit
  bench/record.py check                           whether README.md, docs/RESULTS.md and the recipes say the same
  bench/record.py list                            a line for each

Before the action: --threads N, which changes no digit [one per core], --records DIR [records/results], and --runs DIR:
the run of NAME is then kept in DIR/NAME, and what was interrupted there, or is done, is not trained again.

A record holds the command, the recipe with its version, the instruction set, and of every run its figure and the epoch
that was chosen. `repeat` uses the instruction set of the record, because training on another one differs as by another
seed. Where no item tests (`crossval=10`), the figure is that of GIN's protocol: the accuracy of all folds at the one
epoch at which their mean is best. Where the recipe chooses by another measure than accuracy, as AUC, the figure is of
that one. `check` trains nothing and needs no data. It looks at mean and deviation, at the line that README.md has of the
data set, and at version and figure of the recipe; other sentences it cannot read. PATHGCN names the program
[build/pathgcn].
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
INTERRUPTED = 130  # the exit code of the program after Ctrl-C
COMPARED = ("fingerprint", "recipe_version", "bits_revision", "seeds", "values", "epochs")


def fail(reason, code=1):
    print(f"record.py: {reason}", file=sys.stderr)
    sys.exit(code)


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


def measure_of(result):
    """The key of what is reported, which is what chose the epoch (docs/PROTOCOL.md). A loss chooses for the usual measure
    of the task, whose key is `accuracy` where it is micro-F1, too."""
    chosen_by = result["config"]["select"]
    return "accuracy" if chosen_by in ("accuracy", "loss") else chosen_by.replace("-", "_")


def run_to_the_end(command, environment):
    """Output and exit code. After Ctrl-C, which the program gets as well, it is waited for: it saves what it has."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    while True:
        try:
            return process.communicate()[0], process.returncode
        except KeyboardInterrupt:
            continue


def machine_of(folder):
    """Where the runs were trained; a record is of one instruction set."""
    machines = [json.loads(path.read_text())["machine"] for path in sorted(pathlib.Path(folder).rglob("result.json"))]
    sets = sorted({machine["isa"] for machine in machines})
    if len(sets) > 1:
        fail(f"the runs in {folder} have several instruction sets, {', '.join(sets)}: train all of them with one")
    return machines[0]


def train(command, isa, threads, kept=None):
    """Trains in the folder `kept`, or goes on there; returns what a record holds."""
    name = os.environ.get("PATHGCN", str(SOURCE / "build" / "pathgcn"))
    program = shutil.which(name)
    if not program:
        fail(f"there is no program {name}: run make, or let PATHGCN name it")
    environment = dict(os.environ, **({"PATHGCN_ISA": isa} if isa else {}))
    with tempfile.TemporaryDirectory() as scratch:
        folder = kept or os.path.join(scratch, "runs")
        options = ["--json", "--out", folder, "--threads", str(threads)]
        resumed = os.path.exists(folder)
        if resumed:
            options.append("--resume")
        output, code = run_to_the_end([program, *command, *options], environment)
        if code == INTERRUPTED:
            fail("interrupted" + (f"; the same command goes on with what is in {kept}" if kept else ""), code)
        if code:
            fail(f"pathgcn {shlex.join(command)} failed with exit code {code}")
        result = json.loads(output)
        runs = result.get("runs") or [result]
        machine = machine_of(folder)
        measure = measure_of(result)
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
        "measure": result["metric"] if measure == "accuracy" else measure,
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
        "peak_mib": None if resumed else round(result["peak_rss_bytes"] / 2**20),  # of the last process alone
        "fingerprint": result["fingerprint"],
    }


def first_seed(command):
    text = re.search(r" --seed[ =](\S+)", " " + " ".join(command))
    if text and not text.group(1).isdigit():
        fail(f"--seed is '{text.group(1)}', expected a number")
    return int(text.group(1)) if text else 0


def add(folder, name, command, threads, runs):
    if not re.fullmatch(r"[\w.-]+", name):
        fail(f"'{name}' is no name of a record: letters, digits, '-', '_' and '.'")
    if first_seed(command) < FIRST_REPORTING_SEED:
        fail("seeds below 1000 are for choosing (docs/PROTOCOL.md): give --seed 1000")
    record = train(command, None, threads, runs and str(runs / name))
    path = folder / f"{name}.json"
    before = f", in place of {figure(json.loads(path.read_text()))}" if path.exists() else ""
    write_record(folder, name, record)
    print(f"{name}: {figure(record)}{before}")


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
    if not records:
        fail("there is no record to check")
    if not wrong:
        print(f"{len(records)} records agree with README.md, docs/RESULTS.md and their recipes")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--records", type=pathlib.Path, default=SOURCE / "records" / "results")
    parser.add_argument("--runs", type=pathlib.Path)
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
        add(arguments.records, arguments.name, arguments.command, arguments.threads, arguments.runs)
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
