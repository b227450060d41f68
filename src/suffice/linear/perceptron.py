"""The perceptron.

    ŷ = g(θ·x + b),      θ ← θ + η (y − ŷ) x,      b ← b + η (y − ŷ)

with y ∈ {0, 1} and g a threshold: rows on the wrong side pull the boundary towards them, and
all others leave it alone.  If some boundary separates the classes, one is found after finitely
many steps: with rows x̃ = (x, 1) no longer than R, and a unit vector θ* for which every row lies
γ or more on its side, the online rule from θ = 0 makes at most (R/γ)² mistakes.  If none does,
the steps never end.  The rule is no gradient of a likelihood.

Reference: Rosenblatt, "The perceptron" (1958); Novikoff, "On convergence proofs for
perceptrons" (1962).
"""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from suffice.engines.workers import one_blas_thread
from suffice.fitting.all_or_nothing import all_or_nothing
from suffice.fitting.callbacks import FitTask
from suffice.fitting.classification import Classifier, labels_of
from suffice.fitting.driver import driven
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Found, Pass, Passes, needed
from suffice.linear.solvers.class_targets import class_codes, class_weights, encode
from suffice.linear.solvers.perceptron_epochs import Trained, Training, certificate, split
from suffice.linear.solvers.perceptron_rule import PerceptronRule, Separation, Weights
from suffice.linear.solvers.sample import FirstLook
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source
from suffice.statistics.counts.labels import coded
from suffice.statistics.moments.full import NOTHING


class Perceptron(Classifier, Estimator):
    """A linear boundary, moved by the rows that lie on its wrong side.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"}, optional
        Penalty on the weights; none by default.
    alpha : float, default=0.0001
        Its strength.
    l1_ratio : float, default=0.15
        Share of the absolute values in `penalty="elasticnet"`.
    fit_intercept : bool, default=True
        Whether the boundary may miss the origin.
    max_iter : int, default=1000
        Most passes over the rows.
    tol : float or None, default=1e-3
        A predictor stops learning when its loss per row, Σ max(0, −y (θ·x + b))/n and the
        penalty, has not fallen by `tol` below its best for `n_iter_no_change` passes.  With
        None it stops only when every row is on its side.
    shuffle : bool, default=True
        Whether each pass visits the rows in another order, which `random_state` determines.
        Blocks of rows are drawn from a window of those that come next, and shuffled.
    verbose : int, default=0
        Accepted for compatibility: `trace_` has a row for each pass.
    eta0 : float, default=1.0
        η.  From θ = 0 and without a penalty it only sets the length of θ.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.  Does not change the result.
    random_state : int, RandomState or None, default=0
        Of the order of the rows, and of those held out by `early_stopping`.
    early_stopping : bool, default=False
        Stop by the share of held-out rows on the wrong side, and not by the loss.
    validation_fraction : float, default=0.1
        Share of each class to hold out.
    n_iter_no_change : int, default=5
        Passes without progress after which to stop.
    class_weight : dict, "balanced" or None, default=None
        Factors of η for the rows of each class.
    warm_start : bool, default=False
        Begin a fit with the weights of the last.
    batch : bool, default=False
        Move the boundary once a pass, by the sum over all rows on the wrong side.  The order of
        the rows has no effect then.

    Attributes
    ----------
    classes_ : array of shape (classes,)
    coef_ : array of shape (1, columns) or (classes, columns)
        With more than two classes, each is told from all others.
    intercept_ : array of shape (1,) or (classes,)
    n_iter_ : int
        Passes in which the boundary could move.
    t_ : float
        1 and the rows that were visited.
    certificate_ : Certificate
        Holds where every training row is on its side: the classes are then separable.
        Measures the rows that are not (`mistakes`), the distance γ of the nearest row
        (`margin`), the length R of the longest (`radius`), and, for the online rule from
        θ = 0, the steps taken (`updates`) and (R/γ)² (`bound`).
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron().fit(X, y == 0)
    >>> model.score(X, y == 0)
    1.0
    >>> proof = model.certificate_
    >>> proof.holds, bool(proof.updates <= proof.bound)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "penalty": [StrOptions({"l2", "l1", "elasticnet"}), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "shuffle": ["boolean"],
        "verbose": ["verbose"],
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "warm_start": ["boolean"],
        "batch": ["boolean"],
    }

    coef_: Array
    intercept_: Array
    t_: float

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        batch: bool = False,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter: int = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.batch = batch

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- fitting ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
            Rows of shape (rows, columns); or a source such as `suffice.scan` makes, which
            brings its own target.  Row weights are not taken: a row moves the boundary or
            does not, and one that did need not do so again.
        y : array of shape (rows,)
            The labels.  None if `X` is a source.

        Returns
        -------
        self
        """
        return super().fit(X, y)

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """One pass over further rows, from the weights as they are.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
        y : array of shape (rows,)
            None if `X` is a source.
        classes : array of shape (classes,)
            All labels that there will be; needed in the first call.

        Returns
        -------
        self
        """
        self._validate_params()
        if self.early_stopping or self.class_weight == "balanced":
            what = "early_stopping" if self.early_stopping else "class_weight='balanced'"
            raise ValueError(f"{what} needs all rows at once: use fit, or do without it")
        fitted = hasattr(self, "coef_")
        known = self._known_classes(classes, fitted)
        source = self._training_source(X, y, None, reset=not fitted)
        before = getattr(self, "t_", 1.0)
        method = self._method(source, known, 1, None, fitted)
        with one_blas_thread():
            self._adopt_found(*driven(self, method, source, FitTask(None, {})))
        self.t_ += before - 1.0
        self._warn_unless_proved()
        return self

    def _known_classes(self, classes: Any, fitted: bool) -> NDArray[Any]:
        if classes is None:
            if not fitted:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            return self.classes_
        known = coded(np.asarray(classes))[0]
        if fitted and not np.array_equal(known, self.classes_):
            raise ValueError(
                f"classes={classes!r} is not the same as on the last call to partial_fit: "
                f"{self.classes_.tolist()}"
            )
        return known

    def _passes(self, source: Source) -> Passes:
        return self._method(source, None, self.max_iter, self.tol, self.warm_start)

    def _method(
        self,
        source: Source,
        classes: NDArray[Any] | None,
        epochs: int,
        tol: float | None,
        warm: bool,
    ) -> Passes:
        """Learn from rows whose classes are known, or else found in a first pass."""
        first_look: FirstLook = yield from needed(Pass("labels", _labels_and_counts))
        if not first_look.count:
            raise ValueError(NOTHING)
        classes = _checked_classes(first_look, classes)
        rule = self._rule(first_look, classes)
        start, cold = self._start(classes, warm)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        held = None
        if self.early_stopping:
            source, held = split(source, rule, self.validation_fraction, seed, self.n_jobs)
        order = seed if self.shuffle else None
        patience = self.n_iter_no_change
        training = Training(
            rule, self.batch, order, epochs, tol, patience, source, held, first_look.count, classes
        )
        done: Trained = yield from training.run(start)
        coef, intercept = done.weights.coef, done.weights.intercept
        judge = partial(rule.judge, coef=coef, intercept=intercept)
        found: Separation = yield from needed(Pass("separation", judge, source=source))
        attributes = {
            **training.attributes(done.weights),
            "n_iter_": done.epochs,
            "t_": 1.0 + float(done.epochs * found.count),
        }
        novikoff = cold and not self.batch and self.penalty is None
        novikoff &= bool((rule.rates == rule.rates[0, 0]).all())
        updates = done.updates if novikoff else None
        way = "batch perceptron" if self.batch else "online perceptron"
        proof = certificate(attributes, found, updates, self.fit_intercept, way, done.ended)
        return Found(attributes, proof)

    def _strengths(self) -> tuple[float, float]:
        """Strengths of the penalties on absolute values and on squares."""
        if self.penalty is None:
            return 0.0, 0.0
        ratio = {"l1": 1.0, "l2": 0.0}.get(self.penalty, self.l1_ratio)
        return self.alpha * ratio, self.alpha * (1 - ratio)

    def _rule(self, first_look: FirstLook, classes: NDArray[Any]) -> PerceptronRule:
        factors = np.ones(len(classes))
        if self.class_weight is not None:
            found = encode(first_look.labels, classes)
            factors[found] = class_weights(self.class_weight, first_look)
        two = len(classes) == 2
        rest = factors[:1] if two else np.ones(len(classes))
        own = factors[1:] if two else factors
        l1, l2 = self._strengths()
        return PerceptronRule(
            np.array([1]) if two else np.arange(len(classes)),
            self.eta0 * np.stack([rest, own], axis=1),
            self.eta0,
            l1,
            l2,
            self.fit_intercept,
            partial(class_codes, classes=classes),
        )

    def _start(self, classes: NDArray[Any], warm: bool) -> tuple[Weights, bool]:
        """The weights to begin with, and whether they are zero."""
        shape = 1 if len(classes) == 2 else len(classes), self.n_features_in_
        if warm and hasattr(self, "coef_"):
            if self.coef_.shape != shape or not np.array_equal(self.classes_, classes):
                raise ValueError(
                    f"warm_start=True begins with weights for the classes {self.classes_.tolist()} "
                    f"and {self.coef_.shape[1]} columns, but the rows have {classes.tolist()} and "
                    f"{shape[1]}: use warm_start=False"
                )
            return Weights.start(self.coef_, self.intercept_), False
        return Weights.start(np.zeros(shape), np.zeros(shape[0])), True

    # --- predicting -------------------------------------------------------------------------

    def _scores(self, rows: Any) -> NDArray[np.float64]:
        scores = np.asarray(rows @ self.coef_.T + self.intercept_)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _predicted(self, rows: Any) -> NDArray[Any]:
        scores = self._scores(rows)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])


def _labels_and_counts(block: Block) -> FirstLook:
    """The labels of a block, and whether its rows can be learned from."""
    weight = block.weight
    if weight is not None and not np.isin(weight, (0.0, 1.0)).all():
        raise ValueError(
            "Perceptron takes no row weights (other than 0 for rows that do not exist): a row "
            "moves the boundary or does not; use class_weight, or LogisticRegression"
        )
    there = slice(None) if weight is None else weight > 0
    cells = block.X[there].data if sparse.issparse(block.X) else block.X[there]
    if cells.dtype.kind == "f" and not np.isfinite(cells).all():
        raise FloatingPointError("values that are not finite")
    labels = labels_of(block)[there]
    if not len(labels):
        return FirstLook({}, (), 0)
    found, codes = coded(labels)
    counts = np.bincount(codes, minlength=len(found)).astype(np.float64)
    return FirstLook(dict(zip(found.tolist(), counts.tolist(), strict=True)), (), len(labels))


def _checked_classes(first_look: FirstLook, classes: NDArray[Any] | None) -> NDArray[Any]:
    found = first_look.labels
    if classes is None:
        classes = found
    elif strange := sorted(set(found.tolist()) - set(classes.tolist())):
        raise ValueError(
            f"the target holds {strange[0]!r}, which is not among the classes "
            f"{classes.tolist()[:10]}"
        )
    if len(classes) < 2:
        raise ValueError(
            "Perceptron needs rows of at least two classes, but the target holds only one class: "
            f"{classes.tolist()[0]!r}"
        )
    return classes
