"""What a sample says about the parameters of an exponential family.

    Σ wᵢ,      Σ wᵢ T(yᵢ),      Σ wᵢ log b(yᵢ)

The likelihood of p(y; η) = b(y) exp(η·T(y) − a(η)) depends on the rows through these alone.  They
are added up in double-double, since parameters often follow from differences of large sums: the
variance from Σ y² and (Σ y)².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, Array, DoubleDouble
from suffice.statistics.base import Precision, check_part
from suffice.statistics.moments.merging import stacked


@dataclass(frozen=True, eq=False)
class SufficientSums:
    """Weighted sums of T(y) and of log b(y), mergeable and subtractable.

    Attributes
    ----------
    count : int
        Rows, those of weight 0 left out.
    weight : DoubleDouble scalar
        Sum of the rows' weights.
    total : DoubleDouble of shape (p,)
        Weighted sum of the sufficient statistic.
    log_base : DoubleDouble scalar
        Weighted sum of the logarithm of the base measure.
    magnitude : float64 array of shape (p + 1,)
        The same sums of absolute values, of `total` and then of `log_base`, over all rows that
        were ever added or taken away: what rounding errors are measured by.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([2.0, 3.0, 7.0])
    >>> sums = SufficientSums.summarize(y[:, None], np.zeros(3), weight=np.array([1.0, 1.0, 2.0]))
    >>> sums.weight.round(), sums.total.round()
    (array(4.), array([19.]))
    """

    count: int
    weight: DoubleDouble
    total: DoubleDouble
    log_base: DoubleDouble
    magnitude: Array

    @classmethod
    def zero(cls, dimension: int) -> SufficientSums:
        """The sums over no rows."""
        return cls(
            count=0,
            weight=DoubleDouble.zeros(()),
            total=DoubleDouble.zeros(dimension),
            log_base=DoubleDouble.zeros(()),
            magnitude=np.zeros(dimension + 1),
        )

    @classmethod
    def summarize(
        cls, T: Array | DoubleDouble, log_base: Array | DoubleDouble, weight: Array | None = None
    ) -> SufficientSums:
        """The sums over a block of rows.

        Parameters
        ----------
        T : array of shape (rows, p)
            The sufficient statistic of each row, rounded or in double-double.
        log_base : array of shape (rows,)
            The logarithm of each row's base measure.
        weight : float64 array of shape (rows,), optional
            Not negative; rows of weight 0 do not exist.

        Raises
        ------
        FloatingPointError
            If a sum is not finite.
        """
        T, log_base = DoubleDouble.of(T), DoubleDouble.of(log_base)
        if weight is not None and not weight.all():
            present = weight > 0
            T, log_base, weight = T[present], log_base[present], weight[present]
        if T.shape[0] == 0:
            return cls.zero(T.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            if weight is None:
                heft = DoubleDouble.of(float(T.shape[0]))
            else:
                heft = DoubleDouble.of(weight).sum()
                T, log_base = T * weight[:, None], log_base * weight
            total, sizes = _column_sums(T)
            magnitude = np.append(sizes, np.abs(log_base.hi).sum())
            made = cls(T.shape[0], heft, total, log_base.sum(), magnitude)
        if not (np.isfinite(made.total.round()).all() and np.isfinite(magnitude).all()):
            raise FloatingPointError("NaN, infinity or a value too large, whose sum overflows")
        return made

    @classmethod
    def merge(cls, parts: Sequence[SufficientSums]) -> SufficientSums:
        """The sums over all rows of the parts together."""
        parts = [part for part in parts if part.count] or list(parts[:1])
        if len({len(part.magnitude) for part in parts}) > 1:
            raise ValueError("cannot merge sums of sufficient statistics of different dimensions")
        if len(parts) == 1:
            return parts[0]
        return cls(
            count=sum(part.count for part in parts),
            weight=stacked([part.weight for part in parts]).sum(),
            total=stacked([part.total for part in parts]).sum(),
            log_base=stacked([part.log_base for part in parts]).sum(),
            magnitude=np.sum([part.magnitude for part in parts], axis=0),
        )

    def subtract(self, part: SufficientSums) -> SufficientSums:
        """The sums over the rows that stay when those of `part` are taken away."""
        if part.count == 0:
            return self
        check_part(self, part)
        if part.count == self.count:
            return SufficientSums.zero(self.total.shape[0])
        return SufficientSums(
            count=self.count - part.count,
            weight=self.weight - part.weight,
            total=self.total - part.total,
            log_base=self.log_base - part.log_base,
            magnitude=self.magnitude + part.magnitude,
        )

    @property
    def mean(self) -> DoubleDouble:
        """Weighted mean of the sufficient statistic, of shape (p,)."""
        return self.total / self.weight

    def mean_error(self, statistic_error: float) -> Array:
        """A bound on the error of `mean`, of shape (p,).

        Parameters
        ----------
        statistic_error : float
            Relative error of each row's sufficient statistic.
        """
        unit = statistic_error + (self.count.bit_length() + 8) * DOUBLE_DOUBLE_UNIT
        return np.asarray(unit * self.magnitude[:-1] / self.weight.hi)

    _shapes = "weight() total(parameters) log_base() magnitude(terms)"

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be sums over rows."""
        if len(self.magnitude) != len(self.total.hi) + 1:
            raise ValueError("its magnitude does not fit its total")

    @property
    def precision(self) -> Precision:
        """Sums are always kept in double-double."""
        return "double-double"

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return 2 * self.total.hi.nbytes + self.magnitude.nbytes + 32


def _column_sums(T: DoubleDouble) -> tuple[DoubleDouble, Array]:
    """The sum of each column, and of its sizes; few columns one by one, which is faster."""
    if T.shape[1] > 8:
        return T.sum(), np.abs(T.hi).sum(axis=0)
    high, low = np.ascontiguousarray(T.hi.T), np.ascontiguousarray(T.lo.T)
    sums = [DoubleDouble(hi, lo).sum() for hi, lo in zip(high, low, strict=True)]
    total = DoubleDouble(np.array([s.hi for s in sums]), np.array([s.lo for s in sums]))
    return total, np.abs(high).sum(axis=1)
