"""Data sets of arrays: every form that is accepted gives the same data, and what is given is not copied."""

import copy
import gc
import pickle
import subprocess
import sys

import numpy as np
import pytest

import pathgcn
from pathgcn import Dataset

sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float16, np.float32, np.float64, np.longdouble]

# A graph of six nodes: a ring of five and a node at its first one.
SOURCE = np.array([0, 1, 2, 3, 4, 0])
TARGET = np.array([1, 2, 3, 4, 0, 5])
FEATURES = np.arange(12, dtype=np.float32).reshape(6, 2) % 5
LABELS = np.array([0, 1, 0, 1, 0, 1])


def matrix(values=None, symmetric=True):
    values = np.ones(6, dtype=np.float32) if values is None else values
    one_way = sparse.coo_matrix((values, (SOURCE, TARGET)), shape=(6, 6))
    return (one_way + one_way.T).tocsr() if symmetric else one_way.tocsr()


def make(**changes):
    given = {"edges": (SOURCE, TARGET), "features": FEATURES, "labels": LABELS, "train": [0, 1], "val": [2, 3], "test": [4, 5]}
    given.update(changes)
    if "adjacency" in changes:
        del given["edges"]
    return Dataset(**given)


@pytest.fixture(scope="module")
def fingerprint():
    return make().fingerprint


# ---- the graph ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_every_sparse_form_is_the_same_graph(form, kind, fingerprint):
    made = getattr(sparse, f"{form}_{kind}")(matrix())
    assert make(adjacency=made).fingerprint == fingerprint


@pytest.mark.parametrize("value", [np.bool_, np.int8, np.uint64, np.float64])
def test_ones_of_any_type_are_no_weights(value, fingerprint):
    data = make(adjacency=matrix().astype(value))
    assert data.fingerprint == fingerprint and not data.info["weighted"]


@pytest.mark.parametrize("indices", INTEGERS)
@pytest.mark.parametrize("indptr", INTEGERS)
def test_indices_and_indptr_may_be_of_any_integer_type_each(indices, indptr, fingerprint):
    made = matrix()
    made.indices, made.indptr = made.indices.astype(indices), made.indptr.astype(indptr)
    assert make(adjacency=made).fingerprint == fingerprint


@pytest.mark.parametrize("indices", INTEGERS)
def test_weighted_matrices_of_any_index_type_keep_their_weights(indices):
    expected = make(weights=np.arange(1, 7))
    made = matrix(np.arange(1, 7, dtype=np.float32))
    made.indices = made.indices.astype(indices)
    data = make(adjacency=made)
    assert data.info["weighted"] and data.fingerprint == expected.fingerprint


@pytest.mark.parametrize("kind", INTEGERS)
def test_edges_of_any_integer_type_and_form_are_the_same_graph(kind, fingerprint):
    source, target = SOURCE.astype(kind), TARGET.astype(kind)
    for edges in (
        np.array([source, target]),
        np.array([source, target]).T,
        (source, target),
        [source.tolist(), target.tolist()],
        np.asfortranarray(np.array([source, target])),
        list(map(list, zip(source.tolist(), target.tolist()))),
    ):
        assert make(edges=edges).fingerprint == fingerprint


def test_edges_listed_both_ways_and_twice_are_one_edge(fingerprint):
    both = np.concatenate([SOURCE, TARGET, SOURCE]), np.concatenate([TARGET, SOURCE, TARGET])
    data = make(edges=both)
    assert data.fingerprint == fingerprint and data.info["edges"] == 6


def test_a_dense_adjacency_is_the_same_graph(fingerprint):
    dense = matrix().toarray()
    assert make(adjacency=dense).fingerprint == fingerprint
    assert make(adjacency=dense.astype(bool)).fingerprint == fingerprint
    assert make(adjacency=dense.astype(int).tolist()).fingerprint == fingerprint


def test_weights_are_the_same_from_edges_matrix_and_dense_array():
    values = np.array([1, 2, 3, 4, 5, 0.5], dtype=np.float32)
    of_edges = make(weights=values)
    assert of_edges.info["weighted"]
    assert make(adjacency=matrix(values)).fingerprint == of_edges.fingerprint
    assert make(adjacency=matrix(values).toarray()).fingerprint == of_edges.fingerprint
    np.testing.assert_array_equal(of_edges.adjacency.toarray(), matrix(values).toarray())


def test_stored_zeros_are_no_edges(fingerprint):
    given = sparse.coo_matrix(
        (np.append(np.ones(6), 0), (np.append(SOURCE, 2), np.append(TARGET, 5))), shape=(6, 6)
    ).tocsr()
    before = given.nnz
    assert make(adjacency=given).fingerprint == fingerprint
    assert given.nnz == before, "what the user gave was changed"


def test_a_directed_graph_keeps_its_directions():
    data = make(adjacency=matrix(symmetric=False), directed=True)
    np.testing.assert_array_equal(data.adjacency.toarray(), matrix(symmetric=False).toarray())
    assert data.info["directed"]
    assert make(directed=True).fingerprint == data.fingerprint


def test_self_loops_are_dropped_unless_they_are_wanted(fingerprint):
    edges = np.append(SOURCE, 3), np.append(TARGET, 3)
    assert make(edges=edges).fingerprint == fingerprint
    kept = make(edges=edges, self_loops=True)
    assert kept.info["self_loops"] == 1 and kept.adjacency[3, 3] == 1


def test_the_adjacency_comes_back():
    np.testing.assert_array_equal(make().adjacency.toarray(), matrix().toarray())


def test_nodes_without_edges_are_nodes():
    data = Dataset(edges=[[0], [1]], nodes=5)
    assert data.nodes == 5 and data.info["isolated"] == 3


def test_no_edges_at_all_are_a_graph():
    data = Dataset(edges=np.zeros((2, 0), dtype=int), features=np.eye(3))
    assert data.nodes == 3 and data.info["edges"] == 0


def test_a_matrix_with_room_for_more_entries_is_the_same_graph(fingerprint):
    made = matrix()
    made.indices, made.data = np.append(made.indices, [9, 9]), np.append(made.data, [np.nan, 0]).astype(np.float32)
    assert make(adjacency=made).fingerprint == fingerprint


@pytest.mark.parametrize(
    ("field", "values"),
    [("indices", [77]), ("indices", [-1]), ("indptr", [5, 0]), ("indptr", [1000]), ("indptr", [-4]), ("indices", [])],
)
@pytest.mark.parametrize("what", ["adjacency", "features"])
def test_a_damaged_matrix_is_an_error(field, values, what):
    made = matrix(np.arange(1, 7, dtype=np.float32))
    damaged = getattr(made, field).copy()
    if values:
        damaged[-len(values) :] = values
    setattr(made, field, damaged if values else damaged[:3])
    with pytest.raises(ValueError, match="indptr|indices"):
        make(**{what: made})


# ---- features -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FLOATS + INTEGERS + [np.bool_])
def test_features_of_any_type_are_the_same_numbers(kind):
    x = (np.arange(12).reshape(6, 2) % 2).astype(kind)
    data = make(features=x)
    np.testing.assert_array_equal(np.asarray(data.features), x.astype(np.float32))


def test_features_may_lie_in_memory_in_any_way(fingerprint):
    read_only = FEATURES.copy()
    read_only.flags.writeable = False
    wide = np.zeros((6, 9), dtype=np.float32)
    wide[:, 1:9:4] = FEATURES
    swapped = FEATURES.astype(FEATURES.dtype.newbyteorder())
    for x in (np.asfortranarray(FEATURES), read_only, wide[:, 1:9:4], FEATURES[::-1][::-1], FEATURES.tolist(), swapped):
        data = make(features=x)
        np.testing.assert_array_equal(data.features, FEATURES)
        assert data.fingerprint == fingerprint


def test_one_feature_may_be_a_plain_array():
    assert make(features=FEATURES[:, 0]).features.shape == (6, 1)


def test_sparse_features_are_sorted_and_duplicates_added():
    x = sparse.csr_matrix(
        (np.array([1, 2, 4, 3], np.float32), np.array([2, 0, 2, 1]), np.array([0, 3, 3, 3, 4, 4, 4])), shape=(6, 3)
    )
    before = x.indices.copy()
    data = make(features=x)
    np.testing.assert_array_equal(data.features.toarray(), x.toarray())
    np.testing.assert_array_equal(x.indices, before)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("value", [np.float32, np.float64, np.int64, np.bool_])
def test_sparse_features_of_any_form_and_type(form, kind, value):
    x = sparse.csr_matrix(FEATURES)
    x.data = (x.data > 2).astype(value)
    data = make(features=getattr(sparse, f"{form}_{kind}")(x))
    np.testing.assert_array_equal(data.features.toarray(), x.toarray().astype(np.float32))


@pytest.mark.parametrize("indices", INTEGERS)
def test_sparse_features_of_any_index_type(indices):
    x = sparse.csr_matrix(FEATURES)
    x.indices, x.indptr = x.indices.astype(indices), x.indptr.astype(np.uint16)
    np.testing.assert_array_equal(make(features=x).features.toarray(), FEATURES)


def test_no_features_are_made_from_the_graph():
    assert make(features=None).info["features"] >= 1


def test_a_number_too_large_for_float32_is_an_error():
    with pytest.raises(ValueError, match="float32"):
        make(features=np.full((6, 2), 1e60))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_features_that_are_no_numbers_are_an_error(value):
    x = FEATURES.copy()
    x[3, 1] = value
    with pytest.raises(pathgcn.Error):
        make(features=x)
    with pytest.raises(pathgcn.Error):
        made = sparse.csr_matrix(FEATURES)
        made.data[3] = value
        make(features=made)


# ---- labels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", INTEGERS + FLOATS)
def test_labels_of_any_type_are_the_same_classes(kind, fingerprint):
    assert make(labels=LABELS.astype(kind)).fingerprint == fingerprint


def test_names_of_classes_are_sorted():
    data = make(labels=["b", "a", "b", "a", "b", "a"])
    assert list(data.classes) == ["a", "b"]
    np.testing.assert_array_equal(data.labels, 1 - LABELS)


def test_bools_are_two_classes():
    data = make(labels=LABELS == 1)
    assert list(data.classes) == ["False", "True"]
    np.testing.assert_array_equal(data.labels, LABELS)


def test_gaps_in_the_numbers_of_classes_are_closed():
    data = make(labels=[10, 7, 10, 7, 10, 99])
    assert list(data.classes) == [7, 10, 99] and list(data.labels) == [1, 0, 1, 0, 1, 2]


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, -1, 1, 0, 1],
        [0, 1, None, 1, 0, 1],
        [0.0, 1.0, np.nan, 1.0, 0.0, 1.0],
        ["a", "b", None, "b", "a", "b"],
        ["a", "b", float("nan"), "b", "a", "b"],
        np.array(["a", "b", np.nan, "b", "a", "b"], dtype=object),
        [False, True, None, True, False, True],
    ],
    ids=str,
)
def test_missing_labels_are_unlabelled(labels):
    data = make(labels=labels, val=[3])
    assert list(data.labelled) == [True, True, False, True, True, True]
    assert list(data.labels) == [0, 1, -1, 1, 0, 1]


def test_missing_labels_of_pandas_are_unlabelled():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    for series in (
        pandas.Series([0, 1, None, 1, 0, 1], dtype="Int64"),
        pandas.Series(["a", "b", None, "b", "a", "b"], dtype="string"),
        pandas.Series(["a", "b", None, "b", "a", "b"], dtype="category"),
        pandas.Series([False, True, None, True, False, True], dtype="boolean"),
    ):
        assert list(make(labels=series, val=[3]).labels) == [0, 1, -1, 1, 0, 1]


def test_several_labels_of_each_node():
    several = np.array([[1, 0, 1], [0, 1, 0], [-1, 0, 0], [1, 1, 1], [0, 0, 0], [1, 0, 0]])
    for labels in (several, sparse.csr_matrix(several), np.where(several < 0, np.nan, several)):
        data = make(labels=labels, val=[3])
        assert data.task == "multilabel" and data.info["classes"] == 3
        assert list(data.labelled) == [True, True, False, True, True, True]
        np.testing.assert_array_equal(data.labels[data.labelled], several[several.min(axis=1) >= 0])


def test_a_label_per_node_and_class_of_bools():
    assert make(labels=np.eye(6, 2, dtype=bool)).task == "multilabel"


def test_no_labels_are_for_predictions():
    data = Dataset(edges=(SOURCE, TARGET), features=FEATURES)
    assert data.task == "none" and data.labels is None and len(data.splits) == 0


def test_labels_below_minus_one_are_an_error():
    with pytest.raises(ValueError, match="-1 is unlabelled"):
        make(labels=[0, 1, -2, 1, 0, 1])


# ---- sets of graphs -----------------------------------------------------------------------------------


def test_a_set_of_graphs_has_a_class_per_graph(many_graphs):
    data = Dataset(**many_graphs)
    assert data.task == "graph" and data.items == 30 and data.info["graphs"] == 30
    assert list(data.classes) == ["ring", "star"]
    np.testing.assert_array_equal(data.graphs, many_graphs["graphs"])
    assert data.splits["0"].train.sum() == 18


def test_a_set_of_graphs_gets_splits_if_none_are_given(many_graphs):
    given = {key: value for key, value in many_graphs.items() if key not in ("train", "val", "test")}
    data = Dataset(**given)
    assert all(len(split.train) == 30 for split in data.splits.values())


def test_edges_between_two_graphs_are_an_error(many_graphs):
    source, target = many_graphs["edges"]
    with pytest.raises(pathgcn.Error):
        Dataset(**{**many_graphs, "edges": (np.append(source, 0), np.append(target, 7))})


# ---- splits -------------------------------------------------------------------------------------------


def test_masks_and_numbers_are_the_same_split():
    by_number = make(train=[0, 1], val=np.array([2, 3], dtype=np.uint64), test=np.array([5, 4]))
    by_mask = make(
        train=np.array([1, 1, 0, 0, 0, 0], dtype=bool),
        val=np.array([0, 0, 1, 1, 0, 0], dtype=np.uint8),
        test=[False, False, False, False, True, True],
    )
    for one, other in zip(by_number.splits["0"], by_mask.splits["0"]):
        np.testing.assert_array_equal(one, other)
    assert by_number.splits["0"].train.dtype == bool


def test_several_splits_are_rows_of_masks_or_lists_of_numbers():
    masks = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0]], dtype=bool)
    val = np.roll(masks, 2, axis=1)
    by_mask = make(train=masks, val=val, test=np.roll(masks, 4, axis=1))
    by_number = make(train=[[0, 1], [2, 3]], val=[[2, 3], [4, 5]], test=[[4, 5], [0, 1]])
    assert len(by_mask.splits) == 2
    for name in by_mask.splits:
        for one, other in zip(by_mask.splits[name], by_number.splits[name]):
            np.testing.assert_array_equal(one, other)


def test_no_masks_give_splits_by_class():
    n = 60
    data = Dataset(edges=(np.arange(n - 1), np.arange(1, n)), features=np.eye(n), labels=np.arange(n) % 3)
    assert len(data.splits) == 10
    for train, val, test in data.splits.values():
        assert (train.sum(), val.sum(), test.sum()) == (36, 12, 12)
        assert not (train & val).any() and not (train & test).any() and not (val & test).any()


def test_a_split_is_found_by_its_number_too():
    data = make()
    np.testing.assert_array_equal(data.splits[0].train, data.splits["0"].train)


@pytest.mark.parametrize(
    "masks",
    [
        {"train": [6]},
        {"train": [-1]},
        {"train": np.ones(5, dtype=bool)},
        {"train": np.ones((2, 6), dtype=bool)},
        {"train": np.array([0.5, 1.5])},
        {"train": [0, 1], "val": [1, 2]},
        {"train": []},
    ],
    ids=str,
)
def test_masks_that_make_no_sense_are_an_error(masks):
    with pytest.raises((ValueError, TypeError)):
        make(**masks)


@pytest.mark.parametrize("number", [-1, 6])
def test_numbers_of_items_that_do_not_exist_are_named(number):
    with pytest.raises(ValueError, match=f"train holds item {number}, expected 0 to 5"):
        make(train=[0, number])


# ---- errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"adjacency": np.ones((6, 5))}, r"expected \[n, n\]"),
        ({"adjacency": np.ones((5, 5))}, "disagree"),
        ({"adjacency": [["a"]], "features": None}, "values of the adjacency"),
        ({"edges": np.zeros((3, 3), dtype=int)}, r"\[2, m\] or \[m, 2\]"),
        ({"edges": ([0, 1], [1])}, "as many"),
        ({"edges": ([0, 1], [1, 6])}, "6"),
        ({"edges": ([0, -1], [1, 2])}, "-1"),
        ({"edges": ([0, 2**31], [1, 2])}, "2147483648"),
        ({"edges": ([0, 2**40], [1, 2])}, "fits"),
        ({"edges": ([0.5, 1], [1, 2])}, "whole numbers"),
        ({"edges": (["a", "b"], ["c", "d"])}, "whole numbers"),
        ({"weights": np.ones(5)}, "5"),
        ({"weights": -np.ones(6)}, "weight"),
        ({"weights": [1, 1, 1, 1, 1, np.nan]}, "weight"),
        ({"features": np.ones((5, 2))}, "5"),
        ({"features": np.ones((6, 2, 2))}, "shape"),
        ({"features": np.array([["a", "b"]] * 6)}, "real numbers"),
        ({"features": np.ones((6, 2), dtype=complex)}, "real numbers"),
        ({"labels": [0, 1]}, "expected 6"),
        ({"labels": np.zeros((6, 2, 2))}, "shape"),
        ({"labels": np.full((6, 2), 7)}, "0 or 1"),
        ({"labels": [None] * 6}, "no label"),
        ({"class_names": ["a", "b", "c"]}, "class names"),
        ({"feature_names": ["a"]}, "feature names"),
        ({"node_names": ["a"]}, "node names"),
        ({"steps": "no-such-step"}, "no-such-step"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_arrays_are_an_error_with_a_sentence(changes, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make(**changes)


def test_the_graph_is_given_once():
    with pytest.raises(TypeError, match="once"):
        Dataset(features=FEATURES)
    with pytest.raises(TypeError, match="once"):
        Dataset(matrix(), edges=(SOURCE, TARGET))


# ---- views --------------------------------------------------------------------------------------------


def views_of(data):
    split = data.splits["0"]
    found = [data.labels, data.adjacency.indices, split.train, split.val, split.test]
    features = data.features
    return found + ([features] if isinstance(features, np.ndarray) else [features.data, features.indices])


@pytest.mark.parametrize("x", [FEATURES, sparse.csr_matrix(FEATURES)], ids=["dense", "sparse"])
def test_views_are_read_only(x):
    for view in views_of(make(features=x)):
        assert not view.flags.writeable
        with pytest.raises(ValueError):
            view[...] = 0
        with pytest.raises(ValueError):
            view.flags.writeable = True


@pytest.mark.parametrize("name", ["karate", "sbm"])
def test_views_keep_the_data_alive(name):
    data = pathgcn.load(name)
    views = views_of(data)
    copies = [view.copy() for view in views]
    del data
    gc.collect()
    churn = [np.full(5000, i) for i in range(200)]  # memory that was freed is used again
    for view, copy in zip(views, copies):
        np.testing.assert_array_equal(view, copy)
    del churn


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2), (2, 0, 3, 1)])
def test_data_model_arrays_and_views_are_freed_in_any_order(order, quick):
    x = np.random.default_rng(0).normal(size=(6, 50)).astype(np.float32)
    data = make(features=x)
    prepared = data.prepare("features=own+degrees")
    model = pathgcn.train(data, **quick)
    alive = [data, model, prepared, data.features]
    del x, data, prepared, model
    for i in order:
        alive[i] = None
        gc.collect()
        for thing in alive:
            if isinstance(thing, Dataset):
                assert thing.fingerprint and np.isfinite(thing.features.sum())
            elif isinstance(thing, np.ndarray):
                assert np.isfinite(thing).all()


# ---- nothing is copied --------------------------------------------------------------------------------

MEASURE = """
import gc, sys
import numpy as np, scipy.sparse as sparse, pathgcn

def memory(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key))

n, edges = 100_000, (np.arange(99_999, dtype=np.int32), np.arange(1, 100_000, dtype=np.int32))
if sys.argv[1] == "dense":
    x = np.ones((n, 500), dtype=np.float32)
    size = x.nbytes
else:
    columns = np.tile(np.arange(250, dtype=np.int32), n)
    x = sparse.csr_matrix((np.ones(250 * n, np.float32), columns, np.arange(n + 1, dtype=np.int64) * 250), shape=(n, 250))
    x.indices, x.data = columns, x.data
    del columns
    size = x.data.nbytes + x.indices.nbytes
pathgcn.Dataset(edges=edges, nodes=n)
gc.collect()
try:
    with open("/proc/self/clear_refs", "w") as reset:  # the high-water mark starts here
        reset.write("5")
except OSError:
    pass
before = memory("VmRSS")
data = pathgcn.Dataset(edges=edges, features=x)
print((memory("VmRSS") - before) / size, (memory("VmHWM") - before) / size)
"""


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_large_features_are_not_copied(form):
    if not sys.platform.startswith("linux"):
        pytest.skip("/proc tells the memory of a process on Linux only")
    done = subprocess.run([sys.executable, "-c", MEASURE, form], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    kept, most = map(float, done.stdout.split())
    assert kept < 0.1, f"the data set takes {kept:.0%} of the features"
    assert most < 0.5, f"making it takes {most:.0%} of the features for a while"


# ---- the same as by name ------------------------------------------------------------------------------


def copy_of(data, **changes):
    given = {
        "adjacency": data.adjacency,
        "features": data.features,
        "labels": data.labels,
        "class_names": list(data.classes),
        "name": data.name,
    }
    for part in ("train", "val", "test"):
        given[part] = np.array([getattr(split, part) for split in data.splits.values()])
    return Dataset(**{**given, **changes})


def test_arrays_of_karate_are_karate(karate, quick):
    made = copy_of(karate)
    assert made.fingerprint == karate.fingerprint
    np.testing.assert_array_equal(made.labels, karate.labels)
    assert list(made.splits) == list(karate.splits)
    for name in made.splits:
        for one, other in zip(made.splits[name], karate.splits[name]):
            np.testing.assert_array_equal(one, other)
    one, other = (pathgcn.train(data, seed=4, **quick).state_dict() for data in (made, karate))
    assert one.keys() == other.keys()
    assert all(one[key].tobytes() == other[key].tobytes() for key in one)


@pytest.mark.parametrize("suffix", ["pgcn", "npz"])
def test_saved_data_loads_as_the_same(tmp_path, suffix, karate):
    path = tmp_path / f"saved.{suffix}"
    karate.save(path)
    assert pathgcn.load(path).fingerprint == karate.fingerprint


def test_text_says_what_is_in_it(karate):
    assert repr(karate) == "Dataset('karate': 34 nodes, 78 edges, 34 features, 2 classes, 10 splits)"


def test_names_come_back():
    names = [f"knoten ü{i}" for i in range(6)]
    data = make(node_names=names, class_names=["x", "<b>"], feature_names=["länge", "weite"])
    assert data.node_names == names and list(data.classes) == ["x", "<b>"] and data.feature_names == ["länge", "weite"]


def test_labels_that_are_fractions_are_refused():
    with pytest.raises(ValueError, match="0.5, a fraction; predicting numbers is regression"):
        pathgcn.Dataset(edges=[[0, 1, 2], [1, 2, 0]], features=np.eye(3), labels=[0.5, 1.7, 2.0])


def test_a_split_shows_how_many_items_it_has():
    assert repr(pathgcn.load("karate").splits["0"]).startswith("Split(train=8, val=")


def test_a_data_set_can_be_pickled_and_copied():
    data = pathgcn.Dataset(
        edges=[[0, 1, 2, 3], [1, 2, 3, 0]],
        features=np.arange(8, dtype=np.float32).reshape(4, 2),
        labels=["a", "b", "a", None],
        train=[0, 1],
        val=[2],
        node_names=["p", "q", "r", "s"],
        feature_names=["x", "y"],
        name="four",
    )
    again = pickle.loads(pickle.dumps(data))
    assert {**again.info, "format": "arrays"} == data.info
    assert repr(again) == repr(data)
    assert list(again.node_names) == list(data.node_names)
    assert copy.deepcopy(data) is data and copy.copy(data) is data
    karate = pathgcn.load("karate")
    again = pickle.loads(pickle.dumps(karate.prepare("random=50/25/25,splits=3")))
    assert list(again.splits) == ["0", "1", "2"]
    assert again.info["fingerprint"] == karate.prepare("random=50/25/25,splits=3").info["fingerprint"]


def test_edges_that_are_given_twice_are_told():
    once = Dataset(edges=[[0, 1, 1], [1, 2, 0]], labels=[0, 1, 0], train=[0], val=[1])
    assert not any("edges" in note for note in once.notes)  # both directions of an edge are no repetition
    twice = Dataset(edges=[[0, 1, 0, 0], [1, 2, 1, 1]], labels=[0, 1, 0], train=[0], val=[1])
    assert "2 of 4 edges are there already, from the same node to the same, and count once" in twice.notes
    assert pickle.loads(pickle.dumps(twice)).notes[-1] == twice.notes[-1]
    weighted = Dataset(edges=[[0, 1, 0], [1, 2, 1]], weights=[1, 1, 2], labels=[0, 1, 0], train=[0], val=[1])
    assert any("their weights are added" in note for note in weighted.notes)


def test_text_ids_of_graphs_are_refused_with_what_to_do():
    with pytest.raises(TypeError, match=r"graphs are of type .*expected whole numbers; number them: np.unique"):
        Dataset(edges=[[0, 2], [1, 3]], labels=[0, 1], graphs=["a", "a", "b", "b"])


def test_errors_speak_of_keywords_and_not_of_options(tmp_path):
    karate = pathgcn.load("karate")
    with pytest.raises(Exception, match="False or True"):
        pathgcn.train(karate, batch_norm="perhaps")
    with pytest.raises(Exception, match=r"the network; pathgcn\.settings\(NAME\) lists what it takes"):
        pathgcn.train(karate, model="gnc")
    (tmp_path / "e.csv").write_text("a,b\nb,c\n")
    (tmp_path / "x.csv").write_text("id,x\nA,1\nB,2\n")
    with pytest.raises(Exception, match="or say keep_unknown_ids=True if these") as unknown:
        pathgcn.from_files(tmp_path / "e.csv", tmp_path / "x.csv")
    assert "--" not in str(unknown.value)
    assert "--" not in pathgcn.settings()["model"]["help"]
