"""Models: predictions, what they hold, files, and the same bytes as the program."""

import copy
import hashlib
import json
import os
import pickle
import struct
import subprocess

import numpy as np
import pytest

import pathgcn


# ---- predictions --------------------------------------------------------------------------------------


def test_probabilities_of_classes_sum_to_one(karate, trained):
    probability = trained.predict_proba(karate)
    assert probability.shape == (34, 2) and probability.dtype == np.float32
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-5)
    assert (probability >= 0).all()


def test_predictions_are_the_most_probable_classes(karate, trained):
    expected = trained.classes[trained.predict_proba(karate).argmax(axis=1)]
    np.testing.assert_array_equal(trained.predict(karate), expected)


def test_classes_are_given_as_they_were_in_the_labels(quick):
    n = 30
    edges = np.arange(n - 1), np.arange(1, n)
    for labels, kind in ((np.arange(n) % 3 * 10, "i"), (np.array(["a", "b", "c"])[np.arange(n) % 3], "U")):
        data = pathgcn.Dataset(edges=edges, features=np.eye(n), labels=labels)
        found = pathgcn.train(data, **quick).predict(data)
        assert found.dtype.kind == kind and set(found) <= set(labels)


def test_draws_have_a_deviation(karate, trained):
    probability, deviation = trained.predict_proba(karate, draws=8, seed=1, deviation=True)
    assert probability.shape == deviation.shape == (34, 2)
    assert (deviation >= 0).all() and deviation.max() > 0
    again = trained.predict_proba(karate, draws=8, seed=1, threads=1)
    assert again.tobytes() == probability.tobytes()
    assert trained.predict_proba(karate, draws=8, seed=2).tobytes() != probability.tobytes()


@pytest.mark.parametrize("wrong", [{"draws": -1}, {"threads": -3}, {"seed": -1}, {"draws": 2**40}])
def test_numbers_out_of_range_are_an_error(wrong, karate, trained):
    with pytest.raises((ValueError, OverflowError)):
        trained.predict_proba(karate, **wrong)


def test_layers_lead_to_the_probabilities(karate, trained):
    layers = trained.layers(karate)
    assert list(layers) == sorted(layers) and len(layers) == trained.settings["layers"] + 2
    assert layers[0].shape == (34, trained.settings["channels"]) and layers[0].dtype == np.float32
    e = np.exp(layers[max(layers)].astype(np.float64))
    np.testing.assert_allclose(e / e.sum(axis=1, keepdims=True), trained.predict_proba(karate), atol=1e-6)
    state = trained.state_dict()
    weight, bias = state["classifier.weight"], state["classifier.bias"]
    last, logits = (layers[i] for i in list(layers)[-2:])
    np.testing.assert_allclose(last @ weight + bias, logits, atol=1e-5)


def test_layers_of_draws_are_their_mean(karate, trained):
    mean = trained.layers(karate, draws=3, seed=1)
    one = trained.layers(karate, draws=1, seed=1)
    np.testing.assert_array_equal(mean[0], one[0])  # before the first path
    assert np.abs(mean[1] - one[1]).max() > 0
    exact = trained.layers(karate)
    many = trained.layers(karate, draws=400, seed=1)
    assert np.abs(many[1] - exact[1]).max() < 0.3 * np.abs(one[1] - exact[1]).max()


def test_layers_of_graphs_have_rows_of_nodes_and_logits_of_graphs(quick, many_graphs):
    data = pathgcn.Dataset(**many_graphs)
    model = pathgcn.train(data, **quick)
    layers = model.layers(data)
    assert layers[0].shape[0] == data.nodes
    assert layers[max(layers)].shape[0] == len(model.predict(data)) == data.info["graphs"]


def test_an_evaluation_is_the_history_at_the_chosen_epoch(karate, trained):
    at = int(np.flatnonzero(trained.history["epoch"] == trained.info["epoch"])[0])
    scores = trained.evaluate(karate)
    assert scores["split_match"] == "same"
    assert scores["val"]["accuracy"] == pytest.approx(trained.history["val_accuracy"][at], abs=0.01)
    assert trained.history["best"][at]


def test_nodes_of_several_graphs_have_the_mean_over_the_graphs_too(many_graphs, quick):
    labels = np.arange(180) % 5 // 3
    arguments = {**many_graphs, "labels": labels, "train": np.arange(90), "val": np.arange(90, 135)}
    data = pathgcn.Dataset(**{**arguments, "test": np.arange(135, 180)})
    model = pathgcn.train(data, **{**quick, "epochs": 3})
    right = model.predict(data) == labels
    graph = np.arange(180) // 6
    for part, nodes in (("val", slice(90, 135)), ("test", slice(135, 180))):
        scores = model.evaluate(data)[part]
        graphs = np.unique(graph[nodes])
        mean = np.mean([right[nodes][graph[nodes] == g].mean() for g in graphs])
        assert scores["graph_accuracy"] == pytest.approx(100 * mean)
        assert (scores["items"], scores["graphs"], scores["graph_nodes"]) == (45, len(graphs), 6 * len(graphs))
        assert model.scores[part]["graph_accuracy"] == scores["graph_accuracy"]


def test_one_graph_has_no_mean_over_graphs(karate, trained):
    test = trained.evaluate(karate)["test"]
    assert test["items"] > 0 and "graph_accuracy" not in test and "graphs" not in test


def test_new_nodes_without_labels_are_predicted(quick):
    rng = np.random.default_rng(0)
    n = 80
    labels = np.arange(n) % 2
    x = (rng.normal(size=(n, 5)) + 3 * labels[:, None]).astype(np.float32)
    same = rng.integers(0, n // 2, (2, 200)) * 2
    data = pathgcn.Dataset(edges=np.concatenate([same, same + 1], axis=1), features=x, labels=labels)
    model = pathgcn.train(data, **{**quick, "epochs": 60})
    other = pathgcn.Dataset(edges=([0, 1, 3], [1, 2, 4]), features=np.array([[0] * 5] * 3 + [[3] * 5] * 2))
    np.testing.assert_array_equal(model.predict(other), [0, 0, 0, 1, 1])


def test_new_graphs_without_labels_are_predicted(many_graphs, quick):
    model = pathgcn.train(pathgcn.Dataset(**many_graphs), **{**quick, "epochs": 40})
    assert model.task == "graph"
    new = {key: many_graphs[key] for key in ("edges", "features", "graphs")}
    found = model.predict(pathgcn.Dataset(**new))
    assert found.shape == (30,) and (found == many_graphs["labels"]).mean() > 0.9


def test_several_labels_are_zeros_and_ones(quick):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4))
    data = pathgcn.Dataset(edges=(np.arange(59), np.arange(1, 60)), features=x, labels=(x[:, :3] > 0).astype(int))
    model = pathgcn.train(data, consistency=0, samples=1, **quick)
    assert model.task == "multilabel" and model.predict_proba(data).shape == (60, 3)
    assert set(np.unique(model.predict(data))) <= {0, 1}


def test_data_with_other_features_is_an_error(trained):
    with pytest.raises(pathgcn.MismatchError):
        trained.predict(pathgcn.Dataset(edges=[[0], [1]], features=np.ones((2, 3))))


def test_what_is_no_data_is_a_type_error(trained):
    with pytest.raises(TypeError, match="Dataset"):
        trained.predict(np.eye(3))


# ---- what it holds ------------------------------------------------------------------------------------


def test_kernels_have_an_entry_per_layer_hop_and_channel(trained):
    settings = trained.settings
    assert trained.kernels.shape == (settings["layers"], settings["path_length"], settings["channels"])
    assert np.isfinite(trained.kernels).all()


def test_the_history_has_an_array_per_figure(trained):
    history = trained.history
    assert list(history["epoch"]) == list(range(1, len(history["epoch"]) + 1))
    assert all(len(values) == len(history["epoch"]) for values in history.values())


def read_safetensors(content):
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__")
    tensors = {}
    for name, about in header.items():
        begin, end = about["data_offsets"]
        assert about["dtype"] == "F32"
        values = np.frombuffer(content[8 + length + begin : 8 + length + end], dtype="<f4")
        tensors[name] = values.reshape(about["shape"])
    return tensors


def test_the_state_dict_is_what_the_file_holds(tmp_path, trained):
    path = tmp_path / "model.safetensors"
    trained.save(path)
    assert path.read_bytes() == trained.to_bytes()
    held, state = read_safetensors(path.read_bytes()), trained.state_dict()
    assert held.keys() == state.keys()
    for name in held:
        assert state[name].shape == held[name].shape and not state[name].flags.writeable
        np.testing.assert_array_equal(state[name], held[name])
    assert sum(values.size for values in state.values()) >= trained.info["parameters"]


def test_tensors_outlive_their_model(karate, quick):
    model = pathgcn.train(karate, **quick)
    tensors = model.state_dict()
    copies = {name: values.copy() for name, values in tensors.items()}
    del model
    for name, values in tensors.items():
        np.testing.assert_array_equal(values, copies[name])


# ---- files and copies ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "copied",
    [
        lambda model, path: pickle.loads(pickle.dumps(model)),
        lambda model, path: copy.copy(model),
        lambda model, path: copy.deepcopy(model),
        lambda model, path: pathgcn.load_model(model.to_bytes()),
        lambda model, path: pathgcn.load_model(bytearray(model.to_bytes())),
        lambda model, path: (model.save(path), pathgcn.load_model(path))[1],
        lambda model, path: (model.save(str(path)), pathgcn.load_model(str(path)))[1],
    ],
    ids=["pickle", "copy", "deepcopy", "bytes", "bytearray", "path", "text"],
)
def test_a_copy_is_the_same_to_the_bit(copied, tmp_path, karate, trained):
    other = copied(trained, tmp_path / "model.safetensors")
    assert other.to_bytes() == trained.to_bytes()
    assert other.predict_proba(karate).tobytes() == trained.predict_proba(karate).tobytes()
    assert other.info == trained.info and other.settings == trained.settings


def test_pickled_models_keep_their_scores(trained):
    assert pickle.loads(pickle.dumps(trained)).scores == trained.scores
    assert pathgcn.load_model(trained.to_bytes()).scores is None


def test_garbage_is_a_format_error(trained):
    content = trained.to_bytes()
    damaged = bytearray(content)
    damaged[12] ^= 0xFF
    for garbage in (b"", b"x", b"\0" * 100, os.urandom(1000), content[: len(content) // 2], bytes(damaged)):
        with pytest.raises(pathgcn.FormatError):
            pathgcn.load_model(garbage)


def test_a_file_that_is_not_there_is_a_file_error(tmp_path):
    with pytest.raises(pathgcn.FileError) as caught:
        pathgcn.load_model(tmp_path / "none")
    assert isinstance(caught.value, OSError)


# ---- the program --------------------------------------------------------------------------------------


@pytest.fixture
def program():
    path = os.environ.get("PATHGCN")
    if not path:
        pytest.skip("the environment variable PATHGCN does not name the program")
    return path


def trained_by_program(program, folder, *arguments):
    subprocess.run([program, "train", *arguments, "--out", str(folder)], check=True, capture_output=True)
    return (folder / "model.safetensors").read_bytes()


def is_the_same(one, other):
    return hashlib.sha256(one).hexdigest() == hashlib.sha256(other).hexdigest()


@pytest.mark.parametrize("recipe", ["none", "any-alike"])
def test_the_program_writes_the_same_model(recipe, program, tmp_path, karate):
    written = trained_by_program(program, tmp_path, "karate", "--seed", "3", "--recipe", recipe)
    assert is_the_same(written, pathgcn.train(karate, seed=3, recipe=recipe, progress=False).to_bytes())


def test_the_program_writes_the_same_model_after_a_race(program, tmp_path, karate):
    written = trained_by_program(program, tmp_path, "karate", "--seed", "3")
    assert is_the_same(written, pathgcn.train(karate, seed=3, progress=False).to_bytes())


def test_the_program_writes_the_same_model_of_another_network(program, tmp_path, karate):
    written = trained_by_program(program, tmp_path, "karate", "--model", "gcn", "--epochs", "20")
    assert is_the_same(written, pathgcn.train(karate, model="gcn", epochs=20, progress=False).to_bytes())


@pytest.mark.parametrize(
    "settings, arguments",
    [
        ({"batch": 4, "batch_paths": [3, 2]}, "--batch 4 --batch-paths 3,2"),
        ({"batch": 4, "unlabelled": 4, "eval_nodes": 3}, "--batch 4 --unlabelled 4 --eval-nodes 3"),
        ({"model": "gcn", "batch": 4, "neighbours": (3, 2)}, "--model gcn --batch 4 --neighbours 3,2"),
        (
            {"model": "gat", "batch_by": "cluster", "parts": 4, "parts_per_step": 2, "parts_by": "builtin"},
            "--model gat --batch-by cluster --parts 4 --parts-per-step 2 --parts-by builtin",
        ),
    ],
)
def test_the_program_writes_the_same_model_of_batches(settings, arguments, program, tmp_path, karate):
    common = ["karate", "--recipe", "none", "--epochs", "4"]
    written = trained_by_program(program, tmp_path, *common, *arguments.split())
    model = pathgcn.train(karate, recipe="none", epochs=4, progress=False, **settings)
    assert is_the_same(written, model.to_bytes())
    assert not is_the_same(written, pathgcn.train(karate, recipe="none", epochs=4, progress=False).to_bytes())


def test_the_program_writes_the_same_model_of_cora(program, tmp_path):
    if not os.path.isdir(os.path.join(os.environ.get("PATHGCN_DATA", ""), "cora")):
        pytest.skip("PATHGCN_DATA does not name a folder with Cora")
    written = trained_by_program(program, tmp_path, "cora", "--epochs", "20")
    model = pathgcn.train(pathgcn.load("cora"), epochs=20, progress=False)
    assert is_the_same(written, model.to_bytes())
    assert len(model._repr_html_()) < 60_000
