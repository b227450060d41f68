"""From blocks of counts to class sums, and what is proved about numbers computed from these."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from suffice.fitting.certificate import ENOUGH_DIGITS, Certificate, digits_within, rounded_down
from suffice.fitting.files.registry import register
from suffice.numerics.double_double import UNIT, Array
from suffice.sources import Block
from suffice.sources.derived.subset import rows_of
from suffice.statistics.counts.block_totals import NegativeCellError
from suffice.statistics.counts.sums_by_class import ClassSums

register(ClassSums)


def summed(model: Any, block: Block, X: Any) -> ClassSums:
    """The class sums of a block whose cells are taken to be `X`; negative ones are named."""
    try:
        return ClassSums.summarize(X, model._labels(block), block.weight)
    except NegativeCellError:
        name, (row, column) = type(model).__name__, _first_negative(X, block.weight)
        raise ValueError(
            f"Negative values in data passed to {name} (input X): column {column}, row "
            f"{block.start + row} (counted from 0)"
        ) from None


def present_rows(block: Block) -> Block:
    """A block without its rows of weight 0, which do not exist, whatever they hold."""
    if block.weight is None or block.weight.all():
        return block
    return rows_of(block, block.weight > 0, block.start)


def weighed(counts: Array, logs: Array) -> float:
    """Σ counts · logs over classes and columns; where nothing was counted, −∞ adds nothing."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = float(np.einsum("ij,ij->", np.broadcast_to(counts, logs.shape), logs))
        return total if np.isfinite(total) else float(np.where(counts > 0, counts * logs, 0).sum())


def log_shares(counts: Array) -> Array:
    """The logarithm of each number's share of its row; equal shares where all are 0."""
    total = counts.sum(axis=1, keepdims=True)
    if not total.all():
        counts = np.where(total > 0, counts, 1.0)
        total = counts.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        logs = np.log(counts)
    logs -= np.log(total)
    return logs


def of_others(table: Array) -> Array:
    """For each class, the sum over all others: by prefixes and suffixes, so nothing cancels."""
    out = np.zeros(table.shape)
    np.cumsum(table[:-1], axis=0, out=out[1:])
    out[:-1] += np.cumsum(table[:0:-1], axis=0)[::-1]
    return out


def with_borrowed(statistic: ClassSums, pseudo_weight: Array) -> tuple[Array, Array]:
    """Sums and weights of the cells, each of shape (classes, columns).

    Where a class has no value in a column, and no prior says anything, it has those of all
    classes together.
    """
    sums = statistic.sums
    weight = np.broadcast_to(statistic.cell_weight, sums.shape)
    unknown = weight + pseudo_weight <= 0
    if not unknown.any():
        return sums, weight
    return np.where(unknown, sums.sum(axis=0), sums), np.where(unknown, weight.sum(axis=0), weight)


def _first_negative(X: Any, weight: Array | None) -> tuple[int, int]:
    if issparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        bad = X.data < 0
        if weight is not None:
            bad &= weight[rows] > 0
        first = int(np.argmax(bad))
        return int(rows[first]), int(X.indices[first])
    bad = np.asarray(X) < 0
    if weight is not None:
        bad &= (weight > 0)[:, None]
    row, column = np.unravel_index(np.argmax(bad), bad.shape)
    return int(row), int(column)


def certified(claim: str, statistic: ClassSums, *known: tuple[Array, Array]) -> Certificate:
    """What is proved about logarithms of smoothed sums.

    Parameters
    ----------
    claim : str
        What is known, to the digits that follow.
    statistic : ClassSums
    *known : pairs of arrays of shape (classes, columns)
        Sums with pseudo-counts, and bounds on their errors, or what broadcasts to them.
    """
    of_classes = statistic.weight.hi[:, None], np.array(statistic.lost_weight)
    error = 4 * UNIT + sum(_largest_ratio(error, value) for value, error in (of_classes, *known))
    digits = digits_within(error)
    proved = digits >= ENOUGH_DIGITS
    notes = () if proved else (
        "too many digits were lost beside far heavier rows, or with rows that were taken away: fit "
        "again on the rows that stay, or smooth more",
    )  # fmt: skip
    return Certificate(
        proved,
        f"{claim}, to {rounded_down(digits)} digits or more",
        "exact class sums" if statistic.is_exact else "class sums in float64",
        {"digits": digits, "error": error},
        notes,
    )


def _largest_ratio(error: Array, value: Array) -> float:
    if not error.any():
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(error > 0, error / value, 0.0).max(initial=0.0))
