"""Random walks."""

import numpy as np
import pytest

import pathgcn

RING = np.arange(8), (np.arange(8) + 1) % 8


def test_every_step_is_an_edge(karate):
    paths = pathgcn.sample_paths(karate, length=6, paths=4)
    adjacency = karate.adjacency.toarray()
    assert paths.shape == (34, 4, 6) and (paths[:, :, 0] == np.arange(34)[:, None]).all()
    assert adjacency[paths[:, :, :-1].ravel(), paths[:, :, 1:].ravel()].all()


def test_walks_depend_on_seed_and_draw_only(karate):
    first = pathgcn.sample_paths(karate, seed=1)
    np.testing.assert_array_equal(first, pathgcn.sample_paths(karate, seed=1, threads=1))
    assert (first != pathgcn.sample_paths(karate, seed=2)).any()
    assert (first != pathgcn.sample_paths(karate, seed=1, draw=1)).any()


def test_walks_of_some_starts_are_those_of_all(karate):
    starts = np.array([33, 0, 5, 5], dtype=np.uint8)
    np.testing.assert_array_equal(
        pathgcn.sample_paths(karate, starts=starts), pathgcn.sample_paths(karate)[starts]
    )


def test_a_graph_is_given_in_any_form(karate):
    expected = pathgcn.sample_paths(karate)
    np.testing.assert_array_equal(pathgcn.sample_paths(karate.adjacency), expected)
    np.testing.assert_array_equal(pathgcn.sample_paths(karate.adjacency.toarray()), expected)
    np.testing.assert_array_equal(pathgcn.sample_paths(karate.adjacency.nonzero()), expected)


def test_directed_walks_follow_the_edges():
    paths = pathgcn.sample_paths(RING, length=4, paths=2, directed=True)
    np.testing.assert_array_equal(paths, np.broadcast_to((np.arange(8)[:, None] + np.arange(4))[:, None] % 8, (8, 2, 4)))


def test_a_walk_that_cannot_go_on_stays():
    assert (pathgcn.sample_paths(([0], [1]), directed=True)[1] == 1).all()


def test_weights_decide_where_weighted_walks_go():
    weights = np.zeros((3, 3))
    weights[0, 1] = weights[1, 0] = 1000
    weights[0, 2] = weights[2, 0] = 0.001
    paths = pathgcn.sample_paths(weights, length=2, paths=200, walk="weighted")
    assert (paths[0, :, 1] == 1).mean() > 0.99


@pytest.mark.parametrize("wrong", [{"walk": "x"}, {"length": 0}, {"paths": -1}, {"starts": [34]}, {"starts": [-1]}, {"starts": [0.5]}])
def test_wrong_arguments_are_an_error(wrong, karate):
    with pytest.raises((ValueError, TypeError)):
        pathgcn.sample_paths(karate, **wrong)
