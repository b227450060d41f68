"""What is proved about principal components: bounds on their errors, in words and numbers.

Errors of variances are relative to the largest one, or to each itself where the fit whitens and so
divides by their roots; those of directions to their length 1, and that of a column's mean to the
mean or the standard deviation, whichever is larger.  Six digits are enough.  A direction that has
fewer, for another variance is near, is named and left out of the claim: more digits of the moments
would not make it matter.
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
"""Bound on the error up to which float64 is accepted, a certificate holds, and a direction counts
as determined."""


class Errors:
    """Bounds on the errors of what is kept, in the units of the claim."""

    def __init__(
        self,
        found: Spectrum,
        k: int,
        columns: UnitColumns,
        left: DoubleDouble,
        left_error: float,
        whiten: bool,
    ) -> None:
        self.found, self.k, self.whiten = found, k, whiten
        self.kept = min(k, found.rank)
        self.total = _relative(found.total_error, float(found.total.hi))
        self.largest = float(found.values.hi.max(initial=0.0))
        self.own = _relative(found.errors[:k], found.values.hi[:k])
        self.noise = float(_relative(left_error, float(left.hi)))
        error = max(float(found.errors[:k].max(initial=0.0)), left_error)
        self.values = float(_relative(error, self.largest))
        if whiten:
            self.values = max(self.values, float(self.own.max(initial=0.0)))
        self.vectors = found.vector_errors[: self.kept]
        # An error of a mean counts relative to the column's deviation where that is larger.
        size = np.maximum(np.abs(columns.mean), columns.deviation)
        self.columns = max(
            float(_relative(columns.mean_error, size).max(initial=0.0)),
            float(columns.scale_error.max(initial=0.0)),
        )

    @property
    def numbers(self) -> float:
        """That of all but the directions."""
        return self.values + self.total + self.columns

    def certificate(self, doubt: str) -> Certificate:
        """What is proved; `doubt` says why another number of components would do as well."""
        found, k, largest = self.found, self.k, self.largest
        separate = self.vectors <= PROVED_ERROR
        error = max(self.numbers, float(self.vectors[separate].max(initial=0.0)))
        digits = -np.log10(error + 4 * UNIT) if error < 1 else 0.0
        gap = float(found.gaps[: self.kept].min(initial=np.inf))
        measures = {
            "digits": max(float(digits), 0.0),
            "error": error + 4 * UNIT,
            "gap": gap / largest if largest > 0 and np.isfinite(gap) else 1.0,
            "condition": largest / float(found.values.hi[self.kept - 1]) if self.kept else 1.0,
            "rank": float(found.rank),
        }
        proved = error <= PROVED_ERROR
        notes = [*self._notes(separate), *([doubt] if doubt else [])]
        if not proved:
            notes.append(
                "the smallest variances are too small next to the largest to be determined: "
                "keep fewer components"
            )
        shown = rounded_down(measures["digits"])
        claim = f"the {k} directions of largest variance, to {shown} digits or more"
        return Certificate(proved, claim, found.method, measures, tuple(notes))

    def _notes(self, separate: NDArray[np.bool_]) -> list[str]:
        notes = []
        close = np.flatnonzero(~separate)
        if len(close):
            notes.append(
                f"components {_names(close)} (counted from 0) have a variance too near another's "
                "to be told apart: the space of such components is determined, the directions in "
                "it are not, and the digits do not speak of them"
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
        few = np.flatnonzero(self.own[: self.kept] > PROVED_ERROR)
        advice = "" if "double-double" in self.found.method else ": exact=True keeps more"
        if len(few) and not self.whiten:
            notes.append(
                f"the variances of components {_names(few)} (counted from 0) are so far below the "
                f"largest that fewer than six digits of their own are known{advice}"
            )
        if self.noise > PROVED_ERROR:
            notes.append(
                "of the variance left out (noise_variance_), by which densities divide, fewer than "
                f"six digits of its own are known{advice}"
            )
        return notes


def _names(components: NDArray[np.intp]) -> str:
    return ", ".join(str(i) for i in components[:8]) + (", …" if len(components) > 8 else "")


def _relative(error: Any, size: Any) -> Any:
    """error / (size − error), the true size being at least this; no error is none of zero."""
    error = np.asarray(error, dtype=np.float64)
    least = np.asarray(size, dtype=np.float64) - error
    result = np.where(error > 0, np.inf, 0.0)
    return np.divide(error, least, out=result, where=(least > 0) & (error > 0))
