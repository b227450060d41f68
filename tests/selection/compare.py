"""scikit-learn's own loops over the same estimators: a fit for each split and candidate."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn import model_selection

import suffice
from suffice.selection import CrossValidation
from suffice.sources import Source


class Rows(NamedTuple):
    X: Any
    y: Any
    weight: Any


def make_rows(n: int, d: int, targets: int = 0, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 10, d) + 5 * rng.normal(size=d)
    theta = rng.normal(size=(d, targets) if targets else d)
    y = X @ theta + 3 * rng.normal(size=(n, targets) if targets else n)
    return Rows(X, y, rng.uniform(0.1, 2, n))


SMALL = make_rows(120, 4)
"""Double-double at once."""

LARGE = make_rows(66_000, 5, seed=1)
"""In float64, in several blocks: two thirds of them are still too many for double-double."""


def agree(ours: Any, theirs: Any, tolerance: float = 1e-10) -> None:
    """Numbers alike, relative to the larger of themselves and 1, and NaN in the same places."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    assert ours.shape == theirs.shape
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    there = ~np.isnan(theirs)
    size = np.maximum(np.abs(theirs[there]), 1.0)
    assert (np.abs(ours[there] - theirs[there]) <= tolerance * size).all()


def same_scores(ours: dict[str, Any], theirs: dict[str, Any], tolerance: float = 1e-10) -> None:
    """The same keys, the same scores in all of them."""
    assert list(ours) == list(theirs)
    for name in theirs:
        if name.endswith("_time"):
            assert ours[name].shape == theirs[name].shape
            assert (ours[name] >= 0).all()
        elif name.startswith(("test_", "train_")):
            agree(ours[name], theirs[name], tolerance)
        elif name == "indices":
            for part in ("train", "test"):
                assert len(ours[name][part]) == len(theirs[name][part])
                for a, b in zip(ours[name][part], theirs[name][part], strict=True):
                    np.testing.assert_array_equal(a, b)


def _kinds(said: list[Any]) -> set[tuple[Any, ...]]:
    return {(w.category, str(w.message)[:60]) for w in said}


def both(estimator: Any, X: Any, y: Any, tolerance: float = 1e-10, **options: Any) -> Any:
    """Our cross-validation, after comparing it with scikit-learn's."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        theirs = model_selection.cross_validate(estimator, X, y, **options)
    with warnings.catch_warnings(record=True) as we_said:
        warnings.simplefilter("always")
        ours = suffice.cross_validate(estimator, X, y, **options)
    assert _kinds(we_said) == _kinds(said), (_kinds(we_said), _kinds(said))
    assert isinstance(ours, CrossValidation)
    same_scores(ours, theirs, tolerance)
    return ours


def both_searches(
    estimator: Any,
    grid: Any,
    X: Any,
    y: Any,
    fit: Any = None,
    tolerance: float = 1e-10,
    **options: Any,
) -> Any:
    """Our search, after comparing it with scikit-learn's."""
    fit = fit or {}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        theirs = model_selection.GridSearchCV(estimator, grid, **options).fit(X, y, **fit)
    with warnings.catch_warnings(record=True) as we_said:
        warnings.simplefilter("always")
        ours = suffice.GridSearchCV(estimator, grid, **options).fit(X, y, **fit)
    assert _kinds(we_said) == _kinds(said), (_kinds(we_said), _kinds(said))
    same_search(ours, theirs, tolerance)
    if hasattr(theirs, "best_estimator_"):
        agree(ours.predict(X), theirs.predict(X), tolerance)
    return ours


def same_search(ours: Any, theirs: Any, tolerance: float = 1e-10) -> None:
    a, b = ours.cv_results_, theirs.cv_results_
    assert set(a) == set(b)
    for name in b:
        if name.startswith("rank_"):
            scores = b[name.replace("rank_", "mean_")]
            if len(set(scores.tolist())) == len(scores):
                np.testing.assert_array_equal(a[name], b[name])
        elif "_test_" in name or "_train_" in name:
            agree(a[name], b[name], tolerance)
        elif name.startswith("param_"):
            assert a[name].dtype == b[name].dtype
            np.testing.assert_array_equal(a[name].mask, b[name].mask)
    assert repr(a["params"]) == repr(b["params"])
    learned = {k for k in vars(theirs) if k.endswith("_") and k[0] != "_"}
    assert {k for k in vars(ours) if k.endswith("_") and k[0] != "_"} == learned | {"passes_"}
    assert ours.n_splits_ == theirs.n_splits_
    assert ours.multimetric_ == theirs.multimetric_
    assert type(ours.scorer_) is type(theirs.scorer_)
    for name in ("best_params_", "best_index_"):
        assert hasattr(ours, name) == hasattr(theirs, name)
        assert repr(getattr(ours, name, None)) == repr(getattr(theirs, name, None))
    if hasattr(theirs, "best_score_"):
        agree(ours.best_score_, theirs.best_score_, tolerance)


class Counted(Source):
    """A source that counts how often it is read."""

    def __init__(self, base: Source) -> None:
        self.base = base
        self.read = 0
        self.n_columns, self.n_rows = base.n_columns, base.n_rows
        self.feature_names, self.target_names = base.feature_names, base.target_names
        self.has_target, self.has_weight = base.has_target, base.has_weight
        self.sparse, self.kinds = base.sparse, base.kinds

    @property
    def target_shape(self) -> tuple[int, ...]:
        return self.base.target_shape

    def pieces(self) -> Any:
        self.read += 1
        return self.base.pieces()
