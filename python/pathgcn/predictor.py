"""Answers for single nodes: of the data, and new ones."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._arrays import INT32_MAX, Int32, Int64, as_floats, as_ids, is_sparse
from .data import Dataset, as_pair

if TYPE_CHECKING:
    from .model import Model

# At a time, as PGCN_NEW_NODES and PGCN_NEW_EDGES of the library; longer questions are asked in several.
_NEW_NODES, _NEW_EDGES = 256, 65536


class Predictor:
    """A model that is ready for many questions about single nodes: `Model.predictor` makes them.

    What depends on model and data alone is prepared once; a question then computes only the rows that it needs. Several
    threads may ask: one after the other is answered. For answers at the same time make a predictor for each thread.

    Examples
    --------
    >>> import pathgcn
    >>> data = pathgcn.load("karate")
    >>> model = pathgcn.train(data, recipe="none", epochs=50, progress=False)
    >>> ready = model.predictor(data)
    >>> bool((ready.predict_proba([33, 0]) == model.predict_proba(data)[[33, 0]]).all())
    True
    """

    def __init__(self, model: Model, data: Dataset, draws: int = 0, seed: int = 0, threads: int = 0) -> None:
        self._model = model
        self._data = model._prepared(data)
        self._features = int(model.info["features"])
        self._classes = int(model.info["classes"])
        self._places: dict[str, int] | None = None
        self._lock = threading.Lock()
        self._core = model._core.predictor(self._data._core, draws, seed, threads)

    # ---- nodes of the data ------------------------------------------------------------------------------

    def predict_proba(self, nodes: Any, *, deviation: bool = False) -> Any:
        """Probabilities of the classes of some nodes, in the order in which they are given.

        They have the bits of `Model.predict_proba`, of which they are rows.

        Parameters
        ----------
        nodes : array of int, list of str, or mask of bool
            Numbers of nodes, their names where they have some, or one bool for every node of the data. One number or
            one name is fine, too.
        deviation : bool
            Return also the standard deviation over the draws.

        Returns
        -------
        array [len(nodes), classes], or a pair of them
        """
        chosen = self._numbers(nodes)
        return self._ask(len(chosen), deviation, lambda answer: self._core.nodes(chosen, *answer))

    def predict(self, nodes: Any) -> npt.NDArray[Any]:
        """The most probable classes of some nodes; of several labels, 0 or 1 for each.

        Examples
        --------
        >>> import pathgcn
        >>> data = pathgcn.load("karate")
        >>> model = pathgcn.train(data, recipe="none", epochs=50, progress=False)
        >>> model.predictor(data).predict([0, 33])
        array([0, 1])
        """
        return self._model._chosen(self.predict_proba(nodes))

    # ---- new nodes --------------------------------------------------------------------------------------

    def predict_new_proba(self, features: Any, edges: Any = None, *, deviation: bool = False) -> Any:
        """Probabilities of the classes of nodes that the data does not have.

        Their edges lead from them to nodes of the data. Those do not know of them: nothing else changes, and new nodes
        do not see one another.

        Parameters
        ----------
        features : array or SciPy matrix [new nodes, features]
            In the order of the model's features, as they would stand in data. One row is one node.
        edges : pair of arrays, array [2, m] or [m, 2], or SciPy matrix [new nodes, nodes], optional
            New nodes, counted from 0, and the nodes of the data that they are joined to; of a matrix, where it is not
            zero. Where features are one row: a list of the nodes that it is joined to, numbers or names. Given twice,
            an edge counts once. None: no edges.
        deviation : bool
            Return also the standard deviation over the draws.

        Returns
        -------
        array [new nodes, classes], or a pair of them

        Raises
        ------
        ArgumentError
            Of models whose walks go by edge weights or know the node before (node2vec), that read features times powers
            of T (sgc) or cannot be computed in parts: add the nodes to the data.

        Examples
        --------
        >>> import numpy as np
        >>> import pathgcn
        >>> data = pathgcn.load("karate")
        >>> model = pathgcn.train(data, recipe="none", epochs=50, progress=False)
        >>> ready = model.predictor(data)
        >>> ready.predict_new(np.zeros((2, 34)), ([0, 0, 1, 1], [0, 1, 32, 33]))
        array([0, 1])
        >>> ready.predict_new(np.zeros(34), [32, 33])
        array([1])
        """
        x, single = self._new_features(features)
        count = x.shape[0]
        offset, neighbour = self._new_edges(edges, count, single)

        def ask(answer: list[Any]) -> None:
            at = 0
            while at < count:
                reach = int(np.searchsorted(offset, offset[at] + _NEW_EDGES, side="right")) - 1
                to = min(at + _NEW_NODES, max(reach, at + 1))
                part = slice(at, to)
                self._core.new_nodes(
                    offset[at : to + 1] - offset[at],
                    neighbour[offset[at] : offset[to]],
                    as_floats(x[part].toarray() if is_sparse(x) else x[part], "features"),
                    *(None if array is None else array[part] for array in answer),
                )
                at = to

        return self._ask(count, deviation, ask)

    def predict_new(self, features: Any, edges: Any = None) -> npt.NDArray[Any]:
        """The most probable classes of nodes that the data does not have; of several labels, 0 or 1 for each.

        Parameters are those of `predict_new_proba`.
        """
        return self._model._chosen(self.predict_new_proba(features, edges))

    # ---- what it takes ----------------------------------------------------------------------------------

    @property
    def memory(self) -> int:
        """Bytes that it takes besides model and data, as of the last question."""
        with self._lock:
            return self._core.memory()

    @property
    def rows(self) -> int:
        """How many nodes the last question has read; 0 where the network cannot be computed in parts."""
        with self._lock:
            return self._core.rows()

    def __repr__(self) -> str:
        return f"Predictor({self._model.network} of {self._data.name!r}: {self._data.nodes} nodes, {self.memory} bytes)"

    # ---- what is given ----------------------------------------------------------------------------------

    def _ask(self, count: int, deviation: bool, ask: Any) -> Any:
        probability = np.empty((count, self._classes), dtype=np.float32)
        spread = np.empty_like(probability) if deviation else None
        with self._lock:
            ask([probability, spread])
        return (probability, spread) if deviation else probability

    def _numbers(self, nodes: Any) -> Int32:
        """Numbers, names or a mask as numbers, which the library checks."""
        array = np.atleast_1d(np.asarray(nodes))
        if array.ndim != 1:
            raise ValueError(f"nodes have shape {array.shape}, expected a list of them")
        if array.dtype == bool:
            if len(array) != self._data.nodes:
                raise ValueError(f"the mask of nodes has {len(array)} entries, expected {self._data.nodes}")
            return np.flatnonzero(array).astype(np.int32)
        if array.dtype.kind in "UO" and len(array) and all(isinstance(name, str) for name in array):
            return np.array([self._place(str(name)) for name in array], dtype=np.int32)
        return as_ids(array, "nodes")

    def _place(self, name: str) -> int:
        if self._places is None:
            self._places = {known: i for i, known in enumerate(self._data.node_names or [])}
        if name not in self._places:
            raise ValueError(f"no node is called {name!r}; give its number")
        return self._places[name]

    def _new_features(self, features: Any) -> tuple[Any, bool]:
        """Rows of features, and whether they were given as one row without brackets around it."""
        x: Any = features.tocsr() if is_sparse(features) else as_floats(features, "features")
        single = len(x.shape) == 1
        if single:
            x = x.reshape(1, -1)
        if len(x.shape) != 2 or x.shape[1] != self._features:
            raise ValueError(f"features of new nodes have shape {x.shape}, expected [new nodes, {self._features}]")
        if not np.isfinite(x.data if is_sparse(x) else x).all():
            raise ValueError("features of new nodes hold NaN or infinity, expected finite numbers")
        return x, single

    def _new_edges(self, edges: Any, count: int, single: bool) -> tuple[Int64, Int32]:
        """Offsets and neighbours of the new nodes, each edge once."""
        if is_sparse(edges):
            if tuple(edges.shape) != (count, self._data.nodes):
                raise ValueError(f"edges have shape {tuple(edges.shape)}, expected [{count}, {self._data.nodes}]")
            source, target = edges.tocsr().nonzero()
        elif edges is None:
            source = target = np.zeros(0, dtype=np.int32)
        elif single and all(np.ndim(end) == 0 for end in edges):
            target = self._numbers(edges)
            source = np.zeros(len(target), dtype=np.int32)
        else:
            source, target = as_pair(edges)
        source, target = as_ids(source, "new nodes of edges"), as_ids(target, "nodes of edges")
        if source.shape != target.shape or source.ndim != 1:
            raise ValueError(f"edges have {source.shape} new nodes and {target.shape} nodes, expected as many of each")
        _check_range(source, "new nodes", count)
        _check_range(target, "nodes", self._data.nodes)
        return _sorted_edges(source, target, count)


def _check_range(ends: Int32, what: str, count: int) -> None:
    if len(ends) and not (ends.min() >= 0 and ends.max() < count):
        raise ValueError(f"edges join {what} {ends.min()} to {ends.max()}, expected 0 to {count - 1}")


def _sorted_edges(source: Int32, target: Int32, count: int) -> tuple[Int64, Int32]:
    keys = np.unique(source.astype(np.int64) << 32 | target)
    offset = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(keys >> 32, minlength=count), out=offset[1:])
    return offset, (keys & INT32_MAX).astype(np.int32)
