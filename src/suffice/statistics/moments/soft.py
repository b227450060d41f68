"""Moments of rows that belong to several components by shares, each in coordinates of its own.

    N_c = Σ r_c,      a_c = Σ r_c y_c,      B_c = Σ r_c y_c y_cᵀ,      y_c = L_c⁻¹ (x − μ_c)

r_c is the responsibility of component c for a row, times the row's weight, and y_c the row as
the component sees it: from its present mean, in units of its present spread.  While EM comes to
rest a_c → 0 and B_c → N_c I, so that nothing is lost where a component is narrow or far away.

Sums in the same coordinates add up.  All components' sums of a block come from matrix products
over its rows; no row is copied, and nothing of the size rows × components stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.numerics.double_double import Array


@dataclass(frozen=True, eq=False)
class SoftMoments:
    """Moments of all components, mergeable and subtractable in the same coordinates.

    Attributes
    ----------
    weight : float64 array of shape (components,)
    first : float64 array of shape (components, columns)
    second : float64 array
        Of shape (components, columns, columns); its sum over components for a shared spread, of
        shape (columns, columns); its diagonals (components, columns), or their sums (components,).

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, 0.0], [3.0, 2.0]])
    >>> shares = np.array([[1.0, 0.5], [0.0, 0.5]])
    >>> SoftMoments.summarize(np.stack([rows, rows - 1.0], axis=1), shares).first
    array([[2.5, 1. ],
           [1. , 0.5]])
    """

    weight: Array
    first: Array
    second: Array

    @classmethod
    def zero(cls, n_components: int, n_columns: int) -> SoftMoments:
        """The moments of no rows, with the whole second moments."""
        shape = (n_components, n_columns)
        return cls(np.zeros(n_components), np.zeros(shape), np.zeros((*shape, n_columns)))

    @classmethod
    def summarize(cls, coordinates: Array, shares: Array) -> SoftMoments:
        """The moments of a few rows, with the whole second moments.

        Parameters
        ----------
        coordinates : float64 array of shape (rows, components, columns)
        shares : float64 array of shape (components, rows)
        """
        scaled = coordinates * shares.T[:, :, None]
        second = np.einsum("ncd,nce->cde", scaled, coordinates, optimize=True)
        return cls(shares.sum(axis=1), scaled.sum(axis=0), second)

    @classmethod
    def merge(cls, parts: Sequence[SoftMoments]) -> SoftMoments:
        """The moments of all rows of the parts together."""
        columns = zip(*((part.weight, part.first, part.second) for part in parts), strict=True)
        return cls(*(np.sum(column, axis=0) for column in columns))

    def subtract(self, part: SoftMoments) -> SoftMoments:
        """The moments of the rows that stay when those of `part` are taken away."""
        return SoftMoments(
            self.weight - part.weight, self.first - part.first, self.second - part.second
        )

    @property
    def nbytes(self) -> int:
        """Bytes that the sums take."""
        return self.weight.nbytes + self.first.nbytes + self.second.nbytes
