"""The package passes mypy --strict."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import pathgcn

PACKAGE = Path(__file__).parents[1] / "pathgcn"


def cache(tmp_path):
    """Kept in the build folder: without one mypy reads all of NumPy's and SciPy's types again, for half a minute."""
    beside = Path(pathgcn.__file__).parents[1]
    return beside / ".mypy_cache" if (beside.parent / "CMakeCache.txt").exists() else tmp_path


def test_the_package_passes_mypy_strict(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed (pip install mypy)")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache(tmp_path)), "pathgcn"],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
