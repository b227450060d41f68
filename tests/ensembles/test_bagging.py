"""Bagging: members fitted by hand, out-of-bag by brute force, scikit-learn's on real data."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn.ensemble
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression as SklearnLinear
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB as SklearnNB
from sklearn.neighbors import KNeighborsRegressor as SklearnNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier as SklearnTree
from sklearn.tree import DecisionTreeRegressor as SklearnTreeRegressor

import suffice
from suffice import (
    BaggingClassifier,
    BaggingRegressor,
    C45Classifier,
    CategoricalNB,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GaussianNB,
    KNeighborsClassifier,
    LogisticRegression,
    OneVsRest,
    Perceptron,
    RandomForestClassifier,
    Ridge,
)
from suffice.ensembles.bagging.draws import MemberDraws
from suffice.preprocessing import ColumnTransformer, OneHotEncoder, StandardScaler
from tests.contract import contract

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CLASSIFIERS = {
    "tree": DecisionTreeClassifier(),
    "tree of drawn columns": DecisionTreeClassifier(max_features=1),
    "naive Bayes": GaussianNB(),
    "one against the rest": OneVsRest(GaussianNB()),
    "pipeline": make_pipeline(StandardScaler(), GaussianNB()),
    "neighbours": KNeighborsClassifier(),
    "perceptron": Perceptron(),
    "scikit-learn's tree": SklearnTree(),
    "scikit-learn's naive Bayes": SklearnNB(),
    "scikit-learn's machine": LinearSVC(),
}
REGRESSORS = {
    "tree": DecisionTreeRegressor(),
    "ridge": Ridge(),
    "pipeline": make_pipeline(StandardScaler(), Ridge()),
    "scikit-learn's tree": SklearnTreeRegressor(),
    "scikit-learn's neighbours": SklearnNeighbors(),
}
NO_WEIGHTS = (KNeighborsClassifier, Perceptron, SklearnNeighbors)
BOTH = pytest.mark.parametrize("cls", [BaggingClassifier, BaggingRegressor])


def rows(n=120, d=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, size=n)
    y[:k] = np.arange(k)
    return rng.normal(size=(n, d)) + rng.normal(size=(k, d))[y], y


def target(cls, n=120, seed=0):
    X, y = rows(n, seed=seed)
    return (X, y) if cls is BaggingClassifier else (X, X @ [1.0, -2.0, 0.5, 0.0] + np.sin(y))


def said(model, X):
    if isinstance(model, BaggingRegressor):
        return model.predict(X)
    return model.predict_proba(X)


def same(one, other, X):
    np.testing.assert_array_equal(said(one, X), said(other, X))
    assert len(one.estimators_) == len(other.estimators_)
    for a, b in zip(one.estimators_samples_, other.estimators_samples_, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(one.estimators_features_, other.estimators_features_, strict=True):
        np.testing.assert_array_equal(a, b)


def by_hand(model, X, y, m):
    """A member, fitted to the rows that it drew."""
    columns, drawn = model.estimators_features_[m], model.estimators_samples_[m]
    member = clone(model.estimators_[m])
    times = np.bincount(drawn, minlength=len(y))
    which = np.flatnonzero(times)
    if isinstance(member, NO_WEIGHTS):
        which = np.sort(drawn)
        return member.fit(X[which][:, columns], y[which])
    if hasattr(member, "steps"):
        return member.fit(suffice.sources.as_source(X[which][:, columns], y[which], times[which]))
    return member.fit(X[which][:, columns], y[which], sample_weight=times[which])


# --- members and their average --------------------------------------------------------------


@quiet
@pytest.mark.parametrize("options", [{}, {"max_features": 0.5, "max_samples": 0.6}], ids=str)
@pytest.mark.parametrize("base", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_members_are_classifiers_fitted_to_drawn_rows(base, options):
    X, y = rows()
    names = np.array(["größer", "a", "b c"], dtype=object)
    model = BaggingClassifier(base, 5, random_state=3, **options).fit(X, names[y])
    total = np.zeros((len(y), 3))
    for m, member in enumerate(model.estimators_):
        alone, some = by_hand(model, X, names[y], m), X[:, model.estimators_features_[m]]
        np.testing.assert_array_equal(alone.predict(some), member.predict(some))
        assert alone.classes_.tolist() == model.classes_.tolist()
        if hasattr(alone, "predict_proba"):
            total += alone.predict_proba(some)
        else:
            total += alone.predict(some)[:, None] == model.classes_
    np.testing.assert_allclose(model.predict_proba(X), total / 5, rtol=1e-14)
    np.testing.assert_array_equal(model.predict(X), model.classes_[total.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(model.predict_log_proba(X), np.log(total / 5), rtol=1e-10)
    assert len({seed_of(member) for member in model.estimators_}) in (1, 5)


def seed_of(member):
    return member.get_params().get("random_state")


@pytest.mark.parametrize("options", [{}, {"max_features": 2, "max_samples": 50}], ids=str)
@pytest.mark.parametrize("base", REGRESSORS.values(), ids=REGRESSORS)
def test_members_are_regressors_fitted_to_drawn_rows(base, options):
    X, y = target(BaggingRegressor)
    model = BaggingRegressor(base, 5, random_state=3, **options).fit(X, y)
    alone = [by_hand(model, X, y, m) for m in range(5)]
    found = [
        one.predict(X[:, columns])
        for one, columns in zip(alone, model.estimators_features_, strict=True)
    ]
    np.testing.assert_allclose(model.predict(X), np.mean(found, axis=0), rtol=1e-12)


def test_several_targets():
    X, y = target(BaggingRegressor)
    both = np.stack([y, -2 * y], axis=1)
    model = BaggingRegressor(Ridge(), 30, oob_score=True, random_state=0).fit(X, both)
    alone = BaggingRegressor(Ridge(), 30, oob_score=True, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X)[:, 0], alone.predict(X), rtol=1e-10)
    assert model.oob_prediction_.shape == both.shape
    with pytest.raises(ValueError, match="1d array"):
        BaggingRegressor().fit(X, both)


def test_votes():
    X, y = rows()
    tree = DecisionTreeClassifier(max_depth=2)
    model = BaggingClassifier(tree, 7, voting="hard", random_state=0).fit(X, y)
    votes = sum(one.predict(X)[:, None] == model.classes_ for one in model.estimators_)
    np.testing.assert_allclose(model.predict_proba(X), votes / 7, rtol=1e-15)
    soft = BaggingClassifier(tree, 7, random_state=0).fit(X, y)
    assert (soft.predict_proba(X) != model.predict_proba(X)).any()


def test_scores_are_averaged_where_members_have_any():
    X, y = rows()
    model = BaggingClassifier(LogisticRegression(), 4, random_state=0).fit(X, y)
    mean = np.mean([one.decision_function(X) for one in model.estimators_], axis=0)
    np.testing.assert_allclose(model.decision_function(X), mean, rtol=1e-12)
    assert not hasattr(BaggingClassifier().fit(X, y), "decision_function")


def test_logarithms_of_tiny_probabilities():
    X, y = rows()
    model = BaggingClassifier(GaussianNB(), 4, random_state=0).fit(X, y)
    far = np.full((1, 4), 1e4)
    assert model.predict_proba(far).min() == 0
    each = np.stack([one.predict_log_proba(far) for one in model.estimators_])
    expected = np.logaddexp.reduce(each) - np.log(4)
    np.testing.assert_allclose(model.predict_log_proba(far), expected, rtol=1e-12)


# --- draws ----------------------------------------------------------------------------------


def test_a_bootstrap_leaves_out_one_in_e():
    draws = MemberDraws(5, 2000, 1, 2000, 1, True, False)
    left_out = [np.mean(draws.multiplicities(m) == 0) for m in range(50)]
    assert abs(np.mean(left_out) - np.exp(-1)) < 0.005
    assert all(draws.multiplicities(m).sum() == 2000 for m in range(50))
    counts = sum(draws.multiplicities(m) for m in range(50))
    assert abs(counts.var() / 50 - 1) < 0.1  # Poisson, nearly


def test_rows_are_drawn_in_proportion_to_their_weights():
    weight = np.array([1.0, 2.0, 3.0, 0.5])
    draws = MemberDraws(1, 4, 1, 100_000, 1, True, False, weight)
    share = draws.multiplicities(0) / 100_000
    np.testing.assert_allclose(share, weight / weight.sum(), atol=0.01)


@BOTH
def test_a_weight_is_a_number_of_repetitions(cls):
    """The same draws, if as many are made and the repetitions follow one another."""
    X, y = target(cls)
    weight = np.random.default_rng(1).integers(0, 4, size=len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    model = cls(max_samples=1.0, random_state=0).fit(X, y, weight)
    other = cls(max_samples=1.0, random_state=0).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(said(model, X), said(other, X), rtol=1e-10)
    for ours, theirs in zip(model.estimators_samples_, other.estimators_samples_, strict=True):
        np.testing.assert_array_equal(ours, repeated[theirs])


@BOTH
def test_rows_of_weight_zero_do_not_exist(cls, tmp_path):
    X, y = target(cls)
    weight = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
    there = weight > 0
    X[~there, 0] = np.nan
    options = {"oob_score": True, "n_estimators": 30, "random_state": 0}
    model = cls(**options).fit(X, y, weight)
    rest = cls(**options).fit(X[there], y[there], weight[there])
    np.testing.assert_array_equal(said(model, X), said(rest, X))
    name = "oob_prediction_" if cls is BaggingRegressor else "oob_decision_function_"
    assert np.isnan(getattr(model, name)[~there]).all()
    np.testing.assert_array_equal(getattr(model, name)[there], getattr(rest, name))
    assert model.oob_score_ == rest.oob_score_
    assert all(there[some].all() for some in model.estimators_samples_)
    table = {f"x{j}": X[:, j] for j in range(4)} | {"y": y, "w": weight}
    pq.write_table(pa.table(table), tmp_path / "rows.parquet")
    source = suffice.scan(tmp_path / "rows.parquet", target="y", weight="w")
    streamed = cls(**options).fit(source)
    np.testing.assert_array_equal(said(streamed, source), said(model, X))
    np.testing.assert_array_equal(streamed.estimators_samples_, model.estimators_samples_)


@BOTH
def test_without_replacement_members_have_the_weights_themselves(cls):
    X, y = target(cls)
    weight = np.random.default_rng(1).uniform(0.1, 3, size=len(y))
    model = cls(bootstrap=False, max_samples=0.5, random_state=0).fit(X, y, weight)
    drawn = np.sort(model.estimators_samples_[0])
    assert len(drawn) == len(set(drawn)) == 60
    base = DecisionTreeClassifier() if cls is BaggingClassifier else DecisionTreeRegressor()
    alone = base.fit(X[drawn], y[drawn], weight[drawn])
    np.testing.assert_array_equal(model.estimators_[0].predict(X), alone.predict(X))
    whole = cls(clone(base), 1, bootstrap=False).fit(X, y, weight)
    np.testing.assert_array_equal(whole.predict(X), base.fit(X, y, weight).predict(X))
    if cls is BaggingClassifier:
        with pytest.warns(UserWarning, match="takes no weights"):
            cls(KNeighborsClassifier(), bootstrap=False).fit(X, y, weight)


def test_columns():
    X, y = rows(d=8)
    model = BaggingClassifier(max_features=3, n_estimators=20, random_state=0).fit(X, y)
    assert all(len(set(some)) == 3 for some in model.estimators_features_)
    assert {j for some in model.estimators_features_ for j in some} == set(range(8))
    twice = BaggingClassifier(max_features=1.0, bootstrap_features=True, random_state=0).fit(X, y)
    assert all(len(some) == 8 for some in twice.estimators_features_)
    assert any(len(set(some)) < 8 for some in twice.estimators_features_)
    assert twice.score(X, y) > 0.9
    # Which columns there are does not change the rows that are drawn.
    for one, other in zip(model.estimators_samples_, twice.estimators_samples_, strict=False):
        np.testing.assert_array_equal(one, other)


# --- out of bag -----------------------------------------------------------------------------


def left_out(model, X, method):
    """For each row, what the members say that did not see it."""
    n = len(X)
    found = []
    for i in range(n):
        each = [
            getattr(one, method)(X[i : i + 1][:, columns])[0]
            for one, columns, drawn in zip(
                model.estimators_,
                model.estimators_features_,
                model.estimators_samples_,
                strict=True,
            )
            if i not in drawn
        ]
        found.append(np.mean(each, axis=0) if each else np.nan)
    return found


def test_out_of_bag_probabilities():
    X, y = load_iris(return_X_y=True)
    X, y = X[::2], y[::2]
    model = BaggingClassifier(n_estimators=20, max_features=2, oob_score=True, random_state=0)
    model.fit(X, y)
    expected = np.array(left_out(model, X, "predict_proba"))
    np.testing.assert_allclose(model.oob_decision_function_, expected, rtol=1e-12)
    assert model.oob_score_ == np.mean(expected.argmax(axis=1) == y)
    model.set_params(oob_score=False).fit(X, y)
    assert not hasattr(model, "oob_score_")
    assert not hasattr(model, "oob_decision_function_")


def test_out_of_bag_predictions():
    X, y = target(BaggingRegressor, 60)
    model = BaggingRegressor(n_estimators=30, oob_score=True, random_state=0).fit(X, y)
    expected = np.array(left_out(model, X, "predict"))
    np.testing.assert_allclose(model.oob_prediction_, expected, rtol=1e-12)
    assert model.oob_score_ == pytest.approx(r2_score(y, expected), rel=1e-12)


@BOTH
def test_rows_that_every_member_saw_have_no_estimate(cls):
    X, y = target(cls, 40)
    model = cls(n_estimators=2, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="rows were drawn for every member"):
        model.fit(X, y)
    seen = np.isin(np.arange(40), model.estimators_samples_[0])
    seen &= np.isin(np.arange(40), model.estimators_samples_[1])
    name = "oob_prediction_" if cls is BaggingRegressor else "oob_decision_function_"
    found = getattr(model, name)
    np.testing.assert_array_equal(np.isnan(found.reshape(40, -1)[:, 0]), seen)
    assert np.isfinite(model.oob_score_)


@BOTH
def test_one_row_and_one_member(cls):
    X, y = target(cls)
    model = cls(n_estimators=1, oob_score=True)
    with pytest.warns(UserWarning, match="1 of 1 rows"):
        model.fit(X[:1], y[:1])
    assert np.isnan(model.oob_score_)
    np.testing.assert_array_equal(model.predict(X), np.full(len(y), y[0]))
    alone = cls(n_estimators=1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(alone.predict(X), alone.estimators_[0].predict(X))


# --- scikit-learn's -------------------------------------------------------------------------


@BOTH
def test_parameters_are_scikit_learns(cls):
    theirs = inspect.signature(getattr(sklearn.ensemble, cls.__name__)).parameters
    ours = inspect.signature(cls).parameters
    assert [*ours][: len(theirs)] == [*theirs]
    assert set(ours) - set(theirs) == ({"voting"} if cls is BaggingClassifier else set())
    assert all(ours[name].default == theirs[name].default for name in theirs)


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [{}, {"max_features": 0.4, "max_samples": 0.5}], ids=str)
@BOTH
def test_as_good_as_scikit_learns(cls, options):
    load = load_breast_cancer if cls is BaggingClassifier else load_diabetes
    X, y = load(return_X_y=True)
    if cls is BaggingClassifier:
        X, y = X[::2], y[::2]
    peer = getattr(sklearn.ensemble, cls.__name__)
    scores = {
        one: [
            one(n_estimators=25, oob_score=True, random_state=seed, **options).fit(X, y).oob_score_
            for seed in range(12)
        ]
        for one in (cls, peer)
    }
    ours, theirs = scores[cls], scores[peer]
    error = np.sqrt((np.var(ours) + np.var(theirs)) / 11)
    assert abs(np.mean(ours) - np.mean(theirs)) < 4 * error


@pytest.mark.compiled
def test_an_ensemble_is_better_than_one_tree():
    X, y = load_diabetes(return_X_y=True)
    alone = cross_val_score(DecisionTreeRegressor(), X, y).mean()
    bagged = cross_val_score(BaggingRegressor(n_estimators=30, random_state=0), X, y).mean()
    assert bagged > alone + 0.3


# --- the same at any time -------------------------------------------------------------------


@quiet
@BOTH
@pytest.mark.parametrize("part", [1, 4])
def test_members_added_later_are_those_of_one_fit(cls, part):
    X, y = target(cls)
    options = {"oob_score": True, "max_features": 0.5, "random_state": 7}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = cls(n_estimators=part, warm_start=True, **options).fit(X, y)
        kept = list(model.estimators_)
        model.set_params(n_estimators=9).fit(X, y)
        whole = cls(n_estimators=9, **options).fit(X, y)
    assert all(one is other for one, other in zip(kept, model.estimators_, strict=False))
    same(model, whole, X)
    assert model.oob_score_ == whole.oob_score_
    assert model.certificate_ == whole.certificate_
    assert model.trace_.step == ("rows", *(f"member {m}" for m in range(part, 9)))


def test_members_are_added_without_a_given_seed_too():
    X, y = rows()
    model = BaggingClassifier(n_estimators=3, warm_start=True).fit(X, y)
    first = model.estimators_samples_
    model.set_params(n_estimators=5).fit(X, y)
    for one, other in zip(first, model.estimators_samples_, strict=False):
        np.testing.assert_array_equal(one, other)
    with pytest.warns(UserWarning, match="there are .* members already"):
        assert len(model.fit(X, y).estimators_) == 5


def test_an_ensemble_goes_on_with_its_own_rows_alone():
    X, y = rows()
    model = BaggingClassifier(n_estimators=3, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=4)
    before = dict(vars(model))
    for other, message in [
        ((X[:-1], y[:-1]), "rows, weights"),
        ((X, np.minimum(y, 1)), "the classes"),
        ((X[:, 1:], y), "3 features"),
        ((X, y, np.arange(1.0, 121.0)), "rows, weights"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(*other)
        assert vars(model) == before
    with pytest.raises(ValueError, match="n_estimators=2 is less than the 3 members"):
        model.set_params(n_estimators=2).fit(X, y)
    assert len(model.set_params(warm_start=False).fit(X, y).estimators_) == 2


@quiet
@pytest.mark.parametrize("name", ["tree of drawn columns", "perceptron", "scikit-learn's tree"])
def test_threads_change_no_bit(name):
    X, y = rows(700)
    fits = []
    for threads in (1, 2):
        with suffice.config(threads=threads):
            model = BaggingClassifier(CLASSIFIERS[name], 6, oob_score=True, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                fits.append((model.fit(X, y), model.predict_proba(X)))
    (one, first), (other, second) = fits
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(one.oob_decision_function_, other.oob_decision_function_)
    same(one, other, X)


def test_the_generator_of_a_user_is_drawn_from():
    X, y = rows()
    state = np.random.RandomState(0)
    one = BaggingClassifier(random_state=state).fit(X, y)
    other = BaggingClassifier(random_state=state).fit(X, y)
    assert (one.predict_proba(X) != other.predict_proba(X)).any()
    same(one, BaggingClassifier(random_state=0).fit(X, y), X)


# --- rows of all kinds ----------------------------------------------------------------------


def people(n=150, seed=0):
    rng = np.random.default_rng(seed)
    city = rng.choice(["Ulm", "Bonn", "Köln", "Jena"], size=n).astype(object)
    age = rng.integers(18, 80, size=n)
    member = rng.random(n) < 0.5
    y = np.where((city == "Ulm") | (age > 60), "yes", "no")
    city[:3] = None
    frame = pd.DataFrame({"city": city, "age": age, "member": member, "noise": rng.normal(size=n)})
    return frame, y


@pytest.mark.parametrize("base", [DecisionTreeClassifier(), C45Classifier()], ids=str)
def test_text_columns(base, tmp_path):
    frame, y = people()
    model = BaggingClassifier(base, 12, max_features=3, random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["city", "age", "member", "noise"]
    assert model.score(frame, y) > 0.9
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        assert member.feature_names_in_.tolist() == frame.columns[columns].tolist()
    expected = model.predict_proba(frame)
    clean = frame.astype({"city": object})
    others = [pl.from_pandas(clean), pa.Table.from_pandas(clean)]
    for other in others:
        again = clone(model).fit(other, y)
        np.testing.assert_array_equal(again.predict_proba(other), expected)
    strange = frame.assign(city="Wien")
    assert np.isfinite(model.predict_proba(strange)).all()
    pq.write_table(pa.table({**clean, "y": y}), tmp_path / "people.parquet")
    source = suffice.scan(tmp_path / "people.parquet", target="y")
    streamed = clone(model).fit(source)
    np.testing.assert_array_equal(streamed.predict_proba(source), expected)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["age", "city", "member", "noise"]])


def test_text_through_a_pipeline():
    frame, y = people()
    frame["city"] = frame["city"].fillna("?")
    encoder = ColumnTransformer(
        [("city", OneHotEncoder(handle_unknown="ignore"), ["city"])], remainder="passthrough"
    )
    model = BaggingClassifier(make_pipeline(encoder, LogisticRegression()), 4, random_state=0)
    assert model.fit(frame, y).score(frame, y) > 0.8


def test_categories_that_a_member_did_not_see():
    cells = np.array([["a"]] * 30 + [["b"]] * 30 + [["rare"]], dtype=object)
    y = np.array([0] * 30 + [1] * 31)
    model = BaggingClassifier(CategoricalNB(), 10, random_state=0).fit(cells, y)
    assert any(60 not in drawn for drawn in model.estimators_samples_)
    assert np.isfinite(model.predict_proba(cells)).all()


def test_text_is_for_models_that_take_it():
    frame, y = people()
    for base in (GaussianNB(), SklearnTree()):
        with pytest.raises(ValueError, match="city"):
            BaggingClassifier(base).fit(frame, y)


def test_frames_of_numbers_for_models_of_other_libraries():
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = BaggingClassifier(SklearnTree(), random_state=0).fit(frame, y)
    plain = BaggingClassifier(SklearnTree(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(frame), plain.predict_proba(X))
    np.testing.assert_array_equal(model.predict(frame), model.predict(pl.from_pandas(frame)))


@pytest.mark.parametrize("base", [LogisticRegression(), LinearSVC(), KNeighborsClassifier()])
def test_sparse_rows(base):
    X, y = rows()
    X[np.abs(X) < 0.7] = 0
    options = {"max_features": 0.5, "oob_score": True, "random_state": 0, "n_estimators": 25}
    model = BaggingClassifier(base, **options).fit(X, y)
    thin = BaggingClassifier(base, **options).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(
        thin.predict_proba(sparse.csr_array(X)), model.predict_proba(X), atol=1e-6
    )
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        BaggingClassifier(C45Classifier()).fit(sparse.csr_array(X), y)


def test_missing_cells():
    X, y = rows()
    X[::7, 1] = np.nan
    assert BaggingClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    with pytest.raises(ValueError, match="NaN"):
        BaggingClassifier(LogisticRegression()).fit(X, y)


def test_float32():
    X, y = target(BaggingRegressor)
    model = BaggingRegressor(random_state=0).fit(X.astype(np.float32), y)
    assert model.predict(X.astype(np.float32)).dtype == np.float32


# --- classes --------------------------------------------------------------------------------


def test_a_class_that_a_member_did_not_see():
    X, y = rows(60, k=2)
    y[0] = 2  # one row of this class
    y = np.array(["no", "yes", "rare"], dtype=object)[y]
    for base in (DecisionTreeClassifier(), SklearnTree(), GaussianNB()):
        model = BaggingClassifier(base, 12, random_state=0).fit(X, y)
        assert model.classes_.tolist() == ["no", "rare", "yes"]
        known = [0 in drawn for drawn in model.estimators_samples_]
        assert len(set(known)) == 2
        assert [len(one.classes_) for one in model.estimators_] == [2 + one for one in known]
        found = model.predict_proba(X)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        rare = [
            one.predict_proba(X)[:, one.classes_.tolist().index("rare")]
            for one, sees in zip(model.estimators_, known, strict=True)
            if sees
        ]
        np.testing.assert_allclose(found[:, 1], np.sum(rare, axis=0) / 12, rtol=1e-12)
    model = BaggingClassifier(LogisticRegression(), 12, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"member \d+ was given rows of the classes.*alone"):
        model.decision_function(X)


def test_one_class():
    X, _ = rows()
    model = BaggingClassifier().fit(X, ["only"] * len(X))
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))
    y = np.array([0] * 119 + [1])
    with pytest.raises(ValueError, match=r"member \d+ was given rows of one class alone"):
        BaggingClassifier(LogisticRegression(), 20, random_state=0).fit(X, y)


# --- proofs, failures, files ----------------------------------------------------------------


def test_certificate():
    X, y = rows()
    model = BaggingClassifier(LogisticRegression(), 4, random_state=0).fit(X, y)
    assert model.certificate_.holds
    assert model.certificate_.proved == model.certificate_.members == 4
    with pytest.warns(ConvergenceWarning, match="BaggingClassifier.*member 0") as told:
        model = BaggingClassifier(LogisticRegression(max_iter=1), 4, random_state=0).fit(X, y)
    assert len(told) == 1
    assert not model.certificate_.holds
    assert model.certificate_.proved == 0
    assert "and 1 more members" in model.certificate_.notes
    theirs = BaggingClassifier(SklearnLogistic(), 2).fit(X, y)
    assert "proves nothing" in theirs.certificate_.claim


class Fails(ClassifierMixin, BaseEstimator):
    """A model that fails for one member."""

    def __init__(self, random_state=None, bad=None):
        self.random_state, self.bad = random_state, bad

    def fit(self, X, y):
        if self.random_state == self.bad:
            raise RuntimeError("bad luck")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_a_failing_member_leaves_the_ensemble_as_it_was():
    X, y = rows()
    model = BaggingClassifier(Fails(bad=-1), 5, random_state=0).fit(X, y)
    before = dict(vars(model))
    model.estimator.bad = model.estimators_[3].random_state
    with pytest.raises(RuntimeError, match="bad luck"):
        model.fit(X[:50], y[:50])
    assert vars(model) == before
    assert len(model.predict(X)) == len(X)


@BOTH
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"max_samples": 0.0}, "max_samples"),
        ({"max_samples": 1.5}, "max_samples"),
        ({"max_features": 0}, "max_features"),
        ({"max_features": 5}, "max_features=5 is more than the 4 columns"),
        ({"max_samples": 121, "bootstrap": False}, "more than the 120 rows"),
        ({"oob_score": True, "bootstrap": False}, "bootstrap=True"),
        ({"bootstrap": "no"}, "bootstrap"),
        ({"estimator": "tree"}, "estimator"),
        ({"estimator": StandardScaler()}, "estimator"),
    ],
    ids=str,
)
def test_bad_parameters(cls, options, message):
    X, y = target(cls)
    model = cls(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert vars(model).keys() == model.get_params(deep=False).keys()


def test_models_of_another_kind_are_refused():
    X, y = rows()
    with pytest.raises(ValueError, match="is no classifier"):
        BaggingClassifier(SklearnLinear()).fit(X, y)
    with pytest.raises(ValueError, match="is no regressor"):
        BaggingRegressor(GaussianNB()).fit(X, y)
    with pytest.raises(ValueError, match="voting"):
        BaggingClassifier(voting="loud").fit(X, y)
    with pytest.raises(NotFittedError):
        _ = BaggingClassifier().estimators_samples_


def test_few_draws_of_small_weights_are_told():
    X, y = rows()
    with pytest.warns(UserWarning, match="makes 1 draws"):
        BaggingClassifier(max_samples=0.5).fit(X, y, np.full(len(y), 1 / len(y)))


@quiet
@pytest.mark.parametrize("base", [None, KNeighborsClassifier(), CLASSIFIERS["pipeline"]])
def test_files(base, tmp_path):
    X, y = rows()
    options = {"max_features": 0.5, "oob_score": True, "n_estimators": 30, "random_state": 0}
    weight = np.arange(120.0)
    model = BaggingClassifier(base, **options).fit(X, y, weight)
    suffice.save(model, tmp_path / "model")
    for other in (suffice.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        same(model, other, X)
        np.testing.assert_array_equal(other.oob_decision_function_, model.oob_decision_function_)
        other.set_params(warm_start=True, n_estimators=31).fit(X, y, weight)
        same(
            other, BaggingClassifier(base, **(options | {"n_estimators": 31})).fit(X, y, weight), X
        )
    theirs = BaggingClassifier(SklearnTree()).fit(X, y)
    with pytest.raises(TypeError, match="not one of the models that files can hold"):
        theirs.save(tmp_path / "theirs")


@pytest.mark.parametrize(
    "damage",
    [
        {"estimators_": []},
        {"estimators_": "none"},
        {"estimators_features_": [np.array([9])] * 10},
        {"estimators_features_": [np.array([0])] * 10},
        {"classes_": np.array([5, 6])},
        {"_draws": None},
    ],
    ids=str,
)
def test_files_that_hold_no_ensemble(damage, tmp_path):
    X, y = rows()
    model = BaggingClassifier().fit(X, y)
    vars(model).update(damage)
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"its|member"):
        suffice.load(tmp_path / "model")


def test_searches_and_folds():
    X, y = rows()
    search = suffice.GridSearchCV(
        BaggingClassifier(n_estimators=3, random_state=0), {"max_features": [1, 4]}, cv=3
    ).fit(X, y)
    assert search.best_params_["max_features"] in (1, 4)
    plain = cross_val_score(BaggingClassifier(n_estimators=3, random_state=0), X, y, cv=3)
    ours = suffice.cross_validate(BaggingClassifier(n_estimators=3, random_state=0), X, y, cv=3)
    np.testing.assert_allclose(ours["test_score"], plain)


def test_an_ensemble_of_ensembles():
    X, y = rows()
    model = BaggingClassifier(BaggingClassifier(n_estimators=2), 3, random_state=0).fit(X, y)
    again = copy.deepcopy(model).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    assert len({one.random_state for one in model.estimators_}) == 3


@contract(
    [],
    switched=[
        BaggingClassifier(GaussianNB(), max_features=0.5),
        BaggingClassifier(voting="hard"),
        BaggingRegressor(SklearnTreeRegressor(), max_samples=0.5),
    ],
    excused=lambda model: {"check_sample_weight_equivalence_on_dense_data": "other draws"},
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# --- rows of trees --------------------------------------------------------------------------


@pytest.mark.parametrize("member", [RandomForestClassifier(3), DecisionTreeClassifier()])
def test_sparse_rows_of_members_that_write_them_out(member):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5)) * (rng.random((80, 5)) < 0.4)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    for model in (BaggingClassifier(member, 4, random_state=0), OneVsRest(member)):
        set_params = {"estimator__random_state": 0} if isinstance(model, OneVsRest) else {}
        dense = clone(model).set_params(**set_params).fit(X, y)
        thin = clone(model).set_params(**set_params).fit(sparse.csr_matrix(X), y)
        np.testing.assert_array_equal(
            thin.predict_proba(sparse.csr_matrix(X)), dense.predict_proba(X)
        )


def test_other_rows_are_refused_by_what_they_hold():
    frame = pd.DataFrame({"city": ["Ulm", "Bonn", None, "Ulm"] * 10, "age": np.arange(40) % 7})
    y = np.arange(40) % 3
    for rows in (frame, np.arange(80.0).reshape(40, 2), sparse.eye_array(40, format="csr")):
        model = BaggingClassifier(n_estimators=2, warm_start=True, random_state=0).fit(rows, y)
        model.set_params(n_estimators=3).fit(rows.copy(), y.copy())
        model.set_params(n_estimators=4)
        other = rows[::-1].reset_index(drop=True) if rows is frame else 2 * rows
        for X, target in ((other, y), (rows, y[::-1])):
            with pytest.raises(ValueError, match="rows, weights and how they are drawn"):
                model.fit(X, target)


def test_no_answers_about_no_rows():
    frame = pd.DataFrame({"city": ["Ulm", "Bonn", None, "Ulm"] * 10, "age": np.arange(40) % 7})
    y = np.arange(40) % 3
    assert BaggingRegressor(random_state=0).fit(frame, y).predict(frame[:0]).shape == (0,)
    model = BaggingClassifier(random_state=0).fit(frame, y)
    assert model.predict(frame[:0]).shape == (0,)
    assert model.predict_proba(frame[:0]).shape == (0, 3)
