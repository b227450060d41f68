"""What all naive Bayes models of counts share: the prior, laws, one row left out, bad input."""

from __future__ import annotations

import copy
import threading
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn import naive_bayes
from sklearn.base import clone
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.pipeline import make_pipeline

import suffice
from suffice import BernoulliNB, ComplementNB, GaussianNB, MixedNB, MultinomialNB, PoissonNB
from suffice.generative.leave_one_out.counts import rows_that_borrow
from suffice.generative.leave_one_out.rows import LeftOut
from suffice.numerics.log_posterior import log_posterior
from suffice.preprocessing import MinMaxScaler
from suffice.sources import Block, as_source
from suffice.statistics.counts.sums_by_class import ClassSums
from tests.generative.count_rows import LAYOUTS, MODELS, counts, holed, joint_without_each

each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
layouts = pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)

PEERS = [
    (MultinomialNB, {}),
    (MultinomialNB, {"alpha": 0.1, "fit_prior": False}),
    (MultinomialNB, {"alpha": [0.5, 1, 2, 3, 0.1, 4], "class_prior": [0.2, 0.3, 0.5]}),
    (BernoulliNB, {}),
    (BernoulliNB, {"alpha": 2.5, "binarize": 1.0, "fit_prior": False}),
    (BernoulliNB, {"binarize": None, "class_prior": [0.2, 0.3, 0.5]}),
    (ComplementNB, {}),
    (ComplementNB, {"norm": True, "alpha": 0.3}),
    (ComplementNB, {"alpha": [0.5, 1, 2, 3, 0.1, 4]}),
]


def same(one, other):
    """Two models with the same bits."""
    names = {name for name in vars(one) if name.endswith("_")}
    for name in names - {"certificate_", "statistics_", "trace_", "feature_names_in_"}:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.certificate_ == other.certificate_


# --- scikit-learn --------------------------------------------------------------------------


@layouts
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("cls", "params"), PEERS)
def test_scikit_learn_agrees(cls, params, weighted, make):
    X, y = counts()
    X = np.minimum(X, 1) if params.get("binarize", 0) is None else X
    weight = np.random.default_rng(3).uniform(0.5, 2, size=len(X)) if weighted else None
    rows = make(X)
    ours = cls(**params).fit(rows, y, weight)
    theirs = getattr(naive_bayes, cls.__name__)(**params).fit(rows, y, weight)
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    for name in ("class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12)
    if cls is ComplementNB:
        np.testing.assert_allclose(ours.feature_all_, theirs.feature_all_, rtol=1e-12)
    for method in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        expected = getattr(theirs, method)(rows)
        np.testing.assert_allclose(getattr(ours, method)(rows), expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
    assert ours.score(rows, y, weight) == pytest.approx(theirs.score(rows, y, weight))


@each
def test_small_alpha(model):
    X, y = counts()
    model = clone(model).set_params(alpha=0, force_alpha=False)
    with pytest.warns(UserWarning, match="alpha too small"):
        raised = model.fit(X, y)
    same(raised, clone(model).set_params(alpha=1e-10).fit(X, y))


# --- the prior -----------------------------------------------------------------------------


@pytest.mark.parametrize("model", [*MODELS.values(), GaussianNB()], ids=str)
def test_the_prior_can_be_smoothed(model):
    X, y = counts()
    count = np.unique(y, return_counts=True)[1]
    fitted = clone(model).set_params(prior_alpha=7).fit(X, y)
    shares = (count + 7) / (count + 7).sum()
    np.testing.assert_allclose(fitted._log_prior(), np.log(shares), rtol=1e-13)
    plain = clone(model).fit(X, y)
    np.testing.assert_allclose(plain._log_prior(), np.log(count / count.sum()), rtol=1e-13)
    again = plain.refit(prior_alpha=7)
    np.testing.assert_array_equal(again._log_prior(), fitted._log_prior())
    # A class that was only announced is possible then.
    announced = clone(fitted).partial_fit(X, y, classes=[*np.unique(y), "z"])
    assert np.isfinite(announced._log_prior()).all()


@each
def test_given_priors(model):
    X, y = counts()
    fitted = clone(model).set_params(class_prior=[0, 1, 3]).fit(X, y)
    np.testing.assert_array_equal(fitted.class_log_prior_, [-np.inf, 0, np.log(3)])
    if not isinstance(model, ComplementNB):
        assert not fitted.predict_proba(X)[:, 0].any()
    with pytest.raises(ValueError, match="Number of priors must match number of classes: 2"):
        clone(model).set_params(class_prior=[0.5, 0.5]).fit(X, y)
    with pytest.raises(ValueError, match="non-negative"):
        clone(model).set_params(class_prior=[0.5, 0.7, -0.2]).fit(X, y)
    for priors in ([0, 0, 0], [1e308, 1e308, 0]):
        with pytest.raises(ValueError, match="add up to a finite number above 0"):
            clone(model).set_params(class_prior=priors).fit(X, y)


@each
def test_one_class_and_one_row(model):
    X, y = counts(20, classes=1)
    fitted = clone(model).fit(X, y)
    assert (fitted.predict_proba(X) == 1).all()
    one = clone(model).fit(X[:1], ["only"])
    assert one.predict(X).tolist() == ["only"] * 20
    assert one.certificate_.holds


# --- laws of the model ---------------------------------------------------------------------


@each
@layouts
def test_forgotten_rows_leave_no_bit_behind(model, make):
    X, y = counts()
    X = holed(X)
    gone = np.random.default_rng(5).random(len(X)) < 0.4
    weight = np.random.default_rng(6).integers(1, 4, size=len(X)).astype(float)
    whole = clone(model).fit(make(X), y, weight)
    whole.forget(make(X[gone]), y[gone], weight[gone])
    same(whole, clone(model).fit(make(X[~gone]), y[~gone], weight[~gone]))
    assert whole.certificate_.path == "exact class sums"


@each
def test_rows_come_in_any_order_and_number(model):
    X, y = counts()
    order = np.argsort(y, kind="stable")  # classes appear late
    X, y = X[order], y[order]
    whole = clone(model).fit(X, y)
    grown = clone(model)
    for part in np.array_split(np.arange(len(X)), 7):
        grown.update(X[part], y[part])
    same(grown, whole)
    parts = [clone(model).fit(X[i::3], y[i::3]) for i in range(3)]
    same(suffice.merge(*parts), whole)
    same(sum(parts), whole)
    classes = np.unique(y)
    step = clone(model).partial_fit(X[:50], y[:50], classes=classes)
    assert step.classes_.tolist() == classes.tolist()
    assert np.isfinite(step.predict_joint_log_proba(X)[:, 0]).all()
    same(step.partial_fit(X[50:], y[50:]), whole)
    with pytest.raises(ValueError, match="is not the same as on last call"):
        step.partial_fit(X, y, classes=classes[:2])
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        step.partial_fit(X[:1], ["new"])
    same(step, whole)


@each
def test_weights_are_repetitions(model):
    X, y = counts()
    X = holed(X)
    weight = np.random.default_rng(2).integers(0, 4, size=len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    same(clone(model).fit(X, y, weight), clone(model).fit(X[rows], y[rows]))


@each
def test_parameters_change_without_the_rows(model):
    X, y = counts()
    X = holed(X)
    fitted = clone(model).fit(X, y)
    changes = [{"alpha": 0.25}, {"alpha": np.arange(1, 7)}, {"fit_prior": False}]
    changes += [{"class_prior": [0.1, 0.2, 0.7]}, {"fit_prior": True, "class_prior": None}]
    for change in changes:
        fitted.refit(**change)
        same(fitted, clone(fitted).fit(X, y))
    if isinstance(model, BernoulliNB):
        with pytest.raises(ValueError, match="cannot be refitted with other binarize"):
            fitted.refit(binarize=2.0)


@each
def test_fractions_know_their_digits(model):
    X, y = counts()
    X = X * np.random.default_rng(1).uniform(0.1, 1, size=X.shape)
    model = clone(model).set_params(**({"binarize": None} if hasattr(model, "binarize") else {}))
    X = X / X.max() if hasattr(model, "binarize") else X
    fitted = clone(model).fit(X, y)
    assert 12 < fitted.certificate_.digits < 15.7
    fitted.forget(X[:300], y[:300])
    rest = clone(model).fit(X[300:], y[300:])
    bound = 10.0**-fitted.certificate_.digits
    logs = "coef_" if isinstance(model, PoissonNB) else "feature_log_prob_"
    got, expected = getattr(fitted, logs), getattr(rest, logs)
    np.testing.assert_allclose(got, expected, atol=2 * bound, rtol=2 * bound)


def test_too_few_digits_are_refused():
    X = np.array([[1e18, 1.0], [0.3, 0.1], [0.2, 0.7]])
    model = MultinomialNB(alpha=0).fit(X, [0, 0, 1])
    before = copy.deepcopy(vars(model))
    with pytest.raises(ValueError, match="digits could be guaranteed"):
        model.forget(X[:1], [0])
    assert vars(model).keys() == before.keys()
    np.testing.assert_array_equal(model.feature_count_, before["feature_count_"])


# --- leaving one row out -------------------------------------------------------------------

WITHOUT = [
    MultinomialNB(),
    MultinomialNB(alpha=0.0),
    MultinomialNB(alpha=[0.1, 1, 2, 0.5, 1e-9, 3], fit_prior=False),
    BernoulliNB(prior_alpha=1.5),
    BernoulliNB(alpha=0.0, binarize=1.0),
    ComplementNB(),
    ComplementNB(alpha=0.0),
    ComplementNB(norm=True, alpha=0.2),
    ComplementNB(norm=True, alpha=[0, 1, 1, 1, 1, 1]),
    PoissonNB(),
    PoissonNB(alpha=0.0, beta=0.0, fit_prior=False),
    PoissonNB(alpha=0.5, beta=[0, 1, 2, 3, 4, 5], prior_alpha=3),
]


def hard_rows(kind):
    """A class of one row, columns that are all zero or all but zero, cells that are missing."""
    X, y = counts(30)
    y[0] = "ein einziger"
    X[:, 1] = 0
    X[5, 1] = 2
    X[:, 2] = 1
    X[7, 2] = 0
    if "missing" in kind:
        X = holed(X, 0.2)
        X[y == y[1], 3] = np.nan
        X[1, 3] = 2  # the only value of its class
    weight = np.random.default_rng(8).choice([0.0, 0.5, 1.0, 2.0], size=30)
    weight[0] = 2.0
    return X, y, weight if "weighted" in kind else None


@layouts
@pytest.mark.parametrize(
    "kind",
    [
        "plain",
        pytest.param("weighted", marks=pytest.mark.long),
        pytest.param("missing", marks=pytest.mark.long),
        "missing, weighted",
    ],
)
@pytest.mark.parametrize("model", WITHOUT, ids=str)
def test_leaving_one_out(model, kind, make):
    X, y, weight = hard_rows(kind)
    X = make(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = clone(model).fit(X, y, weight)
        found = fitted._leave_one_out(next(as_source(X, y, weight).pieces()).load())
    there = np.flatnonzero(np.ones(30) if weight is None else weight)
    expected = joint_without_each(model, X, y, weight, rows=there)
    assert not np.isnan(expected).any()
    np.testing.assert_allclose(found[there], expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(found[there].argmax(axis=1), expected.argmax(axis=1))


def left_out(model, X, y, i):
    """The class of a row by the formulas of scikit-learn, from the counts of all other rows."""
    classes = np.unique(y)
    cells = X > 0 if isinstance(model, BernoulliNB) else X
    one_hot = (y[:, None] == classes).astype(float)
    one_hot[i] = 0
    rows, N, x = one_hot.sum(axis=0), one_hot.T @ cells, cells[i].astype(float)
    prior = np.log(rows / rows.sum())
    if isinstance(model, BernoulliNB):
        p = (N + 1) / (rows + 2)[:, None]
        return prior + np.log(p) @ x + np.log(1 - p) @ (1 - x)
    if isinstance(model, PoissonNB):
        rate = (N + 1) / (rows + 1)[:, None]
        return prior + np.log(rate) @ x - rate.sum(axis=1)
    if isinstance(model, MultinomialNB):
        return prior + np.log((N + 1) / (N + 1).sum(axis=1, keepdims=True)) @ x
    others = N.sum(axis=0) + 1 - N
    logs = np.log(others / others.sum(axis=1, keepdims=True))
    return (logs / logs.sum(axis=1, keepdims=True) if model.norm else -logs) @ x


@each
def test_leave_one_out_of_many_rows_is_two_passes(model):
    """And the same as 500 fits."""
    X, y = counts(500, 8)
    cv = suffice.cross_validate(model, X, y, cv=LeaveOneOut(), scoring="accuracy")
    assert cv.passes_ <= 3
    expected = np.array([left_out(model, X, y, i) for i in range(500)])
    right = np.unique(y)[expected.argmax(axis=1)] == y
    np.testing.assert_array_equal(cv["test_score"], right)
    fitted = clone(model).fit(X, y)
    found = fitted._leave_one_out(next(as_source(X, y).pieces()).load())
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    some = np.arange(0, 500, 31)
    np.testing.assert_allclose(found[some], joint_without_each(model, X, y, rows=some), rtol=1e-13)


@each
def test_leave_one_out_of_sparse_rows(model):
    X, y = counts(150, 8)
    expected = suffice.cross_validate(model, X, y, cv=LeaveOneOut())
    found = suffice.cross_validate(model, sparse.csr_array(X), y, cv=LeaveOneOut())
    assert found.passes_ <= 3
    np.testing.assert_array_equal(found["test_score"], expected["test_score"])


@each
def test_folds_from_one_pass(model):
    X, y = counts(300)
    cv = suffice.cross_validate(model, X, y, cv=5, scoring="accuracy")
    expected = cross_val_score(model, X, y, cv=5, scoring="accuracy")
    np.testing.assert_allclose(cv["test_score"], expected)
    assert cv.passes_ == 2


# --- predicting ----------------------------------------------------------------------------


@each
@layouts
def test_missing_cells_leave_their_factor_out(model, make):
    X, y = counts()
    fitted = clone(model).fit(X, y)
    holes = holed(X, 0.3)
    known = ~np.isnan(holes)
    if isinstance(model, ComplementNB):
        table = fitted.feature_log_prob_
        expected = np.nan_to_num(holes) @ table.T
    else:
        prior = fitted.class_log_prior_
        zero = fitted._log_likelihood(np.zeros((1, 6)))[0]
        columns = [
            fitted._log_likelihood(np.where(np.arange(6) == j, np.nan_to_num(holes), 0)) - zero
            for j in range(6)
        ]
        absent = [
            fitted._log_likelihood(np.where(np.arange(6) == j, np.nan, np.zeros((1, 6)))) - zero
            for j in range(6)
        ]
        expected = prior + zero + sum(columns)
        expected = expected + sum(~known[:, [j]] * absent[j] for j in range(6))
    found = fitted.predict_joint_log_proba(make(holes))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    nothing = fitted.predict_joint_log_proba(np.full((1, 6), np.nan))[0]
    scores = np.zeros(3) if isinstance(model, ComplementNB) else fitted.class_log_prior_
    np.testing.assert_allclose(nothing, scores, atol=1e-12)


@each
def test_a_column_without_any_value(model):
    X, y = counts()
    X[:, 2] = np.nan
    without = clone(model).fit(np.delete(X, 2, axis=1), y)
    fitted = clone(model).fit(X, y)
    if not isinstance(model, MultinomialNB | ComplementNB):  # which share α over all columns
        expected = without.predict_joint_log_proba(np.delete(X, 2, axis=1))
        np.testing.assert_allclose(fitted.predict_joint_log_proba(X), expected, rtol=1e-12)
    assert np.isfinite(fitted.predict_proba(np.nan_to_num(X))).all()
    for params in ({"alpha": 0}, {"alpha": 0, "beta": 0}):
        if "beta" in params and not isinstance(model, PoissonNB):
            continue
        bare = clone(model).set_params(**params).fit(X, y)
        assert np.isfinite(bare.predict_proba(np.nan_to_num(X))).all()


@each
def test_frames_files_and_arrays_agree(model, tmp_path):
    X, y = counts(3000, 7)
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    pq.write_table(pa.table({**frame, "y": y.astype(str)}), tmp_path / "rows.parquet")
    source = suffice.scan(tmp_path / "rows.parquet", target="y")
    plain, framed, streamed = (clone(model) for _ in range(3))
    same(framed.fit(frame, y), plain.fit(X, y))
    assert framed.feature_names_in_.tolist() == list("abcdefg")
    streamed.fit(source)
    np.testing.assert_array_equal(streamed.feature_count_, plain.feature_count_)
    np.testing.assert_array_equal(streamed.predict(source), plain.predict(X))
    assert streamed.score(source) == plain.score(X, y)
    path = tmp_path / "model"
    plain.save(path)
    loaded = suffice.load(path)
    same(loaded.update(X[:5], y[:5]), plain.update(X[:5], y[:5]))


@each
def test_two_threads_at_once(model):
    X, y = counts(20_000, 30)
    expected = clone(model).fit(X, y)
    found = [clone(model) for _ in range(4)]
    threads = [threading.Thread(target=one.fit, args=(X, y)) for one in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found:
        same(one, expected)


def test_impossible_rows_have_no_preferred_class():
    joint = np.array([[-np.inf, -np.inf], [-np.inf, 3.0], [np.inf, 1.0], [np.inf, np.inf]])
    expected = [[0.5, 0.5], [0, 1], [1, 0], [0.5, 0.5]]
    np.testing.assert_array_equal(np.exp(log_posterior(joint)), expected)


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize("model", [MultinomialNB(), ComplementNB(), PoissonNB()], ids=str)
@layouts
def test_negative_cells_are_named(model, make):
    X, y = counts()
    X[320, 4] = -1
    name = type(model).__name__
    message = rf"Negative values in data passed to {name} \(input X\): column 4, row 320"
    with pytest.raises(ValueError, match=message):
        model.fit(make(X), y)
    assert not hasattr(model, "classes_")
    weight = np.ones(len(X))
    weight[320] = 0
    assert clone(model).fit(make(X), y, weight).classes_.size == 3


@each
def test_bad_parameters(model):
    X, y = counts()
    for params, message in (
        ({"alpha": [1, 2]}, "n_features"),
        ({"alpha": [1, 2, 3, 4, 5, -1]}, "none of them below 0"),
        ({"alpha": -1}, "alpha"),
        ({"prior_alpha": -1}, "prior_alpha"),
        ({"fit_prior": "yes"}, "fit_prior"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(**params).fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        clone(model).fit(np.where(np.arange(6) == 3, np.inf, X), y)
    with pytest.raises(ValueError, match="no row would stay"):
        clone(model).fit(X, y).forget(X, y)
    with pytest.raises(ValueError, match="more than there is"):
        clone(model).fit(X, y).forget(np.ones((1, 6)) * 1e6, y[:1])


def test_in_a_pipeline():
    X, y = counts()
    pipeline = make_pipeline(MinMaxScaler(), BernoulliNB(binarize=0.3)).fit(X, y)
    assert pipeline.score(X, y) > 0.5
    found = suffice.cross_validate(pipeline, X, y, cv=3)["test_score"]
    np.testing.assert_allclose(found, cross_val_score(pipeline, X, y, cv=3))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("error")
def test_numbers_that_cannot_be_meant_are_refused(name):
    X, y = counts()
    model = clone(MODELS[name])
    with pytest.raises(ValueError, match="alpha is too large"):
        model.set_params(alpha=1e308).fit(X, y)
    model.set_params(alpha=1e290).fit(X, y)
    with pytest.raises(ValueError, match="finite"):
        model.set_params(alpha=1.0, class_prior=[np.inf, 1, 1]).fit(X, y)


# --- beyond float64's range ------------------------------------------------------------------

LINEAR = [MultinomialNB(), ComplementNB(), PoissonNB()]


@pytest.mark.parametrize("model", LINEAR, ids=str)
@layouts
@pytest.mark.filterwarnings("error")
def test_sums_over_columns_that_overflow_are_refused(model, make):
    def fitted(*rows):
        return clone(model).fit(make(np.array(rows)), [0, 1])

    with pytest.raises(ValueError, match=r"too large.*rescale"):
        fitted([1e308, 1e308], [1.0, 2.0])
    heavy = fitted([1e308, 1.0], [1.0, 2.0])
    for other in (heavy, fitted([1.0, 1e308], [1.0, 2.0])):
        with pytest.raises(ValueError, match=r"beyond float64's range.*rescale"):
            heavy + other
    rows = np.array([[1e10, 3e10], [2e10, 1e10]])
    found = fitted(*rows)
    assert np.isfinite(found.predict_proba(make(rows * 1e135))).all()
    with pytest.raises(ValueError, match=r"too large.*rescale"):
        found.predict(make(np.array([[1.7e308, 1.0]])))


@pytest.mark.filterwarnings("error")
def test_rates_that_overflow_are_refused():
    X, y = np.array([[1e308, 1e308], [1.0, 2.0]]), [0, 1]
    with pytest.raises(ValueError, match=r"rates of a class .* rescale"):
        PoissonNB(beta=0).fit(X, y, [1e-10, 1.0])
    model = MixedNB(["poisson", "multinomial"]).fit(X, y)
    with pytest.raises(ValueError, match=r"beyond float64's range.*rescale"):
        model + model


# --- weights that took digits with them ------------------------------------------------------


@each
def test_the_weight_of_a_class_knows_its_digits(model):
    X, y = np.array([[0.0, 0], [0, 0], [1, 2], [3, 1]]), np.array([0, 0, 0, 1])
    weight = np.array([1e31, 1.1e15, 1.2345678901234567, 1])
    fitted = clone(model).fit(X, y, weight)
    before = copy.deepcopy(fitted)
    with pytest.raises(ValueError, match="digits could be guaranteed"):
        fitted.forget(X[:2], y[:2], weight[:2])
    same(fitted, before)
    # Whole numbers are exact, and few digits are lost of others.
    for heavy in (2.0**50, 1e6 + 0.1):
        weight[:2] = heavy, 3.0
        fitted = clone(model).fit(X, y, weight).forget(X[:2], y[:2], weight[:2])
        assert abs(fitted.class_count_[0] / weight[2] - 1) <= fitted.certificate_.error
        assert fitted.certificate_.digits > 10


# --- one row left out of sparse rows ---------------------------------------------------------


@pytest.mark.parametrize(
    "model", [BernoulliNB(alpha=0), PoissonNB(alpha=0, beta=0)], ids=["Bernoulli", "Poisson"]
)
def test_leaving_out_of_wide_sparse_rows_takes_little_memory(model):
    """No cell is written out that a CSR matrix does not store."""
    n, d = 500, 20_000
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, d), density=1e-3, rng=rng, format="csr")
    X.data[:] = 1.0
    X.data[::50] = np.nan
    y = np.arange(n) % 3
    model = clone(model).fit(X, y)
    model._leave_one_out(Block(X[:2], y[:2], None, 0))
    tracemalloc.start()
    try:
        model._leave_one_out(Block(X, y, None, 0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n * d


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_a_class_cannot_do_without(weighted):
    """Counted from the missing cells, they are those that looking at every cell finds."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        X = np.where(rng.random((12, 5)) < 0.6, np.nan, rng.integers(0, 2, (12, 5)))
        y, bare = rng.integers(0, 3, 12), rng.random(5) < 0.7
        weight = rng.integers(1, 4, 12).astype(float) if weighted else np.ones(12)
        statistic = ClassSums.summarize(X, y, weight)
        codes = np.searchsorted(statistic.labels, y)
        known = np.broadcast_to(statistic.cell_weight, statistic.sums.shape)
        there = ~np.isnan(X) & bare
        own = known[codes] - weight[:, None] <= 0
        alone = statistic.rows[codes] == 1
        expected = (there & (known <= 0).any(axis=0)).any(axis=1)
        expected |= (there & own).any(axis=1) & ~alone
        for rows in (X, sparse.csr_array(X)):
            left = LeftOut(rows, codes, weight)
            found = rows_that_borrow(statistic, left, np.where(bare, 0.0, 1.0))
            assert found == np.flatnonzero(expected).tolist()
