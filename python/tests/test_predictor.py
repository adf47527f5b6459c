"""Single nodes: rows of the whole prediction to the bit, and new nodes as if they stood in the data."""

import json
import os
import subprocess
import threading

import numpy as np
import pytest

import pathgcn


# ---- nodes of the data --------------------------------------------------------------------------------


@pytest.mark.parametrize("network, draws", [("pathgcn", 0), ("pathgcn", 3), ("gcn", 0), ("gat", 0), ("sage", 0)])
def test_rows_have_the_bits_of_the_whole_prediction(network, draws, karate, quick):
    model = pathgcn.train(karate, model=network, **quick)
    wanted = [33, 0, 5, 0]
    whole, spread = model.predict_proba(karate, draws=draws, seed=4, deviation=True)
    some, deviation = model.predict_proba(karate, nodes=wanted, draws=draws, seed=4, deviation=True)
    assert some.tobytes() == whole[wanted].tobytes() and deviation.tobytes() == spread[wanted].tobytes()
    np.testing.assert_array_equal(
        model.predict(karate, nodes=wanted, draws=draws, seed=4), model.predict(karate, draws=draws, seed=4)[wanted]
    )


def test_nodes_are_numbers_names_or_a_mask(quick):
    n = 12
    names = [f"n{i}" for i in range(n)]
    edges = np.arange(n - 1), np.arange(1, n)
    data = pathgcn.Dataset(edges=edges, features=np.eye(n), labels=["low", "high"] * (n // 2), node_names=names)
    model = pathgcn.train(data, **quick)
    ready, whole = model.predictor(data), model.predict_proba(data)
    mask = np.zeros(n, dtype=bool)
    mask[[2, 7]] = True
    for nodes in ([2, 7], ["n2", "n7"], mask, np.array([2, 7], dtype=np.uint8), np.array(["n2", "n7"], dtype=object)):
        assert ready.predict_proba(nodes).tobytes() == whole[[2, 7]].tobytes()
    assert ready.predict_proba(3).tobytes() == ready.predict_proba("n3").tobytes() == whole[3].tobytes()
    assert ready.predict_proba([]).shape == (0, 2) and list(ready.predict(["n7"])) == list(model.predict(data)[7:8])
    with pytest.raises(ValueError, match="no node is called 'n99'"):
        ready.predict(["n99"])


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        ([34], "34, but data set karate has nodes 0 to 33"),
        ([-1], "-1, but data set karate has nodes 0 to 33"),
        ([2**40], "at most"),
        ([0.5], "expected whole numbers"),
        ([[0, 1]], "expected a list"),
        (np.ones(5, dtype=bool), "expected 34"),
        (["zero"], "no node is called 'zero'"),
    ],
)
def test_wrong_nodes_are_an_error(wrong, sentence, karate, trained):
    with pytest.raises((ValueError, TypeError), match=sentence):
        trained.predict(karate, nodes=wrong)


def test_fewer_rows_are_read_than_there_are(quick):
    n = 200
    data = pathgcn.Dataset(edges=(np.arange(n - 1), np.arange(1, n)), features=np.ones((n, 2)), labels=np.arange(n) % 2)
    model = pathgcn.train(data, **quick)
    ready = model.predictor(data)
    assert ready.memory > 0
    ready.predict([100])
    reach = 2 * (model.settings["path_length"] - 1)  # hops of two layers
    assert ready.rows == 2 * reach + 1
    assert "200 nodes" in repr(ready) and f"{ready.memory} bytes" in repr(ready)


def test_models_of_graphs_have_no_nodes_to_ask_about(many_graphs, quick):
    data = pathgcn.Dataset(**many_graphs)
    model = pathgcn.train(data, **quick)
    with pytest.raises(pathgcn.MismatchError, match="every graph"):
        model.predict(data, nodes=[0])


def test_threads_that_share_a_predictor_wait_for_one_another(karate, trained):
    ready, whole, wrong = trained.predictor(karate, threads=1), trained.predict_proba(karate), []

    def ask(first):
        for i in range(200):
            node = (first + i) % 34
            try:
                if ready.predict_proba([node]).tobytes() != whole[node].tobytes():
                    wrong.append(node)
            except Exception as error:
                wrong.append(error)

    threads = [threading.Thread(target=ask, args=(8 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_predictor_keeps_what_it_borrows(quick):
    def make():
        data = pathgcn.load("karate")
        return pathgcn.train(data, **quick).predictor(data)

    ready = make()
    assert ready.predict_proba([3]).shape == (1, 2)


def test_the_program_says_the_same(karate, trained, tmp_path):
    program = os.environ.get("PATHGCN")
    if not program:
        pytest.skip("the environment variable PATHGCN does not name the program")
    trained.save(tmp_path / "model.safetensors")
    said = subprocess.run(
        [program, "predict", tmp_path / "model.safetensors", "karate", "--nodes", "7,30", "--all", "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    found = [node["probabilities"] for node in json.loads(said.stdout)["predictions"]]
    np.testing.assert_allclose(trained.predict_proba(karate, nodes=[7, 30]), found, rtol=1e-5)


# ---- new nodes ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def directed():
    """A graph whose edges have a direction: a node that only leads to others changes nothing for them."""
    rng = np.random.default_rng(1)
    n = 60
    labels = np.arange(n) % 3
    return {
        "edges": rng.integers(0, n, (2, 200)),
        "features": (rng.normal(size=(n, 6)) + labels[:, None]).astype(np.float32),
        "labels": labels,
        "directed": True,
    }


def with_guests(directed, features, edges):
    """The data with the new nodes in it."""
    n = len(directed["labels"])
    source, target = np.asarray(edges[0]) + n, np.asarray(edges[1])
    joined = np.concatenate([directed["edges"], [source, target]], axis=1)
    return pathgcn.Dataset(edges=joined, features=np.concatenate([directed["features"], features]), directed=True)


@pytest.mark.parametrize("network", ["pathgcn", "gcn", "sage"])
def test_new_nodes_are_predicted_as_if_they_stood_in_the_data(network, directed, quick):
    scipy = pytest.importorskip("scipy.sparse")
    data = pathgcn.Dataset(**directed)
    model = pathgcn.train(data, model=network, **quick)
    x = np.random.default_rng(2).normal(size=(3, 6)).astype(np.float32)
    edges = [0, 0, 1, 0], [5, 17, 40, 3]  # and none of the third
    expected = model.predict_proba(with_guests(directed, x, edges))[60:]
    ready = model.predictor(data)
    found = ready.predict_new_proba(x, edges)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    matrix = scipy.coo_matrix((np.ones(4), edges), shape=(3, 60))
    for same in (matrix, np.array(edges), np.array(edges).T, ([0, 0, 0, 1, 0], [5, 5, 17, 40, 3])):
        assert ready.predict_new_proba(scipy.csr_matrix(x), same).tobytes() == found.tobytes()
    assert ready.predict_new_proba(x[0], [17, 3, 5]).tobytes() == found[0].tobytes()
    assert ready.predict_new_proba(x[2]).tobytes() == found[2].tobytes()
    np.testing.assert_array_equal(ready.predict_new(x, edges), model.classes[found.argmax(axis=1)])
    assert np.ptp(found, axis=0).max() > 1e-3  # they are not all the same


def test_new_nodes_leave_the_others_as_they_were(directed, quick):
    data = pathgcn.Dataset(**directed)
    model = pathgcn.train(data, **quick)
    ready = model.predictor(data)
    before = ready.predict_proba([5, 6])
    ready.predict_new(np.ones(6), [5])
    assert ready.predict_proba([5, 6]).tobytes() == before.tobytes() == model.predict_proba(data)[[5, 6]].tobytes()


def test_many_new_nodes_are_asked_in_several_questions(directed, quick):
    data = pathgcn.Dataset(**directed)
    ready = pathgcn.train(data, **quick).predictor(data)
    rng = np.random.default_rng(3)
    count = 1500
    x = rng.normal(size=(count, 6)).astype(np.float32)
    edges = np.nonzero(rng.random((count, 60)) < 0.9)  # more edges than one question takes
    assert len(edges[0]) > 65536
    found = ready.predict_new_proba(x, edges)
    for i in (0, 255, 256, 1100, count - 1):
        alone = ready.predict_new_proba(x[i], edges[1][edges[0] == i])
        assert alone.tobytes() == found[i].tobytes()
    assert ready.predict_new_proba(x[:0]).shape == (0, 3)


def test_draws_of_new_nodes_have_a_deviation(directed, quick):
    data = pathgcn.Dataset(**directed)
    model = pathgcn.train(data, **quick)
    x, edges = np.ones((2, 6)), ([0, 0, 1, 1], [1, 9, 20, 30])
    mean, deviation = model.predictor(data, draws=500, seed=1).predict_new_proba(x, edges, deviation=True)
    exact = model.predictor(data).predict_new_proba(x, edges)
    assert 0 < np.abs(mean - exact).max() < 0.05 and deviation.max() > 0
    again = model.predictor(data, draws=500, seed=1, threads=2).predict_new_proba(x, edges)
    assert again.tobytes() == mean.tobytes()


@pytest.mark.parametrize(
    "x, edges, sentence",
    [
        (np.ones((2, 5)), None, "expected .new nodes, 6."),
        (np.ones((2, 6)), ([2], [0]), "new nodes 2 to 2, expected 0 to 1"),
        (np.ones((2, 6)), ([0], [60]), "nodes 60 to 60, expected 0 to 59"),
        (np.ones((2, 6)), ([0, 1], [3]), "as many of each"),
        (np.full((1, 6), np.nan), None, "finite"),
        (np.ones(6), [70], "expected 0 to 59"),
        (np.ones(6), ["x"], "no node is called 'x'"),
    ],
)
def test_wrong_new_nodes_are_an_error(x, edges, sentence, directed, quick):
    data = pathgcn.Dataset(**directed)
    ready = pathgcn.train(data, **quick).predictor(data)
    with pytest.raises((ValueError, TypeError), match=sentence):
        ready.predict_new(x, edges)


def test_models_that_cannot_have_new_nodes_say_so(karate, quick):
    model = pathgcn.train(karate, walk="node2vec", return_p=0.5, **quick)
    with pytest.raises(pathgcn.ArgumentError, match="use draws=10"):
        model.predictor(karate)
    ready = model.predictor(karate, draws=2)
    with pytest.raises(pathgcn.ArgumentError, match="cannot be asked about nodes that are not in the data"):
        ready.predict_new(np.zeros(34), [0])
