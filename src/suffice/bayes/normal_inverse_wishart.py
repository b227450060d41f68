"""Normal and inverse Wishart: the mean and the covariance of rows of d columns.

    Σ ~ InvWishart(Ψ, ν),      μ | Σ ~ N(m, Σ/κ),      x | μ, Σ ~ N(μ, Σ)

With n rows of mean x̄ and scatter S = Σ (x − x̄)(x − x̄)ᵀ:

    κ' = κ + n,   m' = (κ m + n x̄)/κ',   ν' = ν + n,   Ψ' = Ψ + S + (κ n/κ') (x̄ − m)(x̄ − m)ᵀ

The prior is the statistic (κ, m, Ψ) of rows that nobody saw, ν of them behind Ψ, and the
posterior is its sum with the rows' `Moments`, by Chan's rule.  A Ψ that is a multiple of the
identity shrinks a covariance as a penalty does in ridge regression: the coefficients of one column
on the others, Ψ'ₓₓ⁻¹ Ψ'ₓᵧ, are then those of ridge.

Reference: Gelman et al., "Bayesian Data Analysis" (2013), chapter 3.6.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainccinv, multigammaln

from suffice.bayes.checks import (
    check_semi_definite,
    mean_of,
    numbers,
    plain,
    positive_definite,
    shown,
    two,
)
from suffice.bayes.conjugate import Conjugate, Interval, Kind
from suffice.bayes.normal_inverse_gamma import shortest_variances
from suffice.bayes.predictive import MultivariateT, log_det, student_quantile
from suffice.bayes.priors.scatter import PseudoScatter
from suffice.bayes.statistics import (
    NormalMoments,
    as_joint_moments,
    given_joint_moments,
    joint_moments_of_rows,
)
from suffice.families.gaussian import LOG_2PI
from suffice.families.sampling import generator, number_of_draws
from suffice.numerics.double_double import Array
from suffice.numerics.gamma_functions import log_gamma_rise
from suffice.statistics.moments.full import Moments


class MeanAndCovariance(NamedTuple):
    """Something about the two parameters of a Gaussian of several columns.

    Attributes
    ----------
    mu, covariance : arrays or Intervals
    """

    mu: Any
    covariance: Any


class NormalInverseWishart(Conjugate):
    """The mean and the covariance of rows.

    Parameters
    ----------
    mu : array of shape (…, columns)
        The prior's mean.
    kappa : float or array of shape (…), default=1.0
        How many rows the prior's mean counts for.
    nu : float or array of shape (…), optional
        How many rows the prior's covariance counts for; by default columns + 2, the least whole
        number for which it has a mean.  It may go down to −(columns + 2), which is `flat`.
    psi : array of shape (…, columns, columns), or float, default=1.0
        The scatter of these rows, symmetric and positive semi-definite; a number stands for
        that multiple of the identity.

    Attributes
    ----------
    mu, kappa, nu, psi : arrays
        The same with the rows in them.

    Notes
    -----
    The statistic is `Moments`; sums in arrays go to `given`.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.bayes import NormalInverseWishart
    >>> rows = np.array([[1.0, 2.0], [3.0, 2.0], [2.0, 5.0]])
    >>> known = NormalInverseWishart([0.0, 0.0], psi=2.0).posterior(rows)
    >>> known.mean().mu, known.mean().covariance
    (array([1.5 , 2.25]), array([[1.75  , 1.125 ],
           [1.125 , 3.6875]]))
    >>> NormalInverseWishart.flat(2).posterior(rows).map().covariance  # the most likely
    array([[0.66666667, 0.        ],
           [0.        , 2.        ]])
    """

    def __init__(self, mu: Any, kappa: Any = 1.0, nu: Any = None, psi: Any = 1.0) -> None:
        m, k = mean_of("mu", mu), numbers("kappa", kappa, 0.0)
        if m.ndim == 0 or m.shape[-1] == 0:
            raise ValueError("mu has one number for each column: give an array of shape (columns,)")
        d = m.shape[-1]
        scatter = numbers("psi", psi)
        if scatter.ndim == 0:
            scatter = PseudoScatter.isotropic(scatter, d).matrix
        if scatter.shape[-2:] != (d, d):
            raise ValueError(
                f"psi has shape {scatter.shape}; accepted are numbers and (…, {d}, {d})"
            )
        check_semi_definite("psi", scatter)
        v = numbers("nu", d + 2.0 if nu is None else nu, -(d + 2.0))
        lead = np.broadcast_shapes(m.shape[:-1], k.shape, v.shape, scatter.shape[:-2])
        self._begin(
            NormalMoments(
                np.broadcast_to(k, lead),
                np.broadcast_to(m, (*lead, d)),
                np.broadcast_to(scatter, (*lead, d, d)),
                np.broadcast_to(v, lead),
            )
        )

    @classmethod
    def flat(cls, columns: int) -> Self:
        """A density that is 1 everywhere, under which `map` is the maximum of the likelihood."""
        if isinstance(columns, bool) or not isinstance(columns, Integral) or columns < 1:
            raise ValueError(f"columns is {columns!r}; it must be an integer of at least 1")
        return cls(np.zeros(int(columns)), 0.0, -(columns + 2.0), 0.0)

    @property
    def columns(self) -> int:
        """d, the number of columns."""
        return int(self._both.mean.shape[-1])

    @property
    def mu(self) -> Array:
        centre: Array = self._both.mean
        return centre

    @property
    def kappa(self) -> Any:
        return plain(self._both.weight)

    @property
    def nu(self) -> Any:
        return plain(self._both.degrees)

    @property
    def psi(self) -> Array:
        scatter: Array = self._both.scatter
        return scatter

    @property
    def is_proper(self) -> NDArray[np.bool_]:
        both = self._both
        enough = (both.weight > 0) & (both.degrees > self.columns - 1)
        return np.asarray(enough & positive_definite(both.scatter))

    def mean(self) -> MeanAndCovariance:
        """m, and Ψ / (ν − d − 1) for ν > d + 1; NaN where there is no mean."""
        over = self._over(self.columns + 1.0)
        has_mean = (self._both.degrees > self.columns) & (self._both.weight > 0)
        return MeanAndCovariance(np.where(has_mean[..., None], self.mu, np.nan), self.psi / over)

    def map(self) -> MeanAndCovariance:
        """(m, Ψ / (ν + d + 2)), where the joint density of both is largest.

        The covariance is as singular as Ψ: the density grows without end towards it.

        Raises
        ------
        ValueError
            Where prior and rows leave the mean or the covariance open.
        """
        both, d = self._both, self.columns
        if not ((both.degrees > -(d + 2.0)) & (both.weight > 0)).all():
            raise ValueError(
                f"{self!r} has no mode: kappa must be positive, and nu above -(columns + 2); give "
                "a stronger prior, or rows"
            )
        return MeanAndCovariance(self.mu, self.psi / (both.degrees + (d + 2.0))[..., None, None])

    def variance(self) -> MeanAndCovariance:
        """The covariance of μ, and the variance of each entry of Σ; NaN where they diverge."""
        # By the mean M = Ψ/(ν − d − 1): ((ν−d+1) M²ᵢⱼ + (ν−d−1) Mᵢᵢ Mⱼⱼ) / ((ν−d) (ν−d−3)).
        mean, above = self.psi / self._over(self.columns + 1.0), self._over(float(self.columns))
        diagonal = np.diagonal(mean, axis1=-2, axis2=-1)
        with np.errstate(divide="ignore"):
            of_mean = mean / self._both.weight[..., None, None]
            products = diagonal[..., :, None] * diagonal[..., None, :]
            squares = (1.0 + 1.0 / above) * mean * mean + (1.0 - 1.0 / above) * products
        return MeanAndCovariance(of_mean, squares / self._over(self.columns + 3.0))

    def quantile(self, q: Any) -> MeanAndCovariance:
        """Quantiles of each mean, and of each variance on the diagonal of Σ, by itself."""
        q, df = self._asked(q), (self._both.degrees - self.columns + 1.0)[..., None]
        diagonal = np.diagonal(self.psi, axis1=-2, axis2=-1)
        with np.errstate(divide="ignore"):
            scale = diagonal / df / self._both.weight[..., None]
            of_variance = 0.5 * diagonal / gammainccinv(0.5 * df, q)
        of_mean = self.mu + np.sqrt(scale) * student_quantile(df, q)
        return MeanAndCovariance(of_mean, of_variance)

    def interval(self, level: float = 0.95, kind: Kind = "equal-tailed") -> MeanAndCovariance:
        """A credible interval of each mean, and of each variance on the diagonal of Σ."""
        ends = super().interval(level, kind)
        if isinstance(ends, MeanAndCovariance):
            return ends
        return MeanAndCovariance(*(Interval(*both) for both in zip(*ends, strict=True)))

    def _shortest(self, level: float) -> MeanAndCovariance:
        half = 0.5 * (self._both.degrees - self.columns + 1.0)[..., None]
        diagonal = np.diagonal(self.psi, axis1=-2, axis2=-1)
        of_variance = shortest_variances(half, 0.5 * diagonal, level)
        return MeanAndCovariance(self.interval(level).mu, of_variance)

    def log_density(self, value: Any) -> Any:
        """log p(μ, Σ) at a pair (mu, covariance)."""
        self._require_proper("no density")
        both, d = self._both, self.columns
        mu, covariance = self._checked(*two(("mu", "covariance"), value))
        of_covariance, of_psi = np.linalg.cholesky(covariance), np.linalg.cholesky(both.scatter)
        volume, volume_of_psi = log_det(of_covariance), log_det(of_psi)
        half = np.linalg.inv(of_covariance)  # Σ⁻¹ = halfᵀ half
        trace = np.square(half @ of_psi).sum(axis=(-2, -1))
        distance = np.square(half @ (mu - both.mean)[..., None]).sum(axis=(-2, -1))
        v, k = both.degrees, both.weight
        wishart = 0.5 * (v * volume_of_psi - (v + d + 1.0) * volume - trace - v * d * np.log(2.0))
        normal = -0.5 * (d * (LOG_2PI - np.log(k)) + volume + k * distance)
        return plain(wishart - multigammaln(0.5 * v, d) + normal)

    def _checked(self, mu: Any, covariance: Any) -> tuple[Array, Array]:
        """A mean and a covariance that the density is asked at."""
        mu, covariance, d = numbers("mu", mu), numbers("covariance", covariance), self.columns
        if mu.shape[-1:] != (d,) or covariance.shape[-2:] != (d, d):
            raise ValueError(
                f"mu has shape {mu.shape} and covariance {covariance.shape}; accepted are "
                f"(…, {d}) and (…, {d}, {d})"
            )
        check_semi_definite("covariance", covariance)
        if not positive_definite(covariance).all():
            raise ValueError("covariance must be positive definite, and this matrix is singular")
        return mu, covariance

    def sample(self, n: int, random_state: Any = None) -> MeanAndCovariance:
        """Draws by Bartlett's decomposition of a Wishart matrix."""
        self._require_proper("no draws")
        rng, both, d = generator(random_state), self._both, self.columns
        shape = (number_of_draws(n), *both.weight.shape)
        bartlett = np.tril(rng.standard_normal((*shape, d, d)), -1)
        degrees = both.degrees[..., None] - np.arange(d)
        index = np.arange(d)
        bartlett[..., index, index] = np.sqrt(rng.chisquare(degrees, (*shape, d)))
        root = np.swapaxes(np.linalg.cholesky(both.scatter), -1, -2)
        half = np.linalg.solve(bartlett, np.broadcast_to(root, (*shape, d, d)))
        away = np.swapaxes(half, -1, -2) @ rng.standard_normal((*shape, d, 1))
        mu = self.mu + away[..., 0] / np.sqrt(both.weight)[..., None]
        return MeanAndCovariance(mu, np.swapaxes(half, -1, -2) @ half)

    def predictive(self) -> MultivariateT:
        """The next row: a t of ν − d + 1 degrees of freedom."""
        self._require_proper("no predictive distribution")
        df = np.asarray(self._both.degrees - self.columns + 1.0)
        factor = np.asarray((1.0 + 1.0 / self._both.weight) / df)
        return MultivariateT(df, self.mu, self.psi * factor[..., None, None])

    def given(self, weight: Any, mean: Any, scatter: Any) -> Self:
        """What is known once rows of this weight, mean and scatter were seen, too.

        Parameters
        ----------
        weight : array of shape (…)
        mean : array of shape (…, columns)
        scatter : array of shape (…, columns, columns)
        """
        return self._added(self._fitting(given_joint_moments(weight, mean, scatter)))

    def summarize(self, data: Any, sample_weight: Any = None) -> NormalMoments:
        return self._fitting(joint_moments_of_rows(data, sample_weight))

    def _is_statistic(self, data: Any) -> bool:
        return isinstance(data, Moments | NormalMoments)

    def _as_statistic(self, value: Any) -> NormalMoments:
        return self._fitting(as_joint_moments(value))

    def _fitting(self, rows: NormalMoments) -> NormalMoments:
        if rows.mean.shape[-1] != self.columns:
            raise ValueError(
                f"these rows have {rows.mean.shape[-1]} columns; {self!r} is of {self.columns}"
            )
        return rows

    def _log_evidence(self, prior: NormalMoments, rows: NormalMoments) -> Array:
        # log of Γ_d(ν'/2) |Ψ|^(ν/2) / (Γ_d(ν/2) |Ψ'|^(ν'/2)) (κ/κ')^(d/2) π^(−nd/2)
        d, more = self.columns, 0.5 * rows.weight
        halves = 0.5 * (prior.degrees[..., None] - np.arange(d))
        rise = log_gamma_rise(halves, more[..., None]).sum(axis=-1)
        root = np.linalg.cholesky(prior.scatter)
        half = np.linalg.inv(root)
        # |Ψ'| / |Ψ| is the determinant of 1 and what the rows add, in units of Ψ.
        added = half @ prior.added_by(rows) @ np.swapaxes(half, -1, -2)
        growth = np.log1p(np.maximum(np.linalg.eigvalsh(added), 0.0)).sum(axis=-1)
        value = rise - 0.5 * prior.degrees * growth - more * (log_det(root) + growth)
        value = value - more * d * np.log(np.pi)
        return np.asarray(value - 0.5 * d * np.log1p(rows.weight / prior.weight))

    def _over(self, least: float) -> Array:
        """ν − least, or NaN where that is not positive."""
        above = self._both.degrees - least
        return np.where(above > 0, above, np.nan)[..., None, None]

    def __repr__(self) -> str:
        names = ("mu", "kappa", "nu", "psi")
        inside = ", ".join(f"{name}={shown(getattr(self, name))}" for name in names)
        return f"NormalInverseWishart({inside})"
