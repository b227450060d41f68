"""Stretches, frames, and covariances that are completed: dense matrices are the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.fitting.files.decoding import checked
from suffice.generative.discriminant.whitening import Frame, Stretch, completing, row_lengths


def basis(width, directions, seed=0):
    rng = np.random.default_rng(seed)
    return np.linalg.qr(rng.normal(size=(width, directions)))[0]


def stretch(width=7, directions=3, seed=0):
    rng = np.random.default_rng(seed + 1)
    inner = np.tril(rng.normal(size=(directions, directions)))
    inner[np.diag_indices(directions)] = rng.uniform(0.1, 5, size=directions)
    return Stretch(basis(width, directions, seed), inner)


def frames():
    rng = np.random.default_rng(5)
    scale = rng.uniform(0.1, 10, size=7)
    orthogonal = basis(7, 4, 3) * rng.uniform(0.2, 3, size=4)
    return [Frame(scale, orthogonal), Frame(scale, stretch(seed=8))]


def test_a_stretch_is_a_matrix():
    one = stretch()
    Q, X = one.vectors, one.inner
    T = np.eye(7) + Q @ (X - np.eye(3)) @ Q.T
    rows = np.random.default_rng(2).normal(size=(5, 7))
    np.testing.assert_allclose(rows @ one, rows @ T, atol=1e-14)
    np.testing.assert_allclose(one @ rows.T, T @ rows.T, atol=1e-14)
    np.testing.assert_allclose(one.undone(rows), rows @ np.linalg.inv(T).T, atol=1e-12)
    A = rows.T @ rows
    inverse = np.linalg.inv(T)
    np.testing.assert_allclose(one.congruent(A), inverse.T @ A @ inverse, atol=1e-11)
    np.testing.assert_allclose(one.without(rows) @ Q, 0.0, atol=1e-14)
    assert one.log_determinant == pytest.approx(np.linalg.slogdet(T)[1], rel=1e-13)


@pytest.mark.parametrize("frame", frames(), ids=["within", "of all"])
@pytest.mark.parametrize("own", [False, True])
def test_the_covariance_of_a_frame(frame, own):
    M = np.eye(7) @ frame
    after = stretch(M.shape[1], 2, 4) if own else None
    if after is not None:
        M = M @ after
    C = frame.covariance(after)
    np.testing.assert_allclose(M.T @ C @ M, np.eye(M.shape[1]), atol=1e-12)
    if M.shape[1] == 7:
        np.testing.assert_allclose(C, np.linalg.inv(M @ M.T), rtol=1e-10, atol=1e-12)
    assert np.linalg.matrix_rank(C) == M.shape[1]
    values, vectors = frame.axes(after)
    assert len(values) == M.shape[1]
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-13)
    np.testing.assert_allclose((vectors * values) @ vectors.T, C, atol=1e-12 * values[0])


@pytest.mark.parametrize("directions", [0, 1, 3, 6, 9])
def test_what_is_not_spanned_is_the_identity(directions):
    rng = np.random.default_rng(directions)
    L = rng.normal(size=(6, directions))
    one = completing(L, np.linalg.norm(L, axis=0))
    Q = np.linalg.svd(L)[0][:, : min(directions, 6)]
    whole = L @ L.T + np.eye(6) - Q @ Q.T
    T = np.eye(6) @ one
    np.testing.assert_allclose(T.T @ whole @ T, np.eye(6), atol=1e-11)
    assert -2 * one.log_determinant == pytest.approx(np.linalg.slogdet(whole)[1], abs=1e-11)


def test_columns_in_the_span_of_others_count():
    """Two directions of a class fall on one: its variance is the sum of theirs."""
    L = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 0.0]])
    one = completing(L, np.array([3.0, 4.0]))
    np.testing.assert_allclose(np.eye(3) @ one, np.diag([0.2, 1, 1]), atol=1e-15)


def test_what_is_rounding_is_no_direction():
    one = completing(np.array([[1e-14], [0.0]]), np.array([1.0]))
    np.testing.assert_array_equal(np.eye(2) @ one, np.eye(2))


def test_small_directions_beside_large_ones_keep_their_digits():
    L = np.array([[1.0, 0.0], [1.0, 1e-9]])
    T = np.eye(2) @ completing(L, np.array([1.0, 1e-9]))
    inverse = np.array([[1 + 1e18, -1e18], [-1e18, 1e18]])  # of L Lᵀ
    np.testing.assert_allclose(T @ T.T, inverse, rtol=1e-14)


@pytest.mark.parametrize(
    "damaged",
    [
        lambda: Stretch(np.zeros((3, 2)), np.zeros((3, 3))),
        lambda: Stretch(np.zeros((3, 2), np.float32), np.zeros((2, 2))),
        lambda: Frame(np.ones(3), np.zeros((2, 2))),
        lambda: Frame(np.ones(3), np.zeros(3)),
        lambda: Frame(np.ones(2), stretch()),
    ],
)
def test_what_does_not_fit_is_noticed(damaged):
    with pytest.raises(ValueError, match="its "):
        checked(damaged())


def test_row_lengths_are_those_of_the_matrix():
    one = stretch()
    width = one.shape[0]
    scale = np.arange(1.0, width + 1)
    for map_ in (one, Frame(scale, one), Frame(scale, np.eye(width)[:, :2])):
        expected = np.linalg.norm(np.eye(width) @ map_, axis=1)
        np.testing.assert_allclose(row_lengths(map_), expected, rtol=1e-14)
    np.testing.assert_allclose(row_lengths(np.array([[3e200, 4e200], [0.0, 0.0]])), [5e200, 0.0])
