"""From observations, in memory or in files, to their sufficient sums: one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines.passes import reduce
from suffice.sources import ArraySource, Block, Source
from suffice.sources.memory.target import plain_array
from suffice.statistics.exponential_family import SufficientSums

if TYPE_CHECKING:
    from suffice.families.base import Family


def sums_of(family: Family, y: Any, sample_weight: Any) -> SufficientSums:
    """The sufficient sums of all rows of an array or a source."""
    source = _source(y, sample_weight)

    def contribution(block: Block) -> SufficientSums:
        return _of_block(family, block, source)

    return reduce(source, contribution)


def _source(y: Any, sample_weight: Any) -> Source:
    if isinstance(y, Source):
        if sample_weight is not None:
            raise ValueError(
                "a source brings its own weights: name them in scan(…, weight=…), and pass no "
                "sample_weight"
            )
        if not y.has_target:
            raise ValueError(f"{y!r} has no target to model: name it in scan(…, target=…)")
        return y
    values, _ = plain_array(y)
    if values.ndim == 0:
        raise ValueError(f"y is {y!r}; give one observation a row, or scan(path, target=…)")
    if sample_weight is not None and len(np.atleast_1d(sample_weight)) != len(values):
        raise ValueError(
            f"y has {len(values)} rows, but sample_weight has {len(np.atleast_1d(sample_weight))}"
        )
    # No columns beside the target: blocks are as large as those of files with few columns.
    return ArraySource(np.empty((len(values), 0)), values, sample_weight)


def _of_block(family: Family, block: Block, source: Source) -> SufficientSums:
    """What some rows contribute; an impossible value is named with its row."""
    y, weight = _one_observation_a_row(family, block), block.weight
    numbers = np.arange(len(y))
    if weight is not None and not weight.all():
        numbers = np.flatnonzero(weight > 0)
        y, weight = y[numbers], weight[numbers]

    def label(place: tuple[int, ...]) -> str:
        return source.row_label(block.start + int(numbers[place[0]]))

    if not len(y):
        return SufficientSums.zero(family.dimension)
    values = family._observations(y, label)
    with np.errstate(over="ignore", invalid="ignore"):
        T, log_base = family._summands(values)
    try:
        return SufficientSums.summarize(T, log_base, weight)
    except FloatingPointError:
        largest = int(np.argmax(np.abs(family._numbers(y)).reshape(len(y), -1).max(axis=1)))
        raise ValueError(
            f"{y[largest].tolist()!r} in {label((largest,))} is too large: the sum of the "
            "sufficient statistic overflows; rescale the values"
        ) from None


def _one_observation_a_row(family: Family, block: Block) -> NDArray[Any]:
    y = block.y
    assert y is not None
    if family.observed_axes == 0 and y.ndim == 2:
        if y.shape[1] != 1:
            raise ValueError(
                f"the target has {y.shape[1]} columns; {type(family).__name__} models "
                f"{family.support}, one a row"
            )
        y = y[:, 0]
    if family.observed_axes == 1 and y.ndim != 2:
        raise ValueError(
            f"the target has one column; {type(family).__name__} models {family.support}: give "
            "an array of shape (rows, columns), or scan(…, target=[…])"
        )
    return y
