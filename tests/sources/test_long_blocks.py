"""Longer blocks of a sparse matrix: the same rows, cut by the matrix alone."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from suffice.sources import as_source
from suffice.sources.derived.long_blocks import LongBlocks, with_long_blocks
from suffice.sources.memory.sparse import SparseSource


def table(rows, columns, entries, seed=0):
    rng = np.random.default_rng(seed)
    which = rng.integers(0, columns, size=(rows, entries))
    made = sparse.csr_array(
        (np.ones(rows * entries), which.ravel(), entries * np.arange(rows + 1)),
        shape=(rows, columns),
    )
    made.sum_duplicates()
    return made


def test_the_same_rows():
    X = table(70_000, 900, 3)
    y, weight = np.arange(70_000), np.linspace(1, 2, 70_000)
    source = SparseSource(X, y, weight, feature_names=[f"w{j}" for j in range(900)])
    long = with_long_blocks(source)
    assert isinstance(long, LongBlocks)
    blocks = [piece.load() for piece in long.pieces()]
    assert [block.n_rows for block in blocks] == [32768, 32768, 4464]
    assert [block.start for block in blocks] == [0, 32768, 65536]
    assert (sparse.vstack([block.X for block in blocks]) != X).nnz == 0
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), y)
    np.testing.assert_array_equal(np.concatenate([block.weight for block in blocks]), weight)
    assert long.feature_names == source.feature_names
    assert (long.n_rows, long.n_columns, long.sparse) == (70_000, 900, True)


def test_rows_of_many_entries_stay_in_short_blocks():
    X = table(40_000, 2000, 200)
    assert [p.n_rows for p in with_long_blocks(as_source(X)).pieces()] == [16384, 16384, 7232]


def test_other_sources_stay_as_they_are():
    source = as_source(np.zeros((3, 2)))
    assert with_long_blocks(source) is source
    long = with_long_blocks(as_source(table(5, 4, 1)))
    assert with_long_blocks(long) is long
    assert [piece.n_rows for piece in long.pieces()] == [5]
