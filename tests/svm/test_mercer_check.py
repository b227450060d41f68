"""Mercer's condition at some points."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_iris

from suffice.svm import mercer_check

X = load_iris().data[::10]
LINE = np.linspace(-3, 3, 15)[:, None]


@pytest.mark.parametrize("slope", [0.5, 1.0, 2.0])
def test_the_logistic_function_is_no_kernel(slope):
    """15 points, and the witness is computed once more by hand."""
    verdict = mercer_check("logistic", LINE, gamma=slope)
    assert verdict.refuted
    assert verdict.n_points == 15
    K = expit(slope * LINE @ LINE.T)
    assert verdict.direction @ K @ verdict.direction == pytest.approx(verdict.smallest)
    assert verdict.smallest == pytest.approx(np.linalg.eigvalsh(K)[0])
    assert "no kernel" in str(verdict)


@pytest.mark.parametrize("rows", [X, LINE], ids=["iris", "line"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "cosine", "laplacian"])
def test_kernels_are_not_refuted(rows, kernel):
    verdict = mercer_check(kernel, rows, coef0=1.0)
    assert not verdict.refuted
    assert len(rows) == verdict.n_points == 15
    assert "of other points this proves nothing" in str(verdict)


def test_functions_and_matrices():
    distance = mercer_check(lambda x, z: float(np.linalg.norm(x - z)), X)
    assert distance.refuted  # its diagonal is 0
    assert mercer_check(-np.eye(3)).smallest == -1.0
    assert not mercer_check(np.zeros((4, 4))).refuted
    one = mercer_check("logistic", X[:1])
    assert not one.refuted  # too few points to find out


def test_rounding_refutes_nothing():
    """A matrix of rank one, with eigenvalues on both sides of zero by rounding."""
    u = np.random.default_rng(0).normal(size=200)
    verdict = mercer_check(np.outer(u, u) * 1e6)
    assert abs(verdict.smallest) < verdict.rounding
    assert not verdict.refuted


def test_bad_input():
    with pytest.raises(ValueError, match="not symmetric"):
        mercer_check([[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="square"):
        mercer_check(X)
    with pytest.raises(ValueError, match="NaN"):
        mercer_check([[np.nan, 0.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="needs no X"):
        mercer_check(np.eye(2), X)
    with pytest.raises(ValueError, match="pass them as X"):
        mercer_check("rbf")
    with pytest.raises(ValueError, match="the matrix itself"):
        mercer_check("precomputed", X)
    with pytest.raises(ValueError, match="'kernel' parameter"):
        mercer_check("gaussian", X)
