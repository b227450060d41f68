"""Least squares from float64 moments and one pass over the residuals.

Where correlated columns leave float64 moments short of six digits, their solution θ₀ is still a
good one.  A second pass, at a fraction of the first one's cost, tells what it leaves of the rows
(`suffice.statistics.residuals`), and the equations about θ₀ are solved with the same factor

    (Sxx + diag λ) (θ − θ₀) = Sxr − λ θ₀.

The step is small, and so are the errors that the moments make in it: iterative refinement, with
the rows in the place of a more precise matrix.

Reference: Björck, "Numerical Methods for Least Squares Problems" (1996), 2.9.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.fitting.regression import as_columns
from suffice.fitting.requests import Pass, Request, needed
from suffice.linear.least_squares.normal_equations import NormalEquations, Remainder, rounded
from suffice.linear.least_squares.solve import joined, solve_if_accurate
from suffice.numerics.double_double import UNIT, Array
from suffice.sources import Block
from suffice.statistics.residuals import SUMS_UNIT, LineAt, ResidualSums

Columns = tuple[NDArray[np.intp], NDArray[np.intp]]


def about_its_solution(
    solve_each: Callable[[NormalEquations, Any], list[Any]],
    equations: NormalEquations,
    sparse: bool,
    learned: Callable[[], Any],
) -> Generator[Request, Any, NormalEquations | None]:
    """The equations about the solution of float64 moments, for one more pass.

    None where that is no point to start from: the moments cannot tell whether columns are
    dependent, or there are so many targets that the moments in double-double cost no more.
    """
    columns, targets = equations.B.shape
    solver = partial(solve_if_accurate, accepted=np.inf)
    if targets > columns:
        return None
    solutions = solve_each(equations, solver)
    if any(s is None or not np.isfinite(s.error) for s in solutions):
        return None
    coef = joined(solutions).coef.round()
    rest = yield from remainder_of(equations, coef, sparse, learned)
    return replace(equations, remainder=rest)


def remainder_of(
    equations: NormalEquations,
    coef: Array,
    sparse: bool,
    learned: Callable[[], Any],
    columns: Columns | None = None,
) -> Generator[Request, Any, Remainder]:
    """What a line leaves of the rows, by one pass.

    Parameters
    ----------
    equations : NormalEquations
    coef : array of shape (columns, targets)
        θ₀.
    sparse : bool
        Whether the rows are.
    learned : function
        What callbacks may see.
    columns : two arrays of int, optional
        The columns of the equations, and those that are targets, after the others.
    """
    line = LineAt(coef, equations.x_mean.round(), equations.y_mean.round())
    summarize = partial(_sums, line=line, columns=columns)
    sums = yield from needed(Pass("residuals", summarize, learned=learned))
    weight, total, B = equations.weight, sums.squares, sums.products.T
    if line.x.any() or line.y.any():
        # About the mean: Σ w r (x − x̄) = Σ w r x − x̄ Σ w r.
        B = B - equations.x_mean[:, None] * sums.totals
        total = total - sums.totals * sums.totals / equations.total_weight
    # Rows of a sparse matrix are multiplied as they are, others less the point.
    squares = equations.x_square if sparse else np.abs(np.diagonal(rounded(equations.A)))
    left = np.sqrt(np.maximum(sums.squares.hi, 0.0))
    length = (len(line.x) + 4) * (np.sqrt(squares) @ np.abs(line.coef))
    row_error = UNIT * (length + 2 * np.sqrt(np.abs(equations.total.hi)) + 4 * left)
    of_mean = equations.error_unit * np.sqrt(equations.x_magnitude / weight)
    product_error = np.outer(of_mean, np.abs(sums.totals.hi))
    product_error += SUMS_UNIT * np.outer(np.sqrt(equations.x_square), left)
    return Remainder(line.coef, B, total, row_error, product_error)


def _sums(block: Block, line: LineAt, columns: Columns | None) -> ResidualSums:
    X, Y = block.X, as_columns(block.y)
    if columns is not None:
        free, more = (X[:, some] for some in columns)
        X, Y = free, np.hstack([Y, more.toarray() if issparse(more) else more])
    return ResidualSums.summarize(X, Y, block.weight, line)
