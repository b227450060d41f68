"""Rows that are kept with their targets: joined, and taken away by their values."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from suffice.statistics.rows_and_targets import RowsAndTargets

X = np.array([[3.0, 0.0], [1.0, -0.0], [2.0, 5.0], [1.0, 0.0], [1.0, 0.0]])
NAMES = np.array(["a", "b", "a", "c", "b"], dtype=object)


def listed(rows):
    rows = rows.joined()
    return list(zip(rows.X[0][:, 0].tolist(), rows.y[0].tolist(), strict=True))


def test_rows_follow_each_other():
    parts = [RowsAndTargets.summarize(X[i : i + 2], NAMES[i : i + 2]) for i in (0, 2, 4)]
    merged = RowsAndTargets.merge(parts)
    assert len(merged.X) == 3, "nothing is copied before it must be"
    assert merged.joined() is merged.joined()
    assert listed(merged) == listed(RowsAndTargets.summarize(X, NAMES))
    assert merged.count == 5


def test_the_last_of_several_alike_goes():
    rows = RowsAndTargets.summarize(X, NAMES)
    gone = RowsAndTargets.summarize([[1.0, 0.0]], np.array(["b"], dtype=object))
    left = rows.subtract(gone)
    assert listed(left) == [(3.0, "a"), (1.0, "b"), (2.0, "a"), (1.0, "c")]
    assert listed(left.subtract(gone)) == [(3.0, "a"), (2.0, "a"), (1.0, "c")]  # −0 is 0
    with pytest.raises(ValueError, match=r"row 0 .* with the target 'b' away: no row that is left"):
        left.subtract(gone).subtract(gone)


def test_targets_of_several_columns_and_none():
    table = np.stack([np.arange(5), np.arange(5)], axis=1)
    rows = RowsAndTargets.summarize(X, table)
    left = rows.subtract(RowsAndTargets.summarize(X[3:4], table[3:4]))
    assert left.y[0].tolist() == [[0, 0], [1, 1], [2, 2], [4, 4]]
    with pytest.raises(ValueError, match="no row that is left"):
        rows.subtract(RowsAndTargets.summarize(X[3:4], table[2:3]))
    alone = RowsAndTargets.summarize(X).subtract(RowsAndTargets.summarize(X[1:]))
    assert (alone.X[0].tolist(), alone.y) == ([[3.0, 0.0]], ())


def test_targets_of_two_kinds():
    texts = RowsAndTargets.summarize(X, NAMES)
    numbers = RowsAndTargets.summarize(X, np.arange(5))
    with pytest.raises(ValueError, match="integers and text"):
        RowsAndTargets.merge([texts, numbers])


def test_values_that_are_not_finite():
    for value in (np.nan, np.inf):
        with pytest.raises(FloatingPointError):
            RowsAndTargets.summarize([[1.0], [value]])


def test_what_was_made_of_rows_is_not_pickled():
    rows = RowsAndTargets.summarize(X, NAMES)
    size = len(pickle.dumps(rows))
    rows.memo["search"] = np.zeros(1000)
    assert rows.memo is rows.memo
    assert len(pickle.dumps(rows)) == size
    assert not pickle.loads(pickle.dumps(rows)).memo


@pytest.mark.parametrize(
    ("rows", "targets"),
    [
        ((X[:, 0],), ()),
        ((X[:, :1],), ()),
        ((X.astype(np.float32),), ()),
        ((X * np.nan,), ()),
        ((X,), (NAMES[:3],)),
        ((X,), (NAMES, NAMES)),
        ((7,), ()),
        ((X,), ("abcde",)),
    ],
)
def test_what_cannot_come_from_a_file(rows, targets):
    with pytest.raises(ValueError, match="its rows"):
        RowsAndTargets(rows, targets, 2)._check_loaded()
