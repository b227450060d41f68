"""Many penalties at once, against a fit for each."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from suffice import LinearRegression, Ridge
from suffice.linear.least_squares.many_penalties import solve_grid, solve_together
from suffice.linear.least_squares.normal_equations import normal_equations
from tests.selection.compare import LARGE, SMALL, make_rows

ALPHAS = np.r_[0.0, np.logspace(-8, 12, 21)]


def fits(models, X, y, weight=None):
    return [model.fit(X, y, weight) for model in models]


def same_lines(lines, models, tolerance=1e-11):
    for line, model in zip(lines, models, strict=True):
        coef = model.coef_.reshape(-1, model.n_features_in_).T
        scale = np.abs(coef).max() or 1.0
        np.testing.assert_allclose(line.coef, coef, atol=tolerance * scale, rtol=0)
        intercept = np.broadcast_to(model.intercept_, line.intercept.shape)
        size = np.abs(intercept).max() + scale
        np.testing.assert_allclose(line.intercept, intercept, atol=10 * tolerance * size, rtol=0)
        assert line.proved == model.certificate_.holds


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("rows", [SMALL, LARGE, make_rows(100, 3, 2)])
def test_as_a_fit_for_each(rows, fit_intercept, standardize):
    options = {"fit_intercept": fit_intercept, "standardize": standardize}
    models = fits([Ridge(alpha, **options) for alpha in ALPHAS], rows.X, rows.y, rows.weight)
    same_lines(solve_grid(models, models[0].statistics_), models)


def test_mixed_parameters():
    models = [
        Ridge(1.0),
        Ridge(1.0, fit_intercept=False),
        Ridge(5.0, standardize=True),
        Ridge(0.0),
        Ridge(0.0, fit_intercept=False, standardize=True),
    ]
    fits(models, SMALL.X, SMALL.y)
    same_lines(solve_grid(models, models[0].statistics_), models)


def test_a_penalty_for_each_target():
    rows = make_rows(100, 3, 2)
    models = fits([Ridge([0.1, 100.0]), Ridge(2.0), Ridge([3.0, 3.0])], rows.X, rows.y)
    same_lines(solve_grid(models, models[0].statistics_), models)


def test_least_squares():
    models = fits([LinearRegression(), LinearRegression(fit_intercept=False)], SMALL.X, SMALL.y)
    same_lines(solve_grid(models, models[0].statistics_), models)


def test_columns_in_many_units():
    units = 10.0 ** np.array([-90, 0, 8, 60])
    models = fits([Ridge(alpha) for alpha in (0.0, 1e-3, 1e12)], SMALL.X * units, SMALL.y)
    for line, model in zip(solve_grid(models, models[0].statistics_), models, strict=True):
        np.testing.assert_allclose(line.coef[:, 0] * units, model.coef_ * units, rtol=1e-9)


def test_dependent_and_constant_columns_are_solved_alone():
    X = np.column_stack([SMALL.X, SMALL.X[:, 0], np.full(len(SMALL.X), 3.0)])
    models = fits([Ridge(alpha) for alpha in (0.0, 1e-9, 1.0)], X, SMALL.y)
    moments = models[0].statistics_
    equations = normal_equations(moments, 1, True)
    alone, errors = solve_together(equations, np.zeros((1, 6)))
    assert alone == [None]
    assert np.isinf(errors).all()
    same_lines(solve_grid(models, moments), models)


def test_ill_conditioned_rows_in_float64_are_refused():
    X = LARGE.X.copy()
    X[:, 4] = X[:, 0] + 1e-8 * X[:, 4]
    model = LinearRegression()
    source = model._training_source(X, LARGE.y, None)
    moments = model._pass(source, partial(model._summarize, precision="float64"))
    assert solve_grid([model], moments) is None
    exact = model._pass(source, partial(model._summarize, precision="double-double"))
    same_lines(solve_grid([model], exact), [LinearRegression().fit(X, LARGE.y)], 1e-9)


def test_what_is_not_proved_says_so():
    X = np.vander(1 + np.arange(120) / 1e5, 9)
    with pytest.warns(match="nearly dependent"):
        model = LinearRegression().fit(X[40:], SMALL.y[40:])
    assert [line.proved for line in solve_grid([model], model.statistics_)] == [False]


def test_a_bad_penalty_raises():
    model = Ridge().fit(SMALL.X, SMALL.y)
    model.alpha = [1.0, 2.0]
    with pytest.raises(ValueError, match="one for each of the 1 targets"):
        solve_grid([model], model.statistics_)


def test_many_penalties_are_not_solved_by_an_inverse_that_is_none():
    """Columns so close that float64 cannot invert their moments, however precise these are."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    X[:, 2] = X[:, 0] + 5e-11 * X[:, 2]
    y = (X[:, 2] - X[:, 0]) * 2e10 + rng.standard_normal(300) * 1e-3
    models = fits([Ridge(alpha) for alpha in (1.8e-15, 1e-12, 1e-3)], X, y)
    for line, model in zip(solve_grid(models, models[0].statistics_), models, strict=True):
        predicted = X @ line.coef[:, 0] + line.intercept[0]
        assert np.linalg.norm(predicted - model.predict(X)) <= 1e-5 * np.linalg.norm(y)
