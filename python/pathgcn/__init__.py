"""Graph networks whose spatial operator is learnt from sampled paths."""

from ._core import info, version as __version__

__all__ = ["__version__", "info"]
