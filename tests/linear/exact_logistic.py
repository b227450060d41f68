"""Logistic regression to more digits than float64 has: Newton's method on extended gradients.

The Hessian may be rough, for it only decides how fast the steps get small; the gradient decides
where they end, and is summed in extended precision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

WIDE = np.longdouble


class Fit(NamedTuple):
    """Coefficients of shape (predictors, columns), intercepts, and what the last step moved."""

    coef: Any
    intercept: Any
    moved: float


def probabilities(eta: Any) -> Any:
    """Softmax over the last axis."""
    powers = np.exp(eta - eta.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def fit(
    X: Any,
    codes: Any,
    *,
    l2: float = 0.0,
    weight: Any = None,
    intercept: bool = True,
    reference: int | None = None,
    steps: int = 60,
) -> Fit:
    """The minimiser of Σ w ℓ + l2/2 ‖θ‖²; two classes have one predictor, as if 0 were reference.

    Parameters
    ----------
    X : array of shape (rows, columns)
    codes : int array of shape (rows,)
    l2 : float
    weight : array of shape (rows,), optional
    intercept : bool
    reference : int, optional
        Class whose predictor is 0.
    steps : int
    """
    n_classes = int(codes.max()) + 1
    if n_classes == 2 and reference is None:
        reference = 0
    X, n = np.asarray(X, dtype=WIDE), len(codes)
    weight = np.ones(n, dtype=WIDE) if weight is None else np.asarray(weight, dtype=WIDE)
    centre = weight @ X / weight.sum() if intercept else np.zeros(X.shape[1], dtype=WIDE)
    scale = np.sqrt(weight @ np.square(X - centre) / weight.sum())
    scale[scale == 0] = 1
    A = (X - centre) / scale
    A = np.hstack([A, np.ones((n, 1), dtype=WIDE)]) if intercept else A
    ridge = np.zeros(A.shape[1], dtype=WIDE)
    ridge[: X.shape[1]] = l2 / scale**2
    fitted = [k for k in range(n_classes) if k != reference]
    hot = (codes[:, None] == np.arange(n_classes)).astype(WIDE)
    theta = np.zeros((len(fitted), A.shape[1]), dtype=WIDE)

    def value(theta: Any) -> Any:
        eta = np.zeros((n, n_classes), dtype=WIDE)
        eta[:, fitted] = A @ theta.T
        top = eta.max(axis=1)
        losses = top + np.log(np.exp(eta - top[:, None]).sum(axis=1)) - (eta * hot).sum(axis=1)
        return weight @ losses + (ridge * theta**2).sum() / 2, probabilities(eta)

    F, P = value(theta)
    moved = np.inf
    for _ in range(steps):
        left = (P - hot)[:, fitted] * weight[:, None]
        gradient = left.T @ A + ridge * theta
        step = _solve(A, P[:, fitted], weight, ridge, gradient)
        t = WIDE(1)
        while True:
            after, P_after = value(theta - t * step)
            if after <= F * (1 + WIDE(1e-18)) or t < 1e-12:
                break
            t /= 2
        theta, F, P = theta - t * step, after, P_after
        moved = float(np.abs(t * step).max() / np.abs(theta).max())
        if moved < 1e-17:
            break
    coef = theta[:, : X.shape[1]] / scale
    constant = theta[:, -1] - coef @ centre if intercept else np.zeros(len(fitted))
    return Fit(coef, constant, moved)


def _solve(A: Any, P: Any, weight: Any, ridge: Any, gradient: Any) -> Any:
    """H⁻¹g in float64; the smallest such vector where H is singular."""
    A, P, w = A.astype(float), P.astype(float), weight.astype(float)
    k, p = gradient.shape
    H = np.zeros((k, p, k, p))
    for a in range(k):
        for b in range(k):
            bend = w * P[:, a] * ((a == b) - P[:, b])
            H[a, :, b] = (A * bend[:, None]).T @ A
    H = H.reshape(k * p, k * p) + np.diag(np.tile(ridge.astype(float), k))
    d = np.sqrt(np.maximum(np.diagonal(H), 1e-300))
    g = gradient.ravel().astype(float)
    return (np.linalg.pinv(H / d / d[:, None], rcond=1e-14, hermitian=True) @ (g / d) / d).reshape(
        k, p
    )
