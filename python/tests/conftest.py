"""What several test files use."""

import numpy as np
import pytest

import pathgcn

QUICK = {"recipe": "none", "layers": 2, "channels": 8, "epochs": 5, "progress": False}


@pytest.fixture(scope="session")
def karate():
    return pathgcn.load("karate")


@pytest.fixture
def quick():
    """Settings of a training that takes no time."""
    return dict(QUICK)


@pytest.fixture(scope="session")
def trained(karate):
    """A model with all that a training leaves behind."""
    return pathgcn.train(karate, **{**QUICK, "epochs": 30, "seed": 3})


def ring(n):
    """Sources and targets of a ring of n nodes."""
    return np.arange(n), (np.arange(n) + 1) % n


@pytest.fixture(scope="session")
def many_graphs():
    """Arguments of a set of 30 rings and stars of 6 nodes: the class is the shape."""
    source, target = [], []
    for g in range(30):
        first = 6 * g
        if g % 2:
            a, b = ring(6)
        else:
            a, b = np.zeros(5, dtype=int), np.arange(1, 6)
        source.append(first + a)
        target.append(first + b)
    degree = np.zeros((180, 2), dtype=np.float32)
    np.add.at(degree[:, 0], np.concatenate(source), 1)
    np.add.at(degree[:, 0], np.concatenate(target), 1)
    degree[:, 1] = 1
    return {
        "edges": (np.concatenate(source), np.concatenate(target)),
        "features": degree,
        "labels": np.array(["star", "ring"] * 15),
        "graphs": np.repeat(np.arange(30), 6),
        "train": np.arange(18),
        "val": np.arange(18, 24),
        "test": np.arange(24, 30),
    }
