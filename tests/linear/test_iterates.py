"""What a fit shows on its way: its iterates to callbacks, and trials it turned back from."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine

from suffice import (
    GeneralizedLinearModel,
    LinearRegression,
    LogisticRegression,
    OneVsRest,
    Perceptron,
    Ridge,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Path:
    """A callback that keeps the models of all iterates."""

    def __init__(self):
        self.models = []

    def setup(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name == "pass" and fitted_estimator is not None:
            self.models.append(fitted_estimator)

    def teardown(self, estimator, context): ...

    @property
    def points(self):
        """Intercept and coefficients of each iterate."""
        return np.array([np.append(m.intercept_, m.coef_) for m in self.models])


def followed(model, X, y):
    path = Path()
    model = clone(model).set_callbacks(path).fit(X, y)
    return model, path


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal((3.0, 0.0), size=(200, 2))
    return X, np.random.default_rng(1).poisson(np.exp(2 * (X[:, 0] - 3))).astype(float)


@pytest.fixture(scope="module")
def poisson(rows):
    return followed(GeneralizedLinearModel("poisson"), *rows)


def test_newton_steps_are_halved_as_often_as_a_trial_was_rejected(rows, poisson):
    (X, y), (model, path) = rows, poisson
    A = np.column_stack([np.ones(len(X)), X])
    steps = [s.startswith("newton") for s in model.trace_.step]
    verdicts = [ok for ok, step in zip(model.trace_.accepted, steps, strict=True) if step]
    assert not all(verdicts)  # or this shows nothing
    halvings = "".join("a" if ok else "r" for ok in verdicts).split("a")[1:-1]
    assert len(path.points) == len(halvings) + 1
    for here, there, rejected in zip(path.points, path.points[1:], halvings, strict=False):
        mean = np.exp(A @ here)
        newton = np.linalg.solve((A.T * mean) @ A, A.T @ (y - mean))
        np.testing.assert_allclose(there, here + newton / 2 ** len(rejected), rtol=1e-9)


def test_n_iter_counts_no_rejected_trial(poisson):
    model, path = poisson
    assert model.n_iter_ == len(path.points)
    taken = zip(model.trace_.accepted, model.trace_.step, strict=True)
    assert model.n_iter_ == sum(ok for ok, step in taken if step.startswith("newton"))


def test_a_stuck_model_shows_its_objective_falling(poisson):
    model, _ = poisson
    kept = np.array(model.trace_.objective)[np.array(model.trace_.accepted)]
    kept = kept[np.isfinite(kept)]
    assert (np.diff(kept) <= 1e-12 * abs(kept[0])).all()
    assert np.diff([v for v in model.trace_.objective if v == v]).max() > 0  # with trials, not


@pytest.mark.parametrize(("model", "alpha"), [(LinearRegression, 0.0), (Ridge, 7.0)])
def test_constant_gradient_steps(rows, model, alpha):
    """Θ ← Θ − η ∇f in standardised columns, taken in NumPy."""
    X, y = rows
    options = {"alpha": alpha} if alpha else {}
    options.update(solver="gd", learning_rate="constant", eta0=0.25, max_iter=20)
    _, path = followed(model(**options), X, y)
    stretch = np.sqrt(X.var(axis=0) + alpha / len(X))  # where a penalty adds to the curvature
    Z, b, theta = (X - X.mean(axis=0)) / stretch, y.mean(), np.zeros(2)
    for point in path.points:
        np.testing.assert_allclose(point[1:], theta / stretch, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(point[0], b - X.mean(axis=0) @ point[1:], rtol=1e-8)
        slope = Z.T @ (Z @ theta - (y - b)) / len(X) + alpha / len(X) * theta / stretch**2
        theta = theta - 0.25 * slope
    assert len(path.points) == 20


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(solver="gd", max_iter=10),
        LinearRegression(solver="sgd", max_iter=4, tol=0, random_state=0),
        LogisticRegression(max_iter=5),
        LogisticRegression(C=0.1, penalty="l1"),
        LogisticRegression(solver="sgd", max_iter=4, random_state=0),
        Perceptron(max_iter=4),
        Perceptron(max_iter=4, batch=True),
    ],
    ids=lambda m: f"{type(m).__name__}-{getattr(m, 'solver', m.get_params().get('batch'))}",
)
def test_an_iterate_can_predict(rows, model):
    X, y = rows
    y = y if isinstance(model, LinearRegression) else (y > 0).astype(int) + (y > 1)
    fitted, path = followed(model, X, y)
    assert len(path.models) >= 3
    for iterate in path.models:
        assert iterate.predict(X).shape == y.shape
    assert path.models[-1].coef_.shape == fitted.coef_.shape
    np.testing.assert_allclose(path.models[-1].coef_, fitted.coef_, rtol=1e-4)


def test_shapes_of_targets(rows):
    X, y = rows
    for target in (y, y[:, None], np.column_stack([y, -y])):
        fitted, path = followed(LinearRegression(solver="gd", max_iter=3), X, target)
        assert path.models[-1].coef_.shape == fitted.coef_.shape
        assert path.models[-1].predict(X).shape == target.shape


def test_models_of_several_classes_keep_the_verdicts():
    model = OneVsRest(LogisticRegression(C=0.1, solver="gd", max_iter=60))
    model.fit(*load_wine(return_X_y=True))
    verdicts = sum((binary.trace_.accepted for binary in model.estimators_), ())
    assert not all(verdicts)
    assert model.trace_.accepted == (True, *verdicts)
