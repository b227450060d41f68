"""Regression by the mean of many trees that differ by chance (random forest).

Tree t is grown from rows that are drawn with replacement, and each of its nodes looks at a few
columns that are drawn anew.  The forest answers with the mean of what the trees say,

    f(x) = (1/T) Σₜ fₜ(x).

If two trees have the correlation ρ and each the variance σ² over training sets, the mean has

    Var f(x) = ρ σ² + (1 − ρ) σ²/T:

drawing makes ρ smaller, and σ² a little larger.  A row that a tree did not draw is new to it: such
out-of-bag rows judge the forest without others to be held out.

Columns are cut between at most 255 bins, most of whose bounds are quantiles
(`suffice.trees.growing.bins`); of few rows, between any two values.

Reference: Breiman, "Random forests" (2001); Ho, "The random subspace method" (1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, ClassVar

from suffice.ensembles.forests import regression
from suffice.ensembles.forests.base import ForestModel
from suffice.fitting.regression import Regressor


class RandomForestRegressor(Regressor, ForestModel):
    """A regression that is the mean of trees from drawn rows and columns.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    criterion : {"squared_error", "poisson"}, default="squared_error"
        What splits decrease; "poisson" is for counts, and for targets that are not negative.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_leaf_nodes,\
 min_impurity_decrease, ccp_alpha, categorical
        Of each tree, as for `DecisionTreeRegressor`; rows that were drawn twice are counted once.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        How many columns a node looks at; those that do not vary in it are not counted.
    bootstrap : bool, default=True
        Whether each tree draws as many rows as there are, with replacement; else it has all.
    oob_score : bool or function, default=False
        Whether to judge the forest by rows that trees did not draw: by R², or by a function
        of true and predicted targets.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.  The forest is the same at any number.
    random_state : int, RandomState instance or None, default=None
        Of all draws.
    verbose : int, default=0
        Accepted for compatibility.
    warm_start : bool, default=False
        Whether the next `fit` keeps the trees that there are, and adds to them: to the same rows,
        the same forest as at once.
    max_samples : int or float, optional
        How many rows each tree draws; a float is a share of their weight.
    monotonic_cst : None
        Not taken yet.
    max_bins : int, "auto" or None, default="auto"
        Bins of a column, 2 to 255, between which it is cut; None cuts between any two values, and
        "auto" does so too up to 16,384 rows, and has 255 bins beyond them.
    feature_sampling : {"split", "tree"}, default="split"
        Whether columns are drawn anew in each node, or once for each tree (the random subspace
        method).

    Attributes
    ----------
    forest_ : Forest
        The nodes of all trees.
    estimators_ : list of DecisionTreeRegressor
    estimators_samples_ : list of arrays
        The rows that each tree drew.
    feature_importances_ : array of shape (columns,)
    oob_score_ : float
    oob_prediction_ : array of shape (rows,)
        The mean over trees that did not draw the row; NaN if there are none such.
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(max_features=0.3, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.35
    True
    """

    _task: ClassVar[ModuleType] = regression
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ForestModel._parameter_constraints,
        **regression.PARAMETERS,
    }
    _target_checks = {"y_numeric": True, "multi_output": False}

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: None = None,
        max_bins: Any = "auto",
        feature_sampling: str = "split",
        categorical: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(
            n_estimators=n_estimators, criterion=criterion, max_depth=max_depth,
            min_samples_split=min_samples_split, min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf, max_features=max_features,
            max_leaf_nodes=max_leaf_nodes, min_impurity_decrease=min_impurity_decrease,
            bootstrap=bootstrap, oob_score=oob_score, n_jobs=n_jobs, random_state=random_state,
            verbose=verbose, warm_start=warm_start, ccp_alpha=ccp_alpha,
            max_samples=max_samples, monotonic_cst=monotonic_cst, max_bins=max_bins,
            feature_sampling=feature_sampling, categorical=categorical,
        )  # fmt: skip
