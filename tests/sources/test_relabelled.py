"""Sources that stand before others: another target, or a single block."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

import suffice
from suffice.sources import ArraySource, Columns, SparseSource
from suffice.sources.derived.relabelled import RelabelledSource
from suffice.sources.memory.one_block import OneBlock


def test_only_the_target_changes():
    rng = np.random.default_rng(0)
    X, y, weight = (
        rng.normal(size=(40_000, 3)),
        rng.integers(0, 4, 40_000),
        rng.uniform(size=40_000),
    )
    base = ArraySource(X, y, weight, feature_names=["a", "b", "c"])
    source = RelabelledSource(base, lambda y: y == 2)
    pairs = list(zip(base.pieces(), source.pieces(), strict=True))
    assert len(pairs) > 2
    for ours, theirs in pairs:
        assert (ours.start, ours.n_rows) == (theirs.start, theirs.n_rows)
        before, after = ours.load(), theirs.load()
        assert np.shares_memory(before.X, after.X)
        np.testing.assert_array_equal(after.y, before.y == 2)
        np.testing.assert_array_equal(after.weight, before.weight)
        assert after.start == before.start
    assert (source.n_rows, source.count_rows(), source.n_columns) == (40_000, 40_000, 3)
    assert source.feature_names == ("a", "b", "c")
    assert source.has_target
    assert source.has_weight
    assert source.target_shape == ()
    assert source.column_label(1) == base.column_label(1)
    assert source.row_label(7) == base.row_label(7)


def test_sparse_rows_stay_sparse():
    base = SparseSource(sparse.csr_array(np.eye(3)), [0, 1, 2])
    source = RelabelledSource(base, lambda y: y % 2)
    assert source.sparse
    block = next(source.pieces()).load()
    assert sparse.issparse(block.X)
    assert block.y.tolist() == [0, 1, 0]


def test_rows_of_a_file_are_counted_once(tmp_path):
    (tmp_path / "rows.csv").write_text("x,kind\n1,a\n2,b\n3,a\n")
    base = suffice.scan(tmp_path / "rows.csv", target="kind")
    source = RelabelledSource(base, lambda y: y == "a")
    assert source.n_rows is None
    assert source.count_rows() == 3
    assert source.n_rows == base.n_rows == 3
    assert [piece.load().y.tolist() for piece in source.pieces()] == [[True, False, True]]
    assert base.row_label(1) == source.row_label(1)


def test_a_reading_given_up_closes_the_base():
    closed = []

    class Watched(ArraySource):
        def pieces(self):
            try:
                yield from super().pieces()
            finally:
                closed.append(True)

    pieces = RelabelledSource(Watched(np.zeros((40_000, 1)), np.zeros(40_000)), np.abs).pieces()
    next(pieces)
    pieces.close()
    assert closed == [True]


@pytest.mark.parametrize("X", [np.ones((50_000, 2)), sparse.csr_array(np.ones((50_000, 2)))])
def test_one_block_whatever_the_rows(X):
    source = OneBlock(X, ["a", "b"])
    (piece,) = source.pieces()
    assert piece.load().X is X
    assert source.sparse == sparse.issparse(X)
    assert source.kinds is None
    (piece,) = OneBlock(X[:0]).pieces()  # so that no rows have no answers, of the right shape
    assert piece.load().X.shape == (0, 2)


def test_one_block_of_text():
    frame = pa.table({"town": ["Ulm", "Rome"], "x": [1.0, 2.0]})
    X = next(suffice.sources.as_source(frame).pieces()).load().X
    assert isinstance(X, Columns)
    assert OneBlock(X).kinds == ("text", "number")
