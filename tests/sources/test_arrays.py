import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.sources import ArraySource, block_rows

DTYPES = ["float16", "float32", "float64", "int8", "int64", "uint8", "uint64", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_blocks_are_views_in_the_order_of_the_rows(read_whole, dtype, order):
    X = np.asarray(np.arange(40_000).reshape(20_000, 2) % 100, dtype=dtype, order=order)
    X.setflags(write=False)
    source = ArraySource(X)
    whole = read_whole(source)
    assert len(whole.blocks) == 2
    assert whole.X.dtype == dtype
    np.testing.assert_array_equal(whole.X, X)
    for block in whole.blocks:
        assert np.shares_memory(block.X, X)
        assert block.y is None
        assert block.weight is None


def test_target_and_weight_are_views_too(read_whole):
    X, y, weight = np.ones((18_000, 3)), np.arange(18_000), np.linspace(0, 1, 18_000)
    whole = read_whole(ArraySource(X, y, weight))
    np.testing.assert_array_equal(whole.y, y)
    np.testing.assert_array_equal(whole.weight, weight)
    assert np.shares_memory(whole.blocks[1].y, y)
    assert np.shares_memory(whole.blocks[1].weight, weight)


def test_any_stride_is_taken_as_it_is(read_whole):
    base = np.arange(60_000.0).reshape(20_000, 3)
    for X in (base[::-1], base[::2, ::-1], base[:, 1:2], np.broadcast_to(base[0], (9000, 3))):
        whole = read_whole(ArraySource(X))
        np.testing.assert_array_equal(whole.X, X)
        assert np.shares_memory(whole.blocks[0].X, base)


@given(n_rows=st.integers(0, 40_000), n_columns=st.integers(1, 3000))
def test_pieces_cover_all_rows_at_fixed_boundaries(n_rows, n_columns):
    X = np.broadcast_to(np.float32(0), (n_rows, n_columns))
    pieces = list(ArraySource(X).pieces())
    size = block_rows(n_columns)
    assert [piece.start for piece in pieces] == list(range(0, n_rows, size))
    assert sum(piece.n_rows for piece in pieces) == n_rows


def test_no_rows_give_no_piece():
    assert list(ArraySource(np.empty((0, 3))).pieces()) == []


def test_labels_of_any_kind_and_several_targets(read_whole):
    X = np.zeros((3, 1))
    for y in (["a", "b", "a"], [True, False, True], [[1, 2], [3, 4], [5, 6]], [None, "x", 1]):
        whole = read_whole(ArraySource(X, np.asarray(y)))
        np.testing.assert_array_equal(whole.y, np.asarray(y))


def test_names_weights_repr_and_pickle(read_whole):
    source = ArraySource(np.ones((2, 2)), [1, 2], [1, 0], feature_names=["a", "b"])
    assert source.feature_names == ("a", "b")
    assert source.column_label(1) == "column 'b'"
    assert ArraySource(np.ones((2, 2))).column_label(1) == "column 1"
    assert repr(source) == "ArraySource(2 rows x 2 columns of float64)"
    assert read_whole(source).weight.dtype == np.float64
    copy = pickle.loads(pickle.dumps(source))
    np.testing.assert_array_equal(read_whole(copy).X, source.X)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros(3),), "Expected 2D array, got 1D"),
        ((np.zeros((2, 2, 2)),), "Expected 2D array, got 3D"),
        ((np.zeros((2, 2), dtype=complex),), "dtype complex128"),
        ((np.array([["a"]]),), "dtype <U1"),
        ((np.zeros((3, 1)), [1, 2]), "X has 3 rows, but y has 2"),
        ((np.zeros((3, 1)), np.zeros((3, 1, 1))), "y has 3 dimensions"),
        ((np.zeros((3, 1)), None, [1, 2]), "X has 3 rows, but weight has 2"),
        ((np.zeros((3, 1)), None, [[1], [2], [3]]), "weight has 2 dimensions"),
        ((np.zeros((3, 1)), None, [1, -2, 3]), r"weight holds -2\.0 in row 1"),
        ((np.zeros((3, 1)), None, [1, 2, np.nan]), "weight holds nan in row 2"),
        ((np.zeros((3, 1)), None, [1, np.inf, 2]), "weight holds inf in row 1"),
        ((np.zeros((3, 2)), None, None, ["a"]), "2 columns, but there are 1 feature names"),
    ],
)
def test_bad_input_says_what_is_wrong(arguments, words):
    with pytest.raises(ValueError, match=words):
        ArraySource(*arguments)
