"""The duality gap: never below the true distance of the objective, and tight at the minimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from suffice.engines.passes import reduce
from suffice.linear.solvers.choose import minimise
from suffice.linear.solvers.line_search import Minimum
from suffice.linear.solvers.logistic_duality_gap import duality_gap
from suffice.linear.solvers.losses import Logistic, Softmax
from suffice.linear.solvers.objective import Objective, ScaledColumns, Target
from suffice.sources import as_source

LOSSES = {"logistic": Logistic(), "softmax": Softmax(3), "reference": Softmax(3, 1)}
PENALTIES = {"absolute": (1.0, 0.0), "both": (0.5, 0.5), "strong": (30.0, 0.0), "weak": (0.01, 0.0)}


def problem(loss, l1, l2, seed, *, intercept=True, weighted=True, thin=False):
    rng = np.random.default_rng(seed)
    n, d = 60, 4
    n_classes = getattr(loss, "n_classes", 2)
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 5, d)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    weight = rng.uniform(0.2, 3, n) if weighted else np.ones(n)
    columns = ScaledColumns(np.zeros(d), X.std(axis=0), intercept)
    strengths = np.ones((loss.n_predictors, columns.n_parameters))
    strengths[:, :d] /= columns.scale
    strengths[:, d:] = 0.0
    objective = Objective(
        loss,
        columns,
        l2 * strengths**2,
        l1 * strengths,
        lambda block: Target(block.y.astype(float), block.weight),
    )
    X = sparse.csr_array(X) if thin else X
    source = as_source(X, y, weight)
    return objective, source, np.bincount(y, weight, minlength=n_classes)


def answer(search, source):
    asked = next(search)
    try:
        while True:
            asked = search.send(reduce(asked.source or source, asked.summarize))
    except StopIteration as end:
        return end.value


def minimum(objective, source):
    start = np.zeros(objective.shape)
    found = answer(
        minimise(
            objective, start, None, n_rows=60, method="proximal-newton", tol=1e-12, max_iter=200
        ),
        source,
    )
    assert found.converged
    return found


def at(objective, source, parameters):
    """A result that claims nothing but where it is."""
    found = reduce(source, lambda block: objective.summarize(block, parameters, 1))
    value, gradient = objective.value(found, parameters), objective.gradient(found, parameters)
    return Minimum(parameters, value, gradient, np.inf, False, 1, parameters.size)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
@pytest.mark.parametrize("intercept", [True, False])
def test_tight_at_the_minimum(loss, penalty, intercept):
    objective, source, weights = problem(loss, *penalty, 0, intercept=intercept)
    found = minimum(objective, source)
    gap = answer(duality_gap(objective, found, weights), source)
    assert -1e-12 * found.value <= gap <= 1e-9 * weights.sum() * np.log(len(weights))


@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(list(LOSSES.values())),
    penalty=st.sampled_from(list(PENALTIES.values())),
    intercept=st.booleans(),
    far=st.sampled_from([0.0, 1e-6, 1e-3, 0.1, 1.0, 10.0]),
)
def test_never_below_the_truth(seed, loss, penalty, intercept, far):
    """At any point: zero, near the minimum, far away."""
    objective, source, weights = problem(loss, *penalty, seed, intercept=intercept)
    best = minimum(objective, source)
    rng = np.random.default_rng(seed)
    for parameters in (
        np.zeros(objective.shape),
        best.parameters + far * rng.normal(size=objective.shape),
        best.parameters * (1 + far * rng.normal(size=objective.shape)),
    ):
        somewhere = at(objective, source, parameters)
        gap = answer(duality_gap(objective, somewhere, weights), source)
        assert np.isfinite(gap)
        assert gap >= somewhere.value - best.value - 1e-11 * abs(somewhere.value)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_shrinks_with_the_distance(loss):
    objective, source, weights = problem(loss, 1.0, 0.0, 5)
    best = minimum(objective, source)
    direction = np.random.default_rng(1).normal(size=objective.shape)
    gaps = [
        answer(
            duality_gap(objective, at(objective, source, best.parameters + t * direction), weights),
            source,
        )
        for t in (1.0, 1e-2, 1e-4, 1e-6)
    ]
    assert np.all(np.diff(gaps) < 0)
    assert gaps[-1] < 1e-3 * best.value


def test_sparse_rows_weights_of_zero_and_blocks():
    objective, source, weights = problem(Softmax(3), 1.0, 0.0, 2)
    thin = problem(Softmax(3), 1.0, 0.0, 2, thin=True)[1]
    found = at(objective, source, minimum(objective, source).parameters * 1.01)
    gap = answer(duality_gap(objective, found, weights), source)
    assert answer(duality_gap(objective, found, weights), thin) == pytest.approx(gap, rel=1e-9)
    X = np.vstack([source.X, np.full((3, 4), np.nan)])
    holes = as_source(X, np.append(source.y, [0, 1, 2]), np.append(source.weight, [0, 0, 0]))
    assert answer(duality_gap(objective, found, weights), holes) == pytest.approx(gap, rel=1e-12)


def test_probabilities_that_round_to_zero():
    objective, source, weights = problem(Logistic(), 1.0, 0.0, 3)
    far = replace(at(objective, source, np.full(objective.shape, 1e3)))
    with np.errstate(all="raise", under="ignore"):
        gap = answer(duality_gap(objective, far, weights), source)
    assert np.isfinite(gap)
    assert gap >= far.value - minimum(objective, source).value
