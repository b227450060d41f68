"""Linear discriminants from fewer rows than columns: fractions, the covariance's own side."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import discriminant_analysis as peer
from sklearn.base import clone
from sklearn.covariance import OAS, LedoitWolf, ShrunkCovariance
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice import LinearDiscriminantAnalysis
from suffice.generative.discriminant import directions
from suffice.generative.discriminant import more_columns_than_rows as many_columns
from tests.generative.exact_gaussians import close, exact_gaussians, floats, fractions, inverse
from tests.generative.wide_samples import CASES, case, sample

LEARNED = ("means_", "priors_", "xbar_", "coef_", "intercept_", "_constant")


@pytest.fixture
def _few_are_many(monkeypatch):
    monkeypatch.setattr(many_columns, "WIDE", 10)


def both_sides(monkeypatch, X, y, weight=None, **parameters):
    """Fitted from the rows, and from the covariance."""
    monkeypatch.setattr(many_columns, "WIDE", 10)
    rows = LinearDiscriminantAnalysis(**parameters).fit(X, y, weight)
    assert rows.certificate_.path.startswith("the rows themselves")
    monkeypatch.setattr(many_columns, "WIDE", 10**6)
    with warnings.catch_warnings():  # it proves fewer digits
        warnings.simplefilter("ignore", ConvergenceWarning)
        return rows, LinearDiscriminantAnalysis(**parameters).fit(X, y, weight)


def alike(rows, full, tolerance=1e-11, directions=True):
    """All that is learned, and what is told of it."""
    if full.certificate_.holds:
        assert rows.certificate_.notes == full.certificate_.notes
    claims = [model.certificate_.claim.partition(", to ")[0] for model in (rows, full)]
    assert claims[0] == claims[1]
    assert rows.certificate_.measures.keys() == full.certificate_.measures.keys()
    assert rows.certificate_.holds
    objectives = rows.trace_.objective[-1], full.trace_.objective[-1]
    np.testing.assert_allclose(*objectives, rtol=tolerance)
    for name in LEARNED:
        found, expected = getattr(rows, name), getattr(full, name)
        there = np.isfinite(expected)  # a class of prior 0 has −∞
        np.testing.assert_array_equal(found[~there], expected[~there])
        close(found[there], expected[there], tolerance)
    assert hasattr(rows, "covariance_") == hasattr(full, "covariance_")
    if hasattr(full, "covariance_"):
        close(rows.covariance_, full.covariance_, tolerance)
    if directions:
        close(rows.scalings_, full.scalings_, tolerance)
        close(rows.explained_variance_ratio_, full.explained_variance_ratio_, tolerance)
    assert rows._n_features_out == full._n_features_out


# --- fractions -----------------------------------------------------------------------------


def shrunk(rows, weight, amount):
    """The covariance of rows, (1 − s) C + s μ diag(v), for "auto" of standardised columns.

    In columns divided by √v, of which s is estimated, all sums are fractions again.
    """
    W = weight.sum()
    away = rows - (weight[:, None] * rows).sum(axis=0) / W
    C = (weight[:, None] * away).T.dot(away) / W
    d = len(C)
    v = np.array([x if x and amount == "auto" else Fraction(1) for x in np.diagonal(C)])
    mean = sum(np.diagonal(C) / v) / d
    s = Fraction(0) if amount == "auto" else Fraction(amount)
    if amount == "auto" and mean:
        squares = (C * C / v / v[:, None]).sum()
        fourth = (weight * (away * away / v).sum(axis=1) ** 2).sum()
        s = min((fourth / W - squares) / W / (squares - d * mean**2), Fraction(1))
    return rounded((1 - s) * C + np.diag(s * mean * v))


rounded = np.vectorize(lambda x: Fraction(round(x * 2**120), 2**120), otypes=[object])
"""To 36 decimals: else numerators would grow without end."""


# Each case with one amount, with or without priors, in turn; all of them if long.
EXACT = [
    pytest.param(
        name,
        shrinkage,
        priors,
        marks=[] if (i - j) % 4 == 0 and (i // 4 + j) % 2 == p else pytest.mark.long,
    )
    for i, name in enumerate(CASES)
    for j, shrinkage in enumerate([0.25, 2.0**-20, 1.0, "auto"])
    for p, priors in enumerate([None, [0.25, 0.25, 0.5]])
]


@pytest.mark.parametrize(("name", "shrinkage", "priors"), EXACT)
@pytest.mark.usefixtures("_few_are_many")
def test_lines_and_the_bound_on_their_error(name, shrinkage, priors):
    """Σ is pooled by weight or by priors, w = Σ⁻¹ (μ − x̄), b = −½ w·(μ − x̄) + log π."""
    (X, y, weight), distinct = case(name)
    if name == "one row of a class":
        priors = priors and [0.125, 0.125, 0.25, 0.5]
    model = LinearDiscriminantAnalysis("lsqr", shrinkage, priors).fit(X, y, weight)
    assert model.certificate_.path.startswith("the rows themselves")
    true = exact_gaussians(*distinct)
    shares = fractions(priors) if priors else true.weights / sum(true.weights)
    rows, labels, w = fractions(distinct[0]), distinct[1], fractions(distinct[2])
    own = [shrunk(rows[labels == k], w[labels == k], shrinkage) for k in model.classes_]
    C = sum(share * one for share, one in zip(shares, own, strict=True))
    close(model.xbar_, shares.dot(true.means), 1e-15)
    away = true.means - fractions(model.xbar_)  # rounded, which moves all classes alike
    lines = rounded(away).dot(rounded(inverse(rounded(C))))
    size = floats((lines.dot(C) * lines).sum(axis=1))
    error = fractions(model.coef_) - lines
    error = floats((error.dot(C) * error).sum(axis=1))
    bound = 4 * model.certificate_.measures["error"]
    assert bound < 1e-8
    assert (np.sqrt(error) <= bound * np.sqrt(size)).all()
    np.testing.assert_allclose(error / size, 0, atol=1e-22)
    expected = np.log(floats(shares)) - size / 2
    np.testing.assert_allclose(model._constant, expected, rtol=bound, atol=bound)
    close(model.covariance_, C, 1e-13)


# --- the covariance's own side -------------------------------------------------------------

AMOUNTS = [
    {},
    {"shrinkage": 0.3},
    {"shrinkage": "auto"},
    {"covariance_estimator": ShrunkCovariance(shrinkage=0.02)},
    {"covariance_estimator": OAS()},
    {"covariance_estimator": LedoitWolf()},
]
PRIORS = [None, [0.2, 0.3, 0.5], [0.0, 0.4, 0.6]]


@pytest.mark.parametrize("amount", AMOUNTS, ids=str)
@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
@pytest.mark.parametrize("priors", PRIORS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_both_sides_agree(amount, solver, priors, weighted, monkeypatch):
    X, y = sample()
    X[:, 4] *= 1e3
    weight = np.random.default_rng(1).choice([0.0, 0.5, 2.0, 3.25], size=len(X))
    parameters = {"solver": solver, "priors": priors, **amount}
    rows, full = both_sides(monkeypatch, X, y, weight if weighted else None, **parameters)
    assert hasattr(full, "statistics_")
    alike(rows, full)


@pytest.mark.parametrize("amount", AMOUNTS[1:3], ids=str)
def test_shrunk_altogether_or_stored(amount, monkeypatch):
    X, y = sample()
    alike(*both_sides(monkeypatch, X, y, store_covariance=True, **amount))
    rows, full = both_sides(monkeypatch, X, y, solver="eigen", shrinkage=1.0)
    alike(rows, full, directions=False)  # no direction is better than another
    close(rows.explained_variance_ratio_, full.explained_variance_ratio_, 1e-12)
    V, C = rows.scalings_, full.covariance_
    np.testing.assert_allclose(V.T @ C @ V, np.eye(2), atol=1e-12)


@pytest.mark.parametrize("rows_of_it", [1, 2])
@pytest.mark.parametrize("solver", ["svd", "eigen"])
@pytest.mark.parametrize("amount", AMOUNTS[1:], ids=str)
def test_a_class_of_hardly_any_rows(rows_of_it, solver, amount, monkeypatch):
    X, y = sample()
    y[:rows_of_it] = 7
    alike(*both_sides(monkeypatch, X, y, solver=solver, **amount))


def test_no_class_that_tells_an_amount(monkeypatch):
    """Of two rows, products do not spread: nothing is shrunk but the covariance of all rows."""
    X, _ = sample(20)
    rows, full = both_sides(monkeypatch, X, np.arange(20) // 2, solver="eigen", shrinkage="auto")
    assert "rank 10 of 130" in rows.certificate_.notes[0]
    alike(rows, full)


@pytest.mark.parametrize("amount", AMOUNTS[1:], ids=str)
def test_other_columns(amount, monkeypatch):
    """Far off, constant altogether or in a class, and several times."""
    X, y = sample(40, 60)
    X = np.hstack([X, X[:, :30], X[:, :30]])
    X[:, 3], X[y == 1, 5], X[:, 7] = 1.0 / 3, 0.25, y
    plain, full = both_sides(monkeypatch, X, y, solver="eigen", **amount)
    alike(plain, full)
    monkeypatch.setattr(many_columns, "WIDE", 10)
    whole = np.round(X * 256)  # of which no digit goes where it is moved
    near, far = (
        LinearDiscriminantAnalysis("eigen", **amount).fit(whole + offset, y)
        for offset in (0.0, 1e8)
    )
    for name in ("scalings_", "explained_variance_ratio_", "covariance_"):
        close(getattr(far, name), getattr(near, name), 1e-12)
    apart = [one.coef_ - one.coef_[0] for one in (far, near)]  # x̄ is rounded
    close(*apart, 1e-12)
    np.testing.assert_allclose(
        far.predict_proba(whole + 1e8), near.predict_proba(whole), atol=1e-12
    )


def test_weights_are_repetitions(monkeypatch):
    X, y = sample(30, 200)
    weight = np.random.default_rng(1).integers(0, 4, size=30)
    monkeypatch.setattr(many_columns, "WIDE", 10)
    for amount in AMOUNTS:
        model = LinearDiscriminantAnalysis("eigen", **amount)
        once = clone(model).fit(X, y, weight.astype(float))
        again = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        alike(once, again)


@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
@pytest.mark.parametrize("amount", AMOUNTS[1:], ids=str)
@pytest.mark.parametrize("priors", PRIORS[:2], ids=str)
@pytest.mark.usefixtures("_few_are_many")
def test_scikit_learn(solver, amount, priors):
    X, y = sample()
    ours = LinearDiscriminantAnalysis(solver, priors=priors, **amount).fit(X, y)
    theirs = peer.LinearDiscriminantAnalysis(solver, priors=priors, **amount).fit(X, y)
    fresh, _ = sample(30, seed=7)
    np.testing.assert_allclose(ours.predict_proba(fresh), theirs.predict_proba(fresh), atol=1e-9)
    close(ours.covariance_, theirs.covariance_, 1e-12)
    centred = ours.coef_ - ours.coef_.mean(axis=0), theirs.coef_ - theirs.coef_.mean(axis=0)
    close(*centred, 1e-10)
    if solver == "eigen":
        close(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, 1e-10)
        a, b = (one - one.mean(axis=0) for one in (ours.transform(fresh), theirs.transform(fresh)))
        gap = np.ptp(ours.explained_variance_ratio_)
        if gap > 1e-6:  # values that are alike have no axes of their own
            close(a * np.sign((a * b).sum(axis=0)), b, 1e-9)


# --- directions ----------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, pytest.param(3, marks=pytest.mark.long), 10, 19])
@pytest.mark.parametrize("amount", [AMOUNTS[1], AMOUNTS[2], AMOUNTS[4]], ids=str)
def test_classes_that_are_hardly_apart(classes, amount, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(60) % classes
    rare = (rng.normal(size=(60, 200)) > 1.2).astype(float)
    for X in (rng.normal(size=(60, 200)), rare):
        rows, full = both_sides(monkeypatch, X, y, solver="eigen", **amount)
        close(rows.explained_variance_ratio_, full.explained_variance_ratio_, 1e-11)
        same = np.abs(rows.scalings_.T @ full.covariance_ @ full.scalings_)
        ratios = full.explained_variance_ratio_
        if np.abs(np.diff(ratios)).min(initial=1.0) > 1e-6 * np.abs(ratios).max():
            np.testing.assert_allclose(same, np.eye(classes - 1), atol=1e-8)


@pytest.mark.parametrize("shrinkage", [0.3, "auto"])
@pytest.mark.parametrize("columns", [320, pytest.param(1200, marks=pytest.mark.long)])
def test_transform_of_more_columns_than_are_few(shrinkage, columns, monkeypatch):
    monkeypatch.setattr(many_columns, "WIDE", min(many_columns.WIDE, columns - 1))
    X, y = sample(40, columns)
    fresh, _ = sample(30, columns, seed=7)
    ours = LinearDiscriminantAnalysis("eigen", shrinkage).fit(X, y).transform(fresh)
    theirs = peer.LinearDiscriminantAnalysis("eigen", shrinkage).fit(X, y).transform(fresh)
    ours, theirs = ours - ours.mean(axis=0), theirs - theirs.mean(axis=0)
    close(ours * np.sign((ours * theirs).sum(axis=0)), theirs, 1e-9)


def test_where_rows_are_not_few(monkeypatch):
    X, y = sample()
    monkeypatch.setattr(directions, "FEW", 100)
    for amount in AMOUNTS:
        alike(*both_sides(monkeypatch, X, y, solver="eigen", **amount))


# --- at the limits -------------------------------------------------------------------------


def test_no_matrix_of_columns_by_columns():
    X, y = sample(30, 6_000)
    LinearDiscriminantAnalysis("eigen", "auto").fit(*sample(30, 1100))  # compiles
    for solver in ("svd", "lsqr", "eigen"):
        for shrinkage in ("auto", 0.1):
            tracemalloc.start()
            model = LinearDiscriminantAnalysis(solver, shrinkage).fit(X, y)
            model.predict(X), model.transform(X)
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert most < 8 * 6_000**2 / 8
            assert model.certificate_.holds
            assert "covariance_" not in vars(model)


@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_beyond_the_range(solver):
    X, y = sample(20, 1100, 2)
    for amount in ({}, {"shrinkage": 0.1}, {"shrinkage": "auto"}):
        model = LinearDiscriminantAnalysis(solver, **amount)
        assert model.fit(X * 1e-140, y).certificate_.holds
        with pytest.warns(ConvergenceWarning, match="not proved"):
            model.fit(X * 1e-160, y)
        with pytest.raises(ValueError, match="rescale the columns"):
            model.fit(X * 1e160, y)


@pytest.mark.usefixtures("_few_are_many")
def test_one_class_and_rows_that_do_not_vary():
    X, _ = sample()
    for amount in AMOUNTS:
        model = LinearDiscriminantAnalysis("eigen", **amount)
        assert clone(model).fit(X, np.zeros(40)).transform(X).shape == (40, 0)
        same = clone(model).fit(np.repeat(X[:3], 4, axis=0), np.arange(12) // 4)
        assert "rank 0 of 130" in same.certificate_.notes[0]
        np.testing.assert_allclose(same.predict_proba(X), 1 / 3)
        assert not same.covariance_.any()


# --- the rest of the contract --------------------------------------------------------------


@pytest.mark.parametrize("amount", AMOUNTS[:3], ids=str)
@pytest.mark.usefixtures("_few_are_many")
def test_kept_and_not_kept(amount, tmp_path):
    X, y = sample()
    model = LinearDiscriminantAnalysis("eigen", **amount).fit(X, y)
    assert not hasattr(clone(model), "covariance_")
    with pytest.raises(AttributeError, match=r"kept no statistic.*130 columns"):
        _ = model.statistics_
    for change in (lambda: model.update(X, y), lambda: model.refit(shrinkage=0.5)):
        with pytest.raises(ValueError, match="kept no statistic"):
            change()
    model.save(tmp_path / "model")
    for other in (suffice.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other._joint(X), model._joint(X))
        np.testing.assert_array_equal(other.transform(X), model.transform(X))
        np.testing.assert_array_equal(other.covariance_, model.covariance_)
    plain = model.set_params(solver="svd").fit(X, y)
    assert not hasattr(plain, "covariance_")
    plain._frame = directions.Frame(np.ones(3), np.eye(3))
    plain.save(tmp_path / "damaged")
    with pytest.raises(ValueError, match="covariance does not fit 130 columns"):
        suffice.load(tmp_path / "damaged")


@pytest.mark.parametrize("shrinkage", ["auto", 0.1])
@pytest.mark.usefixtures("_few_are_many")
def test_files_and_threads_leave_no_trace(shrinkage, tmp_path):
    X, y = sample()
    columns = {f"x{i}": column for i, column in enumerate(X.T)}
    pq.write_table(pa.table({**columns, "y": y}), tmp_path / "rows.parquet", row_group_size=7)
    expected = LinearDiscriminantAnalysis("eigen", shrinkage).fit(X, y)
    for threads in (1, 2):
        with suffice.config(threads=threads):
            source = suffice.scan(tmp_path / "rows.parquet", target="y")
            found = LinearDiscriminantAnalysis("eigen", shrinkage).fit(source)
        for name in (*LEARNED, "scalings_", "explained_variance_ratio_", "covariance_"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.usefixtures("_few_are_many")
def test_folds_are_fitted_one_by_one():
    X, y = sample()
    found = suffice.cross_validate(LinearDiscriminantAnalysis(shrinkage="auto"), X, y, cv=4)
    assert found["test_score"].shape == (4,)
    assert found["test_score"].min() > 0.5


@pytest.mark.usefixtures("_few_are_many")
def test_bad_input():
    X, y = sample()
    with pytest.raises(ValueError, match="Only one of the two"):
        LinearDiscriminantAnalysis(shrinkage=0.1, covariance_estimator=OAS()).fit(X, y)
    with pytest.raises(ValueError, match="n_components cannot be larger"):
        LinearDiscriminantAnalysis("eigen", "auto", n_components=3).fit(X, y)
    X[3, 5] = np.nan
    with pytest.raises(ValueError, match="NaN: column 5, row 3 "):
        LinearDiscriminantAnalysis(shrinkage="auto").fit(X, y)
