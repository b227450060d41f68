"""Rows prepared for sums of kernel values around many queries.

The sums of a query are computed by themselves: they have the same bits whichever queries come with
it.  Weights are taken relative to the largest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.engines.passes import map_rows
from suffice.kernels.density.smooth import log_sums
from suffice.kernels.density.windows import log_window_sums
from suffice.neighbors.density.kernels import DensityKernel
from suffice.numerics.spatial import Leaves
from suffice.sources import Block
from suffice.sources.memory.query_blocks import QueryBlocks
from suffice.statistics.rows.weighted import WeightedRows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TOGETHER = 64
"""Queries that a thread takes at a time."""


@dataclass(frozen=True)
class KernelSums:
    """Rows, and the kernel of several bandwidths that is summed over them.

    Attributes
    ----------
    leaves : Leaves
    mass, groups : arrays of shape (leaves, LEAF)
        Weights, or their logarithms for kernels without an end, relative to the largest; and a
        number for each row.
    heaviest : array of shape (leaves,)
    bandwidths : array of shape (bandwidths,)
    kernel : DensityKernel
    """

    leaves: Leaves
    mass: Floats
    groups: Integers
    heaviest: Floats
    bandwidths: Floats
    kernel: DensityKernel

    def log_sums(
        self, queries: Floats, left_out: Integers | None = None, n_jobs: int | None = None
    ) -> Floats:
        """log Σ wᵢ K((q − xᵢ)/h), with weights relative to the largest.

        Parameters
        ----------
        queries : array of shape (queries, columns)
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
        out = np.empty((len(queries), len(self.bandwidths)))
        leaves, shape = self.leaves, self.kernel.shape
        rows, boxes = (leaves.X, self.mass, self.groups), (leaves.low, leaves.high)
        scales = self.kernel.scales(self.bandwidths)
        if self.kernel.endless:
            count = len(leaves.order)
            log_sums(*rows, self.heaviest, *boxes, queries, left_out, scales, shape, count, out)
        else:
            log_window_sums(*rows, *boxes, queries, left_out, scales, shape, out)
        return out


def kernel_sums(
    rows: WeightedRows, kernel: DensityKernel, bandwidths: Floats, groups: Integers | None = None
) -> KernelSums:
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
    KernelSums
    """
    leaves = rows.leaves
    numbers = leaves.place(np.zeros(rows.count, np.int64) if groups is None else groups, -1)
    shares = rows.weight / rows.weight.max()
    mass = leaves.place(np.log(shares), -np.inf) if kernel.endless else leaves.place(shares, 0.0)
    return KernelSums(leaves, mass, numbers, mass.max(axis=1), bandwidths, kernel)


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
