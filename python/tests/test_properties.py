"""Whatever is given, the answer is a data set or a clean exception; found by hypothesis."""

import gc

import numpy as np
import pytest

import pathgcn
from pathgcn import _core

pytest.importorskip("hypothesis", reason="hypothesis is not installed (Debian: apt-get install python3-hypothesis)")
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

CLEAN = (pathgcn.Error, ValueError, TypeError, OverflowError)
quickly = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

numbers = st.one_of(
    st.integers(-3, 12),
    st.sampled_from([2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63, -(2**63), 2**64, 10**30]),
    st.floats(),
    st.sampled_from([float("nan"), float("inf"), None, "a", "", b"x", True, 1j]),
)
shapes = st.lists(st.integers(0, 7), max_size=3).map(tuple)
kinds = st.sampled_from("bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 S3 U2 object".split())


@st.composite
def arrays(draw):
    """An array of any small shape, type and order, with numbers at the borders of what is allowed."""
    shape, kind = draw(shapes), draw(kinds)
    if kind in ("S3", "U2", "object"):
        array = np.full(shape, "ab", dtype=kind)
    else:
        size = int(np.prod(shape))
        with np.errstate(all="ignore"):
            array = np.array(draw(st.lists(st.integers(-2, 7), min_size=size, max_size=size)), dtype=np.int64).astype(kind)
        array = array.reshape(shape)
        if size and kind[0] in "fiu" and draw(st.booleans()):
            info = np.finfo(kind) if kind[0] == "f" else np.iinfo(kind)
            value = draw(st.sampled_from([info.max, info.min] + ([np.nan, np.inf] if kind[0] == "f" else [])))
            array.reshape(-1)[draw(st.integers(0, size - 1))] = value
    if draw(st.booleans()):
        array = np.asfortranarray(array)
    if draw(st.booleans()):
        array = array[::-1] if array.ndim else array
    return array


anything = st.one_of(st.none(), arrays(), st.lists(numbers, max_size=7), st.lists(st.lists(numbers, max_size=4), max_size=4), numbers)
edges = st.one_of(
    st.lists(st.integers(0, 5), min_size=4, max_size=12).map(lambda ids: (ids[: len(ids) // 2], ids[len(ids) // 2 : len(ids) // 2 * 2])),
    anything,
)


@quickly
@given(
    st.fixed_dictionaries(
        {"edges": edges},
        optional={
            "features": anything,
            "labels": anything,
            "weights": anything,
            "nodes": st.one_of(st.just(6), st.integers(-2, 9), st.just(2**40), st.just(10**30)),
            "train": anything,
            "val": anything,
            "test": anything,
            "graphs": anything,
            "node_names": anything,
            "class_names": anything,
            "feature_names": anything,
            "directed": st.booleans(),
            "self_loops": st.booleans(),
            "steps": st.sampled_from(["", "largest-component", "stratified=60/20/20", "x=", "features=own+degrees", "\0"]),
            "name": st.text(max_size=5),
        },
    )
)
def test_any_arguments_give_data_or_a_clean_exception(arguments):
    try:
        data = pathgcn.Dataset(**arguments)
    except CLEAN as error:
        assert str(error)
        return
    assert data.nodes >= 1 and len(data.fingerprint) == 64
    assert repr(data) and data._repr_html_()


@quickly
@given(anything, anything, st.booleans())
def test_any_adjacency_gives_data_or_a_clean_exception(adjacency, features, directed):
    try:
        pathgcn.Dataset(adjacency, features, directed=directed)
    except CLEAN as error:
        assert str(error)


@quickly
@given(arrays(), arrays(), arrays(), st.integers(0, 7), st.integers(0, 7))
def test_any_sparse_matrix_gives_data_or_a_clean_exception(data, indices, indptr, rows, columns):
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
    matrix = sparse.csr_matrix((rows or 1, columns or 1), dtype=np.float32)
    # Fields that do not belong together, as a user's own code might leave them.
    matrix.data, matrix.indices, matrix.indptr = data.reshape(-1), indices.reshape(-1), indptr.reshape(-1)
    for arguments in ({"adjacency": matrix}, {"edges": ([0], [1]), "features": matrix}):
        try:
            pathgcn.Dataset(**arguments)
        except (*CLEAN, IndexError, RuntimeError) as error:
            assert str(error)


@quickly
@given(st.lists(st.one_of(arrays(), numbers), min_size=6, max_size=6))
def test_the_extension_itself_refuses_what_it_cannot_read(arguments):
    for function in (_core.graph, _core.graph_from_edges):
        try:
            function(*arguments)
        except (*CLEAN, SystemError) as error:
            assert not isinstance(error, SystemError)


FIELDS = ["graph", "features", "n_features", "x_offset", "x_column", "x_value", "label", "labels", "labels_known", "graph_of"]
FIELDS += ["graph_label", "train", "val", "test", "n_splits", "n_classes", "n_graphs", "name", "steps", "node_id", "class_name"]


@quickly
@given(st.dictionaries(st.sampled_from(FIELDS), st.one_of(arrays(), numbers, st.lists(st.text(max_size=2), max_size=7)), max_size=6))
def test_the_extension_refuses_dictionaries_that_make_no_sense(fields):
    graph = _core.graph_from_edges(6, np.arange(5, dtype=np.int32), np.arange(1, 6, dtype=np.int32), None, False, False)
    try:
        _core.from_arrays({"graph": graph, **fields})
    except (*CLEAN, MemoryError) as error:
        assert str(error) or isinstance(error, MemoryError)


@quickly
@given(edges, st.integers(-1, 5), st.integers(-1, 5), anything, st.sampled_from(["uniform", "weighted", "node2vec", "x"]))
def test_any_walks_are_walks_or_a_clean_exception(graph, length, paths, starts, walk):
    if isinstance(graph, list):
        graph = tuple(graph)
    try:
        found = pathgcn.sample_paths(graph, length, paths, starts=starts, walk=walk)
    except CLEAN as error:
        assert str(error)
        return
    assert found.shape[1:] == (paths, length) and (found >= 0).all()


@quickly
@given(st.dictionaries(st.sampled_from(sorted(pathgcn.settings())), numbers, max_size=3), numbers)
def test_any_setting_is_checked(given_settings, seed):
    karate = pathgcn.load("karate")
    given_settings = {key: value for key, value in given_settings.items() if key not in ("channels", "layers", "paths", "threads")}
    try:
        pathgcn.train(karate, recipe="none", progress=False, callback=lambda epoch: False, **{**given_settings, "seed": seed})
    except (*CLEAN, ArithmeticError) as error:
        assert str(error)


@quickly
@given(st.permutations(range(5)))
def test_objects_are_freed_in_any_order(order):
    x = np.ones((6, 4), dtype=np.float32)
    data = pathgcn.Dataset(edges=(np.arange(5), np.arange(1, 6)), features=x, labels=[0, 1] * 3, train=[0, 1], val=[2, 3])
    trainer = _core.Trainer(data._core, _core.Config())
    more = data.prepare("features=own+degrees")
    things = [data, trainer, more, data.features, data.splits]
    del x, data, trainer, more
    for i in order:
        things[i] = None
        gc.collect(0)


@quickly
@given(st.binary(max_size=400), st.integers(0, 10**6), st.integers(0, 255))
def test_damaged_models_are_a_clean_exception(trained, garbage, at, byte):
    damaged = bytearray(trained.to_bytes())
    damaged[at % len(damaged)] = byte
    for content in (garbage, bytes(damaged), bytes(damaged[: at % len(damaged)])):
        try:
            pathgcn.load_model(content).info
        except CLEAN as error:
            assert str(error)
