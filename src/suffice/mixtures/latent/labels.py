"""Labels of some rows of a mixture: component i is that of the i-th label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.unlabelled import are_unlabelled
from suffice.mixtures.latent.responsibilities import UNKNOWN
from suffice.sources import Block
from suffice.statistics.base import present
from suffice.statistics.counts.distinct import locate
from suffice.statistics.counts.labels import coded, united


@dataclass(frozen=True, eq=False)
class Labels:
    """The distinct labels of rows, merged by union.

    Attributes
    ----------
    values : array
    """

    values: NDArray[Any]

    @classmethod
    def merge(cls, parts: Sequence[Labels]) -> Labels:
        """Those of all parts."""
        there = [part.values for part in parts if len(part.values)]
        return cls(united(there)) if there else parts[0]

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)


@dataclass(frozen=True)
class LabelsOf:
    """The labels of a block, those left out that mark rows without one."""

    marker: Any

    def __call__(self, block: Block) -> Labels:
        assert block.y is not None
        _, y = present(block.weight, block.y)
        y = y[~are_unlabelled(y, self.marker)]
        return Labels(coded(y)[0] if len(y) else y)


@dataclass(frozen=True, eq=False)
class ComponentOf:
    """The component of each row of a block, by its label."""

    marker: Any
    classes: NDArray[Any]

    def __call__(self, block: Block) -> NDArray[np.intp]:
        assert block.y is not None
        out = np.full(block.n_rows, UNKNOWN)
        known = ~are_unlabelled(block.y, self.marker)
        if known.any():
            found, codes = coded(block.y[known])
            out[known] = locate(found, self.classes)[codes]
        return out
