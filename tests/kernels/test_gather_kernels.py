"""Rows that are gathered and centred, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.kernels.gather import gather_centred


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 9), d=st.integers(0, 5))
def test_equals_indexing(seed, n, d):
    rng = np.random.default_rng(seed)
    X, centre = rng.normal(size=(n, d)), rng.normal(size=d)
    index = rng.integers(0, n, size=rng.integers(0, 12))
    out = np.ones((len(index), d + 1))
    gather_centred(X, index, centre, out)
    np.testing.assert_array_equal(out[:, :d], X[index] - centre)
    np.testing.assert_array_equal(out[:, d], 1.0)


@pytest.mark.compiled
def test_compiled_bits_are_those_of_python():
    rng = np.random.default_rng(0)
    X, centre = rng.normal(size=(300, 7)), rng.normal(size=7)
    X.flags.writeable = False
    index = rng.permutation(300)[:200]
    fast, slow = np.empty((200, 7)), np.empty((200, 7))
    gather_centred(X, index, centre, fast)
    gather_centred.python(X, index, centre, slow)
    assert fast.tobytes() == slow.tobytes()
