"""Quadratic discriminants from fewer rows than columns: fractions, the covariances' own side."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import discriminant_analysis as peer
from sklearn.base import clone
from sklearn.covariance import OAS, LedoitWolf
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice import QuadraticDiscriminantAnalysis
from suffice.generative.discriminant import more_columns_than_rows as many_columns
from tests.generative.exact_gaussians import (
    close,
    determinant,
    exact_gaussians,
    floats,
    fractions,
    inverse,
)
from tests.generative.wide_samples import CASES, case, sample


@pytest.fixture
def _few_are_many(monkeypatch):
    monkeypatch.setattr(many_columns, "WIDE", 10)


def both_sides(monkeypatch, X, y, weight=None, **parameters):
    """Fitted from the rows, and from the covariances."""
    monkeypatch.setattr(many_columns, "WIDE", 10)
    rows = QuadraticDiscriminantAnalysis(**parameters).fit(X, y, weight)
    monkeypatch.setattr(many_columns, "WIDE", 10**6)
    return rows, QuadraticDiscriminantAnalysis(**parameters).fit(X, y, weight)


# --- fractions -----------------------------------------------------------------------------


class Truth(NamedTuple):
    """Squared distances of rows from each class, and the logarithms of the determinants."""

    squares: Any
    logs: Any


def log_of(value: Fraction) -> float:
    """Also where a numerator is beyond the range of a float."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return float(np.log(float(value / Fraction(2) ** exponent)) + exponent * np.log(2.0))


def within_the_span(X, y, rows, weight=None):
    """Of rows that are independent within classes, once one of each class is taken away.

    With A the other rows less that one, the covariance of class k is AₖᵀHₖAₖ, Hₖ = diag(w)/W −
    wwᵀ/W², and with D² the pooled variances u = (A D⁻² Aᵀ)⁻¹ A D⁻² (x − μ) are coordinates in the
    span.  Classes have separate coordinates: in its own, class k has the covariance Hₖ, and in
    those of another the pooled one, which is its share times Hⱼ.
    """
    true = exact_gaussians(X, y, weight)
    weight = np.ones(len(X)) if weight is None else weight
    variances = np.diagonal(true.within)
    there = variances != 0
    blocks, inner = [], []
    for k in np.unique(y[weight > 0]):
        mine = fractions(X[(y == k) & (weight > 0)][:, there])
        w = fractions(weight[(y == k) & (weight > 0)])
        share = w / w.sum()
        blocks.append(mine[1:] - mine[0])
        inner.append(np.diag(share[1:]) - np.outer(share[1:], share[1:]))
    A = np.concatenate(blocks)
    scaled = A / variances[there]
    K = scaled.dot(A.T)
    solve = inverse(K).dot(scaled)
    ends = np.cumsum([0, *map(len, blocks)])
    squares, logs = np.empty((len(rows), len(blocks))), np.empty(len(blocks))
    for k in range(len(blocks)):
        away = fractions(rows)[:, there] - true.means[k][there]
        u = away.dot(solve.T)
        total, log = 0, log_of(determinant(K))
        for j, H in enumerate(inner):
            share = 1 if j == k else true.weights[j] / sum(true.weights)
            part = u[:, ends[j] : ends[j + 1]]
            if len(H):
                total = total + (part.dot(inverse(H * share)) * part).sum(axis=1)
                log += log_of(determinant(H * share))
        squares[:, k], logs[k] = floats(total), log
    return Truth(squares, logs)


def of_all_columns(X, y, rows, weight=None, shrinkage=0.0, reg_param=0.0):
    """Of covariances that are shrunk or regularised."""
    true = exact_gaussians(X, y, weight)
    s, r = Fraction(shrinkage), Fraction(reg_param)
    squares, logs = np.empty((len(rows), len(true.means))), np.empty(len(true.means))
    unit = fractions(np.eye(X.shape[1]))
    for k, C in enumerate(true.covariances):
        C = (1 - s) * C + s * np.trace(C) / len(C) * unit
        C = (1 - r) * C + r * unit
        away = fractions(rows) - true.means[k]
        squares[:, k] = floats((away.dot(inverse(C)) * away).sum(axis=1))
        logs[k] = log_of(determinant(C))
    return Truth(squares, logs)


def agrees(model, truth, rows):
    """To what the certificate says, of distances and of determinants."""
    assert model.certificate_.path.startswith("the rows themselves")
    assert model.certificate_.holds
    bound = 4 * model.certificate_.measures["error"]
    log_priors = np.log(model.priors_)
    found = 2 * (log_priors - model._joint(rows)) - truth.logs
    slack = 1e-15 * np.abs(truth.logs)  # of the sum
    assert (np.abs(found - truth.squares) <= bound * truth.squares + slack + bound).all()
    np.testing.assert_allclose(found, truth.squares, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("_few_are_many")
def test_distances_within_the_span(name):
    (X, y, weight), distinct = case(name)
    model = QuadraticDiscriminantAnalysis().fit(X, y, weight)
    rows = np.vstack([X, X[:5] + np.random.default_rng(4).normal(size=(5, X.shape[1]))])
    agrees(model, within_the_span(*distinct[:2], rows, distinct[2]), rows)


BETWEEN = [{"shrinkage": 0.25}, {"reg_param": 0.125}, {"shrinkage": 0.5, "reg_param": 2.0**-20}]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        pytest.param(name, one, id=f"{name}, {one}", marks=[] if i % 3 == j else pytest.mark.long)
        for i, name in enumerate(CASES[:5])
        for j, one in enumerate(BETWEEN)
    ],
)
@pytest.mark.usefixtures("_few_are_many")
def test_distances_in_all_columns(name, parameters):
    (X, y, weight), _ = case(name)
    model = QuadraticDiscriminantAnalysis(**parameters).fit(X, y, weight)
    rows = X[:6] + np.random.default_rng(4).normal(size=(6, X.shape[1]))
    agrees(model, of_all_columns(X, y, rows, weight, **parameters), rows)


# --- the covariances' own side -------------------------------------------------------------

WAYS = [
    {},
    {"tol": 0.05},
    {"priors": [0.2, 0.3, 0.5]},
    {"shrinkage": 0.3},
    {"shrinkage": 1.0},
    {"shrinkage": "auto"},
    {"reg_param": 0.1},
    {"reg_param": 1.0},
    {"shrinkage": 0.2, "reg_param": 0.3},
    {"covariance_estimator": OAS()},
    {"covariance_estimator": LedoitWolf()},
]


@pytest.mark.parametrize("parameters", WAYS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_both_sides_agree(parameters, weighted, monkeypatch):
    X, y = sample()
    X[:, 4] *= 1e3
    weight = np.random.default_rng(1).integers(0, 4, size=len(X)).astype(float)
    rows, full = both_sides(
        monkeypatch, X, y, weight if weighted else None, store_covariance=True, **parameters
    )
    assert hasattr(full, "statistics_")
    assert rows.certificate_.notes == full.certificate_.notes
    fresh, _ = sample(30, seed=7)
    close(rows._joint(fresh), full._joint(fresh), 1e-10)
    assert rows.trace_.objective[-1] == pytest.approx(full.trace_.objective[-1], rel=1e-11)
    for name in ("means_", "priors_", "covariance_", "scalings_"):
        close(np.array(getattr(rows, name)), np.array(getattr(full, name)), 1e-12)
    for V, s, C in zip(rows.rotations_, rows.scalings_, rows.covariance_, strict=True):
        np.testing.assert_allclose((V * s) @ V.T, C, atol=1e-12 * s[0])


@pytest.mark.parametrize("rows_of_it", [1, 2])
@pytest.mark.parametrize("parameters", [WAYS[0], WAYS[3], WAYS[5], WAYS[8], WAYS[9]], ids=str)
def test_a_class_of_hardly_any_rows(rows_of_it, parameters, monkeypatch):
    """Where it does not vary by itself, it takes from the others, shrunk or not."""
    X, y = sample()
    y[:rows_of_it] = 7
    rows, full = both_sides(monkeypatch, X, y, store_covariance=True, **parameters)
    assert rows._ranks == full._ranks
    assert rows.certificate_.notes == full.certificate_.notes
    close(rows._joint(X), full._joint(X), 1e-10)
    close(rows.covariance_[3], full.covariance_[3], 1e-12)
    close(rows.scalings_[3], full.scalings_[3], 1e-12)


def test_a_column_in_other_units(monkeypatch):
    """Next to it the diagonal is nothing, but not in the other columns."""
    X, y = sample(30, 60)
    X[:, [4, 9]] *= [1e6, 1e4]
    rows, full = both_sides(monkeypatch, X, y, reg_param=0.1)
    assert rows.certificate_.holds
    close(rows._joint(X), full._joint(X), 1e-11)
    scaled = X.copy()
    scaled[:, 4] *= 1e3  # by now only its own digits go
    assert QuadraticDiscriminantAnalysis(reg_param=0.1).fit(scaled, y).certificate_.holds


@pytest.mark.parametrize("parameters", [WAYS[3], WAYS[5], WAYS[9], WAYS[10]], ids=str)
@pytest.mark.usefixtures("_few_are_many")
def test_scikit_learn(parameters):
    X, y = sample()
    theirs = {"solver": "eigen", **parameters}
    ours = QuadraticDiscriminantAnalysis(**parameters).fit(X, y)
    expected = peer.QuadraticDiscriminantAnalysis(**theirs).fit(X, y)
    close(ours.decision_function(X), expected.decision_function(X), 1e-9)


# --- at the limits -------------------------------------------------------------------------


def test_beyond_the_range():
    X, y = sample(20, 1100, 2)
    for parameters in ({}, {"shrinkage": 0.1}, {"shrinkage": "auto"}):
        model = QuadraticDiscriminantAnalysis(**parameters)
        assert model.fit(X * 1e-140, y).certificate_.holds
        with pytest.warns(ConvergenceWarning, match="not proved"):
            model.fit(X * 1e-160, y)
    with pytest.raises(ValueError, match="rescale the columns"):
        QuadraticDiscriminantAnalysis().fit(X * 1e160, y)
    with pytest.warns(ConvergenceWarning, match="not proved"):
        QuadraticDiscriminantAnalysis(shrinkage="auto").fit(X, y, np.full(20, 1e-300))


@pytest.mark.usefixtures("_few_are_many")
def test_units_do_not_matter():
    X, y = sample(20, 60)
    scale = 10.0 ** np.random.default_rng(0).integers(-100, 100, size=60)
    plain = QuadraticDiscriminantAnalysis().fit(X, y)
    scaled = QuadraticDiscriminantAnalysis().fit(X * scale, y)
    close(scaled._joint(X * scale), plain._joint(X), 1e-12)


@pytest.mark.usefixtures("_few_are_many")
def test_rows_that_do_not_vary():
    X = np.repeat(sample(3, 30)[0], 4, axis=0)
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, np.arange(12) // 4)
    assert "rank 0 of 30" in model.certificate_.notes[0]
    np.testing.assert_allclose(model.predict_proba(X), 1 / 3)
    assert [s.shape for s in model.scalings_] == [(0,)] * 3
    assert not np.any(model.covariance_)


# --- the rest of the contract --------------------------------------------------------------


@pytest.mark.parametrize("parameters", [{}, {"shrinkage": "auto"}], ids=str)
@pytest.mark.usefixtures("_few_are_many")
def test_kept_and_not_kept(parameters, tmp_path):
    X, y = sample()
    model = QuadraticDiscriminantAnalysis(**parameters).fit(X, y)
    for name in ("rotations_", "scalings_"):
        assert name in dir(model)
        assert not hasattr(clone(model), name)
    with pytest.raises(AttributeError, match=r"kept no statistic.*130 columns"):
        _ = model.statistics_
    for change in (lambda: model.update(X, y), lambda: model.refit(reg_param=0.5)):
        with pytest.raises(ValueError, match="kept no statistic"):
            change()
    model.save(tmp_path / "model")
    for other in (suffice.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other._joint(X), model._joint(X))
        for one, same in zip(other.rotations_, model.rotations_, strict=True):
            np.testing.assert_array_equal(one, same)
    model._whitenings = model._whitenings[:2]
    model.save(tmp_path / "damaged")
    with pytest.raises(ValueError, match="covariances do not fit"):
        suffice.load(tmp_path / "damaged")


@pytest.mark.usefixtures("_few_are_many")
def test_files_and_threads_leave_no_trace(tmp_path):
    X, y = sample()
    columns = {f"x{i}": column for i, column in enumerate(X.T)}
    pq.write_table(pa.table({**columns, "y": y}), tmp_path / "rows.parquet", row_group_size=7)
    expected = QuadraticDiscriminantAnalysis().fit(X, y)._joint(X)
    for threads in (1, 2):
        with suffice.config(threads=threads):
            source = suffice.scan(tmp_path / "rows.parquet", target="y")
            found = QuadraticDiscriminantAnalysis().fit(source)._joint(X)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("_few_are_many")
def test_folds_are_fitted_one_by_one():
    X, y = sample()
    found = suffice.cross_validate(QuadraticDiscriminantAnalysis(shrinkage=0.3), X, y, cv=4)
    assert found["test_score"].shape == (4,)
    assert found["test_score"].min() > 0.5


@pytest.mark.usefixtures("_few_are_many")
def test_bad_input():
    X, y = sample()
    X[3, 5] = np.nan
    with pytest.raises(ValueError, match="NaN: column 5, row 3 "):
        QuadraticDiscriminantAnalysis().fit(X, y)
    with pytest.raises(ValueError, match="more than the number of classes"):
        QuadraticDiscriminantAnalysis().fit(X[:3], np.arange(3), np.array([1.0, 1.0, 0.0]))
