"""Classification by the average of models fitted to bootstraps of the rows (bagging).

Member m = 1, …, M is fitted to a bootstrap: n rows drawn from all n with replacement, which are
the rows with multiplicities as weights.  Then

    P(y = k | x) = 1/M Σₘ Pₘ(y = k | x),      ŷ = argmaxₖ P(y = k | x),

where Pₘ is what the member says, or 1 for the class it predicts (votes).  A class of which a
bootstrap has no row has probability 0 there.  What varies from sample to sample is averaged out,
so models gain that a few rows can change much: deep trees, not linear ones.

A bootstrap leaves out a share of (1 − 1/n)ⁿ ≈ 1/e of the rows.  The average over the members that
did not see a row is an honest prediction of it: the out-of-bag estimate.

References: Breiman, "Bagging predictors" (1996); Breiman, "Out-of-bag estimation" (1996); Ho, "The
random subspace method for constructing decision forests" (1998), on drawn columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from suffice.engines.gather import Rows
from suffice.ensembles.bagging.base import Bagging, Floats
from suffice.fitting.classification import Classifier
from suffice.sources import Block
from suffice.statistics.counts.distinct import locate
from suffice.statistics.counts.labels import coded
from suffice.trees.decision_tree_classifier import DecisionTreeClassifier

F = TypeVar("F", bound=Callable[..., Any])

NO_PROBABILITY = 1e-290
"""Up to which a logarithm is taken from those of the members instead."""


def _has(method: str) -> Callable[[F], F]:
    """Whether the members have a method, for scikit-learn's `available_if`."""

    def check(model: BaggingClassifier) -> bool:
        fitted = getattr(model, "estimators_", None)
        getattr(fitted[0] if fitted else model._base(), method)
        return True

    return available_if(check)


class BaggingClassifier(Classifier, Bagging):
    """The average of classifiers, each fitted to rows drawn anew.

    Parameters
    ----------
    estimator : classifier, default=None
        What is cloned and fitted for each member; None is `DecisionTreeClassifier()`.  May be of
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
    voting : {"soft", "hard"}, default="soft"
        Average probabilities, where members have any, or count votes.

    Attributes
    ----------
    estimators_ : list of classifiers
        The members.
    estimators_features_ : list of int64 arrays
        The columns that each of them sees.
    estimators_samples_ : list of int64 arrays
        The rows that each was given, as often as it was; drawn anew at each look.
    classes_ : array of shape (classes,)
        The labels, sorted.
    n_classes_ : int
    oob_score_ : float
        Share of the rows that members which did not see them predict, by weight.
    oob_decision_function_ : array of shape (rows, classes)
        The probabilities that these give; NaN for rows that each member saw.
    certificate_ : Certificate
        Holds where those of all members do.
    trace_ : Trace
        A row for each pass, and for each member, with the objective at the end of its fit.

    Notes
    -----
    `predict` goes by the average of probabilities or votes; `decision_function`, there where the
    members have it, is the average of their scores, and may prefer another class.

    Rows are drawn with probabilities in proportion to `sample_weight`, and a member's own weights
    are their multiplicities.  Without replacement every row is drawn alike, and members are given
    the weights themselves, if they take any.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from suffice import BaggingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BaggingClassifier(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> model.score(X, y), 0.94 < model.oob_score_ < 0.98
    (1.0, True)
    """

    _out_of_bag = "oob_decision_function_"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Bagging._parameter_constraints,
        "voting": [StrOptions({"soft", "hard"})],
    }

    oob_decision_function_: Floats

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: Any = None,
        max_features: Any = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        voting: str = "soft",
    ) -> None:
        super().__init__(
            estimator,
            n_estimators,
            max_samples=max_samples,
            max_features=max_features,
            bootstrap=bootstrap,
            bootstrap_features=bootstrap_features,
            oob_score=oob_score,
            warm_start=warm_start,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.voting = voting

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def _base(self) -> Any:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _check_base(self, model: Any) -> None:
        if not is_classifier(model):
            raise ValueError(f"estimator={model!r} is no classifier; BaggingRegressor takes others")

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if "estimators_" not in vars(self):
            return
        classes = vars(self).get("classes_")
        if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not len(classes):
            raise ValueError("its classes are missing")
        for model in self.estimators_:
            if (locate(np.asarray(model.classes_), classes) < 0).any():
                raise ValueError("a member knows classes that the others do not")

    def _learned_target(self, block: Block) -> NDArray[Any]:
        labels = self._labels(block)
        classes = coded(labels)[0]
        if self._members_before() and classes.tolist() != self.classes_.tolist():
            raise ValueError(
                f"warm_start=True goes on with the classes {self.classes_.tolist()[:10]}, but the "
                f"target holds {classes.tolist()[:10]}"
            )
        self.classes_ = classes
        return labels

    def _explain(self, error: ValueError, member: int, model: Any, rows: Rows) -> None:
        assert rows.y is not None
        if len(self.classes_) > 1 and len(coded(rows.y)[0]) == 1:
            raise ValueError(
                f"member {member} was given rows of one class alone, {rows.y[0]!r}, and "
                f"{type(model).__name__} could not be fitted to them ({error}): draw more rows, "
                "or choose an estimator that takes one class, such as a tree"
            ) from error

    # --- predicting -----------------------------------------------------------------------

    def _answer(self, member: int, rows: Any) -> Floats:
        """Pₘ(y = k | x), or votes."""
        model = self.estimators_[member]
        said = np.zeros((rows.shape[0], len(self.classes_)))
        if self.voting == "soft" and hasattr(model, "predict_proba"):
            said[:, self._places(model)] = self._ask(member, "predict_proba", rows)
        else:
            voted = locate(self._ask(member, "predict", rows), self.classes_)
            said[np.arange(len(voted)), voted] = 1.0
        return said

    def _places(self, model: Any) -> NDArray[np.int64]:
        """Where a member's classes are among all."""
        return locate(np.asarray(model.classes_), self.classes_)

    def _judged(self, mean: Floats, y: NDArray[Any], weight: Floats | None) -> float:
        right = locate(y, self.classes_) == mean.argmax(axis=1)
        return float(np.average(right, weights=weight))

    def _probabilities(self, rows: Any) -> Floats:
        return self._mean(rows)

    def _log_probabilities(self, rows: Any) -> Floats:
        """log 1/M Σₘ Pₘ, of logarithms where these are tiny and members have them."""
        mean = self._mean(rows)
        with np.errstate(divide="ignore"):
            found = np.log(mean)
        lost = mean < NO_PROBABILITY
        logs = self.voting == "soft" and hasattr(self.estimators_[0], "predict_log_proba")
        if logs and lost.any():
            found[lost] = self._log_mean(rows)[lost]
        return found

    def _log_mean(self, rows: Any) -> Floats:
        total = np.full((rows.shape[0], len(self.classes_)), -np.inf)
        for said in self._answers(self._log_answer, rows):
            np.logaddexp(total, said, out=total)
        return np.asarray(total - np.log(len(self.estimators_)))

    def _log_answer(self, member: int, rows: Any) -> Floats:
        said = np.full((rows.shape[0], len(self.classes_)), -np.inf)
        places = self._places(self.estimators_[member])
        said[:, places] = self._ask(member, "predict_log_proba", rows)
        return said

    @_has("decision_function")
    def _scores(self, rows: Any) -> Floats:
        for m, model in enumerate(self.estimators_):
            if len(model.classes_) < len(self.classes_):
                raise ValueError(
                    f"member {m} was given rows of the classes {model.classes_.tolist()} alone, "
                    "and has no score for others: use predict_proba"
                )
        found = self._answers(lambda m, some: self._ask(m, "decision_function", some), rows)
        return np.asarray(sum(found) / len(self.estimators_))

    def _predicted(self, rows: Any) -> NDArray[Any]:
        return self.classes_[self._mean(rows).argmax(axis=1)]
