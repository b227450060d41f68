"""The methods: each against SciPy on small convex problems, and the loop's own behaviour."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from scipy import optimize
from sklearn.exceptions import ConvergenceWarning

from suffice import LogisticRegression
from suffice.engines.passes import reduce
from suffice.fitting.requests import StopAsked
from suffice.linear.solvers.choose import chosen, minimise
from suffice.linear.solvers.line_search import minimise_by, relative, relative_norm
from suffice.linear.solvers.losses import Logistic, Softmax, Squared
from suffice.linear.solvers.newton import Newton, NewtonSystem
from suffice.linear.solvers.objective import Objective, ScaledColumns, Target
from suffice.sources import as_source
from suffice.statistics.curvature import Derivatives

METHODS = ["newton", "quasi-newton", "newton-cg", "proximal-newton"]
LOSSES = {"logistic": Logistic(), "softmax": Softmax(3), "reference": Softmax(3, 2)}


def problem(loss, seed=0, *, l1=0.0, l2=0.5, n=120, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = rng.integers(0, getattr(loss, "n_classes", 2), n).astype(float)
    y = np.where(rng.random(n) < 0.4, (X[:, 0] > 0).astype(float), y)
    columns = ScaledColumns(np.zeros(d), np.ones(d), True)
    shape = (loss.n_predictors, d + 1)
    strengths = np.ones(shape)
    strengths[:, -1] = 0.0
    objective = Objective(
        loss, columns, l2 * strengths, l1 * strengths, lambda block: Target(block.y, block.weight)
    )
    return objective, as_source(X, y), np.zeros(shape)


def answer(search, source, stop_at=None):
    """Drive a search to its end; the result and the number of passes."""
    asked, passes = next(search), 0
    try:
        while True:
            passes += 1
            asked = search.send(reduce(asked.source or source, asked.summarize))
            if stop_at is not None and passes >= stop_at:
                asked = search.throw(StopAsked())
    except StopIteration as end:
        return end.value, passes


def by_scipy(objective, source, start):
    """Trust-region Newton on the naive sum, to the last digits."""
    X, y = np.hstack([source.X, np.ones((len(source.X), 1))]), source.y

    def parts(flat):
        theta = flat.reshape(start.shape)
        found = objective.loss(y, theta @ X.T, 2)
        value = found.value.sum() + (objective.l2 * theta**2).sum() / 2
        gradient = found.gradient @ X + objective.l2 * theta
        hessian = np.einsum("kjn,na,nb->kajb", found.hessian, X, X)
        hessian = hessian.reshape(flat.size, flat.size) + np.diag(objective.l2.ravel())
        return value, gradient.ravel(), hessian

    best = optimize.minimize(
        lambda t: parts(t)[0],
        start.ravel(),
        jac=lambda t: parts(t)[1],
        hess=lambda t: parts(t)[2],
        method="trust-exact",
        options={"gtol": 1e-9},
    )
    theta = best.x
    for _ in range(3):
        _, gradient, hessian = parts(theta)
        theta = theta - np.linalg.pinv(hessian, rcond=1e-12, hermitian=True) @ gradient
    return theta.reshape(start.shape), parts(theta)[0]


def assert_same(objective, found, truth):
    """Up to what all intercepts of a softmax may have in common."""
    if getattr(objective.loss, "symmetric", False):
        found, truth = found.copy(), truth.copy()
        for theta in (found, truth):
            theta[:, -1] -= theta[:, -1].mean()
    np.testing.assert_allclose(found, truth, rtol=0, atol=1e-9 * np.abs(truth).max())


# --- every method finds the minimum ------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("method", METHODS)
def test_a_method_finds_the_minimum(method, loss):
    objective, source, start = problem(loss)
    truth, value = by_scipy(objective, source, start)
    search = minimise(objective, start, None, n_rows=120, method=method, tol=1e-10, max_iter=100)
    found, passes = answer(search, source)
    assert found.converged
    assert found.distance <= 1e-10
    assert found.steps <= passes
    assert_same(objective, found.parameters, truth)
    assert found.value == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(found.gradient, 0, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_a_sample_is_only_a_start(method):
    """Even one that says something else: the result is that of all rows."""
    objective, source, start = problem(Softmax(3), n=400)
    truth, _ = by_scipy(objective, source, start)
    rng = np.random.default_rng(0)
    misleading = as_source(5 + rng.normal(size=(50, 4)), rng.integers(0, 3, 50).astype(float))
    search = minimise(
        objective, start, misleading, n_rows=400, method=method, tol=1e-10, max_iter=100
    )
    found, _ = answer(search, source)
    assert found.converged
    assert_same(objective, found.parameters, truth)


@pytest.mark.parametrize("l1", [0.3, 3.0, 30.0])
def test_absolute_values_against_a_smooth_problem(l1):
    """θ = u − v with u, v ≥ 0 makes the penalty linear, and bounds are SciPy's business."""
    objective, source, start = problem(Logistic(), l1=l1, l2=0.1)
    X, y, d = source.X, source.y, 4

    def value(t):
        theta = t[:d] - t[d : 2 * d]
        found = Logistic()(y, (X @ theta + t[-1])[None], 1)
        slope = found.gradient[0] @ X + 0.1 * theta
        F = found.value.sum() + l1 * t[: 2 * d].sum() + 0.05 * theta @ theta
        return F, np.concatenate([slope + l1, l1 - slope, [found.gradient.sum()]])

    bounds = [(0, None)] * (2 * d) + [(None, None)]
    options = {"ftol": 1e-16, "gtol": 1e-10, "maxiter": 10_000, "maxfun": 100_000}
    best = optimize.minimize(
        value, np.zeros(2 * d + 1), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    search = minimise(
        objective, start, None, n_rows=120, method="proximal-newton", tol=1e-11, max_iter=100
    )
    found, _ = answer(search, source)
    assert found.converged
    assert found.value <= best.fun * (1 + 1e-12)
    theta = best.x[:d] - best.x[d : 2 * d]
    np.testing.assert_allclose(found.parameters[0, :d], theta, atol=1e-5)
    violation = objective.violation(found.gradient, found.parameters)
    assert violation.max() <= 1e-8 * l1


# --- the loop -----------------------------------------------------------------------------------


class Exponential:
    """ℓ = e^η − y η: Newton's full steps from far to the right are short, from the left far."""

    n_predictors = 1

    def __call__(self, y, eta, order):
        with np.errstate(over="ignore", invalid="ignore"):
            power = np.exp(eta[0])
            return Derivatives(power - y * eta[0], (power - y)[None], power[None, None])


def one_number(loss, y, start):
    columns = ScaledColumns(np.zeros(1), np.ones(1), False)
    zero = np.zeros((1, 1))
    objective = Objective(loss, columns, zero, zero, lambda b: Target(b.y, b.weight))
    return objective, as_source(np.ones((len(y), 1)), np.asarray(y, float)), np.full((1, 1), start)


def test_steps_that_overshoot_are_halved():
    """From η = −20 the full Newton step goes to 1e9, where e^η overflows."""
    objective, source, start = one_number(Exponential(), [2.0, 4.0], -20.0)
    found, passes = answer(minimise_by(Newton(objective), start, tol=1e-12, max_iter=300), source)
    assert found.converged
    assert passes > 25
    assert found.parameters[0, 0] == pytest.approx(np.log(3.0), rel=1e-14)


def test_a_start_out_of_reach_is_an_error():
    objective, source, start = one_number(Exponential(), [2.0, 4.0], 1e4)
    with pytest.raises(ValueError, match="not finite where the fit starts: rescale"):
        answer(minimise_by(Newton(objective), start, tol=1e-9, max_iter=10), source)


def test_no_step_reduces_an_objective_whose_gradient_lies():
    class Lying(Exponential):
        def __call__(self, y, eta, order):
            value, gradient, hessian = super().__call__(y, eta, order)
            return Derivatives(value, -gradient, hessian)

    objective, source, start = one_number(Lying(), [2.0, 4.0], 0.0)
    found, _ = answer(minimise_by(Newton(objective), start, tol=1e-9, max_iter=300), source)
    assert not found.converged
    assert found.notes == ("no step reduces the objective any further",)
    assert found.parameters[0, 0] == 0.0


def test_passes_are_counted_and_limited():
    objective, source, start = problem(Logistic())
    for most in (1, 2, 3):
        search = minimise(
            objective, start, None, n_rows=120, method="newton", tol=1e-12, max_iter=most
        )
        found, passes = answer(search, source)
        assert (found.steps, passes, found.converged) == (most, most, False)


def test_each_step_goes_down():
    objective, source, start = problem(Softmax(3), l2=1e-3)
    values = []
    search = minimise_by(Newton(objective), start, tol=1e-10, max_iter=50)
    asked = next(search)
    try:
        while True:
            found = reduce(source, asked.summarize)
            values.append(asked.objective(found))
            asked = search.send(found)
    except StopIteration:
        pass
    assert (np.diff(values) <= 1e-12 * abs(values[0])).all()


@pytest.mark.parametrize("stop_at", [1, 2, 3])
def test_a_stop_leaves_the_last_point(stop_at):
    objective, source, start = problem(Logistic())
    search = minimise(objective, start, None, n_rows=120, method="newton", tol=1e-12, max_iter=50)
    found, _ = answer(search, source, stop_at)
    assert not found.converged
    assert found.notes == ("a callback stopped the fit",)
    assert np.isfinite(found.parameters).all()
    assert found.value == pytest.approx(by_scipy(objective, source, start)[1], rel=0.5)


class Stopper:
    """Asks to stop after so many passes."""

    def __init__(self, after):
        self.after, self.passes = after, 0

    def setup(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None): ...

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.passes += context.task_name == "pass"
        return context.task_name == "pass" and self.passes >= self.after

    def teardown(self, estimator, context): ...


@pytest.mark.parametrize("penalty", [{}, {"C": np.inf}, {"l1_ratio": 1.0}], ids=str)
def test_a_callback_may_stop_a_fit(penalty):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    stopper = Stopper(4)
    model = LogisticRegression(**penalty).set_callbacks(stopper)
    with pytest.warns(ConvergenceWarning, match="a callback stopped the fit"):
        model.fit(X, y)
    assert not model.certificate_.holds
    assert np.isfinite(model.predict_proba(X)).all()
    full = LogisticRegression(**penalty).fit(X, y)
    assert np.abs(model.coef_ - full.coef_).max() < 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.set_callbacks().fit(X, y).certificate_.holds


KINDS = {
    "squares": {},
    "gradients": {"solver": "lbfgs"},
    "products": {"solver": "newton-cg"},
    "no penalty": {"C": np.inf},
    "absolute values": {"l1_ratio": 0.5},
    "separated": {"C": np.inf},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("after", [1, 2, 3, 4, 6, 8, 12, 25])
def test_a_callback_may_stop_at_any_pass(kind, after):
    """The survey, the steps, and whatever comes after them: what is there is kept."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.integers(0, 3, 100)
    if kind == "separated":
        y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = LogisticRegression(**KINDS[kind]).set_callbacks(Stopper(after))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.coef_.shape == (3, 2)


@pytest.mark.parametrize("after", [1, 2, 3, 4, 6, 8, 12])
def test_a_callback_may_stop_a_fit_on_working_sets_or_a_sample(after):
    rng = np.random.default_rng(0)
    wide, tall = rng.normal(size=(40, 5000)), rng.normal(size=(20_000, 3))
    for X, options in ((wide, {"l1_ratio": 1.0}), (tall, {}), (tall, {"solver": "lbfgs"})):
        y = rng.integers(0, 2, len(X))
        model = LogisticRegression(**options).set_callbacks(Stopper(after))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert np.isfinite(model.fit(X, y).coef_).all()


# --- parts ------------------------------------------------------------------------------------


def test_distances():
    step, at = np.array([[1e-6, 1e-8]]), np.array([[1.0, 1e-3]])
    assert relative(step, at) == pytest.approx(1e-5)
    assert relative(step, np.array([[1.0, 1e-9]])) == pytest.approx(1e-4)
    assert relative(step, 0 * at) == pytest.approx(1e-6)
    assert relative_norm(np.array([[3.0, 4.0]]), np.array([[0.0, 50.0]])) == pytest.approx(0.1)


def test_directions_where_the_hessian_is_singular():
    A = np.random.default_rng(0).normal(size=(6, 3))
    A = np.hstack([A, A[:, :1] + A[:, 1:2], np.zeros((6, 1))])
    H, g = A.T @ A, A.T @ np.ones(6)
    solve = NewtonSystem(H)
    assert solve.rank == 3
    assert not solve.indefinite
    np.testing.assert_allclose(H @ solve(g), g, atol=1e-10)
    assert solve(g)[-1] == 0
    scaled = NewtonSystem(H * np.outer([1e8, 1, 1, 1e-8, 1], [1e8, 1, 1, 1e-8, 1]))
    assert scaled.rank == 3
    assert NewtonSystem(np.diag([1.0, -1.0])).indefinite
    assert NewtonSystem(np.array([[1.0, 2.0], [2.0, 1.0]])).indefinite


def test_which_method():
    for solver in ("newton", "quasi-newton", "newton-cg"):
        assert chosen(solver, (1, 10), 100, False).method == solver
        assert chosen(solver, (1, 10), 100, True).method == "proximal-newton"
    assert chosen("auto", (1, 51), 10**9, False).method == "newton"
    assert chosen("auto", (10, 101), 60_000, False).method == "quasi-newton"
    assert chosen("auto", (1, 50_001), 100_000, False).method == "newton-cg"
    assert chosen("auto", (199, 2), 10**6, False).method == "quasi-newton"
    assert "few parameters" in str(chosen("auto", (1, 3), 10, False))


def test_squares_take_one_step():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=(50, 2))
    columns, zero = ScaledColumns(np.zeros(3), np.ones(3), True), np.zeros((2, 4))
    objective = Objective(Squared(2), columns, zero, zero, lambda b: Target(b.y, b.weight))
    search = minimise_by(Newton(objective), zero, tol=1e-12, max_iter=10)
    found, passes = answer(search, as_source(X, y))
    assert found.converged
    assert passes == 2
    exact = np.linalg.lstsq(np.hstack([X, np.ones((50, 1))]), y)[0].T
    np.testing.assert_allclose(found.parameters, exact, atol=1e-12)


def passes_by_order(search, source):
    """What a search found, and what it asked each pass for."""
    asked, orders = next(search), []
    try:
        while True:
            orders.append(asked.summarize.keywords["order"])
            asked = search.send(reduce(source, asked.summarize))
    except StopIteration as end:
        return end.value, orders


def test_a_first_curvature_saves_hessians():
    """Gradients lead closer, one Hessian is taken where it pays, the rest is gradients."""
    objective, source, start = problem(Logistic(), l2=0.1)
    plain, orders = passes_by_order(
        minimise_by(Newton(objective), start, tol=1e-9, max_iter=50), source
    )
    assert set(orders) == {2}
    near = plain.parameters * 1.01
    first = objective.hessian(
        reduce(source, partial(objective.summarize, parameters=near, order=2))
    )
    for needs_hessian in (True, False):
        way = Newton(objective, first * 1.05, needs_hessian)
        found, orders = passes_by_order(minimise_by(way, near, tol=1e-9, max_iter=50), source)
        assert (orders[0], orders.count(2)) == (1, 1)
        assert found.converged
        np.testing.assert_allclose(found.parameters, plain.parameters, rtol=1e-9)
        if needs_hessian:
            np.testing.assert_allclose(found.hessian, plain.hessian, rtol=1e-4, atol=1e-6)


def test_a_bad_first_curvature_is_replaced():
    objective, source, start = problem(Logistic(), l2=0.1)
    plain, _ = answer(minimise_by(Newton(objective), start, tol=1e-10, max_iter=50), source)
    way = Newton(objective, np.diag(np.geomspace(1e-3, 1e3, objective.l2.size)), False)
    found, orders = passes_by_order(minimise_by(way, start, tol=1e-10, max_iter=50), source)
    assert orders[:1] == [1]
    assert 2 in orders
    assert found.converged
    np.testing.assert_allclose(found.parameters, plain.parameters, rtol=1e-9)
