"""Lloyd's algorithm: each row to its nearest centre, each centre to the mean of its rows.

    labelᵢ ← argmin over c of ‖xᵢ − c‖²,        c ← Σ wᵢ xᵢ / Σ wᵢ over the rows of label c.

Neither step can raise Σ wᵢ ‖xᵢ − c‖², the inertia.  It ends where no label changes, or where the
centres together have moved, in squares, by no more than the tolerance.

References: Lloyd, "Least squares quantization in PCM" (1982); for rows and centres of length 1,
Dhillon and Modha, "Concept decompositions for large sparse text data using clustering" (2001).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from suffice.clustering.lloyd.centres import CentreTable, Floats, Labels, scale_for
from suffice.clustering.lloyd.farthest import FarthestRows
from suffice.clustering.lloyd.held import HeldRows, Motion
from suffice.clustering.lloyd.streamed import StreamedRows
from suffice.fitting.requests import Request, StopAsked, needed
from suffice.statistics.sums import Sums


@dataclass(frozen=True)
class LocationScale:
    """Where the rows lie.

    Attributes
    ----------
    centre : array of shape (columns,)
        About the mean of the columns; subtracted before rows and centres are rounded to float32.
    scale : float
        A power of two that brings the largest deviation of a column near 1.
    variance : float
        Mean of the columns' variances.
    scatter : float
        Σ w ‖x − centre‖².
    unit : bool
        Whether rows and centres have length 1.
    """

    centre: Floats
    scale: float
    variance: float
    scatter: float
    unit: bool

    @classmethod
    def of(cls, centre: Floats, weight: float, squares: Floats, unit: bool) -> LocationScale:
        """From the weight of the rows and the sums of squares about a centre."""
        variances = squares / weight
        scale = scale_for(float(np.sqrt(variances.max())))
        return cls(centre, scale, float(variances.mean()), float(squares.sum()), unit)

    def table(self, centres: Floats) -> CentreTable:
        """Centres, ready to be compared with the rows."""
        return CentreTable.of(centres, self.centre, self.scale)

    def inertia(self, sums: Sums, centres: Floats) -> float:
        """Σ w ‖x − c‖² from the sums over clusters."""
        total = sums.values[0] + sums.values[1]
        apart, moved = centres - self.centre, total[:, :-2] - total[:, -2:-1] * self.centre
        return float(
            self.scatter
            - 2 * np.einsum("ij,ij", apart, moved)
            + total[:, -2] @ np.einsum("ij,ij->i", apart, apart)
        )

    def means(self, total: Floats, before: Floats) -> Floats:
        """The centre of each cluster; that of an empty one stays."""
        there = total[:, -1:] > 0
        means = total[:, :-2] / np.where(there, total[:, -2:-1], 1.0)
        if self.unit:
            lengths = np.sqrt(np.einsum("ij,ij->i", means, means))[:, None]
            there = there & (lengths > 0)
            means = means / np.where(lengths > 0, lengths, 1.0)
        return np.where(there, means, before)


class Clustering(NamedTuple):
    """What Lloyd's algorithm came to.

    Attributes
    ----------
    centres : array of shape (clusters, columns)
    labels : int32 array of shape (rows,)
        The nearest centre of each row.
    inertia : float
        Σ w ‖x − c‖².
    n_iter : int
    stable : bool
        Whether the last pass changed no label.
    within : bool
        Whether the tolerance was met.
    shift : float
        How far the centre that is farthest from the mean of its rows is from it.
    clusters : int
        How many of them have rows.
    """

    centres: Floats
    labels: Labels
    inertia: float
    n_iter: int
    stable: bool
    within: bool
    shift: float
    clusters: int

    @property
    def converged(self) -> bool:
        """Whether it ended by itself."""
        return self.stable or self.within


def lloyd(
    rows: HeldRows | StreamedRows, frame: LocationScale, start: Floats, max_iter: int, tol: float
) -> Generator[Request, Any, Clustering]:
    """Go from some centres to a fixed point; a generator that a fit can `yield from`.

    Parameters
    ----------
    rows : HeldRows or StreamedRows
    frame : LocationScale
    start : array of shape (clusters, columns)
    max_iter : int
    tol : float
        Squared move of all centres together at which to stop, in units of the columns' mean
        variance.
    """
    centres, motion = start, None
    stable = within = False
    n_iter = 0
    try:
        for n_iter in range(1, max_iter + 1):
            table = frame.table(centres)
            sums = yield rows.assign(table, motion, partial(frame.inertia, centres=centres))
            total = sums.values[0] + sums.values[1]
            empty = int((~(total[:, -1] > 0)).sum())
            if empty:
                far: FarthestRows = yield from needed(rows.farthest(centres, empty))
                total = far.given(total)
            before, centres = centres, frame.means(total, centres)
            motion = _motion(rows, before, frame.table(centres))
            shift = float(np.square(centres - before).sum())
            stable = (n_iter > 1 and not sums.values[2]) or shift == 0.0
            within = shift <= tol * frame.variance
            if stable or within:
                break
    except StopAsked:
        n_iter -= 1
    table = frame.table(centres)
    last = yield from needed(rows.finish(table, motion))
    high, low, changed, inertia = last.values
    means = frame.means(high + low, centres)
    left = float(np.sqrt(np.square(means - centres).sum(axis=1)).max())
    fixed = stable and not (isinstance(rows, HeldRows) and changed)
    clusters = int((high[:, -1] > 0).sum())
    return Clustering(
        centres, rows.labels(last), float(inertia), n_iter, bool(fixed), within, left, clusters
    )


def _motion(rows: HeldRows | StreamedRows, before: Floats, table: CentreTable) -> Motion | None:
    return Motion.of(before, table) if isinstance(rows, HeldRows) else None
