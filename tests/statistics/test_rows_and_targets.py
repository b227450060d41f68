"""Rows that are kept with their targets: joined, and taken away by their values."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from suffice.statistics.rows.sparse import SparseRows
from suffice.statistics.rows.with_targets import RowsAndTargets

X = np.array([[3.0, 0.0], [1.0, -0.0], [2.0, 5.0], [1.0, 0.0], [1.0, 0.0]])
NAMES = np.array(["a", "b", "a", "c", "b"], dtype=object)


def listed(rows):
    rows = rows.joined()
    return list(zip(rows.X[0][:, 0].tolist(), rows.y[0].tolist(), strict=True))


def test_rows_follow_each_other():
    parts = [RowsAndTargets.summarize(X[i : i + 2], NAMES[i : i + 2]) for i in (0, 2, 4)]
    merged = RowsAndTargets.merge(parts)
    assert len(merged.X) == 1
    assert merged.joined() is merged
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


# --- sparse rows ---------------------------------------------------------------------------


def written_out(rows):
    rows = rows.joined()
    return list(zip(rows.X[0].csr.toarray().tolist(), rows.y[0].tolist(), strict=True))


def entries(X):
    return sparse.csr_array(np.asarray(X, dtype=float))


def test_where_some_rows_are_sparse_all_are():
    first, rest = X[:2], X[2:]
    for a, b in ((first, entries(rest)), (entries(first), rest), (entries(first), entries(rest))):
        rows = RowsAndTargets.merge(
            [RowsAndTargets.summarize(a, NAMES[:2]), RowsAndTargets.summarize(b, NAMES[2:])]
        )
        assert rows.sparse
        assert rows.count == 5
        assert written_out(rows) == [(x.tolist(), y) for x, y in zip(X + 0.0, NAMES, strict=True)]
    assert not RowsAndTargets.summarize(X).sparse


def test_entries_that_are_zero_or_listed_twice_or_out_of_order():
    table = sparse.csr_array(
        (np.array([5, 0, 1, 1], np.int8), np.array([1, 0, 0, 0]), np.array([0, 2, 4])), shape=(2, 2)
    )
    rows = SparseRows.of(table)
    assert (rows.data.tolist(), rows.indices.tolist(), rows.indptr.tolist()) == (
        [5.0, 2.0], [1, 0], [0, 1, 2]
    )  # fmt: skip
    assert table.nnz == 4, "the argument stays as it was"
    rows._check_loaded()


@pytest.mark.parametrize("whole", [np.array, entries])
@pytest.mark.parametrize("part", [np.array, entries])
def test_sparse_rows_are_taken_away_by_their_values(whole, part):
    table = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    rows = RowsAndTargets.summarize(whole(table), np.arange(5) // 4)
    gone = RowsAndTargets.summarize(part([[1.0, -0.0], [0.0, 0.0]]), np.array([0, 1]))
    left = rows.subtract(gone)
    assert left.sparse == rows.sparse
    cells = left.X[0].csr.toarray() if left.sparse else left.X[0]
    assert (cells.tolist(), left.y[0].tolist()) == (table[:3].tolist(), [0, 0, 0])
    with pytest.raises(ValueError, match=r"row 1 .* with the target 1 away: no row that is left"):
        left.subtract(gone)


def test_sparse_values_that_are_not_finite():
    with pytest.raises(FloatingPointError):
        RowsAndTargets.summarize(entries([[0.0, np.inf]]))


@pytest.mark.parametrize(
    "change",
    [
        {"data": [1.0, 2.0]},
        {"data": np.ones((2, 1))},
        {"data": np.ones(2, np.float32)},
        {"data": np.ones(3)},
        {"indices": np.array([0, 2])},
        {"indices": np.array([-1, 0])},
        {"indices": np.array([1, 0])},
        {"indices": np.array([0, 0])},
        {"indices": np.array([0, 1], np.int32)},
        {"indptr": np.array([0, 3])},
        {"indptr": np.array([1, 2])},
        {"indptr": np.array([0, 3, 2])},
        {"indptr": np.array([], np.int64)},
        {"n_columns": 1},
    ],
    ids=str,
)
def test_what_cannot_be_sparse_rows_from_a_file(change):
    good = {
        "data": np.array([1.0, 2.0]),
        "indices": np.array([0, 1]),
        "indptr": np.array([0, 2]),
        "n_columns": 2,
    }
    SparseRows(**good)._check_loaded()
    with pytest.raises(ValueError, match="its"):
        SparseRows(**good | change)._check_loaded()
