"""What all statistics share: precisions, rows that do not exist, what a file may hold of them."""

from __future__ import annotations

from typing import Any, Literal

from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, UNIT, Array, DoubleDouble

Precision = Literal["float64", "double-double"]
"""In which arithmetic a statistic is kept."""


class Scattered:
    """A statistic with a scatter, in one of two precisions, and a bound on its error."""

    scatter: Array | DoubleDouble
    roundings: int

    @property
    def precision(self) -> Precision:
        """In which arithmetic the scatter is kept."""
        return "double-double" if isinstance(self.scatter, DoubleDouble) else "float64"

    @property
    def rounded_scatter(self) -> Array:
        """The scatter in float64."""
        return self.scatter.hi if isinstance(self.scatter, DoubleDouble) else self.scatter

    @property
    def error_unit(self) -> float:
        """ε with |ΔSᵢⱼ| ≤ ε √(magnitudeᵢ magnitudeⱼ)."""
        unit = DOUBLE_DOUBLE_UNIT if self.precision == "double-double" else UNIT
        return unit * max(self.roundings, 1)

    def _scatter_less(self, part: Scattered, between: Any, precision: Precision) -> Any:
        """The scatter without that of a part, and without what lies between their means."""
        if precision == "double-double":
            return DoubleDouble.of(self.scatter) - part.scatter - between
        moved = between.hi if isinstance(between, DoubleDouble) else between
        return self.rounded_scatter - part.rounded_scatter - moved


def present(weight: Array | None, *parts: Any) -> tuple[Any, ...]:
    """Weights, and what else is known of the rows, without the rows of weight 0.

    Rows of weight 0 do not exist, whatever they hold: every statistic leaves them out first.

    Parameters
    ----------
    weight : float64 array of shape (rows,), or None
        Not negative; None means that every row counts once.
    *parts : arrays of rows
        Anything that a boolean array can index; None stays None.

    Examples
    --------
    >>> import numpy as np
    >>> present(np.array([1.0, 0.0, 2.0]), np.array([7, 8, 9]))
    (array([1., 2.]), array([7, 9]))
    """
    if weight is None or weight.all():
        return (weight, *parts)
    there = weight > 0
    return (weight[there], *(None if part is None else part[there] for part in parts))


def check_part(whole: Any, part: Any) -> None:
    """Raise ValueError unless rows as many, and as heavy, can be part of others."""
    if part.count > whole.count:
        raise ValueError(
            f"cannot take {part.count} rows away from {whole.count}: "
            "only rows that are part of a statistic can be subtracted from it"
        )
    if part.count < whole.count and not (whole.weight - part.weight).hi > 0:
        raise ValueError(
            f"cannot take rows of weight {part.weight.hi:g} away from rows of weight "
            f"{whole.weight.hi:g}: some would stay, and no weight for them"
        )
