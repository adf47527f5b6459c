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
from ._settings import settings
from .convert import from_dgl, from_networkx, from_pandas, from_pyg
from .data import Dataset, Split, from_files, load
from .model import Model, load_model
from .paths import sample_paths
from .training import Interrupted, interrupted_model, networks, recipes, train

if TYPE_CHECKING:
    from .sklearn import PathGCNClassifier as PathGCNClassifier

__all__ = [
    "ArgumentError",
    "Dataset",
    "Error",
    "FileError",
    "FormatError",
    "Interrupted",
    "MismatchError",
    "Model",
    "NumericError",
    "OutOfMemoryError",
    "PlatformError",
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


def __getattr__(name: str) -> Any:
    # scikit-learn and torch are optional and slow to import: only who asks for them pays.
    if name == "PathGCNClassifier":
        from .sklearn import PathGCNClassifier as PathGCNClassifier

        return PathGCNClassifier
    if name in ("sklearn", "torch"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
