"""Every example runs: those of the docstrings, and every block of docs/PYTHON.md, in order."""

import doctest
import importlib
import importlib.util
import pkgutil
import re
import traceback
from pathlib import Path

import pytest

import pathgcn

GUIDE = Path(__file__).parents[2] / "docs" / "PYTHON.md"
MODULES = [name for _, name, _ in pkgutil.iter_modules(pathgcn.__path__) if name != "_core"]
# What a module or an example may use, and what a package installs as.
OPTIONAL = {
    "dgl": "dgl",
    "matplotlib": "matplotlib",
    "networkx": "networkx",
    "pandas": "pandas",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "torch": "torch",
    "torch_geometric": "torch_geometric",
}


def missing(text):
    """The first module that this text imports and that is not here, or None."""
    names = re.findall(r"^\s*(?:>>> )?(?:import|from) (.+)$", text, re.MULTILINE)
    words = {word.split(".")[0] for line in names for word in re.findall(r"[\w.]+", line)}
    if "PathGCNClassifier" in text:
        words.add("sklearn")
    if "pathgcn.torch" in text:
        words.add("torch")
    return next((name for name in sorted(words & OPTIONAL.keys()) if importlib.util.find_spec(name) is None), None)


def module_of(name):
    try:
        return importlib.import_module(f"pathgcn.{name}")
    except ImportError as error:
        if name not in ("sklearn", "torch"):
            raise
        pytest.skip(f"pathgcn.{name} cannot be imported: {error}")


@pytest.mark.parametrize("name", ["", *MODULES])
def test_examples_of_docstrings(name):
    module = module_of(name) if name else pathgcn
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    skipped, ran = set(), 0
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, module.__name__):
        absent = missing("\n".join(example.source for example in test.examples))
        if absent:
            skipped.add(absent)
            continue
        said = []
        assert runner.run(test, out=said.append).failed == 0, "".join(said)
        ran += len(test.examples)
    if skipped and not ran:
        pytest.skip(f"not installed: {', '.join(sorted(skipped))}")


def blocks():
    """(heading, first line, code) of every ```python block."""
    found, heading, code, begin = [], "", None, 0
    for number, line in enumerate(GUIDE.read_text(encoding="utf-8").splitlines(), 1):
        if code is None and line.startswith("#"):
            heading = line.lstrip("# ")
        if code is None and line.strip() == "```python":
            code, begin = [], number + 1
        elif code is not None and line.strip() == "```":
            found.append((heading, begin, "\n".join(code)))
            code = None
        elif code is not None:
            code.append(line)
    return found


def test_every_block_of_the_guide_runs(tmp_path, monkeypatch, capsys):
    """In one namespace per section, so that a section may be read alone; `#>` lines say what is printed."""
    if not GUIDE.exists():
        pytest.skip("docs/PYTHON.md is not here")
    monkeypatch.chdir(tmp_path)
    skipped, names, section = [], {}, None
    found = blocks()
    for heading, line, code in found:
        if heading != section:
            names, section = {"__name__": "guide"}, heading
        absent = missing(code) or names.get("missing")
        if absent:
            names["missing"] = absent  # later blocks of the section build on this one
            skipped.append(f"line {line}: {OPTIONAL[absent]} is not installed")
            continue
        capsys.readouterr()
        try:
            exec(compile("\n" * (line - 1) + code, str(GUIDE), "exec"), names)
        except Exception:
            pytest.fail(f"docs/PYTHON.md, line {line}, section {heading}:\n{traceback.format_exc()}")
        said = capsys.readouterr().out.rstrip("\n")
        expected = "\n".join(re.findall(r"^#> ?(.*)$", code, re.MULTILINE))
        assert not expected or said == expected, f"docs/PYTHON.md, line {line}, printed:\n{said}"
    assert len(found) > 10
    if skipped:
        print("skipped:", "; ".join(skipped))
    if len(skipped) == len(found):
        pytest.skip("; ".join(skipped))
