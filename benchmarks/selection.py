"""Model selection: next to one fit of the same model, and next to peers that fit every fold."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import (
    OURS,
    Answer,
    Bar,
    Figures,
    Line,
    Options,
    Race,
    Result,
    Row,
    difference,
    rested,
    shape,
)
from benchmarks.least_squares import TALL, normal

ALPHAS = np.logspace(-2, 6, 50)
FOLDS = 10
ONE_FIT = "one fit"

# --- what is run ---------------------------------------------------------------------------


def search(X: Any, y: Any, *, ridge: str, grid_search: str, **options: Any) -> Answer:
    """The mean scores of a grid search, by the import paths of model and search."""
    model, searching = _load(ridge)(), _load(grid_search)
    found = searching(model, {"alpha": ALPHAS}, cv=FOLDS, **options).fit(X, y)
    return np.asarray(found.cv_results_["mean_test_score"])


def search_in_processes(X: Any, y: Any) -> Answer:
    from joblib.externals.loky import get_reusable_executor

    try:
        return THEIR_SEARCH(X, y, n_jobs=2)
    finally:
        get_reusable_executor().shutdown()  # it would keep this process for minutes


def search_scaled(X: Any, y: Any) -> Answer:
    from sklearn.pipeline import make_pipeline

    from suffice import GridSearchCV, Ridge
    from suffice.preprocessing import StandardScaler

    pipeline = make_pipeline(StandardScaler(), Ridge())
    found = GridSearchCV(pipeline, {"ridge__alpha": ALPHAS}, cv=FOLDS).fit(X, y)
    return np.asarray(found.cv_results_["mean_test_score"])


def fold_matrices(X: Any, y: Any) -> Answer:
    """Centred products of the training rows of each fold, and the coefficients from them.

    The scores, which are part of the search of ours, are not.
    """
    from cvmatrix import CVMatrix, Partitioner

    partitioner = Partitioner(folds=np.repeat(np.arange(FOLDS), -(-len(X) // FOLDS))[: len(X)])
    products = CVMatrix(center_X=True, center_Y=True, scale_X=False, scale_Y=False, copy=False)
    products.fit(X=X, Y=y)
    coefs = []
    for fold in range(FOLDS):
        tested = partitioner.get_validation_indices(fold)
        (xx, xy), _ = products.training_XTX_XTY(tested)
        systems = xx + ALPHAS[:, None, None] * np.eye(len(xx))
        coefs.append(np.linalg.solve(systems, xy)[:, :, 0])
    return np.asarray(coefs)


def our_fold_coefs(X: Any, y: Any) -> Answer:
    """The coefficients that `fold_matrices` has."""
    from suffice import Ridge

    lengths = -(-len(X) // FOLDS)
    folds = np.repeat(np.arange(FOLDS), lengths)[: len(X)]
    return np.asarray([Ridge().fit(X[folds != f], y[folds != f]).path(ALPHAS).coefs
                       for f in range(FOLDS)])  # fmt: skip


def one_fit(X: Any, y: Any, *, address: str) -> Any:
    return _load(address)().fit(X, y)


def left_out(X: Any, y: Any, *, address: str, scoring: str, **parameters: Any) -> Any:
    from sklearn.model_selection import LeaveOneOut

    from suffice import cross_validate

    model = _load(address)(**parameters)
    return cross_validate(model, X, y, cv=LeaveOneOut(), scoring=scoring)


def _load(address: str) -> Any:
    module, _, name = address.rpartition(".")
    return getattr(importlib.import_module(module), name)


OUR_SEARCH = partial(search, ridge="suffice.Ridge", grid_search="suffice.GridSearchCV")
THEIR_SEARCH = partial(
    search,
    ridge="sklearn.linear_model.Ridge",
    grid_search="sklearn.model_selection.GridSearchCV",
)

# --- data ----------------------------------------------------------------------------------

MIDDLE = partial(normal, rows=200_000, columns=50)


def labelled(options: Options) -> tuple[Any, NDArray[np.intp]]:
    X, y = MIDDLE(options)
    return X, np.digitize(y, np.quantile(y, [0.3, 0.6]))


# --- rows ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class NextTo:
    """How much longer something takes than something smaller that it contains.

    Attributes
    ----------
    work : str
    data : function of Options
    ours, other : functions of X and y
    name : str
        What the other is.
    bar : Bar
    truth : function of X and y, optional
        What the other should have found.
    rounds : int
    """

    work: str
    data: Callable[[Options], tuple[Any, Any]]
    ours: Callable[[Any, Any], Any]
    other: Callable[[Any, Any], Any]
    bar: Bar
    name: str = ONE_FIT
    truth: Callable[[Any, Any], Answer] | None = None
    rounds: int = 9

    def run(self, options: Options) -> list[Result]:
        X, y = self.data(options)
        self.ours(X, y)
        found = self.other(X, y)
        contenders = {OURS: self.ours, self.name: self.other}
        seconds: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(
            min(max(self.rounds // 3, 3), self.rounds) if options.quick else self.rounds
        ):
            for name, function in contenders.items():
                seconds[name].append(rested(function, X, y)[1])
        differences = {}
        if self.truth is not None:
            differences[self.name] = difference(found, self.truth(X, y))
        return [
            Line(
                shape(self.work, X),
                {name: Figures(tuple(values)) for name, values in seconds.items()},
                self.bar,
                differences=differences,
                reference="the coefficients of ours" if differences else "",
                tolerance=1e-8,
            )
        ]


SEARCH = f"GridSearchCV of Ridge, {len(ALPHAS)} penalties, {FOLDS} folds"
RIDGE_FIT = partial(one_fit, address="suffice.Ridge")

ROWS: tuple[Row, ...] = (
    NextTo(f"{SEARCH}, next to one fit", TALL, OUR_SEARCH, RIDGE_FIT, Bar(3.0, strict=False)),
    NextTo(
        f"{SEARCH}, behind a scaler, next to one fit",
        TALL,
        search_scaled,
        RIDGE_FIT,
        Bar(4.0, strict=False),
    ),
    NextTo(
        "Leave-one-out of Ridge, next to one fit",
        MIDDLE,
        partial(left_out, address="suffice.Ridge", scoring="neg_mean_squared_error"),
        RIDGE_FIT,
        Bar(6.0, strict=False),
    ),
    NextTo(
        "Leave-one-out of GaussianNB, next to one fit",
        labelled,
        partial(left_out, address="suffice.GaussianNB", scoring="accuracy"),
        partial(one_fit, address="suffice.GaussianNB"),
        Bar(6.0, strict=False),
    ),
    Race(
        SEARCH,
        TALL,
        OUR_SEARCH,
        # In one process it takes longer still.
        {"scikit-learn, two processes": search_in_processes},
        Bar(0.01, strict=False),
        reference="scikit-learn, two processes",
        rounds=5,
        once=frozenset({"scikit-learn, two processes"}),
    ),
    NextTo(
        f"{SEARCH}, next to the products of the folds alone",
        TALL,
        OUR_SEARCH,
        fold_matrices,
        Bar(1.0),
        name="cvmatrix and NumPy",
        truth=our_fold_coefs,
        rounds=3,
    ),
)
