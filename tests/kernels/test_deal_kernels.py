"""Rows that are dealt out to classes and centred, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.kernels.deal import deal_centred


def dealt(X, codes, centres, deal=deal_centred):
    counts = np.bincount(codes, minlength=len(centres))
    places = np.cumsum(counts) - counts
    out = np.ones((len(X), X.shape[1] + 1))
    deal(X, codes, centres, places, out)
    np.testing.assert_array_equal(places, np.cumsum(counts))
    return out


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 12), d=st.integers(0, 5))
def test_equals_a_stable_sort(seed, n, d):
    rng = np.random.default_rng(seed)
    X, centres, codes = rng.normal(size=(n, d)), rng.normal(size=(3, d)), rng.integers(0, 3, n)
    out, order = dealt(X, codes, centres), np.argsort(codes, kind="stable")
    np.testing.assert_array_equal(out[:, :d], X[order] - centres[codes[order]])
    np.testing.assert_array_equal(out[:, d], 1.0)


@pytest.mark.compiled
def test_compiled_bits_are_those_of_python():
    rng = np.random.default_rng(0)
    X, centres, codes = rng.normal(size=(300, 7)), rng.normal(size=(4, 7)), rng.integers(0, 4, 300)
    X.flags.writeable = False
    slow = dealt(X, codes, centres, deal_centred.python)
    assert dealt(X, codes, centres).tobytes() == slow.tobytes()
