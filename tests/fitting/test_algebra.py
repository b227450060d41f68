"""update, forget, merge and refit give what a fit of the same rows gives, or change nothing."""

from __future__ import annotations

import copy
import math
import os
import pickle
import tempfile
import threading
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

import suffice
from suffice import LinearRegression, Ridge, catalogue
from suffice.linear.least_squares.base import LeastSquaresModel
from suffice.sources.memory.arrays import ArraySource
from tests.linear import exact

ENTRIES = list(catalogue.models())
NAMES = {entry.name for entry in ENTRIES}


def those(*abilities: str) -> Any:
    """Parametrise over the models with these abilities."""
    found = [e for e in ENTRIES if all(getattr(e, ability) for ability in abilities)]
    return pytest.mark.parametrize("entry", found, ids=lambda entry: entry.name)


# --- rows for every task -------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Rows to learn from, with a target if the task has one, and weights if wished."""

    X: Any
    y: Any = None
    w: Any = None

    def __getitem__(self, index: Any) -> Rows:
        return Rows(*(None if part is None else part[index] for part in self.parts))

    def __len__(self) -> int:
        return len(self.X)

    def __add__(self, other: Rows) -> Rows:
        pairs = zip(self.parts, other.parts, strict=True)
        return Rows(*(None if a is None else np.concatenate([a, b]) for a, b in pairs))

    @property
    def parts(self) -> tuple[Any, Any, Any]:
        return self.X, self.y, self.w

    def given(self, do: Any) -> Any:
        """A method called with these rows."""
        return do(self.X, self.y, **({} if self.w is None else {"sample_weight": self.w}))


def make_rows(entry: catalogue.Entry, n: int, seed: int = 0, weighted: bool = False) -> Rows:
    """Well-conditioned rows of four columns, right for the model's task."""
    rng = np.random.default_rng(seed)
    # Few values in the first columns, so that they are categories too; spreads that differ.
    X = np.rint(3 * rng.normal(size=(n, 4))).clip(-4, 4) * [1.0, 2.0, 4.0, 8.0] + [0, 1, 20, 0]
    if entry.task == "decomposition":
        X += rng.normal(size=(n, 4))
    y: Any = None
    if entry.task == "regression":
        y = X @ [1.0, -2.0, 0.5, 3.0] + rng.normal(size=n) + 3.0
    elif entry.task == "classification":
        label = rng.integers(0, 3, size=n)
        label[:3] = [0, 1, 2][: min(n, 3)]
        X, y = X + 3.0 * label[:, None], np.array(["Äpfel", "Birnen", "Čaj"])[label]
        if entry.load()().__sklearn_tags__().input_tags.positive_only:
            X = np.abs(X)
    return Rows(X, y, rng.uniform(0.1, 2, size=n) if weighted and entry.weights else None)


def learned(model: Any) -> dict[str, Any]:
    """The public numbers and labels that a fit found."""
    apart = ("certificate_", "trace_", "n_iter_")
    found = {
        k: v for k, v in vars(model).items() if k[-1] == "_" and k[0] != "_" and k not in apart
    }
    if type(model).__name__ != "SimpleImputer":
        found.pop("statistics_", None)
    return {name: value for name, value in found.items() if not callable(value)}


def flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [number for item in value for number in flat(item)]
    if isinstance(value, dict):
        return flat(list(value.values()))
    if hasattr(value, "certificate_"):  # a model that is part of another
        return flat(list(learned(value).values()))
    if value is None:
        return []
    return [np.asarray(value)]


def agree(one: Any, other: Any, tolerance: float) -> None:
    """Every learned number, relative to the largest of its array; labels and names exactly."""
    ours, theirs = learned(one), learned(other)
    assert ours.keys() == theirs.keys()
    assert ours
    if tolerance == np.inf:
        return
    for name, value in theirs.items():
        for a, b in zip(flat(ours[name]), flat(value), strict=True):
            if b.dtype.kind not in "fc":
                np.testing.assert_array_equal(a, b, err_msg=name)
                continue
            scale = np.abs(b[np.isfinite(b)]).max(initial=0.0)
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale, err_msg=name)


def promised(*models: Any) -> float:
    """How far two models may be apart by what both guarantee."""
    digits = [model.certificate_.measures.get("digits", np.inf) for model in models]
    return sum(10.0**-d for d in digits) + 1e-15 if min(digits) > 0 else np.inf


SIZES = {"few rows": 60, "many rows": 2000}
sizes = pytest.mark.parametrize("n", SIZES.values(), ids=SIZES)
small_blocks = pytest.mark.usefixtures("_small_blocks")


@pytest.fixture
def _small_blocks(monkeypatch):
    """Many rows are several blocks, the last of them short."""
    monkeypatch.setattr(suffice.sources.base, "LARGEST_BLOCK", 256)


weights = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


@contextmanager
def float64_always(on: bool = True) -> Any:
    """Few rows, too, are summarised in float64 first."""
    before = LeastSquaresModel._cheap_exact
    LeastSquaresModel._cheap_exact = (0, 0) if on else before
    try:
        yield
    finally:
        LeastSquaresModel._cheap_exact = before


# --- the same as a fit ---------------------------------------------------------------------


@those("merge")
@sizes
@weights
@small_blocks
def test_parts_make_the_whole(entry, n, weighted):
    rows = make_rows(entry, n, weighted=weighted)
    new = entry.load()
    whole = rows.given(new().fit)
    a, b = rows[: n // 3], rows[n // 3 :]
    fits = [part.given(new().fit) for part in (a, b)]
    fifths = [rows[i::5].given(new().fit) for i in range(5)]
    for model in (
        fits[0] + fits[1],
        fits[1] + fits[0],
        suffice.merge(*fifths),
        sum(fifths),
        b.given(a.given(new().fit).update),
        b.given(a.given(new().partial_fit).partial_fit),
        rows.given(new().update),
    ):
        agree(model, whole, 1e-12)
        assert model.certificate_.holds
        assert model.get_params() == whole.get_params()
        check_is_fitted(model)
    assert len(fits[0].trace_) == len(a.given(new().fit).trace_), "the parts are as they were"


@those("forget")
@sizes
@weights
@small_blocks
@pytest.mark.parametrize("exactly", [False, True], ids=["float64", "exact"])
def test_forgotten_rows_were_never_there(entry, n, weighted, exactly):
    new = entry.load()
    options = {"exact": True} if exactly and "exact" in new().get_params() else {}
    rows = make_rows(entry, n, weighted=weighted)
    stay, go = rows[: n // 2], rows[n // 2 :]
    expected = stay.given(new(**options).fit)
    model = rows.given(new(**options).fit)
    if options:
        assert model._kept().precision == "double-double"
    assert go.given(model.forget) is model
    agree(model, expected, min(promised(model, expected), 1e-11))
    agree(go.given(model.update), rows.given(new().fit), 1e-11)
    # In several steps, the last rows first.
    model = rows.given(new(**options).fit)
    for part in (go[len(go) // 2 :], go[: len(go) // 2]):
        part.given(model.forget)
    agree(model, expected, min(promised(model, expected), 1e-11))


@those("merge")
def test_the_catalogue_lists_what_refits(entry):
    assert tuple(entry.load()._refit_parameters) == tuple(entry.refit)


def other_values(model: Any, name: str) -> list[Any]:
    value = model.get_params()[name]
    choices = {
        "priors": [np.array([0.2, 0.3, 0.5])],
        "feature_range": [(-1, 2)],
        "n_components": [1, 2],
        "l1_ratio": [0.2, 1.0],
        "strategy": [],  # what the mean keeps allows no other; see tests/preprocessing
        "drop": ["first"],
        "max_categories": [3],
        "min_frequency": [2],
        "handle_unknown": ["ignore"],
        "fill_value": [7.0],
        "n_neighbors": [2],
        "leaf_size": [9],
        "folds": [3],
        "max_iter": [500],
        "min_uniqueness": [0.1],
        "n_init": [2],
    }
    if isinstance(value, bool):
        return [not value]
    if name in choices:
        return choices[name]
    return [10 * value + 1e-3] if isinstance(value, int | float) else []


@those("refit")
@sizes
@small_blocks
def test_a_refit_is_a_fit_with_the_other_parameter(entry, n):
    rows = make_rows(entry, n)
    for name in entry.refit:
        for value in other_values(entry.load()(), name):
            fitted = rows.given(entry.load()().fit)
            kept = fitted._kept()
            assert fitted.refit(**{name: value}) is fitted
            agree(fitted, rows.given(entry.load()(**{name: value}).fit), 1e-12)
            assert fitted.get_params()[name] is value
            assert fitted._kept() is kept
            assert fitted.trace_.step[-1] == "refit"


@those("merge")
def test_what_is_added_stays_apart(entry):
    rows = make_rows(entry, 60)
    a = rows.given(entry.load()().fit)
    before = copy.deepcopy(vars(a))
    for apart in (0 + a, sum([a]), suffice.merge(a), copy.deepcopy(a)):
        assert apart is not a
        agree(apart, a, 1e-15)
        rows[:20].given(apart.update)
        for array in (v for v in vars(apart).values() if isinstance(v, np.ndarray) and v.size):
            if array.flags.writeable and array.dtype.kind == "f":
                array[...] = -1.0
        agree(a, with_attributes(a, before), 0.0)
    with pytest.raises(TypeError, match=r"unsupported operand"):
        a + 1
    with pytest.raises(TypeError, match=r"unsupported operand"):
        1 + a
    with pytest.raises(TypeError, match=r"unsupported operand"):
        a + "model"
    with pytest.raises(TypeError, match=r"cannot merge (float|dict)"):
        suffice.merge(a, {"coef_": 1})
    with pytest.raises(ValueError, match="no models to merge"):
        suffice.merge()


def with_attributes(model: Any, attributes: dict[str, Any]) -> Any:
    other = copy.copy(model)
    vars(other).clear()
    vars(other).update(attributes)
    return other


@those("merge")
def test_models_travel(entry, tmp_path):
    """Pickled, saved, copied: what arrives learns on, to the same bits."""
    rows, more = make_rows(entry, 60), make_rows(entry, 20, seed=1)
    a = rows.given(entry.load()().fit)
    expected = more.given(copy.deepcopy(a).update)
    a.save(tmp_path / "model")
    for there in (pickle.loads(pickle.dumps(a)), suffice.load(tmp_path / "model")):
        agree(more.given(there.update), expected, 0.0)
        there.save(tmp_path / "again")
        agree(suffice.load(tmp_path / "again"), expected, 0.0)
        assert len(suffice.load(tmp_path / "again").trace_) == len(expected.trace_)
    assert clone(expected).get_params() == a.get_params()
    assert not hasattr(clone(expected), "certificate_")


# --- whatever is done, in whatever order ----------------------------------------------------


class Interleaved(RuleBasedStateMachine):
    """A model that is changed by every verb, against a fit of the rows it should know."""

    entry: catalogue.Entry
    compared = 0

    def rows(self, seed: int) -> Rows:
        fewest = 12 if "Discriminant" in self.entry.name else 3  # classes must have a spread
        return make_rows(self.entry, fewest + seed % 11, seed)

    @initialize(seed=st.integers(0, 99))
    def fit(self, seed):
        self.known = [self.rows(seed)]
        self.options: dict[str, Any] = {}
        self.model = self.known[0].given(self.entry.load()().fit)

    @rule(seed=st.integers(0, 99))
    def update(self, seed):
        self.known.append(self.rows(seed))
        self.known[-1].given(self.model.update)

    @rule(seeds=st.lists(st.integers(0, 99), min_size=1, max_size=3), swap=st.booleans())
    def merge(self, seeds, swap):
        new = [self.rows(seed) for seed in seeds]
        others = [part.given(self.entry.load()(**self.options).fit) for part in new]
        models = [*others, self.model] if swap else [self.model, *others]
        self.model = suffice.merge(*models)
        self.known += new

    @precondition(lambda self: self.entry.forget and len(self.known) > 1)
    @rule(data=st.data())
    def forget(self, data):
        index = data.draw(st.integers(0, len(self.known) - 1))
        before = dict(vars(self.model))
        try:
            self.known[index].given(self.model.forget)
        except ValueError as refusal:
            if "digits could be guaranteed" not in str(refusal):
                raise
            assert all(vars(self.model)[name] is value for name, value in before.items())
        else:
            del self.known[index]

    @precondition(lambda self: self.entry.refit)
    @rule(data=st.data())
    def refit(self, data):
        name = data.draw(st.sampled_from(self.entry.refit))
        values = other_values(self.entry.load()(), name)
        if not values or name == "priors":
            return
        value = data.draw(st.sampled_from([*values, self.entry.load()().get_params()[name]]))
        self.options[name] = value
        self.model.refit(**{name: value})

    @rule()
    def travel(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            self.model.save(path)
            self.model = suffice.load(path)
        self.model = pickle.loads(pickle.dumps(self.model))

    @invariant()
    def is_what_a_fit_gives(self):
        whole = self.known[0]
        for part in self.known[1:]:
            whole = whole + part
        fitted = whole.given(self.entry.load()(**self.options).fit)
        if fitted.certificate_.measures.get("digits", 16) > 8:
            tolerance = promised(self.model, fitted)
            agree(self.model, fitted, tolerance)
            type(self).compared += tolerance < 1e-7


MERGING = [entry for entry in ENTRIES if entry.merge]
FAMILIES = {(entry.module.rpartition(".")[0], entry.task): entry for entry in reversed(MERGING)}
"""One model, the first, of each folder and task."""


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(
            entry,
            id=entry.name,
            marks=() if entry in FAMILIES.values() else pytest.mark.long,
        )
        for entry in MERGING
    ],
)
def test_interleaved_verbs(entry):
    machine = type(f"Interleaved{entry.name}", (Interleaved,), {"entry": entry})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        examples = settings.default.max_examples // 5
        limits = settings(max_examples=examples, stateful_step_count=8)
        run_state_machine_as_test(machine, settings=limits)
    assert machine.compared >= examples  # to digits, not only by name


# --- least squares against exact arithmetic ------------------------------------------------


@st.composite
def hard_rows(draw: st.DrawFn) -> tuple[Rows, int]:
    """Ill-conditioned rows, far offsets, weights from 1e-3 to 1e3, and where to cut them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d, stay, go = (draw(st.integers(1, 3)), draw(st.integers(6, 20)), draw(st.integers(1, 10)))
    n = stay + go
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, size=d)
    kind = draw(st.sampled_from(["plain", "offset", "collinear", "large go", "far go", "whole"]))
    if kind == "offset":
        X += 10.0 ** rng.uniform(0, 8, size=d)
    elif kind == "collinear" and d > 1:
        X[:, 1] = X[:, 0] * (1 + 10.0 ** rng.uniform(-9, -1) * rng.normal(size=n))
    elif kind == "large go":
        X[stay:] *= 10.0 ** rng.uniform(0, 7)
    elif kind == "far go":
        X[stay:] += 10.0 ** rng.uniform(0, 8)
    elif kind == "whole":
        X = np.rint(X)
    y = X @ rng.normal(size=d) + rng.normal(size=n) * 10.0 ** rng.uniform(-6, 3)
    y += 10.0 ** rng.uniform(-3, 8)
    w = 10.0 ** rng.uniform(-3, 3, size=n) if draw(st.booleans()) else None
    return Rows(X, y, w), stay


MODELS = [
    LinearRegression(),
    LinearRegression(fit_intercept=False),
    Ridge(alpha=0.37),
    Ridge(alpha=1e-3, fit_intercept=False),
]


def true_solution(model: Any, rows: Rows) -> list[Any]:
    penalty = getattr(model, "alpha", 0.0)
    try:
        fit = exact.least_squares(
            rows.X, rows.y, rows.w, intercept=model.fit_intercept, penalty=penalty
        )
    except StopIteration:  # dependent columns
        assume(False)
    return fit.coef


def numbers(model: Any) -> list[float]:
    return [*([model.intercept_] if model.fit_intercept else []), *model.coef_]


def keeps_its_promise(model: Any, truth: Any, rows: Rows) -> None:
    proof = model.certificate_
    assert exact.digits(numbers(model), truth) >= proof.coefficient_digits - 1e-9
    together = exact.standardised_digits(model, truth, rows.X, rows.y, rows.w)
    assert together >= proof.digits - 1e-9


@pytest.mark.parametrize("unfitted", MODELS, ids=str)
@given(data=hard_rows(), in_float64=st.booleans(), cut=st.floats(0.2, 0.8))
@settings(max_examples=settings.default.max_examples // 2)
def test_certificates_keep_their_promise(unfitted, data, in_float64, cut):
    """Against exact arithmetic on the rows; also where digits cancel, or too few are left."""
    rows, stay = data
    truth, rest = true_solution(unfitted, rows), true_solution(unfitted, rows[:stay])
    cut = max(1, int(cut * stay))
    with warnings.catch_warnings(), float64_always(in_float64):
        warnings.simplefilter("ignore", ConvergenceWarning)
        first = rows[:cut].given(clone(unfitted).fit)
        other = rows[cut:].given(clone(unfitted).fit)
        merged = first + other
        updated = rows[cut:].given(first.update)
        for model in (merged, updated):
            keeps_its_promise(model, truth, rows)
        for model in (merged, updated, rows.given(clone(unfitted).fit)):
            rows[stay:].given(lambda *a, m=model, **k: m.forget(*a, digits=0, **k))
            keeps_its_promise(model, rest, rows[:stay])


@pytest.mark.parametrize("n", [40, pytest.param(200_000, marks=pytest.mark.compiled)])
@pytest.mark.parametrize("unfitted", [LinearRegression(), Ridge()], ids=str)
def test_rows_a_million_times_larger(unfitted, n, unchanged):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 10, 3)) + 5
    X[n:] *= 1e6
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=n + 10)
    rows = Rows(X, y)
    expected = rows[:n].given(clone(unfitted).fit)
    with float64_always():
        model = rows.given(clone(unfitted).fit)
        assert model.statistics_.precision == "float64"
        refused = pytest.raises(ValueError, match=r"only .* digits.*exact=True")
        with unchanged(model), refused:
            rows[n:].given(model.forget)
        # With fewer asked for, it is said how many there are, and they are right.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.forget(X[n:], y[n:], digits=0)
        agree(model, expected, promised(model, expected))
    model = rows.given(clone(unfitted).set_params(exact=True).fit)
    rows[n:].given(model.forget)
    assert model.certificate_.digits > 12
    agree(model, expected, 1e-10)


def test_many_small_updates_cost_few_digits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3)) + 1
    y = X @ [1.0, 2.0, 3.0] + 4 + rng.normal(size=20_000)
    with float64_always():
        model = Ridge().fit(X[:15_000], y[:15_000])
        assert model.statistics_.precision == "float64"
        for i in range(15_000, 15_400):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert model.certificate_.digits > 11
    agree(model, Ridge().fit(X[:15_400], y[:15_400]), 1e-12)


def test_precision_follows_the_need():
    """A small start does not make every later update slow, nor an easy one the later inexact."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 8))
    y = X.sum(axis=1) + rng.normal(size=40_000) + 1
    model = Ridge().fit(X[:50], y[:50])
    assert model.statistics_.precision == "double-double"
    assert model.update(X[50:], y[50:]).statistics_.precision == "float64"
    agree(model, Ridge().fit(X, y), 1e-12)
    X[:, 1] = X[:, 0] * (1 + 1e-7 * X[:, 1])
    model = LinearRegression().fit(X[:20_000], y[:20_000]).update(X[20_000:], y[20_000:])
    assert model.statistics_.precision == "double-double"
    assert model.certificate_.digits > 12
    exact_model = Ridge(exact=True).fit(X[:50], y[:50]).update(X[50:], y[50:])
    assert exact_model.statistics_.precision == "double-double"


# --- refusals leave everything as it was ---------------------------------------------------


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return Rows(X, X @ [1.0, -2.0, 0.5] + rng.normal(size=60) + 1)


@pytest.fixture(params=[LinearRegression(), Ridge()], ids=["LinearRegression", "Ridge"])
def fitted(request, rows):
    return rows.given(clone(request.param).fit)


def test_rows_that_were_never_there(fitted, rows, unchanged):
    more = Rows(np.vstack([rows.X, rows.X[:1]]), np.append(rows.y, rows.y[0]))
    cases = [
        (more.X, more.y, None, "cannot take 61 rows away from 60"),
        (rows.X, rows.y, None, "no row would stay"),
        (9 * rows.X[:5], rows.y[:5], None, "not part of the statistic"),
        (rows.X[:5], 99 * rows.y[:5], None, "not part of the statistic"),
        (rows.X[:5], rows.y[:5], np.full(5, 50.0), "away from rows of weight 60"),
        (rows.X[:5], rows.y[:5], np.full(5, 11.5), "not part of the statistic"),
        (
            rows.X[:5],
            np.c_[rows.y, rows.y][:5],
            None,
            r"\(rows, 2\), but in the fit it had \(rows,\)",
        ),
        (rows.X[:5, :2], rows.y[:5], None, "2 features"),
        (rows.X[:5], ["a"] * 5, None, "numbers"),
        (rows.X[:5], rows.y[:5], np.zeros(5), "non-zero"),
        (rows.X[:0], rows.y[:0], None, "0 sample"),
    ]
    for X, y, weight, message in cases:
        with unchanged(fitted), pytest.raises(ValueError, match=message):
            fitted.forget(X, y, weight)


@those("forget")
def test_no_model_forgets_what_it_cannot_have_known(entry, unchanged):
    rows = make_rows(entry, 60)
    model = rows.given(entry.load()().fit)
    strange = [rows + rows, rows]
    if entry.name != "BernoulliNB":  # which sees signs alone
        strange.append(Rows(50 * rows.X[:5], rows[:5].y))
    if entry.weights:
        strange.append(Rows(rows.X[:5], rows[:5].y, np.full(5, 50.0)))
    for part in strange:
        with unchanged(model), pytest.raises(ValueError, match=r"take|stay"):
            part.given(model.forget)


def test_rows_no_one_direction_of_which_was_there(unchanged):
    """Each column by itself has squares enough; together they do not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    model = LinearRegression().fit(X, X @ [1.0, 1.0] + rng.normal(size=200))
    v = 1.5 * rng.normal(size=70)
    with unchanged(model), pytest.raises(ValueError, match="not part of the statistic"):
        model.forget(np.c_[v, v], np.zeros(70))


def test_too_few_digits(fitted, rows, unchanged):
    for digits in (16.5, np.inf, np.nan):
        with unchanged(fitted), pytest.raises(ValueError, match=r"only 15\.\d digits"):
            fitted.forget(rows.X[:5], rows.y[:5], digits=digits)


@pytest.mark.parametrize("exactly", [False, True])
@pytest.mark.parametrize("kind", [LinearRegression, Ridge])
def test_the_last_rows_of_a_category(kind, exactly, unchanged):
    """Rounding does not tell whether a column is zero in the rows that stay: no claim is made.

    With a penalty its coefficient is as good as zero, and six digits of the others are left.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    X[:, 2] = np.arange(50) < 5
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=50)
    model = kind(exact=exactly).fit(X, y)
    if kind is Ridge:
        model.forget(X[:5], y[:5])
        np.testing.assert_allclose(model.coef_, Ridge().fit(X[5:], y[5:]).coef_, atol=1e-12)
        return
    with unchanged(model), pytest.raises(ValueError, match=r"only \d\.\d digits"):
        model.forget(X[:5], y[:5])


def test_rows_lost_in_the_noise_of_larger_ones():
    """A column that cannot be told from a constant one is not called constant."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    X[:20, 0] *= 1e-12
    X[20:, 0] *= 1e6
    y = X @ [1.0, 1.0] + rng.normal(size=30)
    with float64_always():
        model = LinearRegression().fit(X, y)
        with pytest.warns(ConvergenceWarning, match="not proved"):
            model.forget(X[20:], y[20:], digits=0)
    assert not model.certificate_.holds
    assert model.certificate_.digits == 0


class Breaking(ArraySource):
    """Raises when its last rows are read."""

    def __init__(self, error):
        X = np.random.default_rng(0).normal(size=(200_000, 3))
        super().__init__(X, X @ [1.0, 2.0, 3.0])
        self.error = error

    def rows(self, start, stop):
        if stop >= 190_000:
            raise self.error
        return super().rows(start, stop)


@pytest.mark.parametrize("verb", ["update", "partial_fit", "forget"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), OSError("unplugged")])
def test_interrupted(fitted, unchanged, verb, error):
    with unchanged(fitted), pytest.raises(type(error)) as caught:
        getattr(fitted, verb)(Breaking(error))
    assert caught.value is error


@pytest.mark.parametrize("verb", ["update", "partial_fit", "forget"])
def test_bad_rows(fitted, rows, unchanged, verb):
    do = getattr(fitted, verb)
    holed = np.random.default_rng(0).normal(size=(200_000, 3))
    y = holed.sum(axis=1)
    holed[199_999, 1] = np.nan
    with unchanged(fitted), pytest.raises(ValueError, match=r"NaN: column 1, row 199999"):
        do(holed, y)
    source = ArraySource(holed, y)
    with unchanged(fitted), pytest.raises(ValueError, match=r"NaN: column 1, row 199999"):
        do(source)
    for X, y, message in [
        (rows.X[:, :2], rows.y, "2 features"),
        (rows.X, rows.y[:-1], "inconsistent"),
        (rows.X, None, "requires y"),
        (rows.X, np.full(60, np.inf), "infinity"),
        (rows.X, ["a"] * 60, "numbers"),
        (rows.X, np.c_[rows.y, rows.y], r"\(rows, 2\)"),
        (source, rows.y, "brings its own target"),
        (ArraySource(rows.X), None, "needs a target"),
        (1e200 * rows.X, rows.y, "too large"),
    ]:
        with unchanged(fitted), pytest.raises(ValueError, match=message):
            do(X, y)
    with unchanged(fitted), pytest.raises(TypeError, match=r"scan\(path\)"):
        do("rows.parquet")


def test_named_columns(rows, unchanged):
    frame = pd.DataFrame(rows.X, columns=["a", "b", "c"])
    named = Ridge().fit(frame, rows.y)
    for wrong in (frame[["b", "a", "c"]], frame.rename(columns={"a": "z"})):
        with unchanged(named), pytest.raises(ValueError, match="feature names should match"):
            named.update(wrong, rows.y)
    other = Ridge().fit(frame.rename(columns={"c": "z"}), rows.y)
    with pytest.raises(ValueError, match=r"different columns: \[a, b, c\] and \[a, b, z\]"):
        named + other
    # Names are learned from whichever model has them.
    for merged in (named + Ridge().fit(rows.X, rows.y), Ridge().fit(rows.X, rows.y) + named):
        assert merged.feature_names_in_.tolist() == ["a", "b", "c"]
    agree(named.update(frame, rows.y).forget(frame, rows.y), Ridge().fit(frame, rows.y), 1e-12)


def test_models_that_do_not_merge(rows):
    ridge = rows.given(Ridge().fit)
    for other, message in [
        (rows.given(LinearRegression().fit), "Ridge and LinearRegression: only models of one kind"),
        (rows.given(Ridge(alpha=2).fit), r"alpha=1.0 and alpha=2: refit one"),
        (rows.given(Ridge(alpha=[1.0]).fit), r"alpha=1.0 and alpha=\[1.0\]"),
        (rows.given(Ridge(fit_intercept=False).fit), "fit_intercept=True and fit_intercept=False"),
        (rows.given(Ridge(exact=True).fit), "exact=False and exact=True: fit both with one"),
        (Ridge().fit(rows.X[:, :2], rows.y), "models of 3 and 2 columns"),
        (
            Ridge().fit(rows.X, np.c_[rows.y, rows.y]),
            r"\(rows, 2\), but in the fit it had \(rows,\)",
        ),
    ]:
        for call in (lambda: ridge + other, lambda: suffice.merge(ridge, ridge, other)):
            with pytest.raises(ValueError, match=message):
                call()
    with pytest.raises(NotFittedError):
        ridge + Ridge()
    # What changes no result may differ.
    models = [
        rows.given(Ridge(random_state=np.random.RandomState(seed), copy_X=seed == 0).fit)
        for seed in (0, 1)
    ]
    agree(models[0] + models[1], suffice.merge(ridge, ridge), 1e-15)


def test_parameters_that_need_the_rows(fitted, unchanged):
    for params, message in [
        ({"solver": "svd", "tol": 1.0}, "has no parameter solver|other solver, tol"),
        ({"exact": True}, "cannot be refitted with other exact"),
        ({"alhpa": 1.0}, "has no parameter alhpa"),
        ({"fit_intercept": "yes"}, "fit_intercept"),
    ]:
        with unchanged(fitted), pytest.raises(ValueError, match=message):
            fitted.refit(**params)
    # Nor by another way.
    with float64_always():
        model = Ridge().fit(np.eye(4), np.arange(4.0)).set_params(exact=True)
        assert model.statistics_.precision == "float64"
        for call in (
            lambda: model.refit(alpha=2.0),
            lambda: model.update(np.eye(4), np.arange(4.0)),
            lambda: model + model,
        ):
            with unchanged(model), pytest.raises(ValueError, match="exact=True was set after"):
                call()
    fitted.set_params(fit_intercept="yes")
    for call in (fitted.refit, lambda: fitted.update(np.eye(3), np.ones(3))):
        with unchanged(fitted), pytest.raises(ValueError, match="fit_intercept"):
            call()


def test_verbs_need_a_fit(rows):
    for unfitted in (LinearRegression(), Ridge()):
        for call in (
            lambda: rows.given(unfitted.forget),
            lambda: unfitted.refit(fit_intercept=False),
            lambda: 0 + unfitted,
            lambda: suffice.merge(unfitted),
        ):
            with pytest.raises(NotFittedError, match=type(unfitted).__name__):
                call()


@pytest.mark.compiled
def test_wide_models_keep_nothing_to_work_with(unchanged):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 20_000)).astype(np.float32)
    model = Ridge().fit(X, X[:, 0])
    for call in (
        lambda: model.update(X, X[:, 0]),
        lambda: model.forget(X, X[:, 0]),
        lambda: model.refit(alpha=2.0),
        lambda: model + model,
    ):
        with unchanged(model), pytest.raises(ValueError, match=r"kept no statistic.*20000 columns"):
            call()


# --- warnings ------------------------------------------------------------------------------


def nearly_dependent() -> Rows:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    X[:, 1] = X[:, 0] * (1 + 1e-8 * X[:, 1])
    return Rows(X, X[:, 0] + rng.normal(size=3000))


def test_a_refit_that_needs_more_digits_says_so():
    rows = nearly_dependent()
    with float64_always():
        model = rows.given(Ridge(alpha=10.0).fit)
        assert model.statistics_.precision == "float64"
        assert model.certificate_.holds
        with pytest.warns(ConvergenceWarning, match=r"kept in float64.*exact=True") as caught:
            model.refit(alpha=0.0)
    assert caught[0].filename == __file__
    assert not model.certificate_.holds
    truth = exact.least_squares(rows.X, rows.y).coef
    assert exact.digits(numbers(model), truth) >= model.certificate_.digits
    kept = rows.given(Ridge(alpha=10.0, exact=True).fit).refit(alpha=0.0)
    assert kept.certificate_.holds
    assert exact.digits(numbers(kept), truth) >= kept.certificate_.digits > 10


def test_warnings_point_at_the_callers_line():
    rows = nearly_dependent()
    with float64_always():
        model = rows.given(Ridge(alpha=10.0).fit).set_params(alpha=0.0)
        calls = [
            lambda: rows[:9].given(copy.deepcopy(model).update),
            lambda: rows[:9].given(copy.deepcopy(model).partial_fit),
            lambda: copy.deepcopy(model).forget(rows.X[:9], rows.y[:9], digits=0),
            lambda: copy.deepcopy(model).refit(),
            lambda: model + model,
            lambda: suffice.merge(model, model),
            lambda: sum([model, model]),
        ]
        for call in calls:
            with pytest.warns(ConvergenceWarning, match="Ridge: not proved") as caught:
                call()
            assert {warning.filename for warning in caught} == {__file__}


# --- forms of rows -------------------------------------------------------------------------


def test_every_form_of_rows(fitted, rows, write_parquet):
    expected = rows.given(copy.deepcopy(fitted).update)
    columns = {"a": rows.X[:, 0], "b": rows.X[:, 1], "c": rows.X[:, 2]}
    frame = pd.DataFrame(columns)
    files = suffice.scan(write_parquet({**columns, "t": rows.y}), target="t")
    for X in (rows.X.tolist(), frame, np.asfortranarray(rows.X), sparse.csr_array(rows.X), files):
        y = None if X is files else rows.y
        model = copy.deepcopy(fitted)
        for verb, result in (("update", expected), ("forget", fitted)):
            getattr(model, verb)(X, y)
            assert vars(model).pop("target_names_in_", None) == (("t",) if X is files else None)
            agree(model, result, 1e-13)


def test_weights_are_repetitions(fitted, rows):
    counts = np.random.default_rng(1).integers(0, 4, size=60)
    repeated = np.repeat(np.arange(60), counts)
    X, y = rows.X.copy(), rows.y.copy()
    X[counts == 0], y[counts == 0] = np.nan, np.nan  # rows of weight 0 do not exist
    weighted = copy.deepcopy(fitted).update(X, y, counts)
    agree(weighted, copy.deepcopy(fitted).update(rows.X[repeated], rows.y[repeated]), 1e-13)
    agree(weighted.forget(X, y, counts), fitted, 1e-13)


def test_integers_and_several_targets():
    rng = np.random.default_rng(0)
    X = rng.integers(-5, 5, size=(90, 3)).astype(np.int32)
    Y = np.c_[X @ [1, 2, 3], X @ [0, 1, -1]] + rng.integers(-2, 3, size=(90, 2))
    for kind in (LinearRegression, Ridge):
        whole, parts = kind().fit(X, Y), [kind().fit(X[i::2], Y[i::2]) for i in range(2)]
        agree(sum(parts), whole, 1e-14)
        agree(whole.forget(X[::2], Y[::2]), parts[1], 1e-14)
    each = Ridge(alpha=[1.0, 10.0]).fit(X, Y)
    agree(each.refit(alpha=[2.0, 3.0]), Ridge(alpha=[2.0, 3.0]).fit(X, Y), 1e-15)


# --- classes -------------------------------------------------------------------------------

classifiers = pytest.mark.parametrize(
    "entry",
    [e for e in ENTRIES if e.task == "classification" and e.merge],
    ids=lambda entry: entry.name,
)


@classifiers
def test_classes_unite_and_leave(entry):
    rows = make_rows(entry, 300)
    new = entry.load()
    whole = rows.given(new().fit)
    by_class = [rows[rows.y == label] for label in np.unique(rows.y)]
    merged = sum(part.given(new().fit) for part in by_class)
    agree(merged, whole, 1e-12)
    assert merged.classes_.tolist() == ["Birnen", "Äpfel", "Čaj"]
    late = by_class[0].given(new().fit)
    for part in by_class[1:]:
        part.given(late.update)
    agree(late, whole, 1e-12)
    if entry.forget:
        by_class[1].given(whole.forget)
        agree(whole, (by_class[0] + by_class[2]).given(new().fit), 1e-11)
        with pytest.raises(ValueError, match="Äpfel"):
            by_class[1][:1].given(whole.forget)


@classifiers
def test_labels_of_another_kind(entry, unchanged):
    rows = make_rows(entry, 60)
    model = rows.given(entry.load()().fit)
    numbers = np.arange(60) % 2
    with unchanged(model), pytest.raises((TypeError, ValueError), match=r"(?i)label|kind|class"):
        model.update(rows.X, numbers)
    with pytest.raises((TypeError, ValueError), match=r"(?i)label|kind|class"):
        model + entry.load()().fit(rows.X, numbers)


# --- at home in scikit-learn ---------------------------------------------------------------


@those("merge")
def test_scikit_learns_view(entry):
    rows = make_rows(entry, 60, weighted=True)
    model = entry.load()()
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    rows[:30].given(model.partial_fit)
    check_is_fitted(model)
    rows[30:].given(model.partial_fit)
    agree(model, rows.given(entry.load()().fit), 1e-12)
    assert entry.name in model._repr_html_()
    assert entry.name in repr(model)
    if entry.weights:
        with sklearn.config_context(enable_metadata_routing=True):
            asked = entry.load()().set_partial_fit_request(sample_weight=True)
            requests = asked.get_metadata_routing().partial_fit.requests
            assert requests["sample_weight"] is True
            fit = entry.load()().set_fit_request(sample_weight=True)
            piped = make_pipeline(fit).fit(rows.X, rows.y, sample_weight=rows.w)
            agree(piped[-1], rows.given(entry.load()().fit), 1e-15)
            rows.given(piped[-1].update)


def test_separate_models_on_separate_threads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 5))
    y = X.sum(axis=1) + rng.normal(size=40_000) + 1
    parts = [slice(i * 5000, (i + 1) * 5000) for i in range(8)]

    def work(model: Any) -> Any:
        for part in parts:
            model.update(X[part], y[part])
        return model.forget(X[parts[3]], y[parts[3]]).refit(alpha=3.0)

    expected = work(Ridge())
    models = [Ridge() for _ in range(6)]
    threads = [threading.Thread(target=work, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in models:
        agree(model, expected, 0.0)
        assert math.isclose(model.certificate_.digits, expected.certificate_.digits)
