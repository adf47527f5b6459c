"""PathGCNClassifier: scikit-learn's own checks, and what it does with graphs."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed (Debian: apt-get install python3-sklearn)")

import pathgcn
from pathgcn import PathGCNClassifier
from pathgcn.sklearn import _validation_part as validation_part
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

# Karate: both leaders and their closest friends are known.
KNOWN = [0, 1, 2, 32, 33, 8]


@pytest.fixture(scope="module")
def karate():
    data = pathgcn.load("karate")
    return data.features, np.array(data.labels), data.adjacency


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.1, random_state=0)


def hidden(labels, known, missing=-1, names=None):
    """Labels of which only some are known."""
    values = labels if names is None else np.asarray(names, dtype=object)[labels]
    kind = object if names or missing is None else float if missing is np.nan else int
    result = np.full(len(labels), missing, dtype=kind)
    result[known] = values[known]
    return result


# ---- scikit-learn's rules ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:y has .* too few to validate")
@parametrize_with_checks([PathGCNClassifier(), PathGCNClassifier(model="mlp", validation=0, epochs=100)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_a_clone_has_the_same_parameters_and_no_model(moons):
    fitted = PathGCNClassifier(epochs=5, layers=3, settings={"class_weights": "balanced"}).fit(*moons)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(moons[0])


def test_a_pickle_predicts_the_same_bits(moons, karate):
    X, y, graph = karate
    nodes = PathGCNClassifier(validation=0, epochs=20).fit(X, hidden(y, KNOWN), adjacency=graph)
    again = pickle.loads(pickle.dumps(nodes))
    assert np.array_equal(again.predict_proba(X), nodes.predict_proba(X))
    assert np.array_equal(again.predict_proba(X, adjacency=graph), nodes.predict_proba(X, adjacency=graph))
    joined = PathGCNClassifier(adjacency="knn", epochs=20).fit(*moons)
    again = pickle.loads(pickle.dumps(joined))
    assert np.array_equal(again.predict_proba(moons[0][:9]), joined.predict_proba(moons[0][:9]))


@pytest.mark.parametrize("adjacency", [None, "knn"])
def test_a_grid_search_in_a_pipeline(moons, adjacency):
    steps = make_pipeline(StandardScaler(), PathGCNClassifier(adjacency=adjacency, epochs=60))
    search = GridSearchCV(steps, {"pathgcnclassifier__channels": [8, 32]}, cv=3).fit(*moons)
    assert search.best_score_ > 0.8
    assert search.best_estimator_[-1].model_.settings["channels"] == search.best_params_["pathgcnclassifier__channels"]


@pytest.mark.parametrize("adjacency", [None, "knn"])
def test_the_same_seed_predicts_the_same_on_any_number_of_threads(moons, adjacency):
    first, second = (
        PathGCNClassifier(adjacency=adjacency, epochs=40, threads=threads).fit(*moons).predict_proba(moons[0][::2])
        for threads in (1, 2)
    )
    assert np.array_equal(first, second)


def test_another_seed_is_another_network(moons):
    first, second = (PathGCNClassifier(epochs=20, random_state=s).fit(*moons).predict_proba(moons[0]) for s in (0, 1))
    assert not np.array_equal(first, second)
    states = (np.random.RandomState(seed) for seed in (7, 7, 8))
    drawn = [PathGCNClassifier(epochs=20, random_state=state).fit(*moons).predict_proba(moons[0]) for state in states]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


# ---- rows of a table --------------------------------------------------------------------------------


def test_rows_without_a_graph_are_learnt_by_an_mlp(moons):
    X, y = moons
    fitted = PathGCNClassifier().fit(X[::2], y[::2])
    assert fitted.model_.network == "mlp"
    assert 1 <= fitted.n_iter_ <= 500
    assert not hasattr(fitted, "transduction_")
    assert fitted.score(X[1::2], y[1::2]) > 0.95
    assert cross_val_score(PathGCNClassifier(), *load_iris(return_X_y=True), cv=3).mean() > 0.9


def test_minus_one_is_a_class_without_a_graph(moons):
    X, y = moons
    signs = np.where(y == 1, 1, -1)
    fitted = PathGCNClassifier().fit(X, signs)
    assert list(fitted.classes_) == [-1, 1]
    assert fitted.score(X, signs) > 0.95


def test_sparse_features_of_any_form_are_the_same():
    random = np.random.RandomState(0)
    X = random.poisson(0.3, (200, 12)).astype(float)
    y = (X[:, :6].sum(axis=1) > X[:, 6:].sum(axis=1)).astype(int)
    rows, columns = sparse.csr_matrix(X), sparse.csc_matrix(X)
    first, second = (PathGCNClassifier(epochs=50).fit(form, y).predict_proba(form) for form in (rows, columns))
    assert np.array_equal(first, second)


def test_a_network_of_graphs_without_a_graph_is_told(moons):
    with pytest.raises(ValueError, match=r"model is 'gcn' and there is no graph: give one to fit"):
        PathGCNClassifier(model="gcn").fit(*moons)


def test_settings_reach_the_library_and_none_is_given_twice(moons):
    fitted = PathGCNClassifier(epochs=3, lr=0.02, weight_decay=0.5, settings={"batch-norm": True}).fit(*moons)
    used = fitted.model_.settings
    assert (used["lr_ends"], used["lr_mix"], used["wd_ends"], used["wd_mix"]) == (0.02, 0.02, 0.5, 0.5)
    assert used["batch_norm"] is True
    with pytest.raises(ValueError, match="layers is given twice"):
        PathGCNClassifier(layers=2, settings={"layers": 3}).fit(*moons)
    with pytest.raises(ValueError, match="seed is no setting of its own here"):
        PathGCNClassifier(settings={"seed": 3}).fit(*moons)


def test_names_of_columns_are_kept():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed (Debian: apt-get install python3-pandas)")
    X, y = load_iris(return_X_y=True)
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    fitted = PathGCNClassifier(epochs=20).fit(frame, y)
    assert list(fitted.feature_names_in_) == fitted.model_.feature_names == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame.rename(columns={"a": "z"}))


# ---- nodes of a graph -------------------------------------------------------------------------------


def test_karate_is_learnt_from_six_labels(karate):
    X, y, graph = karate
    fitted = PathGCNClassifier(validation=0).fit(X, hidden(y, KNOWN), adjacency=graph)
    assert fitted.model_.network == "pathgcn"
    assert fitted.score(X, y) > 0.9
    assert fitted.n_iter_ == 200
    assert np.array_equal(fitted.predict(X), fitted.transduction_)
    assert np.array_equal(fitted.predict(), fitted.transduction_)
    assert np.array_equal(fitted.predict_proba(X), fitted.label_distributions_)
    assert np.array_equal(fitted.predict_proba(X, adjacency=graph), fitted.label_distributions_)


def test_recipes_race_where_there_are_labels_to_validate(karate):
    X, y, graph = karate
    known = np.flatnonzero(np.arange(34) % 3)
    fitted = PathGCNClassifier().fit(X, hidden(y, known), adjacency=graph)
    assert fitted.model_.recipe.startswith("any-")
    assert fitted.model_.scores["val"]["accuracy"] > 70
    assert fitted.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("missing", "names"),
    [(-1, None), (np.nan, None), (None, None), (None, ["Mr. Hi", "Officer"]), (-1, ["Mr. Hi", "Officer"])],
)
def test_unlabelled_is_minus_one_nan_or_none(karate, missing, names):
    X, y, graph = karate
    numbers = PathGCNClassifier(validation=0, epochs=30).fit(X, hidden(y, KNOWN), adjacency=graph)
    given = hidden(y, KNOWN, missing, names)
    for form in (given, list(given)):
        fitted = PathGCNClassifier(validation=0, epochs=30).fit(X, form, adjacency=graph)
        assert list(fitted.classes_) == (names or [0, 1])
        assert np.array_equal(fitted.label_distributions_, numbers.label_distributions_)
        assert list(fitted.transduction_) == list(fitted.classes_[numbers.transduction_])
        assert fitted.score(X, form) == numbers.score(X, hidden(y, KNOWN))


def test_the_score_ignores_unlabelled_nodes(karate):
    X, y, graph = karate
    fitted = PathGCNClassifier(validation=0, epochs=30).fit(X, hidden(y, KNOWN), adjacency=graph)
    right = np.flatnonzero(fitted.transduction_ == y)
    assert fitted.score(X, hidden(y, right)) == 1.0
    with pytest.raises(ValueError, match="y has no class to score with"):
        fitted.score(X, np.full(34, -1))


def test_few_labels_are_told_and_all_of_them_train(karate):
    X, y, graph = karate
    with pytest.warns(UserWarning, match="y has 6 labels of 2 classes, too few to validate: .* for 7 epochs"):
        fitted = PathGCNClassifier(epochs=7).fit(X, hidden(y, KNOWN), adjacency=graph)
    assert fitted.n_iter_ == fitted.model_.info["epoch"] == 7
    with pytest.warns(UserWarning, match="too few to validate"):
        PathGCNClassifier(epochs=7, patience=3).fit(X, hidden(y, KNOWN), adjacency=graph)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PathGCNClassifier(epochs=7, validation=0).fit(X, hidden(y, KNOWN), adjacency=graph)


def test_a_rare_class_trains_and_the_others_validate(moons):
    X, y = moons
    y = y.copy()
    y[:3] = 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = PathGCNClassifier(epochs=20).fit(X, y)
    assert list(fitted.classes_) == [0, 1, 2]
    assert fitted.model_.scores["val"]["accuracy"] > 0
    part = validation_part(y, 3, 0.2, 0)
    counts = [int(part[y == number].sum()) for number in (0, 1, 2)]
    assert counts == [round(0.2 * (y == 0).sum()), round(0.2 * (y == 1).sum()), 0]


def test_another_graph_is_predicted(karate):
    X, y, graph = karate
    fitted = PathGCNClassifier(recipe="any-alike", epochs=50).fit(X, y, adjacency=graph)
    first = sparse.block_diag([graph, graph]).tocsr()
    twice = fitted.predict_proba(sparse.vstack([X, X]), adjacency=first)
    assert np.allclose(twice[:34], fitted.label_distributions_, atol=1e-6)
    assert np.allclose(twice[:34], twice[34:], atol=1e-6)


def test_links_as_features_are_of_the_fitted_graph_only(karate):
    X, y, graph = karate
    fitted = PathGCNClassifier(recipe="any-links", epochs=5).fit(X, y, adjacency=graph)
    assert fitted.predict(X).shape == (34,)
    with pytest.raises(ValueError, match="any-links, reads the fitted nodes' own links"):
        fitted.predict(X, adjacency=graph)


def test_a_graph_without_features(karate):
    _, y, graph = karate
    fitted = PathGCNClassifier(validation=0, epochs=20).fit(None, hidden(y, KNOWN), adjacency=graph)
    assert fitted.predict().shape == (34,)
    assert fitted.predict_proba(None, adjacency=graph).shape == (34, 2)
    with pytest.raises(ValueError, match="fitted without features"):
        fitted.predict(np.eye(34))


def test_a_fitted_graph_does_not_follow_changes_of_the_array(karate):
    X, y, graph = karate
    X = np.array(X.toarray() if sparse.issparse(X) else X)
    fitted = PathGCNClassifier(validation=0, epochs=5).fit(X, hidden(y, KNOWN), adjacency=graph)
    assert fitted.predict(sparse.csr_matrix(X)).shape == (34,)
    X[0, 0] += 1
    with pytest.raises(ValueError, match="X is not what was fitted"):
        fitted.predict(X)


# ---- neighbours -------------------------------------------------------------------------------------


def test_neighbours_beat_logistic_regression_on_two_moons(moons):
    X, y = moons
    known = np.arange(40)
    joined = PathGCNClassifier(adjacency="knn", validation=0).fit(X, hidden(y, known))
    line = LogisticRegression().fit(X[known], y[known])
    assert (joined.transduction_ == y)[40:].mean() > line.score(X[40:], y[40:]) + 0.05
    new, classes = make_moons(200, noise=0.1, random_state=1)
    assert joined.score(new, classes) > line.score(new, classes) + 0.05


def test_new_rows_do_not_change_each_other(moons):
    joined = PathGCNClassifier(adjacency="knn", epochs=30).fit(*moons)
    new = make_moons(50, noise=0.1, random_state=1)[0]
    one_by_one = np.concatenate([joined.predict_proba(row[None]) for row in new])
    assert np.array_equal(joined.predict_proba(new), one_by_one)


def test_the_graph_of_neighbours_is_symmetric(moons):
    joined = PathGCNClassifier(adjacency="knn", n_neighbors=4, epochs=2).fit(*moons)
    assert (joined.adjacency_ != joined.adjacency_.T).nnz == 0
    assert joined.adjacency_.diagonal().sum() == 0
    assert joined.adjacency_.sum(axis=1).min() >= 4


def test_neighbours_of_sparse_rows(moons):
    X, y = moons
    joined = PathGCNClassifier(adjacency="knn", epochs=5).fit(sparse.csr_matrix(X), y)
    assert joined.predict(sparse.csr_matrix(X[:7])).shape == (7,)


# ---- what is wrong is told --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda X, y, A: (X, y[:-1], A), "y has 33 entries for 34 nodes"),
        (lambda X, y, A: (X, np.stack([y, y], axis=1), A), r"y has shape \(34, 2\), expected one class per node"),
        (lambda X, y, A: (X, y, A[:10]), r"the adjacency has shape \(10, 34\), expected \[n, n\]"),
        (lambda X, y, A: (X, y, A[:10, :10]), r"the adjacency has shape \(10, 10\) and X has 34 rows"),
        (lambda X, y, A: (X, np.zeros(34, int), A), "y has only one class among its labels"),
        (lambda X, y, A: (X, np.full(34, -1), A), "y has no class at all among its labels"),
        (lambda X, y, A: (X, np.where(y > 0, "-1", "a"), A), "y has the text '-1'; give None"),
        (lambda X, y, A: (X, y + 0.5, A), "y has numbers that are not whole"),
        (lambda X, y, A: (X, None, A), "requires y to be passed"),
    ],
)
def test_wrong_nodes_are_told_in_a_sentence(karate, change, sentence):
    X, y, graph = change(*karate)
    with pytest.raises(ValueError, match=sentence):
        PathGCNClassifier(epochs=2).fit(X, y, adjacency=graph)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"adjacency": "nearest"}, "the parameter adjacency is 'nearest', expected None or 'knn'"),
        ({"adjacency": np.eye(3)}, r"is an array of shape \(3, 3\), expected None or 'knn'; a graph is given to fit"),
        ({"adjacency": "knn", "n_neighbors": 300}, "n_neighbors is 300, expected 1 to 299"),
        ({"validation": 1}, "validation is 1, expected a share"),
        ({"channels": 0}, "channels"),
    ],
)
def test_wrong_parameters_are_told_by_fit(moons, parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        PathGCNClassifier(**parameters).fit(*moons)


@pytest.mark.parametrize(("adjacency", "how"), [(None, "without a graph"), ("knn", "with adjacency='knn'")])
def test_a_graph_to_predict_needs_a_fitted_one(moons, adjacency, how):
    fitted = PathGCNClassifier(adjacency=adjacency, epochs=2).fit(*moons)
    with pytest.raises(ValueError, match=f"was fitted {how} and takes no adjacency"):
        fitted.predict(moons[0], adjacency=np.eye(300))


def test_without_scikit_learn_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import pathgcn\n"
        "try:\n    pathgcn.PathGCNClassifier\n"
        "except ImportError as error:\n    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install scikit-learn" in said
