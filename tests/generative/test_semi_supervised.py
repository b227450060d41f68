"""Naive Bayes from labelled and unlabelled rows: a textbook's EM, monotone climbs, bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.model_selection import KFold

import suffice
from suffice import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)

MODELS = {
    "categorical": CategoricalNB(alpha=0.5),
    "bernoulli": BernoulliNB(alpha=0.5, prior_alpha=1),
    "multinomial": MultinomialNB(alpha=0.5),
    "poisson": PoissonNB(alpha=0.5, beta=0.5),
    "gaussian": GaussianNB(var_smoothing=0.0),
    "smoothed": GaussianNB(var_smoothing=0.1),
    "tied": GaussianNB(var_smoothing=0.01, tied_variance=True),
    "mixed": MixedNB(
        ["gaussian", "categorical", "poisson", "bernoulli", None], var_smoothing=0.0, prior_alpha=2
    ),
}
each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
FAMILIES = ["categorical", "multinomial", "tied", "mixed"]
family = pytest.mark.parametrize(
    "model",
    [
        pytest.param(model, id=name, marks=[] if name in FAMILIES else pytest.mark.long)
        for name, model in MODELS.items()
    ],
)
"""One of each kind of statistic; a mixed model has the others among its columns."""


def counts(n=300, d=5, classes=3, seed=0, share=0.8):
    """Counts that depend on the class, the true classes, and labels that are mostly −1."""
    rng = np.random.default_rng(seed)
    rates = rng.uniform(0.3, 4, size=(classes, d))
    y = rng.integers(0, classes, size=n)
    X = rng.poisson(rates[y])
    known = np.where(rng.random(n) < share, -1, y)
    known[:classes] = y[:classes] = np.arange(classes)
    return X.astype(float), y, known


def with_em(model, **params):
    return clone(model).set_params(unlabelled=-1, **params)


# --- a textbook's EM -----------------------------------------------------------------------


def one_hot(y, classes):
    return (y[:, None] == np.arange(classes)).astype(float)


def textbook(X, labels, weight, classes, m_step, log_density, steps):
    """Responsibilities of all rows, those of labelled ones fixed, and the log-likelihoods."""
    fixed = labels >= 0
    resp = one_hot(labels, classes)
    resp[~fixed] = 0.0
    found = []
    for _ in range(steps + 1):
        prior, parameters = m_step(X, resp * weight[:, None])
        joint = np.log(prior) + log_density(X, parameters)
        rows = np.where(fixed, joint[np.arange(len(X)), np.maximum(labels, 0)],
                        logsumexp(joint, axis=1))  # fmt: skip
        found.append(weight @ rows)
        resp = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        resp[fixed] = one_hot(labels[fixed], classes)
    return prior, parameters, found


def multinomial_step(X, weights, alpha=0.5):
    events = weights.T @ X + alpha
    return weights.sum(axis=0) / weights.sum(), events / events.sum(axis=1, keepdims=True)


def multinomial_density(X, theta):
    return X @ np.log(theta).T


def gaussian_step(X, weights):
    total = weights.sum(axis=0)[:, None]
    mean = weights.T @ X / total
    squares = np.stack([w @ (X - m) ** 2 for w, m in zip(weights.T, mean, strict=True)])
    return total[:, 0] / total.sum(), (mean, squares / total)


def gaussian_density(X, parameters):
    mean, var = parameters
    away = (X[:, None, :] - mean) ** 2 / var
    return -0.5 * (away + np.log(2 * np.pi * var)).sum(axis=2)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("steps", [1, 2, 7])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_multinomial_steps(steps, weighted):
    X, _, labels = counts()
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else np.ones(len(X))
    model = with_em(MODELS["multinomial"], max_iter=steps, tol=0)
    model.fit(X, labels, weight if weighted else None)

    def run(steps):
        return textbook(X, labels, weight, 3, multinomial_step, multinomial_density, steps)

    prior, theta, _ = run(steps)
    np.testing.assert_allclose(np.exp(model.class_log_prior_), prior, rtol=1e-10)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), theta, rtol=1e-10)
    assert model.n_iter_ == steps == len(model.trace_) - 1
    # The trace holds the value before each step; the prior of the smoothing is 0.5 Σ log θ.
    _, theta, before = run(steps - 1)
    expected = -(before[-1] + 0.5 * np.log(theta).sum())
    np.testing.assert_allclose(model.trace_.objective[-1], expected, rtol=1e-11)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gaussian_steps():
    rng = np.random.default_rng(2)
    X, _, labels = counts()
    X = X + rng.normal(size=X.shape)
    model = with_em(MODELS["gaussian"], max_iter=6, tol=0).fit(X, labels)
    prior, (mean, var), found = textbook(
        X, labels, np.ones(len(X)), 3, gaussian_step, gaussian_density, 6
    )
    np.testing.assert_allclose(model.class_prior_, prior, rtol=1e-9)
    np.testing.assert_allclose(model.theta_, mean, rtol=1e-9)
    np.testing.assert_allclose(model.var_, var, rtol=1e-9)
    np.testing.assert_allclose(np.negative(model.trace_.objective[1:]), found[:-1], rtol=1e-11)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_categorical_steps_are_those_of_indicators():
    X, _, labels = counts()
    X = np.minimum(X, 3.0)
    model = with_em(MODELS["categorical"], max_iter=5, tol=0).fit(X, labels)
    cells = (X[:, :, None] == np.arange(4)).astype(float)

    def m_step(cells, weights):
        held = np.einsum("ik,ijv->kjv", weights, cells) + 0.5
        return weights.sum(axis=0) / weights.sum(), held / held.sum(axis=2, keepdims=True)

    def density(cells, theta):
        return np.einsum("ijv,kjv->ik", cells, np.log(theta))

    prior, theta, _ = textbook(cells, labels, np.ones(len(X)), 3, m_step, density, 5)
    np.testing.assert_allclose(np.exp(model.class_log_prior_), prior, rtol=1e-10)
    for j, logs in enumerate(model.feature_log_prob_):
        np.testing.assert_allclose(np.exp(logs), theta[:, j], rtol=1e-10)


# --- what holds for every model --------------------------------------------------------------


@family
def test_the_log_posterior_never_falls_and_settles(model):
    X, _, labels = counts(150, share=0.6)
    fitted = with_em(model, tol=1e-9, max_iter=2000).fit(X, labels)
    climb = np.negative(fitted.trace_.objective[2:])
    assert len(climb) > 3
    assert (np.diff(climb) >= -1e-12 * np.abs(climb[1:])).all()
    assert fitted.certificate_.holds
    assert fitted.certificate_.change <= 1e-9
    assert fitted.certificate_.largest_fall <= 1e-12
    # At a stationary point one more step changes nothing, up to about the root of the tolerance.
    again = with_em(model, tol=0, max_iter=fitted.n_iter_ + 1)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        again.fit(X, labels)
    np.testing.assert_allclose(again.predict_proba(X), fitted.predict_proba(X), atol=1e-3)


@each
def test_labelled_rows_alone_are_fitted_as_ever(model):
    X, y, _ = counts()
    weight = np.random.default_rng(0).uniform(0.1, 2, len(y))
    for w in (None, weight):
        plain, em = clone(model).fit(X, y, w), with_em(model).fit(X, y, w)
        np.testing.assert_array_equal(em.predict_proba(X), plain.predict_proba(X))
        assert em.trace_.objective == plain.trace_.objective
        assert em.certificate_ == plain.certificate_
        assert em.n_iter_ == 1
        em.update(X[:5], y[:5])
        np.testing.assert_array_equal(
            em.predict_proba(X), plain.update(X[:5], y[:5]).predict_proba(X)
        )


@family
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_files_and_threads_give_the_same_bits(model, tmp_path):
    X, _, labels = counts()
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table({**columns, "y": labels}), tmp_path / "t.parquet", row_group_size=99)
    files = suffice.scan(tmp_path / "t.parquet", target="y")
    plain = with_em(model, tol=1e-4).fit(X, labels)
    for threads in (1, 2):
        with suffice.config(threads=threads):
            streamed = with_em(model, tol=1e-4).fit(files)
        assert streamed.trace_.objective[1:] == plain.trace_.objective[1:]
        np.testing.assert_array_equal(streamed.predict_proba(X), plain.predict_proba(X))


@family
def test_a_weight_is_a_number_of_repetitions(model):
    X, _, labels = counts(120, share=0.6)
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    weight[:3] = 1
    weighted = with_em(model, tol=1e-6).fit(X, labels, weight)
    repeated = np.repeat(np.arange(len(X)), weight)
    again = with_em(model, tol=1e-6).fit(X[repeated], labels[repeated])
    assert weighted.n_iter_ == again.n_iter_
    np.testing.assert_allclose(weighted.predict_proba(X), again.predict_proba(X), atol=1e-9)


@each
def test_a_guess_cannot_be_taken_back(model, tmp_path):
    X, y, labels = counts()
    fitted = with_em(model, tol=1e-3).fit(X, labels)
    for act in (
        lambda: fitted.update(X[:5], y[:5]),
        lambda: fitted.forget(X[:5], y[:5]),
        lambda: fitted + fitted,
        lambda: fitted.refit(prior_alpha=1),
    ):
        with pytest.raises(ValueError, match="fitted to unlabelled rows too"):
            act()
    fitted.save(tmp_path / "m")
    loaded = suffice.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(ValueError, match="fitted to unlabelled rows too"):
        loaded.update(X[:5], y[:5])
    # A new fit without such rows is free again.
    fitted.fit(X, y).update(X[:5], y[:5])


def test_unlabelled_rows_help():
    X, y = load_digits(return_X_y=True)
    labels = np.where(np.arange(1000) < 50, y[:1000], -1)
    few = CategoricalNB(alpha=0.1).fit(X[:50], y[:50]).score(X[1000:], y[1000:])
    more = CategoricalNB(alpha=0.1, unlabelled=-1).fit(X[:1000], labels)
    assert more.score(X[1000:], y[1000:]) > few + 0.05


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("tied", [False, True])
def test_smoothed_variances_climb_too(load, tied):
    """Columns of very different units: ε is more than the variance of some."""
    X, y = load(return_X_y=True)
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(len(y)) < 0.8, -1, y)
    X[rng.random(X.shape) < 0.1] = np.nan
    for smoothing in (1e-9, 1e-3):
        model = GaussianNB(var_smoothing=smoothing, tied_variance=tied, unlabelled=-1)
        model.fit(X, labels)
        assert (np.diff(model.trace_.objective[2:]) <= 0).all()
        assert model.certificate_.holds


def test_sparse_rows():
    X, _, labels = counts()
    for model in (MODELS["multinomial"], MODELS["bernoulli"], MODELS["poisson"]):
        dense = with_em(model, tol=1e-6).fit(X, labels)
        rows = with_em(model, tol=1e-6).fit(sparse.csr_array(X), labels)
        np.testing.assert_allclose(rows.predict_proba(X), dense.predict_proba(X), atol=1e-9)


def test_the_complement_model_has_no_likelihood():
    X, _, labels = counts()
    model = ComplementNB(unlabelled=-1, tol=1e-3, max_iter=500).fit(X, labels)
    assert any("no likelihood" in note for note in model.certificate_.notes)
    assert model.n_iter_ > 1


def test_missing_cells_and_new_categories():
    X, _, labels = counts()
    X[np.random.default_rng(3).random(X.shape) < 0.2] = np.nan
    X[-1, 0] = 77  # in no labelled row
    labels[-1] = -1
    model = with_em(MODELS["categorical"], tol=1e-8, max_iter=500).fit(X, labels)
    assert model.n_categories_[0] == 78
    assert model.certificate_.holds
    assert model.category_count_[0][:, 77].sum() == pytest.approx(1.0)


# --- markers ---------------------------------------------------------------------------------


def test_every_marker():
    X, _, labels = counts(100)
    expected = CategoricalNB(unlabelled=-1).fit(X, labels)
    names = np.array(["a", "b", "c"], dtype=object)
    absent = labels < 0

    def marked(marker):
        return np.where(absent, marker, names[np.maximum(labels, 0)])

    floats = np.where(absent, np.nan, labels)
    cases = [
        ("?", marked("?")),
        ("?", marked("?").astype(str)),
        ("?", pd.Series(marked("?"), dtype="category").astype(object)),
        (np.nan, marked(None)),
        (np.nan, marked(np.nan)),
        (np.nan, floats),
        (np.nan, pd.Series(floats)),
        (99, np.where(absent, 99, labels)),
    ]
    for marker, target in cases:
        model = CategoricalNB(unlabelled=marker).fit(X, target)
        assert len(model.classes_) == 3
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
        assert model.n_iter_ == expected.n_iter_
    frame = pd.DataFrame(X).rename(columns=str)
    model = CategoricalNB(unlabelled="?").fit(frame, marked("?"))
    np.testing.assert_array_equal(model.predict_proba(frame), expected.predict_proba(X))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_missing_labels_of_files(tmp_path):
    X, _, labels = counts()
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    expected = CategoricalNB(unlabelled=-1).fit(X, labels)
    names = [None if label < 0 else "abc"[label] for label in labels]
    numbers = [None if label < 0 else int(label) for label in labels]
    for target in (names, numbers):
        pq.write_table(pa.table({**columns, "y": target}), tmp_path / "t.parquet")
        files = suffice.scan(tmp_path / "t.parquet", target="y")
        model = CategoricalNB(unlabelled=np.nan).fit(files)
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_without_a_marker_it_is_a_label():
    X, _, labels = counts()
    assert CategoricalNB().fit(X, labels).classes_.tolist() == [-1, 0, 1, 2]


def test_cross_validation_goes_over_the_rows():
    X, _, labels = counts()
    model = with_em(MODELS["multinomial"], tol=1e-4)
    found = suffice.cross_validate(model, X, labels, cv=KFold(3))
    again = [
        clone(model).fit(X[train], labels[train]).score(X[test], labels[test])
        for train, test in KFold(3).split(X)
    ]
    np.testing.assert_allclose(found["test_score"], again)


# --- bad input -------------------------------------------------------------------------------


def test_bad_input(tmp_path):
    X, y, labels = counts()
    with pytest.raises(ValueError, match="every row is unlabelled"):
        CategoricalNB(unlabelled=-1).fit(X, np.full(len(X), -1))
    pq.write_table(pa.table({"x": X[:, 0], "y": np.full(len(X), -1)}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="every row is unlabelled"):
        CategoricalNB(unlabelled=-1).fit(suffice.scan(tmp_path / "t.parquet", target="y"))
    with pytest.raises(ValueError, match="can be learned from in a fit alone"):
        CategoricalNB(unlabelled=-1).fit(X, y).update(X, labels)
    with pytest.raises(ValueError, match="max_iter"):
        CategoricalNB(unlabelled=-1, max_iter=0).fit(X, labels)
    with pytest.raises(ValueError, match="tol"):
        CategoricalNB(unlabelled=-1, tol=-1.0).fit(X, labels)
    with pytest.warns(ConvergenceWarning, match="EM stopped after 2 steps"):
        CategoricalNB(unlabelled=-1, max_iter=2).fit(X, labels)
    model = CategoricalNB(unlabelled=-1)
    X[7, 2] = np.inf
    with pytest.raises(ValueError, match="infinity or a value too large: column 2, row 7"):
        model.fit(X, labels)
    assert not hasattr(model, "classes_")


# --- markers and labels of every make -----------------------------------------------------------


def categories_and_labels():
    rng = np.random.default_rng(5)
    y = np.where(np.arange(60) % 3 > 0, np.arange(60) % 2, -1)
    return rng.integers(0, 3, (60, 2)), y


@pytest.mark.parametrize("marker", [np.nan, pd.NA], ids=["NaN", "NA"])
@pytest.mark.parametrize("dtype", ["string", "object", "Int64", "category"])
def test_missing_labels_of_pandas(marker, dtype):
    X, y = categories_and_labels()
    names = [0, 1] if dtype == "Int64" else ["no", "yes"]
    labels = pd.Series([None if one < 0 else names[one] for one in y], dtype=dtype)
    model = CategoricalNB(unlabelled=marker).fit(X, labels)
    expected = CategoricalNB(unlabelled=-1).fit(X, y)
    assert model.classes_.tolist() == names
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_labels_in_a_column():
    X, y = categories_and_labels()
    expected = CategoricalNB(unlabelled=-1).fit(X, y).predict_proba(X)
    for column in (y[:, None], pd.DataFrame({"y": y})):
        with pytest.warns(DataConversionWarning):
            model = CategoricalNB(unlabelled=-1).fit(X, column)
        np.testing.assert_array_equal(model.predict_proba(X), expected)
    with pytest.raises(ValueError, match="1d array"):
        CategoricalNB(unlabelled=-1).fit(X, np.stack([y, y], axis=1))


def test_markers_and_priors_that_mean_nothing():
    X, y = categories_and_labels()
    for marker in ([-1, 2], np.array([-1, 2])):
        with pytest.raises(ValueError, match="give one label"):
            CategoricalNB(unlabelled=marker).fit(X, y)
    with pytest.raises(ValueError, match="class_prior is 0 for a class"):
        CategoricalNB(unlabelled=-1, class_prior=[0.0, 1.0]).fit(X, y)
    CategoricalNB(unlabelled=-1, class_prior=[0.0, 1.0]).fit(X[y >= 0], y[y >= 0])


def test_booleans_are_no_numbers():
    """True marks booleans alone, and 1 marks none of them."""
    X, _, _ = counts(60)
    y = np.arange(60) % 3
    for labels in (y, y.astype(float), y.astype(object)):
        assert MultinomialNB(unlabelled=True).fit(X, labels).classes_.tolist() == [0, 1, 2]
    truth = y > 0
    for labels in (truth, truth.astype(object)):
        for marker in (1, 1.0, np.int64(1)):
            assert MultinomialNB(unlabelled=marker).fit(X, labels).classes_.tolist() == [0, 1]
        for marker in (True, np.True_):
            found = MultinomialNB(unlabelled=marker, max_iter=1000).fit(X, labels)
            assert found.classes_.tolist() == [False]
    for marker in (1, 1.0, np.float32(1)):
        assert MultinomialNB(unlabelled=marker).fit(X, y).classes_.tolist() == [0, 2]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
def test_nan_of_every_precision_marks_missing_labels(kind):
    X, y = categories_and_labels()
    expected = CategoricalNB(unlabelled=-1).fit(X, y).predict_proba(X)
    missing = np.where(y < 0, np.nan, y)
    of_kind = np.array([kind("nan") if one < 0 else int(one) for one in y], dtype=object)
    for labels in (missing, missing.astype(np.float32), of_kind):
        for marker in (kind("nan"), np.nan):
            model = CategoricalNB(unlabelled=marker).fit(X, labels)
            np.testing.assert_array_equal(model.predict_proba(X), expected)


@family
def test_a_declared_class_without_labelled_rows(model):
    """It has no probability; with a smoothed prior it has some, and may gain rows."""
    X, _, labels = counts(150, share=0.6)
    plain = with_em(model, prior_alpha=0).fit(X, labels)
    found = with_em(model, prior_alpha=0).partial_fit(X, labels, classes=[0, 1, 2, 5])
    assert found.classes_.tolist() == [0, 1, 2, 5]
    assert found.certificate_.holds
    assert found.class_count_[3] == 0
    proba = found.predict_proba(X)
    assert not proba[:, 3].any()
    np.testing.assert_allclose(proba[:, :3], plain.predict_proba(X), rtol=1e-9)


# --- what is proved ---------------------------------------------------------------------------


@pytest.mark.parametrize("model", [BernoulliNB, MultinomialNB, PoissonNB, CategoricalNB])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_without_smoothing_nothing_is_multiplied_by_infinity(model):
    X = np.array([[1.0, 1], [0, 1], [1, 0], [0, 1], [1, 1]])
    labels = np.array([0, 1, 0, -1, -1])
    found = model(alpha=0, unlabelled=-1).fit(X, labels)
    assert found.certificate_.holds
    assert np.isfinite(found.trace_.objective[1:]).all()
    weight = np.array([0.3, 0.7, 0.9, 0.2, 0.6])
    assert model(alpha=0, unlabelled=-1).fit(X, labels, weight).certificate_.holds


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_infinite_scores_prove_nothing():
    X = np.array([[1.0, 1], [0, 1], [1, 0], [0, 1], [1, 1]])
    with pytest.warns(ConvergenceWarning, match="is infinite: give alpha"):
        found = ComplementNB(alpha=0, unlabelled=-1).fit(X, [0, 1, 0, -1, -1])
    assert not found.certificate_.holds


def test_a_step_that_falls_is_told(monkeypatch):
    """A step that leaves the maximum of its bound is found out, though EM settles afterwards."""
    X, _, labels = counts()
    steps, solve = [], MultinomialNB._solve_columns

    def worse_once(model, statistic):
        solved = solve(model, statistic)
        steps.append(None)
        if len(steps) == 4:
            shape = model.feature_log_prob_.shape
            model.feature_log_prob_ = np.full(shape, -np.log(shape[1]))
        return solved

    expected = MultinomialNB(unlabelled=-1).fit(X, labels)
    assert expected.certificate_.holds
    assert expected.certificate_.largest_fall <= 1e-12
    monkeypatch.setattr(MultinomialNB, "_solve_columns", worse_once)
    with pytest.warns(ConvergenceWarning, match="the log posterior fell in a step"):
        found = MultinomialNB(unlabelled=-1, max_iter=500).fit(X, labels)
    certificate = found.certificate_
    assert not certificate.holds
    assert certificate.change <= found.tol
    assert 1e-3 < certificate.largest_fall < 1


def test_a_wrong_density_of_smoothed_variances_is_told(monkeypatch):
    """Without the noise of the cells, EM climbs another hill than the one that is measured."""
    X, _, labels = counts()
    model = GaussianNB(var_smoothing=0.5, unlabelled=-1, max_iter=500)
    assert model.fit(X, labels).certificate_.holds
    monkeypatch.setattr(GaussianNB, "_noise_of_cells", lambda self, rows: 0.0)
    with pytest.warns(ConvergenceWarning, match="the log posterior fell in a step"):
        model.fit(X, labels)
    assert not model.certificate_.holds
    assert model.certificate_.largest_fall > 1e-12
