"""Support vector classification.

    minimise over w, b:    ½ ‖w‖² + Σ Cᵢ max(0, 1 − yᵢ f(xᵢ)),      f(x) = w·φ(x) + b

A boundary with a margin 1/‖w‖ wide on both sides, and a price C for what lies within it.  The dual
sees the rows through k(x, z) = φ(x)·φ(z) alone:

    maximise over α:    Σ αᵢ − ½ Σᵢⱼ αᵢ αⱼ yᵢ yⱼ k(xᵢ, xⱼ)     for 0 ≤ αᵢ ≤ Cᵢ, Σ αᵢ yᵢ = 0

with w = Σ αᵢ yᵢ φ(xᵢ), and b from the rows on the margin.  It is solved by sequential minimal
optimisation (`suffice.svm.smo.solver`), for each two of several classes
(`suffice.svm.one_vs_one.pairs`); the conditions of a minimum are then checked in float64, row by
row (`suffice.svm.margins.conditions`).  C = ∞ asks for a hard margin
(`suffice.svm.margins.separability`).

References: Boser, Guyon and Vapnik, "A training algorithm for optimal margin classifiers" (1992);
Cortes and Vapnik, "Support-vector networks" (1995).
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from suffice.engines.gather import Rows
from suffice.fitting.class_weights import positive_factors
from suffice.fitting.classification import Classifier, labels_of
from suffice.fitting.requests import Found, Gather, Passes, needed
from suffice.sources import Block, Source
from suffice.statistics.counts.labels import coded
from suffice.svm.base import Floats, SupportVectorMachine
from suffice.svm.calibration.platt import FOLDS, fit_sigmoid, folds_of, log_probabilities
from suffice.svm.margins.conditions import certificate_of, margins_of
from suffice.svm.one_vs_one.pairs import (
    SupportVectors,
    Task,
    against_the_rest,
    fit_pairs,
    pair_values,
    starts_from,
    votes,
)
from suffice.svm.smo.kernel_rows import KernelRows
from suffice.svm.smo.kernel_sums import kernel_sums


class SVC(Classifier, SupportVectorMachine):
    """The boundary of the widest margin among the features of a kernel.

    Parameters
    ----------
    C : float, default=1.0
        The price of a row within the margin; infinite for a hard margin.
    kernel : {"linear", "poly", "rbf", "sigmoid", "logistic", "precomputed"} or function, \
default="rbf"
        "precomputed" takes the matrix of the values in place of the rows; a function is called
        with two arrays of rows, and returns that of their values.
    degree : int, default=3
        The power of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        γ of all but the linear kernel: 1 / (columns · variance of all cells), 1 / columns, or a
        number.  A Gaussian of the deviation σ has γ = 1/2σ².
    coef0 : float, default=0.0
        What is added to γ x·z.
    shrinking : bool, default=True
        Whether rows that are far from the margin are left out for a while.
    probability : bool, default=False
        Whether to calibrate probabilities, on the decision values of five folds held out.
    tol : float, default=1e-3
        By how much a row may miss its condition of a minimum.
    cache_size : float, default=200
        Megabytes of kernel values that may be stored; beyond, they are computed again.
    class_weight : dict or "balanced", optional
        Factors of C, by label.
    verbose : bool, default=False
        Accepted for compatibility: `certificate_` tells how the fit went.
    max_iter : int, default=-1
        Steps at most, of each machine; −1 sets no limit of its own.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` has a column for each of several classes, or for each pair.
    break_ties : bool, default=False
        Whether ties of votes are decided by decision values.
    random_state : int, RandomState or None, default=None
        Who is in which fold, for probabilities; by default rows take turns.
    warm_start : bool, default=False
        Start from the multipliers of the last fit, if that had as many rows and the same labels.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.  The result is the same at any number.

    Attributes
    ----------
    classes_ : array of shape (classes,)
    class_weight_ : array of shape (classes,)
    support_ : int array of shape (support vectors,)
        Numbers of rows, sorted by class; rows of weight 0 are not counted.
    support_vectors_ : array or CSR matrix of shape (support vectors, columns)
    n_support_ : int array of shape (classes,)
    dual_coef_ : array of shape (classes − 1, support vectors)
        α y, of a vector of class i in the machines with each other class.
    coef_ : array of shape (machines, columns)
        Only for the linear kernel.
    intercept_ : array of shape (machines,)
    functional_margins_ : array of shape (rows,), or (machines, rows) for several classes
        y f(x); NaN for rows of neither class.
    geometric_margin_ : float, or array of shape (machines,)
        The least functional margin divided by ‖w‖.
    kkt_cases_ : int8 array of the shape of the margins
        1 for α = 0 and a margin of at least 1; 2 for 0 < α < C and a margin of 1; 3 for α = C and
        a margin of at most 1; 0 for none of these, −1 for a row of neither class.
    n_iter_ : int array of shape (machines,)
    fit_status_ : int
        0 if the certificate holds.
    shape_fit_ : tuple of int
    probA_, probB_ : arrays of shape (1,) or (classes,)
        Of the sigmoids, if `probability`.
    certificate_ : Certificate
        The worst violation, the primal and the dual value, and their gap.
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC().fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 3)
    (array([ 7, 29, 24], dtype=int32), 0.973)
    >>> model.certificate_.holds
    True
    """

    functional_margins_: Floats
    geometric_margin_: Any
    kkt_cases_: NDArray[np.int8]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SupportVectorMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "probability": ["boolean", Hidden(StrOptions({"deprecated"}))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovo", "ovr"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool | str = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    # --- fitting --------------------------------------------------------------------------

    def _passes(self, source: Source) -> Passes:
        rows: Rows = yield from needed(Gather("rows"))
        X = self._rows(rows, source.n_rows)
        classes, codes = coded(labels_of(Block(X, rows.y, None, 0)))
        if len(classes) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; got 1 class: "
                f"{classes.tolist()[0]!r}"
            )
        weight = np.ones(len(codes)) if rows.weight is None else rows.weight
        by_class = np.asarray(np.bincount(codes, weight, len(classes)), np.float64)
        factors = positive_factors(self.class_weight, classes, by_class)
        with np.errstate(invalid="ignore"):
            bounds = self.C * weight * factors[codes]
        kernel = self._kernel_function(X, rows.weight)
        starts = starts_from(dict(vars(self)), classes, codes) if self.warm_start else None
        task, order = self._task(kernel, X, codes, bounds, classes)
        pairs = fit_pairs(task, self._settings(X.shape[0]), starts)
        found = SupportVectors.of(task, pairs)
        proof = certificate_of(kernel, pairs, self.tol, self._settings(X.shape[0]).most)
        support = order[found.rows]
        attributes = {
            "classes_": classes,
            "class_weight_": factors,
            "support_": support.astype(np.int32),
            "support_vectors_": self._support_vectors(X, support),
            "n_support_": found.counts.astype(np.int32),
            "dual_coef_": found.dual_coef,
            "intercept_": found.intercept,
            "n_iter_": np.array([pair.solution.steps for pair in pairs], np.int32),
            "fit_status_": int(not proof.holds),
            "shape_fit_": tuple(X.shape),
            **margins_of(pairs, order, self.tol),
        }
        self.__dict__.pop("probA_", None)
        self.__dict__.pop("probB_", None)
        if self.probability is True:
            attributes |= self._calibration(kernel, X, codes, bounds, weight, classes)
        return Found(attributes, proof, proof.measures["dual"])

    def _task(
        self, kernel: Any, X: Any, codes: Any, bounds: Floats, classes: Any
    ) -> tuple[Task, NDArray[np.int64]]:
        """The rows sorted by class, and their order."""
        order = np.argsort(codes, kind="stable")
        moved = (order != np.arange(len(order))).any()
        if kernel.name == "precomputed":
            X = X[np.ix_(order, order)] if moved else X
        elif moved:
            X = X[order]
        rows = KernelRows(kernel, X, self.n_jobs)
        return Task(rows, np.bincount(codes), bounds[order], classes), order

    def _calibration(
        self, kernel: Any, X: Any, codes: Any, bounds: Floats, weight: Floats, classes: Any
    ) -> dict[str, Floats]:
        """Sigmoids of the decision values that machines without a fold give its rows."""
        if np.bincount(codes).min() < 2:
            raise ValueError("probability=True needs two rows of each class, to hold some out")
        random = None if self.random_state is None else check_random_state(self.random_state)
        fold_of, k = folds_of(codes, random), len(classes)
        scores = np.empty(len(codes) if k == 2 else (len(codes), k))
        for fold in range(min(FOLDS, int(fold_of.max()) + 1)):
            kept, held = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
            given = kernel.name == "precomputed"
            own = X[np.ix_(kept, kept)] if given else X[kept]
            task, order = self._task(kernel, own, codes[kept], bounds[kept], classes)
            pairs = fit_pairs(task, self._settings(len(kept)), None)
            found = SupportVectors.of(task, pairs)
            support = kept[order[found.rows]]
            queries = X[np.ix_(held, support)] if given else X[held]
            vectors = None if given else X[support]
            scores[held] = self._combined(
                self._sums(kernel, queries, vectors, found.dual_coef, found.counts),
                found.intercept, k,
            )  # fmt: skip
        if k == 2:
            curves = [fit_sigmoid(scores, codes == 1, weight)]
        else:
            curves = [fit_sigmoid(scores[:, c], codes == c, weight) for c in range(k)]
        slopes, offsets = np.array(curves).T
        return {"probA_": slopes, "probB_": offsets}

    # --- answers --------------------------------------------------------------------------

    def _sums(self, kernel: Any, X: Any, vectors: Any, dual_coef: Floats, counts: Any) -> Floats:
        if kernel.name == "linear":
            ends = np.cumsum(counts)
            groups = [slice(e - c, e) for e, c in zip(ends, counts, strict=True)]
            parts = [X @ (dual_coef[:, one] @ vectors[one]).T for one in groups]
            return np.stack([np.asarray(p.toarray() if issparse(p) else p) for p in parts], 1)
        return kernel_sums(kernel, X, vectors, dual_coef, counts, self.n_jobs)

    @staticmethod
    def _combined(sums: Floats, intercept: Floats, k: int) -> Floats:
        values = pair_values(sums, intercept)
        return values[:, 0] if k == 2 else against_the_rest(values, k)

    def _pair_values(self, rows: Any) -> Floats:
        sums = self._sums(
            self._kernel(), self._queries(rows), self.support_vectors_, self.dual_coef_,
            self.n_support_,
        )  # fmt: skip
        return pair_values(sums, self.intercept_)

    def _scores(self, rows: Any) -> Floats:
        values, k = self._pair_values(rows), len(self.classes_)
        if k == 2:
            return values[:, 0]
        return values if self.decision_function_shape == "ovo" else against_the_rest(values, k)

    def _predicted(self, rows: Any) -> NDArray[Any]:
        values, k = self._pair_values(rows), len(self.classes_)
        if k == 2:
            return self.classes_[(values[:, 0] > 0).astype(np.intp)]
        scores = against_the_rest(values, k) if self.break_ties else votes(values, k)[0]
        return self.classes_[scores.argmax(axis=1)]

    def predict(self, X: Any) -> NDArray[Any]:
        """The class that wins most of its pairs; of several the first.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)
            For a precomputed kernel its values with the rows of the fit.

        Returns
        -------
        array of shape (rows,)
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return super().predict(X)

    @available_if(lambda model: model.probability is True)  # type: ignore[untyped-decorator]
    def _log_probabilities(self, rows: Any) -> Floats:
        if "probA_" not in vars(self):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False"
            )
        values, k = self._pair_values(rows), len(self.classes_)
        scores = values[:, 0] if k == 2 else against_the_rest(values, k)
        return log_probabilities(scores, self.probA_, self.probB_)

    def _weights(self) -> Any:
        k, ends = len(self.n_support_), np.cumsum(self.n_support_)
        vectors, machines = self.support_vectors_, []
        for i in range(k):
            for j in range(i + 1, k):
                first = slice(ends[i] - self.n_support_[i], ends[i])
                second = slice(ends[j] - self.n_support_[j], ends[j])
                one = weighted(self.dual_coef_[j - 1, first], vectors[first])
                machines.append(one + weighted(self.dual_coef_[i, second], vectors[second]))
        return vstack(machines, format="csr") if issparse(vectors) else np.vstack(machines)


def weighted(coefficients: Floats, vectors: Any) -> Any:
    """Σ c x as one row, sparse if the vectors are."""
    row = coefficients[None]
    return csr_array(row) @ vectors if issparse(vectors) else row @ vectors
