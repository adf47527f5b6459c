"""Graphs of networkx, pandas, PyTorch Geometric and DGL."""

import types

import numpy as np
import pytest

import pathgcn


class Tensor:
    """What a tensor of PyTorch is to a converter: something that becomes an array in three steps."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.values


# ---- networkx -----------------------------------------------------------------------------------------


@pytest.fixture
def networkx():
    return pytest.importorskip("networkx", reason="networkx is not installed")


def test_karate_of_networkx_is_karate(networkx, karate):
    data = pathgcn.from_networkx(networkx.karate_club_graph(), label="club", weight=None)
    assert (data.adjacency != karate.adjacency).nnz == 0
    assert list(data.classes) == ["Mr. Hi", "Officer"]
    # networkx has the clubs after the split; the built-in graph the factions of Zachary. One member differs.
    assert min((data.labels != karate.labels).sum(), (data.labels == karate.labels).sum()) <= 1


def test_weights_of_networkx_are_kept(networkx):
    data = pathgcn.from_networkx(networkx.karate_club_graph(), label="club")
    assert data.info["weighted"]
    assert data.adjacency[0, 1] == networkx.karate_club_graph()[0][1]["weight"]


def test_nodes_of_networkx_of_any_kind_have_names_attributes_and_gaps(networkx):
    graph = networkx.DiGraph()
    graph.add_node("ann", age=30, place=[1.0, 2.0], team="x")
    graph.add_node((1, 2), age=40, place=[3.0, 4.0])
    graph.add_node(7, age=50, place=[5.0, 6.0], team="y")
    graph.add_edges_from([("ann", (1, 2)), (7, "ann")])
    data = pathgcn.from_networkx(graph, label="team", features=["age", "place"], train=[0], val=[2])
    assert data.node_names == ["ann", "(1, 2)", "7"]
    assert data.feature_names == ["age", "place0", "place1"]
    np.testing.assert_array_equal(data.features, [[30, 1, 2], [40, 3, 4], [50, 5, 6]])
    assert list(data.labels) == [0, -1, 1] and data.info["directed"]
    np.testing.assert_array_equal(data.adjacency.toarray(), [[0, 1, 0], [0, 0, 0], [1, 0, 0]])


def test_a_node_of_networkx_without_a_feature_is_named(networkx):
    graph = networkx.path_graph(3)
    graph.nodes[0]["x"] = 1
    with pytest.raises(ValueError, match="node 1 has no attribute 'x'"):
        pathgcn.from_networkx(graph, features=["x"])


def test_several_edges_of_networkx_between_two_nodes_are_one(networkx):
    graph = networkx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    assert pathgcn.from_networkx(graph).info["edges"] == 2


# ---- pandas -------------------------------------------------------------------------------------------


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas", reason="pandas is not installed")


def test_tables_of_pandas_are_a_graph(pandas):
    edges = pandas.DataFrame({"a": ["u", "v", "w"], "b": ["v", "w", "u"], "how": [1.0, 2.0, 3.0]})
    nodes = pandas.DataFrame({"id": ["w", "u", "v"], "x": [1, 2, 3], "y": [True, False, True], "class": ["p", None, "q"]})
    data = pathgcn.from_pandas(edges, nodes, id="id", label="class", weight="how", train=[0], val=[2])
    assert data.node_names == ["w", "u", "v"] and data.feature_names == ["x", "y"]
    np.testing.assert_array_equal(data.features, [[1, 1], [2, 0], [3, 1]])
    assert list(data.labels) == [0, -1, 1]
    np.testing.assert_array_equal(data.adjacency.toarray(), [[0, 3, 2], [3, 0, 1], [2, 1, 0]])


def test_an_edge_list_of_pandas_is_enough(pandas):
    data = pathgcn.from_pandas(pandas.DataFrame({"from": [10, 30], "to": [30, 20]}))
    assert data.node_names == ["10", "30", "20"] and data.info["edges"] == 2


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ({"id": ["u", "u"], "x": [1, 2]}, "twice"),
        ({"id": ["u", "z"], "x": [1, 2]}, "'v'"),
        ({"id": ["u", "v"], "x": ["red", "blue"]}, "get_dummies"),
        ({"id": ["u", "v"], "x": [1.0, None]}, "fillna"),
    ],
)
def test_wrong_tables_are_an_error_with_a_sentence(nodes, words, pandas):
    with pytest.raises((ValueError, TypeError), match=words):
        pathgcn.from_pandas(pandas.DataFrame({"a": ["u"], "b": ["v"]}), pandas.DataFrame(nodes), id="id")


def test_a_frame_of_features_names_its_columns(pandas):
    frame = pandas.DataFrame({"long": [1.0, 2.0], "wide": [3.0, 4.0]})
    assert pathgcn.Dataset(edges=[[0], [1]], features=frame).feature_names == ["long", "wide"]


# ---- PyTorch Geometric --------------------------------------------------------------------------------

BOTH_WAYS = np.array([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])


def pyg(**values):
    fields = {"x": None, "y": None, "num_nodes": 4, "edge_index": Tensor(BOTH_WAYS)}
    return types.SimpleNamespace(**{**fields, **values})


def test_a_data_object_of_pyg_with_several_splits():
    masks = np.array([[1, 0], [0, 1], [0, 0], [0, 0]], dtype=bool)
    given = pyg(
        x=Tensor(np.eye(4, dtype=np.float32)),
        y=Tensor([0, 1, 0, 1]),
        train_mask=Tensor(masks),
        val_mask=Tensor(np.roll(masks, 1, axis=0)),
        test_mask=Tensor(np.roll(masks, 2, axis=0)),
    )
    data = pathgcn.from_pyg(given)
    assert data.info["edges"] == 3 and len(data.splits) == 2 and list(data.labels) == [0, 1, 0, 1]
    np.testing.assert_array_equal(data.splits["1"].train, masks[:, 1])


def test_weights_of_pyg_are_not_added_up():
    data = pathgcn.from_pyg(pyg(edge_weight=Tensor([2.0, 2.0, 3.0, 3.0, 4.0, 4.0])))
    assert sorted(set(data.adjacency.data)) == [2, 3, 4]


def test_options_come_before_what_a_pyg_object_has():
    data = pathgcn.from_pyg(pyg(y=Tensor([0, 0, 0, 1])), labels=["a", "b", "a", "b"], train=[0, 1], name="mine")
    assert list(data.classes) == ["a", "b"] and data.name == "mine"


def test_a_list_of_pyg_graphs_is_a_set_of_graphs():
    graphs = [pyg(x=Tensor(np.full((4, 2), g, dtype=np.float32)), y=Tensor([g % 2])) for g in range(10)]
    data = pathgcn.from_pyg(graphs)
    assert data.task == "graph" and data.info["graphs"] == 10 and data.nodes == 40 and data.info["edges"] == 30
    np.testing.assert_array_equal(data.features[:, 0], np.repeat(np.arange(10), 4))


def test_one_pyg_graph_in_a_list_is_that_graph():
    assert pathgcn.from_pyg([pyg(y=Tensor([0, 1, 0, 1]))], train=[0, 1]).task == "node"


def test_real_objects_of_pyg():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    module = pytest.importorskip("torch_geometric.data", reason="PyTorch Geometric is not installed")
    given = module.Data(x=torch.eye(4), edge_index=torch.from_numpy(BOTH_WAYS), y=torch.tensor([0, 1, 0, 1]))
    assert pathgcn.from_pyg(given, train=[0, 1]).info["edges"] == 3


# ---- DGL ----------------------------------------------------------------------------------------------


class FakeDGL:
    def __init__(self, **ndata):
        self.ndata = {key: Tensor(values) for key, values in ndata.items()}

    def edges(self):
        return Tensor(BOTH_WAYS[0]), Tensor(BOTH_WAYS[1])

    def num_nodes(self):
        return 4


def test_a_graph_of_dgl():
    data = pathgcn.from_dgl(
        FakeDGL(
            feat=np.eye(4), label=np.array([0, 1, 0, 1]), train_mask=np.array([1, 1, 0, 0]), val_mask=np.array([0, 0, 1, 1])
        )
    )
    assert data.info["edges"] == 3 and list(data.labels) == [0, 1, 0, 1]
    np.testing.assert_array_equal(data.splits["0"].train, [True, True, False, False])


def test_a_graph_of_dgl_without_anything():
    assert pathgcn.from_dgl(FakeDGL()).task == "none"


def test_columns_that_a_table_does_not_have_are_told():
    pandas = pytest.importorskip("pandas")
    edges = pandas.DataFrame({"from": ["a", "b"], "to": ["b", "a"]})
    nodes = pandas.DataFrame({"who": ["a", "b"], "age": [1, 2], "team": ["x", "y"]})
    with pytest.raises(ValueError, match="label is 'teams', which is no column of nodes: its columns are 'who', 'age'"):
        pathgcn.from_pandas(edges, nodes, id="who", label="teams")
    with pytest.raises(ValueError, match="source is 'x', which is no column of edges"):
        pathgcn.from_pandas(edges, nodes, source="x", id="who")
    with pytest.raises(ValueError, match="the source 'a' of edge 0 is no node.*give id=COLUMN"):
        pathgcn.from_pandas(edges, nodes, label="team")
