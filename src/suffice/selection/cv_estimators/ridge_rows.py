"""Ridge's leave-one-out errors with fewer rows than columns: on the rows' side.

With Z the centred rows (times √w), ỹ the centred target (times √w), and Z Zᵀ = Q diag(s) Qᵀ on the
complement of √w, the error of row i under the model of all others is, for every α,

    Σₖ Qᵢₖ (Qᵀỹ)ₖ / (sₖ + α)   over   √wᵢ Σₖ Qᵢₖ² / (sₖ + α).

It is the identity of `suffice.selection.cv_estimators.ridge_errors`, with α taken out of both
sides; here the denominator is a sum of squares, and nothing cancels in it.  Without an intercept,
nothing is centred and Q has all directions.

Where Z Zᵀ is so ill-conditioned that a denominator is not accurate, the singular values of Z take
over; rows for which even that is too little are left out one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from suffice.engines.gather import gather
from suffice.engines.passes import map_rows
from suffice.fitting.regression import as_columns
from suffice.linear.least_squares.more_columns_than_rows import CentredRows
from suffice.linear.ridge import Ridge
from suffice.numerics.double_double import UNIT, Array
from suffice.sources import Block, Source
from suffice.sources.derived.subset import SubsetSource

Mask = NDArray[np.bool_]

MOST_ROWS = 1 << 14
"""Rows whose products with each other are formed: they take 2 GB."""

ROUNDING = 16 * UNIT
"""What rounding moves the eigenvalues by, relative to the largest one."""

ACCURATE = 1e-10
"""Relative error of a denominator up to which it is divided by."""


def errors_on_rows(
    source: Source,
    alphas: Array,
    fit_intercept: bool,
    n_jobs: int | None,
    wanted: Mask | None = None,
) -> Array:
    """Errors of shape (rows, targets, alphas), with all rows in memory.

    Parameters
    ----------
    source : Source
        Two rows of weight above 0 at least, or one without an intercept.
    alphas : array of shape (alphas,), above 0
    fit_intercept : bool
    n_jobs : int, optional
    wanted : bool array of shape (rows,), optional
        Rows whose errors must be accurate; all by default.
    """
    rows = CentredRows(gather(source, "RidgeCV", n_jobs=n_jobs), fit_intercept, n_jobs)
    exists = row_weights(source) > 0
    errors, accurate = _by_eigenvalues(rows, alphas)
    needed = np.ones_like(exists) if wanted is None else wanted
    if not accurate[needed[exists]].all():
        errors, accurate = _by_singular_values(rows, alphas)
    found = np.empty((len(exists), *errors.shape[1:]))
    found[exists] = errors / rows.root[:, None, None]
    poor = np.zeros_like(exists)
    poor[exists] = ~accurate
    for row in np.flatnonzero(poor & needed).tolist():
        others = np.arange(len(exists)) != row
        found[row] = _of_models(source, others, ~others, alphas, fit_intercept)
    if not exists.all():
        found[~exists] = _of_models(source, exists, ~exists, alphas, fit_intercept)
    return found


def _by_eigenvalues(rows: CentredRows, alphas: Array) -> tuple[Array, Mask]:
    """Errors in units of √w, and which rows' are accurate."""
    K, _ = rows.gram(np.ones(rows.n_columns))
    values, Q = linalg.eigh(_reduced(rows, _reduced(rows, K).T), check_finite=False)
    values, Q = np.maximum(values, 0.0), _expanded(rows, Q)
    return _quotients(rows.Y, Q, values, alphas, ROUNDING * values.max(), np.ones_like(values))


def _by_singular_values(rows: CentredRows, alphas: Array) -> tuple[Array, Mask]:
    """The same from Z, not from its square: half as many digits are lost."""
    Z = _reduced(rows, rows.scaled(np.ones(rows.n_columns)))
    U, s, _ = linalg.svd(Z, full_matrices=len(Z) > Z.shape[1], check_finite=False)
    roots = np.zeros(len(Z))
    roots[: len(s)] = s
    moved = ROUNDING * roots.max()
    return _quotients(rows.Y, _expanded(rows, U), np.square(roots), alphas, moved, roots)


def _quotients(
    Y: Array, Q: Array, values: Array, alphas: Array, moved: float, along: Array
) -> tuple[Array, Mask]:
    """The formula, and for which rows rounding leaves it as it is.

    With G = (Z Zᵀ + α)⁻¹, a change E of Z Zᵀ changes uᵀ G v by ‖G u‖ ‖G v‖ ‖E‖ at most, and a
    change E of Z by (‖G u‖ ‖Zᵀ G v‖ + ‖Zᵀ G u‖ ‖G v‖) ‖E‖.

    Parameters
    ----------
    moved : float
        ‖E‖.
    along : array of shape (directions,)
        What Zᵀ multiplies each direction with; 1 where Z Zᵀ was changed.
    """
    squares, parts = np.square(Q), Q.T @ Y
    errors, good = np.empty((*Y.shape, len(alphas))), np.ones(len(Q), dtype=bool)
    for a, alpha in enumerate(alphas):
        # In units of the largest 1 / (s + α), which the quotient does not depend on.
        unit = values.min() + alpha
        inverse = unit / (values + alpha)
        below = squares @ inverse
        shrunk = inverse[:, None] * parts
        errors[:, :, a] = (Q @ shrunk) / below[:, None]
        size = np.sqrt(squares @ np.square(inverse))
        other = np.sqrt(squares @ np.square(along * inverse))
        good &= 2 * moved * size * other <= ACCURATE * unit * below
        pull = np.linalg.norm(shrunk, axis=0)
        far = np.linalg.norm(along[:, None] * shrunk, axis=0)
        change = moved * (np.outer(size, far) + np.outer(other, pull))
        largest = np.abs(errors[:, :, a]).max(axis=0)
        good &= (change <= ACCURATE * unit * np.outer(below, largest)).all(axis=1)
    return errors, good


def _reduced(rows: CentredRows, Z: Array) -> Array:
    """Z in an orthonormal basis of the complement of √w: one row fewer, with an intercept."""
    return _reflected(rows, Z)[1:] if rows.centred else Z


def _expanded(rows: CentredRows, Q: Array) -> Array:
    """The way back."""
    if not rows.centred:
        return Q
    return _reflected(rows, np.concatenate([np.zeros((1, Q.shape[1])), Q]))


def _reflected(rows: CentredRows, Z: Array) -> Array:
    """Householder's reflection that exchanges √w / ‖√w‖ and the first axis, up to the sign."""
    normal = rows.direction.copy()
    normal[0] += 1.0
    return Z - np.outer(normal, (normal @ Z) / normal[0])


def _of_models(source: Source, train: Any, test: Any, alphas: Array, fit_intercept: bool) -> Array:
    """Errors of some rows by models of some, fitted one by one."""
    some, held_out = SubsetSource(source, train), whole(SubsetSource(source, test))
    if not row_weights(some).any():
        predictions = [np.zeros_like(as_columns(held_out.y))] * len(alphas)
    else:
        models = (Ridge(alpha, fit_intercept=fit_intercept).fit(some) for alpha in alphas.tolist())
        predictions = [as_columns(model.predict(held_out.X)) for model in models]
    return as_columns(held_out.y)[:, :, None] - np.stack(predictions, axis=2)


def row_weights(source: Source) -> Array:
    """Weights of all rows, 1 where there are none."""
    return map_rows(
        source, lambda block: np.ones(block.n_rows) if block.weight is None else block.weight
    )


def whole(source: Source) -> Block:
    """All rows of a source as one block."""
    blocks = [piece.load() for piece in source.pieces()]
    features = [block.X for block in blocks]
    X = sparse.vstack(features, format="csr") if source.sparse else np.concatenate(features)
    weights = [block.weight for block in blocks if block.weight is not None]
    y = np.concatenate([as_columns(block.y) for block in blocks])
    return Block(X, y, np.concatenate(weights) if weights else None, 0)
