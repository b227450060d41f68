"""NIST's eleven certified linear regressions, to as many digits as the float64 data determine.

The sets come as decimal numbers.  Read as float64, and with powers of x rounded to float64, they
are other data, whose solution is up to eight digits away from the certified one (Filip).  So
there are two demands: nearly all digits of the exact solution of the float64 data, and as many of
the certified digits as these data allow.

Reference: NIST, "Statistical Reference Datasets: Linear Regression".
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice import LinearRegression
from suffice.linear.least_squares.normal_equations import normal_equations
from suffice.linear.least_squares.solve import solve
from tests.linear.exact import MOST_DIGITS, ExactFit, digits, least_squares, standardised_digits

DATA = Path(__file__).parent / "nist"
CERTIFIED = json.loads((DATA / "certified.json").read_text())

# Digits of the certified coefficients that survive the rounding of the data.
ALLOWED = {
    "norris": 14.0,
    "pontius": 13.5,
    "filip": 7.6,
    "longley": 14.7,
    "wampler1": 16,
    "wampler2": 13.2,
    "wampler3": 16,
    "wampler4": 16,
    "wampler5": 16,
    "noint1": 14,
    "noint2": 14,
}


@dataclass(frozen=True)
class Case:
    """A set: its data, our fit, the exact fit of the same float64 data, the published values."""

    X: Any
    y: Any
    model: LinearRegression
    exact: ExactFit
    certified: dict[str, Any]

    @property
    def coef(self) -> list[float]:
        """Ours, the intercept first if there is one."""
        first = [self.model.intercept_] if self.model.fit_intercept else []
        return [*first, *self.model.coef_.tolist()]

    def published(self, name: str) -> list[Fraction]:
        return [Fraction(value) for value in np.atleast_1d(self.certified[name])]


@pytest.fixture(scope="module", params=list(CERTIFIED))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def case(name: str) -> Case:
    certified = CERTIFIED[name]
    table = np.loadtxt(DATA / f"{name}.csv", delimiter=",", skiprows=1)
    y, X = table[:, 0], table[:, 1:]
    if certified["degree"]:
        X = np.column_stack([X[:, 0] ** k for k in range(1, certified["degree"] + 1)])
    model = LinearRegression(fit_intercept=certified["intercept"]).fit(X, y)
    exact = least_squares(X, y, intercept=certified["intercept"])
    return Case(X, y, model, exact, certified)


def test_all_eleven_sets_are_here() -> None:
    assert set(ALLOWED) == set(CERTIFIED)
    assert len(CERTIFIED) == 11


def test_coefficients_are_exact_for_the_float64_data(case: Case) -> None:
    assert digits(case.coef, case.exact.coef) >= 13


def test_coefficients_have_the_certified_digits_that_the_data_allow(case: Case, name: str) -> None:
    allowed = digits([float(c) for c in case.exact.coef], case.published("coef"))
    assert allowed >= min(ALLOWED[name], 14) - 0.1
    assert digits(case.coef, case.published("coef")) >= min(ALLOWED[name], 14) - 0.5


def test_certificate_promises_no_more_than_is_true(case: Case) -> None:
    proof = case.model.certificate_
    assert proof.holds
    assert proof.coefficient_digits <= digits(case.coef, case.exact.coef)
    assert proof.digits <= standardised_digits(case.model, case.exact.coef, case.X, case.y, None)


def test_certificate_promises_nearly_all_that_is_true(case: Case, name: str) -> None:
    condition = case.model.certificate_.condition
    assert condition <= 1e6 or name == "filip"
    if condition <= 1e6:
        achieved = min(digits(case.coef, case.exact.coef), MOST_DIGITS)
        assert case.model.certificate_.coefficient_digits >= achieved - 3


def test_standard_errors(case: Case) -> None:
    computed = case.model.summary().std_err
    published = case.published("std_err")
    if not any(published):
        # The certified fit is perfect; that of the float64 data misses by roundings of y.
        assert computed.max() <= 1e-13 * np.abs(case.y).max()
        return
    exact = case.exact.std_err
    assert digits(computed, exact) >= 13
    # Rounding the data leaves 7.6 of Filip's certified digits, and more than 13 of the others'.
    allowed = digits([float(s) for s in exact], published)
    assert digits(computed, published) >= min(allowed, 14) - 0.5
    assert allowed >= (7.6 if len(exact) == 11 else 13)


def test_residual_deviation_and_r2(case: Case) -> None:
    summary = case.model.summary()
    deviation = math.sqrt(summary.sigma2)
    published = case.published("residual_sd")
    if any(published):
        assert digits(deviation, [case.exact.residual_sd]) >= 13
        allowed = digits(float(case.exact.residual_sd), published)
        assert digits(deviation, published) >= min(allowed, 14) - 0.5
        assert allowed >= 9.5
    else:
        assert deviation <= 1e-15 * np.abs(case.y).max()
    assert digits(summary.r2, [case.exact.r2]) >= 14
    assert digits(summary.r2, case.published("r_squared")) >= 11.5


def test_the_summary_holds_the_coefficients_of_the_model(case: Case) -> None:
    assert case.model.summary().coef.tolist() == case.coef


def test_the_kept_statistic_alone_reproduces_the_fit(case: Case) -> None:
    equations = normal_equations(case.model.statistics_, 1, case.model.fit_intercept)
    solution = solve(equations, np.zeros(case.X.shape[1]))
    assert solution.coef.round()[:, 0].tolist() == case.model.coef_.tolist()
    assert solution.digits == case.model.certificate_.digits
    if case.model.fit_intercept:
        assert solution.intercept.round()[0] == case.model.intercept_
