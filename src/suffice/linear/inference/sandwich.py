"""How far estimates may be off: their covariance, from the model or from the rows.

With H the information (minus the Hessian of the log-likelihood) and sᵢ the score of row i, its
gradient there, the covariance of the estimates is

    H⁻¹                                if the model is true,
    H⁻¹ (Σ wᵢ cᵢ sᵢ sᵢᵀ) H⁻¹           if only the rows are independent (White),
    H⁻¹ (Σ_g S_g S_gᵀ) H⁻¹             if only the clusters g are, with S_g = Σ_{i in g} wᵢ sᵢ.

cᵢ is 1 for HC0, W/(W − p) for HC1 with p parameters, 1/(1 − hᵢ) for HC2 and 1/(1 − hᵢ)² for HC3,
where hᵢ is the row's leverage.  Clusters get the factor G/(G − 1) · (W − 1)/(W − p).  Weights are
frequencies: w equal rows count as one of weight w.

Everything is summed up in coordinates in which H is the identity: with H⁻¹ = T Tᵀ that is
T (Σ Tᵀsᵢ sᵢᵀT) Tᵀ, in which neither the units nor the offsets of columns cost digits.  Where the
observed information differs from the expected one (links that are not canonical), T is of the
expected one, and (I + D)⁻¹ on both sides of the sum makes it the observed one.

Reference: White, "A heteroskedasticity-consistent covariance matrix estimator" (1980); MacKinnon
and White (1985) for HC1 to HC3; Cameron and Miller, "A practitioner's guide to cluster-robust
inference" (2015).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from suffice.engines.passes import map_rows
from suffice.engines.workers import one_blas_thread
from suffice.linear.inference.uncertainty import Uncertainty, root_of
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source
from suffice.sources.derived.subset import rows_of
from suffice.sources.memory.target import plain_array
from suffice.statistics.counts.labelled import LabelledSums
from suffice.statistics.counts.labels import coded
from suffice.statistics.sums import Sums

KINDS = ("nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster")

CHUNK_CELLS = 1 << 16
"""Cells of the scores of a chunk of rows: half a megabyte."""

MOST_CLUSTER_CELLS = 1 << 27
"""Clusters × parameters up to which their sums are kept: a gigabyte."""

FULL_LEVERAGE = 1e-10
"""A leverage this near to 1 is 1: the row alone decides a coefficient."""


NOT_THE_ROWS = "these are not the rows of the fit: "
GIVE_THE_SAME = "give the same X, y and sample_weight (or source) again"


class RowScores(NamedTuple):
    """The scores of some rows of positive weight, in coordinates in which H is the identity.

    Attributes
    ----------
    scores : array of shape (equations, rows, directions)
        Tᵀsᵢ; several equations where each target has its own.
    leverage : array of shape (rows,), or None
        Where one number says how far a row pulls its own prediction.
    weight : array of shape (rows,), or None
    """

    scores: Array
    leverage: Array | None
    weight: Array | None


@dataclass(frozen=True, eq=False)
class Bread:
    """What a model says for its sandwich covariance.

    Attributes
    ----------
    root : array of shape (parameters, directions)
        T, in the user's columns.
    null_space : array of shape (parameters, open directions)
        Directions along which the rows say nothing; exactly 0 for parameters that they fix.
    weight : float
        W, the sum of the weights in the fit.
    row_scores : function of a block, whose rows all have positive weight
    n_parameters : int, optional
        Parameters that the rows fix; by default as many as there are directions.
    excess : function of a block, likewise, optional
        What the rows' observed information has beyond the expected one, of which T is made:
        an array of shape (directions, directions).  None where they are the same.
    """

    root: Array
    null_space: Array
    weight: float
    row_scores: Callable[[Block], RowScores]
    n_parameters: int | None = None
    excess: Callable[[Block], Array] | None = None


def estimated(
    kind: str,
    bread: Bread,
    source: Source | None,
    run: Callable[[Source, Callable[[Block], Any]], Any],
    clusters: Any = None,
    df: float = np.inf,
    dispersion: Any = 1.0,
) -> Uncertainty:
    """The covariance H⁻¹ times the dispersion, or a sandwich by one pass over the rows.

    Parameters
    ----------
    kind : {"nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"}
    bread : Bread
    source : Source, optional
        The rows of the fit, for a sandwich.
    run : function of a source and of what each block contributes
        Makes the pass.
    clusters : optional
        See `_cluster_labels`.
    df : float
        Degrees of freedom of the residuals; infinite where z values are wanted.
    dispersion : float or array of shape (equations,)
        By which the scores scatter more than H says.
    """
    if kind == "nonrobust":
        roots = bread.root * np.sqrt(np.atleast_1d(dispersion))[:, None, None]
        return Uncertainty(roots, bread.null_space, df, reference=bread.root)
    assert source is not None
    W, p = bread.weight, bread.n_parameters or bread.root.shape[1]
    if kind == "cluster":
        meats, weight, groups = _between(
            bread, source, run, _cluster_labels(clusters, source, bread.root.shape[1])
        )
        if groups < 2:
            raise ValueError("cov='cluster' needs at least two clusters, and all rows are in one")
        factor = groups / (groups - 1) * (W - 1) / (W - p) if W > p else np.nan
        df, note = (groups - 1 if np.isfinite(df) else df), f"{groups:,} clusters"
    else:
        sums = run(source, lambda block: _within(bread, kind, source, block))
        meats, weight = sums.values[0], float(sums.values[1])
        factor = (W / (W - p) if W > p else np.nan) if kind == "HC1" else 1.0
        note = f"heteroscedasticity-consistent ({kind})"
    check_weight(weight, W)
    with one_blas_thread():
        T = _observed(bread, source, run)
        roots = np.stack([T @ root_of(meat) for meat in meats]) * np.sqrt(factor)
    return Uncertainty(roots, bread.null_space, df, kind, note, bread.root)


def check_weight(weight: float, in_the_fit: float) -> None:
    """Raise unless rows have the weight of those of the fit."""
    if not abs(weight - in_the_fit) <= 1e-9 * in_the_fit:
        raise ValueError(
            f"{NOT_THE_ROWS}their weights add up to {weight:g}, and in the fit it was "
            f"{in_the_fit:g}; {GIVE_THE_SAME}"
        )


def _observed(bread: Bread, source: Source, run: Callable[..., Any]) -> Array:
    """T in a sandwich: with the observed information, if that has a maximum to tell of."""
    excess = bread.excess
    if excess is None:
        return bread.root
    found: Array = run(source, lambda block: Sums((excess(_present(block)[0]),))).values[0]
    values, vectors = linalg.eigh(np.eye(len(found)) + found)
    if not values[0] > 0:
        return bread.root
    return np.asarray(bread.root @ (vectors / values) @ vectors.T)


def checked_kind(cov: str, X: Any, clusters: Any) -> str:
    """Raise unless what a summary was asked for fits together."""
    if cov not in KINDS:
        raise ValueError(f"cov must be one of {', '.join(map(repr, KINDS))}, got {cov!r}")
    if cov != "nonrobust" and X is None:
        raise ValueError(
            f"cov={cov!r} needs one more pass over the rows, of which the model keeps only a "
            "statistic: give those of the fit, as in summary(cov=…, X=X, y=y) or X=source"
        )
    if (cov == "cluster") != (clusters is not None):
        raise ValueError(
            "cov='cluster' and clusters go together: clusters are a label for each row, the name "
            "of a column of X, or a source whose target are the labels"
        )
    return cov


def _present(block: Block, labels: NDArray[Any] | None = None) -> tuple[Block, Any]:
    """The rows of positive weight, in one layout for every source, and their labels."""
    X = block.X if sparse.issparse(block.X) else np.ascontiguousarray(block.X, dtype=np.float64)
    if block.weight is None or block.weight.all():
        return replace(block, X=X), labels
    rows = np.flatnonzero(block.weight)
    kept = rows_of(replace(block, X=X), rows, block.start)
    return kept, None if labels is None else labels[rows]


# --- rows that are independent -------------------------------------------------------------


def _within(bread: Bread, kind: str, source: Source, block: Block) -> Sums:
    """The meat of each equation and the sum of the weights, by chunks that stay in the cache."""
    block, numbers = _present(block, block.start + np.arange(block.n_rows))
    size = max(CHUNK_CELLS // max(bread.root.shape[1], 1), 64)
    chunks = [slice(i, i + size) for i in range(0, max(block.n_rows, 1), size)]
    return Sums.merge(
        [_chunk(bread, kind, source, rows_of(block, c, block.start), numbers[c]) for c in chunks]
    )


def _chunk(
    bread: Bread, kind: str, source: Source, block: Block, numbers: NDArray[np.int64]
) -> Sums:
    scores, leverage, weight = bread.row_scores(block)
    weight = np.ones(block.n_rows) if weight is None else weight
    factor = np.sqrt(weight)
    if kind in ("HC2", "HC3"):
        if leverage is None:
            raise ValueError(
                f"cov={kind!r} needs one leverage for each row, and a row of several classes has "
                "one for each pair of them: use 'HC0' or 'HC1'"
            )
        left = 1 - leverage
        if not (left > FULL_LEVERAGE).all():
            row = source.row_label(int(numbers[np.argmin(left)]))
            raise ValueError(
                f"cov={kind!r} is not defined: {row} decides a coefficient alone (its leverage is "
                "1, or its weight is below 1); use 'HC1'"
            )
        factor = factor / (left if kind == "HC3" else np.sqrt(left))
    scores = scores * factor[:, None]
    meats = np.stack([rows.T @ rows for rows in scores])
    _check_finite(meats)
    return Sums((meats, np.array(weight.sum())))


# --- clusters that are independent ---------------------------------------------------------


def _between(
    bread: Bread, source: Source, run: Callable[..., Any], labels: Callable[[Block], NDArray[Any]]
) -> tuple[Array, float, int]:
    """The meat of each equation, the sum of the weights, and the number of clusters."""

    def summarize(block: Block) -> LabelledSums:
        ends = block.start, block.start + block.n_rows - 1
        block, names = _present(block, labels(block))
        scores, _, weight = bread.row_scores(block)
        weight = np.ones(block.n_rows) if weight is None else weight
        rows = (scores * weight[:, None]).transpose(1, 0, 2).reshape(block.n_rows, -1)
        _check_finite(rows)
        try:
            # The weights are summed along with the scores.
            return LabelledSums.summarize(names, np.column_stack([rows, weight]))
        except FloatingPointError:
            first, last = map(source.row_label, ends)
            raise ValueError(
                f"clusters: a label is missing between {first} and {last}; every row needs one"
            ) from None

    found: LabelledSums = run(source, summarize)
    groups = len(found.labels)
    sums = found.sums[:, :-1].reshape(groups, -1, bread.root.shape[1]).transpose(1, 0, 2)
    return sums.transpose(0, 2, 1) @ sums, float(found.sums[:, -1].sum()), groups


def _cluster_labels(
    clusters: Any, source: Source, n_parameters: int
) -> Callable[[Block], NDArray[Any]]:
    """How a block's cluster labels are found.

    Parameters
    ----------
    clusters : array of shape (rows,), name of a feature column, or Source
        Labels of any one kind.  Those of a source are its target, in the rows' order; they
        are gathered (8 bytes a row), which a feature column's are not.
    source : Source
    n_parameters : int
    """
    if isinstance(clusters, str):
        if source.feature_names is None or clusters not in source.feature_names:
            raise ValueError(
                f"clusters={clusters!r} is not among the columns of X; give a label for each row, "
                "or a source whose target they are: scan(…, target=…)"
            )
        column = source.feature_names.index(clusters)
        return lambda block: _dense(block.X[:, [column]])[:, 0]
    if isinstance(clusters, Source):
        if not clusters.has_target:
            raise ValueError("clusters is a source without a target: name it in scan(…, target=…)")
        values = map_rows(clusters, lambda block: np.asarray(block.y))
    else:
        values = plain_array(clusters)[0]
    if values.ndim != 1 or len(values) != source.count_rows():
        raise ValueError(
            f"clusters has shape {values.shape}, but there are {source.count_rows():,} rows: one "
            "label for each is needed"
        )
    if values.dtype.kind in "mM":
        values = values.astype(np.int64)
    try:
        names, codes = coded(values)
    except FloatingPointError:
        raise ValueError("clusters: a label is missing; every row needs one") from None
    if len(names) * n_parameters > MOST_CLUSTER_CELLS:
        raise ValueError(
            f"{len(names):,} clusters of {n_parameters:,} parameters: their sums are kept up to "
            f"{MOST_CLUSTER_CELLS:,} numbers (1 GB); use fewer clusters, or cov='HC1'"
        )
    return lambda block: codes[block.start : block.start + block.n_rows]


def _dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X


def _check_finite(values: Array) -> None:
    if not np.isfinite(values).all():
        raise FloatingPointError("values that are too large, or not numbers")
