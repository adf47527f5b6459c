"""Several models: the mean of their probabilities, and what cannot be one."""

import numpy as np
import pytest

import pathgcn


@pytest.fixture
def several(karate, quick):
    networks = ["pathgcn", "gcn", "pathgcn"]
    return [pathgcn.train(karate, model=name, split=0, seed=seed, **quick) for seed, name in enumerate(networks)]


@pytest.mark.parametrize("threads", [1, 2])
def test_probabilities_are_the_mean_of_the_models(several, karate, threads):
    together = pathgcn.Ensemble(several)
    each = np.array([model.predict_proba(karate) for model in several], dtype=np.float64)
    mean, deviation = together.predict_proba(karate, deviation=True, threads=threads)
    assert mean.tobytes() == ((each[0] + each[1] + each[2]) / 3).astype(np.float32).tobytes()
    np.testing.assert_allclose(deviation, each.std(axis=0, ddof=1), atol=1e-6)
    np.testing.assert_array_equal(together.predict(karate), together.classes[mean.argmax(axis=1)])


@pytest.mark.parametrize("draws", [0, 2])
def test_some_nodes_have_the_bits_of_all(several, karate, draws):
    walkers = [several[0], several[2]]  # a GCN has no paths to draw
    together = pathgcn.Ensemble(walkers)
    mean, deviation = together.predict_proba(karate, draws=draws, deviation=True)
    some, spread = together.predict_proba(karate, nodes=[33, 0, 5], draws=draws, deviation=True)
    assert some.tobytes() == mean[[33, 0, 5]].tobytes()
    np.testing.assert_allclose(spread, deviation[[33, 0, 5]], atol=1e-6)
    np.testing.assert_array_equal(together.predict(karate, nodes=[33, 0]), together.predict(karate)[[33, 0]])


def test_scores_are_those_of_the_mean(several, karate):
    scores = pathgcn.Ensemble(several).evaluate(karate)
    chosen = pathgcn.Ensemble(several).predict(karate)
    test = karate.splits["0"].test
    label = karate.labels
    assert scores["test"]["accuracy"] == pytest.approx(100 * (chosen == label)[test].mean())
    alone = [model.evaluate(karate)["test"]["accuracy"] for model in several]
    assert scores["test"]["draw_accuracy"] == pytest.approx(np.mean(alone))
    assert scores["test"]["draw_deviation"] == pytest.approx(np.std(alone, ddof=1))


def test_one_model_is_an_ensemble_too(several, karate):
    alone = pathgcn.Ensemble(several[:1])
    assert len(alone) == 1 and repr(alone) == "<pathgcn.Ensemble of 1: pathgcn>"
    assert alone.predict_proba(karate).tobytes() == several[0].predict_proba(karate).tobytes()


def test_other_splits_are_not_evaluated_together(several, karate, quick):
    other = pathgcn.train(karate, split=1, **quick)
    with pytest.raises(pathgcn.MismatchError, match="different splits, 0 and 1"):
        pathgcn.Ensemble([several[0], other]).evaluate(karate)


def test_what_is_no_ensemble_is_refused(several, quick):
    with pytest.raises(ValueError, match="one model or more"):
        pathgcn.Ensemble([])
    with pytest.raises(TypeError, match="expected a list of models"):
        pathgcn.Ensemble(several[0])
    with pytest.raises(pathgcn.ArgumentError, match="models 1 and 2 are the same"):
        pathgcn.Ensemble([several[0], several[0]]).predict(pathgcn.load("karate"))
    with pytest.raises(TypeError, match="expected models, not str"):
        pathgcn.Ensemble(["model.safetensors"])
    other = pathgcn.train(pathgcn.load("grid"), **quick)
    with pytest.raises(ValueError, match="trained on different data, karate and grid"):
        pathgcn.Ensemble([several[0], other])
