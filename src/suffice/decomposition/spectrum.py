"""Principal values and directions of a scatter matrix, with what its errors do to them.

Let A be the matrix at hand and A + Δ the true one, |Δᵢⱼ| ≤ ε gᵢ gⱼ.  For a computed value λ with
unit vector v and residual r = ‖A v − λ v‖,

    ρ = r + ε ‖g‖ (g·|v|)                       how far v is from solving the true problem,
    |true value − λ| ≤ ε ‖g‖² + ‖R‖             for every value (Weyl),
                     ≤ r + ε (g·|v|)² + ρ²/gap   for one that is apart from the others,
    ‖true vector − v‖ ≤ √2 ρ / gap               (Davis and Kahan),

where gap is the distance of λ from all other true values.  Columns without spread (g = 0) take no
part.  A value that cannot be told from zero counts as zero, and what it may be is its error; no
error is counted where the bound is far below what float64 resolves, or the rows are too few for
more.  The directions that belong to it are completed by rule: the unit vectors that lie most
outside of what is already spanned, made orthogonal to it.

References: Parlett, "The Symmetric Eigenvalue Problem" (1998), chapters 10 and 11; Minka,
"Automatic choice of dimensionality for PCA" (2000).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import lgamma, log, pi

import numpy as np

from suffice.numerics.double_double import Array, DoubleDouble
from suffice.numerics.symmetric_eigen import EigenSystem, decompose

NEGLIGIBLE = 1e-20
"""Share of the largest value below which what cannot be told from zero is zero."""


@dataclass(frozen=True)
class Spectrum:
    """The values of a scatter matrix in descending order, and the directions of those above 0.

    Attributes
    ----------
    values : DoubleDouble of shape (values,)
    errors : float64 array of shape (values,)
        Bounds on the values' errors.
    vectors : float64 array of shape (rank, columns)
        One unit vector a row, for each value that is not zero.
    vector_errors : float64 array of shape (rank,)
        Bounds on the length of their errors; infinite where another value is too near.
    total : DoubleDouble scalar
        Sum of the values.
    total_error : float
    gaps : float64 array of shape (rank,)
        Distance of each value from the nearest other one.
    method : str
    """

    values: DoubleDouble
    errors: Array
    vectors: Array
    vector_errors: Array
    total: DoubleDouble
    total_error: float
    gaps: Array
    method: str

    @property
    def rank(self) -> int:
        return len(self.vectors)

    def cut(self, n_values: int) -> Spectrum:
        """With so many values: zeros are added, or values that must be zero dropped."""
        more = max(n_values - len(self.errors), 0)
        return replace(
            self,
            values=_padded(self.values, more)[:n_values],
            errors=np.append(self.errors, np.zeros(more))[:n_values],
        )


def spectrum(A: Array | DoubleDouble, unit: float, g: Array, most_rank: int) -> Spectrum:
    """Decompose a positive semi-definite matrix known up to |Δᵢⱼ| ≤ unit gᵢ gⱼ.

    Parameters
    ----------
    A : float64 array or DoubleDouble of shape (n, n)
    unit : float
    g : array of shape (n,)
        Zero only where the row and column of A are zero.
    most_rank : int
        What the rank cannot exceed, by the number of rows behind the matrix.
    """
    n = len(g)
    active = np.flatnonzero(g > 0)
    inner: DoubleDouble | Array = A if len(active) == n else A[np.ix_(active, active)]
    diagonal = DoubleDouble.of(inner)[np.arange(len(active)), np.arange(len(active))]
    # By a power of two, so that squares stay within float64's range.
    largest = float(np.square(g[active]).max(initial=0.0))
    scale = 2.0 ** (np.frexp(largest)[1] // 2)
    down = 1 / scale
    inner = (
        inner.scaled(down).scaled(down) if isinstance(inner, DoubleDouble) else inner * down * down
    )
    g = g[active] * down
    system = decompose(inner)
    values, errors, rank, vector_errors, gaps = _bounds(system, unit, g, most_rank)
    vectors = np.zeros((rank, n))
    vectors[:, active] = system.vectors[:rank]
    return Spectrum(
        values=_padded(values, n - len(active)).scaled(scale).scaled(scale),
        errors=np.append(errors, np.zeros(n - len(active))) * scale * scale,
        vectors=vectors,
        vector_errors=vector_errors,
        total=diagonal.sum(),
        total_error=unit * float(g @ g) * scale * scale,
        gaps=gaps * scale * scale,
        method=system.method,
    )


def _bounds(
    system: EigenSystem, unit: float, g: Array, most_rank: int
) -> tuple[DoubleDouble, Array, int, Array, Array]:
    """Values, their errors, how many are not zero, the errors of their vectors, and the gaps."""
    values = system.values
    n = len(g)
    size = float(np.linalg.norm(g))
    departure = system.departure + unit * size**2
    steps = (values[:-1] - values[1:]).hi
    gaps = np.minimum(np.append(np.inf, steps), np.append(steps, np.inf))
    along = np.abs(system.vectors) @ g * (1 + 1e-12)
    distance = system.residuals + unit * size * along
    sure = gaps - departure
    apart = sure > 0
    sure = np.where(apart, sure, 1.0)
    single = system.residuals + unit * along**2 + distance**2 / sure
    errors = np.where(apart, np.minimum(single, departure), departure)
    vector_errors = np.where(apart, np.sqrt(2) * distance / sure, np.inf)
    above = values.hi > errors
    rank = n if above.all() else int(np.argmin(above))
    zero = np.arange(n) >= rank
    known = errors <= NEGLIGIBLE * float(values.hi.max(initial=0.0))
    known |= rank == most_rank
    possible = np.where(known, 0.0, np.maximum(values.hi, 0.0) + errors)
    errors = np.where(zero, possible, errors)
    values = DoubleDouble(*(np.where(zero, 0.0, word) for word in (values.hi, values.lo)))
    return values, errors, rank, vector_errors[:rank], gaps[:rank]


def _padded(values: DoubleDouble, more: int) -> DoubleDouble:
    zeros = np.zeros(more)
    return DoubleDouble(np.append(values.hi, zeros), np.append(values.lo, zeros))


# --- directions ----------------------------------------------------------------------------


def completed(vectors: Array, count: int) -> Array:
    """Orthonormal rows, with more of them up to `count` from what they leave of the space.

    Each new one is what is left of the unit vector that is least spanned so far.
    """
    basis = np.zeros((count, vectors.shape[1]))
    basis[: len(vectors)] = vectors[:count]
    left = 1 - np.square(vectors).sum(axis=0)
    for k in range(len(vectors), count):
        column = _first_largest(left)
        new = np.zeros(vectors.shape[1])
        new[column] = 1.0
        for _ in range(2):  # twice is enough
            new -= basis[:k].T @ (basis[:k] @ new)
            new /= np.linalg.norm(new)
        basis[k] = new
        left -= np.square(new)
        left[column] = 0.0
    return basis


def signed(vectors: Array) -> Array:
    """With the largest entry of each row positive; of several as large, the first."""
    signs = [np.sign(row[_first_largest(np.abs(row))]) for row in vectors]
    return vectors * np.array(signs).reshape(-1, 1)


def _first_largest(sizes: Array) -> int:
    """Where the largest entry is: the first of those that rounding alone tells apart."""
    return int(np.argmax(sizes >= sizes.max() * (1 - 1e-9)))


# --- how many ------------------------------------------------------------------------------


def kept_for(share: float, found: Spectrum) -> tuple[int, bool]:
    """Fewest values whose sum exceeds a share of the total; and whether errors leave a doubt."""
    total = float(found.total.hi)
    if not total > 0:
        return min(1, len(found.errors)), False
    cumulated = np.cumsum(found.values.round()) / total
    count = min(int(np.searchsorted(cumulated, share, side="right")) + 1, len(cumulated))
    doubt = (np.cumsum(found.errors) + found.total_error) / total
    return count, bool((np.abs(cumulated - share) <= doubt).any())


def most_probable(values: Array, errors: Array, n_rows: float) -> tuple[int, bool]:
    """Minka's choice: the number of components, from 1 to columns − 1, of largest evidence.

    And whether errors leave a doubt, to first order.

    Parameters
    ----------
    values, errors : arrays of shape (columns,)
        Variances in descending order, and bounds on their errors.
    n_rows : float

    Notes
    -----
    With l the variances, v the mean of those left out, l̂ the kept ones followed by v and
    m = d k − k (k + 1)/2, the logarithm of the evidence for k components is

        − (N/2) Σ_{j≤k} log lⱼ − (N (d − k)/2) log v + ((m + k)/2) log 2π − (k/2) log N
        − ½ Σ_{i≤k} Σ_{j>i} log [(l̂ⱼ⁻¹ − l̂ᵢ⁻¹)(lᵢ − lⱼ) N] + log p(directions).

    Terms of equal variances are left out: there is no curvature along a turn of their directions.
    """
    d = len(values)
    if d < 2 or not values[0] > 0:
        return min(1, d), False
    # The choice does not depend on the unit.
    values, errors = values / values[0], errors / values[0]
    floor = 1e-15
    evidence, doubt = np.full(d, -np.finfo(np.float64).max), np.zeros(d)
    prior = 0.0
    for k in range(1, d):
        prior += lgamma((d - k + 1) / 2) - log(pi) * (d - k + 1) / 2 - log(2)
        if values[k - 1] < floor:
            doubt[k:] = np.inf if errors[k - 1] > floor else 0.0
            break
        noise = max(floor, float(values[k:].mean()))
        fitted = np.append(values[:k], np.full(d - k, noise))
        i, j = np.triu_indices(k, 1, d)
        curvature = (values[i] - values[j]) * (1 / fitted[j] - 1 / fitted[i])
        i, j, curvature = i[curvature > 0], j[curvature > 0], curvature[curvature > 0]
        turns = float(np.log(curvature).sum()) + len(curvature) * log(n_rows)
        # A logarithm errs by the relative error: of l, of l̂, and of the differences of either.
        of_fitted = np.append(errors[:k], np.full(d - k, errors[k:].mean()))
        shares = of_fitted / fitted
        doubt[k] = n_rows / 2 * shares.sum() + 0.5 * float(
            ((errors[i] + errors[j]) / (values[i] - values[j])).sum()
            + ((of_fitted[i] + of_fitted[j]) / (fitted[i] - fitted[j])).sum()
            + (shares[i] + shares[j]).sum()
        )
        m = d * k - k * (k + 1) / 2
        evidence[k] = (
            prior
            - n_rows / 2 * float(np.log(values[:k]).sum())
            - n_rows * (d - k) / 2 * log(noise)
            + (m + k) / 2 * log(2 * pi)
            - turns / 2
            - k / 2 * log(n_rows)
        )
    best = int(np.argmax(evidence))
    rivals = evidence + doubt >= evidence[best] - doubt[best]
    return best, bool(rivals.sum() > 1)
