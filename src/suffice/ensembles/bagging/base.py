"""What bagged classifiers and regressors share: how members are drawn, fitted and averaged.

All rows are gathered in memory.  Member m is fitted to the rows of its bootstrap, each with its
multiplicity as weight, or repeated where the model takes no weights; and what members say is
averaged in their order, so that no number of threads changes a bit.
"""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt
from sklearn.utils.validation import check_is_fitted

from suffice.engines.gather import Rows
from suffice.engines.passes import each
from suffice.ensembles.bagging.draws import (
    MODEL,
    MemberDraws,
    Present,
    digest_of,
    n_features,
    n_samples,
)
from suffice.ensembles.bagging.members import (
    ask_member,
    chosen,
    columns_of,
    fit_member,
    joint_certificate,
    last_objective,
    set_seeds,
    side_by_side,
    takes_weights,
    warn_of_none_added,
)
from suffice.ensembles.bagging.out_of_bag import out_of_bag, warn_of_seen
from suffice.ensembles.binary_fits import reads_sources, steps
from suffice.fitting.column_kinds import categorical_columns
from suffice.fitting.estimator import Estimator, callers_level
from suffice.fitting.requests import Found, Gather, Pass, Passes, needed
from suffice.fitting.text_columns import is_table, text_queries, text_source, unless_rounded
from suffice.fitting.trace import Trace
from suffice.sources import Block, Source
from suffice.trees.growing.sample import seed_of

Floats = NDArray[np.float64]

FEW_QUERIES = 1024
"""Rows up to which members answer one after the other: a thread would cost more."""


class Bagging(Estimator):
    """Base of bagged models.

    Attributes
    ----------
    estimators_ : list of estimators
        The members.
    estimators_features_ : list of int64 arrays
        The columns that each of them sees.
    """

    estimators_: list[Any]
    estimators_features_: list[NDArray[np.int64]]
    oob_score_: float

    _saved_private = ("_draws",)
    _shares_passes = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict", "get_params"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "bootstrap": ["boolean"],
        "bootstrap_features": ["boolean"],
        "oob_score": ["boolean"],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

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
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # --- what a model provides ------------------------------------------------------------

    @abstractmethod
    def _base(self) -> Any:
        """The model that is cloned for each member."""

    @abstractmethod
    def _check_base(self, model: Any) -> None:
        """Raise unless the model is of the right kind."""

    @abstractmethod
    def _learned_target(self, block: Block) -> NDArray[Any]:
        """The target as members take it; its classes become known."""

    @abstractmethod
    def _answer(self, member: int, rows: Any) -> Floats:
        """What a member says about rows, as it goes into the average."""

    @abstractmethod
    def _judged(self, mean: Floats, y: NDArray[Any], weight: Floats | None) -> float:
        """How good averages over the members that did not see a row are."""

    def _explain(self, error: ValueError, member: int, model: Any, rows: Rows) -> None:
        """Raise what says more than an error of a member's fit, if there is more to say."""

    @property
    @abstractmethod
    def _out_of_bag(self) -> str:
        """The attribute that holds these averages."""

    # --- what the model says about itself -------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        model = self._base()
        if hasattr(model, "__sklearn_tags__"):
            inner = get_tags(model).input_tags
            for name in ("sparse", "allow_nan", "categorical", "string", "positive_only"):
                setattr(tags.input_tags, name, getattr(inner, name))
        return tags

    @property
    def _takes_text(self) -> bool:  # type: ignore[override]
        model = self._base()
        first = steps(model)[0]
        # A ColumnTransformer looks at each column itself.
        return first._takes_text if isinstance(first, Estimator) else reads_sources(model)

    @property
    def estimators_samples_(self) -> list[NDArray[np.int64]]:
        """The rows that each member was given, as often as it was; drawn anew at each look."""
        check_is_fitted(self)
        draws: MemberDraws = self._draws
        return [draws.numbered(draws.rows(m)) for m in range(len(self.estimators_))]

    @property
    def estimator_(self) -> Any:
        """The model that is cloned for each member."""
        return self._base()

    def __len__(self) -> int:
        check_is_fitted(self)
        return len(self.estimators_)

    def __getitem__(self, place: int) -> Any:
        check_is_fitted(self)
        return self.estimators_[place]

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a fitted model."""
        learned = vars(self)
        if "estimators_" not in learned:
            return
        models, columns = learned["estimators_"], learned.get("estimators_features_")
        if not isinstance(learned.get("_draws"), MemberDraws):
            raise ValueError("how its members were drawn is missing")
        if not isinstance(models, list) or not isinstance(columns, list) or not models:
            raise ValueError("its members or their columns are missing")
        if len(models) != len(columns) or self._draws.n_columns != self.n_features_in_:
            raise ValueError("its members do not fit their columns")
        for model, some in zip(models, columns, strict=True):
            if not isinstance(some, np.ndarray) or some.dtype != np.int64 or some.ndim != 1:
                raise ValueError("the columns of its members are no numbers")
            if not len(some) or some.min() < 0 or some.max() >= self.n_features_in_:
                raise ValueError("its members see columns that are not there")
            unknown = None if isinstance(model, Estimator) else len(some)
            if getattr(model, "n_features_in_", unknown) != len(some):
                raise ValueError(f"a member is not of {len(some)} columns")
            self._check_base(model)

    # --- fitting --------------------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        own = self._takes_text and not isinstance(X, Source)
        reset = reset and not (self.warm_start and "estimators_" in vars(self))
        if own and is_table(X) and 0 not in getattr(X, "shape", ())[:1]:
            source = text_source(self, X, y, sample_weight, reset)
            self._take_target_names(source, y, reset)
        else:
            source = super()._training_source(X, y, sample_weight, reset)
        if own:  # numbers of a frame may be categories
            source.categorical = categorical_columns(source, X)  # type: ignore[attr-defined]
        return source

    def _passes(self, source: Source) -> Passes:
        present = None
        if source.has_weight:
            present = yield from needed(Pass("weights", Present.summarize, source=source))
            present = present if len(present.numbers) < present.n_rows else None
        rows: Rows = yield from needed(Gather("rows"))
        categorical = None
        if self._takes_text:
            categorical = categorical_columns(source)
            places = np.flatnonzero(categorical).tolist()
            unless_rounded(source, places, lambda found: found)(rows.X)
        before = self._members_before()
        rows = rows._replace(y=self._learned_target(Block(rows.X, rows.y, rows.weight, 0)))
        draws = self._draws_from(rows, present, before)
        if before == self.n_estimators:
            warn_of_none_added(before)
        new = range(before, self.n_estimators)
        models, columns, more = self._fitted(rows, draws, new, categorical)
        kept = vars(self) if before else {"estimators_": [], "estimators_features_": []}
        self.estimators_ = [*kept["estimators_"], *models]
        self.estimators_features_ = [*kept["estimators_features_"], *columns]
        self._draws = draws
        for name in (self._out_of_bag, "oob_score_"):
            self.__dict__.pop(name, None)
        found = self._judge_out_of_bag(rows, present) if self.oob_score else {}
        return Found(found, joint_certificate(self.estimators_), more=more)

    def _fitted(
        self, rows: Rows, draws: MemberDraws, members: range, categorical: Sequence[bool] | None
    ) -> tuple[list[Any], list[NDArray[np.int64]], Trace]:
        """Members, each fitted to its rows and columns; and what they took."""
        models = [self._unfitted(draws, m) for m in members]
        columns = [draws.columns(m) for m in members]
        names = getattr(self, "feature_names_in_", None)

        def fit(place: int, stopped: Callable[[], bool]) -> float:
            began, model, which = time.perf_counter(), models[place], columns[place]
            given = self._given(rows, draws, members[place])
            given = given._replace(X=columns_of(given.X, which))
            try:
                fit_member(model, given, chosen(names, which), chosen(categorical, which))
            except ValueError as error:
                self._explain(error, members[place], model, given)
                raise
            return time.perf_counter() - began

        seconds = each(range(len(models)), fit, self._n_jobs())
        named = tuple(f"member {m}" for m in members)
        return models, columns, Trace(named, tuple(map(last_objective, models)), tuple(seconds))

    def _members_before(self) -> int:
        """How many members a fit goes on from."""
        before = len(vars(self).get("estimators_", ())) if self.warm_start else 0
        if before > self.n_estimators:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {before} members that there "
                "are: warm_start=True adds members"
            )
        return before

    def _draws_from(self, rows: Rows, present: Present | None, before: int) -> MemberDraws:
        """How the members of this fit are drawn, as those before were."""
        n = rows.X.shape[0]
        seed = self._draws.seed if before else seed_of(self.random_state)
        weighs = takes_weights(self._base())
        # Rows that no member is given twice have their weights in it, if it takes any.
        weight = rows.weight if self.bootstrap or not weighs else None
        if weight is not None and not self.bootstrap:
            warnings.warn(
                f"{type(self._base()).__name__} takes no weights: without replacement, rows are "
                "drawn in proportion to them, which is not the same; use bootstrap=True",
                stacklevel=callers_level(),
            )
        draws = MemberDraws(
            seed,
            n,
            self.n_features_in_,
            n_samples(self.max_samples, n, weight, self.bootstrap),
            n_features(self.max_features, self.n_features_in_),
            bool(self.bootstrap),
            bool(self.bootstrap_features),
            weight,
            None if present is None else present.numbers,
            digest_of(rows.X, rows.y),
        )
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score=True needs bootstrap=True: rows must be left out by chance")
        if before and not draws.is_like(self._draws):
            raise ValueError(
                "warm_start=True adds members to the same ensemble: rows, weights and how they are "
                "drawn must be those of the fit before; use warm_start=False"
            )
        return draws

    def _unfitted(self, draws: MemberDraws, member: int) -> Any:
        model = clone(self._base())
        self._check_base(model)
        set_seeds(model, draws.generator(member, MODEL))
        return model

    def _given(self, rows: Rows, draws: MemberDraws, member: int) -> Rows:
        """The rows of a member, and their weights."""
        X, y, _ = rows
        times = draws.multiplicities(member)
        which = np.flatnonzero(times)
        assert y is not None
        weight = rows.weight
        if not takes_weights(self._base()):
            which, weight = np.repeat(which, times[which]), None
        elif draws.replace_rows:
            weight = times[which].astype(np.float64)
        elif weight is not None:
            weight = weight[which]
        every = len(which) == len(y) and bool((times == 1).all())
        return Rows(X, y, weight) if every else Rows(X[which], y[which], weight)

    def _judge_out_of_bag(self, rows: Rows, present: Present | None) -> dict[str, Any]:
        """The averages over the members that did not see a row, and how good they are."""
        n = rows.X.shape[0]
        mean = out_of_bag(self._answer, rows.X, self._draws, len(self.estimators_), self._n_jobs())
        there = ~np.isnan(mean.reshape(n, -1)).any(axis=1)
        score = float("nan")
        warn_of_seen(n - int(np.count_nonzero(there)), n)
        if there.any():
            assert rows.y is not None
            weight = None if rows.weight is None else rows.weight[there]
            score = self._judged(mean[there], rows.y[there], weight)
        if present is not None:
            every = np.full((present.n_rows, *mean.shape[1:]), np.nan)
            every[present.numbers] = mean
            mean = every
        return {self._out_of_bag: mean, "oob_score_": score}

    # --- rows to answer for ---------------------------------------------------------------

    def _apply(self, X: Any, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        if not isinstance(X, Source) and is_table(X) and self._takes_text:
            return function(text_queries(self, X))
        return super()._apply(X, function)

    def _ask(self, member: int, method: str, rows: Any) -> NDArray[Any]:
        """What a member says about rows that were checked."""
        columns = self.estimators_features_[member]
        names = chosen(getattr(self, "feature_names_in_", None), columns)
        return ask_member(self.estimators_[member], method, columns_of(rows, columns), names)

    def _mean(self, rows: Any) -> Floats:
        """The average of what members say."""
        found = self._answers(self._answer, rows)
        total = next(found).astype(np.float64)
        for said in found:
            total += said
        total /= len(self.estimators_)
        return total

    def _answers(self, ask: Callable[[int, Any], Floats], rows: Any) -> Iterator[Floats]:
        """What each member says, in their order."""
        n_jobs = 1 if rows.shape[0] <= FEW_QUERIES else self._n_jobs()
        members = range(len(self.estimators_))
        return side_by_side(lambda member: ask(member, rows), members, n_jobs)
