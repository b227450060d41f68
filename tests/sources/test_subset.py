"""Some rows of a source."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from suffice import Ridge
from suffice.sources import as_source
from suffice.sources.derived.subset import SubsetSource, rows_of

RNG = np.random.default_rng(0)
X, y, WEIGHT = RNG.normal(size=(40_000, 3)), RNG.normal(size=40_000), RNG.uniform(size=40_000)


def gathered(source):
    blocks = [piece.load() for piece in source.pieces()]
    starts = np.cumsum([0, *[block.n_rows for block in blocks]])
    assert [block.start for block in blocks] == starts[:-1].tolist()
    assert [piece.n_rows for piece in source.pieces()] == [block.n_rows for block in blocks]
    return (
        np.concatenate([np.asarray(block.X) for block in blocks]),
        np.concatenate([block.y for block in blocks]),
        np.concatenate([block.weight for block in blocks]),
    )


@pytest.mark.parametrize("share", [0.001, 0.5, 1.0])
def test_the_chosen_rows_in_their_order(share):
    mask = RNG.uniform(size=len(y)) < share
    source = SubsetSource(as_source(X, y, WEIGHT), mask)
    assert source.n_rows == source.count_rows() == mask.sum()
    for found, expected in zip(gathered(source), (X, y, WEIGHT), strict=True):
        np.testing.assert_array_equal(found, expected[mask])


def test_blocks_without_chosen_rows_are_not_loaded():
    mask = np.zeros(len(y), dtype=bool)
    mask[-2:] = True
    pieces = list(SubsetSource(as_source(X, y), mask).pieces())
    assert [piece.n_rows for piece in pieces] == [2]
    assert pieces[0].load().weight is None
    with pytest.raises(ValueError, match="no rows in 0 rows of"):
        Ridge().fit(SubsetSource(as_source(X, y), np.zeros(len(y), dtype=bool)))


def test_a_fit_of_the_subset_is_a_fit_of_the_rows():
    mask = RNG.uniform(size=len(y)) < 0.7
    for rows in (X, sparse.csr_array(X)):
        chosen = Ridge().fit(SubsetSource(as_source(rows, y, WEIGHT), mask))
        plain = Ridge().fit(rows[mask], y[mask], WEIGHT[mask])
        np.testing.assert_allclose(chosen.coef_, plain.coef_, rtol=1e-11)


def test_it_is_like_the_source():
    base = as_source(X, np.column_stack([y, y]), WEIGHT)
    source = SubsetSource(base, np.arange(len(y)) % 3 == 1)
    for name in ("n_columns", "feature_names", "target_names", "has_target", "has_weight",
                 "sparse", "kinds", "target_shape"):  # fmt: skip
        assert getattr(source, name) == getattr(base, name)
    assert source.row_label(2) == base.row_label(7)
    assert source.column_label(1) == base.column_label(1)
    assert repr(source) == f"13,333 rows of {base!r}"


def test_a_bad_cell_is_named_as_in_the_source():
    holed = X.copy()
    holed[35_000, 2] = np.inf
    source = SubsetSource(as_source(holed, y), np.arange(len(y)) % 2 == 0)
    with pytest.raises(ValueError, match="column 2, row 35000"):
        Ridge().fit(source)


def test_rows_of_a_block():
    block = next(as_source(X, y).pieces()).load()
    some = rows_of(block, slice(3, 5), 3)
    np.testing.assert_array_equal(some.X, X[3:5])
    assert (some.start, some.n_rows, some.weight) == (3, 2, None)
