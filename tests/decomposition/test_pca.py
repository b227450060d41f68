"""Principal components against closed forms, rational arithmetic and scikit-learn."""

from __future__ import annotations

import copy
import threading
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn import decomposition
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import suffice
from suffice import PCA
from suffice.sources import Source
from tests.contract import contract

Peer = decomposition.PCA

ATTRIBUTES = (
    "components_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "mean_",
    "noise_variance_",
)


def separated(n=400, d=6, seed=0, offset=0.0):
    """Rows whose principal values are well apart, in turned directions."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return rng.normal(size=(n, d)) * 3.0 * (0.6 if d < 20 else 0.95) ** np.arange(d) @ turn + offset


def close(ours, theirs, tolerance=1e-10, names=ATTRIBUTES):
    for name in names:
        a, b = np.asarray(getattr(ours, name)), np.asarray(getattr(theirs, name))
        assert a.shape == b.shape, name
        scale = np.abs(b).max(initial=0.0) or 1.0
        if name == "noise_variance_":  # may be zero, or rounding in its place
            scale = max(scale, np.square(theirs.singular_values_).max(initial=0.0) * 1e-10)
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale, err_msg=name)
    assert ours.n_components_ == theirs.n_components_


def same_bits(one, other):
    for name in ATTRIBUTES:
        a, b = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        assert a.tobytes() == b.tobytes(), name
    assert one.certificate_ == other.certificate_


# --- closed forms --------------------------------------------------------------------------


def hadamard(order):
    H = np.ones((1, 1))
    while len(H) < order:
        H = np.kron(H, [[1.0, 1.0], [1.0, -1.0]])
    return H


@pytest.mark.parametrize("ratio", [2.0, 2.0**-2, 2.0**-4])
def test_known_decomposition(ratio):
    """Integer-orthogonal directions with known lengths: everything is known exactly."""
    H = hadamard(8)
    lengths = ratio ** np.arange(8) if ratio < 1 else ratio ** -np.arange(8.0)
    # Two rows ± a direction for each: the scatter is Σ 2 lₖ² hₖ hₖᵀ, each hₖ of length √8.
    X = np.concatenate([H * lengths[:, None], -H * lengths[:, None]]) + 3.0
    model = PCA().fit(X)
    variances = 2 * lengths**2 * 8 / 15
    error = np.abs(model.explained_variance_ - variances) / variances
    promised = 10.0**-model.certificate_.digits
    assert error.max() <= promised
    assert np.abs(np.abs(model.components_) - np.sqrt(1 / 8)).max() <= promised
    np.testing.assert_array_equal(np.sign(model.components_), np.sign(H))  # H begins with +
    assert model.certificate_.holds
    assert (model.mean_ == 3.0).all()


def test_beyond_double_double():
    """Deviations in the ratio 10¹⁸: what is promised is kept, and no more is claimed."""
    H = hadamard(4)
    lengths = 10.0 ** (-6 * np.arange(4))
    X = np.concatenate([H * lengths[:, None], -H * lengths[:, None]])
    with pytest.warns(ConvergenceWarning, match="keep fewer components"):
        model = PCA(whiten=True).fit(X)  # divides by each: six digits of the largest do not do
    assert not model.certificate_.holds
    assert PCA(1, whiten=True).fit(X).certificate_.digits > 14
    variances = 2 * lengths**2 * 4 / 7
    plain = PCA().fit(X)
    assert plain.certificate_.digits > 14
    assert plain.explained_variance_[3] == 0.0
    assert any("vary in 3 directions" in note for note in plain.certificate_.notes)
    error = np.abs(model.explained_variance_ - variances)[:3] / variances[:3]
    assert error.max() <= 10.0**-model.certificate_.digits


def rational_scatter(X):
    rows = [[Fraction(float(x)) for x in row] for row in X]
    n, d = len(rows), len(rows[0])
    mean = [sum(row[j] for row in rows) / n for j in range(d)]
    return [
        [sum((row[i] - mean[i]) * (row[j] - mean[j]) for row in rows) for j in range(d)]
        for i in range(d)
    ], mean


def rational_residual(S, value, vector):
    """‖S v − λ v‖² / ‖v‖², which bounds the distance of λ from a true value: exactly."""
    v = [Fraction(float(x)) for x in vector]
    r = [sum(S[i][j] * v[j] for j in range(len(v))) - value * v[i] for i in range(len(v))]
    return sum(x * x for x in r) / sum(x * x for x in v)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("exact", [False, True])
def test_digits_are_kept_whatever_the_offset(offset, exact):
    X = separated(60, 4, offset=offset)
    model = PCA(exact=exact).fit(X)
    S, mean = rational_scatter(X)
    # The Rayleigh quotient of a vector with error e has an error e²: exact to far below u.
    for value, vector in zip(model.explained_variance_, model.components_, strict=True):
        v = [Fraction(float(x)) for x in vector]
        quotient = sum(v[i] * S[i][j] * v[j] for i in range(4) for j in range(4))
        quotient /= sum(x * x for x in v) * 59
        assert abs(value / float(quotient) - 1) <= 10.0**-model.certificate_.digits
    for k, vector in enumerate(model.components_):
        value = Fraction(float(model.explained_variance_[k])) * 59
        size = float(rational_residual(S, value, vector)) ** 0.5
        gap = np.abs(np.delete(model.explained_variance_, k) * 59 - float(value)).min()
        assert size / gap <= 2 * 10.0**-model.certificate_.digits
    np.testing.assert_allclose(model.mean_, [float(m) for m in mean], rtol=1e-15)
    assert model.certificate_.digits > 14


def test_covariance_solver_of_scikit_learn_loses_the_digits_that_are_kept_here():
    X = separated(5000, 4, offset=1e8)
    truth = Peer(svd_solver="full").fit(X - 1e8).explained_variance_
    ours = np.abs(PCA().fit(X).explained_variance_ / truth - 1).max()
    theirs = np.abs(Peer(svd_solver="covariance_eigh").fit(X).explained_variance_ / truth - 1).max()
    assert ours < 1e-12
    assert theirs > 1e-3


@pytest.mark.parametrize("n", [3000, 20_000])
def test_float64_promises_no_more_than_it_keeps(n):
    X = separated(n, 40, seed=3)
    model = PCA(n_components=3).fit(X)
    assert model.certificate_.path == "eigenvectors in float64"
    exact = PCA(n_components=3, exact=True).fit(X)
    assert exact.certificate_.digits > 15
    error = 10.0**-model.certificate_.digits
    assert np.abs(model.explained_variance_ / exact.explained_variance_ - 1).max() <= error
    assert np.linalg.norm(model.components_ - exact.components_, axis=1).max() <= error
    assert abs(model.noise_variance_ / exact.noise_variance_ - 1) <= error
    assert 10 <= model.certificate_.digits < 14


def test_small_variances_ask_for_double_double_where_they_divide():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 6)) * 10.0 ** -np.arange(6)
    model = PCA(whiten=True).fit(X)
    assert "double-double" in model.certificate_.path
    assert len(model.trace_) == 2
    assert model.certificate_.digits > 14
    plain = PCA().fit(X)
    assert len(plain.trace_) == 1
    assert plain.certificate_.holds
    assert any("variances of components 5 " in note for note in plain.certificate_.notes)
    error = np.abs(plain.explained_variance_ - model.explained_variance_).max()
    assert error <= 10.0**-plain.certificate_.digits * plain.explained_variance_[0]
    assert not plain.refit(n_components=3, whiten=True).certificate_.notes
    with pytest.warns(ConvergenceWarning, match="kept in float64"):
        plain.refit(n_components=6)


# --- six digits in one pass ----------------------------------------------------------------


def correlated(kappa, n=3000, d=40, seed=0):
    """Six factors and noise, in columns of many units; κ of the columns in their deviations."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(d, 6))
    loadings /= np.linalg.norm(loadings, axis=1, keepdims=True)
    share = (most := np.linalg.norm(loadings, 2) ** 2) / (kappa**2 - 1 + most)
    X = rng.normal(size=(n, 6)) @ loadings.T * np.sqrt(1 - share)
    X += np.sqrt(share) * rng.normal(size=(n, d))
    return (X + rng.uniform(-10, 10, d)) * np.logspace(-3, 3, d)


def singular(X, standardize=False):
    """Variances and directions from the singular values of the rows: nothing is squared."""
    away = X - X.mean(axis=0)
    away -= away.mean(axis=0)
    away = away / away.std(axis=0) if standardize else away
    values, directions = np.linalg.svd(away, full_matrices=False)[1:]
    return np.square(values) / (len(X) - 1), directions


def named(model, start):
    """The components that a note which starts so names."""
    for note in model.certificate_.notes:
        if note.startswith(start):
            listed = note[len(start) :].partition("(")[0].split(",")
            return [int(i) for i in listed if "…" not in i]
    return []


@pytest.mark.parametrize("kappa", [1, 30, 1e3, 1e5])
@pytest.mark.parametrize("standardize", [False, True])
def test_correlated_columns_take_one_pass(kappa, standardize):
    X = correlated(kappa)
    model = PCA(10, standardize=standardize).fit(X)
    assert len(model.trace_) == 1
    assert model.statistics_.precision == "float64"
    assert model.certificate_.holds
    assert model.certificate_.digits >= 6
    promised = 10.0**-model.certificate_.digits
    variances, directions = singular(X, standardize)
    error = np.abs(model.explained_variance_ - variances[:10]).max() / variances[0]
    assert error <= promised
    assert abs(model.noise_variance_ - variances[10:].mean()) <= promised * variances[0]
    shares = variances / variances.sum()
    assert np.abs(model.explained_variance_ratio_ - shares[:10]).max() <= 2 * promised * shares[0]
    sure = np.setdiff1d(np.arange(10), named(model, "components "))
    assert len(sure) >= 5
    ours, theirs = model.components_[sure], directions[sure]
    theirs = theirs * np.sign((ours * theirs).sum(axis=1, keepdims=True))
    assert np.linalg.norm(ours - theirs, axis=1).max() <= promised
    # All of them: the smallest are known next to the largest, or count as none.
    every = PCA(standardize=standardize).fit(X)
    assert len(every.trace_) == 1
    error = np.abs(every.explained_variance_ - variances).max() / variances[0]
    assert error <= 10.0**-every.certificate_.digits
    np.testing.assert_allclose(every.components_ @ every.components_.T, np.eye(40), atol=1e-12)


def test_near_equal_variances_are_named_in_one_pass():
    """Deviations 3, 2, 2 (1 + 1e-9), 1, …: the plane of the two is known, they are not."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(4000, 40))
    rows = np.linalg.qr(rows - rows.mean(axis=0))[0]
    deviations = np.append([3, 2 * (1 + 1e-9), 2], 0.95 ** np.arange(37))
    turn = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    model = PCA(4).fit(rows * deviations @ turn)
    assert len(model.trace_) == 1
    assert model.certificate_.holds
    assert named(model, "components ") == [1, 2]
    errors = np.linalg.norm(np.abs(model.components_[[0, 3]] @ turn[[0, 3]].T) - np.eye(2))
    assert errors <= 10.0**-model.certificate_.digits
    plane, true = model.components_[1:3], turn[1:3]
    assert np.linalg.norm(plane - plane @ true.T @ true) < 1e-6
    # Cut between the two, which of them is kept is arbitrary.
    assert "which of their directions" in PCA(2).fit(rows * deviations @ turn).certificate_.notes[1]


@pytest.mark.parametrize("standardize", [False, True])
def test_dependent_and_constant_columns_take_one_pass(standardize):
    rng = np.random.default_rng(5)
    X = correlated(3.0, d=34)[:, :30] * np.logspace(3, -3, 34)[:30]
    X = np.hstack([X, np.eye(4)[rng.integers(0, 4, len(X))], np.full((len(X), 2), [0.1, 1e8 / 3])])
    model = PCA(standardize=standardize).fit(X)
    assert len(model.trace_) == 1
    assert model.certificate_.holds
    assert model.certificate_.rank == 33
    assert model.explained_variance_[33:].tolist() == [0.0] * 3
    assert any("vary in 33 directions" in note for note in model.certificate_.notes)
    away = X - X.mean(axis=0)
    one_hot = np.append(np.zeros(30), np.full(4, 0.5))  # the ones add up to 1
    if standardize:
        one_hot = one_hot * np.append(np.zeros(30), away[:, 30:34].std(axis=0))
        one_hot /= np.linalg.norm(one_hot)
    null = model.components_[33:]
    inside = np.append(one_hot, [0, 0])
    assert np.linalg.norm(null.T @ (null @ inside) - inside) < 1e-10
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(36), atol=1e-12)
    with pytest.raises(ValueError, match=r"no density there.*exact=True"):
        model.score(X)
    white = PCA(standardize=standardize, whiten=True).fit(X)
    assert "double-double" in white.certificate_.path
    assert (white.explained_variance_[33:] == 0).all()


def test_a_number_of_components_that_errors_leave_open_is_named():
    rng = np.random.default_rng(6)
    H = hadamard(64)[1:37].T  # columns of ±1, orthogonal, of mean 0: all variances are equal
    X = np.tile(H, (50, 1))
    half = PCA(0.5).fit(X)
    assert len(half.trace_) == 1
    assert half.n_components_ in (18, 19)  # more than half is asked for
    assert any("one component more or less" in note for note in half.certificate_.notes)
    assert not any("more or less" in n for n in PCA(0.49).fit(X).certificate_.notes)
    rows = rng.normal(size=(3000, 34)) * np.append(np.full(4, 3.0), np.ones(30))
    clear = PCA("mle").fit(rows)
    assert clear.n_components_ == Peer("mle", svd_solver="full").fit(rows).n_components_ == 4
    assert not any("most probable" in note for note in clear.certificate_.notes)
    dependent = np.hstack([rows, rows[:, :2] @ rng.normal(size=(2, 2))])
    model = PCA("mle").fit(dependent)
    assert len(model.trace_) == 1
    assert any("most probable" in note for note in model.certificate_.notes)
    exact = PCA("mle", exact=True).fit(dependent)
    assert exact.n_components_ == model.n_components_


def test_one_column_is_its_variance():
    x = np.array([[1.0], [2.0], [4.0], [9.0]])
    model = PCA().fit(x)
    assert model.components_.tolist() == [[1.0]]
    assert model.explained_variance_[0] == pytest.approx(np.var(x, ddof=1), rel=1e-15)
    assert model.explained_variance_ratio_.tolist() == [1.0]


# --- scikit-learn --------------------------------------------------------------------------


@pytest.mark.parametrize("n_components", [None, 0, 1, 3, 6, 0.5, 0.9, 0.999, "mle"])
@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("n", [50, 4000])
def test_agrees_with_scikit_learn(n_components, whiten, n):
    X = separated(n)
    ours = PCA(n_components, whiten=whiten).fit(X)
    theirs = Peer(n_components, whiten=whiten, svd_solver="full").fit(X)
    close(ours, theirs)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-10)
    new = ours.transform(X[:7])
    back = theirs.inverse_transform(new) if ours.n_components_ else np.tile(theirs.mean_, (7, 1))
    np.testing.assert_allclose(ours.inverse_transform(new), back, atol=1e-10)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    assert ours.n_samples_ == theirs.n_samples_
    assert ours.n_features_in_ == 6


@pytest.mark.parametrize("n_components", [None, 0, 2, 0.9])
def test_densities_agree_with_scikit_learn(n_components):
    X = separated(300)
    ours, theirs = PCA(n_components).fit(X), Peer(n_components, svd_solver="full").fit(X)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-10)
    np.testing.assert_allclose(ours.get_precision(), theirs.get_precision(), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-9)
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-10)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("whiten", [False, True])
def test_the_model_is_a_normal_distribution(standardize, whiten):
    """Whitening changes coordinates, not the distribution that the model stands for."""
    X = separated(300, offset=5.0) * [1, 10, 0.1, 1, 1, 3]
    model = PCA(2, standardize=standardize, whiten=whiten).fit(X)
    covariance = model.get_covariance()
    np.testing.assert_allclose(covariance @ model.get_precision(), np.eye(6), atol=1e-9)
    expected = multivariate_normal(model.mean_, covariance).logpdf(X)
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-9)
    full = PCA(standardize=standardize, whiten=whiten).fit(X)
    np.testing.assert_allclose(full.get_covariance(), np.cov(X.T), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(300, 6), (60, 200)])
@pytest.mark.parametrize("whiten", [False, True])
def test_standardized_is_a_pipeline_with_a_scaler(shape, whiten):
    X = separated(*shape) * np.logspace(0, 3, shape[1]) + 7.0
    ours = PCA(4, standardize=True, whiten=whiten).fit(X)
    scaler = StandardScaler().fit(X)
    theirs = Peer(4, whiten=whiten, svd_solver="full").fit(scaler.transform(X))
    close(ours, theirs, names=[name for name in ATTRIBUTES if name != "mean_"])
    np.testing.assert_allclose(ours.mean_, scaler.mean_, rtol=1e-12)
    np.testing.assert_allclose(ours.scale_, scaler.scale_, rtol=1e-12)
    pipeline = make_pipeline(scaler, theirs)
    np.testing.assert_allclose(ours.transform(X), pipeline.transform(X), atol=1e-8)
    back = ours.inverse_transform(ours.transform(X))
    expected = scaler.inverse_transform(theirs.inverse_transform(pipeline.transform(X)))
    np.testing.assert_allclose(back, expected, rtol=1e-9, atol=1e-9)
    assert not hasattr(PCA().fit(X), "scale_")


@pytest.mark.parametrize("data", [load_iris().data, load_digits().data], ids=["iris", "digits"])
@pytest.mark.parametrize("n_components", [0.8, 3, "mle"])
def test_real_data(data, n_components):
    data = data[:, data.std(axis=0) > 0.4]  # and in columns: the layout must not matter
    close(PCA(n_components).fit(data), Peer(n_components, svd_solver="full").fit(data))


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "arpack", "randomized"])
def test_solvers_are_accepted_and_change_nothing(solver):
    X = separated(100)
    model = PCA(
        2,
        copy=False,
        svd_solver=solver,
        tol=0.1,
        iterated_power=3,
        n_oversamples=4,
        power_iteration_normalizer="QR",
        random_state=1,
    )
    kept = X.copy()
    same_bits(model.fit(X), PCA(2).fit(X))
    np.testing.assert_array_equal(X, kept)


def test_fit_transform_is_fit_and_transform():
    X = separated(100)
    weight = np.arange(100.0)
    for parameters in ({}, {"sample_weight": weight}):
        model = PCA(2, whiten=True)
        got = model.fit_transform(X, **parameters)
        np.testing.assert_array_equal(got, PCA(2, whiten=True).fit(X, **parameters).transform(X))
    variance = np.var(PCA(whiten=True).fit_transform(X), axis=0, ddof=1)
    np.testing.assert_allclose(variance, 1.0, rtol=1e-12)


def test_targets_are_ignored():
    X = separated(50)
    same_bits(PCA().fit(X, ["a", None] * 25), PCA().fit(X))
    PCA().fit_transform(X, ["a"] * 50)


# --- wide data -----------------------------------------------------------------------------


@pytest.mark.parametrize("n_components", [3, 59, 0.7])
@pytest.mark.parametrize("layout", ["array", "frame", "sparse", "float32"])
def test_fewer_rows_than_columns(n_components, layout):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300)) * 0.97 ** np.arange(300) + 2.0
    if layout == "sparse":
        X[rng.uniform(size=X.shape) < 0.5] = 0.0
    if layout == "float32":
        X = X.astype(np.float32).astype(np.float64)
    make = {
        "array": np.asarray,
        "frame": lambda X: pd.DataFrame(X, columns=[f"x{j}" for j in range(300)]),
        "sparse": sparse.csr_array,
        "float32": lambda X: X.astype(np.float32),
    }[layout]
    # Of all directions, some have variances near each other's: float64 has eight digits of these.
    ours = PCA(n_components, exact=n_components == 59).fit(make(X))
    close(ours, Peer(n_components, svd_solver="full").fit(X))
    assert "rows' side" in ours.certificate_.path
    assert ours.certificate_.digits > 9
    with pytest.raises(AttributeError, match="kept no statistic"):
        _ = ours.statistics_
    np.testing.assert_allclose(
        ours.transform(make(X)), Peer(n_components, svd_solver="full").fit_transform(X), atol=1e-9
    )


@pytest.mark.parametrize("shape", [(20, 40), (60, 300)])
@pytest.mark.parametrize("standardize", [False, True])
def test_all_components_of_few_rows(shape, standardize):
    """One direction of as many as there are rows has no variance: centring takes it."""
    X = separated(*shape)
    model = PCA(standardize=standardize).fit(X)
    n = shape[0]
    assert model.n_components_ == n
    assert model.explained_variance_[-1] == 0.0
    assert (model.explained_variance_[:-1] > 0).all()
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(n), atol=1e-10)
    assert any("chosen by rule" in note for note in model.certificate_.notes)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-10)


def test_directions_of_small_variances_of_few_rows_are_orthogonal():
    """Divided by small lengths, the rows' vectors would lean towards each other."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 40)) @ (10.0 ** -np.linspace(0, 5.5, 40) * hadamard(256)[1:41].T).T
    model = PCA().fit(X)
    assert model.certificate_.path == "eigenvectors in float64, on the rows' side"
    assert model.certificate_.holds
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(40), atol=1e-12)
    variances, directions = singular(X)
    error = np.abs(model.explained_variance_ - variances).max() / variances[0]
    assert error <= 10.0**-model.certificate_.digits
    sure = np.arange(named(model, "components ")[0])
    lengths = np.abs((model.components_[sure] * directions[sure]).sum(axis=1))
    assert np.sqrt(2 - 2 * np.minimum(lengths, 1.0)).max() <= 1e-6


def test_wide_and_tall_agree():
    """The rows' side finds what the moments find."""
    X = separated(129, 140, seed=5)
    wide = PCA(5).fit(X[:, : 129 + 5])
    from suffice.statistics.moments.full import Moments

    model = copy.deepcopy(wide)
    model._solve(Moments.summarize(X[:, :134], None, None, "double-double"), final=True)
    close(wide, model, 1e-12)


def test_wide_standardized_in_double_double():
    """Equal rows: float64 cannot tell that they add nothing, double-double can."""
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(10, 150)), 4, axis=0) * np.logspace(0, 2, 150)
    model = PCA(standardize=True).fit(X)
    assert model.certificate_.rank == 9
    assert (model.explained_variance_[9:] == 0).all()
    close(PCA(standardize=True).fit(X[::4], sample_weight=np.full(10, 4)), model, 1e-11)


# --- weights -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(40, 5), (3000, 5), (50, 150), (6, 9)])
@pytest.mark.parametrize("parameters", [{}, {"standardize": True}, {"n_components": 0.8}])
def test_a_weight_is_a_number_of_repetitions(shape, parameters):
    X = separated(*shape)
    weight = np.random.default_rng(1).integers(0, 4, size=len(X))
    weight[0] = 0
    weighted = PCA(**parameters).fit(X, sample_weight=weight)
    repeated = PCA(**parameters).fit(np.repeat(X, weight, axis=0))
    close(weighted, repeated, 1e-11)
    assert weighted.n_samples_ == repeated.n_samples_ == weight.sum()


def test_fractional_weights():
    X = separated(200)
    weight = np.random.default_rng(0).uniform(0.2, 3, size=200)
    model = PCA().fit(X, sample_weight=weight)
    covariance = np.cov(X.T, aweights=weight) * (1 - np.square(weight).sum() / weight.sum() ** 2)
    covariance *= weight.sum() / (weight.sum() - 1)
    np.testing.assert_allclose(model.get_covariance(), covariance, rtol=1e-10, atol=1e-13)
    assert model.n_samples_ == pytest.approx(weight.sum())


# --- determinism, files --------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("shape", [(60, 3), (100_000, 4), (40, 200)])
@pytest.mark.parametrize("standardize", [False, True])
def test_same_bits_at_any_number_of_threads_and_from_files(shape, standardize, tmp_path):
    X = separated(*shape, offset=1.0)
    fits = []
    for threads in (1, 2, 4):
        with suffice.config(threads=threads):
            fits.append(PCA(2, standardize=standardize).fit(X))
    columns = {f"x{j}": X[:, j] for j in range(shape[1])}
    for i in range(2):
        table = pa.table({**columns, "label": ["a", "b"] * (shape[0] // 2)})
        half = shape[0] // 2
        pq.write_table(table.slice(i * half, half), tmp_path / f"{i}.parquet", row_group_size=1000)
    source = suffice.scan(str(tmp_path / "*.parquet"), target="label")
    fits.append(PCA(2, standardize=standardize).fit(source))
    for other in fits[1:]:
        same_bits(other, fits[0])
    transformed = fits[3].transform(source)
    assert isinstance(transformed, Source)
    assert transformed.feature_names is None
    assert transformed.column_label(1) == "column 'pca1'"
    framed = fits[3].set_output(transform="pandas").transform(source)
    assert framed.feature_names == ("pca0", "pca1")
    assert transformed.has_target
    rows = np.concatenate([piece.load().X for piece in transformed.pieces()])
    np.testing.assert_allclose(rows, fits[0].transform(X), atol=1e-12)
    back = fits[3].inverse_transform(transformed)
    assert back.feature_names == tuple(columns)
    rows = np.concatenate([piece.load().X for piece in back.pieces()])
    np.testing.assert_allclose(rows, fits[0].inverse_transform(fits[0].transform(X)), atol=1e-9)
    assert fits[3].score(source) == pytest.approx(fits[0].score(X), rel=1e-12)
    np.testing.assert_allclose(fits[3].score_samples(source), fits[0].score_samples(X), rtol=1e-9)


def test_score_of_a_source_is_weighted():
    X = separated(50)
    weight = np.arange(50.0)
    model = PCA(2).fit(X)
    weighted = model.score(suffice.sources.as_source(X, None, weight))
    assert weighted == pytest.approx(np.average(model.score_samples(X), weights=weight))


def test_two_fits_at_once():
    X = separated(3000, 40)
    expected, found = PCA(5).fit(X), []
    threads = [
        threading.Thread(target=lambda: found.append(PCA(5, n_jobs=2).fit(X))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for model in found:
        same_bits(model, expected)


def test_sparse_rows():
    rng = np.random.default_rng(0)
    X = np.where(rng.uniform(size=(500, 8)) < 0.3, rng.normal(size=(500, 8)), 0) * np.arange(1, 9)
    X[:, 3] = 2.0
    model = PCA(standardize=True).fit(sparse.csr_array(X))
    close(model, PCA(standardize=True).fit(X), 1e-12)
    rows = sparse.csr_matrix(X)
    np.testing.assert_allclose(model.transform(rows), model.transform(X), atol=1e-12)
    np.testing.assert_allclose(PCA(3).fit(rows).score_samples(rows), PCA(3).fit(X).score_samples(X))


# --- from the statistic --------------------------------------------------------------------


@pytest.mark.parametrize("n", [200, 20_000])
def test_refit_needs_no_rows(n):
    X = separated(n, 6, offset=3.0)
    model = PCA(2).fit(X)
    for parameters in (
        {"n_components": None},
        {"n_components": 4, "whiten": True},
        {"standardize": True},
        {"standardize": False, "n_components": 0.9, "whiten": False},
    ):
        model.refit(**parameters)
        fresh = PCA(**{name: getattr(model, name) for name in PCA._refit_parameters}).fit(X)
        close(model, fresh, 1e-9)
        np.testing.assert_allclose(model.transform(X), fresh.transform(X), atol=1e-9)
    before = model.components_
    with pytest.raises(ValueError, match="n_components"):
        model.refit(n_components=7)
    assert model.components_ is before
    assert model.n_components == 0.9


def test_update_merge_and_forget():
    X = separated(900, 5)
    whole = PCA(3).fit(X)
    updated = PCA(3).fit(X[:300]).update(X[300:])
    merged = suffice.merge(PCA(3).fit(X[:100]), PCA(3).fit(X[100:500]), PCA(3).fit(X[500:]))
    close(updated, whole, 1e-12)
    close(merged, whole, 1e-12)
    more = np.concatenate([X, 1e6 * separated(20, 5, seed=9)])
    forgetful = PCA(3, exact=True).fit(more).forget(more[900:])
    close(forgetful, whole, 1e-12)
    assert forgetful.certificate_.digits > 12
    with pytest.raises(ValueError, match="digits"):
        PCA(3).fit(np.repeat(more, 60, axis=0)).forget(np.repeat(more[900:], 60, axis=0))


def test_save_and_load(tmp_path):
    X = pd.DataFrame(separated(100), columns=list("abcdéf"))
    for parameters in ({}, {"whiten": True, "standardize": True}, {"n_components": 0}):
        model = PCA(**parameters).fit(X)
        model.save(tmp_path / "model.safetensors")
        loaded = suffice.load(tmp_path / "model.safetensors")
        same_bits(loaded, model)
        np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
        loaded.refit(n_components=2)
        assert loaded.n_components_ == 2


def test_parameters_set_after_a_fit_do_not_change_it():
    X = separated(100)
    model = PCA(2).fit(X)
    before = model.transform(X)
    model.set_params(whiten=True, standardize=True)
    np.testing.assert_array_equal(model.transform(X), before)


# --- degenerate data -----------------------------------------------------------------------


@pytest.mark.parametrize("n", [50, 20_000])
@pytest.mark.parametrize("standardize", [False, True])
def test_constant_columns(n, standardize):
    X = np.insert(separated(n, 3), [1, 3], [0.1, 1e9], axis=1)
    model = PCA(standardize=standardize).fit(X)
    assert model.certificate_.rank == 3
    assert model.certificate_.holds
    assert (model.explained_variance_[3:] == 0).all()
    assert (model.components_[:3, [1, 4]] == 0).all()
    np.testing.assert_array_equal(model.components_[3:], np.eye(5)[[1, 4]])
    assert model.mean_[[1, 4]].tolist() == [0.1, 1e9]
    if standardize:
        assert model.scale_[[1, 4]].tolist() == [1.0, 1.0]
    whitened = PCA(whiten=True, standardize=standardize).fit_transform(X)
    assert np.isfinite(whitened).all()
    assert (whitened[:, 3:] == 0).all()
    with pytest.raises(ValueError, match="no density"):
        model.score(X)


def test_nothing_varies():
    model = PCA().fit(np.full((5, 3), 2.5))
    assert model.components_.tolist() == np.eye(3).tolist()
    assert model.explained_variance_.tolist() == [0, 0, 0]
    assert model.explained_variance_ratio_.tolist() == [0, 0, 0]
    assert model.transform(np.full((1, 3), 2.5)).tolist() == [[0, 0, 0]]
    assert PCA(0.5).fit(np.full((5, 3), 2.5)).n_components_ == 1
    assert PCA("mle").fit(np.full((5, 3), 2.5)).n_components_ == 1


@pytest.mark.parametrize("n", [60, 5000])
def test_dependent_columns(n):
    X = np.random.default_rng(0).integers(-9, 9, size=(n, 3)).astype(float)
    X = np.column_stack([X, X.sum(axis=1), X[:, 0] - 2 * X[:, 2]])
    model = PCA().fit(X)
    assert model.certificate_.rank == 3
    assert model.explained_variance_[3:].tolist() == [0, 0]
    close(PCA(3).fit(X), Peer(3, svd_solver="full").fit(X))
    assert PCA(3).fit(X).noise_variance_ == 0.0


def test_variances_lost_in_rounding_are_not_called_absent():
    X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 10, 1e17]
    (note,) = PCA().fit(X).certificate_.notes
    assert "1 directions beyond rounding" in note
    assert "the digits do not speak" in note


def test_equal_variances_are_told():
    """A square's corners: every direction has the same variance."""
    X = np.array([[1.0, 1.0, 0], [1, -1, 0], [-1, 1, 0], [-1, -1, 0], [0, 0, 3], [0, 0, -3]])
    model = PCA().fit(X)
    assert model.certificate_.holds
    assert any("components 1, 2" in note for note in model.certificate_.notes)
    assert model.certificate_.digits > 14
    np.testing.assert_allclose(model.explained_variance_, [18 / 5, 4 / 5, 4 / 5], rtol=1e-15)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-15)
    arbitrary = PCA(2).fit(X)
    assert any("arbitrary" in note for note in arbitrary.certificate_.notes)
    assert not PCA(1).fit(X).certificate_.notes


def test_nearly_equal_variances_are_told_apart():
    H = hadamard(4)
    lengths = 1 + np.arange(4)[::-1] * 2.0**-30
    X = np.concatenate([H * lengths[:, None], -H * lengths[:, None]])
    model = PCA().fit(X)
    np.testing.assert_allclose(np.abs(model.components_), 0.5, atol=1e-15)
    np.testing.assert_array_equal(np.sign(model.components_), H)
    assert model.certificate_.digits > 10
    assert not model.certificate_.notes


def test_a_share_that_is_just_reached():
    X = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    model = PCA(0.5).fit(X)
    assert model.n_components_ == Peer(0.5, svd_solver="full").fit(X).n_components_ == 2
    assert any("share" in note for note in model.certificate_.notes)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_tiny_and_huge_values(scale):
    X = separated(100)
    model, plain = PCA(3).fit(X * scale), PCA(3).fit(X)
    np.testing.assert_allclose(model.components_, plain.components_, atol=1e-12)
    np.testing.assert_allclose(model.singular_values_, plain.singular_values_ * scale, rtol=1e-12)


def test_choice_by_evidence_does_not_depend_on_the_unit():
    X = separated(200) + np.random.default_rng(0).normal(size=(200, 6))
    chosen = {PCA("mle").fit(X * scale).n_components_ for scale in (1e-30, 1.0, 1e30)}
    assert chosen == {Peer("mle", svd_solver="full").fit(X).n_components_}


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize("value", [-1, 0.0, 1.0, 1.5, "all", [2], 7])
def test_bad_numbers_of_components(value):
    model = PCA(value)
    with pytest.raises(ValueError, match="n_components"):
        model.fit(separated(50))
    assert not hasattr(model, "components_")


def test_too_many_components_for_the_rows():
    with pytest.raises(ValueError, match=r"between 0 and min\(n_samples, n_features\)=5"):
        PCA(6).fit(separated(5, 20))
    with pytest.raises(ValueError, match="n_samples >= n_features"):
        PCA("mle").fit(separated(5, 20))
    with pytest.raises(ValueError, match="n_samples >= n_features"):
        PCA("mle").fit(separated(50, 200))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("whiten", "yes"),
        ("svd_solver", "jacobi"),
        ("tol", -1.0),
        ("iterated_power", -1),
        ("n_oversamples", 0),
        ("power_iteration_normalizer", "SVD"),
        ("standardize", 2),
        ("exact", "no"),
        ("n_jobs", 1.5),
    ],
)
def test_bad_parameters(parameter, value):
    with pytest.raises(ValueError, match=parameter):
        PCA(**{parameter: value}).fit(separated(20))


def test_one_row_has_no_variance():
    with pytest.raises(ValueError, match="n_samples=1"):
        PCA().fit(np.ones((1, 3)))
    with pytest.raises(ValueError, match="n_samples=1"):
        PCA().fit(np.ones((1, 300)))
    with pytest.raises(ValueError, match="above 1"):
        PCA().fit(separated(10), sample_weight=np.full(10, 0.05))
    assert PCA().fit(np.ones((1, 3)), sample_weight=[2]).n_components_ == 2


def test_no_rows():
    with pytest.raises(ValueError, match=r"minimum of 1|at least one"):
        PCA().fit(np.ones((0, 3)))
    with pytest.raises(ValueError, match=r"weight zero|non-zero"):
        PCA().fit(separated(10), sample_weight=np.zeros(10))
    with pytest.raises(ValueError, match=r"weight zero|non-zero"):
        PCA().fit(separated(10, 200), sample_weight=np.zeros(10))


@pytest.mark.parametrize("shape", [(50, 3), (5, 200)])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_values_that_are_no_numbers(shape, value):
    X = separated(*shape)
    X[3, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity|too large"):
        PCA().fit(X)


def test_values_that_underflow():
    with pytest.raises(ValueError, match="too small"):
        PCA().fit(separated(50) * 1e-170)
    with pytest.raises(ValueError, match="too small"):
        PCA().fit(separated(20, 200) * 1e-170)


def test_wrong_columns():
    model = PCA(2).fit(pd.DataFrame(separated(50, 3), columns=["a", "b", "c"]))
    with pytest.raises(ValueError, match="feature names"):
        model.transform(pd.DataFrame(separated(5, 3), columns=["a", "b", "d"]))
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.transform(suffice.sources.as_source(separated(5, 4)))
    with pytest.raises(ValueError, match="2 components"):
        model.inverse_transform(np.ones((5, 3)))


def test_output_as_frames():
    X = pd.DataFrame(separated(50, 3), columns=["a", "b", "c"])
    got = PCA(2).set_output(transform="pandas").fit_transform(X)
    assert list(got.columns) == ["pca0", "pca1"]


@contract([], switched=[PCA(2, whiten=True), PCA(0.7), PCA(1, exact=True)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
