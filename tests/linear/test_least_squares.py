"""The solver behind the linear models: its solutions, and what it promises about them.

The oracle is rational arithmetic.  A promise of digits must never be broken, and where the
columns are well enough conditioned it must not be timid either.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from suffice import LinearRegression
from suffice.linear.least_squares.normal_equations import normal_equations
from suffice.linear.least_squares.solve import solve, solve_if_accurate
from suffice.numerics.double_double import DoubleDouble
from suffice.statistics.moments.full import Moments
from tests.linear.exact import (
    MOST_DIGITS,
    digits,
    least_squares,
    rank,
    smallest_solution,
    standardised_digits,
)

# Data this bad may leave coefficients open; then a fit says so.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@dataclass(frozen=True)
class Problem:
    X: Any
    y: Any
    weight: Any
    intercept: bool

    def condition(self) -> float:
        """The condition number of the weighted columns, centred and of equal length."""
        root = np.ones(len(self.y)) if self.weight is None else np.sqrt(self.weight)
        centre = np.average(self.X, axis=0, weights=self.weight) if self.intercept else 0.0
        Z = root[:, None] * (self.X - centre)
        return float(np.linalg.cond(Z / np.linalg.norm(Z, axis=0)))

    def fit(self) -> LinearRegression:
        model = LinearRegression(fit_intercept=self.intercept)
        return model.fit(self.X, self.y, self.weight)

    def achieved(self, model: LinearRegression) -> float:
        exact = least_squares(self.X, self.y, self.weight, intercept=self.intercept)
        first = [model.intercept_] if self.intercept else []
        return digits([*first, *model.coef_], exact.coef)

    def achieved_together(self, model: LinearRegression) -> float:
        exact = least_squares(self.X, self.y, self.weight, intercept=self.intercept)
        return standardised_digits(model, exact.coef, self.X, self.y, self.weight)


@st.composite
def problems(draw: st.DrawFn, targets: tuple[str, ...]) -> Problem:
    """Few rows; two columns nearly dependent; columns in very different units, far from zero."""
    d = draw(st.integers(1, 5))
    n = draw(st.integers(d + 2, d + 12))
    noise = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = noise.standard_normal((n, d))
    if d > 1:
        distance = 10.0 ** -draw(st.integers(0, 7))
        X[:, -1] = draw(st.sampled_from([1.0, -3.0])) * X[:, 0] + distance * X[:, -1]
    offsets = draw(st.lists(st.sampled_from([0.0, 0.0, 1.0, -1e4, 1e8]), min_size=d, max_size=d))
    exponents = draw(st.lists(st.integers(-30, 30), min_size=d, max_size=d))
    X = (X + offsets) * 10.0 ** np.array(exponents)
    target = draw(st.sampled_from(targets))
    if target == "noise":
        y = noise.standard_normal(n)
    elif target == "whole":
        y = noise.integers(-3, 4, n).astype(float)
    elif target == "column":
        y = X[:, 0] * 1.1
    else:
        y = (X / np.abs(X).max(axis=0)).sum(axis=1) + 1e-10 * noise.standard_normal(n)
    y = y * 10.0 ** draw(st.integers(-30, 30))
    if target not in ("noise", "whole"):
        y = y + draw(st.sampled_from([0.0, 0.0, 1e8]))
    weight = noise.integers(1, 5, n).astype(float) if draw(st.booleans()) else None
    return Problem(X, y, weight, draw(st.booleans()))


# --- promises ------------------------------------------------------------------------------


@given(problems(targets=("noise", "whole", "column", "nearly exact")))
def test_no_more_digits_are_promised_than_are_right(problem: Problem) -> None:
    model = problem.fit()
    assume(model.rank_ == problem.X.shape[1])
    assert model.certificate_.coefficient_digits <= problem.achieved(model)
    assert model.certificate_.digits <= problem.achieved_together(model)


@given(problems(targets=("noise", "whole")))
def test_nearly_all_right_digits_are_promised(problem: Problem) -> None:
    model = problem.fit()
    assume(model.rank_ == problem.X.shape[1])
    assume(problem.condition() <= 1e6 and np.ptp(problem.y) > 0)
    assert model.certificate_.coefficient_digits >= min(problem.achieved(model), MOST_DIGITS) - 3


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 8), st.integers(2, 5)),
        elements=st.integers(-4, 4).map(float),
    ),
    st.booleans(),
)
def test_rank_and_digits_on_small_whole_numbers(table: Any, intercept: bool) -> None:
    X, y = table[:, 1:] * 2.0 ** np.arange(0, 20 * (table.shape[1] - 1), 20), table[:, 0]
    model = LinearRegression(fit_intercept=intercept).fit(X, y)
    assert model.rank_ == rank(X, intercept=intercept)
    exact = smallest_solution(X, y, intercept=intercept)
    achieved = digits([*([model.intercept_] if intercept else []), *model.coef_], exact)
    assert model.certificate_.coefficient_digits <= achieved
    assert model.certificate_.digits <= standardised_digits(model, exact, X, y, None)
    if model.rank_ == X.shape[1]:
        assert achieved >= 15.5


@pytest.mark.parametrize("k", range(8))
def test_nearly_dependent_columns_lose_no_digit_of_the_solution(k: int) -> None:
    noise = np.random.default_rng(k)
    X = noise.standard_normal((8, 3))
    X[:, 2] = X[:, 0] + 10.0**-k * X[:, 2]
    problem = Problem(X, noise.standard_normal(8), None, True)
    model = problem.fit()
    assert problem.achieved(model) >= 15.5
    # The intercept, too: errors of the two large coefficients cancel in it.
    assert model.certificate_.digits >= (13 if k <= 5 else 10)
    assert model.certificate_.condition >= 0.5 * problem.condition()


def test_what_cannot_be_told_from_zero_is_zero() -> None:
    x = np.arange(12.0) - 5.5
    X = np.column_stack([x, x**2, x**3])
    model = LinearRegression().fit(X, 3 * x + 0.5)
    assert model.coef_.tolist() == [3.0, 0.0, 0.0]
    assert model.intercept_ == 0.5
    assert model.certificate_.digits > 15


# --- large data, float64 moments -----------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_promises_from_float64_moments(
    intercept: bool, weighted: bool, offset: float, record_property: Any
) -> None:
    noise = np.random.default_rng(7)
    X = noise.standard_normal((30_000, 12)) @ noise.uniform(0.2, 1.0, (12, 12)) + offset
    X = X * 10.0 ** noise.integers(-9, 10, 12)
    y = X @ (noise.uniform(0.5, 2, 12) / X.std(axis=0)) + noise.standard_normal(len(X)) + 1
    weight = noise.integers(0, 4, len(X)).astype(float) if weighted else None
    moments = Moments.summarize(X, y[:, None], weight)
    penalty = np.zeros(12)
    solution = solve(normal_equations(moments, 1, intercept), penalty)
    best = Moments.summarize(X, y[:, None], weight, precision="double-double")
    truth = solve(normal_equations(best, 1, intercept), penalty)
    assert moments.precision == "float64"
    assert truth.digits > 15.9
    ours, exact = solution.coef.round()[:, 0].tolist(), as_fractions(truth.coef[:, 0])
    if intercept:
        ours.append(float(solution.intercept.round()[0]))
        exact += as_fractions(truth.intercept)
    achieved = digits(ours, exact)
    promised = float(solution.coefficient_digits)
    record_property("digits promised", promised)
    record_property("digits fewer than are right", float(achieved - promised))
    assert 6 < solution.coefficient_digits <= achieved
    assert solution.coefficient_digits <= solution.digits + 3


def test_float64_is_left_where_it_does_not_suffice() -> None:
    noise = np.random.default_rng(0)
    X = noise.standard_normal((30_000, 6))
    y = X.sum(axis=1) + noise.standard_normal(len(X))
    easy = LinearRegression().fit(X, y)
    assert easy.statistics_.precision == "float64"
    assert len(easy.trace_) == 1
    assert easy.certificate_.error <= 1e-10
    X[:, 5] = X[:, 0] + 1e-5 * X[:, 5]
    hard = LinearRegression().fit(X, y)
    assert hard.statistics_.precision == "float64"
    assert hard.trace_.step == ("moments in float64", "residuals")
    assert hard.certificate_.digits > 6
    X[:, 5] = X[:, 0] + 1e-4 * (X[:, 5] - X[:, 0])
    lost = LinearRegression().fit(X, y)
    assert lost.statistics_.precision == "double-double"
    assert lost.trace_.step[-1] == "moments in double-double"
    assert lost.certificate_.digits > 10


def test_float64_moments_refuse_what_they_cannot_resolve() -> None:
    noise = np.random.default_rng(0)
    X = noise.standard_normal((500, 2))
    X[:, 1] = X[:, 0] + 1e-7 * X[:, 1]
    moments = Moments.summarize(X, noise.standard_normal((500, 1)))
    equations = normal_equations(moments, 1, True)
    assert solve_if_accurate(equations, np.zeros(2)) is None
    assert solve(equations, np.zeros(2)).digits < 6


# --- units ---------------------------------------------------------------------------------


@given(st.integers(-300, 300), st.integers(0, 3), st.booleans())
def test_a_power_of_two_in_a_column_changes_no_bit(k: int, column: int, intercept: bool) -> None:
    noise = np.random.default_rng(3)
    X, y = noise.standard_normal((30, 4)) + 2, noise.standard_normal(30)
    plain = LinearRegression(fit_intercept=intercept).fit(X, y)
    scaled = X.copy()
    scaled[:, column] = np.ldexp(scaled[:, column], k)
    model = LinearRegression(fit_intercept=intercept).fit(scaled, y)
    coef = model.coef_.copy()
    coef[column] = np.ldexp(coef[column], k)
    assert coef.tolist() == plain.coef_.tolist()
    assert model.intercept_ == plain.intercept_
    assert model.certificate_.digits == plain.certificate_.digits


@pytest.mark.parametrize("factor", [1e100, 1e-100, 3e-40])
@pytest.mark.parametrize("rows", [40, 20_000])
def test_fitted_values_do_not_depend_on_units(factor: float, rows: int) -> None:
    noise = np.random.default_rng(4)
    X, y = noise.standard_normal((rows, 8)) + 5, noise.standard_normal(rows)
    plain = LinearRegression().fit(X, y)
    units = np.ones(8)
    units[::2] = factor
    model = LinearRegression().fit(X * units, y)
    np.testing.assert_allclose(model.predict(X * units), plain.predict(X), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(model.coef_ * units, plain.coef_, rtol=1e-9)
    assert model.rank_ == 8
    # The target's units as well.
    model = LinearRegression().fit(X, y * factor)
    np.testing.assert_allclose(model.coef_ / factor, plain.coef_, rtol=1e-9)


# --- what comes along ----------------------------------------------------------------------


@given(problems(targets=("noise",)))
def test_residual_sum_of_squares(problem: Problem) -> None:
    model = problem.fit()
    d = problem.X.shape[1]
    assume(model.rank_ == d)
    equations = normal_equations(model.statistics_, 1, problem.intercept)
    solution = solve(equations, np.zeros(d))
    exact = least_squares(problem.X, problem.y, problem.weight, intercept=problem.intercept)
    assume(exact.residual > exact.total / 10**8 and problem.condition() <= 1e6)
    assert digits(solution.residual.round(), [exact.residual]) >= 12
    assert digits(solution.objective.round(), [exact.residual / 2]) >= 12


@given(problems(targets=("noise", "nearly exact")))
def test_the_gradient_vanishes(problem: Problem) -> None:
    model = problem.fit()
    assume(model.rank_ == problem.X.shape[1])
    assert model.certificate_.stationarity <= 1e-14
    # Anew, in exact arithmetic: each column's products with the residuals, next to their terms.
    X = [[Fraction(v) for v in row] for row in problem.X.tolist()]
    theta = [Fraction(v) for v in model.coef_.tolist()]
    intercept = Fraction(model.intercept_)
    weight = np.ones(len(X)) if problem.weight is None else problem.weight
    gradient = np.zeros(len(theta))
    for j in range(len(theta)):
        products, terms = Fraction(0), Fraction(0)
        for row, y, w in zip(X, problem.y.tolist(), weight.tolist(), strict=True):
            parts = [t * x for t, x in zip(theta, row, strict=True)]
            factor = Fraction(w) * row[j]
            products += factor * (sum(parts) + intercept - Fraction(y))
            terms += abs(factor) * (sum(map(abs, parts)) + abs(intercept) + abs(Fraction(y)))
        gradient[j] = float(products / terms) if terms else 0.0
    assert np.abs(gradient).max() <= 1e-14


def test_solving_merged_moments_is_solving_all_rows() -> None:
    noise = np.random.default_rng(5)
    X = noise.standard_normal((300, 4)) + 1e6
    X[:, 3] = X[:, 0] + 1e-6 * (X[:, 3] - 1e6)
    y = noise.standard_normal((300, 1))
    parts = [
        Moments.summarize(X[rows], y[rows], precision="double-double")
        for rows in np.array_split(np.arange(300), [3, 4, 100, 290])
    ]
    merged = solve(normal_equations(Moments.merge(parts), 1, True), np.zeros(4))
    exact = least_squares(X, y[:, 0])
    assert digits([*merged.intercept.round(), *merged.coef.round()[:, 0]], exact.coef) >= 14
    assert merged.rank == 4


def as_fractions(values: DoubleDouble) -> list[Fraction]:
    return [Fraction(h) + Fraction(v) for h, v in zip(values.hi, values.lo, strict=True)]
