"""Rows prepared for sums of kernel values around many queries.

Where squares could overflow in the user's units, everything is measured in a power of two near the
bandwidth, which changes no digit.  The sums of a query are computed by themselves: they have the
same bits whichever queries come with it.

Weights are taken relative to the largest.  Logarithms hold any such share; shares themselves do
not, and where only rows reach a query whose shares are too small for float64, its sum is taken
once more with all shares 2¹⁰⁰⁰ times as large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.engines.passes import map_rows
from suffice.kernels.density import EXPONENTIAL, log_sums
from suffice.kernels.density_windows import log_window_sums
from suffice.neighbors.density_kernels import DensityKernel
from suffice.numerics.spatial import Leaves
from suffice.sources import Block
from suffice.sources.query_blocks import QueryBlocks
from suffice.statistics.weighted_rows import WeightedRows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TOGETHER = 64
"""Queries that a thread takes at a time."""

FARTHEST = 2.0**500
"""Bandwidths from the origin within which rows have to be: squares of differences stay finite."""

NEARER = 2.0**-600
"""What brings any query within reach whose distance is not to be squared in bandwidths."""

LOG_2 = math.log(2.0)

LIGHT = -900
"""Binary digits after the point: shares, and sums of windows, below this may miss some."""

LIFT = 1000
"""Binary digits by which shares are lifted.  What is below LIGHT has a share below 2⁻⁸⁴⁰, for no
window is below 2⁻⁵⁴ within its reach, and stays finite."""


@dataclass(frozen=True)
class Windows:
    """Rows, and the windows of one shape that are put around queries.

    Attributes
    ----------
    leaves : Leaves
        The rows, in the units of `unit`.
    mass, groups : arrays of shape (leaves, LEAF)
        Weights, or their logarithms for kernels without an end, relative to the largest; and a
        number for each row.
    heaviest : array of shape (leaves,)
    bandwidths : array of shape (bandwidths,)
        In those units.
    kernel : DensityKernel
    unit : float
        A power of two.
    lighter : Windows, optional
        The same with shares 2¹⁰⁰⁰ times as large, for queries that only the lightest rows reach.
    """

    leaves: Leaves
    mass: Floats
    groups: Integers
    heaviest: Floats
    bandwidths: Floats
    kernel: DensityKernel
    unit: float
    lighter: Windows | None = None

    def log_sums(
        self, queries: Floats, left_out: Integers | None = None, n_jobs: int | None = None
    ) -> Floats:
        """log Σ wᵢ K((q − xᵢ)/h), with weights relative to the largest.

        Parameters
        ----------
        queries : array of shape (queries, columns)
            In the user's units.
        left_out : int array of shape (queries,), optional
            The group of rows that each query does not see.
        n_jobs : int, optional

        Returns
        -------
        array of shape (queries, bandwidths)
        """
        if left_out is None:
            left_out = np.full(len(queries), -1)

        def sums(block: Block) -> Floats:
            X = np.ascontiguousarray(block.X, dtype=np.float64)
            return self.block_log_sums(X, left_out[block.start : block.start + len(X)])

        return map_rows(QueryBlocks(queries, TOGETHER), sums, n_jobs)

    def block_log_sums(self, queries: Floats, left_out: Integers) -> Floats:
        """`log_sums` of a few queries, on this thread."""
        out = self._summed(queries, left_out, 1.0)
        if self.kernel.shape == EXPONENTIAL:
            with np.errstate(over="ignore"):
                far = (np.abs(queries) * self.unit >= FARTHEST).any(axis=1)
            if far.any():
                out[far] = self._summed(queries[far], left_out[far], NEARER)
        if self.lighter is not None:
            light = out < LIGHT * LOG_2
            some = light.any(axis=1)
            again = self.lighter.block_log_sums(queries[some], left_out[some]) - LIFT * LOG_2
            out[some] = np.where(light[some], again, out[some])
        return out

    def _summed(self, queries: Floats, left_out: Integers, factor: float) -> Floats:
        out = np.empty((len(queries), len(self.bandwidths)))
        leaves = self.leaves.scaled(factor)
        with np.errstate(over="ignore"):
            queries = queries * (self.unit * factor)
        rows = leaves.X, self.mass, self.groups
        boxes = leaves.low, leaves.high
        scales, shape = self.kernel.scales(self.bandwidths * factor), self.kernel.shape
        if self.kernel.endless:
            count = len(leaves.order)
            log_sums(*rows, self.heaviest, *boxes, queries, left_out, scales, shape, count, out)
        else:
            log_window_sums(*rows, *boxes, queries, left_out, scales, shape, out)
        return out


def make_windows(
    rows: WeightedRows, kernel: DensityKernel, bandwidths: Floats, groups: Integers | None = None
) -> Windows:
    """Prepare rows for sums of one kernel's values.

    Parameters
    ----------
    rows : WeightedRows
    kernel : DensityKernel
    bandwidths : array of shape (bandwidths,)
    groups : int array of shape (rows,), optional
        Numbers of rows, of which a query may be told to overlook one.

    Returns
    -------
    Windows
    """
    unit = unit_for(rows, bandwidths)
    leaves = rows.leaves.scaled(unit)
    numbers = leaves.place(np.zeros(rows.count, np.int64) if groups is None else groups, -1)
    fractions, digits = shares(rows.weight)

    def lifted(lift: int) -> Windows:
        if kernel.endless:
            mass = leaves.place(log_shares(rows.weight), -np.inf)
        else:
            mass = leaves.place(np.ldexp(fractions, np.minimum(digits + lift, LIFT)), 0.0)
        light = not kernel.endless and digits.min() + lift < LIGHT
        lighter = lifted(lift + LIFT) if light else None
        heaviest, widths = mass.max(axis=1), bandwidths * unit
        return Windows(leaves, mass, numbers, heaviest, widths, kernel, unit, lighter)

    return lifted(0)


def shares(weight: Floats) -> tuple[Floats, NDArray[np.int32]]:
    """Weights relative to the largest, f 2ⁿ, as f and n: as such they may be too small."""
    (fraction, digits), (whole, most) = np.frexp(weight), np.frexp(weight.max())
    return fraction / whole, digits - most


def log_shares(weight: Floats) -> Floats:
    """Logarithms of weights relative to the largest."""
    fractions, digits = shares(weight)
    near = np.log(np.ldexp(fractions, np.maximum(digits, LIGHT)))
    return np.asarray(np.where(digits >= LIGHT, near, np.log(fractions) + digits * LOG_2))


def unit_for(rows: WeightedRows, bandwidths: Floats) -> float:
    """A power of two by which rows and bandwidths are multiplied: 1 for ordinary numbers.

    Raises
    ------
    ValueError
        If rows are too many bandwidths from the origin.
    """
    largest = max(float(rows.X.max()), -float(rows.X.min()))
    least, most = float(bandwidths.min()), float(bandwidths.max())
    if 2.0**-200 < least and most < 2.0**200 and largest < 2.0**400:
        return 1.0
    exponent = math.frexp(math.sqrt(least) * math.sqrt(most))[1]
    unit = math.ldexp(1.0, min(-exponent, 1000))
    if not largest * unit < FARTHEST:
        raise ValueError(
            f"bandwidth={least!r} is too small next to values of {largest:.3g}: a value may be up "
            f"to {FARTHEST:.0e} bandwidths; rescale the columns, or choose a larger one"
        )
    return unit


def log_constants(rows: WeightedRows, kernel: DensityKernel, bandwidths: Floats) -> Floats:
    """What turns `log_sums` into log densities, but for the logarithm of the total weight.

    Parameters
    ----------
    rows : WeightedRows
    kernel : DensityKernel
    bandwidths : array of shape (bandwidths,)

    Returns
    -------
    array of shape (bandwidths,)
        −log(hᵈ ∫ K).
    """
    d = rows.X.shape[1]
    return -(d * np.log(bandwidths) + kernel.log_integral(d))
