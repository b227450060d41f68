"""scikit-learn's inner functions and classes that model selection uses, imported here alone.

They are private there, as are methods of its `GridSearchCV` that ours calls; so `suffice` names
the versions of scikit-learn that it works with.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer
from sklearn.model_selection._validation import (
    _aggregate_score_dicts as aggregate_score_dicts,
)
from sklearn.model_selection._validation import (
    _insert_error_scores as insert_error_scores,
)
from sklearn.model_selection._validation import (
    _normalize_score_results as normalize_score_results,
)
from sklearn.model_selection._validation import _score as score_rows
from sklearn.model_selection._validation import (
    _warn_or_raise_about_fit_failures as warn_or_raise_about_fit_failures,
)
from sklearn.utils._indexing import _safe_indexing as rows_at
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled

__all__ = [
    "aggregate_score_dicts",
    "insert_error_scores",
    "is_multimetric",
    "normalize_score_results",
    "parts_of_scorer",
    "routing_enabled",
    "rows_at",
    "score_rows",
    "scorers_by_name",
    "warn_or_raise_about_fit_failures",
]


class ScorerParts(NamedTuple):
    """What a scorer of scikit-learn is made of.

    Attributes
    ----------
    is_own_score : bool
        Whether it is the estimator's own `score` method.
    metric : function or None
    sign : float
    options : dict
        Keyword arguments of the metric.
    responses : tuple of str
        Methods of the estimator of which it calls the first that exists.
    """

    is_own_score: bool
    metric: Any = None
    sign: float = 1.0
    options: dict[str, Any] = {}
    responses: tuple[str, ...] = ("predict",)


def parts_of_scorer(scorer: Any) -> ScorerParts | None:
    """The parts, or None for a function of the user's own."""
    if isinstance(scorer, _PassthroughScorer):
        return ScorerParts(True)
    if isinstance(scorer, _BaseScorer):
        responses = scorer._response_method
        names = (responses,) if isinstance(responses, str) else tuple(responses)
        return ScorerParts(
            False, scorer._score_func, float(scorer._sign), dict(scorer._kwargs), names
        )
    return None


def scorers_by_name(scorer: Any) -> dict[str, Any]:
    """The scorers of several metrics, or the only one under the name "score"."""
    return dict(scorer._scorers) if isinstance(scorer, _MultimetricScorer) else {"score": scorer}


def is_multimetric(scorer: Any) -> bool:
    """Whether a scorer stands for several metrics."""
    return isinstance(scorer, _MultimetricScorer)
