"""Trainings: the same bits always, callbacks, Ctrl-C, threads, memory."""

import concurrent.futures
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import pathgcn


def train_bytes(data, **settings):
    return pathgcn.train(data, **settings).to_bytes()


# ---- bits ---------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(karate, quick):
    one, two, again = (
        pathgcn.train(karate, seed=5, threads=threads, **quick).state_dict() for threads in (1, 2, 1)
    )
    for name in one:
        assert one[name].tobytes() == two[name].tobytes() == again[name].tobytes()


def test_the_same_training_gives_the_same_file(karate, quick):
    assert train_bytes(karate, seed=5, **quick) == train_bytes(karate, seed=5, **quick)


def test_another_seed_gives_other_bytes(karate, quick):
    assert train_bytes(karate, seed=5, **quick) != train_bytes(karate, seed=6, **quick)


def test_trainings_in_four_threads_give_the_same_bytes_as_alone(karate, many_graphs, quick):
    graphs = pathgcn.Dataset(**many_graphs)
    jobs = [(karate if seed % 2 else graphs, seed) for seed in range(8)]
    settings = {**quick, "epochs": 20, "threads": 1}
    alone = [train_bytes(data, seed=seed, **settings) for data, seed in jobs]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda job: train_bytes(job[0], seed=job[1], **settings), jobs))
    assert together == alone


# ---- callbacks ----------------------------------------------------------------------------------------


def test_a_callback_sees_every_epoch(karate, quick):
    seen = []
    model = pathgcn.train(karate, callback=seen.append, **quick)
    assert [epoch["epoch"] for epoch in seen] == [1, 2, 3, 4, 5]
    np.testing.assert_allclose([epoch["train_loss"] for epoch in seen], model.history["train_loss"], rtol=1e-5)


def test_a_callback_that_returns_false_ends_the_training(karate, quick):
    model = pathgcn.train(karate, callback=lambda epoch: epoch["epoch"] < 3, **quick)
    assert len(model.history["epoch"]) == 3
    assert model.predict(karate).shape == (34,)


def test_a_callback_that_returns_nothing_or_zero_does_not(karate, quick):
    assert len(pathgcn.train(karate, callback=lambda epoch: 0, **quick).history["epoch"]) == 5


def test_an_exception_of_a_callback_is_passed_on_and_the_next_training_works(karate, quick):
    class Mine(Exception):
        pass

    def callback(epoch):
        if epoch["epoch"] == 2:
            raise Mine("stop")

    expected = train_bytes(karate, **quick)
    with pytest.raises(Mine, match="stop"):
        pathgcn.train(karate, callback=callback, **quick)
    assert train_bytes(karate, **quick) == expected


def test_a_callback_may_train_and_predict(karate, quick):
    found = []

    def callback(epoch):
        found.append(pathgcn.train(karate, **quick).predict(karate))

    pathgcn.train(karate, callback=callback, **{**quick, "epochs": 2})
    assert len(found) == 2


# ---- Ctrl-C -------------------------------------------------------------------------------------------

INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np, pathgcn

def interrupt():
    global sent
    time.sleep({after})
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

{data}
threading.Thread(target=interrupt, daemon=True).start()
try:
    pathgcn.train(data, progress=False, **{settings})
except pathgcn.Interrupted as interrupted:
    took = time.monotonic() - sent
    model = interrupted.model
    assert pathgcn.interrupted_model() is model
    if model is not None:
        assert len(model.predict(data)) == data.items and model.to_bytes()
    assert isinstance(interrupted, KeyboardInterrupt)
    again = pathgcn.train(data, recipe="none", epochs=1, layers=1, progress=False, steps={steps})
    print(took, "model" if model is not None else "none")
else:
    sys.exit("it was not interrupted")
"""

GRAPH = """
n = {n}
rng = np.random.default_rng(0)
data = pathgcn.Dataset(edges=rng.integers(0, n, (2, 4 * n)), features=rng.normal(size=(n, 32)), labels=rng.integers(0, 4, n))
"""
GRAPHS = """
graphs, size = 3000, 20
n = graphs * size
first = np.repeat(np.arange(graphs) * size, size)
at = np.tile(np.arange(size), graphs)
data = pathgcn.Dataset(edges=(first + at, first + (at + 1) % size), features=np.ones((n, 4)), graphs=np.repeat(np.arange(graphs), size),
                       labels=np.arange(graphs) % 2, train=np.arange(2000), val=np.arange(2000, 2500), test=np.arange(2500, 3000))
"""


def interrupt(data, after, steps=0, **settings):
    script = INTERRUPTED.format(after=after, data=data, settings=settings, steps=steps)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    took, model = done.stdout.split()
    assert float(took) < 2, f"it took {took} s to stop"
    return model


def test_ctrl_c_ends_a_long_training_with_its_model():
    data = GRAPH.format(n=2000)
    assert interrupt(data, 1.5, recipe="none", epochs=1000000, patience=1000000) == "model"


def test_ctrl_c_ends_a_race():
    assert interrupt(GRAPH.format(n=5000), 1.0) == "none"


def test_ctrl_c_ends_an_epoch_of_a_set_of_graphs():
    assert interrupt(GRAPHS, 1.5, steps=1, recipe="none", layers=8, channels=256, batch=8, epochs=3) == "none"


def test_ctrl_c_in_a_callback_is_an_interruption_too(karate, quick):
    def callback(epoch):
        if epoch["epoch"] == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(pathgcn.Interrupted) as caught:
        pathgcn.train(karate, callback=callback, **{**quick, "epochs": 100000, "patience": 100000})
    assert caught.value.model.predict(karate).shape == (34,)


# ---- settings -----------------------------------------------------------------------------------------


def test_an_unknown_setting_gets_a_suggestion(karate):
    with pytest.raises(pathgcn.ArgumentError, match="chanels.*channels"):
        pathgcn.train(karate, chanels=4)


@pytest.mark.parametrize("settings", [{"layers": -1}, {"dropout": 2.0}, {"model": "no-such"}, {"epochs": "many"}, {"layers": 2**70}])
def test_a_value_that_is_out_of_range_is_an_error(settings, karate):
    with pytest.raises(pathgcn.ArgumentError):
        pathgcn.train(karate, recipe="none", **settings)


def test_a_list_longer_than_the_network_is_an_error(karate, quick):
    with pytest.raises(pathgcn.ArgumentError, match="neighbours is 5,5,5, 3 numbers.*give at most 2"):
        pathgcn.train(karate, model="gcn", batch=8, neighbours=[5, 5, 5], **quick)


def test_a_value_of_no_known_type_is_a_type_error(karate):
    with pytest.raises(TypeError, match="setting"):
        pathgcn.train(karate, layers={"a": 1})


def test_the_docstring_holds_every_setting():
    for keyword, about in pathgcn.settings().items():
        assert f"{keyword} : {about['accepts']}" in pathgcn.train.__doc__


def test_settings_come_back_from_the_model(karate, quick):
    found = pathgcn.train(karate, dropout=0.25, batch_norm=True, **quick).settings
    assert found["dropout"] == 0.25 and found["batch_norm"] is True and found["layers"] == 2


def test_an_unknown_recipe_is_an_error(karate):
    with pytest.raises(pathgcn.Error, match="no-such-recipe"):
        pathgcn.train(karate, recipe="no-such-recipe", progress=False)


def test_arrays_without_a_recipe_are_raced(capfd):
    n = 120
    rng = np.random.default_rng(1)
    labels = np.arange(n) % 2
    same = rng.integers(0, n // 2, (2, 300)) * 2
    edges = np.concatenate([same, same + 1], axis=1)
    x = rng.normal(size=(n, 6)) + labels[:, None]
    data = pathgcn.Dataset(edges=edges, features=x, labels=labels)
    model = pathgcn.train(data, epochs=20)
    assert "won the race" in capfd.readouterr().err
    assert model.recipe.startswith("any-") and model.scores["test"]["accuracy"] > 80


def test_no_progress_is_silent(karate, quick, capfd):
    pathgcn.train(karate, **quick)
    assert capfd.readouterr() == ("", "")


def test_data_of_another_type_is_a_type_error():
    with pytest.raises(TypeError, match="Dataset"):
        pathgcn.train("karate")


def test_data_without_labels_cannot_be_trained(quick):
    with pytest.raises(pathgcn.Error):
        pathgcn.train(pathgcn.Dataset(edges=[[0], [1]]), **quick)


def test_scores_are_those_of_an_evaluation(karate, trained):
    assert trained.scores["test"]["accuracy"] == pytest.approx(trained.evaluate(karate)["test"]["accuracy"])


# ---- memory -------------------------------------------------------------------------------------------


def test_a_thousand_models_leave_no_memory_behind():
    if not sys.platform.startswith("linux"):
        pytest.skip("/proc tells the memory of a process on Linux only")
    if os.environ.get("PATHGCN_SANITIZE"):
        pytest.skip("the sanitizer keeps what was freed for a while")
    script = textwrap.dedent("""
        import copy, gc
        import numpy as np, pathgcn
        def resident():
            gc.collect()
            with open("/proc/self/statm") as statm:
                return int(statm.read().split()[1]) * 4096 / 2**20
        karate = pathgcn.load("karate")
        for i in range(1000):
            data = pathgcn.Dataset(edges=([0, 1, 2], [1, 2, 3]), features=np.ones((4, 64)), labels=[0, 1, 0, 1], train=[0, 1], val=[2])
            model = pathgcn.train(karate, recipe="none", layers=1, channels=64, epochs=1, threads=1, progress=False)
            copy.copy(model).predict(karate); model.history; model.state_dict(); data.prepare("features=own+degrees")
            try:
                pathgcn.Dataset(edges=([0], [1]), features=np.full((2, 2), np.nan))
            except pathgcn.Error:
                pass
            if i == 199:
                before = resident()
        print(resident() - before)
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 4, f"{done.stdout.strip()} MB more after 800 models"


@pytest.mark.parametrize("per_graph", [False, True])
def test_without_validation_nothing_races(capfd, per_graph):
    if per_graph:
        count, size = 12, 4
        nodes = np.arange(count * size)
        data = pathgcn.Dataset(
            edges=(nodes, nodes // size * size), features=np.eye(size)[nodes % size],
            labels=np.arange(count) % 2, graphs=nodes // size, train=range(count),
        )  # fmt: skip
    else:
        karate = pathgcn.load("karate")
        data = pathgcn.Dataset(karate.adjacency, karate.features, karate.labels, train=range(34))
    model = pathgcn.train(data, epochs=3)
    assert "nothing validates, so that no recipes can race" in capfd.readouterr().err
    assert model.info["epoch"] == 3
    assert per_graph or model.recipe.startswith("any-alike ")
