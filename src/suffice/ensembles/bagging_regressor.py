"""Regression by the average of models fitted to bootstraps of the rows (bagging).

Member m = 1, …, M is fitted to a bootstrap: n rows drawn from all n with replacement, which are
the rows with multiplicities as weights.  Then

    f(x) = 1/M Σₘ fₘ(x),

whose variance is ρσ² + (1 − ρ)σ²/M where members have the variance σ² and correlation ρ: what the
draws change is averaged out, and the bias stays.  So models gain that a few rows can change
much: deep trees, not linear ones.

The average over the members that did not see a row is an honest prediction of it: the out-of-bag
estimate.

References: Breiman, "Bagging predictors" (1996); Breiman, "Out-of-bag estimation" (1996).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.metrics import r2_score
from sklearn.utils import get_tags

from suffice.ensembles.bagging.base import Bagging, Floats
from suffice.ensembles.binary_fits import steps
from suffice.fitting.regression import Regressor, as_columns
from suffice.sources import Block
from suffice.trees.decision_tree_regressor import DecisionTreeRegressor


class BaggingRegressor(Regressor, Bagging):
    """The average of regressors, each fitted to rows drawn anew.

    Parameters
    ----------
    estimator : regressor, default=None
        What is cloned and fitted for each member; None is `DecisionTreeRegressor()`.  May be of
        another library, and then learns from numbers.  Each clone, and each of its parts, is
        given a `random_state` of its own.
    n_estimators : int, default=10
        Number of members.
    max_samples : int or float, optional
        Rows drawn for each member; a float is a share of all rows or, with weights, of their sum.
        By default as many as there are.
    max_features : int or float, default=1.0
        Columns drawn for each member; a float is a share of them.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement.
    bootstrap_features : bool, default=False
        Whether columns are.
    oob_score : bool, default=False
        Whether each row is predicted by the members that did not see it.
    warm_start : bool, default=False
        Keep the members there are, and fit those that `n_estimators` asks for beyond them.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.
    random_state : int, RandomState instance or None, default=None
        Of all draws.
    verbose : int, default=0
        Accepted for compatibility: `trace_` has a row for each member.

    Attributes
    ----------
    estimators_ : list of regressors
        The members.
    estimators_features_ : list of int64 arrays
        The columns that each of them sees.
    estimators_samples_ : list of int64 arrays
        The rows that each was given, as often as it was; drawn anew at each look.
    oob_score_ : float
        R² of the predictions by members that did not see a row, by weight.
    oob_prediction_ : array of shape (rows,) or (rows, targets)
        These predictions; NaN for rows that each member saw.
    certificate_ : Certificate
        Holds where those of all members do.
    trace_ : Trace
        A row for each pass, and for each member, with the objective at the end of its fit.

    Notes
    -----
    Rows are drawn with probabilities in proportion to `sample_weight`, and a member's own weights
    are their multiplicities.  Without replacement every row is drawn alike, and members are given
    the weights themselves, if they take any.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggingRegressor(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9, 0.35 < model.oob_score_ < 0.5
    (True, True)
    """

    _out_of_bag = "oob_prediction_"

    oob_prediction_: Floats

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._target_checks["multi_output"]
        return tags

    @property
    def _target_checks(self) -> dict[str, bool]:  # type: ignore[override]
        last = steps(self._base())[-1]
        several = getattr(last, "_target_checks", None)
        if several is not None:
            return {"y_numeric": True, "multi_output": several["multi_output"]}
        return {"y_numeric": True, "multi_output": get_tags(last).target_tags.multi_output}

    def _base(self) -> Any:
        return DecisionTreeRegressor() if self.estimator is None else self.estimator

    def _check_base(self, model: Any) -> None:
        if not is_regressor(model):
            raise ValueError(f"estimator={model!r} is no regressor; BaggingClassifier takes others")

    def _learned_target(self, block: Block) -> NDArray[Any]:
        y = as_columns(block.y)
        return y if np.asarray(block.y).ndim > 1 else y[:, 0]

    # --- predicting -----------------------------------------------------------------------

    def _answer(self, member: int, rows: Any) -> Floats:
        return self._ask(member, "predict", rows)

    def _judged(self, mean: Floats, y: NDArray[Any], weight: Floats | None) -> float:
        return float(r2_score(y, mean, sample_weight=weight)) if len(y) > 1 else float("nan")

    def _predicted(self, rows: Any) -> Floats:
        return self._mean(rows)
