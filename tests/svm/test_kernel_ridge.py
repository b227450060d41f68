"""Kernel ridge regression."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn import kernel_ridge, model_selection
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.metrics.pairwise import pairwise_kernels

import suffice
from suffice import KernelRidge, Ridge
from suffice.engines.workers import one_blas_thread
from suffice.fitting.gram import matrix, shifted
from suffice.fitting.gram.shifted import ShiftedGram

X, y = load_diabetes(return_X_y=True)
X = 20 * X


def solved_exactly(matrix, right):
    """By elimination over the rationals."""
    rows = [
        [Fraction(v) for v in row] + [Fraction(b)] for row, b in zip(matrix, right, strict=True)
    ]
    for i in range(len(rows)):
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for k in range(len(rows)):
            if k != i:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i], strict=True)]
    return np.array([float(row[-1]) for row in rows])


# --- closed forms --------------------------------------------------------------------------


def test_coefficients_solve_the_system_exactly():
    rows, target = X[:8].round(3), y[:8]
    weight = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 0.25, 1.0])
    K = rows @ rows.T
    expected = solved_exactly(K + np.diag(0.5 / weight), target)
    model = KernelRidge(alpha=0.5).fit(rows, target, sample_weight=weight)
    np.testing.assert_allclose(model.dual_coef_, expected, rtol=1e-11)
    assert model.certificate_.digits > 10


@pytest.mark.parametrize("weighted", [False, True])
def test_the_linear_kernel_is_ridge(weighted):
    """The representer theorem: θ = Σ a x."""
    weight = np.random.default_rng(0).uniform(0.2, 3, len(y)) if weighted else None
    model = KernelRidge(alpha=3.0).fit(X, y, sample_weight=weight)
    line = Ridge(alpha=3.0, fit_intercept=False).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.dual_coef_ @ X, line.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.predict(X), line.predict(X), rtol=1e-8)


def test_the_polynomial_kernel_is_ridge_on_monomials():
    """(x·z + 1)² is the product of 1, √2 x, x² and √2 xᵢ xⱼ."""
    rows = X[:, :3]
    i, j = np.triu_indices(3, 1)
    features = np.hstack(
        [np.ones((len(rows), 1)), 2**0.5 * rows, rows**2, 2**0.5 * rows[:, i] * rows[:, j]]
    )
    model = KernelRidge(alpha=0.7, kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(rows, y)
    line = Ridge(alpha=0.7, fit_intercept=False).fit(features, y)
    np.testing.assert_allclose(model.predict(rows), line.predict(features), rtol=1e-8)


# --- scikit-learn --------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "poly", "polynomial", "rbf", "cosine", "laplacian"])
def test_as_scikit_learns(kernel):
    ours = KernelRidge(alpha=0.5, kernel=kernel, degree=2).fit(X[:300], y[:300])
    theirs = kernel_ridge.KernelRidge(alpha=0.5, kernel=kernel, degree=2).fit(X[:300], y[:300])
    scale = np.abs(theirs.dual_coef_).max()
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-9 * scale)
    np.testing.assert_allclose(ours.predict(X[300:]), theirs.predict(X[300:]), rtol=1e-8)


@pytest.mark.parametrize(("kernel", "gamma"), [("chi2", 0.5), ("additive_chi2", None)])
def test_kernels_of_histograms(kernel, gamma):
    shares = np.random.default_rng(0).dirichlet(np.ones(5), 60)
    target = shares @ np.arange(5.0)
    ours = KernelRidge(alpha=2.0, kernel=kernel, gamma=gamma).fit(shares, target)
    K = pairwise_kernels(shares, metric=kernel, **({} if gamma is None else {"gamma": gamma}))
    expected = np.linalg.solve(K + 2 * np.eye(60), target)
    np.testing.assert_allclose(ours.dual_coef_, expected, rtol=1e-9, atol=1e-12)


def test_functions_and_matrices():
    def similarity(x, z, power):
        return float(np.exp(-np.abs(x - z).sum()) ** power)

    rows, target = X[:80], y[:80]
    parameters = {"power": 0.05}
    ours = KernelRidge(kernel=similarity, kernel_params=parameters).fit(rows, target)
    laplacian = KernelRidge(kernel="laplacian", gamma=0.05).fit(rows, target)
    np.testing.assert_allclose(ours.predict(X[:200]), laplacian.predict(X[:200]), rtol=1e-10)
    values = pairwise_kernels(X[:200], rows, metric="laplacian", gamma=0.05)
    given = KernelRidge(kernel="precomputed").fit(values[:80], target)
    np.testing.assert_allclose(given.predict(values), laplacian.predict(X[:200]), rtol=1e-10)
    assert given.__sklearn_tags__().input_tags.pairwise


def test_several_targets_each_with_a_penalty():
    rows, target = load_linnerud(return_X_y=True)
    ours = KernelRidge(alpha=[0.1, 10.0, 0.1], kernel="rbf", gamma=1e-4).fit(rows, target)
    theirs = kernel_ridge.KernelRidge(alpha=[0.1, 10.0, 0.1], kernel="rbf", gamma=1e-4)
    np.testing.assert_allclose(ours.dual_coef_, theirs.fit(rows, target).dual_coef_, rtol=1e-9)
    for j, alpha in enumerate(ours.alpha):
        alone = KernelRidge(alpha=alpha, kernel="rbf", gamma=1e-4).fit(rows, target[:, j])
        np.testing.assert_allclose(ours.predict(rows)[:, j], alone.predict(rows), rtol=1e-9)


@pytest.mark.parametrize("search", [model_selection.GridSearchCV, suffice.GridSearchCV])
def test_searches_cut_given_matrices(search):
    K = pairwise_kernels(X[:120], metric="rbf", gamma=0.01)
    grid = {"alpha": [0.01, 1.0]}
    given = search(KernelRidge(kernel="precomputed"), grid, cv=3).fit(K, y[:120])
    plain = search(KernelRidge(kernel="rbf", gamma=0.01), grid, cv=3).fit(X[:120], y[:120])
    expected = plain.cv_results_["mean_test_score"]
    np.testing.assert_allclose(given.cv_results_["mean_test_score"], expected, rtol=1e-8)


# --- the factorisation in tiles ------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 255, 256, 257, 700])
def test_factors_of_any_number_of_tiles(rows):
    rng = np.random.default_rng(rows)
    A = rng.normal(size=(rows, rows + 3))
    K, shift, target = A @ A.T, rng.uniform(0.1, 1, rows), rng.normal(size=(rows, 2))
    gram = ShiftedGram(K.copy())
    with one_blas_thread():
        check_systems(gram, K, shift, target)


def check_systems(gram, K, shift, target):
    for factor in (1.0, 100.0):  # the second from what the first one left above the diagonal
        found = gram.solve(factor * shift, target, semi_definite=True)
        expected = np.linalg.solve(K + np.diag(factor * shift), target)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found.solution, expected, atol=1e-11 * scale)
        true = target - (K + np.diag(factor * shift)) @ found.solution
        assert (np.abs(true - found.residual) <= 2 * found.error).all()
        smallest = np.linalg.eigvalsh(K + np.diag(factor * shift))[0]
        assert found.inverse >= 1 / smallest * (1 - 1e-9)


def test_weights_of_very_different_sizes():
    weight = 10.0 ** np.random.default_rng(0).uniform(-12, 3, len(y))
    model = KernelRidge(kernel="rbf").fit(X, y, sample_weight=weight)
    assert model.certificate_.holds
    root = np.sqrt(weight)
    K = pairwise_kernels(X, metric="rbf")
    expected = root * np.linalg.solve(K * np.outer(root, root) + np.eye(len(y)), root * y)
    np.testing.assert_allclose(model.dual_coef_, expected, atol=1e-9 * np.abs(expected).max())


def test_a_target_of_zeros():
    model = KernelRidge(kernel="rbf").fit(X, np.zeros(len(y)))
    assert not model.predict(X).any()
    assert model.certificate_.holds


def test_nearly_singular_tiles():
    """A smooth kernel of many near rows, where the condition is 1e13."""
    line = np.linspace(0, 1, 600)[:, None]
    target = np.sin(9 * line).ravel()
    model = KernelRidge(alpha=1e-10, kernel="rbf", gamma=5.0).fit(line, target)
    assert model.certificate_.holds
    assert model.certificate_.condition > 1e12
    np.testing.assert_allclose(model.predict(line), target, atol=1e-6)


@pytest.mark.parametrize("threads", [1, 4])
def test_queries_in_small_parts(monkeypatch, threads):
    model = KernelRidge(kernel="rbf").fit(X, y)
    expected = model.predict(X)
    monkeypatch.setattr(matrix, "CELLS_AT_ONCE", 442 * 20)
    with suffice.config(threads=threads):
        np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12)


# --- what is singular ----------------------------------------------------------------------


def test_singular_matrices_have_a_shortest_solution():
    """Without a penalty, x·z of ten columns has rank ten."""
    model = KernelRidge(alpha=0.0).fit(X, y)
    expected = np.linalg.pinv(X @ X.T, hermitian=True, rcond=1e-12) @ y
    np.testing.assert_allclose(model.dual_coef_, expected, atol=1e-9 * np.abs(expected).max())
    proof = model.certificate_
    assert proof.holds
    assert "rank 10 of 442" in proof.notes[0]


def test_indefinite_matrices_are_solved():
    K = np.array([[0.0, 2.0], [2.0, 0.0]])
    model = KernelRidge(alpha=1.0, kernel="precomputed").fit(K, [1.0, 3.0])
    np.testing.assert_allclose(model.dual_coef_, np.linalg.solve(K + np.eye(2), [1, 3]))
    assert model.certificate_.path == "precomputed kernel, eigenvalues"


def test_a_row_twice():
    twice = np.vstack([X[:50], X[:50]])
    model = KernelRidge(alpha=0.0, kernel="rbf").fit(twice, np.append(y[:50], y[:50] + 2))
    np.testing.assert_allclose(model.predict(X[:50]), y[:50] + 1, rtol=1e-6)


# --- laws ----------------------------------------------------------------------------------


def test_rows_of_weight_zero_take_their_column_with_them():
    K = pairwise_kernels(X[:60], metric="rbf", gamma=0.01)
    weight = np.arange(60) % 3.0
    model = KernelRidge(kernel="precomputed").fit(K, y[:60], sample_weight=weight)
    rest = weight > 0
    plain = KernelRidge(kernel="rbf", gamma=0.01).fit(X[:60][rest], y[:60][rest], weight[rest])
    assert model.dual_coef_[~rest].tolist() == [0.0] * 20
    np.testing.assert_allclose(model.predict(K), plain.predict(X[:60]), rtol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_sparse_rows(kernel, tmp_path):
    rows = np.where(X > 0.5, X, 0.0)
    dense = KernelRidge(kernel=kernel, degree=2).fit(rows, y)
    model = KernelRidge(kernel=kernel, degree=2).fit(sparse.csr_array(rows), y)
    np.testing.assert_allclose(model.predict(rows), dense.predict(rows), rtol=1e-8)
    assert sparse.issparse(model.X_fit_)
    model.save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))


def test_the_rows_are_a_copy():
    rows = X.copy()
    model = KernelRidge(kernel="rbf").fit(rows, y)
    expected = model.predict(X)
    rows[:] = 0
    np.testing.assert_array_equal(model.predict(X), expected)


# --- bad input -----------------------------------------------------------------------------


def test_bad_input(monkeypatch):
    with pytest.raises(ValueError, match="one for each of 1 targets"):
        KernelRidge(alpha=[1.0, 2.0]).fit(X, y)
    with pytest.raises(ValueError, match="finite and at least 0"):
        KernelRidge(alpha=[-1.0]).fit(X, y)
    with pytest.raises(ValueError, match="'kernel' parameter"):
        KernelRidge(kernel="gaussian").fit(X, y)
    with pytest.raises(ValueError, match=r"square matrix.*\(442, 10\)"):
        KernelRidge(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match=r"square matrix.*\(5, 10\)"):
        KernelRidge(kernel="precomputed").fit(X[:5], y[:5])
    with pytest.raises(ValueError, match="not symmetric"):
        KernelRidge(kernel="precomputed").fit(X[:10], y[:10])
    with pytest.raises(ValueError, match="not finite: scale the columns"):
        KernelRidge(kernel="poly", degree=300).fit(1e3 * X, y)
    with pytest.raises(AttributeError, match="once the model is fitted"):
        _ = KernelRidge().X_fit_
    monkeypatch.setattr(matrix, "MOST_BYTES", 1 << 20)
    with pytest.raises(ValueError, match="compares every two rows"):
        KernelRidge().fit(X, y)


def test_tiles_are_not_larger_than_the_tests_data():
    """Or else the tests above would be of one tile."""
    assert shifted.TILE < 442
