"""The Gram matrix of sparse rows, against dense products and exact integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from suffice.kernels.sums.sparse import sparse_gram


def parts(X):
    return X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 12),
    d=st.integers(0, 6),
    density=st.floats(0, 1),
)
def test_equals_the_dense_product_of_integers(seed, n, d, density):
    rng = np.random.default_rng(seed)
    dense = rng.integers(-50, 50, (n, d)).astype(float) * (rng.random((n, d)) < density)
    X, weight = sparse.csr_array(dense), rng.integers(0, 4, n).astype(float)
    out = np.full((d, d), np.nan)
    sparse_gram(*parts(X), weight, out)
    np.testing.assert_array_equal(out, dense.T @ (weight[:, None] * dense))


@pytest.mark.compiled
def test_compiled_bits_are_those_of_python():
    rng = np.random.default_rng(0)
    X, weight = sparse.random_array((200, 20), density=0.3, rng=rng, format="csr"), rng.random(200)
    X.sort_indices()
    fast, slow = np.empty((20, 20)), np.empty((20, 20))
    sparse_gram(*parts(X), weight, fast)
    sparse_gram.python(*parts(X), weight, slow)
    assert fast.tobytes() == slow.tobytes()
    assert (fast == fast.T).all()
