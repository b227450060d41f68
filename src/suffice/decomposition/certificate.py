"""What is proved about principal components: bounds on their errors, in words and numbers.

Errors of variances are relative to them, those of directions to their length 1, and that of a
column's mean to the mean or the standard deviation, whichever is larger.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.decomposition.scaling import UnitColumns
from suffice.decomposition.spectrum import Spectrum
from suffice.fitting.certificate import Certificate, rounded_down
from suffice.numerics.double_double import UNIT, DoubleDouble

PROVED_ERROR = 1e-6
"""Bound on the error up to which a certificate holds, and a direction counts as determined."""


class Errors:
    """Bounds on the errors of what is kept, relative to it."""

    def __init__(
        self,
        found: Spectrum,
        k: int,
        columns: UnitColumns,
        left: DoubleDouble,
        left_error: float,
    ) -> None:
        self.found, self.k = found, k
        self.kept = min(k, found.rank)
        self.total = _relative(found.total_error, float(found.total.hi))
        values = _relative(found.errors[:k], found.values.hi[:k])
        self.values = max(float(values.max(initial=0.0)), _relative(left_error, float(left.hi)))
        self.vectors = found.vector_errors[: self.kept]
        # An error of a mean counts relative to the column's deviation where that is larger.
        size = np.maximum(np.abs(columns.mean), columns.deviation)
        self.columns = max(
            float(_relative(columns.mean_error, size).max(initial=0.0)),
            float(columns.scale_error.max(initial=0.0)),
        )

    @property
    def worst(self) -> float:
        """The largest of all, directions included."""
        return max(self._numbers, float(self.vectors.max(initial=0.0)))

    @property
    def _numbers(self) -> float:
        return self.values + self.total + self.columns

    def certificate(self, doubt: bool) -> Certificate:
        found, k = self.found, self.k
        separate = self.vectors <= PROVED_ERROR
        error = max(self._numbers, float(self.vectors[separate].max(initial=0.0)))
        digits = -np.log10(error + 4 * UNIT) if error < 1 else 0.0
        largest = float(found.values.hi.max(initial=0.0))
        gap = float(found.gaps[: self.kept].min(initial=np.inf))
        measures = {
            "digits": max(float(digits), 0.0),
            "error": error + 4 * UNIT,
            "gap": gap / largest if largest > 0 and np.isfinite(gap) else 1.0,
            "condition": largest / float(found.values.hi[self.kept - 1]) if self.kept else 1.0,
            "rank": float(found.rank),
        }
        proved = error <= PROVED_ERROR
        notes = self._notes(separate, doubt)
        if not proved:
            notes.append(
                "the smallest variances are too small next to the largest to be determined: "
                "keep fewer components"
            )
        shown = rounded_down(measures["digits"])
        claim = f"the {k} directions of largest variance, to {shown} digits or more"
        return Certificate(proved, claim, found.method, measures, tuple(notes))

    def _notes(self, separate: NDArray[np.bool_], doubt: bool) -> list[str]:
        notes = []
        close = np.flatnonzero(~separate)
        if len(close):
            names = ", ".join(str(i) for i in close[:8]) + (", …" if len(close) > 8 else "")
            notes.append(
                f"components {names} (counted from 0) have a variance too near another's to be "
                "told apart: the space of such components is determined, the directions in it "
                "are not, and the digits do not speak of them"
            )
            if self.k < self.found.rank and close[-1] == self.k - 1:
                notes.append(
                    "the last component kept and the first left out have the same variance: which "
                    "of their directions is kept is arbitrary"
                )
        if self.k > self.found.rank:
            notes.append(
                f"the rows vary in {self.found.rank} directions beyond rounding: the other "
                f"{self.k - self.found.rank} components count as having no variance, and their "
                "directions are chosen by rule, of which the digits do not speak"
            )
        if doubt:
            notes.append(
                "the share of variance asked for is reached to within the error: one component "
                "more or less would do"
            )
        return notes


def _relative(error: Any, size: Any) -> Any:
    """error / (size − error), the true size being at least this; no error is none of zero."""
    error = np.asarray(error, dtype=np.float64)
    least = np.asarray(size, dtype=np.float64) - error
    result = np.where(error > 0, np.inf, 0.0)
    return np.divide(error, least, out=result, where=(least > 0) & (error > 0))
