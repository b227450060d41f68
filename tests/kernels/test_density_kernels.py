"""Sums of kernel values against a naive twin in long double, for every shape."""

from __future__ import annotations

import math

import numpy as np
import pytest

from suffice.kernels.density import smooth as density
from suffice.kernels.density.smooth import CUBE, EXPONENTIAL, GAUSSIAN, LEAF, log_sums
from suffice.kernels.density.windows import log_window_sums, quarter_sine
from suffice.numerics.spatial import make_leaves

SHAPES = range(7)


def scale_of(shape, h):
    return {GAUSSIAN: 0.5 / h**2, EXPONENTIAL: 1 / h}.get(shape, h)


def naive_terms(X, q, h, shape):
    """log K of each row, with one square, sum and root after the other."""
    away = X.astype(np.longdouble) - q
    u = np.sqrt((away**2).sum(axis=1)) / h
    with np.errstate(divide="ignore"):
        return [
            -(u**2) / 2,
            -u,
            np.where(u < 1, 0.0, -np.inf),
            np.log(np.maximum(1 - u**2, 0)),
            np.log(np.maximum(1 - u, 0)),
            np.log(np.where(u < 1, np.cos(np.pi * u / 2), 0)),
            np.where(np.abs(away).max(axis=1) <= h / 2, 0.0, -np.inf),
        ][shape]


def naive(X, weight, groups, queries, left_out, bandwidths, shape):
    out = np.empty((len(queries), len(bandwidths)))
    for i, q in enumerate(queries):
        seen = groups != left_out[i]
        for g, h in enumerate(bandwidths):
            terms = (naive_terms(X, q, h, shape) + np.log(weight))[seen]
            top = terms.max(initial=-np.inf)
            total = np.exp(terms - top).sum() if top > -np.inf else 0.0
            out[i, g] = top + np.log(total) if total else -np.inf
    return out


def compiled(X, weight, groups, queries, left_out, bandwidths, shape):
    leaves = make_leaves(X, LEAF)
    endless = shape <= EXPONENTIAL
    mass = leaves.place(np.log(weight) if endless else weight, -np.inf if endless else 0.0)
    out = np.empty((len(queries), len(bandwidths)))
    scales = np.array([scale_of(shape, h) for h in bandwidths])
    placed, boxes = (leaves.X, mass, leaves.place(groups, -1)), (leaves.low, leaves.high)
    asked = queries, left_out, scales, shape
    if endless:
        log_sums(*placed, mass.max(axis=1), *boxes, *asked, len(X), out)
    else:
        log_window_sums(*placed, *boxes, *asked, out)
    return out


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n, d)) * rng.uniform(0.5, 2, size=d)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (5, 2), (300, 1), (600, 3), (520, 9)])
def test_sums_equal_a_naive_twin(shape, n, d):
    rng, X = rows(n, d)
    queries = np.concatenate([X[:3], rng.normal(size=(4, d)), 1000 + rng.normal(size=(2, d))])
    weight = rng.uniform(0.1, 3, size=n)
    everything = np.full(len(queries), -1), np.zeros(n, np.int64)
    bandwidths = np.array([0.3, 1.0, 4.0])
    arguments = (X, weight, everything[1], queries, everything[0], bandwidths, shape)
    found, expected = compiled(*arguments), naive(*arguments)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    np.testing.assert_allclose(found, expected, rtol=2e-13, atol=2e-13)
    assert np.isfinite(found).all() == (shape <= EXPONENTIAL)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_of_a_group_are_not_seen(shape):
    rng, X = rows(300, 2)
    groups = rng.integers(0, 3, size=300)
    alone = np.arange(300)
    weight, bandwidths = np.ones(300), np.array([0.2, 1.5])
    for numbers in (groups, alone, np.zeros(300, np.int64)):
        arguments = (X, weight, numbers, X[:20], numbers[:20], bandwidths, shape)
        np.testing.assert_allclose(compiled(*arguments), naive(*arguments), rtol=1e-12, atol=1e-13)


def test_a_query_does_not_depend_on_its_company():
    rng, X = rows(700, 3)
    queries = rng.normal(size=(40, 3))
    for shape in SHAPES:
        common = X, np.ones(700), np.zeros(700, np.int64)
        every = compiled(*common, queries, np.full(40, -1), np.array([0.5]), shape)
        single = [
            compiled(*common, queries[i : i + 1], np.array([-1]), np.array([0.5]), shape)
            for i in range(40)
        ]
        assert every.tobytes() == np.concatenate(single).tobytes()
        # Nor on the other bandwidths.
        more = compiled(*common, queries, np.full(40, -1), np.array([0.1, 0.5, 3.0]), shape)
        assert every.tobytes() == np.ascontiguousarray(more[:, 1:2]).tobytes()


@pytest.mark.parametrize("shape", [GAUSSIAN, EXPONENTIAL])
def test_a_light_row_nearby_outweighs_heavy_ones_far_away(shape):
    X = np.concatenate([np.zeros((1, 1)), np.full((400, 1), 1000.0)])
    weight = np.append(1e-290, np.ones(400))
    arguments = (X, weight, np.zeros(401, np.int64), np.array([[0.5]]), np.array([-1]))
    found = compiled(*arguments, np.array([1.0]), shape)
    near = math.log(1e-290) - (0.125 if shape == GAUSSIAN else 0.5)
    far = math.log(400.0) - (0.5 * 999.5**2 if shape == GAUSSIAN else 999.5)
    np.testing.assert_allclose(found[0, 0], max(near, far), rtol=1e-14)


def test_what_is_left_out_is_proved_to_be_nothing():
    """Leaves just this side and just beyond of the limit, and the terms they would have added."""
    X = np.concatenate([np.zeros((LEAF, 1)), np.linspace(9.0, 12.0, 40 * LEAF)[:, None]])
    arguments = (X, np.ones(len(X)), np.zeros(len(X), np.int64))
    found = compiled(*arguments, np.zeros((1, 1)), np.array([-1]), np.array([1.0]), GAUSSIAN)
    expected = naive(*arguments, np.zeros((1, 1)), np.array([-1]), np.array([1.0]), GAUSSIAN)
    np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize("bits", [44, 46, 48])
@pytest.mark.parametrize("shape", [GAUSSIAN, EXPONENTIAL])
def test_terms_that_together_are_seen_are_not_left_out(shape, bits):
    """A leaf of weight 1 in all, and many rows that add a last digit or two to it."""
    many = 20 * LEAF
    each = 2.0**-bits / many
    r = math.sqrt(-2 * math.log(each * LEAF)) if shape == GAUSSIAN else -math.log(each * LEAF)
    X = np.concatenate([np.zeros((LEAF, 1)), np.full((many, 1), r)])
    arguments = (X, np.full(len(X), 1 / LEAF), np.zeros(len(X), np.int64))
    found = compiled(*arguments, np.zeros((1, 1)), np.array([-1]), np.array([1.0]), shape)
    # The logarithms of 256 rows and of a weight of 1/256 are right to a digit of 2⁻⁵⁰.
    assert found[0, 0] == pytest.approx(math.log1p(2.0**-bits), abs=2.0**-50)


def test_boxes_are_never_farther_than_their_rows():
    rng, X = rows(1000, 5)
    X[:, 1] += 1e8
    leaves = make_leaves(X, LEAF)
    bounds, away = np.empty(len(leaves.X)), np.empty(LEAF)
    for q in np.concatenate([X[:30], X[:30] + rng.normal(size=(30, 5))]):
        for shape in SHAPES:
            nearest = density.distances_to_boxes(leaves.low, leaves.high, q, shape, bounds)
            assert nearest == np.argmin(bounds)
            for leaf, bound in enumerate(bounds):
                density.distances(leaves.X[leaf], q, shape, away)
                count = min(LEAF, 1000 - leaf * LEAF)
                assert away[:count].min() >= bound


def test_sine_of_a_quarter_turn():
    v = np.linspace(0, 1, 2001)
    found = np.array([quarter_sine(one) for one in v])
    np.testing.assert_allclose(found, np.sin(np.pi / 2 * v.astype(np.longdouble)), rtol=4e-16)


def test_the_cube_has_its_faces():
    """Rows at half a side belong to the window."""
    X = np.array([[0.5, 0.0], [-0.5, 0.5], [0.5000001, 0.0]])
    arguments = (X, np.ones(3), np.zeros(3, np.int64), np.zeros((1, 2)), np.array([-1]))
    assert compiled(*arguments, np.array([1.0]), CUBE)[0, 0] == math.log(2)
