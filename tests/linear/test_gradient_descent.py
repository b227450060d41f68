"""Gradient descent: plain loops and closed forms first, then other solvers, then its inputs."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

import suffice
from suffice import LinearRegression, LogisticRegression, Ridge
from suffice.linear.solvers.gradient_descent import DescentOptions
from suffice.linear.solvers.losses import Softmax, Squared
from suffice.linear.solvers.objective import Objective, ScaledColumns, Target
from suffice.linear.solvers.sgd import Iterate, steps
from suffice.sources import Block
from tests.linear.stop_after import StopAfter

unproved = pytest.mark.filterwarnings("ignore:.*not proved:sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    return (X - X.mean(0)) / X.std(0), y


def in_units(coef, X):
    """Coefficients of columns of deviation 1."""
    return np.asarray(coef) * X.std(0)


# --- the closed form --------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"momentum": 0.95}], ids=str)
def test_gd_reaches_the_closed_form(diabetes, options):
    X, y = diabetes
    found = LinearRegression(solver="gd", tol=1e-10, **options).fit(X, y)
    A = np.hstack([X, np.ones((len(X), 1))])
    expected = np.linalg.solve(A.T @ A, A.T @ y)
    np.testing.assert_allclose(found.coef_, expected[:-1], rtol=1e-6)
    np.testing.assert_allclose(found.intercept_, expected[-1], rtol=1e-6)
    assert found.certificate_.holds
    assert found.certificate_.stationarity <= 1e-10


def test_units_and_offsets_do_not_matter():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    expected = LinearRegression().fit(X, y)
    for scale, offset in ((1.0, 0.0), (1e6, 0.0), (1e-6, 1e3)):
        other = X * scale ** np.arange(-1, 9) ** 0 + offset
        found = LinearRegression(solver="gd", tol=1e-10).fit(other, y)
        np.testing.assert_allclose(found.predict(other), expected.predict(X), rtol=1e-6)


def test_several_targets_weights_and_no_intercept(diabetes):
    X, y = diabetes
    Y, weight = np.stack([y, -3 * y + X[:, 0]], axis=1), np.arange(len(y)) % 4
    for fit_intercept in (True, False):
        options = {"fit_intercept": fit_intercept}
        exact = LinearRegression(**options).fit(X, Y, weight)
        found = LinearRegression(solver="gd", tol=1e-11, **options).fit(X, Y, weight)
        np.testing.assert_allclose(found.coef_, exact.coef_, rtol=1e-6)
        np.testing.assert_allclose(found.intercept_, exact.intercept_, rtol=1e-6, atol=1e-9)
        assert found.coef_.shape == (2, 10)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("alpha", [1.0, 1e4, [3.0, 500.0]], ids=str)
def test_ridge(alpha, standardize):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    Y = np.stack([y, y**2 / 100], axis=1) if isinstance(alpha, list) else y
    exact = Ridge(alpha, standardize=standardize).fit(X, Y)
    found = Ridge(alpha, standardize=standardize, solver="gd", tol=1e-10).fit(X, Y)
    scale = np.abs(in_units(exact.coef_, X)).max()
    np.testing.assert_allclose(
        in_units(found.coef_, X), in_units(exact.coef_, X), rtol=0, atol=1e-6 * scale
    )
    np.testing.assert_allclose(found.intercept_, exact.intercept_, rtol=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_rows(fit_intercept):
    rng = np.random.default_rng(0)
    X = sparse.random_array((500, 20), density=0.2, rng=rng, format="csr")
    y = X @ rng.normal(size=20) + 0.1 * rng.normal(size=500) + 3
    exact = Ridge(fit_intercept=fit_intercept).fit(X, y)
    found = Ridge(solver="gd", tol=1e-10, fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_allclose(found.coef_, exact.coef_, rtol=1e-6)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        pytest.param(load_breast_cancer, {}, id="two"),
        pytest.param(load_wine, {}, id="three", marks=pytest.mark.long),
        pytest.param(
            load_breast_cancer, {"reference_class": 0}, id="first of two", marks=pytest.mark.long
        ),
        pytest.param(load_wine, {"reference_class": 0}, id="first of three"),
    ],
)
def test_logistic_regression_as_by_newton(data, options):
    X, y = data(return_X_y=True)
    exact = LogisticRegression(C=0.01, **options).fit(X, y)
    found = LogisticRegression(C=0.01, solver="gd", tol=1e-9, max_iter=5000, **options).fit(X, y)
    assert found.certificate_.holds
    assert found.certificate_.path == "gradient descent"
    np.testing.assert_allclose(found.predict_proba(X), exact.predict_proba(X), atol=1e-6)


# --- the rules, as the notes state them -------------------------------------------------------


def test_gd_by_a_plain_loop(diabetes):
    X, y = diabetes
    A, theta = np.hstack([X, np.ones((len(X), 1))]), np.append(np.zeros(10), y.mean())
    velocity = np.zeros(11)
    for _ in range(24):
        velocity = 0.5 * velocity - 0.1 * A.T @ (A @ theta - y) / len(y)
        theta = theta + velocity
    with pytest.warns(ConvergenceWarning, match="above tol=1e-08 after 25 passes: raise max_iter"):
        found = LinearRegression(
            solver="gd", learning_rate="constant", eta0=0.1, momentum=0.5, max_iter=25
        ).fit(X, y)
    np.testing.assert_allclose(np.append(found.coef_, found.intercept_), theta, rtol=1e-11)
    gradient = A.T @ (A @ theta - y)
    start = A.T @ (y.mean() - y)
    expected = np.linalg.norm(gradient) / np.linalg.norm(start)
    np.testing.assert_allclose(found.certificate_.stationarity, expected, rtol=1e-9)


@unproved
@pytest.mark.parametrize("batch_size", [1, 10, 442, 1000])
def test_sgd_by_a_plain_loop(diabetes, batch_size):
    """θ ← θ + η (y − θ·x) x, in the order that the seed says; the mean over a mini-batch."""
    X, y = diabetes
    A, theta = np.hstack([X, np.ones((len(X), 1))]), np.append(np.zeros(10), y.mean())
    seed, t = check_random_state(7).randint(2**31 - 1), 0
    for epoch in range(3):
        order = np.random.default_rng([seed, epoch, 0]).permutation(len(y))
        for first in range(0, len(y), batch_size):
            rows, t = order[first : first + batch_size], t + 1
            step = A[rows].T @ (y[rows] - A[rows] @ theta) / len(rows)
            theta = theta + 0.01 / t**0.25 * step
    found = LinearRegression(
        solver="sgd", learning_rate="invscaling", eta0=0.01, power_t=0.25, max_iter=3,
        batch_size=batch_size, random_state=7,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(np.append(found.coef_, found.intercept_), theta, rtol=1e-10)


def test_learning_rates():
    def rates(**options):
        return DescentOptions(**options).rates(0.5, 2, 3, per_epoch=2.0).tolist()

    assert rates(solver="gd", learning_rate="constant") == [0.5] * 3
    np.testing.assert_allclose(
        rates(solver="sgd", learning_rate="invscaling", power_t=1.0), [0.5 / 3, 0.5 / 4, 0.5 / 5]
    )
    np.testing.assert_allclose(rates(solver="sgd", power_t=1.0), [0.5 / 2, 0.5 / 2.5, 0.5 / 3])


def test_losses_without_a_kernel_and_sparse_rows_take_the_same_steps():
    rng = np.random.default_rng(0)
    X, codes, weight = rng.normal(size=(90, 4)), rng.integers(0, 3, 90), rng.uniform(1, 2, 90)
    columns = ScaledColumns(np.zeros(4), np.array([1.0, 2, 3, 4]), True, None, 4)
    options = {"batch_size": 7, "momentum": 0.4, "share": 0.6}

    def rates(first, count):
        return 0.1 / (1 + np.arange(first, first + count))

    found = []
    for rows in (X, sparse.csr_array(X)):
        objective = Objective(
            loss=Softmax(3), columns=columns, l2=np.full((3, 5), 0.1), l1=np.zeros((3, 5)),
            target=lambda block: Target(block.y.astype(float), block.weight),
        )  # fmt: skip
        state = Iterate.start(np.zeros((3, 5))).fresh()
        block = Block(rows, codes, weight, 0)
        for _ in range(2):
            state = steps(state, block, objective=objective, rates=rates, **options)
        found.append(state)
    np.testing.assert_allclose(found[0].theta, found[1].theta, rtol=1e-11)
    np.testing.assert_allclose(found[0].mean, found[1].mean, rtol=1e-11)
    np.testing.assert_allclose(found[0].loss, found[1].loss, rtol=1e-11)
    assert found[0].taken == 26


def test_the_squared_loss_and_its_derivatives():
    rng = np.random.default_rng(0)
    y, eta = rng.normal(size=(6, 2)), rng.normal(size=(2, 6))
    loss, step = Squared(2), 1e-6
    found = loss(y, eta, 2)
    np.testing.assert_allclose(found.value, ((eta.T - y) ** 2).sum(axis=1) / 2)
    for k in range(2):
        moved = eta.copy()
        moved[k] += step
        slope = (loss(y, moved, 0).value - found.value) / step
        np.testing.assert_allclose(found.gradient[k], slope, atol=1e-5)
        bend = (loss(y, moved, 1).gradient - found.gradient) / step
        np.testing.assert_allclose(found.hessian[k], bend, atol=1e-8)
    assert loss(y, eta, 0).gradient is None


# --- stochastic steps -------------------------------------------------------------------------


def normal_rows(n=20_000, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.logspace(-2, 2, d) + 5
    z = (X - 5) / np.logspace(-2, 2, d) @ rng.normal(size=d)
    return X, z, rng


@pytest.mark.compiled
@pytest.mark.parametrize("options", [{}, {"batch_size": 32}, {"momentum": 0.5}], ids=str)
def test_sgd_comes_within_the_statistical_error(options):
    """The coefficients of a sample of n rows are themselves uncertain by σ/√n."""
    X, z, rng = normal_rows()
    y = z + rng.normal(size=len(z)) + 100
    exact = LinearRegression().fit(X, y)
    model = LinearRegression(solver="sgd", max_iter=30, tol=2e-2, random_state=0, **options)
    found = model.fit(X, y)
    assert found.certificate_.holds
    error = in_units(found.coef_ - exact.coef_, X)
    assert np.linalg.norm(error) < np.sqrt(8 / len(y))
    assert abs(found.predict(X).mean() - y.mean()) < 3 / np.sqrt(len(y))


@pytest.mark.compiled
@unproved
def test_sgd_of_a_logistic_regression_comes_within_the_statistical_error():
    X, z, rng = normal_rows()
    y = rng.random(len(z)) < 1 / (1 + np.exp(-z))
    exact = LogisticRegression().fit(X, y)
    found = LogisticRegression(solver="sgd", max_iter=60, batch_size=16, random_state=0).fit(X, y)
    difference = np.abs(found.predict_proba(X) - exact.predict_proba(X))
    assert difference.mean() < 0.005
    assert found.certificate_.stationarity < 0.02


@unproved
def test_longer_descents_come_closer(diabetes):
    X, y = diabetes
    gaps = []
    exact = LinearRegression().fit(X, y)
    for epochs in (5, 50, 500):
        found = LinearRegression(solver="sgd", max_iter=epochs, random_state=0, power_t=0.7)
        gaps.append(np.square(found.fit(X, y).predict(X) - exact.predict(X)).mean())
    assert gaps[0] > 2 * gaps[1] > 4 * gaps[2]


@unproved
def test_the_trace_has_a_row_an_epoch(diabetes):
    X, y = diabetes
    model = LinearRegression(solver="sgd", max_iter=9, random_state=0).fit(X, y)
    assert model.trace_.step.count("epoch") == 9
    trace = model.trace_
    rows = zip(trace.step, trace.objective, strict=True)
    losses = [objective for step, objective in rows if step == "epoch"]
    assert losses[-1] < losses[0]
    rss = np.square(model.predict(X) - y).sum() / 2
    np.testing.assert_allclose(model.trace_.objective[-1], rss, rtol=1e-10)
    np.testing.assert_allclose(model.certificate_.objective, rss, rtol=1e-10)
    assert abs(losses[-1] / rss - 1) < 0.1


def test_gd_goes_down_row_by_row(diabetes):
    X, y = diabetes
    model = LinearRegression(solver="gd", learning_rate="constant", tol=1e-3).fit(X, y)
    passes = [o for s, o in zip(model.trace_.step, model.trace_.objective, strict=True)
              if s.startswith("gradient descent")]  # fmt: skip
    assert (np.diff(passes) < 0).all()


# --- determinism ------------------------------------------------------------------------------


@pytest.mark.compiled
@unproved
@pytest.mark.parametrize("solver", ["gd", "sgd"])
@pytest.mark.parametrize("kind", [LinearRegression, Ridge, LogisticRegression])
def test_bits_are_the_same_from_files_and_at_any_number_of_threads(
    kind, solver, small_blocks, tmp_path
):
    X, z, _ = normal_rows(n=2_500, d=5)
    y = (z > 0).astype(int) if kind is LogisticRegression else z
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    for i in range(2):
        frame.iloc[i * 1_000 : 1_000 + i * 2_000].to_parquet(
            tmp_path / f"{i}.parquet", row_group_size=333
        )
    source = suffice.scan(tmp_path / "*.parquet", target="y")
    fits = []
    for threads in (1, 2, 4):
        with suffice.config(threads=threads):
            for rows in ((X, y), (source,)):
                model = kind(solver=solver, max_iter=4, batch_size=5, random_state=3)
                fits.append(model.fit(*rows))
    assert len({fit.coef_.tobytes() for fit in fits}) == 1
    assert all(fit.certificate_ == fits[0].certificate_ for fit in fits)
    if solver == "sgd":
        other = kind(solver=solver, max_iter=4, batch_size=5, random_state=4).fit(X, y)
        assert (other.coef_ != fits[0].coef_).any()


# --- the contract -----------------------------------------------------------------------------


def test_nothing_is_kept(diabetes):
    X, y = diabetes
    model = LinearRegression().fit(X, y)
    model.set_params(solver="gd").fit(X, y)
    with pytest.raises(AttributeError, match=r"kept no statistic.*gradient descent"):
        _ = model.statistics_
    before = model.coef_
    for change in (
        lambda: model.update(X, y),
        lambda: model.forget(X[:5], y[:5]),
        lambda: model + model,
        lambda: model.refit(fit_intercept=False),
    ):
        with pytest.raises(ValueError, match="kept no statistic"):
            change()
    assert model.coef_ is before
    with pytest.raises(AttributeError, match="kept no statistic"):
        Ridge(solver="gd").fit(X, y).path([1.0])


def test_cross_validation_descends_too(diabetes):
    X, y = diabetes
    found = suffice.cross_validate(LinearRegression(solver="gd", tol=1e-3), X, y, cv=3)
    exact = suffice.cross_validate(LinearRegression(), X, y, cv=3)
    assert (found["test_score"] != exact["test_score"]).all()
    np.testing.assert_allclose(found["test_score"], exact["test_score"], atol=0.02)


def test_saved_models_come_back(diabetes, tmp_path):
    X, y = diabetes
    model = LinearRegression(solver="gd").fit(X, y)
    model.save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.certificate_ == model.certificate_


def test_constant_and_dependent_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    X[:, 1], X[:, 3] = 7.25, X[:, 0] + X[:, 2]
    y = X[:, 0] - 2 * X[:, 2] + rng.normal(size=100)
    found = LinearRegression(solver="gd", tol=1e-10).fit(X, y)
    expected = LinearRegression().fit(X, y)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-7, atol=1e-7)
    assert found.coef_[1] == 0


def test_constant_targets_and_one_row():
    X = np.random.default_rng(0).normal(size=(20, 2))
    for solver in ("gd", "sgd"):
        model = LinearRegression(solver=solver).fit(X, np.full(20, 3.0))
        assert model.certificate_.holds
        np.testing.assert_allclose(model.predict(X), 3.0)
        assert LinearRegression(solver=solver).fit([[1.0, 2.0]], [5.0]).predict([[1.0, 2.0]]) == 5.0


@pytest.mark.parametrize("solver", ["gd", "sgd"])
def test_steps_that_are_too_long(diabetes, solver):
    X, y = diabetes
    options = {"learning_rate": "constant", "eta0": 50.0, "max_iter": 1000}
    model = LinearRegression(solver=solver, **options)
    with pytest.raises(ValueError, match=r"grow without bound: lower eta0 \(now 50\)"):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_absolute_values_have_no_gradient():
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match="no penalty on absolute values"):
        LogisticRegression(solver="gd", l1_ratio=0.5).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "adam"}, "solver"),
        ({"batch_size": 0}, "batch_size"),
        ({"learning_rate": "fast"}, "learning_rate"),
        ({"eta0": 0.0}, "eta0"),
        ({"momentum": 1.0}, "momentum"),
        ({"power_t": -1.0}, "power_t"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_parameters(diabetes, parameters, message):
    for kind in (LinearRegression, Ridge, LogisticRegression):
        with pytest.raises(ValueError, match=message):
            kind(**parameters).fit(diabetes[0], diabetes[1] > 100)


@pytest.mark.parametrize("solver", ["gd", "sgd"])
def test_bad_cells_are_named(diabetes, solver):
    X, y = diabetes[0].copy(), diabetes[1].copy()
    X[30, 4] = np.inf
    with pytest.raises(ValueError, match=r"column 4, row 30"):
        LinearRegression(solver=solver).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        LinearRegression(solver=solver).fit(diabetes[0], np.where(y > 200, np.nan, y))
    with pytest.raises(ValueError, match="weight"):
        LinearRegression(solver=solver).fit(diabetes[0], y, np.zeros(len(y)))


def test_rows_of_weight_zero_do_not_exist(diabetes):
    X, y = diabetes
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    holed = np.where(weight[:, None] > 0, X, np.nan)
    for solver in ("gd", "sgd"):
        options = {"solver": solver, "tol": 1e-3, "random_state": 0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = LinearRegression(**options).fit(holed, y, weight)
        exact = LinearRegression().fit(X[weight > 0], y[weight > 0])
        np.testing.assert_allclose(found.predict(X), exact.predict(X), atol=15)


def test_a_failed_fit_leaves_the_model_as_it_was(diabetes):
    X, y = diabetes
    model = LinearRegression(solver="gd").fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="column 0, row 0"):
        model.fit(np.full((5, 10), np.nan), np.ones(5))
    assert vars(model) == before


@pytest.mark.parametrize("passes", [1, 2, 5, 6, 8])
@pytest.mark.parametrize("solver", ["gd", "sgd"])
@pytest.mark.parametrize("kind", [LinearRegression, LogisticRegression])
def test_a_callback_stops_a_descent(diabetes, kind, solver, passes):
    X, y = diabetes[0], diabetes[1] > 150
    model = kind(solver=solver).set_callbacks(StopAfter(passes))
    with pytest.warns(ConvergenceWarning, match="a callback stopped the fit"):
        model.fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.certificate_.stationarity)
    assert len(model.trace_) <= passes + 6
