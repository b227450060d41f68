"""Kernel density estimates, also called Parzen windows.

    p(x) = Σᵢ wᵢ K((x − xᵢ) / h) / (W hᵈ ∫ K)

Every row of the fit carries a window of width h: the density at x is what the windows of the rows
around it hold together.  As the number n of rows grows, it tends to the density they come from if
h → 0 and n hᵈ → ∞.  There is nothing to learn but h: the model is its rows.

Sums are over all rows, exact to rounding; `suffice.kernels.density.smooth` tells how.

References: Parzen, "On estimation of a probability density function and mode" (1962); Silverman,
"Density estimation" (1986).
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from suffice.fitting.density import log_likelihood
from suffice.fitting.files.registry import register
from suffice.fitting.one_pass import OnePass, Solved
from suffice.fitting.requests import Passes
from suffice.fitting.trace import Trace
from suffice.neighbors.base import fit_to_rows, kept_rows
from suffice.neighbors.density.bandwidth import (
    LARGEST,
    SMALLEST,
    Choice,
    Rule,
    check_candidates,
    choose_bandwidth,
    leave_one_out_log_densities,
    rule_of_thumb,
)
from suffice.neighbors.density.certificate import proof_of_choice, proof_of_sums
from suffice.neighbors.density.kernel_sums import kernel_sums, log_constants
from suffice.neighbors.density.kernels import KERNELS
from suffice.sources import Block, Source
from suffice.statistics.moments.full import Precision
from suffice.statistics.rows.weighted import WeightedRows

register(WeightedRows)

Floats = NDArray[np.float64]

EUCLIDEAN = ("euclidean", "l2", "minkowski", "p")
"""Names of the metric under which the densities integrate to 1."""

LIKELIHOODS = ("held-out", "leave-one-out")
"""Ways to choose a bandwidth."""


class KernelDensity(DensityMixin, OnePass):
    """The density of rows, by a window around each of them.

    Parameters
    ----------
    bandwidth : float or str, default=1.0
        h, the width of the windows; or how to find it.  "scott" is n^(−1/(d + 4)) and "silverman"
        (n (d + 2)/4)^(−1/(d + 4)), n the total weight: like scikit-learn's, for columns of unit
        variance.  "leave-one-out" and "held-out" choose the one under which rows that are left
        out, one by one or in folds, are most likely.
    algorithm : {"auto", "kd_tree", "ball_tree"}, default="auto"
        Accepted, without an effect.
    kernel : str, default="gaussian"
        "gaussian", "exponential"; "tophat", "epanechnikov", "linear" and "cosine", whose windows
        are balls of radius h; "tophat-cube", a cube of side h.
    metric : str, default="euclidean"
        Only the Euclidean metric: only with it do the densities integrate to 1.
    atol, rtol : float, default=0
        Errors that would be tolerated.  Sums are exact to rounding whatever they say.
    breadth_first : bool, default=True
        Accepted, without an effect.
    leaf_size : int, default=40
        Accepted, without an effect.
    metric_params : dict, optional
        None, or ``{"p": 2}``.
    bandwidths : array of shape (candidates,), optional
        The bandwidths from which "leave-one-out" and "held-out" choose; by default a grid of their
        own, refined about its best.
    folds : int, default=5
        Folds of "held-out".
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.

    Attributes
    ----------
    bandwidth_ : float
    kernel_ : str
        The kernel of the fit.
    statistics_ : WeightedRows
        The rows.
    certificate_ : Certificate
    trace_ : Trace
        After the rows, one line for each bandwidth that was tried: the mean log-likelihood of rows
        left out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import KernelDensity
    >>> X = load_iris().data
    >>> model = KernelDensity(bandwidth="leave-one-out").fit(X)
    >>> round(model.bandwidth_, 2)
    0.18
    >>> model.score_samples([[5.0, 3.4, 1.5, 0.2], [500.0, 3.4, 1.5, 0.2]]).round(1)
    array([ 4.0000000e-01, -3.8727319e+06])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "bandwidth": [
            Interval(Real, SMALLEST, LARGEST, closed="both"),
            StrOptions({"scott", "silverman", *LIKELIHOODS}),
        ],
        "algorithm": [StrOptions({"auto", "kd_tree", "ball_tree"})],
        "kernel": [StrOptions(set(KERNELS))],
        "metric": [str],
        "atol": [Interval(Real, 0, None, closed="left")],
        "rtol": [Interval(Real, 0, None, closed="left")],
        "breadth_first": ["boolean"],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "metric_params": [None, dict],
        "bandwidths": ["array-like", None],
        "folds": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [Integral, None],
    }
    _refit_parameters = ("bandwidth", "kernel", "bandwidths", "folds")

    bandwidth_: float
    kernel_: str
    statistics_: WeightedRows
    _choice: Choice
    """Bandwidths that were tried, until the trace has them."""

    def __init__(
        self,
        *,
        bandwidth: float | str = 1.0,
        algorithm: str = "auto",
        kernel: str = "gaussian",
        metric: str = "euclidean",
        atol: float = 0,
        rtol: float = 0,
        breadth_first: bool = True,
        leaf_size: int = 40,
        metric_params: dict[str, Any] | None = None,
        bandwidths: ArrayLike | None = None,
        folds: int = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.algorithm = algorithm
        self.kernel = kernel
        self.metric = metric
        self.atol = atol
        self.rtol = rtol
        self.breadth_first = breadth_first
        self.leaf_size = leaf_size
        self.metric_params = metric_params
        self.bandwidths = bandwidths
        self.folds = folds
        self.n_jobs = n_jobs

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a fitted model."""
        learned = vars(self)
        if "bandwidth_" not in learned:
            return
        rows = learned.get("statistics_")
        if not isinstance(rows, WeightedRows) or rows.X.shape[1] != self.n_features_in_:
            raise ValueError(f"its rows are not of {self.n_features_in_} columns")
        bandwidth: Any = self.bandwidth_
        if not isinstance(bandwidth, float) or not 0 < bandwidth < np.inf:
            raise ValueError(f"its bandwidth_ is {bandwidth!r}")
        if learned.get("kernel_") not in KERNELS:
            raise ValueError(f"its kernel_ is {learned.get('kernel_')!r}")

    # --- fitting --------------------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        return super()._training_source(X, None, sample_weight, reset)  # there is no target

    def _passes(self, source: Source) -> Passes:
        return fit_to_rows(self, "weightedrows in float64")

    def _statistic_of(self, source: Source, precision: Precision) -> Any:
        return kept_rows(self, source)

    def _summarize(self, block: Block, precision: Precision) -> WeightedRows:
        return WeightedRows.summarize(block.X, block.weight)

    def _solve(self, rows: WeightedRows, final: bool) -> Solved:
        check_metric(self.metric, self.metric_params)
        self.kernel_ = self.kernel
        kernel = KERNELS[self.kernel_]
        if self.bandwidth not in LIKELIHOODS:
            self.bandwidth_ = rule_of_thumb(rows, self.bandwidth)
            return Solved(proof_of_sums(rows, kernel, self.bandwidth_), float("nan"))
        choice = choose_bandwidth(
            rows,
            kernel,
            cast(Rule, self.bandwidth),
            self.folds,
            check_candidates(self.bandwidths),
            self._n_jobs(),
        )
        self.bandwidth_ = choice.bandwidth
        sums = proof_of_sums(rows, kernel, self.bandwidth_)
        proof = proof_of_choice(sums, choice, str(self.bandwidth), self.bandwidths is not None)
        tried = tuple(f"bandwidth {h:.6g}" for h in choice.tried)
        steps = Trace(tried, tuple(choice.log_likelihoods), tuple(choice.seconds))
        return Solved(proof, choice.log_likelihood, steps)

    # --- densities ------------------------------------------------------------------------

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Logarithm of the density at each row.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows,)
            −∞ where no window reaches.
        """
        check_is_fitted(self)
        return self._apply(X, self._log_density())

    def _log_density(self) -> Callable[[Any], Floats]:
        """The log density as a function of rows."""
        rows, kernel = self.statistics_, KERNELS[self.kernel_]
        widths = np.array([self.bandwidth_])
        sums = kernel_sums(rows, kernel, widths)
        total = np.sum(rows.weight / rows.weight.max())
        constant = log_constants(rows, kernel, widths)[0] - np.log(total)
        n_jobs = self._n_jobs()
        return lambda queries: sums.log_sums(queries, n_jobs=n_jobs)[:, 0] + constant

    def _leave_one_out_log_densities(self) -> NDArray[np.float64]:
        """The log density of each row of the fit under all others, at the bandwidth of the fit."""
        kernel = KERNELS[self.kernel_]
        return leave_one_out_log_densities(
            self.statistics_, kernel, self.bandwidth_, self._n_jobs()
        )

    def score(self, X: Any, y: Any = None) -> float:
        """The total log-likelihood of rows.

        Parameters
        ----------
        X : array, data frame or Source
            The rows of a source count with their weights.
        y : None
            Ignored.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return log_likelihood(self, X, self._log_density())[0]

    def sample(self, n_samples: int = 1, random_state: Any = None) -> NDArray[np.float64]:
        """Draw rows from the density.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState or None
            With the Gaussian kernel and "tophat", the rows that scikit-learn draws.

        Returns
        -------
        array of shape (n_samples, columns)
        """
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 0:
            raise ValueError(f"n_samples={n_samples!r} must be a whole number, and not negative")
        rng, rows = check_random_state(random_state), self.statistics_
        u = rng.uniform(0, 1, size=n_samples)
        if (rows.weight == rows.weight[0]).all():
            chosen = (u * rows.count).astype(np.int64)
        else:
            ends = np.cumsum(rows.weight / rows.weight.max())
            chosen = np.searchsorted(ends, u * ends[-1])
        away = KERNELS[self.kernel_].draw(rng, n_samples, rows.X.shape[1])
        return np.asarray(rows.X[chosen] + self.bandwidth_ * away)


def check_metric(metric: str, params: dict[str, Any] | None) -> None:
    """Raise unless distances are Euclidean."""
    if metric not in EUCLIDEAN:
        raise ValueError(
            f"metric={metric!r} is not supported: densities integrate to 1 only with "
            "metric='euclidean' (also called 'l2', or 'minkowski' with p=2)"
        )
    if any(name != "p" or value != 2 for name, value in (params or {}).items()):
        raise ValueError(f"metric_params={params!r} is not supported: give None or {{'p': 2}}")
