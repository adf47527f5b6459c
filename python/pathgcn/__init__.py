"""Graph networks whose spatial operator is learnt from sampled paths.

>>> import pathgcn
>>> data = pathgcn.load("karate")
>>> model = pathgcn.train(data, progress=False)
>>> model.predict(data)[:4]
array([0, 0, 0, 0])

Your own graph: `Dataset` from arrays, `from_files`, `from_networkx`, `from_pandas`, `from_pyg`, `from_dgl`. For
scikit-learn: `PathGCNClassifier`. For PyTorch: `pathgcn.torch.PathConv`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._core import (
    ArgumentError,
    Error,
    FileError,
    FormatError,
    MismatchError,
    NumericError,
    OutOfMemoryError,
    PlatformError,
    StoppedError,
    info,
)
from ._core import version as __version__

if TYPE_CHECKING:
    from ._settings import settings
    from .convert import from_dgl, from_networkx, from_pandas, from_pyg
    from .data import Dataset, Split, from_files, load
    from .ensemble import Ensemble
    from .explanation import Explanation
    from .model import Model, load_model
    from .paths import sample_paths
    from .predictor import Predictor
    from .sklearn import PathGCNClassifier as PathGCNClassifier
    from .training import Interrupted, interrupted_model, networks, recipes, train

__all__ = [
    "ArgumentError",
    "Dataset",
    "Ensemble",
    "Error",
    "Explanation",
    "FileError",
    "FormatError",
    "Interrupted",
    "MismatchError",
    "Model",
    "NumericError",
    "OutOfMemoryError",
    "PlatformError",
    "Predictor",
    "Split",
    "StoppedError",
    "__version__",
    "from_dgl",
    "from_files",
    "from_networkx",
    "from_pandas",
    "from_pyg",
    "info",
    "interrupted_model",
    "load",
    "load_model",
    "networks",
    "recipes",
    "sample_paths",
    "settings",
    "train",
]


# What is read from where when it is asked for. NumPy takes ten times as long to import as all of this package, and
# scikit-learn and torch are optional: only who uses them pays.
_HOMES = {
    "Dataset": "data",
    "Ensemble": "ensemble",
    "Explanation": "explanation",
    "Interrupted": "training",
    "Model": "model",
    "PathGCNClassifier": "sklearn",
    "Predictor": "predictor",
    "Split": "data",
    "from_dgl": "convert",
    "from_files": "data",
    "from_networkx": "convert",
    "from_pandas": "convert",
    "from_pyg": "convert",
    "interrupted_model": "training",
    "load": "data",
    "load_model": "model",
    "networks": "training",
    "recipes": "training",
    "sample_paths": "paths",
    "settings": "_settings",
    "train": "training",
}


def __getattr__(name: str) -> Any:
    if name in ("sklearn", "torch"):
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
