"""Columns scaled to a given range.

    z = a + (b − a) (x − low) / (high − low)

with the smallest and the largest value of each column.  NaN stays NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, check_is_fitted

from suffice.fitting.files.registry import register
from suffice.fitting.one_pass import Solved
from suffice.preprocessing.transformer import FLOATS, Transformer, exactly
from suffice.sources import Block, Source
from suffice.sources.derived.mapped import MappedSource
from suffice.statistics.extremes import Extremes
from suffice.statistics.moments.full import NOTHING, Precision

register(Extremes)


class MinMaxScaler(Transformer):
    """Scale columns to a range.

    Parameters
    ----------
    feature_range : tuple (low, high), default=(0, 1)
    copy : bool, default=True
        Accepted for compatibility: the input is never overwritten.
    clip : bool, default=False
        Whether values beyond those of the fit are brought to the ends of the range.

    Attributes
    ----------
    min_ : array of shape (columns,)
        What is added after scaling.
    scale_ : array of shape (columns,)
        What is multiplied with; for a constant column, the width of the range.
    data_min_, data_max_, data_range_ : arrays of shape (columns,)
    n_samples_seen_ : int or float
        Rows, or their weights together.
    statistics_ : Extremes
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from suffice.preprocessing import MinMaxScaler
    >>> MinMaxScaler().fit_transform([[-1.0, 2.0], [0.0, 10.0], [1.0, 18.0]]).tolist()
    [[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "feature_range": [tuple, list],
        "copy": ["boolean"],
        "clip": ["boolean"],
    }
    _refit_parameters: ClassVar[tuple[str, ...]] = ("feature_range", "clip")

    def __init__(
        self,
        feature_range: Sequence[float] = (0, 1),
        *,
        copy: bool = True,
        clip: bool = False,
    ) -> None:
        self.feature_range = feature_range
        self.copy = copy
        self.clip = clip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        if issparse(X) or (isinstance(X, Source) and X.sparse):
            raise TypeError(
                "MinMaxScaler does not support sparse input: its zeros would move. Scale with "
                "StandardScaler(with_mean=False), or pass dense rows."
            )
        return super()._training_source(X, y, sample_weight, reset)

    def _summarize(self, block: Block, precision: Precision) -> Extremes:
        return Extremes.summarize(block.X, block.weight)

    def _solve(self, extremes: Extremes, final: bool) -> Solved:
        if len(self.feature_range) != 2:
            raise ValueError(f"feature_range must be (low, high), got {self.feature_range}")
        low, high = self.feature_range
        if low >= high:
            raise ValueError(
                "Minimum of desired feature range must be smaller than maximum. Got "
                f"{self.feature_range}."
            )
        if not extremes.count:
            raise ValueError(NOTHING)
        empty = extremes.low > extremes.high
        self.data_min_ = np.where(empty, np.nan, extremes.low)
        self.data_max_ = np.where(empty, np.nan, extremes.high)
        with np.errstate(over="ignore"):
            self.data_range_ = self.data_max_ - self.data_min_
        if np.isinf(self.data_range_).any():
            raise ValueError("the range of a column is beyond float64's; rescale the columns")
        constant = self.data_range_ == 0
        with np.errstate(over="ignore"):
            self.scale_ = (high - low) / np.where(constant, 1.0, self.data_range_)
        if np.isinf(self.scale_).any():
            raise ValueError(
                "the range of a column is so small that its inverse is beyond float64's; "
                "rescale the columns"
            )
        self.min_ = low - self.data_min_ * self.scale_
        whole = extremes.weight == extremes.count
        self.n_samples_seen_ = extremes.count if whole else extremes.weight
        claim = "the smallest and the largest value of each column, exactly"
        notes = [f"{constant.sum()} columns are constant"] if constant.any() else []
        return Solved(exactly(claim, "extremes", notes), float("nan"))

    def _map(self, X: Any) -> Any:
        out = np.array(X, dtype=X.dtype if X.dtype.kind == "f" else np.float64, order="C")
        out *= self.scale_
        out += self.min_
        return np.clip(out, *self.feature_range, out=out) if self.clip else out

    def inverse_transform(self, X: Any) -> Any:
        """Undo `transform`.

        Parameters
        ----------
        X : array or Source, of shape (rows, columns)

        Returns
        -------
        array or Source
        """
        check_is_fitted(self)
        if isinstance(X, Source):
            self._check_width(X)
            return MappedSource(X, self._frozen()._unmap, X.n_columns)
        X = check_array(X, dtype=FLOATS, ensure_all_finite="allow-nan")
        self._check_width(X)
        return self._unmap(X)

    def _unmap(self, X: Any) -> Any:
        out = np.array(X)
        out -= self.min_
        out /= self.scale_
        return out
