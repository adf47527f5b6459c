"""scikit-learn's manners: `PathGCNClassifier` fits and predicts nodes of a graph, or rows of a table."""

from __future__ import annotations

import importlib
import numbers
import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ._arrays import Int32, is_sparse, number_classes
from ._settings import settings as settings_of
from .data import Dataset
from .model import Model
from .training import train

try:
    _base: Any = importlib.import_module("sklearn.base")
    _metrics: Any = importlib.import_module("sklearn.metrics")
    _multiclass: Any = importlib.import_module("sklearn.utils.multiclass")
    _neighbors: Any = importlib.import_module("sklearn.neighbors")
    _validation: Any = importlib.import_module("sklearn.utils.validation")
    _sparse: Any = importlib.import_module("scipy.sparse")
except ImportError as error:
    raise ImportError(
        f"pathgcn.PathGCNClassifier needs scikit-learn, which cannot be imported ({error}): pip install scikit-learn"
    ) from None

__all__ = ["PathGCNClassifier"]

# What a network trains for where nothing validates and nobody says how long.
EPOCHS_WITHOUT_VALIDATION = 200
# Labels per class, on average, below which none is spared for validation; and those that a class needs to give one.
LABELS_TO_VALIDATE = 5

# Rows of a table, over the recipe mlp-default: few columns, none of which can be missed. The best of five dropouts and
# widths by the mean of three-fold cross-validation, one seed, on iris, wine, breast cancer, digits, two moons and
# make_classification; the same data chose and scored.
_TABLE_RECIPE = "mlp-default"
_TABLE_SETTINGS = {"select": "loss", "epochs": 500, "patience": 50}  # where something validates
_TABLE_DROPOUT = {"dropout": 0, "dropout_last": 0.5}
# A graph of nearest neighbours, or one with too few labels for a race: neighbours are alike. Of a table again no
# column can be missed: without dropout two moons with 150 labels went from 87 to 99 %, digits stayed, and breast cancer
# with 300 labels went from 97.0 to 96.3 % (one or two splits each; the same nodes chose and scored).
_ALIKE_RECIPE = "any-alike"
_NEIGHBOURS_DROPOUT = {"dropout": 0}

# Parameters that are settings of the library, with the names that they have there.
_SETTINGS = {
    "model": ("model",),
    "layers": ("layers",),
    "channels": ("channels",),
    "path_length": ("path_length",),
    "paths": ("paths",),
    "dropout": ("dropout",),
    "lr": ("lr_ends", "lr_mix"),
    "weight_decay": ("wd_ends", "wd_mix"),
    "epochs": ("epochs",),
    "patience": ("patience",),
    "threads": ("threads",),
}


class PathGCNClassifier(_base.ClassifierMixin, _base.BaseEstimator):  # type: ignore[misc]
    """A graph network as a classifier of scikit-learn.

    It learns in one of three ways:

    ``fit(X, y, adjacency=A)``
        Nodes of a graph. X has the features of all nodes, and y their classes, -1, NaN or None where they are not
        known, as in scikit-learn's ``LabelSpreading``. `predict` without a graph is about the fitted nodes; with
        ``adjacency=B`` about those of another graph.
    ``PathGCNClassifier(adjacency="knn").fit(X, y)``
        Rows of a table, each joined to the `n_neighbors` rows that are nearest. y is as above. `predict` joins new
        rows to their nearest fitted rows; what it says of a row does not depend on the other new ones (but with
        the networks ``pde-gcn-d``, ``-h`` and ``-m``, slightly).
    ``fit(X, y)``
        Rows of a table by themselves: the network is an MLP, and -1 is a class like any other.

    Parameters
    ----------
    recipe : str, optional
        Where settings start from, see `pathgcn.train`. Default: with a graph what `train` does, a race of recipes
        on the validation nodes; without validation ``"any-alike"``, with neighbours the same without dropout; without
        a graph ``"mlp-default"`` with dropout before the last layer only, and at most 500 epochs of which the
        validation loss chooses.
    adjacency : {None, "knn"}
        ``"knn"`` makes a graph of nearest neighbours. A graph of your own is given to `fit`.
    n_neighbors : int
        How many neighbours ``"knn"`` looks for, by Euclidean distance. Scale the features first if their units
        differ.
    validation : float
        Share of the labelled rows of each class that chooses the epoch. 0: none. There is none either, and a
        warning, below five labels per class on average. Classes with fewer than five labels all train.
    epochs : int, optional
        Most epochs. Default: the recipe's; 200 where nothing validates.
    random_state : int, numpy.random.RandomState or None
        Of the weights, paths, dropout and the validation part. The same number gives the same bits, on any number
        of threads.
    model : str, optional
        The network, see `pathgcn.networks`. Default: ``"pathgcn"``, or ``"mlp"`` without a graph.
    layers, channels, path_length, paths, dropout, patience : optional
        Settings of these names, over those of the recipe; `pathgcn.settings` explains them.
    lr, weight_decay : float, optional
        Learning rate (``lr_ends`` and ``lr_mix``) and weight decay (``wd_ends`` and ``wd_mix``) of all layers.
    settings : dict, optional
        All other settings of `pathgcn.train`, by name.
    directed : bool
        Whether the edges of an adjacency are walked in their direction only.
    threads : int, optional
        Default: one per core.
    progress : bool
        Shows a line with the time left.

    Attributes
    ----------
    model_ : pathgcn.Model
        The trained network.
    classes_ : array
        The classes, in the order of the columns of `predict_proba`.
    n_iter_ : int
        Epochs of the training.
    n_features_in_ : int
        Columns of X. With ``feature_names_in_``, if X was a data frame.
    transduction_ : array [n]
        Classes predicted for all fitted nodes; only with a graph.
    label_distributions_ : array [n, classes]
        The probabilities of the same.

    Examples
    --------
    >>> import numpy as np, pathgcn
    >>> data = pathgcn.load("karate")
    >>> club = data.classes[data.labels]
    >>> known = np.where(np.isin(np.arange(34), [0, 1, 2, 32, 33]), club, None)
    >>> nodes = pathgcn.PathGCNClassifier(validation=0).fit(data.features, known, adjacency=data.adjacency)
    >>> nodes.score(data.features, club) > 0.9
    True

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> pathgcn.PathGCNClassifier().fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        *,
        recipe: str | None = None,
        adjacency: str | None = None,
        n_neighbors: int = 10,
        validation: float = 0.2,
        epochs: int | None = None,
        random_state: Any = 0,
        model: str | None = None,
        layers: int | None = None,
        channels: int | None = None,
        path_length: int | None = None,
        paths: int | None = None,
        dropout: float | None = None,
        lr: float | None = None,
        weight_decay: float | None = None,
        patience: int | None = None,
        settings: dict[str, Any] | None = None,
        directed: bool = False,
        threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.recipe = recipe
        self.adjacency = adjacency
        self.n_neighbors = n_neighbors
        self.validation = validation
        self.epochs = epochs
        self.random_state = random_state
        self.model = model
        self.layers = layers
        self.channels = channels
        self.path_length = path_length
        self.paths = paths
        self.dropout = dropout
        self.lr = lr
        self.weight_decay = weight_decay
        self.patience = patience
        self.settings = settings
        self.directed = directed
        self.threads = threads
        self.progress = progress

    def __sklearn_tags__(self) -> Any:  # scikit-learn 1.6 and later
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _more_tags(self) -> dict[str, Any]:  # before
        return {"X_types": ["2darray", "sparse"]}

    # ---- fitting --------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, adjacency: Any = None) -> Self:
        """Trains a network.

        Parameters
        ----------
        X : array or SciPy sparse matrix [n, f], or data frame
            Features of all nodes, or the rows of a table. None, with a graph: the library makes features of it.
        y : array [n]
            Their classes, of any kind. With a graph -1, NaN and None are unlabelled.
        adjacency : SciPy sparse matrix or array [n, n], optional
            The graph, see `pathgcn.Dataset`. It comes before ``adjacency="knn"`` of the constructor.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> import pathgcn
        >>> X, y = make_moons(200, noise=0.1, random_state=0)
        >>> y[10:] = -1
        >>> joined = pathgcn.PathGCNClassifier(adjacency="knn", validation=0).fit(X, y)
        >>> joined.transduction_.shape
        (200,)
        """
        if self.adjacency is not None and not (isinstance(self.adjacency, str) and self.adjacency == "knn"):
            raise ValueError(
                f"the parameter adjacency is {_shown(self.adjacency)}, expected None or 'knn'; a graph is given to "
                "fit: fit(X, y, adjacency=A)"
            )
        self._graph = "given" if adjacency is not None else self.adjacency
        seed = self._seed()
        if self._graph is None:
            X, y = self._check_input(X, y, reset=True)
            _multiclass.check_classification_targets(y)
            self.classes_, numbers_of = np.unique(y, return_inverse=True)
            labels = numbers_of.reshape(-1).astype(np.int32)
        else:
            X, labels = self._check_nodes(X, y, adjacency)
        if len(self.classes_) < 2:
            count = "only one class" if len(self.classes_) else "no class at all"
            raise ValueError(f"y has {count} among its labels; a classifier learns to tell at least two classes apart")
        if self._graph == "knn":
            adjacency = self._join_neighbours(X)
        self._train(X, labels, adjacency, seed)
        return self

    def _train(self, X: Any, labels: Int32, adjacency: Any, seed: int) -> None:
        val = _validation_part(labels, len(self.classes_), self.validation, seed)
        settings = self._library_settings()
        if self._graph is None and settings.get("model", "mlp") != "mlp" and self.recipe is None:
            raise ValueError(
                f"model is {settings['model']!r} and there is no graph: give one to fit, fit(X, y, adjacency=A), or "
                "make one of neighbours, adjacency='knn'; without a graph the network is 'mlp'"
            )
        if val is None:
            settings.setdefault("epochs", EPOCHS_WITHOUT_VALIDATION)
            if self.validation:
                for keyword in ("patience", "select"):  # were meant for the validation that there is not
                    settings.pop(keyword, None)
                warnings.warn(
                    f"y has {int((labels >= 0).sum())} labels of {len(self.classes_)} classes, too few to validate: "
                    f"all of them train, for {settings['epochs']} epochs; validation=0 says that this is meant",
                    UserWarning,
                    stacklevel=3,
                )
        data = self._dataset(
            X,
            adjacency,
            labels=labels,
            class_names=[str(value) for value in self.classes_],
            train=(labels >= 0) if val is None else (labels >= 0) & ~val,
            val=val,
        )
        self.n_iter_ = 0
        recipe = self._library_recipe(settings, val is not None)
        self.model_: Model = train(
            data, recipe=recipe, seed=seed, progress=self.progress, callback=self._count, **settings
        )
        if self._graph is not None:
            self.X_ = X
            self.label_distributions_ = self.model_.predict_proba(data, threads=self.threads or 0)
            self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]

    def _count(self, epoch: dict[str, Any]) -> None:
        self.n_iter_ = int(epoch["epoch"])

    def _seed(self) -> int:
        state = self.random_state
        if isinstance(state, numbers.Integral) and not isinstance(state, bool):
            return int(state)
        drawn: int = importlib.import_module("sklearn.utils").check_random_state(state).randint(2**31 - 1)
        return drawn

    def _library_settings(self) -> dict[str, Any]:
        """Settings as `train` takes them."""
        found: dict[str, Any] = {}
        for parameter, keywords in _SETTINGS.items():
            value = getattr(self, parameter)
            if value is not None:
                found.update({keyword: value for keyword in keywords if len(keywords) == 1 or self._uses(keyword)})
        for key, value in (self.settings or {}).items():
            keyword = key.replace("-", "_")
            if keyword in found:
                raise ValueError(f"{keyword} is given twice: among settings and as a parameter")
            if keyword in ("seed", "recipe", "progress", "callback"):
                raise ValueError(f"{keyword} is no setting of its own here; use the parameter of the classifier")
            if value is not None:
                found[keyword] = value
        return found

    def _uses(self, keyword: str) -> bool:
        return self.model in (None, "auto") or keyword in settings_of(self.model)

    def _library_recipe(self, settings: dict[str, Any], validates: bool) -> str | None:
        """The recipe to start from; settings of ours go where the user has none."""
        if self.recipe is not None:
            return self.recipe
        if self._graph is None:
            ours: dict[str, Any] = {"model": "mlp", **(_TABLE_SETTINGS if validates else {})}
            if "dropout" not in settings:
                ours.update(_TABLE_DROPOUT if settings.get("layers") != 1 else {"dropout": 0})
            settings.update({keyword: value for keyword, value in ours.items() if keyword not in settings})
            return _TABLE_RECIPE
        if settings.get("model", "pathgcn") != "pathgcn" or (self._graph == "given" and validates):
            return None
        if self._graph == "knn":
            settings.update({**_NEIGHBOURS_DROPOUT, **settings})
        return _ALIKE_RECIPE

    # ---- predicting -----------------------------------------------------------------------------------

    def predict_proba(self, X: Any = None, adjacency: Any = None) -> npt.NDArray[np.float32]:
        """Probabilities of the classes, [n, classes].

        Parameters
        ----------
        X : array or SciPy sparse matrix [n, f], or data frame
            After a fit with a graph: the fitted X, or None, for the fitted nodes; or features of the nodes of
            `adjacency`.
        adjacency : SciPy sparse matrix or array [n, n], optional
            Another graph, whose nodes have the features X.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import pathgcn
        >>> X, y = load_iris(return_X_y=True)
        >>> pathgcn.PathGCNClassifier().fit(X, y).predict_proba(X[:2]).shape
        (2, 3)
        """
        _validation.check_is_fitted(self, "model_")
        if self._graph != "given" and adjacency is not None:
            how = "with adjacency='knn'" if self._graph else "without a graph"
            raise ValueError(f"this classifier was fitted {how} and takes no adjacency to predict; leave it out")
        if self._graph is not None and X is None and adjacency is None:
            return np.array(self.label_distributions_)
        X = self._check_new(X)
        if self._graph is None:
            data = self._dataset(X, None)
        elif adjacency is not None:
            self._check_other_graph()
            data = self._dataset(X, _as_adjacency(adjacency, None if X is None else X.shape[0]))
        elif _is_same(X, self.X_):
            return np.array(self.label_distributions_)
        elif self._graph == "knn":
            return self._predict_joined(X)
        else:
            raise ValueError(
                "X is not what was fitted, and there is no graph that joins its rows: give the X of fit (or None) to "
                "predict the fitted nodes, or predict another graph, predict(X, adjacency=A)"
            )
        probability: npt.NDArray[np.float32] = self.model_.predict_proba(data, threads=self.threads or 0)
        return probability

    def predict(self, X: Any = None, adjacency: Any = None) -> npt.NDArray[Any]:
        """The most probable classes, [n].

        Parameters
        ----------
        X, adjacency
            As of `predict_proba`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import pathgcn
        >>> X, y = load_iris(return_X_y=True)
        >>> int(pathgcn.PathGCNClassifier().fit(X, y).predict(X[:1])[0])
        0
        """
        chosen: npt.NDArray[Any] = self.predict_proba(X, adjacency).argmax(axis=1)
        result: npt.NDArray[Any] = self.classes_[chosen]
        return result

    def score(self, X: Any, y: Any, sample_weight: Any = None, adjacency: Any = None) -> float:
        """The accuracy, 0 to 1; with a graph that of the nodes whose y is a class.

        Parameters
        ----------
        X, adjacency
            As of `predict_proba`.
        y : array [n]
            The classes. With a graph nodes with -1, NaN or None do not count.
        sample_weight : array [n], optional
            Weights of the rows.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import pathgcn
        >>> X, y = load_iris(return_X_y=True)
        >>> pathgcn.PathGCNClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
        True
        """
        predicted = self.predict(X, adjacency)
        if self._graph is None:
            return float(_metrics.accuracy_score(y, predicted, sample_weight=sample_weight))
        labels, classes = number_classes(_as_labels(y, len(predicted)))
        known = labels >= 0
        if not known.any():
            raise ValueError("y has no class to score with: all of its nodes are unlabelled")
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(_metrics.accuracy_score(classes[labels[known]], predicted[known], sample_weight=weight))

    # ---- input ----------------------------------------------------------------------------------------

    def _check_input(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """scikit-learn's checks of X, and of y if it is given; they set n_features_in_ and feature_names_in_."""
        options = {"reset": reset, "accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        if hasattr(_validation, "validate_data"):  # 1.6 and later
            return _validation.validate_data(self, X, y, **options)
        return self._validate_data(X, y, **options)

    def _check_nodes(self, X: Any, y: Any, adjacency: Any) -> tuple[Any, Int32]:
        """X as it is kept, and the numbers of the classes, -1 for none."""
        if y is None:
            raise ValueError("PathGCNClassifier requires y to be passed, but the target y is None")
        if X is not None:
            X = _own_floats(self._check_input(X, reset=True))
        elif adjacency is None:
            raise ValueError("X is None; neighbours are looked for among its rows")
        else:
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        n = X.shape[0] if X is not None else np.shape(adjacency)[0]
        labels, self.classes_ = number_classes(_as_labels(y, n))
        return X, labels

    def _check_new(self, X: Any) -> Any:
        """X of a prediction, of the same columns as the fitted one."""
        if self._graph is not None and self.X_ is None:
            if X is not None:
                raise ValueError("this classifier was fitted without features, and X is given; expected X=None")
            return None
        X = self._check_input(X, reset=False)
        return X if self._graph is None else _own_floats(X)

    def _check_other_graph(self) -> None:
        if any("adjacency" in step for step in self.model_._steps):
            raise ValueError(
                f"the recipe of this model, {self.model_.recipe.split(' ')[0]}, reads the fitted nodes' own links as "
                "features, which nodes of another graph do not have; fit with recipe='any-alike' to predict other "
                "graphs"
            )

    def _dataset(self, X: Any, adjacency: Any, **options: Any) -> Dataset:
        names = getattr(self, "feature_names_in_", None)
        if names is not None and len(set(names)) == len(names):
            options["feature_names"] = list(names)
        if adjacency is None:
            return Dataset(edges=np.zeros((2, 0), dtype=np.int32), features=X, name="sklearn", **options)
        nodes = None if X is None else X.shape[0]
        adjacency = _as_adjacency(adjacency, nodes)
        options.setdefault("directed", self.directed and self._graph == "given")
        return Dataset(adjacency, X, name="sklearn", **options)

    # ---- neighbours -----------------------------------------------------------------------------------

    def _join_neighbours(self, X: Any) -> Any:
        count, rows = self.n_neighbors, X.shape[0]
        if not isinstance(count, numbers.Integral) or not 1 <= count < rows:
            raise ValueError(f"n_neighbors is {count!r}, expected 1 to {rows - 1}, fewer than the {rows} rows")
        self._neighbours: Any = _neighbors.NearestNeighbors(n_neighbors=count).fit(X)
        found = self._neighbours.kneighbors_graph(mode="connectivity")
        self.adjacency_: Any = found.maximum(found.T).tocsr()
        return self.adjacency_

    def _predict_joined(self, X: Any) -> npt.NDArray[np.float32]:
        """New rows see their neighbours among the fitted rows, and are not seen: no row changes another's result."""
        links = self._neighbours.kneighbors_graph(X, mode="connectivity")
        graph = _sparse.bmat([[self.adjacency_, None], [links, _sparse.csr_matrix((X.shape[0], X.shape[0]))]], "csr")
        both = _sparse.vstack([self.X_, X], "csr") if is_sparse(X) else np.concatenate([self.X_, X])
        data = self._dataset(both, graph, directed=True)
        probability: npt.NDArray[np.float32] = self.model_.predict_proba(data, threads=self.threads or 0)
        return probability[self.X_.shape[0] :]


def _shown(value: Any) -> str:
    return f"an array of shape {np.shape(value)}" if np.ndim(value) else repr(value)


def _own_floats(X: Any) -> Any:
    """A float32 copy, which stays what it is when the user's array changes."""
    if is_sparse(X):
        matrix = _sparse.csr_matrix(X, dtype=np.float32, copy=True)
        matrix.sum_duplicates()
        return matrix
    return np.array(X, dtype=np.float32)


def _is_same(X: Any, fitted: Any) -> bool:
    if X is None or fitted is None or X.shape != fitted.shape:
        return X is None and fitted is None
    if is_sparse(X) or is_sparse(fitted):
        return int((_sparse.csr_matrix(X) != _sparse.csr_matrix(fitted)).nnz) == 0
    return bool(np.array_equal(X, fitted))


def _as_adjacency(adjacency: Any, nodes: int | None) -> Any:
    if not is_sparse(adjacency):
        adjacency = np.asarray(adjacency)
    shape: tuple[int, ...] = adjacency.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"the adjacency has shape {shape}, expected [n, n]: an entry for every pair of nodes")
    if nodes is not None and shape[0] != nodes:
        raise ValueError(f"the adjacency has shape {shape} and X has {nodes} rows; both must be about the same nodes")
    return adjacency


def _as_labels(y: Any, nodes: int) -> npt.NDArray[Any]:
    """Classes with one way to say that there is none, for `number_classes`."""
    if isinstance(y, (list, tuple)) and any(isinstance(value, str) for value in y):
        array: npt.NDArray[Any] = np.empty(len(y), dtype=object)  # NumPy would make texts of None and -1
        array[:] = y
    else:
        array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = _validation.column_or_1d(array, warn=True)
    if array.ndim != 1:
        raise ValueError(f"y has shape {array.shape}, expected one class per node; `pathgcn.train` takes several")
    if len(array) != nodes:
        raise ValueError(f"y has {len(array)} entries for {nodes} nodes; give -1, NaN or None where no class is known")
    if array.dtype == object:
        array = np.array([None if _is_minus_one(value) else value for value in array], dtype=object)
    if array.dtype.kind == "U" and (array == "-1").any():
        raise ValueError("y has the text '-1'; give None where no class is known, or rename the class")
    if array.dtype.kind == "f":
        known = array[~np.isnan(array)]
        if not (known == np.floor(known)).all() or np.isinf(known).any():
            raise ValueError("y has numbers that are not whole; classes are whole numbers or names")
    return array


def _is_minus_one(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and value == -1


def _validation_part(labels: Int32, classes: int, share: float, seed: int) -> npt.NDArray[np.bool_] | None:
    """A mask of rows that validate, a share of each class; None: there are too few, or none is wanted."""
    if not isinstance(share, numbers.Real) or not 0 <= share < 1:
        raise ValueError(f"validation is {share!r}, expected a share from 0 to less than 1")
    known = int((labels >= 0).sum())
    if share == 0 or known < LABELS_TO_VALIDATE * classes:
        return None
    random = np.random.RandomState(seed % 2**32)
    mask = np.zeros(len(labels), dtype=bool)
    for number in range(classes):
        rows = np.flatnonzero(labels == number)
        if len(rows) >= LABELS_TO_VALIDATE:
            count = min(max(round(share * len(rows)), 1), len(rows) - 1)
            mask[random.permutation(rows)[:count]] = True
    return mask if mask.any() else None
