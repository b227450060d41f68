"""What all mixtures share: EM over starts and restarts, and what a fitted mixture tells of rows.

    p(x) = Σ_c π_c p_c(x),      r_c(x) = π_c p_c(x) / p(x)

A mixture says which distributions its components are: how they start, the M step, their prior and
their number of parameters.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Generator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from suffice.bayes.dirichlet_categorical import DirichletCategorical
from suffice.engines.workers import one_blas_thread
from suffice.fitting.certificate import Certificate
from suffice.fitting.density import log_likelihood
from suffice.fitting.em import Ascent, ascended
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Found, Pass, Passes, Request, needed
from suffice.fitting.side_by_side import side_by_side
from suffice.fitting.unlabelled import with_filled
from suffice.mixtures.latent.ascent import MixtureAscent
from suffice.mixtures.latent.labels import ComponentOf, LabelsOf
from suffice.mixtures.latent.responsibilities import Components, as_float64, posterior
from suffice.sources import Block, Source

Floats = NDArray[np.float64]
LabelFunction = Callable[[Block], NDArray[np.intp]] | None


class MixtureModel(Estimator):
    """Base of mixtures.

    Attributes
    ----------
    weights_ : float64 array of shape (components,)
    converged_ : bool
    n_iter_ : int
    lower_bound_ : float
        The mean log-likelihood that the last step began with, with the prior's share.
    lower_bounds_ : list of float
        The same of every step.
    classes_ : array
        Labels of the first components, where rows have labels.
    """

    weights_: Floats
    converged_: bool
    lower_bound_: float
    lower_bounds_: list[float]
    classes_: NDArray[Any]

    n_components: int
    tol: float
    max_iter: int
    n_init: int
    random_state: Any
    warm_start: bool
    em: str
    hold: Collection[str]
    unlabelled: Any
    weights_prior: Any

    _path: ClassVar[str] = "closed form"
    _remedy: ClassVar[str] = "a component has collapsed"
    _can_be_held: ClassVar[frozenset[str]] = frozenset({"weights"})
    _target_checks = {"y_numeric": False, "multi_output": False}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "em": [StrOptions({"soft", "hard"})],
        "hold": [tuple, list, set, frozenset],
        "unlabelled": "no_validation",  # type: ignore[dict-item]
        "weights_prior": [None, Interval(Real, 1.0, None, closed="left"), DirichletCategorical],
        "n_jobs": [None, Integral],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags

    # --- what a mixture provides ----------------------------------------------------------

    @abstractmethod
    def _components(self) -> Components:
        """The fitted components."""

    @abstractmethod
    def _starts(
        self, source: Source, seeds: list[int], label: LabelFunction, n_classes: int
    ) -> Generator[Request, Any, tuple[list[tuple[Any, Floats]], float]]:
        """Components and weights to start from, for each seed; and the weight of all rows."""

    @abstractmethod
    def _maximised(self, components: Any, statistic: Any) -> tuple[Any, float]:
        """The M step: the next components, and how far they moved."""

    @abstractmethod
    def _attributes(self, components: Any) -> dict[str, Any]:
        """What is learned, by the names of the attributes."""

    @abstractmethod
    def _component_parameters(self) -> int:
        """Free parameters of all components."""

    @abstractmethod
    def _drawn(self, component: int, n: int, rng: Any) -> NDArray[Any]:
        """Rows of one component."""

    def _climbs(self) -> tuple[bool, str]:
        """Whether the M step is a maximum, and what to say if not."""
        return True, ""

    def _has_prior(self) -> bool:
        return self.weights_prior is not None

    def _log_prior(self, components: Any, weights: Floats) -> float:
        """log p(θ), up to a constant."""
        pseudo = self._pseudo_rows()
        return float(xlogy(pseudo, weights).sum())

    # --- fitting --------------------------------------------------------------------------

    def _held(self) -> frozenset[str]:
        unknown = sorted(set(self.hold) - self._can_be_held)
        if unknown:
            raise ValueError(f"hold={unknown!r}: what can be held is {sorted(self._can_be_held)}")
        return frozenset(self.hold)

    def _pseudo_rows(self) -> Floats:
        """α − 1 of the Dirichlet prior of the weights, for each component."""
        prior, k = self.weights_prior, self.n_components
        if prior is None:
            return np.zeros(k)
        alpha = np.asarray(prior.alpha if isinstance(prior, DirichletCategorical) else prior)
        if (alpha.ndim and alpha.shape != (k,)) or (alpha < 1).any():
            raise ValueError(
                f"weights_prior has alpha {alpha.tolist()}: give one number of at least 1, or "
                f"{k} of them"
            )
        return np.broadcast_to(alpha - 1.0, k).astype(np.float64)

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        if self.unlabelled is None:
            return self._table_source(X, None, sample_weight, reset)
        found = None if isinstance(X, Source) else with_filled(y, self.unlabelled)
        target = y if found is None else found[0]
        source: Any = self._table_source(X, target, sample_weight, reset)
        if not source.has_target:
            raise ValueError("unlabelled marks rows of a target: pass y, or scan(…, target=…)")
        if found is not None:
            source.y = found[1]
        return source

    def _table_source(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Source:
        """Rows to learn from, whatever cells they have."""
        return super()._training_source(X, y, sample_weight, reset)

    def _passes(self, source: Source) -> Passes:
        self._held(), self._pseudo_rows()  # what is wrong is told before rows are read
        self.__dict__.pop("classes_", None)
        label: LabelFunction = None
        n_classes = 0
        if self.unlabelled is not None:
            found = yield from needed(Pass("labels", LabelsOf(self.unlabelled)))
            self.classes_, n_classes = found.values, len(found.values)
            if n_classes > self.n_components:
                raise ValueError(
                    f"{n_classes} labels, and n_components={self.n_components}: each label is a "
                    "component of its own"
                )
            label = ComponentOf(self.unlabelled, self.classes_)
        rng = check_random_state(self.random_state)
        seeds = [int(rng.randint(1 << 31)) for _ in range(self.n_init)]
        starts, total = yield from self._starts(source, seeds, label, n_classes)
        runs = [MixtureAscent(self, *start, total, label) for start in starts]
        if self.warm_start and "lower_bound_" in vars(self):
            runs[0].objective_before = -self.lower_bound_ * total
        ends = yield from side_by_side([tried(run) for run in runs])
        if all(isinstance(end, ValueError) for end in ends):
            raise ends[0]
        best = int(np.argmin([last_objective(end) for end in ends]))
        run, ascent = runs[best], ends[best]
        if ascent.solution is not None:
            proof = ascent.certificate(run)
        elif self.max_iter == 0:
            proof = Certificate(False, "where EM would start: max_iter=0", self._path, {})
        else:
            raise ValueError("stopped before the first step of EM")
        bounds = [-objective / total for objective in ascent.objectives]
        learned = {
            "weights_": run.weights,
            "converged_": ascent.settled(self.tol),
            "n_iter_": len(ascent.objectives),
            "lower_bound_": bounds[-1] if bounds else -np.inf,
            "lower_bounds_": bounds,
            **self._attributes(run.components),
        }
        return Found(learned, proof)

    # --- rows to answer for ---------------------------------------------------------------

    def _joint(self, rows: Any) -> Floats:
        """log π_c p_c(x), of shape (components, rows)."""
        components, rows = self._components(), as_float64(rows)
        step, n = components.rows_at_once, rows.shape[0]
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights_)[:, None]
        with one_blas_thread():  # of products so small, several threads would mostly spin
            found = [components.expected(rows[i : i + step])[0] for i in range(0, n, step)]
        return np.concatenate(found, axis=1) + logs

    def _log_densities(self, rows: Any) -> Floats:
        return posterior(self._joint(rows))[1]

    def predict_proba(self, X: Any) -> Floats:
        """The responsibility of each component for each row.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows, components)
        """
        check_is_fitted(self)
        return self._apply_in_dtype(X, lambda rows: posterior(self._joint(rows))[0].T)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The component that is most responsible for each row.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)

        Returns
        -------
        int64 array of shape (rows,)
        """
        check_is_fitted(self)
        return self._apply(X, lambda rows: self._joint(rows).argmax(axis=0))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int64]:
        """Fit, and tell the most responsible component of each row; as `fit` and `predict`."""
        return self.fit(X, y, sample_weight).predict(X)

    def _n_parameters(self) -> int:
        """Free parameters of the model."""
        return self._component_parameters() + len(self.weights_) - 1

    def bic(self, X: Any) -> float:
        """Bayes's information criterion on rows: −2 log-likelihood + parameters × log rows."""
        total, weight = log_likelihood(self, X, self._log_densities)
        return -2 * total + self._n_parameters() * float(np.log(weight))

    def aic(self, X: Any) -> float:
        """Akaike's information criterion on rows: −2 log-likelihood + 2 × parameters."""
        total, _ = log_likelihood(self, X, self._log_densities)
        return -2 * total + 2 * self._n_parameters()

    def sample(self, n_samples: int = 1) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : array of shape (n_samples, columns)
        component : int64 array of shape (n_samples,)
            From which each was drawn.
        """
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples={n_samples!r} must be a whole number of at least 1")
        rng = check_random_state(self.random_state)
        counts = rng.multinomial(n_samples, self.weights_)
        rows = [self._drawn(c, int(n), rng) for c, n in enumerate(counts)]
        return np.concatenate(rows), np.repeat(np.arange(len(counts)), counts)


def tried(run: MixtureAscent) -> Generator[Request, Any, Any]:
    """EM from one start: how far it came, or why it had to end, for others may fare better."""
    try:
        return (yield from ascended(run))
    except ValueError as reason:
        return reason


def last_objective(end: Ascent | ValueError) -> float:
    """What an end is judged by."""
    if isinstance(end, ValueError):
        return np.inf
    return end.objectives[-1] if end.objectives else np.finfo(np.float64).max
