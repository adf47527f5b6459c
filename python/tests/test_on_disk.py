"""Data larger than memory: features that stay on disk, with the bits of the same in memory."""

import os
import subprocess

import numpy as np
import pytest

import pathgcn

SETTINGS = {
    "recipe": "usual",
    "layers": 2,
    "channels": 8,
    "paths": 3,
    "path_length": 3,
    "samples": 1,
    "consistency": 0,
    "batch": 64,
    "eval_nodes": 50,
    "epochs": 2,
    "patience": 0,
    "seed": 3,
    "progress": False,
}


@pytest.fixture(scope="module")
def container(tmp_path_factory):
    path = tmp_path_factory.mktemp("on_disk") / "law.pgcn"
    pathgcn.load("powerlaw:nodes=900,edges=5000,features=12,classes=3").save(path)
    return path


@pytest.fixture(scope="module")
def inside(container):
    return pathgcn.load(container)


@pytest.fixture(scope="module")
def outside(container):
    return pathgcn.load(container, memory="1G")


@pytest.fixture(scope="module")
def model(inside):
    return pathgcn.train(inside, **SETTINGS)


def test_a_training_has_the_bytes_of_one_in_memory_and_says_what_it_read(container, model):
    data = pathgcn.load(container, memory=1 << 30)
    assert data.row_reads == {"hits": 0, "misses": 0, "bytes": 0}
    assert pathgcn.train(data, **SETTINGS).to_bytes() == model.to_bytes()
    assert data.row_reads["misses"] > 0
    assert data.row_reads["bytes"] == data.row_reads["misses"] * 12 * 4


def test_a_training_has_the_bytes_of_the_program(container, model, tmp_path):
    program = os.environ.get("PATHGCN")
    if not program:
        pytest.skip("PATHGCN does not name the program")
    options = [f"--{key.replace('_', '-')}={value}" for key, value in SETTINGS.items() if key != "progress"]
    run = [program, "train", container, *options, "--memory", "1G", "--quiet", "--out", tmp_path / "run"]
    subprocess.run(run, check=True, capture_output=True)
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == model.to_bytes()


@pytest.mark.parametrize("draws", [0, 3])
def test_predictions_and_scores_have_the_bits_of_memory(inside, outside, model, draws):
    ask = {"draws": draws} if draws else {}
    expected = model.predict_proba(inside, **ask)
    assert expected.tobytes() == model.predict_proba(outside, **ask).tobytes()
    assert model.evaluate(inside, **ask) == model.evaluate(outside, **ask)
    nodes = [5, 800, 17]
    found = model.predictor(outside, **ask).predict_proba(nodes)
    assert found.tobytes() == expected[nodes].tobytes()


def test_steps_that_make_splits_are_done(inside, outside):
    steps = "per-class=20/30/40,splits=1"
    a, b = inside.prepare(steps), outside.prepare(steps)
    assert np.array_equal(a.splits["0"].train, b.splits["0"].train)
    assert b.row_reads is not None


def test_what_needs_all_features_is_refused(inside, outside, tmp_path):
    assert inside.row_reads is None
    with pytest.raises(ValueError, match="stay on disk; load it without memory"):
        outside.features  # noqa: B018
    with pytest.raises(ValueError, match="saving it needs all"):
        outside.save(tmp_path / "copy.pgcn")
    with pytest.raises(ValueError, match="a race prepares the data"):
        pathgcn.train(outside, recipe="auto", progress=False)
    with pytest.raises(ValueError, match="set batch to a number of training nodes"):
        pathgcn.train(outside, progress=False)


def test_evaluations_that_are_not_set_look_at_some_nodes(outside):
    settings = {key: value for key, value in SETTINGS.items() if key != "eval_nodes"}
    assert pathgcn.train(outside, **settings).settings["eval_nodes"] == 10000


@pytest.mark.parametrize("memory", ["1", "2X", "", "-1G", 0, "15M"])
def test_a_bound_that_is_no_size_is_refused(container, memory):
    with pytest.raises(ValueError, match="expected a size of at least 16 MiB"):
        pathgcn.load(container, memory=memory)


def test_a_bound_that_is_too_small_is_refused_with_what_is_needed(container):
    data = pathgcn.load(container, memory="17M")
    with pytest.raises(MemoryError, match="is not possible: it needs at least .* in all"):
        pathgcn.train(data, **SETTINGS)


def test_only_a_container_can_stay_on_disk():
    with pytest.raises(ValueError, match="is no container"):
        pathgcn.load("karate", memory="1G")
