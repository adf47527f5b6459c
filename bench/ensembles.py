#!/usr/bin/env python3
"""Several trainings together: the mean of the probabilities of five, beside what each of them has alone.

  bench/ensembles.py add NAME [DATA]    trains, evaluates and keeps the result as records/ensembles/NAME.json
  bench/ensembles.py write | check      the table of docs/RESULTS.md from the records, or whether it is theirs

With ten numbered splits every split is one ensemble, of seeds 1000 to 1004; with one split, seeds 1000 to 1019 are four
(docs/PROTOCOL.md, rule 8). `add` takes --splits N [10], 0 for data with one split, --runs DIR, where the runs are kept
and gone on with after an interruption [a temporary folder], and --threads N [one per core]. PATHGCN names the program
[build/pathgcn].
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import record_tables
from record import mean_of

SOURCE = pathlib.Path(__file__).resolve().parent.parent
RECORDS = SOURCE / "records" / "ensembles"
FIRST_SEED, MEMBERS = 1000, 5
TITLES = {"film": "Actor", "chameleon_filtered": "chameleon_filtered"}


def run(words, threads):
    program = os.environ.get("PATHGCN", str(SOURCE / "build" / "pathgcn"))
    done = subprocess.run([program, *words, "--json", "--threads", str(threads)], stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"ensembles.py: pathgcn {' '.join(words)} ended with code {done.returncode}")
    return json.loads(done.stdout)


def train(data, options, seeds, folder, threads):
    """The folders of the trainings, by seed, and what the program says of them."""
    words = ["train", data, "--seeds", str(seeds), "--seed", str(FIRST_SEED), *options, "--out", str(folder)]
    result = run([*words, *(["--resume"] if folder.exists() else [])], threads)
    return [folder / f"seed-{FIRST_SEED + i}" for i in range(seeds)], result, " ".join(words[:-2])


def add(name, data, splits, runs, threads):
    choices = [["--split", str(split)] for split in range(splits)] or [[]]
    seeds = MEMBERS if splits else 4 * MEMBERS
    ensembles = []
    for options in choices:
        folders, result, command = train(data, options, seeds, runs / name / "-".join(options[1:] or ["all"]), threads)
        for first in range(0, seeds, MEMBERS):
            told = run(["eval", *map(str, folders[first:first + MEMBERS])], threads)
            ensembles.append({"split": told["split"], "first_seed": FIRST_SEED + first,
                              "test": round(told["test_accuracy"], 4),
                              "single": round(told["test_accuracy_of_single_models_mean"], 4),
                              "validation": round(told["val_accuracy"], 4)})
    machine = json.loads((folders[0] / "result.json").read_text())["machine"]
    record = {"command": "pathgcn " + command, "splits": splits, "members": MEMBERS,
              "recipe": result["recipe"]["name"], "recipe_version": result["recipe"]["version"],
              "isa": machine["isa"], "bits_revision": machine["bits_revision"],
              "fingerprint": result["fingerprint"], "ensembles": ensembles}
    RECORDS.mkdir(parents=True, exist_ok=True)
    (RECORDS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    print(" | ".join(row_of(name, record)))


def row_of(name, record):
    together = [ensemble["test"] for ensemble in record["ensembles"]]
    gain = [ensemble["test"] - ensemble["single"] for ensemble in record["ensembles"]]
    error = statistics.stdev(gain) / len(gain) ** 0.5
    return [TITLES.get(name, name.capitalize()), str(len(together)),
            f"{mean_of([ensemble['single'] for ensemble in record['ensembles']]):.2f}",
            f"{mean_of(together):.2f} ± {statistics.stdev(together):.2f}",
            f"{statistics.mean(gain):+.2f} ± {error:.2f}", record["isa"]]


def table():
    records = {path.stem: json.loads(path.read_text()) for path in sorted(RECORDS.glob("*.json"))}
    head = ["data set", "ensembles", "a single training", "five together", "difference", "processor"]
    rows = [row_of(name, record) for name, record in records.items()]
    return {SOURCE / "docs" / "RESULTS.md": {"ensembles": record_tables.markdown(head, rows)}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True, metavar="add | write | check")
    adding = actions.add_parser("add")
    adding.add_argument("name")
    adding.add_argument("data", nargs="?")
    adding.add_argument("--splits", type=int, default=10)
    adding.add_argument("--runs", type=pathlib.Path)
    adding.add_argument("--threads", type=int, default=0)
    actions.add_parser("write")
    actions.add_parser("check")
    arguments = parser.parse_args()
    if arguments.action != "add":
        return 1 if record_tables.put(table(), arguments.action == "write", "bench/ensembles.py write makes it new") else 0
    with tempfile.TemporaryDirectory() as scratch:
        add(arguments.name, arguments.data or arguments.name, arguments.splits,
            arguments.runs or pathlib.Path(scratch), arguments.threads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
