"""Several models whose mean predicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from .data import Dataset
from .model import Model


class Ensemble:
    """Several models together: the mean of their probabilities, usually better than each of them.

    Parameters
    ----------
    models : iterable of Model
        Trained on the same data, such as by `train` with other seeds. They may be different networks.

    Examples
    --------
    >>> import pathgcn
    >>> data = pathgcn.load("karate")
    >>> several = [pathgcn.train(data, recipe="none", epochs=30, split=0, seed=s, progress=False) for s in range(3)]
    >>> together = pathgcn.Ensemble(several)
    >>> together.predict(data)[[0, 33]]
    array([0, 1])
    >>> together.evaluate(data)["split_match"]
    'same'
    """

    def __init__(self, models: Iterable[Model]) -> None:
        if isinstance(models, Model):
            raise TypeError("expected a list of models, not one of them")
        self.models = tuple(models)
        if not self.models:
            raise ValueError("an ensemble has one model or more")
        for model in self.models:
            if not isinstance(model, Model):
                raise TypeError(f"expected models, not {type(model).__name__}")
            if model.info["fingerprint"] != self.models[0].info["fingerprint"]:
                raise ValueError(
                    f"the models were trained on different data, {self.models[0].info['dataset']} and "
                    f"{model.info['dataset']}; those of an ensemble are trained on the same"
                )

    def __len__(self) -> int:
        return len(self.models)

    def __repr__(self) -> str:
        return f"<pathgcn.Ensemble of {len(self)}: {', '.join(model.network for model in self.models)}>"

    def predict_proba(
        self,
        data: Dataset,
        *,
        nodes: Any = None,
        draws: int = 0,
        seed: int = 0,
        threads: int = 0,
        deviation: bool = False,
    ) -> Any:
        """The mean of the probabilities of the models, for every node or graph, or for some `nodes`.

        Parameters are those of `Model.predict_proba`; `deviation` is the one between the models.

        Returns
        -------
        array [items, classes], or a pair of them
        """
        if nodes is not None:
            options = {"nodes": nodes, "draws": draws, "seed": seed, "threads": threads}
            return _mean([model.predict_proba(data, **options) for model in self.models], deviation)
        first = self.models[0]
        data = first._prepared(data)
        items = int(data.info["graphs"]) if first.task == "graph" else data.nodes
        shape = (items, int(first.info["classes"]))
        probability = np.empty(shape, dtype=np.float32)
        spread = np.empty(shape, dtype=np.float32) if deviation else None
        _core.models_predict(self._cores, data._core, draws, seed, threads, probability, spread)
        return (probability, spread) if deviation else probability

    def predict(
        self, data: Dataset, *, nodes: Any = None, draws: int = 0, seed: int = 0, threads: int = 0
    ) -> npt.NDArray[Any]:
        """The most probable class of every node or graph, or of some `nodes`; of several labels, 0 or 1 for each."""
        mean = self.predict_proba(data, nodes=nodes, draws=draws, seed=seed, threads=threads)
        return self.models[0]._chosen(mean)

    def evaluate(self, data: Dataset, *, draws: int = 0, seed: int = 0, threads: int = 0) -> dict[str, Any]:
        """Scores on labelled data, as those of `Model.evaluate`; ``"draw_accuracy"`` and ``"draw_deviation"`` are those
        of single models. All have to be trained on one split."""
        return _core.models_evaluate(self._cores, self.models[0]._prepared(data)._core, draws, seed, threads)

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The classes, in the order of the columns of `predict_proba`."""
        return self.models[0].classes

    @property
    def _cores(self) -> tuple[_core.Model, ...]:
        return tuple(model._core for model in self.models)


def _mean(each: list[npt.NDArray[np.float32]], deviation: bool) -> Any:
    """As the library makes it: sums of doubles in the order of the models."""
    doubles = np.array(each, dtype=np.float64)
    total = doubles[0].copy()
    for probability in doubles[1:]:
        total += probability
    mean = (total / len(each)).astype(np.float32)
    if not deviation:
        return mean
    spread = doubles.std(axis=0, ddof=1) if len(each) > 1 else np.zeros_like(total)
    return mean, spread.astype(np.float32)
