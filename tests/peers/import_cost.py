#!/usr/bin/env python3
"""What `import pathgcn` costs in time and memory, beside a bare Python and one that imports NumPy."""

import statistics
import subprocess
import sys
import time

RUNS = 10
MEMORY = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"


def seconds(statement):
    """The median of some runs of a Python that does nothing else."""
    taken = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def megabytes(statement):
    """The most memory that the statement ever had."""
    code = f"{statement}\n{MEMORY}"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    return int(out) / 1024


def main():
    bare, numpy, ours = (seconds(s) for s in ("pass", "import numpy", "import pathgcn"))
    print(f"import pathgcn: {1000 * (ours - bare):.0f} ms beside {1000 * (numpy - bare):.0f} ms of import numpy")
    numpy, ours = megabytes("import numpy"), megabytes("import numpy, pathgcn")
    print(f"memory: {ours - numpy:.1f} MB more than Python with NumPy ({numpy:.1f} MB)")


if __name__ == "__main__":
    main()
