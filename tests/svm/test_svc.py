"""Support vector classification: brute force, LIBSVM, conditions of a minimum."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn import datasets, svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

import suffice
from suffice import SVC
from suffice.numerics.kernel_functions import KernelFunction
from suffice.svm.margins.conditions import Examined, certificate_from
from suffice.svm.smo.solver import MANY, balanced


def standardised(X):
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def real(name):
    """Rows of a real set with standardised columns, and labels."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "diabetes":
        y = (y > 140).astype(int)
    return standardised(X[:600]), y[:600]


def matrix_of(model, X):
    """Kernel values by the definition, in float64."""
    name = {"kernel": model.kernel, "degree": model.degree, "coef0": model.coef0}
    function = KernelFunction(name["kernel"], model._gamma, name["degree"], name["coef0"])
    return function(X, X)


def multipliers(model, X):
    """α y of each machine, from what scikit-learn's attributes say."""
    ends, k = np.cumsum(model.n_support_), len(model.classes_)
    found = []
    for i, j in combinations(range(k), 2):
        beta = np.zeros(len(X))
        for own, other in ((i, j - 1), (j, i)):
            some = slice(ends[own] - model.n_support_[own], ends[own])
            beta[model.support_[some]] = model.dual_coef_[other, some]
        found.append(beta)
    return found


def dual_of(model, X):
    K = matrix_of(model, X)
    return sum(np.abs(beta).sum() - beta @ K @ beta / 2 for beta in multipliers(model, X))


# --- oracles -------------------------------------------------------------------------------


def test_two_points_have_the_solution_of_the_textbook():
    """α = 2 / ‖x₁ − x₂‖², and the boundary is halfway."""
    model = SVC(kernel="linear", C=10).fit([[0.0, 0.0], [2.0, 0.0]], [0, 1])
    np.testing.assert_allclose(model.dual_coef_, [[-0.5, 0.5]])
    np.testing.assert_allclose(model.coef_, [[1.0, 0.0]])
    np.testing.assert_allclose(model.intercept_, [-1.0])
    assert model.geometric_margin_ == pytest.approx(1.0)
    np.testing.assert_allclose(model.functional_margins_, [1.0, 1.0])


def test_a_quadratic_programme_agrees():
    X, y = real("iris")
    X, y = X[50:110:2], y[50:110:2]
    model = SVC(C=0.7, tol=1e-9).fit(X, y)
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    Q = matrix_of(model, X) * np.outer(signs, signs)
    best = minimize(
        lambda a: a @ Q @ a / 2 - a.sum(), np.full(len(y), 0.1), jac=lambda a: Q @ a - 1,
        bounds=[(0, 0.7)] * len(y), constraints={"type": "eq", "fun": lambda a: a @ signs},
        method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert model.certificate_.dual == pytest.approx(-best.fun, rel=1e-9)


@pytest.mark.parametrize("name", ["breast_cancer", "wine", "iris", "digits", "diabetes"])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_libsvm_agrees(name, kernel):
    X, y = real(name)
    _, place, counts = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    alone = counts[place.ravel()] == 1  # twins may share a multiplier in any way
    for C in (0.1, 1.0, 10.0):
        options = {"kernel": kernel, "C": C, "coef0": 1.0}
        ours = SVC(tol=1e-6, **options).fit(X, y)
        theirs = svm.SVC(tol=1e-8, **options).fit(X, y)
        value, best = dual_of(ours, X), dual_of(theirs, X)
        assert value >= best * (1 - 1e-8)
        proof = ours.certificate_
        assert proof.holds
        assert proof.dual == pytest.approx(value, rel=1e-10)
        assert -1e-12 * best <= proof.gap <= 1e-6 * value
        # Rows that one has and the other lacks have no weight to speak of.
        for one, other in zip(multipliers(ours, X), multipliers(theirs, X), strict=True):
            odd = ((one == 0) != (other == 0)) & alone
            assert np.abs(one - other)[odd].max(initial=0.0) <= 1e-3 * C
        for shape in ("ovo", "ovr"):
            ours.decision_function_shape = theirs.decision_function_shape = shape
            values = theirs.decision_function(X)
            assert ours.decision_function(X).shape == values.shape
        ours.decision_function_shape = theirs.decision_function_shape = "ovo"
        values = theirs.decision_function(X).reshape(len(X), -1)
        clear = (np.abs(values) > 1e-2).all(axis=1)
        np.testing.assert_array_equal(ours.predict(X)[clear], theirs.predict(X)[clear])
        found = ours.decision_function(X).reshape(len(X), -1)
        np.testing.assert_allclose(found, values, atol=1e-2)


def test_scores_against_the_rest_are_those_of_scikit_learn():
    X, y = real("wine")
    ours, theirs = SVC(tol=1e-8).fit(X, y), svm.SVC(tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=1e-6, rtol=1e-6
    )
    ours.break_ties = True
    np.testing.assert_array_equal(ours.predict(X), theirs.decision_function(X).argmax(axis=1))
    ours.decision_function_shape = "ovo"
    with pytest.raises(ValueError, match="break_ties must be False"):
        ours.predict(X)


# --- many rows -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many():
    """More rows than are solved at once."""
    X, y = datasets.make_classification(
        3 * MANY // 2, 12, n_informative=8, flip_y=0.1, random_state=0
    )
    return standardised(X), y


@pytest.mark.compiled
@pytest.mark.parametrize("cache_size", [200, 2, 0.1])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_many_rows_whether_stored_or_not(many, cache_size, C):
    X, y = many
    ours = SVC(C=C, tol=1e-5 if C == 1 else 1e-3, cache_size=cache_size).fit(X, y)
    theirs = svm.SVC(C=C, tol=1e-5 if C == 1 else 1e-3).fit(X, y)
    assert ours.certificate_.holds
    assert dual_of(ours, X) >= dual_of(theirs, X) * (1 - 1e-6)


@pytest.mark.compiled
def test_shrinking_changes_the_way_alone(many):
    X, y = many
    one, other = SVC(tol=1e-6).fit(X, y), SVC(tol=1e-6, shrinking=False).fit(X, y)
    assert one.certificate_.dual == pytest.approx(other.certificate_.dual, rel=1e-8)


def test_a_start_is_feasible():
    rng = np.random.default_rng(0)
    for _ in range(20):
        upper = rng.uniform(0, 2, 50) * rng.integers(0, 2, 50)
        lower = np.where(upper > 0, 0.0, -rng.uniform(0, 2, 50))
        gradient = rng.normal(size=50)
        beta = balanced(np.where(gradient < 0, upper, lower), gradient)
        assert abs(beta.sum()) < 1e-13
        assert ((beta >= lower) & (beta <= upper)).all()


# --- conditions, margins, certificate ------------------------------------------------------


def test_every_row_is_in_one_of_three_cases():
    X, y = real("breast_cancer")
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = SVC(C=0.5, tol=1e-5).fit(X, y, weight)
    alpha = np.abs(multipliers(model, X)[0])
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    np.testing.assert_allclose(model.functional_margins_, margins, atol=1e-12)
    bound, tol = 0.5 * weight, 1e-5
    cases = model.kkt_cases_
    assert set(cases) == {1, 2, 3}
    np.testing.assert_array_equal(cases == 1, (alpha == 0) & (margins >= 1 - tol))
    free = (alpha > 0) & (alpha < bound)
    np.testing.assert_array_equal(cases == 2, free & (np.abs(margins - 1) <= tol))
    np.testing.assert_array_equal(cases == 3, (alpha == bound) & (margins <= 1 + tol))
    beta = multipliers(model, X)[0]
    length = np.sqrt(beta @ matrix_of(model, X) @ beta)
    assert model.geometric_margin_ == pytest.approx(margins.min() / length)
    primal = length**2 / 2 + bound @ np.maximum(1 - margins, 0)
    assert model.certificate_.primal == pytest.approx(primal)


def test_an_early_stop_is_told():
    X, y = real("breast_cancer")
    with pytest.warns(ConvergenceWarning, match=r"terminated early.*violation.*gap"):
        model = SVC(max_iter=5).fit(X, y)
    assert not model.certificate_.holds
    assert model.fit_status_ == 1
    assert model.certificate_.violation > 1e-3
    assert (model.kkt_cases_ == 0).any()
    assert not any("LinearSVC" in note for note in model.certificate_.notes)


def test_an_early_stop_of_the_linear_kernel_names_linear_svc():
    X, y = real("wine")
    two = y < 2
    with pytest.warns(ConvergenceWarning, match=r"LinearSVC\(loss=\"hinge\"\) solves the same"):
        SVC(kernel="linear", max_iter=2).fit(X[two], y[two])
    with pytest.warns(ConvergenceWarning, match=r"LinearSVC\(loss=\"hinge\"\) fits a machine"):
        SVC(kernel="linear", max_iter=2).fit(X, y)


def test_multipliers_that_do_not_sum_to_0_prove_nothing():
    function = KernelFunction("linear", 0.0, 3, 0.0)
    for imbalance, holds in ((1e-15, True), (1e-3, False)):
        found = Examined(0.0, 1.0, 1.0, imbalance, is_curved_down=False, is_stopped=False)
        proof = certificate_from(function, found, 1e-3)
        assert proof.holds is holds
        assert bool(proof.notes) is not holds


@pytest.mark.parametrize("kernel", ["sigmoid", "logistic"])
def test_kernels_that_are_no_products_end_and_say_so(kernel):
    X, y = real("breast_cancer")
    model = SVC(kernel=kernel, gamma=0.5, coef0=-1.0).fit(X, y)
    notes = " ".join(model.certificate_.notes)
    assert "not convex" in notes or "convexity not proved" in notes
    assert ("not convex" in notes) == ("gap" not in model.certificate_.measures)


def test_negative_curvature_is_met():
    K = np.array([[1.0, 3.0], [3.0, 1.0]])
    model = SVC(kernel="precomputed").fit(K, [0, 1])
    assert "not convex" in model.certificate_.notes[0]
    assert "gap" not in model.certificate_.measures


def test_precomputed_and_callable_kernels():
    X, y = real("iris")
    plain = SVC(kernel="linear", tol=1e-8).fit(X[::2], y[::2])
    given = SVC(kernel="precomputed", tol=1e-8).fit(X[::2] @ X[::2].T, y[::2])
    called = SVC(kernel=lambda A, B: A @ B.T, tol=1e-8).fit(X[::2], y[::2])
    expected = plain.decision_function(X[1::2])
    np.testing.assert_allclose(given.decision_function(X[1::2] @ X[::2].T), expected, atol=1e-6)
    np.testing.assert_allclose(called.decision_function(X[1::2]), expected, atol=1e-6)
    assert "convexity not proved" in given.certificate_.notes[0]
    with pytest.raises(ValueError, match="square matrix"):
        SVC(kernel="precomputed").fit(X, y)
    with pytest.raises(TypeError, match="Sparse precomputed"):
        SVC(kernel="precomputed").fit(sparse.csr_array(X @ X.T), y)
    with pytest.raises(ValueError, match=r"not symmetric: k\(x, z\) and k\(z, x\) differ by"):
        SVC(kernel="precomputed").fit(np.tril(X @ X.T), y)


# --- odd rows ------------------------------------------------------------------------------


def test_rows_with_both_labels():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0], [3.0]]), np.array([0, 1, 0, 1, 1])
    for kernel in ("linear", "rbf"):
        ours = SVC(kernel=kernel, tol=1e-8).fit(X, y)
        theirs = svm.SVC(kernel=kernel, tol=1e-8).fit(X, y)
        assert dual_of(ours, X) == pytest.approx(dual_of(theirs, X), rel=1e-8)


def test_columns_of_other_scales():
    X, y = real("breast_cancer")
    X = X * 10.0 ** np.linspace(-4, 4, X.shape[1])
    ours, theirs = SVC().fit(X, y), svm.SVC().fit(X, y)
    assert ours.certificate_.holds
    assert dual_of(ours, X) == pytest.approx(dual_of(theirs, X), rel=1e-4)


@pytest.mark.parametrize("C", [1e-12, 1e12])
def test_prices_far_from_one(C):
    X, y = real("wine")
    ours, theirs = SVC(C=C).fit(X, y), svm.SVC(C=C).fit(X, y)
    assert ours.certificate_.holds
    assert dual_of(ours, X) == pytest.approx(dual_of(theirs, X), rel=1e-3)
    proof = ours.certificate_
    wide = proof.gap > 1e-3 * proof.dual
    assert any("of the objective" in note for note in proof.notes) == wide
    if C > 1:
        np.testing.assert_array_equal(ours.predict(X), y)


def test_a_wide_gap_is_told_though_conditions_hold():
    X, y = real("breast_cancer")
    proof = SVC(C=1e6).fit(X, y).certificate_
    assert proof.holds
    assert proof.gap > 0.1 * proof.dual
    assert proof.notes == (
        f"the gap is {proof.gap / proof.primal:.2g} of the objective: lower tol, or C",
    )
    closer = SVC(C=1e6, tol=1e-6).fit(X, y).certificate_
    assert closer.gap <= 1e-3 * closer.dual
    assert SVC().fit(X, y).certificate_.notes == ()


def test_one_class_and_bad_parameters():
    X, y = real("iris")
    with pytest.raises(ValueError, match=r"has to be greater than one; got 1 class: 0$"):
        SVC().fit(X[:50], y[:50])
    for bad in ({"C": 0.0}, {"gamma": -1.0}, {"kernel": "none"}, {"tol": 0.0}):
        with pytest.raises(ValueError, match="parameter"):
            SVC(**bad).fit(X, y)
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = SVC().fit(X, y).coef_
    with pytest.raises(ValueError, match="gives class 0 the weight 0"):
        SVC(class_weight={0: 0.0}).fit(X, y)


# --- laws ----------------------------------------------------------------------------------


def test_class_weights_are_prices():
    X, y = real("wine")
    factors = {0: 0.5, 1: 2.0, 2: 3.0}
    one = SVC(class_weight=factors, gamma=0.1, tol=1e-8).fit(X, y)
    other = SVC(gamma=0.1, tol=1e-8).fit(X, y, np.array([0.5, 2.0, 3.0])[y])
    np.testing.assert_allclose(one.dual_coef_, other.dual_coef_, atol=1e-6)
    np.testing.assert_array_equal(one.class_weight_, [0.5, 2.0, 3.0])
    balanced_weights = SVC(class_weight="balanced").fit(X, y).class_weight_
    np.testing.assert_allclose(balanced_weights, len(y) / (3 * np.bincount(y)))


@pytest.mark.compiled
def test_same_bits_at_any_number_of_threads_and_side_by_side(many):
    X, y = many
    fits = []
    for threads in (1, 2, 4):
        with suffice.config(threads=threads):
            fits.append(SVC(cache_size=5).fit(X, y))
    with ThreadPoolExecutor(2) as pool:
        fits += pool.map(lambda _: SVC(cache_size=5).fit(X, y), range(2))
    for fit in fits[1:]:
        assert fit.dual_coef_.tobytes() == fits[0].dual_coef_.tobytes()
        assert fit.intercept_ == fits[0].intercept_


def test_sparse_rows():
    X, y = real("digits")
    X = np.where(np.abs(X) > 1, X, 0.0)
    dense = SVC(tol=1e-7).fit(X, y)
    light = SVC(tol=1e-7).fit(sparse.csr_matrix(X), y)
    assert sparse.issparse(light.support_vectors_)
    for queries in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(
            light.decision_function(queries), dense.decision_function(X), atol=1e-5
        )
    linear = SVC(kernel="linear", tol=1e-7).fit(sparse.csr_array(X), y)
    expected = SVC(kernel="linear", tol=1e-7).fit(X, y).coef_
    np.testing.assert_allclose(linear.coef_.toarray(), expected, atol=1e-5)


def test_a_warm_start_saves_steps():
    X, y = real("breast_cancer")
    for before, after in ((1.0, 1.2), (1.2, 1.0)):
        fresh = SVC(C=after, tol=1e-6).fit(X, y)
        model = SVC(C=before, tol=1e-6, warm_start=True).fit(X, y)
        again = model.set_params(C=after).fit(X, y)
        assert again.n_iter_[0] < fresh.n_iter_[0]
        assert again.certificate_.dual == pytest.approx(fresh.certificate_.dual, rel=1e-9)
    assert model.fit(X[:300], y[:300]).certificate_.holds
    assert model.fit(X[:300], 1 - y[:300]).certificate_.holds


# --- probabilities -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["breast_cancer", "wine"])
def test_probabilities_of_held_out_rows(name):
    X, y = real(name)
    model = SVC(probability=True).fit(X[::2], y[::2])
    shares = model.predict_proba(X[1::2])
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    theirs = CalibratedClassifierCV(svm.SVC(), ensemble=False).fit(X[::2], y[::2])
    ours, other = log_loss(y[1::2], shares), log_loss(y[1::2], theirs.predict_proba(X[1::2]))
    assert ours < 1.15 * other + 0.01
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X[:9])), model.predict_proba(X[:9]))
    assert not hasattr(SVC(), "predict_proba")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, other = (SVC(probability=True, random_state=s).fit(X, y).probA_ for s in (0, 0))
    np.testing.assert_array_equal(one, other)
