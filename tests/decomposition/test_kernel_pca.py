"""Principal components in the space of a kernel."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition
from sklearn.datasets import load_digits, load_iris, make_circles
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import pairwise_kernels

import suffice
from suffice import PCA, KernelPCA

X = load_iris().data
DIGITS = load_digits().data[:500] / 16
APART = np.random.default_rng(0).normal(size=(600, 20))
"""Rows far from each other: eigenvalues are close together."""


def up_to_signs(one, other, tolerance):
    signs = np.sign(np.sum(one * other, axis=0))
    scale = np.abs(other).max()
    np.testing.assert_allclose(one * signs, other, atol=tolerance * scale)


# --- closed forms --------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_the_linear_kernel_is_pca(weighted):
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float) if weighted else None
    ours = KernelPCA().fit(X, sample_weight=weight)
    plain = PCA().fit(X, sample_weight=weight)
    assert ours.eigenvalues_.shape == (4,)
    np.testing.assert_allclose(ours.eigenvalues_, plain.singular_values_**2, rtol=1e-10)
    up_to_signs(ours.transform(X), plain.transform(X), 1e-10)


def test_features_that_are_written_out():
    """(x·z)² is the product of x² and √2 xᵢ xⱼ."""
    i, j = np.triu_indices(4)
    features = X[:, i] * X[:, j] * np.where(i == j, 1.0, 2**0.5)
    ours = KernelPCA(5, kernel="poly", degree=2, gamma=1.0, coef0=0.0).fit(X)
    up_to_signs(ours.transform(X), PCA(5).fit(features).transform(features), 1e-9)


def test_rings_come_apart():
    """No line separates rings; a cut of the first coordinate of a Gaussian kernel does."""
    rings, label = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    first = KernelPCA(1, kernel="rbf", gamma=3.0).fit_transform(rings)[:, 0]
    inside, outside = first[label == 1], first[label == 0]
    assert inside.min() > outside.max() or inside.max() < outside.min()


def test_coordinates_of_the_fit_are_scaled_eigenvectors():
    model = KernelPCA(6, kernel="rbf").fit(X)
    expected = model.eigenvectors_ * np.sqrt(model.eigenvalues_)
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(model.eigenvectors_, axis=0), 1.0)
    np.testing.assert_allclose(model.fit_transform(X), expected, atol=1e-12)
    assert model.fit_transform(X.astype(np.float32)).dtype == np.float32
    assert model.fit_transform(X, sample_weight=np.arange(150) % 2).shape == (150, 6)


# --- scikit-learn --------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "cosine", "sigmoid"])
@pytest.mark.parametrize("solver", ["auto", "dense", "arpack", "randomized"])
def test_as_scikit_learns(kernel, solver):
    options = {"n_components": 4, "kernel": kernel, "gamma": 0.01}
    ours = KernelPCA(**options, eigen_solver=solver).fit(DIGITS)
    theirs = decomposition.KernelPCA(**options, eigen_solver="dense").fit(DIGITS)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(ours.eigenvectors_, theirs.eigenvectors_, atol=1e-8)
    np.testing.assert_allclose(ours.transform(DIGITS), theirs.transform(DIGITS), atol=1e-8)
    assert ours.gamma_ == theirs.gamma_
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert ours.certificate_.path == ("LAPACK" if solver == "dense" else "ARPACK")
    assert ours.certificate_.holds


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_way_back(kernel):
    options = {"n_components": 3, "kernel": kernel, "fit_inverse_transform": True, "alpha": 0.01}
    ours, theirs = KernelPCA(**options).fit(X), decomposition.KernelPCA(**options).fit(X)
    there = ours.transform(X)
    np.testing.assert_allclose(
        ours.inverse_transform(there), theirs.inverse_transform(theirs.transform(X)), atol=1e-7
    )
    np.testing.assert_allclose(ours.X_transformed_fit_, there, atol=1e-11)
    if kernel == "rbf":
        assert np.abs(ours.inverse_transform(there) - X).mean() < 0.2


def test_functions_and_matrices():
    def product(x, z, factor=1.0):
        return factor * float(x @ z)

    plain = KernelPCA(2).fit(X)
    ours = KernelPCA(2, kernel=product, kernel_params={"factor": 4.0}).fit(X)
    np.testing.assert_allclose(ours.transform(X), 2 * plain.transform(X), atol=1e-10)
    K = X @ X.T
    given = KernelPCA(2, kernel="precomputed").fit(K)
    np.testing.assert_allclose(given.transform(K), plain.transform(X), atol=1e-10)


def test_zero_eigenvalues():
    few = X[:3]
    assert KernelPCA(3).fit(few).eigenvalues_[-1] == 0.0
    assert KernelPCA(3).fit(few).transform(X)[:, -1].tolist() == [0.0] * len(X)
    assert KernelPCA(3, remove_zero_eig=True).fit(few).transform(X).shape == (150, 2)
    assert KernelPCA().fit(few).transform(X).shape == (150, 2)
    same = KernelPCA(2).fit(np.ones((300, 2)))
    assert same.transform(np.ones((1, 2))).tolist() == [[0.0, 0.0]]


# --- the certificate -----------------------------------------------------------------------


def test_certificates():
    proof = KernelPCA(5, kernel="rbf", gamma=0.05).fit(DIGITS).certificate_
    assert proof.holds
    assert proof.residual < 1e-12
    assert proof.orthogonality < 1e-12
    sigmoid = KernelPCA(2, kernel="sigmoid").fit(DIGITS).certificate_
    assert any("mercer_check" in note for note in sigmoid.notes)
    loose = KernelPCA(5, kernel="rbf", gamma=0.1, eigen_solver="arpack", tol=0.3)
    with pytest.warns(ConvergenceWarning, match="not proved: eigenvalues"):
        loose.fit(APART)


def test_significant_negative_eigenvalues_are_refused():
    K = X[:, :2] @ X[:, :2].T - X[:, 2:] @ X[:, 2:].T
    with pytest.raises(ValueError, match="significant negative eigenvalues"):
        KernelPCA(kernel="precomputed").fit(K)
    few = KernelPCA(1, kernel="precomputed").fit(K)  # the negative ones are not among these
    assert few.certificate_.holds


def test_small_negative_eigenvalues_are_told():
    K = X[:, :2] @ X[:, :2].T - 1e-7 * X[:, 2:] @ X[:, 2:].T
    proof = KernelPCA(kernel="precomputed").fit(K).certificate_
    assert proof.negative < 0
    assert "not positive semi-definite" in proof.notes[0]


def test_a_fit_that_does_not_converge_goes_to_lapack():
    options = {"n_components": 5, "kernel": "rbf", "gamma": 0.1}
    model = KernelPCA(**options, eigen_solver="arpack", max_iter=1).fit(APART)
    assert model.certificate_.path == "LAPACK, for ARPACK did not converge"
    expected = KernelPCA(**options, eigen_solver="dense").fit(APART).eigenvalues_
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-10)


# --- laws ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weights_are_repetitions(kernel):
    weight = np.arange(len(X)) % 3
    rest = np.repeat(np.arange(len(X)), weight)
    weighted = KernelPCA(3, kernel=kernel).fit(X, sample_weight=weight)
    repeated = KernelPCA(3, kernel=kernel).fit(X[rest])
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-11)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-10)


def test_rows_of_weight_zero_take_their_column_with_them():
    K = pairwise_kernels(X, metric="rbf", gamma=0.1)
    weight = np.arange(len(X)) % 3.0
    given = KernelPCA(2, kernel="precomputed").fit(K, sample_weight=weight)
    plain = KernelPCA(2, kernel="rbf", gamma=0.1).fit(X, sample_weight=weight)
    np.testing.assert_allclose(given.transform(K), plain.transform(X), atol=1e-10)


@pytest.mark.parametrize("threads", [2, 4])
def test_same_bits_at_any_number_of_threads(threads):
    with suffice.config(threads=1):
        alone = KernelPCA(4, kernel="rbf").fit(DIGITS)
    with suffice.config(threads=threads):
        together = KernelPCA(4, kernel="rbf").fit(DIGITS)
    assert together.eigenvectors_.tobytes() == alone.eigenvectors_.tobytes()


def test_sparse_rows():
    rows = np.where(DIGITS > 0.3, DIGITS, 0.0)
    dense = KernelPCA(3, kernel="rbf").fit(rows)
    model = KernelPCA(3, kernel="rbf").fit(sparse.csr_array(rows))
    np.testing.assert_allclose(model.transform(rows), dense.transform(rows), atol=1e-10)
    assert sparse.issparse(model.X_fit_)


# --- bad input -----------------------------------------------------------------------------


def test_bad_input():
    with pytest.raises(ValueError, match="Cannot fit_inverse_transform"):
        KernelPCA(kernel="precomputed", fit_inverse_transform=True).fit(X @ X.T)
    with pytest.raises(NotImplementedError, match="sparse"):
        KernelPCA(2, fit_inverse_transform=True).fit(sparse.csr_array(X))
    with pytest.raises(NotFittedError, match="fit_inverse_transform=True"):
        KernelPCA(2).fit(X).inverse_transform(X[:, :2])
    back = KernelPCA(2, fit_inverse_transform=True).fit(X)
    with pytest.raises(ValueError, match="3 columns, but KernelPCA has 2 components"):
        back.inverse_transform(X[:, :3])
    assert not hasattr(back.set_params(fit_inverse_transform=False).fit(X), "dual_coef_")
    with pytest.raises(ValueError, match="square matrix"):
        KernelPCA(kernel="precomputed").fit(X)
    with pytest.raises(AttributeError, match="once the model is fitted"):
        _ = KernelPCA().X_fit_
