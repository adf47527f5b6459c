"""The package as it is built: one module, one exported name, one version."""

import importlib.machinery
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import pathgcn
from pathgcn import _core

HEADER = Path(__file__).parents[2] / "include" / "pathgcn" / "pathgcn.h"


def test_version_is_that_of_the_library():
    assert pathgcn.__version__ == pathgcn.info()["version"]


def test_version_is_that_of_the_header():
    if not HEADER.exists():
        pytest.skip("the header is not here")
    assert f'#define PGCN_VERSION "{pathgcn.__version__}"' in HEADER.read_text()


def test_the_module_is_for_all_later_versions_of_python():
    assert _core.__file__.endswith(".abi3.so")
    assert ".abi3.so" in importlib.machinery.EXTENSION_SUFFIXES


def test_the_module_exports_its_init_function_only():
    if not shutil.which("nm"):
        pytest.skip("nm is not installed (Debian: apt-get install binutils)")
    names = subprocess.run(
        ["nm", "-D", "--defined-only", _core.__file__], check=True, capture_output=True, text=True
    ).stdout
    exported = [line.split()[-1] for line in names.splitlines()]
    # The sanitizers mark what they look after.
    assert [name for name in exported if not re.match("__(asan|odr_asan|tsan|ubsan)", name)] == ["PyInit__core"]


def test_types_are_marked():
    assert (Path(pathgcn.__file__).parent / "py.typed").exists()
