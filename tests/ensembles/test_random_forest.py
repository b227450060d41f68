"""Forests: trees by brute force and scikit-learn's, draws by chance, out-of-bag rows one by one."""

from __future__ import annotations

import inspect
import pickle
import warnings
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from scipy import sparse, stats
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier as PeerClassifier
from sklearn.tree import DecisionTreeRegressor as PeerRegressor

import suffice
from suffice import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from suffice.ensembles.forests.draws import Bootstrap
from suffice.sources import as_source
from tests.trees.oracle import (
    Table,
    Target,
    best_split,
    check_tree,
    goes_left,
    measurements,
    small_table,
    untied,
)

ALL = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]
EACH = pytest.mark.parametrize("cls", ALL)
BOTH = pytest.mark.parametrize("cls", [RandomForestClassifier, RandomForestRegressor])
CRITERIA = pytest.mark.parametrize(
    ("criterion", "classes"),
    [("gini", 2), ("gini", 3), ("gini", 7), ("entropy", 2), ("entropy", 7),
     ("squared_error", 0), ("poisson", 0)],
)  # fmt: skip
WHOLE = {"n_estimators": 1, "bootstrap": False, "max_features": None}
LIMITS = [
    {"max_depth": 4, "min_samples_leaf": 5},
    {"max_leaf_nodes": 8, "min_samples_leaf": 5},
    {"max_depth": 4, "min_samples_split": 30},
    {"min_weight_fraction_leaf": 0.04, "min_impurity_decrease": 0.002},
]


def kind(classes):
    return RandomForestClassifier if classes else RandomForestRegressor


def target(cls, n=150, seed=0):
    classes = 3 if is_classifier(cls()) else 0
    return measurements(np.random.default_rng(seed), classes=classes, n=n)[:2]


def said(model, X):
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)[:, None]


def left_out(model, X):
    """What trees that did not draw a row say about it, tree by tree."""
    sums, counts = 0.0, np.zeros((len(X), 1))
    for tree, drawn in zip(model.estimators_, model.estimators_samples_, strict=True):
        new = ~np.isin(np.arange(len(X)), drawn)[:, None]
        sums, counts = sums + new * said(tree, X), counts + new
    with np.errstate(invalid="ignore"):
        return sums / counts


def same(one, other):
    """Assert that two models have the same trees, to the bit."""
    for field in fields(one.forest_):
        a, b = getattr(one.forest_, field.name), getattr(other.forest_, field.name)
        np.testing.assert_array_equal(a, b, err_msg=field.name)


def in_order(tree):
    """The nodes of a tree from the left: column, threshold, rows, impurity, values."""
    found, ahead = [], [0]
    while ahead:
        t = ahead.pop()
        inner = tree.children_left[t] >= 0
        test = (tree.feature[t], tree.threshold[t]) if inner else (-2, -2.0)
        found.append([*test, tree.n_node_samples[t], tree.impurity[t], *tree.value[t, 0]])
        if inner:
            ahead += [tree.children_right[t], tree.children_left[t]]
    return np.array(found)


# --- trees ----------------------------------------------------------------------------------


@CRITERIA
@pytest.mark.parametrize("max_bins", [255, None])
def test_every_split_is_the_best_of_all(criterion, classes, max_bins):
    for seed in range(12):
        X, y, weight = small_table(np.random.default_rng(seed), classes=classes)
        if criterion == "poisson":
            y = np.maximum(y, 0.1)
        model = kind(classes)(criterion=criterion, max_bins=max_bins, **WHOLE).fit(X, y, weight)
        _, codes = np.unique(y, return_inverse=True)
        labels = (codes, weight, criterion, codes.max() + 1) if classes else (y, weight, criterion)
        check_tree(model.forest_[0], Table.of(X), Target(*labels))


@CRITERIA
@pytest.mark.parametrize(
    ("weighted", "limits"),
    [(True, {"min_samples_leaf": 5}), *((w, one) for w in (False, True) for one in LIMITS)],
    ids=str,
)
def test_the_tree_of_scikit_learn(criterion, classes, weighted, limits):
    missing = weighted and criterion != "poisson"  # of which the peer takes none

    def draw(rng):
        return measurements(rng, classes=classes, missing=missing, weighted=weighted)

    peer = (PeerClassifier if classes else PeerRegressor)(criterion=criterion, **limits)
    (X, y, weight), expected = untied(peer, draw)
    model = kind(classes)(criterion=criterion, max_bins=None, **WHOLE, **limits).fit(X, y, weight)
    np.testing.assert_allclose(
        in_order(model.forest_[0]), in_order(expected), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(said(model, X), said(peer.fit(X, y, weight), X), rtol=1e-9)


@pytest.mark.compiled
@CRITERIA
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n", [40, 700, 6000])
def test_the_root_is_the_best_where_bins_are_values(criterion, classes, missing, n):
    rng = np.random.default_rng(n)
    X = np.stack([rng.permutation(np.arange(n) % k) for k in (2, 40, 255)], axis=1).astype(float)
    score = X[:, 1] / 20 + np.sin(X[:, 2] / 40) + rng.normal(size=n)
    y = np.digitize(score, np.linspace(0, 2, classes - 1)) if classes else np.exp(score)
    if missing:
        X[rng.random(n) < np.where(score > 1, 0.4, 0.05), 2] = np.nan
    weight = rng.integers(512, 2048, n) / 1024
    model = kind(classes)(criterion=criterion, max_depth=1, min_samples_leaf=5, **WHOLE)
    tree = model.fit(X, y, weight).forest_[0]
    table, of = Table.of(X), Target(y, weight, criterion, classes)
    best, _ = best_split(table, np.arange(n), of, min_samples_leaf=5)
    left = goes_left(tree, 0, table, np.arange(n))
    assert min(left.sum(), n - left.sum()) >= 5
    assert of.costs(np.stack([left, ~left]), np.arange(n)).sum() == pytest.approx(best, rel=1e-9)


def test_cuts_at_random_are_uniform():
    x = np.sort(np.random.default_rng(0).random(4000) ** 2)[:, None]
    options = {"max_depth": 1, "n_estimators": 600, "max_bins": None, "random_state": 0}
    model = ExtraTreesRegressor(**options).fit(x, np.arange(4000.0))
    cuts = model.forest_.threshold[model.forest_.starts[:-1]]
    assert stats.kstest(cuts, stats.uniform(x[0, 0], np.ptp(x)).cdf).pvalue > 0.01


@pytest.mark.parametrize("cls", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("n", [30, 240])
def test_columns_that_do_not_vary_are_not_counted(cls, n):
    rng = np.random.default_rng(0)
    X = np.full((n, 61), 3.0)
    X[:, 37] = rng.permutation(n)
    y = X[:, 37] % 16 < 8
    model = cls(n_estimators=10, max_features=1, bootstrap=False, random_state=0).fit(X, y)
    assert all(tree.score(X, y) == 1.0 for tree in model.estimators_)
    assert model.feature_importances_[37] == 1.0


@EACH
def test_columns_drawn_once_for_each_tree(cls):
    X, y = np.random.default_rng(0).normal(size=(120, 9)), target(cls, 120)[1]
    options = {"feature_sampling": "tree", "n_estimators": 300, "random_state": 0}
    model = cls(max_features=2, **options).fit(X, y)
    tested = [set(tree.feature[tree.feature >= 0].tolist()) for tree in model.forest_]
    assert model.max_features_ == 2
    assert {len(some) for some in tested} == {2}
    times = np.bincount([j for some in tested for j in some], minlength=9)
    assert stats.chisquare(times).pvalue > 0.01


def test_a_node_looks_at_columns_drawn_at_random():
    X = np.random.default_rng(0).permuted(np.tile(np.arange(50.0), (6, 1)), axis=1).T
    model = RandomForestRegressor(500, max_features=1, max_depth=1, random_state=0)
    forest = model.fit(X, X[:, 0]).forest_
    times = np.bincount(forest.feature[forest.starts[:-1]], minlength=6)
    assert stats.chisquare(times).pvalue > 0.01


# --- draws ----------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_drawn_in_proportion_to_their_weights(weighted):
    weight = np.random.default_rng(0).uniform(0.2, 3, 50) if weighted else None
    cumulative = np.empty(0) if weight is None else np.cumsum(weight)
    draws = Bootstrap(5, 50, 70, cumulative, np.empty(0, np.int64), 50, "")
    counts = np.array([draws.counts(tree) for tree in range(2000)])
    assert (counts.sum(axis=1) == 70).all()
    share = np.ones(50) / 50 if weight is None else weight / weight.sum()
    assert stats.chisquare(counts.sum(axis=0), share * 70 * 2000).pvalue > 0.01
    zero = (counts == 0).sum(axis=0)
    expected = (1 - share) ** 70 * 2000
    assert (np.abs(zero - expected) < 4.5 * np.sqrt(expected)).all()
    assert abs(np.corrcoef(counts[:-1, 0], counts[1:, 0])[0, 1]) < 4 / np.sqrt(2000)
    np.testing.assert_array_equal(draws.counts(1234), counts[1234])


@BOTH
def test_how_many_rows_are_drawn(cls):
    X, y = target(cls, 60)
    for max_samples, n in ((None, 60), (7, 7), (0.5, 30), (100, 100), (0.001, 1), (1.5, 90)):
        model = cls(3, max_samples=max_samples, random_state=0).fit(X, y)
        assert [len(drawn) for drawn in model.estimators_samples_] == [n, n, n]
    for tree, drawn in zip(model.forest_, model.estimators_samples_, strict=True):
        assert tree.n_node_samples[0] == len(np.unique(drawn))
        assert tree.weighted_n_node_samples[0] == len(drawn)


@BOTH
def test_a_tree_is_that_of_the_rows_it_drew(cls):
    """Weights are how often rows were drawn: a tree without draws of its own, with them."""
    X, y = target(cls)
    options = {"max_features": None, "min_samples_leaf": 3}
    model = cls(4, random_state=0, **options).fit(X, y)
    for tree, drawn in zip(model.estimators_, model.estimators_samples_, strict=True):
        times = np.bincount(drawn, minlength=len(y))
        labels = np.unique(y, return_inverse=True)[1] if is_classifier(cls()) else y
        table, some = Table.of(X[times > 0]), times[times > 0].astype(float)
        n_classes = 3 if is_classifier(cls()) else 0
        of = Target(labels[times > 0], some, model.criterion, n_classes)
        check_tree(tree.tree_, table, of, min_samples_leaf=3)


# --- the same at any time -------------------------------------------------------------------


@EACH
def test_the_same_on_any_number_of_threads(cls):
    X, y = target(cls, 400)
    options = {"bootstrap": True, "oob_score": True, "n_estimators": 20, "random_state": 3}
    models = [cls(n_jobs=n, **options).fit(X, y) for n in (1, 2, 4)]
    queries = np.tile(X, (12, 1))
    for other in models[1:]:
        same(models[0], other)
        assert other.oob_score_ == models[0].oob_score_
        np.testing.assert_array_equal(said(other, queries), said(models[0], queries))
    assert (said(cls(**options | {"random_state": 4}).fit(X, y), X) != said(other, X)).any()


@EACH
def test_files_give_the_forest_of_an_array(cls, tmp_path):
    X, y = target(cls, 300)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(y=y)
    frame[:110].to_parquet(tmp_path / "1.parquet")
    frame[110:].to_parquet(tmp_path / "2.parquet")
    source = suffice.scan(tmp_path / "*.parquet", target="y")
    options = {"n_estimators": 15, "random_state": 0, "bootstrap": True, "oob_score": True}
    ours, streamed = cls(**options).fit(X, y), cls(**options).fit(source)
    same(ours, streamed)
    assert streamed.oob_score_ == ours.oob_score_
    np.testing.assert_array_equal(said(streamed, source), said(ours, X))


@EACH
def test_trees_added_later_are_those_of_one_fit(cls):
    X, y = target(cls)
    options = {"bootstrap": True, "oob_score": True, "random_state": 7}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = cls(5, warm_start=True, **options).fit(X, y)
        whole = cls(12, **options).fit(X, y)
        model.set_params(n_estimators=12).fit(X, y)
    same(model, whole)
    assert model.oob_score_ == whole.oob_score_
    np.testing.assert_array_equal(model.estimators_samples_, whole.estimators_samples_)
    with pytest.raises(ValueError, match="n_estimators=11 must be larger or equal to the 12"):
        model.set_params(n_estimators=11).fit(X, y)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        model.set_params(n_estimators=12, oob_score=False).fit(X, y)
    with pytest.raises(ValueError, match="columns"):
        model.set_params(n_estimators=13).fit(X[:, :3], y)


@EACH
def test_other_rows_are_not_judged_out_of_bag(cls):
    X, y = target(cls, 60)
    options = {"warm_start": True, "bootstrap": True, "random_state": 0}
    model = cls(30, oob_score=True, **options).fit(X, y)
    model.set_params(n_estimators=40)
    for others in ((X[::-1], y), (2 * X, y), (X, y[::-1])):
        with pytest.raises(ValueError, match="drew other rows"):
            model.fit(*others)
    model.set_params(oob_score=False).fit(X[::-1], y[::-1])
    assert model.draws_ is None


@pytest.mark.parametrize("cls", [RandomForestClassifier, ExtraTreesClassifier])
def test_probabilities_are_the_mean_itself(cls):
    X, y = target(cls)
    model = cls(7, max_depth=3, random_state=0).fit(X, y)
    total = np.zeros((len(X), 3))
    for tree in model:
        total += tree.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), total / 7)


@BOTH
def test_warnings_point_at_the_caller(cls):
    X, y = target(cls, 60)
    with pytest.warns(UserWarning, match=r"max_samples=0.5 of a total weight of 1 makes") as found:
        cls(2, max_samples=0.5).fit(X, y, np.full(60, 1 / 60))
    with pytest.warns(UserWarning, match=r"\d+ of 60 rows were drawn for every member") as seen:
        model = cls(2, oob_score=True, warm_start=True, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="there are 2 members already") as same_number:
        model.set_params(oob_score=False).fit(X, y)
    assert {one.filename for some in (found, seen, same_number) for one in some} == {__file__}


@EACH
def test_some_of_the_trees(cls):
    X, y = target(cls, 60)
    model = cls(5, random_state=0).fit(X, y)
    assert not hasattr(model[0], "certificate_")
    assert not hasattr(model[0], "trace_")
    for one, other in zip(model[3:0:-2], [model[3], model[1]], strict=True):
        np.testing.assert_array_equal(said(one, X), said(other, X))
    np.testing.assert_array_equal(said(model[-1], X), said(model[4], X))


@EACH
def test_models_are_stored(cls, tmp_path):
    X, y = target(cls)
    X[::7, 1] = np.nan
    model = cls(8, random_state=0).fit(X, y)
    suffice.save(model, tmp_path / "model")
    for other in (suffice.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        same(model, other)
        np.testing.assert_array_equal(said(other, X), said(model, X))


# --- out-of-bag -----------------------------------------------------------------------------


@EACH
@pytest.mark.parametrize("max_bins", [255, 9, None])
def test_out_of_bag_row_by_row(cls, max_bins):
    X, y = target(cls, 400)
    X[::9, 0] = np.nan
    options = {"bootstrap": True, "oob_score": True, "max_bins": max_bins, "random_state": 0}
    model = cls(25, **options).fit(X, y)
    expected = left_out(model, X)
    if is_classifier(model):
        np.testing.assert_allclose(model.oob_decision_function_, expected, atol=1e-14)
        assert model.oob_score_ == np.mean(expected.argmax(axis=1) == y)
    else:
        np.testing.assert_allclose(model.oob_prediction_, expected[:, 0], rtol=1e-12)
        assert model.oob_score_ == pytest.approx(r2_score(y, expected))


@BOTH
def test_rows_that_all_trees_drew(cls):
    X, y = target(cls, 60)
    model = cls(2, oob_score=lambda true, found: float(len(true)), random_state=0)
    with pytest.warns(UserWarning, match="do not have OOB scores"):
        model.fit(X, y)
    seen = np.isin(np.arange(60), np.intersect1d(*model.estimators_samples_))
    found = vars(model).get("oob_prediction_", vars(model).get("oob_decision_function_"))
    np.testing.assert_array_equal(np.isnan(found.reshape(60, -1)[:, 0]), seen)
    assert model.oob_score_ == 60 - seen.sum()


@pytest.mark.compiled
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits, load_diabetes])
def test_out_of_bag_error_is_that_of_new_rows(load):
    X, y = load(return_X_y=True)
    options = {"oob_score": True, "random_state": 0}
    if load is load_diabetes:
        model = RandomForestRegressor(500, max_features=0.4, **options).fit(X[::2], y[::2])
        known, new = (model.oob_prediction_ - y[::2]) ** 2, (model.predict(X[1::2]) - y[1::2]) ** 2
    else:
        model = RandomForestClassifier(500, **options).fit(X[::2], y[::2])
        known = model.oob_decision_function_.argmax(axis=1) != y[::2]
        new = model.predict(X[1::2]) != y[1::2]
    error = np.sqrt(known.var() / len(known) + new.var() / len(new))
    assert abs(known.mean() - new.mean()) < 2 * error


@pytest.mark.compiled
@BOTH
def test_a_column_of_noise_is_worth_nothing(cls):
    rng = np.random.default_rng(0)
    X = np.stack([rng.integers(0, 2, 400), rng.normal(size=400)], axis=1)
    y = np.where(rng.random(400) < 0.2, 1 - X[:, 0], X[:, 0])
    y = y if is_classifier(cls()) else y + rng.normal(size=400) / 4
    model = cls(300, max_features=1, min_samples_leaf=5, random_state=0).fit(X, y)
    assert model.feature_importances_[1] > 0.2
    found = model.oob_permutation_importance(X, y)
    assert found.importances.shape == (2, 300)
    np.testing.assert_allclose(found.importances_mean, found.importances.mean(axis=1))
    # Trees share rows, so these and not the trees tell how far the mean may be off.
    error = 1 / np.sqrt(400) * (0.4 if is_classifier(model) else np.std((y - X[:, 0]) ** 2))
    assert abs(found.importances_mean[1]) < 3 * error
    assert found.importances_mean[0] > 5 * error
    with pytest.raises(ValueError, match="399 rows"):
        model.oob_permutation_importance(X[1:], y[1:])
    with pytest.raises(ValueError, match="bootstrap=True"):
        cls(2, bootstrap=False).fit(X, y).oob_permutation_importance(X, y)


def test_targets_of_permuted_columns_are_checked(tmp_path):
    X, y = target(RandomForestRegressor, 60)
    labels = np.where(y > y.mean(), "high", "low")
    model = RandomForestRegressor(5, random_state=0).fit(X, y)
    classes = RandomForestClassifier(5, random_state=0).fit(X, labels)
    expected = model.oob_permutation_importance(X, y).importances
    with pytest.warns(DataConversionWarning):
        column = model.oob_permutation_importance(X, y[:, None])
    np.testing.assert_array_equal(column.importances, expected)
    pd.DataFrame(X).add_prefix("x").assign(y=y).to_parquet(tmp_path / "1.parquet")
    source = suffice.scan(tmp_path / "1.parquet", target="y")
    streamed = RandomForestRegressor(5, random_state=0).fit(source)
    found = streamed.oob_permutation_importance(source).importances
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="NaN"):
        model.oob_permutation_importance(X, np.where(y > 0, np.nan, y))
    with pytest.raises(ValueError, match="the label 'none', which the rows of the fit had not"):
        classes.oob_permutation_importance(X, np.where(y > 0, "none", labels))


# --- classes --------------------------------------------------------------------------------


def test_votes_are_shares_of_trees():
    X, y = load_iris(return_X_y=True)
    options = {"max_depth": 2, "voting": "hard", "oob_score": True, "random_state": 0}
    model = RandomForestClassifier(40, **options).fit(X, y)
    votes = np.array([tree.predict_proba(X).argmax(axis=1) for tree in model.estimators_])
    shares = (votes[:, :, None] == np.arange(3)).mean(axis=0)
    np.testing.assert_allclose(model.predict_proba(X), shares, atol=1e-15)
    np.testing.assert_array_equal(model.predict(X), shares.argmax(axis=1))
    new = np.array([~np.isin(np.arange(150), drawn) for drawn in model.estimators_samples_])
    expected = ((votes[:, :, None] == np.arange(3)) & new[:, :, None]).sum(axis=0)
    expected = expected / new.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.oob_decision_function_, expected, atol=1e-15)


def test_weights_of_classes():
    X, y = load_iris(return_X_y=True)
    X, y = X[:120, :2], np.array(["a", "b", "c"])[y[:120]]
    whole = {**WHOLE, "max_depth": 3}
    peer = PeerClassifier(max_depth=3, class_weight="balanced", random_state=0).fit(X, y)
    for weight in ("balanced", "balanced_subsample", {"a": 0.8, "b": 0.8, "c": 2.0}):
        model = RandomForestClassifier(class_weight=weight, **whole).fit(X, y)
        tree = model.forest_[0]
        np.testing.assert_allclose(tree.value[0, 0], [1 / 3, 1 / 3, 1 / 3])
        assert tree.impurity[0] == pytest.approx(peer.tree_.impurity[0])
    model = RandomForestClassifier(20, class_weight="balanced_subsample", random_state=0)
    roots = model.fit(X, y).forest_.value[model.forest_.starts[:-1], 0]
    np.testing.assert_allclose(roots, 1 / 3)
    model.set_params(class_weight="balanced").fit(X, y)
    roots = model.forest_.value[model.forest_.starts[:-1], 0]
    assert roots.std() > 0.01
    np.testing.assert_allclose(roots.mean(axis=0), 1 / 3, atol=4 * roots.std() / np.sqrt(20))


def test_a_class_that_a_tree_did_not_draw():
    X, y = load_iris(return_X_y=True)
    y = np.where(np.arange(150) == 140, 9, y)
    model = RandomForestClassifier(30, random_state=0, class_weight="balanced_subsample").fit(X, y)
    drawn = np.array([140 in some for some in model.estimators_samples_])
    assert 0 < drawn.sum() < 30
    leaves = np.array([tree.predict_proba(X)[:, 3].max() for tree in model.estimators_])
    np.testing.assert_array_equal(leaves > 0, drawn)
    np.testing.assert_array_equal(model.classes_, [0, 1, 2, 9])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


# --- columns --------------------------------------------------------------------------------


def places(n=500, cities=300):
    """Text with gaps, of more categories than there are bins in a byte, and numbers."""
    rng = np.random.default_rng(0)
    city, size = rng.permutation(np.arange(n) % cities), rng.normal(size=n)
    small = rng.integers(0, 6, n)
    score = np.sin(city) + 0.5 * (small % 2) + size / 2 + rng.normal(size=n) / 4
    frame = pd.DataFrame({"city": [f"city {k:03}" for k in city], "size": size})
    frame["kind"] = pd.Series([*"abcdef"])[small].to_numpy()
    frame.loc[rng.random(n) < 0.1, "city"] = np.nan
    frame.loc[rng.random(n) < 0.1, "kind"] = np.nan
    frame.loc[rng.random(n) < 0.1, "size"] = np.nan
    return frame, score


@BOTH
def test_splits_of_categories_are_the_best_of_all(cls):
    frame, y = places()
    classes = 2 if is_classifier(cls()) else 0
    y = (y > 0.2).astype(int) if classes else y
    limits = {"min_samples_leaf": 20, "max_depth": 3}
    model = cls(**WHOLE, **limits, max_bins=None).fit(frame, y)
    weight = np.ones(len(y))
    table = Table.of(frame)
    check_tree(model.forest_[0], table, Target(y, weight, model.criterion, classes), **limits)
    assert 0 in model.forest_.feature


@EACH
def test_categories_of_which_a_forest_does_not_know(cls, tmp_path):
    frame, y = places()
    y = (y > 0.2).astype(int) if is_classifier(cls()) else y
    model = cls(20, random_state=0, ccp_alpha=1e-3).fit(frame, y)
    strange = frame.assign(city="Wien")
    missing = frame.assign(city=np.array([np.nan] * 500, object))
    np.testing.assert_array_equal(said(model, strange), said(model, missing))
    expected = np.mean([said(tree, frame) for tree in model.estimators_], axis=0)
    np.testing.assert_allclose(said(model, frame), expected, atol=1e-12)
    assert model.score(frame, y) > 0.6
    suffice.save(model, tmp_path / "model")
    np.testing.assert_array_equal(said(suffice.load(tmp_path / "model"), frame), said(model, frame))
    both = model + cls(5, random_state=1).fit(frame, y)
    expected = np.mean([said(tree, frame) for tree in both.estimators_], axis=0)
    np.testing.assert_allclose(said(both, frame), expected, atol=1e-12)


@EACH
def test_sparse_rows_are_those_of_an_array(cls):
    X, y = target(cls)
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense, thin = (cls(10, random_state=0).fit(rows, y) for rows in (X, sparse.csr_matrix(X)))
    same(dense, thin)
    np.testing.assert_array_equal(said(thin, sparse.csr_matrix(X)), said(dense, X))
    np.testing.assert_array_equal(said(thin[0], sparse.csr_matrix(X)), said(dense[0], X))
    source = as_source(sparse.csr_matrix(X), y)
    assert thin.score(source) == pytest.approx(dense.score(X, y), rel=1e-12)


@EACH
def test_what_is_missing_may_tell_the_target(cls):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    X[y == 1, 0] = np.nan
    model = cls(20, max_features=None, random_state=0).fit(X, y)
    queries = np.array([[0.0, 0.0], [np.nan, 0.0]])
    np.testing.assert_allclose(said(model, queries)[:, -1], [0, 1], atol=0.2)
    assert model.score(X, y) > 0.95


@EACH
def test_leaves_and_paths(cls):
    X, y = target(cls)
    model = cls(6, random_state=0).fit(X, y)
    leaves = model.apply(X)
    np.testing.assert_array_equal(leaves.T, [tree.apply(X) for tree in model.estimators_])
    paths, starts = model.decision_path(X)
    at = paths[np.arange(len(X))[:, None], leaves + starts[:-1]]
    assert (np.asarray(at.todense() if sparse.issparse(at) else at) == 1).all()
    np.testing.assert_allclose(
        said(model, X), np.mean([said(tree, X) for tree in model.estimators_], axis=0), atol=1e-12
    )


# --- two forests ----------------------------------------------------------------------------


@EACH
def test_forests_are_added(cls):
    X, y = target(cls)
    options = {"bootstrap": True, "oob_score": True, "n_jobs": 1}
    a = cls(20, random_state=0, **options).fit(X[:75], y[:75])
    b = cls(30, random_state=1, **options).fit(X[75:], y[75:])
    before = said(a, X)
    for both in (a + b, sum([a, b])):
        assert len(both) == both.n_estimators == 50
        np.testing.assert_allclose(said(both, X), 0.4 * before + 0.6 * said(b, X), atol=1e-12)
        assert not hasattr(both, "oob_score_")
        assert not hasattr(both, "estimators_samples_")
        assert both.certificate_.holds
    np.testing.assert_array_equal(said(a, X), before)
    assert len(a) == 20
    with pytest.raises(ValueError, match="columns"):
        a + cls(2).fit(X[:, :3], y)
    if is_classifier(a):
        with pytest.raises(ValueError, match="classes"):
            a + cls(2).fit(X, y + 1)
        with pytest.raises(ValueError, match="voting"):
            a + cls(2, voting="hard").fit(X, y)
    with pytest.raises(TypeError):
        a + 1


# --- scikit-learn's -------------------------------------------------------------------------


@EACH
def test_parameters_are_scikit_learns(cls):
    theirs = inspect.signature(getattr(sklearn.ensemble, cls.__name__)).parameters
    ours = inspect.signature(cls).parameters
    assert all(ours[name].default == theirs[name].default for name in theirs)
    extra = {"max_bins", "feature_sampling", "categorical"} | ({"voting"} & set(ours))
    assert set(ours) - set(theirs) == extra


def skewed(n=2000):
    """Amounts, a few of which have most of the variance, and a target that follows them."""
    X = np.random.default_rng(0).normal(size=(n, 4))
    X = np.sign(X) * np.abs(X) ** 5
    return X, X[:, 0] + 0.3 * X[:, 1]


def smooth(n=2000):
    X = np.random.default_rng(0).random((n, 1))
    return X, np.sin(60 * X[:, 0])


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("cls", "load", "margin"),
    [
        (RandomForestClassifier, load_digits, 0.005),
        (RandomForestClassifier, load_breast_cancer, 0.005),
        (ExtraTreesClassifier, load_digits, 0.005),
        (ExtraTreesClassifier, load_breast_cancer, 0.005),
        (RandomForestRegressor, load_diabetes, 0.01),
        (ExtraTreesRegressor, load_diabetes, 0.01),
        (RandomForestRegressor, skewed, 0.01),
        (ExtraTreesRegressor, skewed, 0.01),
        (RandomForestRegressor, smooth, 1e-4),
        (ExtraTreesRegressor, smooth, 1e-4),
    ],
)
def test_as_good_as_scikit_learns(cls, load, margin):
    X, y = load() if load in (skewed, smooth) else load(return_X_y=True)
    peer, better = getattr(sklearn.ensemble, cls.__name__), []
    seeds = 20 if load in (load_breast_cancer, load_diabetes) else 5  # of few rows, more draws
    for seed in range(seeds):
        X_fit, X_new, y_fit, y_new = train_test_split(X, y, test_size=0.4, random_state=seed)
        ours, theirs = (
            one(50, random_state=seed).fit(X_fit, y_fit).score(X_new, y_new) for one in (cls, peer)
        )
        better.append(ours - theirs)
    assert np.mean(better) > -margin


@pytest.mark.compiled
@pytest.mark.parametrize("cls", [RandomForestRegressor, ExtraTreesRegressor])
def test_bins_lose_little(cls):
    X, y = skewed(6000)
    exact, binned = (
        cls(20, max_bins=n, random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
        for n in (None, 255)
    )
    assert abs(exact - binned) < 0.01


def test_every_value_of_few_rows_is_a_bin():
    X, y = smooth(300)
    paths = {None: "between values", "auto": "between values", 255: "at most 255 a column"}
    models = {n: RandomForestRegressor(3, max_bins=n, random_state=0).fit(X, y) for n in paths}
    for n, model in models.items():
        assert model.certificate_.path.endswith(paths[n])
    same(models["auto"], models[None])
    model = RandomForestRegressor(2, max_features=1, random_state=0)
    X = np.random.default_rng(0).random(((1 << 14) + 1, 1))
    assert "bins, at most 255" in model.fit(X, X[:, 0]).certificate_.path
    weight = np.arange(len(X)) > 0  # a row of weight 0 does not exist
    assert "between values" in model.fit(X, X[:, 0], weight).certificate_.path


def test_trees_of_drawn_cuts_interpolate():
    """Means over cuts that lie anywhere between two values: Geurts et al. (2006), section 4."""
    x = np.sort(np.random.default_rng(0).uniform(0, 2 * np.pi, 20))
    model = ExtraTreesRegressor(2000, random_state=0).fit(x[:, None], np.sin(x))
    queries = np.linspace(x[0], x[-1], 500)
    found = model.predict(queries[:, None])
    assert len(np.unique(found)) > 490
    # Between neighbours, a cut is as likely to lie anywhere: the mean goes straight.
    np.testing.assert_allclose(found, np.interp(queries, x, np.sin(x)), atol=0.05)
    assert np.sqrt(np.mean((found - np.interp(queries, x, np.sin(x))) ** 2)) < 0.01
    np.testing.assert_allclose(model.predict(x[:, None]), np.sin(x), atol=1e-12)


# --- the least there may be -----------------------------------------------------------------


@EACH
def test_one_row_one_class_and_constant_columns(cls):
    X, y = target(cls, 30)
    alone = cls(3, random_state=0).fit(X[:1], y[:1])
    np.testing.assert_allclose(alone.predict(X), np.full(30, y[0]), rtol=1e-15)
    one = cls(3, random_state=0).fit(X, np.full(30, 2))
    np.testing.assert_array_equal(one.predict(X), np.full(30, 2))
    assert (np.diff(one.forest_.starts) == 1).all()
    np.testing.assert_array_equal(one.feature_importances_, np.zeros(4))
    flat = cls(1, bootstrap=False).fit(np.ones((30, 2)), y)
    usual = np.bincount(y) / 30 if is_classifier(flat) else [y.mean()]
    np.testing.assert_allclose(said(flat, X[:, :2]), np.tile(usual, (30, 1)))
    empty = cls(2, random_state=0).fit(np.full((30, 2), np.nan), y)
    assert np.isfinite(said(empty, X[:, :2])).all()


@EACH
def test_what_is_refused(cls):
    X, y = target(cls, 30)
    for name, value in (("oob_score", True), ("max_samples", 5)):
        with pytest.raises(ValueError, match=f"{name} needs bootstrap=True"):
            cls(bootstrap=False, **{name: value}).fit(X, y)
    beyond = X.copy()
    beyond[3, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        cls(2).fit(beyond, y)
    with pytest.raises(ValueError, match="infinity"):
        cls(2).fit(X, y).predict(beyond)
    if not is_classifier(cls()):
        for text in (np.full(30, "a"), np.full(30, "a", object)):
            with pytest.raises(ValueError, match="the target must hold numbers"):
                cls(2).fit(X, text)
    for wrong in ({"n_estimators": 0}, {"max_bins": 256}, {"feature_sampling": "node"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            cls(**wrong).fit(X, y)
