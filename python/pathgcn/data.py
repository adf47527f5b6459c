"""Data sets: a graph, or many, with features, labels and splits."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import (
    INT32_MAX,
    as_floats,
    as_ids,
    as_masks,
    as_offsets,
    class_values,
    is_sparse,
    names_of,
    number_classes,
)
from ._core import Dataset as CoreDataset

_HEADERS = {"auto": 0, "yes": 1, "no": 2}


class Split(NamedTuple):
    """Which items train, validate and test: masks of bool, one entry per item."""

    train: npt.NDArray[np.bool_]
    val: npt.NDArray[np.bool_]
    test: npt.NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"Split(train={self.train.sum()}, val={self.val.sum()}, test={self.test.sum()})"


class Splits(Mapping[str, Split]):
    """The splits of a data set, by their names: ``"public"``, ``"0"``, ``"1"``, ..."""

    def __init__(self, core: CoreDataset) -> None:
        self._core = core
        self._number = {}
        for i in range(int(core.describe()["splits"])):
            found = core.split(i)
            assert found is not None
            self._number[found[0]] = i

    def __getitem__(self, name: str | int) -> Split:
        found = self._core.split(self._number[str(name)])
        assert found is not None
        train, val, test = (np.asarray(mask).view(bool) for mask in found[1:])
        return Split(train, val, test)

    def __iter__(self) -> Iterator[str]:
        return iter(self._number)

    def __len__(self) -> int:
        return len(self._number)

    def __repr__(self) -> str:
        return f"Splits({', '.join(self._number)})"


class Dataset:
    """A graph, or a set of graphs, with features, labels and splits.

    Arrays are checked once, here, and are read-only afterwards. Features that are C-contiguous float32 (dense,
    or the values of a SciPy CSR matrix) are read where they are and must not be changed while the data set
    lives. Everything else is copied.

    Parameters
    ----------
    adjacency : SciPy sparse matrix or array [n, n], or dense array [n, n], optional
        Entry (i, j) is an edge. Values other than 0 and 1 are weights, all positive. Index arrays may be of any
        integer type, each of its own.
    features : array [n, f] or SciPy sparse matrix, optional
        Real numbers of any type; a pandas data frame of numbers gives its columns' names. Without features the
        library makes some: the degree of a node, or what the graphs have.
    labels : array, optional
        [n]: a class of each node, of any type: numbers, strings. -1, NaN and None are unlabelled.
        [n, classes] of 0 and 1: several labels of each node; a row with -1 or NaN is unlabelled.
        [graphs]: a class of each graph, where `graphs` is given.
        None: for predictions with a model that is trained already.
    edges : array [2, m] or [m, 2], or a pair of arrays, optional
        Instead of `adjacency`: sources and targets of the edges, of any integer type. [2, 2] is two edges in
        the form [2, m].
    weights : array [m], optional
        Weights of `edges`, all positive.
    nodes : int, optional
        How many nodes there are. Default: as many as features, labels or ids say.
    train, val, test : mask or numbers of items, optional
        A mask of bool for every item, or the numbers of the items in the part; [splits, items] or a list for
        several splits. Items are nodes, or graphs where these have the classes. None of them: ten splits are
        made, 60 % of every class for training, 20 % for validation. `train` without `val`: nothing validates,
        and a training keeps the weights of its last epoch.
    graphs : array [n], optional
        The number of the graph that each node belongs to, ascending: a set of graphs.
    node_names, class_names, feature_names : sequence of str, optional
    directed : bool
        Keeps the direction of the edges. Otherwise every edge is walked both ways.
    self_loops : bool
        Keeps edges from a node to itself.
    steps : str, optional
        Steps to take with the data, such as ``"largest-component,stratified=60/20/20"``; the manual lists them.
    name : str
        What models and tables call the data.

    Examples
    --------
    >>> import numpy as np, pathgcn
    >>> data = pathgcn.Dataset(edges=[[0, 1, 2, 3], [1, 2, 3, 0]], features=np.eye(4), labels=["a", "b", "a", None],
    ...                        train=[0, 1], val=[2])
    >>> data
    Dataset('arrays': 4 nodes, 4 edges, 4 features, 2 classes, 1 split)
    """

    _core: CoreDataset
    # Reads the data again with steps; None: it was made of arrays.
    _read: Callable[[str | None], CoreDataset] | None = None
    _steps: str | None = None
    # What only this side knows.
    _own_notes: tuple[str, ...] = ()

    def __init__(
        self,
        adjacency: Any = None,
        features: Any = None,
        labels: Any = None,
        *,
        edges: Any = None,
        weights: Any = None,
        nodes: int | None = None,
        train: Any = None,
        val: Any = None,
        test: Any = None,
        graphs: Any = None,
        node_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
        directed: bool = False,
        self_loops: bool = False,
        steps: str | None = None,
        name: str = "arrays",
    ) -> None:
        given: dict[str, Any] = {"name": name, "steps": steps}
        if (adjacency is None) == (edges is None):
            raise TypeError("give the graph once: adjacency, or edges")
        if adjacency is not None and weights is not None:
            raise TypeError("weights belong to edges; an adjacency has its own values")
        n = _count_nodes(adjacency, edges, features, nodes, node_names, graphs)
        if adjacency is not None:
            given["graph"] = _graph_of_matrix(adjacency, n, directed, self_loops)
        else:
            given["graph"] = _graph_of_edges(edges, weights, n, directed, self_loops)
            self._own_notes = _note_merged(edges, weights is not None)
        _put_features(given, features, n, feature_names)
        if graphs is not None:
            given["graph_of"] = as_ids(graphs, "graphs")
            given["n_graphs"] = int(given["graph_of"].max()) + 1 if n else 0
        _put_labels(given, labels, n, class_names)
        items = given["n_graphs"] if "graph_label" in given else n
        _put_masks(given, items, train, val, test)
        given["node_id"] = names_of(node_names, n, "node names")
        self._core = _core.from_arrays(given)

    @classmethod
    def _of(cls, core: CoreDataset) -> Dataset:
        self = cls.__new__(cls)
        self._core = core
        return self

    @classmethod
    def _reading(cls, read: Callable[[str | None], CoreDataset], steps: str | None) -> Dataset:
        self = cls._of(read(steps))
        self._read, self._steps = read, steps
        return self

    # ---- what is in it ----------------------------------------------------------------------------

    @property
    def info(self) -> dict[str, Any]:
        """Counts, names and the fingerprint, as ``pathgcn data info`` shows them."""
        return self._core.describe()

    @property
    def name(self) -> str:
        """What models and tables call the data."""
        return str(self.info["name"])

    @property
    def task(self) -> str:
        """What can be learnt: ``"node"``, ``"multilabel"``, ``"graph"`` or ``"none"``."""
        return str(self.info["task"])

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return int(self.info["nodes"])

    @property
    def items(self) -> int:
        """How many nodes, or graphs where these have the classes, there are."""
        return int(self.info["items"])

    @property
    def fingerprint(self) -> str:
        """SHA-256 of graph, features and labels."""
        return str(self.info["fingerprint"])

    @property
    def labels(self) -> npt.NDArray[Any] | None:
        """Numbers of the classes, -1 for none; [nodes, classes] of 0 and 1 for several labels. A view."""
        found = self._core.labels()
        return None if found is None else np.asarray(found)

    @property
    def labelled(self) -> npt.NDArray[np.bool_]:
        """Which items have a label."""
        mask = np.zeros(self.items, dtype=np.uint8)
        self._core.labelled(mask)
        return mask.view(bool)

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The classes, in the order of their numbers."""
        return class_values(self._core.class_names(), int(self.info["classes"]))

    @property
    def node_names(self) -> list[str] | None:
        """Names of the nodes; None where they are just numbers."""
        return self._core.node_ids()

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the feature columns; None where they are just numbers."""
        return self._core.feature_names()

    @property
    def features(self) -> Any:
        """The features: a NumPy array, or a SciPy CSR matrix where they are sparse. Views, read-only."""
        found = self._core.features()
        if found is None:
            raise ValueError(
                f"the features of data set {self.name} stay on disk; load it without memory=... to have them as an array"
            )
        if not isinstance(found, tuple):
            return np.asarray(found)
        offset, column, value = (np.asarray(part) for part in found)
        return _scipy("features").csr_matrix((value, column, offset), shape=(self.nodes, int(self.info["features"])))

    @property
    def row_reads(self) -> dict[str, int] | None:
        """Of features that stay on disk (`load` with `memory`): rows that trainings and predictions on this data set have
        found in their caches (``"hits"``), those that they have read (``"misses"``), and the bytes of it. None: the
        features are in memory."""
        return self._core.row_reads()

    @property
    def adjacency(self) -> Any:
        """The graph as it is walked, a SciPy CSR matrix of weights, or of ones."""
        offset, neighbour, weight = self._core.graph()
        column = np.asarray(neighbour)
        value = np.ones(len(column), dtype=np.float32) if weight is None else np.asarray(weight)
        return _scipy("adjacency").csr_matrix((value, column, np.asarray(offset)), shape=(self.nodes, self.nodes))

    @property
    def graphs(self) -> npt.NDArray[np.int32] | None:
        """The number of the graph of each node; None if there is one graph."""
        found = self._core.graph_of()
        return None if found is None else np.asarray(found)

    @property
    def splits(self) -> Splits:
        """The splits by their names, each with masks ``train``, ``val`` and ``test``."""
        return Splits(self._core)

    @property
    def notes(self) -> list[str]:
        """Facts about the data that a user should know, one sentence each."""
        return [*self._core.notes(), *self._own_notes]

    # ---- what can be done with it -------------------------------------------------------------------

    def prepare(self, steps: str) -> Dataset:
        """The same data after more steps.

        Parameters
        ----------
        steps : str
            As ``pathgcn data convert --prepare`` takes them: ``"largest-component"``,
            ``"stratified=60/20/20,splits=5"``, ``"features=own+degrees"``.

        Examples
        --------
        >>> import pathgcn
        >>> pathgcn.load("karate").prepare("random=50/25/25,splits=3").splits
        Splits(0, 1, 2)
        """
        if self._read is None:
            return Dataset._of(self._core.prepare(steps))
        return Dataset._reading(self._read, f"{self._steps},{steps}" if self._steps else steps)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the data as one file: ``.npz`` for Python, anything else a container that loads by mmap."""
        path = os.fspath(path)
        self._core.save(path, path.endswith(".npz"))

    def __reduce__(self) -> tuple[Any, ...]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "data.pgcn")
            self._core.save(path, False)
            with open(path, "rb") as file:
                return _unpickle, (file.read(), self._own_notes)

    def __copy__(self) -> Dataset:
        return self  # nothing in it ever changes

    def __deepcopy__(self, memo: dict[int, Any]) -> Dataset:
        return self

    def __repr__(self) -> str:
        d = self.info
        counts = [f"{d['graphs']} graphs"] if d["graphs"] > 1 else []
        counts += [f"{d['nodes']} nodes", f"{d['edges']} edges", f"{d['features']} features"]
        if d["classes"]:
            counts.append(f"{d['classes']} {'labels' if d['task'] == 'multilabel' else 'classes'}")
        if d["splits"]:
            counts.append(f"{d['splits']} split{'s' if d['splits'] > 1 else ''}")
        return f"Dataset({d['name']!r}: {', '.join(counts)})"

    def _repr_html_(self) -> str:
        from ._card import dataset_card

        return dataset_card(self)


# ---- arrays to the library --------------------------------------------------------------------------


def _scipy(what: str) -> Any:
    try:
        return importlib.import_module("scipy.sparse")  # which has no types of its own
    except ImportError:
        raise ImportError(f"{what} is a SciPy matrix, and SciPy is not installed: pip install scipy") from None


def as_pair(edges: Any) -> tuple[Any, Any]:
    """The two ends of edges in any of the forms that users give."""
    if isinstance(edges, (tuple, list)) and len(edges) == 2:
        return np.asarray(edges[0]), np.asarray(edges[1])
    array = np.asarray(edges)
    if array.ndim == 2 and array.shape[0] == 2:
        return array[0], array[1]
    if array.ndim == 2 and array.shape[1] == 2:
        return array[:, 0], array[:, 1]
    if array.size == 0:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
    raise ValueError(f"edges have shape {array.shape}, expected [2, m] or [m, 2]")


def _count_nodes(adjacency: Any, edges: Any, features: Any, nodes: int | None, names: Any, graphs: Any) -> int:
    counts: dict[str, int] = {}
    if nodes is not None:
        counts["nodes"] = int(nodes)
    if adjacency is not None:
        shape = np.shape(adjacency)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"the adjacency has shape {shape}, expected [n, n]; a list of edges is given by edges=")
        counts["the adjacency"] = shape[0]
    if features is not None:
        shape = np.shape(features)
        if len(shape) not in (1, 2):
            raise ValueError(f"features have shape {shape}, expected [nodes, features]")
        counts["features"] = shape[0]
    if names is not None:
        counts["node names"] = len(names)
    if graphs is not None:
        counts["graphs"] = len(graphs)
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{who} {count}" for who, count in counts.items())
        raise ValueError(f"these disagree about the number of nodes: {said}")
    if counts:
        n = next(iter(counts.values()))
    else:
        source, target = as_pair(edges)
        n = int(max(source.max(initial=-1), target.max(initial=-1))) + 1
    if not 1 <= n <= INT32_MAX:
        raise ValueError(f"there are {n} nodes, expected 1 to {INT32_MAX}")
    return n


def _graph_of_edges(edges: Any, weights: Any, n: int, directed: bool, self_loops: bool) -> object:
    source, target = as_pair(edges)
    if source.shape != target.shape or source.ndim != 1:
        raise ValueError(f"edges have {source.shape} sources and {target.shape} targets, expected as many of each")
    weight = None if weights is None else as_floats(weights, "weights")
    return _core.graph_from_edges(
        n, as_ids(source, "sources of edges"), as_ids(target, "targets of edges"), weight, directed, self_loops
    )


def _note_merged(edges: Any, weighted: bool) -> tuple[str, ...]:
    # The same edge twice; its two directions are no repetition, since many graphs are stored so.
    source, target = (np.asarray(ids, dtype=np.int64).ravel() for ids in as_pair(edges))
    distinct = len(np.unique(source << 32 | target))
    repeated = len(source) - distinct
    if repeated == 0:
        return ()
    what = "and their weights are added" if weighted else "and count once"
    return (f"{repeated} of {len(source)} edges are there already, from the same node to the same, {what}",)


def _graph_of_matrix(adjacency: Any, n: int, directed: bool, self_loops: bool) -> object:
    if not is_sparse(adjacency):
        dense = np.asarray(adjacency)
        row, column = np.nonzero(dense)
        value = dense[row, column]
        weight = None if np.all(value == 1) else as_floats(value, "values of the adjacency")
        if weight is not None and not directed and np.array_equal(dense, dense.T):
            upper = row <= column  # both halves say the same, and weights of equal edges are added
            row, column, weight = row[upper], column[upper], weight[upper]
        return _graph_of_edges((row, column), weight, n, directed, self_loops)
    matrix = _as_csr(adjacency, "adjacency")
    value = matrix.data
    if value.dtype != bool and (value == 0).any():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
        value = matrix.data
    weight = None if value.dtype == bool or (value == 1).all() else value
    if weight is not None and not directed and (matrix != matrix.T).nnz == 0:
        matrix = _scipy("adjacency").triu(matrix, format="csr")
        weight = matrix.data
    return _core.graph(
        n,
        as_offsets(matrix.indptr, "indptr of the adjacency"),
        as_ids(matrix.indices, "indices of the adjacency"),
        None if weight is None else as_floats(weight, "weights of the adjacency"),
        directed,
        self_loops,
    )


def _as_csr(given: Any, what: str) -> Any:
    """The CSR form, checked and with index types that SciPy's own functions work on; values are not copied."""
    matrix = given.tocsr()
    rows, columns = matrix.shape
    offset = as_offsets(matrix.indptr, f"indptr of the {what}")
    if offset.shape != (rows + 1,) or offset[0] != 0 or (np.diff(offset) < 0).any():
        raise ValueError(f"the {what} has an indptr that is no ascending list of {rows + 1} offsets from 0")
    count = int(offset[-1])
    if min(len(matrix.indices), len(matrix.data)) < count:
        raise ValueError(
            f"the {what} has {len(matrix.indices)} indices and {len(matrix.data)} values, and its indptr ends at {count}"
        )
    index = as_ids(matrix.indices[:count], f"indices of the {what}")
    if count and not (0 <= index.min() and index.max() < columns):
        raise ValueError(f"the {what} has indices from {index.min()} to {index.max()}, expected 0 to {columns - 1}")
    good = matrix.indices.dtype == matrix.indptr.dtype and matrix.indices.dtype in (np.int32, np.int64)
    if good and len(matrix.indices) == len(matrix.data) == count:
        return matrix
    return _scipy(what).csr_matrix((matrix.data[:count], index, offset), shape=matrix.shape)


def _put_features(given: dict[str, Any], features: Any, n: int, names: Sequence[str] | None) -> None:
    if features is None:
        if names is not None:
            raise TypeError("feature_names are given, but no features")
        return
    if names is None and hasattr(features, "columns") and hasattr(features, "to_numpy"):
        names = [str(column) for column in features.columns]  # a data frame of pandas
    if is_sparse(features):
        matrix = _as_csr(features, "features")
        if not matrix.has_sorted_indices or not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        given["n_features"] = int(matrix.shape[1])
        given["x_offset"] = as_offsets(matrix.indptr, "indptr of the features")
        given["x_column"] = as_ids(matrix.indices, "indices of the features")
        given["x_value"] = as_floats(matrix.data, "features")
    else:
        dense = as_floats(features, "features")
        dense = dense.reshape(n, -1) if dense.ndim == 1 else dense
        given["n_features"] = int(dense.shape[1])
        given["features"] = dense
    given["feature_name"] = names_of(names, given["n_features"], "feature names")


def _put_labels(given: dict[str, Any], labels: Any, n: int, names: Sequence[str] | None) -> None:
    if labels is None:
        if names is not None:
            raise TypeError("class_names are given, but no labels")
        return
    if is_sparse(labels):
        labels = labels.toarray()
    if np.ndim(labels) == 2:
        _put_several_labels(given, np.asarray(labels), n, names)
        return
    numbers, classes = number_classes(labels)
    graphs = given.get("n_graphs", 0)
    kind = "graph_label" if graphs and len(numbers) == graphs else "label"
    expected = graphs if kind == "graph_label" else n
    if len(numbers) != expected:
        also = f", or {graphs}, one per graph" if graphs else ""
        raise ValueError(f"there are {len(numbers)} labels, expected {n}, one per node{also}")
    if not len(classes):
        raise ValueError("no label is known; leave labels out to predict")
    given[kind] = numbers
    given["n_classes"] = len(classes)
    counted = classes.dtype.kind in "iu" and np.array_equal(classes, np.arange(len(classes)))
    if names is None and not counted:
        names = [str(value) for value in classes]
    given["class_name"] = names_of(names, len(classes), "class names")


def _put_several_labels(given: dict[str, Any], labels: npt.NDArray[Any], n: int, names: Sequence[str] | None) -> None:
    if labels.shape[0] != n or labels.shape[1] < 1:
        raise ValueError(f"labels have shape {labels.shape}, expected [{n}, labels]")
    missing = (np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(labels.shape, dtype=bool)) | (labels == -1)
    known = ~missing.any(axis=1)
    values = np.where(missing, 0, labels)
    if not np.isin(values, (0, 1)).all():
        where = tuple(int(i) for i in np.argwhere(~np.isin(values, (0, 1)))[0])
        raise ValueError(f"label {where[1]} of node {where[0]} is {labels[where]}, expected 0 or 1")
    given["labels"] = np.ascontiguousarray(np.where(known[:, None], values, 0), dtype=np.uint8)
    given["labels_known"] = np.ascontiguousarray(known, dtype=np.uint8)
    given["n_classes"] = int(labels.shape[1])
    given["class_name"] = names_of(names, given["n_classes"], "class names")


def _put_masks(given: dict[str, Any], items: int, train: Any, val: Any, test: Any) -> None:
    if train is None:
        if val is not None or test is not None:
            raise TypeError("val or test are given, but train is not")
        return
    masks = {"train": as_masks(train, items, "train")}
    if val is not None:
        masks["val"] = as_masks(val, items, "val")
    if test is not None:
        masks["test"] = as_masks(test, items, "test")
    counts = {len(mask) for mask in masks.values()}
    if len(counts) > 1:
        said = ", ".join(f"{part} {len(mask)}" for part, mask in masks.items())
        raise ValueError(f"the masks are of different numbers of splits: {said}")
    given.update(masks)
    given["n_splits"] = counts.pop()


def _unpickle(container: bytes, notes: tuple[str, ...]) -> Dataset:
    # Mapped memory stays when the file is gone.
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.pgcn")
        with open(path, "wb") as file:
            file.write(container)
        data = Dataset._of(_core.load(path, None, False, False, None, 0, 0))
    data._own_notes = notes
    return data


# ---- by name, from files ----------------------------------------------------------------------------


_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _bytes_of(memory: str | int) -> int:
    """The bytes of ``"2G"``, as the program reads it."""
    text = str(memory).strip()
    number, unit = (text[:-1], _UNITS[text[-1].upper()]) if text[-1:].upper() in _UNITS else (text, 1)
    if not number.isdecimal() or int(number) * unit < 16 << 20:
        raise ValueError(f"memory is {memory!r}, expected a size of at least 16 MiB such as '512M' or '4G', or bytes")
    return int(number) * unit


def load(
    name: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    steps: str | None = None,
    directed: bool = False,
    self_loops: bool = False,
    header: str = "auto",
    memory: str | int | None = None,
) -> Dataset:
    """Loads a data set, as the program does.

    Parameters
    ----------
    name : str or path
        A built-in graph (``"karate"``, ``"sbm:homophily=0.1"``, ``"grid"``, ``"powerlaw"``), a file or folder in
        any format that ``pathgcn data list --formats`` lists, or the name of a published set (``"cora"``) in
        `data`. Steps may follow a colon.
    data : path, optional
        The folder of the published sets. Default: the environment variable ``PATHGCN_DATA``.
    steps : str, optional
        Steps to take with the data, see `Dataset.prepare`.
    directed, self_loops : bool
        Keep the direction of the edges where the set has one; keep edges from a node to itself.
    header : {"auto", "yes", "no"}
        Whether the first line of an edge list is a header.
    memory : str or int, optional
        ``"2G"`` (GiB), ``"512M"`` (MiB) or bytes: the dense features of a container (``.pgcn``) stay on disk, and what
        is computed on it keeps this process within so much memory. Trainings have batches of nodes (``batch=1024``);
        the bits are those of the same data in memory.

    Examples
    --------
    >>> import pathgcn
    >>> pathgcn.load("karate")
    Dataset('karate': 34 nodes, 78 edges, 34 features, 2 classes, 10 splits)
    """
    if header not in _HEADERS:
        raise ValueError(f"header is {header!r}, expected 'auto', 'yes' or 'no'")
    path = os.fspath(name)
    folder = None if data is None else os.fspath(data)
    bound = 0 if memory is None else _bytes_of(memory)
    return Dataset._reading(
        lambda steps: _core.load(path, folder, directed, self_loops, steps, _HEADERS[header], bound), steps
    )


def from_files(
    edges: str | os.PathLike[str],
    features: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
    splits: str | os.PathLike[str] | None = None,
    *,
    name: str | None = None,
    steps: str | None = None,
    header: str = "auto",
    keep_unknown_ids: bool = False,
) -> Dataset:
    """Your own graph from text files with ids of any kind, plain or gzip.

    Parameters
    ----------
    edges : path
        Lines of from, to and perhaps a weight.
    features : path, optional
        Lines of an id and numbers; or ``.npy``.
    labels : path, optional
        Lines of an id and a class; or an id and a 0/1 column per label.
    splits : path, optional
        Lines of an id and ``train``, ``val`` or ``test``. Default: splits are made.
    name : str, optional
        Default: the name of the edge file.
    steps, header
        As in `load`.
    keep_unknown_ids : bool
        Ids that only one of the files has are nodes even if they are many; otherwise that is an error, because
        the ids are then likely written in two ways.
    """
    if header not in _HEADERS:
        raise ValueError(f"header is {header!r}, expected 'auto', 'yes' or 'no'")
    where = os.fspath(edges)
    x, y, masks = (None if path is None else os.fspath(path) for path in (features, labels, splits))
    return Dataset._reading(
        lambda steps: _core.from_files(name, where, x, y, masks, steps, _HEADERS[header], keep_unknown_ids), steps
    )
