import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import suffice
from suffice.sources import SparseSource, block_rows

FORMATS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]


def random_matrix(n_rows=20_000, n_columns=50, dtype=np.float64, seed=0):
    X = sparse.random_array((n_rows, n_columns), density=0.05, rng=seed, format="csr") * 10
    X.sum_duplicates()
    return X.astype(dtype)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool"])
def test_canonical_csr_is_used_in_place(read_whole, kind, dtype):
    X = kind(random_matrix(dtype=dtype))
    source = SparseSource(X, np.arange(20_000))
    whole = read_whole(source)
    assert (whole.X != X).nnz == 0
    assert len(whole.blocks) == -(-20_000 // block_rows(50))
    for block in whole.blocks:
        assert isinstance(block.X, sparse.csr_array)
        assert block.X.dtype == dtype
        assert np.shares_memory(block.X.data, X.data)
        assert np.shares_memory(block.X.indices, X.indices)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format(read_whole, name):
    X = random_matrix(60, 30)
    whole = read_whole(SparseSource(X.asformat(name)))
    np.testing.assert_array_equal(whole.X.toarray(), X.toarray())


def wide_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@given(
    n_rows=st.integers(1, 40),
    n_columns=st.integers(1, 6),
    seed=st.integers(0, 2**32 - 1),
    wide=st.booleans(),
)
def test_unsorted_and_repeated_entries(n_rows, n_columns, seed, wide):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 8, n_rows)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices = rng.integers(0, n_columns, indptr[-1])
    data = rng.integers(-5, 6, indptr[-1]).astype(float)
    X = sparse.csr_array((data, indices, indptr), shape=(n_rows, n_columns))
    if wide:
        X = wide_indices(X)
    dense = np.zeros((n_rows, n_columns))
    np.add.at(dense, (np.repeat(np.arange(n_rows), counts), indices), data)
    before = [part.copy() for part in (X.data, X.indices, X.indptr)]
    for part in (X.data, X.indices, X.indptr):
        part.setflags(write=False)

    block = next(SparseSource(X).pieces()).load()

    np.testing.assert_array_equal(block.X.toarray(), dense)
    for row in range(n_rows):
        columns = block.X.indices[block.X.indptr[row] : block.X.indptr[row + 1]]
        assert np.all(np.diff(columns) > 0)
    for now, then in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_wide_indices(read_whole):
    X = random_matrix(5000, 40)
    wide = wide_indices(X.copy())
    whole = read_whole(SparseSource(wide))
    assert (whole.X != X).nnz == 0
    assert np.shares_memory(whole.blocks[0].X.indices, wide.indices)


def test_target_weight_names_repr_and_pickle(read_whole):
    X = sparse.eye_array(3, format="csr")
    source = SparseSource(X, ["a", "b", "c"], [1, 2, 3], feature_names=["u", "v", "w"])
    whole = read_whole(source)
    assert whole.y.tolist() == ["a", "b", "c"]
    assert whole.weight.tolist() == [1.0, 2.0, 3.0]
    assert source.feature_names == ("u", "v", "w")
    assert repr(source) == "SparseSource(3 rows x 3 columns, 3 entries of float64)"
    copy = read_whole(pickle.loads(pickle.dumps(source)))
    np.testing.assert_array_equal(copy.X.toarray(), np.eye(3))


def test_empty_rows_and_no_rows(read_whole):
    assert list(SparseSource(sparse.csr_array((0, 4))).pieces()) == []
    assert read_whole(SparseSource(sparse.csr_array((10_000, 4)))).X.nnz == 0


def test_bad_input_says_what_is_wrong():
    with pytest.raises(ValueError, match="Complex data not supported: X has dtype complex128"):
        SparseSource(sparse.csr_array([[1j]]))
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        SparseSource(sparse.coo_array(np.ones(3)))
    with pytest.raises(ValueError, match="X has 3 rows, but y has 2"):
        SparseSource(sparse.eye_array(3), [1, 2])


@pytest.mark.parametrize("column", [-1, 3, 77])
def test_entries_in_columns_that_are_not_there(column):
    X = sparse.csr_array((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 3))
    X.indices[1] = column
    with pytest.raises(ValueError, match="columns beyond its 3"):
        SparseSource(X)
    with pytest.raises(ValueError, match="columns beyond its 3"):
        suffice.KNeighborsClassifier(1).fit(X, [0, 1])
    model = suffice.KNeighborsClassifier(1).fit(np.eye(3), [0, 1, 1])
    with pytest.raises(ValueError, match="columns beyond its 3"):
        model.predict(X)
