"""Random walks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import as_ids
from .data import Dataset, _graph_of_edges, _graph_of_matrix

_WALKS = {"uniform": 0, "weighted": 1, "node2vec": 2}


def sample_paths(
    graph: Any,
    length: int = 5,
    paths: int = 5,
    *,
    walk: str = "uniform",
    return_p: float = 1.0,
    inout_q: float = 1.0,
    may_stay: bool = False,
    seed: int = 0,
    draw: int = 0,
    starts: Any = None,
    directed: bool = False,
    threads: int = 0,
) -> npt.NDArray[np.int32]:
    """Samples random walks from every node, or from some.

    A walk is a pure function of seed, draw and start: it is the same on any number of threads and in any list
    of starts. A walk that cannot go on stays where it is, so that there is never a -1.

    Parameters
    ----------
    graph : Dataset, SciPy sparse matrix [n, n], dense array [n, n], or a pair of arrays (sources, targets)
    length : int
        k: nodes of a path, its start included.
    paths : int
        p: paths from each start.
    walk : {"uniform", "weighted", "node2vec"}
        The next node: any neighbour, by the weights of the edges, or by node2vec's rule of second order.
    return_p, inout_q : float
        node2vec's p and q.
    may_stay : bool
        Staying is one more choice of every step; not with node2vec.
    seed, draw : int
        Another draw is another independent sample.
    starts : array of int, optional
        Default: all nodes in order.
    directed : bool
        Walks follow the direction of the edges. Of a `Dataset` its own direction holds.
    threads : int
        0: one per core.

    Returns
    -------
    array [starts, paths, length] of int32

    Examples
    --------
    >>> import pathgcn
    >>> pathgcn.sample_paths(pathgcn.load("karate"), length=3, paths=2).shape
    (34, 2, 3)
    """
    if walk not in _WALKS:
        raise ValueError(f"walk is {walk!r}, expected one of {', '.join(_WALKS)}")
    capsule, n = _graph(graph, directed)
    start = None if starts is None else as_ids(starts, "starts")
    count = n if start is None else len(start)
    if length < 1 or paths < 1:
        raise ValueError(f"length is {length} and paths is {paths}, expected at least 1 of each")
    out = np.empty((count, paths, length), dtype=np.int32)
    _core.sample_paths(
        capsule, _WALKS[walk], length, paths, return_p, inout_q, may_stay, seed, draw, threads, start, out
    )
    return out


def _graph(graph: Any, directed: bool) -> tuple[object, int]:
    if isinstance(graph, Dataset):
        offset, neighbour, weight = (None if part is None else np.asarray(part) for part in graph._core.graph())
        # The entries of both directions are there already: they are taken as they are.
        return _core.graph(graph.nodes, offset, neighbour, weight, True, True), graph.nodes
    if isinstance(graph, tuple) and len(graph) == 2:
        source, target = (as_ids(part, "edges") for part in graph)
        n = int(max(source.max(initial=-1), target.max(initial=-1))) + 1
        return _graph_of_edges((source, target), None, n, directed, True), n
    shape = np.shape(graph)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"the graph has shape {shape}, expected [n, n], a Dataset, or a pair (sources, targets)")
    return _graph_of_matrix(graph, shape[0], directed, True), shape[0]
