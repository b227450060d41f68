"""Products of columns by class, against fractions, whatever the shape, weights and classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.kernels.sums.class_products import GAP, TILE, add_class_products
from tests.numerics.rational import exactly

AT_ONCE = 4
UNIT = 2.0**-53


def products(X, codes, weight, centres, at_once=AT_ONCE, add=add_class_products):
    """The lower triangles, with a column of ones after those of X."""
    k, d = centres.shape
    m = -(-(d + 1) // TILE) * TILE
    waiting = np.zeros((k, m, at_once + GAP))
    waiting[:, d] = 1.0
    wide = 0 if weight is None else at_once
    out, filled = np.zeros((k, m, m)), np.zeros(k, dtype=np.int64)
    weights, weighed = np.zeros((k, wide)), np.zeros((m if wide else 0, wide))
    given = np.zeros(0) if weight is None else weight
    add(X, codes, given, centres, waiting, weights, weighed, filled, out)
    assert not filled.any()
    return np.tril(out[:, : d + 1, : d + 1])


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 30),
    d=st.integers(0, 7),
    weighted=st.booleans(),
)
def test_equals_exact_sums(seed, n, d, weighted):
    rng = np.random.default_rng(seed)
    X, centres = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d), rng.normal(size=(3, d))
    codes = rng.integers(0, 2, n)  # the last class has no rows
    weight = rng.uniform(0.1, 3, n) if weighted else None
    found = products(X, codes, weight, centres)
    Z = np.column_stack([exactly(X) - exactly(centres[codes]), exactly(np.ones(n))])
    w = exactly(np.ones(n) if weight is None else weight)
    for k in range(3):
        rows, mine = Z[codes == k], w[codes == k]
        truth = (rows * mine[:, None]).T.dot(rows) if len(rows) else exactly(np.zeros((d + 1,) * 2))
        sizes = (abs(rows) * mine[:, None]).T.dot(abs(rows)) if len(rows) else truth
        allowed = exactly(np.array((AT_ONCE + n // AT_ONCE + 6) * UNIT)) * sizes
        assert (abs(exactly(found[k]) - np.tril(truth)) <= np.tril(allowed)).all()


@pytest.mark.compiled
def test_the_compiled_sums_are_those_of_python():
    """Up to the order in which they are added, which the compiler chooses."""
    rng = np.random.default_rng(0)
    X, centres, codes = rng.normal(size=(700, 7)), rng.normal(size=(4, 7)), rng.integers(0, 4, 700)
    X.flags.writeable = False
    for weight in (None, rng.uniform(size=700)):
        fast = products(X, codes, weight, centres, 64)
        slow = products(X, codes, weight, centres, 64, add_class_products.python)
        np.testing.assert_allclose(fast, slow, rtol=0, atol=70 * UNIT * np.abs(slow).max())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_reaches_the_squares(value):
    X = np.ones((9, 2))
    X[5, 1] = value
    found = products(X, np.zeros(9, dtype=np.int64), None, np.zeros((1, 2)))
    assert not np.isfinite(found[0, 1, 1])
    assert found[0, 0, 0] == 9.0
