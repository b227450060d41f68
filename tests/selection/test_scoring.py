"""Scores from moments, against the same scores of the rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn import metrics
from sklearn.metrics import get_scorer, make_scorer

from suffice import GaussianNB, Ridge
from suffice.fitting.regression import Line
from suffice.selection.scoring import closed_form, residuals
from suffice.statistics.moments.full import Moments
from tests.selection.compare import make_rows

METRICS = {
    "r2": metrics.r2_score,
    "explained_variance": metrics.explained_variance_score,
    "neg_mean_squared_error": lambda *a, **o: -metrics.mean_squared_error(*a, **o),
    "neg_root_mean_squared_error": lambda *a, **o: -metrics.root_mean_squared_error(*a, **o),
}


def some_lines(d, k, n=3):
    rng = np.random.default_rng(1)
    return [Line(rng.normal(size=(d, k)), rng.normal(size=k)) for _ in range(n)]


@pytest.mark.parametrize("precision", ["float64", "double-double"])
@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("weighted", [False, True])
def test_closed_forms(precision, targets, name, weighted):
    rows = make_rows(200, 4, targets)
    weight = rows.weight if weighted else None
    moments = Moments.summarize(rows.X, rows.y, weight, precision)
    lines = some_lines(4, targets)
    form = closed_form(get_scorer(name), Ridge())
    scores = form.scores(residuals(lines, moments))
    for line, score in zip(lines, scores, strict=True):
        predicted = rows.X @ line.coef + line.intercept
        expected = METRICS[name](rows.y, predicted, sample_weight=weight)
        np.testing.assert_allclose(score, expected, rtol=1e-12)


@pytest.mark.parametrize("precision", ["float64", "double-double"])
def test_the_error_is_bounded_or_admitted(precision):
    """Against exact arithmetic, for lines that leave less and less."""
    rng = np.random.default_rng(0)
    X = rng.integers(-50, 50, (300, 2)).astype(float)
    noise = rng.integers(-8, 8, 300).astype(float)
    for power in range(0, 40, 3):
        y = X @ [3.0, -2.0] + noise * 2.0 ** (6 - power)
        line = Line(np.array([[3.0], [-2.0]]), np.zeros(1))
        left = residuals([line], Moments.summarize(X, y[:, None], None, precision))
        exact = sum((Fraction(a) - 3 * Fraction(b) + 2 * Fraction(c)) ** 2 for a, (b, c) in
                    zip(y.tolist(), X.tolist(), strict=True))  # fmt: skip
        error = abs(Fraction(float(left.squares[0, 0])) - exact)
        if left.accurate:
            assert error <= Fraction(1, 10**10) * exact
        assert left.accurate or power > 3
        assert not left.accurate or power < 12


def test_a_target_that_does_not_vary():
    rows = make_rows(50, 3)
    for value in (0.0, 0.1, 1e9 + 0.1):
        y = np.full((50, 1), value)
        for precision in ("float64", "double-double"):
            left = residuals(some_lines(3, 1), Moments.summarize(rows.X, y, None, precision))
            assert not left.varies
            assert closed_form(get_scorer("r2"), Ridge()).scores(left) is None


@pytest.mark.parametrize(
    "scorer",
    [
        get_scorer("neg_mean_absolute_error"),
        make_scorer(metrics.r2_score, multioutput="variance_weighted"),
        make_scorer(metrics.mean_squared_error, response_method="predict_proba"),
        lambda model, X, y: 0.0,
    ],
)
def test_scores_that_need_the_rows(scorer):
    assert closed_form(scorer, Ridge()) is None


def test_a_classifiers_own_score_needs_the_rows():
    assert closed_form(metrics.check_scoring(GaussianNB()), GaussianNB()) is None


def test_signs():
    assert closed_form(get_scorer("neg_mean_squared_error"), Ridge()).sign == -1
    assert closed_form(make_scorer(metrics.mean_squared_error), Ridge()).sign == 1
    assert closed_form(metrics.check_scoring(Ridge()), Ridge()).metric is metrics.r2_score
