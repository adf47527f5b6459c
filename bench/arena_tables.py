#!/usr/bin/env python3
"""The arena's tables in README.md and docs/RESULTS.md, made from its records, so that nobody types a figure.

  bench/arena_tables.py write     replaces what stands between `<!-- table: arena ... -->` and `<!-- end -->`
  bench/arena_tables.py check     whether that is what the records say

The records are the cells in records/arena, the figures those of `pathgcn reproduce arena --report`. No data set is
needed. PATHGCN names the program [build/pathgcn].
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

import record_tables

SOURCE = pathlib.Path(__file__).resolve().parent.parent
RECORDS = SOURCE / "records" / "arena"
TITLES = {"film": "Actor", "heterophilous/chameleon_filtered.npz": "chameleon_filtered",
          "heterophilous/minesweeper.npz": "minesweeper"}
WORDS = {"pathgcn better": "wins", "pathgcn worse": "loses", "tied": "tied", "": ""}
PLACES = {"pathgcn better": "below", "pathgcn worse": "above", "tied": "tied", "": ""}
LONGEST_LINE = 120  # bytes, of documents


def fail(reason):
    sys.exit(f"arena_tables.py: {reason}")


def report():
    """Data set -> network -> its line of the report, where one is done; and the sentences that count the verdicts."""
    name = os.environ.get("PATHGCN", str(SOURCE / "build" / "pathgcn"))
    program = shutil.which(name)
    if not program:
        fail(f"there is no program {name}: run make, or let PATHGCN name it")
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(RECORDS, pathlib.Path(scratch) / "arena")  # the report is written beside the cells
        command = [program, "reproduce", "arena", "--report", "--json", "--quiet", "--out", scratch]
        done = subprocess.run(command, stdout=subprocess.PIPE)
        if done.returncode:
            fail(f"the report failed with exit code {done.returncode}")
    told = json.loads(done.stdout)
    cells = {}
    for line in told["lines"]:
        cells.setdefault(line["data set"], {})[line["network"]] = line
    cells = {data: lines for data, lines in cells.items() if any(line["test"] for line in lines.values())}
    if not cells:
        fail(f"there is no finished cell in {RECORDS}")
    counted = re.match(r"pathgcn is better .* worse in \d+\.", told["note"])
    return cells, counted.group() if counted else ""


def title(data, cells):
    """With the measure, where it is another one than accuracy."""
    measures = {line["measure"] for line in cells[data].values()} - {"", "accuracy"}
    return " ".join([TITLES.get(data, data.capitalize()), *sorted(f"({measure})" for measure in measures)])


def verdict(line, words):
    """In these words; a star where p says the same."""
    stands = line["verdict"] not in ("", "tied") and line["by p"] == line["verdict"]
    return words[line["verdict"]] + ("*" if stands else "")


def long_cell(line):
    """'82.70 ± 4.63, -10.00 ± 1.85 loses': its own figure, and what pathgcn has more."""
    if not line["verdict"]:
        return line["test"]
    return f"{line['test']}, {line['pathgcn minus this']} {verdict(line, WORDS)}"


def long_form(cells):
    """Tables of as many data sets as a line has room for."""
    def table(sets):
        return record_tables.markdown(["network"] + [title(data, cells) for data in sets],
                        [[network] + [long_cell(cells[data][network]) for data in sets] for network in cells[sets[0]]])

    left = list(cells)
    while left:
        many = len(left)
        while many > 1 and max(map(len, table(left[:many]).encode().splitlines())) > LONGEST_LINE:
            many -= 1
        yield table(left[:many])
        left = left[many:]


def short_cell(line):
    """'82.70 above': where this network is against pathgcn."""
    return f"{line['test'].split(' ')[0]} {verdict(line, PLACES)}".strip()


def short_form(cells):
    networks = list(next(iter(cells.values())))
    return record_tables.markdown(["data set"] + networks,
                    [[title(data, cells)] + [short_cell(cells[data][network]) for network in networks] for data in cells])


def blocks():
    """Document -> name of the table -> its text."""
    cells, counted = report()
    sentences = textwrap.fill(counted, 120)
    return {SOURCE / "docs" / "RESULTS.md": {"arena": "\n\n".join([*long_form(cells), sentences])},
            SOURCE / "README.md": {"arena, short": short_form(cells) + "\n\n" + sentences}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["write", "check"])
    writes = parser.parse_args().action == "write"
    wrong = record_tables.put(blocks(), writes, "bench/arena_tables.py write makes it new")
    if not wrong and not writes:
        print("the arena's tables are those of records/arena")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
