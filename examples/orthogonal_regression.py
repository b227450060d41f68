"""Orthogonal regression: the nearest plane where columns are measured with errors too.

    minimise over θ, b:   Σ wᵢ (θ·xᵢ + b − yᵢ)² / (‖θ‖² + δ)

where the errors of y have δ times the variance of those of each column (Deming's regression; total
least squares for δ = 1).  The moments of x and y are sufficient: with y in units of √δ, the plane
goes through the mean, and its normal v is the last eigenvector of their scatter S:

    S v = λ v,  λ smallest,      θ = −√δ vₓ / vᵧ,      b = ȳ − θ·x̄.

Reference: Golub and Van Loan, "An analysis of the total least squares problem" (1980).
"""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval

from suffice.fitting.certificate import ENOUGH_DIGITS, Certificate, digits_within, rounded_down
from suffice.fitting.files.registry import register_model
from suffice.fitting.one_pass import OnePass, Solved
from suffice.fitting.regression import Regressor, as_columns
from suffice.numerics.symmetric_eigen import decompose
from suffice.statistics.moments.full import Moments


def nearest_plane(moments, ratio):
    """Its slope θ, λ, and a bound on the error of θ relative to √(‖θ‖² + δ)."""
    unit = np.append(np.ones(len(moments.magnitude) - 1), 1 / np.sqrt(ratio))
    total = np.square(unit) @ np.diagonal(moments.rounded_scatter)
    if not total > 0:
        raise ValueError(f"{moments.count} samples, all of them alike, span no plane")
    unit *= np.exp2(-np.round(np.log2(total) / 2))  # a power of two is exact
    system = decompose(moments.scatter * np.outer(unit, unit))
    normal, (apart, least) = system.vectors[-1], system.values.round()[-2:]
    if normal[-1] == 0:
        raise ValueError("the nearest plane is parallel to the target's axis: it has no slope")
    # Davis and Kahan: a matrix off by `noise` turns the vector by no more than noise / gap.
    noise = 2 * moments.error_unit * (np.square(unit) @ moments.magnitude) + system.departure
    gap = apart - least - 2 * noise
    error = (2 * noise / gap / abs(normal[-1]) if gap > 0 else np.inf) + 2.0**-52
    return -normal[:-1] / normal[-1] * unit[0] / unit[-1], least / unit[0] ** 2, error


@register_model
class OrthogonalRegression(Regressor, OnePass):
    """Regression with errors in all columns.

    >>> from sklearn.datasets import load_iris
    >>> sepal, petal = load_iris().data[:, :1], load_iris().data[:, 2]
    >>> model = OrthogonalRegression().fit(sepal, petal)
    >>> model.coef_.round(3), model.refit(variance_ratio=0.1).coef_.round(3)
    (array([2.336]), array([2.433]))

    The larger `variance_ratio`, δ, the nearer this comes to least squares.
    """

    _parameter_constraints = {"variance_ratio": [Interval(Real, 0, None, closed="neither")]}
    _refit_parameters = ("variance_ratio",)
    _target_checks = {"y_numeric": True, "multi_output": False}
    _follows_scaling = True

    def __init__(self, variance_ratio=1.0):
        self.variance_ratio = variance_ratio

    def _summarize(self, block, precision):
        return Moments.summarize(block.X, as_columns(block.y), block.weight, precision)

    def _solve(self, moments, final):
        self.coef_, least, error = nearest_plane(moments, self.variance_ratio)
        self.intercept_ = moments.mean.hi[-1] - moments.mean.hi[:-1] @ self.coef_
        digits = digits_within(error)
        claim = f"the slope of the nearest plane, to {rounded_down(digits)} digits or more"
        path = f"moments in {moments.precision}"
        proof = Certificate(digits >= ENOUGH_DIGITS, claim, path, {"digits": digits})
        return Solved(proof, least).if_enough_digits(moments.precision, final)

    def _predicted(self, rows):
        return rows @ self.coef_ + self.intercept_
