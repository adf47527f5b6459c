"""Explanations: sums, names, predictions without links, the same numbers as the program."""

import json
import os
import subprocess

import numpy as np
import pytest

import pathgcn


def test_contributions_add_up_to_the_logit(karate, trained):
    why = trained.explain(karate, 5)
    total = why.node_sums.sum() + why.biases_sum + why.norms_sum
    assert total == pytest.approx(why.logit, abs=1e-5 * max(1, abs(why.logit)))
    assert why.sum == pytest.approx(why.logit, abs=1e-5 * max(1, abs(why.logit)))
    np.testing.assert_allclose(why.node_by_hop.sum(axis=1), why.node_sums, atol=1e-9)
    np.testing.assert_allclose(why.node_by_hop.sum(axis=0), why.by_hop, atol=1e-9)
    assert sum(why.features.values()) == pytest.approx(why.node_sums.sum(), abs=1e-6)
    assert sum(why.constants.values()) == pytest.approx(why.biases_sum + why.norms_sum, abs=1e-9)
    np.testing.assert_array_equal(why.probability, trained.predict_proba(karate)[5])
    assert why.predicted == why.target == trained.predict(karate)[5] and why.against is None
    assert (np.diff(np.abs(why.node_sums)) <= 0).all()


def test_against_another_class_is_the_difference(karate, trained):
    first, second = (trained.explain(karate, 3, target=c, removals=0) for c in (0, 1))
    both = trained.explain(karate, 3, target=0, against=1, removals=0)
    assert both.logit == pytest.approx(first.logit - second.logit, abs=1e-5)
    assert both.biases_sum == pytest.approx(first.biases_sum - second.biases_sum, abs=1e-5)
    assert both.against == 1 and not both.removals


def test_names_of_nodes_features_and_classes(quick):
    n = 12
    names = [f"n{i}" for i in range(n)]
    data = pathgcn.Dataset(
        edges=(np.arange(n - 1), np.arange(1, n)),
        features=np.eye(n),
        labels=np.array(["low", "high"])[np.arange(n) % 2],
        node_names=names,
        feature_names=[f"f{i}" for i in range(n)],
    )
    model = pathgcn.train(data, **quick)
    why = model.explain(data, "n4", target="low", against="high")
    assert why.item == 4 and why.target == "low" and why.against == "high"
    assert set(why.features) <= {f"f{i}" for i in range(n)}
    assert {feature for _, feature, _, _ in why.pairs} <= set(why.features)
    with pytest.raises(ValueError, match="no node is called 'n99'"):
        model.explain(data, "n99")
    with pytest.raises(ValueError, match="no class 'middle'"):
        model.explain(data, 0, target="middle")


def test_removals_are_predictions_without_the_links(karate, trained):
    pytest.importorskip("scipy")
    why = trained.explain(karate, 5, removals=1)
    node = int(why.removals[0].nodes[0])
    matrix = karate.adjacency
    rows, neighbour = np.repeat(np.arange(34), np.diff(matrix.indptr)), matrix.indices
    kept = (rows != node) & (neighbour != node)
    less = pathgcn.Dataset(edges=(rows[kept], neighbour[kept]), features=np.eye(34), nodes=34)
    np.testing.assert_allclose(trained.predict_proba(less)[5], why.removals[0].probability, atol=1e-6)
    assert why.removals[0].links == (~kept).sum() // 2
    masked = trained.explain(karate, 5, removals=1, mask=True)
    assert masked.removals[0].probability.shape == (2,)


def test_the_program_says_the_same(karate, trained, tmp_path):
    program = os.environ.get("PATHGCN")
    if not program:
        pytest.skip("the environment variable PATHGCN does not name the program")
    trained.save(tmp_path / "model.safetensors")
    out = subprocess.run(
        [program, "explain", tmp_path / "model.safetensors", "7", "karate", "--json", "--top", "0"],
        check=True,
        capture_output=True,
        text=True,
    )
    found, why = json.loads(out.stdout), trained.explain(karate, 7)
    assert [entry["node"] for entry in found["nodes"]] == why.nodes.tolist()
    np.testing.assert_allclose([entry["sum"] for entry in found["nodes"]], why.node_sums, rtol=1e-8)
    assert found["logit"] == pytest.approx(why.logit, rel=1e-8)


@pytest.mark.parametrize("wrong", [{"item": 34}, {"item": -1}, {"hops": -1}, {"removals": -1}, {"pairs": -2}])
def test_numbers_out_of_range_are_an_error(wrong, karate, trained):
    with pytest.raises(ValueError, match="expected|there is no node"):
        trained.explain(karate, **{"item": 0, **wrong})


def test_repr_shows_the_strongest_nodes(karate, trained):
    assert repr(trained.explain(karate, 5)).startswith("Explanation(5: logit")
