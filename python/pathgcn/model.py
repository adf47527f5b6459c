"""Trained models."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import class_values
from ._settings import config_to_dict
from .data import Dataset
from .explanation import Explanation, explanation_of
from .predictor import Predictor

_GRAPH_STEPS = ("directed", "symmetrise", "self-loops")


class Model:
    """A trained network: `train` and `load_model` make them.

    A model can be pickled and copied; both hold the bytes of its file, and so the same weights to the bit.
    """

    def __init__(self, core: _core.Model, scores: dict[str, dict[str, float]] | None = None) -> None:
        self._core = core
        self._scores = scores

    # ---- what it says ---------------------------------------------------------------------------------

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
        """Probabilities of the classes of every node, or graph; or of some nodes.

        Parameters
        ----------
        data : Dataset
            What the model was trained on, or other data with the same features. Labels are not looked at.
        nodes : array of int, list of str, or mask of bool, optional
            Only these, in this order: numbers or names of nodes, or a bool for each. Only the rows that they need are
            computed, with the same bits. Who asks often makes a `predictor`.
        draws : int
            0: the exact operator, deterministic. N: the mean over N samples of paths.
        seed : int
            Of the draws.
        threads : int
            0: one per core. The result is the same on any number.
        deviation : bool
            Return also the standard deviation over the draws.

        Returns
        -------
        array [items, classes], or a pair of them

        Examples
        --------
        >>> import pathgcn
        >>> data = pathgcn.load("karate")
        >>> model = pathgcn.train(data, recipe="none", epochs=20, progress=False)
        >>> model.predict_proba(data).shape
        (34, 2)
        >>> model.predict_proba(data, nodes=[0, 33]).shape
        (2, 2)
        """
        if nodes is not None:
            ready = self.predictor(data, draws=draws, seed=seed, threads=threads)
            return ready.predict_proba(nodes, deviation=deviation)
        data = self._prepared(data)
        items = int(data.info["graphs"]) if self.task == "graph" else data.nodes
        shape = (items, int(self._core.describe()["classes"]))
        probability = np.empty(shape, dtype=np.float32)
        spread = np.empty(shape, dtype=np.float32) if deviation else None
        self._core.predict(data._core, draws, seed, threads, probability, spread)
        return (probability, spread) if deviation else probability

    def predict(
        self, data: Dataset, *, nodes: Any = None, draws: int = 0, seed: int = 0, threads: int = 0
    ) -> npt.NDArray[Any]:
        """The most probable class of every node, or graph, or of some `nodes`; of several labels, 0 or 1 for each.

        Parameters are those of `predict_proba`. Classes are given as they were in the labels: names, or numbers.

        Examples
        --------
        >>> import pathgcn
        >>> data = pathgcn.load("karate")
        >>> pathgcn.train(data, recipe="none", epochs=50, progress=False).predict(data)[:4]
        array([0, 0, 0, 0])
        """
        return self._chosen(self.predict_proba(data, nodes=nodes, draws=draws, seed=seed, threads=threads))

    def predictor(self, data: Dataset, *, draws: int = 0, seed: int = 0, threads: int = 0) -> Predictor:
        """The model, ready for many questions about single nodes of these data, and about new ones.

        Parameters are those of `predict_proba`.

        Examples
        --------
        >>> import numpy as np
        >>> import pathgcn
        >>> data = pathgcn.load("karate")
        >>> model = pathgcn.train(data, recipe="none", epochs=50, progress=False)
        >>> ready = model.predictor(data, threads=1)
        >>> ready.predict([0, 33])
        array([0, 1])
        >>> ready.predict_new(np.zeros(34), [32, 33])    # a new node with two edges and features of zero
        array([1])
        """
        return Predictor(self, data, draws, seed, threads)

    def _chosen(self, probability: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
        """What is predicted with these probabilities."""
        if self.task == "multilabel":
            several: npt.NDArray[Any] = (probability > 0.5).astype(np.uint8)
            return several
        chosen: npt.NDArray[Any] = self.classes[probability.argmax(axis=1)]
        return chosen

    def layers(
        self, data: Dataset, *, draws: int = 0, seed: int = 0, threads: int = 0
    ) -> dict[int, npt.NDArray[np.float32]]:
        """The activations of every layer, by its number.

        0 is what goes into the first layer (networks with an opening layer have it), l what layer l makes of it, and
        the last one are the logits. docs/NETWORKS.md says what the layers of each network are. Rows are nodes; the
        logits of a model that classifies graphs have rows of graphs. Other parameters are those of `predict_proba`;
        of several draws it is the mean.

        Examples
        --------
        >>> import pathgcn
        >>> data = pathgcn.load("karate")
        >>> model = pathgcn.train(data, recipe="none", layers=3, channels=8, epochs=20, progress=False)
        >>> {layer: rows.shape for layer, rows in model.layers(data).items()}
        {0: (34, 8), 1: (34, 8), 2: (34, 8), 3: (34, 8), 4: (34, 2)}
        """
        data = self._prepared(data)
        sums: dict[int, npt.NDArray[np.float64]] = {}

        def see(layer: int, of_graphs: int, channels: int, item: bytes | None, value: bytes) -> None:
            rows = np.frombuffer(value, dtype=np.float32).reshape(-1, channels)
            items = int(data.info["graphs"]) if of_graphs else data.nodes
            place = slice(None) if item is None else np.frombuffer(item, dtype=np.int32)
            sums.setdefault(layer, np.zeros((items, channels)))[place] += rows

        self._core.layers(data._core, draws, seed, threads, see)
        return {layer: (rows / max(draws, 1)).astype(np.float32) for layer, rows in sums.items()}

    def explain(
        self,
        data: Dataset,
        item: int | str,
        *,
        target: Any = None,
        against: Any = None,
        hops: int = 16,
        pairs: int = 100,
        removals: int = 5,
        mask: bool = False,
        sampled: bool = False,
        seed: int = 0,
        threads: int = 0,
    ) -> Explanation:
        """Which nodes, over how many links, and which of their features make a prediction.

        With the ReLUs as open as they are, and coefficients of attention as they are, a network is affine: its logit is
        the sum of what features of nodes contribute, and of biases and shifts of norms. docs/EXPLAIN.md has the
        equations.

        Parameters
        ----------
        data : Dataset
            As for `predict`.
        item : int or str
            The number of a node, or graph; or the name of a node.
        target : optional
            The class, or one of several labels, as in `classes`. None: the most probable one.
        against : optional
            Explain the logit of `target` minus that of this class.
        hops : int
            Contributions from this many hops and more are told together.
        pairs : int
            Features of single nodes that are listed, the strongest.
        removals : int
            Of so many of the strongest nodes: what would be predicted without their links.
        mask : bool
            Removed links count 0, and degrees stay. Otherwise degrees are counted again.
        sampled, seed
            Explain one draw of paths; so it always is of node2vec walks.

        Examples
        --------
        >>> import pathgcn
        >>> data = pathgcn.load("karate")
        >>> model = pathgcn.train(data, recipe="none", layers=2, epochs=50, progress=False)
        >>> why = model.explain(data, 5)
        >>> int(why.nodes[0])
        5
        >>> parts = why.node_sums.sum() + why.biases_sum + why.norms_sum
        >>> bool(abs(parts - why.logit) < 1e-4)
        True
        """
        data = self._prepared(data)
        names = data.node_names
        if isinstance(item, str):
            if self.task == "graph" or names is None or item not in names:
                raise ValueError(f"no node is called {item!r}; give its number")
            item = names.index(item)
        core = self._core.explain(
            data._core,
            int(item),
            self._class_number(target),
            self._class_number(against),
            hops,
            pairs,
            removals,
            mask,
            sampled,
            seed,
            threads,
        )
        return explanation_of(core, self.classes, self.feature_names)

    def _class_number(self, value: Any) -> int:
        """The place of a class in `classes`; -1 for None."""
        if value is None:
            return -1
        places = np.flatnonzero(self.classes == value)
        if len(places) != 1:
            raise ValueError(f"there is no class {value!r}, expected one of {list(self.classes)}")
        return int(places[0])

    def evaluate(self, data: Dataset, *, draws: int = 0, seed: int = 0, threads: int = 0) -> dict[str, Any]:
        """Scores on labelled data, in percent.

        Returns
        -------
        dict
            For ``"train"``, ``"val"``, ``"test"`` and ``"all"`` a dictionary of measures (accuracy, macro_f1, auc,
            ...) and ``"items"``, how many were scored; NaN where the data does not have the split of the training,
            which ``"split_match"`` tells. Where nodes of several graphs have labels, as in PPI, the accuracy is that of
            all nodes together, ``"graph_accuracy"`` the mean over the ``"graphs"``, whose nodes are ``"graph_nodes"``.

        Examples
        --------
        >>> import pathgcn
        >>> data = pathgcn.load("karate")
        >>> model = pathgcn.train(data, recipe="none", epochs=50, progress=False)
        >>> model.evaluate(data)["split_match"]
        'same'
        """
        return self._core.evaluate(self._prepared(data)._core, draws, seed, threads)

    def _prepared(self, data: Dataset) -> Dataset:
        """The data with the steps of the model's recipe, if it does not have them."""
        if not isinstance(data, Dataset):
            raise TypeError(f"expected a pathgcn.Dataset, not {type(data).__name__}")
        present = str(data.info["steps"]).split(",")
        missing = [step for step in self._steps if step not in present]
        return data.prepare(",".join(missing)) if missing else data

    @property
    def _steps(self) -> list[str]:
        """The steps of the training that say what graph and features are: they hold for any data.

        They follow a colon of the name of its data set, perhaps after the settings of a built-in graph.
        """
        _, _, rest = str(self.info["dataset"]).partition(":")
        words = [word for part in rest.split(":") for word in part.split(",")]
        # "features=12" is a setting of a built-in set and no step, whose features are words
        made = [word for word in words if word.startswith("features=") and not word[len("features=") :].isdecimal()]
        return [word for word in words if word in _GRAPH_STEPS or word in made]

    # ---- what it is -----------------------------------------------------------------------------------

    @property
    def info(self) -> dict[str, Any]:
        """Data set, fingerprint, split, epoch, numbers of classes, features and parameters."""
        return self._core.describe()

    @property
    def task(self) -> str:
        """``"node"``, ``"multilabel"`` or ``"graph"``."""
        return str(self.info["task"])

    @property
    def network(self) -> str:
        """The name of the network."""
        return str(self.info["network"])

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The classes, in the order of the columns of `predict_proba`."""
        return class_values(self._core.class_names(), int(self.info["classes"]))

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the feature columns, or None."""
        return self._core.feature_names()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of its training, by keyword."""
        return config_to_dict(self._core.settings())

    @property
    def recipe(self) -> str:
        """The recipe that the settings come from, ``""`` if from none."""
        return self._core.settings().recipe_mark()

    @property
    def scores(self) -> dict[str, dict[str, float]] | None:
        """What it scored on validation and test items when training ended; None for a model from a file."""
        return self._scores

    @property
    def history(self) -> dict[str, npt.NDArray[Any]]:
        """The epochs of its training, an array for each figure: ``epoch``, ``train_loss``, ``val_accuracy``, ..."""
        epochs = json.loads(self._core.history())
        keys = list(dict.fromkeys(key for epoch in epochs for key in epoch))
        return {key: np.array([_number(epoch.get(key)) for epoch in epochs]) for key in keys}

    @property
    def kernels(self) -> npt.NDArray[np.float32]:
        """The learnt weights of the steps of a path, [layers, path_length, channels].

        Examples
        --------
        >>> import pathgcn
        >>> model = pathgcn.train(pathgcn.load("karate"), recipe="none", epochs=5, progress=False)
        >>> model.kernels.shape == (model.settings["layers"], model.settings["path_length"], model.settings["channels"])
        True
        """
        settings = self._core.settings()
        layers, length, channels = (int(settings.get(key)) for key in ("layers", "path-length", "channels"))
        out = np.empty((layers, length, channels), dtype=np.float32)
        for layer in range(layers):
            self._core.kernel(layer, out[layer])
        return out

    def state_dict(self) -> dict[str, npt.NDArray[np.float32]]:
        """The tensors by the names that the model's file has. Views, read-only.

        Examples
        --------
        >>> import pathgcn
        >>> model = pathgcn.train(pathgcn.load("karate"), recipe="none", epochs=5, progress=False)
        >>> sorted(model.state_dict())[:2]
        ['classifier.bias', 'classifier.weight']
        """
        return {name: np.asarray(array) for name, array, _ in self._core.tensors()}

    # ---- files ----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model as safetensors, complete or not at all. The program reads the same file."""
        self._core.save(os.fspath(path))

    def to_bytes(self) -> bytes:
        """The bytes of the file that `save` writes."""
        return self._core.to_bytes()

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (self.to_bytes(), self._scores)

    def __repr__(self) -> str:
        d = self.info
        return (
            f"Model({d['network']} of {d['dataset']!r}: {d['classes']} classes, {d['parameters']} parameters, "
            f"epoch {d['epoch']})"
        )

    def _repr_html_(self) -> str:
        from ._card import model_card

        return model_card(self)

    def plot(self) -> Any:
        """Learning curves and kernels as a matplotlib figure."""
        from ._card import plot_model

        return plot_model(self)


def _number(value: Any) -> Any:
    return np.nan if value is None else value


def _from_bytes(content: bytes, scores: dict[str, dict[str, float]] | None = None) -> Model:
    return Model(_core.model_from_bytes(content), scores)


def load_model(path: str | os.PathLike[str] | bytes) -> Model:
    """Reads a model file, of this package or of the program; or the bytes of one.

    Examples
    --------
    >>> import pathgcn
    >>> model = pathgcn.train(pathgcn.load("karate"), recipe="none", epochs=5, progress=False)
    >>> pathgcn.load_model(model.to_bytes()).info == model.info
    True
    """
    if isinstance(path, (bytes, bytearray, memoryview)):
        return _from_bytes(bytes(path))
    return Model(_core.load_model(os.fspath(path)))
