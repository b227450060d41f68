"""Support vector regression: a closed form, LIBSVM, and the certificate."""

import numpy as np
import pytest
from sklearn import datasets, svm
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice import SVR
from suffice.svm.smo.solver import MANY


@pytest.fixture(scope="module")
def diabetes():
    X, y = datasets.load_diabetes(return_X_y=True)
    return X / X.std(axis=0), y


def test_two_points_have_the_flattest_line_within_their_tubes():
    model = SVR(kernel="linear", C=100, epsilon=0.5, tol=1e-8).fit([[0.0], [2.0]], [0.0, 3.0])
    np.testing.assert_allclose(model.coef_, [[1.0]])
    np.testing.assert_allclose(model.intercept_, [0.5])
    np.testing.assert_allclose(model.dual_coef_, [[-0.5, 0.5]])


def test_a_wide_tube_needs_no_support(diabetes):
    X, y = diabetes
    model = SVR(epsilon=1000.0).fit(X, y)
    assert model.support_.size == 0
    np.testing.assert_allclose(model.predict(X), (y.max() + y.min()) / 2)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize(("C", "epsilon"), [(1.0, 0.1), (30.0, 10.0)])
def test_libsvm_agrees(diabetes, kernel, C, epsilon):
    X, y = diabetes
    options = {"kernel": kernel, "C": C, "epsilon": epsilon, "gamma": 0.02}
    ours, theirs = SVR(tol=1e-6, **options).fit(X, y), svm.SVR(tol=1e-8, **options).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=2e-2)
    assert ours.certificate_.holds
    if kernel != "sigmoid":
        assert -1e-10 <= ours.certificate_.gap / ours.certificate_.dual <= 1e-6
    assert set(vars(theirs)) - {"_sparse", "_probA", "_probB"} <= {
        *vars(ours), "class_weight_", "_intercept_", "_dual_coef_", "_n_support", "_num_iter",
        "_effective_probability", "nu", "class_weight", "probability", "random_state",
    }  # fmt: skip


def test_the_values_are_those_of_the_problem(diabetes):
    X, y = diabetes
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = SVR(kernel="linear", C=2.0, epsilon=5.0, tol=1e-5).fit(X, y, weight)
    residual = y - model.predict(X)
    w = model.coef_[0]
    primal = w @ w / 2 + 2 * weight @ np.maximum(np.abs(residual) - 5, 0)
    assert model.certificate_.primal == pytest.approx(primal)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    assert model.certificate_.dual == pytest.approx(y @ beta - 5 * np.abs(beta).sum() - w @ w / 2)
    assert abs(beta.sum()) < 1e-9


@pytest.mark.compiled
def test_many_rows_and_threads():
    X, y = datasets.make_friedman1(MANY, random_state=0, noise=1.0)
    ours = SVR(C=3.0, tol=1e-5, cache_size=3).fit(X, y)
    theirs = svm.SVR(C=3.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)
    with suffice.config(threads=1):
        alone = SVR(C=3.0, tol=1e-5, cache_size=3).fit(X, y)
    assert alone.dual_coef_.tobytes() == ours.dual_coef_.tobytes()


def test_warm_starts_and_early_stops(diabetes):
    X, y = diabetes
    model = SVR(C=1.0, tol=1e-5, warm_start=True).fit(X, y)
    fresh = SVR(C=2.0, tol=1e-5).fit(X, y)
    again = model.set_params(C=2.0).fit(X, y)
    assert again.certificate_.dual == pytest.approx(fresh.certificate_.dual, rel=1e-8)
    with pytest.warns(ConvergenceWarning, match=r"terminated early.*violation"):
        SVR(max_iter=3).fit(X, y)


def test_bad_input(diabetes):
    X, y = diabetes
    with pytest.raises(ValueError, match="'C' parameter"):
        SVR(C=np.inf).fit(X, y)
    with pytest.raises(ValueError, match="'epsilon' parameter"):
        SVR(epsilon=-0.1).fit(X, y)
    with pytest.raises(ValueError, match="values are not symmetric"):
        SVR(kernel=lambda A, B: A @ np.roll(B, 1, axis=1).T).fit(X, y)


@pytest.mark.compiled
def test_as_many_active_variables_as_rows():
    """There are two variables a row: as many of them as rows are not all of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = X @ [1.0, 2.0, -1.0] + rng.normal(size=2000) + 3.0
    ours, peer = SVR(tol=1e-5).fit(X, y), svm.SVR(tol=1e-5).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), atol=1e-3)
    assert ours.certificate_.holds
