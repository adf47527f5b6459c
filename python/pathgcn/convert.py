"""Data sets from networkx, pandas, PyTorch Geometric and DGL. None of them is needed for anything else."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from .data import Dataset


def from_networkx(
    graph: Any,
    *,
    label: str | None = None,
    features: Sequence[str] | Any | None = None,
    weight: str | None = "weight",
    **options: Any,
) -> Dataset:
    """A data set of a networkx graph.

    Parameters
    ----------
    graph : networkx.Graph or DiGraph
        Nodes may be of any kind; their text is their name. The order is that of ``graph.nodes``.
    label : str, optional
        The node attribute that holds the class; nodes without it are unlabelled.
    features : list of str or array [n, f], optional
        Node attributes that are numbers, or lists of them; or an array in the order of the nodes. Default: the
        library makes features of the graph.
    weight : str or None
        The edge attribute with the weights; edges without it weigh 1. None, or an attribute that no edge has: all
        weigh 1.
    **options
        Of `Dataset`: ``train``, ``val``, ``test``, ``steps``, ``name``, ``directed`` (default: as the graph is), ...

    Examples
    --------
    >>> import pathgcn, networkx
    >>> data = pathgcn.from_networkx(networkx.karate_club_graph(), label="club")
    >>> data.classes.tolist()
    ['Mr. Hi', 'Officer']
    """
    nodes = list(graph.nodes)
    row = {node: i for i, node in enumerate(nodes)}
    source, target = np.empty(graph.number_of_edges(), np.int32), np.empty(graph.number_of_edges(), np.int32)
    weights = np.ones(len(source), np.float32)
    weighted = False
    for e, (u, v, about) in enumerate(graph.edges(data=True)):
        source[e], target[e] = row[u], row[v]
        if weight is not None and about.get(weight) is not None:
            weights[e] = about[weight]
            weighted = True
    options.setdefault("directed", graph.is_directed())
    options.setdefault("node_names", [str(node) for node in nodes])
    options.setdefault("name", graph.name or "networkx")
    if isinstance(features, (list, tuple)) and features and isinstance(features[0], str):
        features, names = _node_attributes(graph, nodes, features)
        options.setdefault("feature_names", names)
    if label is not None:
        options["labels"] = np.array([graph.nodes[node].get(label) for node in nodes], dtype=object)
    return Dataset(
        edges=(source, target),
        weights=weights if weighted else None,
        nodes=len(nodes),
        features=features,
        **options,
    )


def _node_attributes(graph: Any, nodes: list[Hashable], keys: Sequence[str]) -> tuple[np.ndarray[Any, Any], list[str]]:
    columns, names = [], []
    for key in keys:
        values = []
        for node in nodes:
            if key not in graph.nodes[node]:
                raise ValueError(f"node {node!r} has no attribute {key!r}; every node needs it to be a feature")
            values.append(np.atleast_1d(graph.nodes[node][key]))
        if len({len(value) for value in values}) > 1:
            raise ValueError(f"attribute {key!r} has a different length for some nodes")
        column = np.stack(values)
        columns.append(column)
        names += [key] if column.shape[1] == 1 else [f"{key}{j}" for j in range(column.shape[1])]
    return np.concatenate(columns, axis=1), names


def from_pandas(
    edges: Any,
    nodes: Any = None,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    id: str | None = None,
    label: str | None = None,
    **options: Any,
) -> Dataset:
    """A data set of pandas data frames: one of edges, one of nodes.

    Parameters
    ----------
    edges : DataFrame
        A line per edge.
    nodes : DataFrame, optional
        A line per node; all columns but `id` and `label` are features and must be numbers (bool counts as 0 and
        1). Without it nodes are the ids in `edges`.
    source, target : str, optional
        Columns of `edges`. Default: the first and the second one.
    weight : str, optional
        Column of `edges` with weights.
    id : str, optional
        Column of `nodes` with the ids. Default: its index.
    label : str, optional
        Column of `nodes` with the classes; missing ones are unlabelled.
    **options
        Of `Dataset`.

    Examples
    --------
    >>> import pandas, pathgcn
    >>> edges = pandas.DataFrame({"from": ["ann", "bob", "cy"], "to": ["bob", "cy", "ann"]})
    >>> nodes = pandas.DataFrame({"who": ["ann", "bob", "cy"], "age": [31, 28, 44], "team": ["a", "b", None]})
    >>> pathgcn.from_pandas(edges, nodes, id="who", label="team", train=[0], val=[1])
    Dataset('pandas': 3 nodes, 3 edges, 1 features, 2 classes, 1 split)
    """
    _check_columns("edges", edges, source=source, target=target, weight=weight)
    _check_columns("nodes", nodes, id=id, label=label)
    first = edges[source if source is not None else edges.columns[0]]
    second = edges[target if target is not None else edges.columns[1]]
    options.setdefault("name", "pandas")
    if nodes is None:
        ids = list(dict.fromkeys([*first, *second]))
    else:
        ids = list(nodes.index if id is None else nodes[id])
    row = {key: i for i, key in enumerate(ids)}
    if len(row) != len(ids):
        twice = next(key for i, key in enumerate(ids) if row[key] != i)
        raise ValueError(f"the id {twice!r} is there twice among the nodes")
    pair = []
    for which, column in (("source", first), ("target", second)):
        numbers = np.array([row.get(key, -1) for key in column], dtype=np.int64)
        if (numbers < 0).any():
            e = int(np.argmax(numbers < 0))
            ids_from = "the index of nodes; give id=COLUMN if they are in a column" if nodes is not None and id is None else id
            raise ValueError(
                f"the {which} '{column.iloc[e]}' of edge {e} is no node: it is not among the ids, which are {ids_from}"
            )
        pair.append(numbers)
    if nodes is not None:
        used = nodes.drop(columns=[c for c in (id, label) if c is not None])
        if label is not None:
            options["labels"] = nodes[label].to_numpy(dtype=object)
        if len(used.columns):
            _check_numbers(used)
            options["features"] = used.to_numpy(dtype=np.float32)
            options.setdefault("feature_names", [str(column) for column in used.columns])
    options.setdefault("node_names", [str(key) for key in ids])
    weights = None if weight is None else edges[weight].to_numpy()
    return Dataset(edges=(pair[0], pair[1]), weights=weights, nodes=len(ids), **options)


def _check_columns(what: str, frame: Any, **named: str | None) -> None:
    """Columns that the caller names must be there."""
    for argument, column in named.items():
        if column is None:
            continue
        if frame is None or column not in frame.columns:
            there = "there is no such table" if frame is None else "its columns are " + ", ".join(map(repr, frame.columns))
            raise ValueError(f"{argument} is {column!r}, which is no column of {what}: {there}")


def _check_numbers(frame: Any) -> None:
    for column in frame.columns:
        if frame[column].dtype.kind not in "fiub":
            raise TypeError(
                f"column {column!r} is of type {frame[column].dtype}, not numbers; encode it (pandas.get_dummies for "
                "categories), or leave it out"
            )
        if frame[column].isna().any():
            line = int(np.argmax(frame[column].isna().to_numpy()))
            raise ValueError(f"column {column!r} has no value in line {line}; fill it (DataFrame.fillna) or leave it out")


def _numpy(tensor: Any) -> Any:
    return tensor.detach().cpu().numpy()


def _mask(tensor: Any) -> Any:
    """PyTorch Geometric keeps several splits as columns."""
    if tensor is None:
        return None
    mask = _numpy(tensor).astype(bool)
    return mask.T if mask.ndim == 2 else mask


def from_pyg(data: Any, **options: Any) -> Dataset:
    """A data set of a PyTorch Geometric ``Data`` object, or a list of them: a set of graphs.

    Parameters
    ----------
    data : torch_geometric.data.Data, or a data set or list of them
        ``edge_index``, and if there: ``x``, ``y``, ``edge_weight``, ``train_mask``, ``val_mask``, ``test_mask``.
    **options
        Of `Dataset`; they come first.

    Notes
    -----
    PyTorch Geometric lists an undirected edge twice, once in each direction; here that is one edge.
    """
    if not hasattr(data, "edge_index"):
        graphs = list(data)
        if len(graphs) != 1:
            return _from_pyg_graphs(graphs, options)
        data = graphs[0]
    if data.y is not None and "labels" not in options:
        labels = _numpy(data.y)
        options["labels"] = labels.reshape(-1) if labels.ndim == 2 and labels.shape[1] == 1 else labels
    for part in ("train", "val", "test"):
        mask = _mask(getattr(data, f"{part}_mask", None))
        if mask is not None and part not in options:
            options[part] = mask
    return _from_pyg_arrays(data, options)


def _from_pyg_arrays(data: Any, options: dict[str, Any]) -> Dataset:
    options.setdefault("name", "pyg")
    if data.x is not None:
        options.setdefault("features", _numpy(data.x))
    weight = getattr(data, "edge_weight", None)
    edge_index = _numpy(data.edge_index)
    weights = None if weight is None else _numpy(weight)
    if weights is not None and not options.get("directed", False):
        edge_index, weights = _once(edge_index, weights)
    return Dataset(edges=(edge_index[0], edge_index[1]), weights=weights, nodes=int(data.num_nodes), **options)


def _once(edge_index: Any, weights: Any) -> tuple[Any, Any]:
    """One of each pair of edges that differ in direction only, if all have their reverse with the same weight."""
    forward = {(int(u), int(v)): float(w) for u, v, w in zip(edge_index[0], edge_index[1], weights)}
    if len(forward) == len(weights) and all(forward.get((v, u)) == w for (u, v), w in forward.items()):
        kept = edge_index[0] <= edge_index[1]
        return edge_index[:, kept], weights[kept]
    return edge_index, weights


def _from_pyg_graphs(graphs: list[Any], options: dict[str, Any]) -> Dataset:
    counts = [int(graph.num_nodes) for graph in graphs]
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    pairs = [_numpy(graph.edge_index) + first[g] for g, graph in enumerate(graphs)]
    edges = np.concatenate(pairs, axis=1) if pairs else np.zeros((2, 0), dtype=np.int64)
    options.setdefault("name", "pyg")
    if graphs and all(graph.x is not None for graph in graphs):
        options.setdefault("features", np.concatenate([_numpy(graph.x) for graph in graphs]))
    if graphs and all(graph.y is not None for graph in graphs) and "labels" not in options:
        labels = [_numpy(graph.y).reshape(-1) for graph in graphs]
        options["labels"] = np.concatenate(labels)
    graph_of = np.repeat(np.arange(len(graphs)), counts)
    return Dataset(edges=(edges[0], edges[1]), nodes=int(first[-1]), graphs=graph_of, **options)


def from_dgl(graph: Any, **options: Any) -> Dataset:
    """A data set of a DGL graph with ``feat``, ``label`` and masks among its node data.

    Parameters
    ----------
    graph : dgl.DGLGraph
        Of one type of nodes and edges. ``ndata["feat"]``, ``ndata["label"]``, ``ndata["train_mask"]``,
        ``ndata["val_mask"]`` and ``ndata["test_mask"]`` are taken if they are there.
    **options
        Of `Dataset`; they come first.

    Notes
    -----
    DGL lists an undirected edge twice, once in each direction; here that is one edge.
    """
    source, target = graph.edges()
    about = graph.ndata
    options.setdefault("name", "dgl")
    for option, key in (("features", "feat"), ("labels", "label")):
        if key in about:
            options.setdefault(option, _numpy(about[key]))
    for part in ("train", "val", "test"):
        if f"{part}_mask" in about:
            options.setdefault(part, _mask(about[f"{part}_mask"]))
    return Dataset(edges=(_numpy(source), _numpy(target)), nodes=int(graph.num_nodes()), **options)
