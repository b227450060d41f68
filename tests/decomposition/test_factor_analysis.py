"""Factor analysis against closed forms, published figures, optimisers and scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import approx_fprime, minimize, minimize_scalar
from scipy.stats import chi2, multivariate_normal
from sklearn import decomposition
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import suffice
from suffice import FactorAnalysis
from suffice.decomposition.factors.likelihood import NoiseLikelihood
from suffice.preprocessing import StandardScaler
from suffice.sources import Source

Peer = decomposition.FactorAnalysis

ATTRIBUTES = ("components_", "noise_variance_", "factor_correlation_", "mean_", "loglike_")


def close(ours, theirs, tolerance=1e-8):
    for name in ATTRIBUTES[:4]:
        a, b = getattr(ours, name), getattr(theirs, name)
        scale = np.abs(b).max(initial=0.0) or 1.0
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale, err_msg=name)
    assert ours.loglike_[-1] == pytest.approx(theirs.loglike_[-1], rel=1e-9)


def same_bits(one, other):
    for name in ATTRIBUTES:
        a, b = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        assert a.tobytes() == b.tobytes(), name
    assert one.certificate_ == other.certificate_


def made_of_factors(n=600, d=8, k=2, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(k, d)) * rng.uniform(0.5, 2, size=d)
    noise = rng.normal(size=(n, d)) * rng.uniform(0.5, 1.5, size=d)
    return rng.normal(size=(n, k)) @ loadings + noise + offset


def ability():
    """R's `ability.cov`: six tests of 112 persons (Smith and Stanley, 1983)."""
    rows = (
        [24.641],
        [5.991, 6.700],
        [33.520, 18.137, 149.831],
        [6.023, 1.782, 19.424, 12.711],
        [20.755, 4.936, 31.430, 4.757, 52.604],
        [29.701, 7.204, 50.753, 9.075, 66.762, 135.292],
    )
    S = np.zeros((6, 6))
    for i, row in enumerate(rows):
        S[i, : i + 1] = S[: i + 1, i] = row
    names = ["general", "picture", "blocks", "maze", "reading", "vocab"]
    return pd.DataFrame(S, names, names)


def in_deviations(model, S):
    return model.components_ / np.sqrt(np.diagonal(S))


# --- closed forms --------------------------------------------------------------------------


def test_three_columns_of_one_factor():
    """Spearman's tetrads: rᵢⱼ = lᵢ lⱼ has one solution, and it fits exactly."""
    loading = np.array([0.9, 0.6, -0.5])
    R = np.outer(loading, loading)
    np.fill_diagonal(R, 1.0)
    model = FactorAnalysis(1).fit_covariance(R, 50, ddof=0)
    np.testing.assert_allclose(model.components_, [loading], atol=1e-8)
    np.testing.assert_allclose(model.noise_variance_, 1 - loading**2, atol=1e-8)
    np.testing.assert_allclose(model.get_covariance(), R, atol=1e-8)
    with pytest.raises(ValueError, match="0 degrees of freedom"):
        model.goodness_of_fit()


@pytest.mark.parametrize("k", [None, 5, 4])
def test_as_many_factors_as_columns_have_the_likelihood_of_any_covariance(k):
    X = made_of_factors(200, 5)
    model = FactorAnalysis(k).fit(X)
    S = np.cov(X.T, bias=True)
    np.testing.assert_allclose(model.get_covariance(), S, rtol=1e-10)
    expected = multivariate_normal(X.mean(axis=0), S).logpdf(X).sum()
    assert model.loglike_ == pytest.approx([expected], rel=1e-12)
    assert "as likely" in model.certificate_.notes[-1]


def test_no_factor_is_columns_by_themselves():
    X = made_of_factors()
    model = FactorAnalysis(0).fit(X)
    np.testing.assert_allclose(model.noise_variance_, X.var(axis=0), rtol=1e-12)
    assert model.components_.shape == (0, 8)
    assert model.transform(X).shape == (600, 0)
    # Bartlett's test of independence.
    determinant = np.linalg.slogdet(np.corrcoef(X.T))[1]
    expected = -(600 - 1 - (2 * 8 + 5) / 6) * determinant
    found = model.goodness_of_fit()
    assert found.statistic == pytest.approx(expected)
    assert found.dof == 28
    assert found.p_value == pytest.approx(chi2.sf(expected, 28))


def test_derivatives_are_those_of_differences():
    R = np.corrcoef(made_of_factors(100, 6, 3).T)
    x = np.log(np.random.default_rng(2).uniform(0.1, 0.9, 6))
    for k in (0, 1, 3, 6):
        at = NoiseLikelihood.at(x, R, k)
        slope = approx_fprime(x, lambda x, k=k: NoiseLikelihood.at(x, R, k).objective, 1e-7)
        np.testing.assert_allclose(at.gradient, slope, atol=1e-5)
        bend = approx_fprime(x, lambda x, k=k: NoiseLikelihood.at(x, R, k).gradient, 1e-7)
        np.testing.assert_allclose(at.hessian(), bend, atol=1e-5)
        L = at.loadings()
        sigma = L @ L.T + np.diag(np.exp(x))
        whole = np.linalg.slogdet(sigma)[1] + np.trace(np.linalg.solve(sigma, R))
        assert at.objective == pytest.approx(whole)


def test_an_optimiser_of_loadings_and_noise_together_finds_nothing_better():
    X = made_of_factors(150, 6, 2, seed=4)
    S, (n, d) = np.cov(X.T, bias=True), X.shape
    model = FactorAnalysis(2).fit(X)

    def objective(parameters):
        loadings, noise = parameters[: 2 * d].reshape(2, d), np.exp(parameters[2 * d :])
        sigma = loadings.T @ loadings + np.diag(noise)
        value = np.linalg.slogdet(sigma)[1] + np.trace(np.linalg.solve(sigma, S))
        inverse = np.linalg.inv(sigma)
        slope = inverse @ (sigma - S) @ inverse
        turned = np.append((2 * loadings @ slope).ravel(), np.diagonal(slope) * noise)
        return value, turned

    rng = np.random.default_rng(0)
    fits = [minimize(objective, rng.normal(size=3 * d), jac=True) for _ in range(5)]
    best = min(fit.fun for fit in fits)
    assert model.loglike_[-1] >= -n / 2 * (best + d * np.log(2 * np.pi)) - 1e-7


# --- published figures ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "uniqueness", "statistic", "dof", "p_value"),
    [
        (1, [0.535, 0.853, 0.748, 0.910, 0.232, 0.280], 75.18, 9, 1.46e-12),
        (2, [0.455, 0.589, 0.218, 0.769, 0.052, 0.334], 6.11, 4, 0.191),
    ],
)
def test_ability_as_factanal_prints_it(k, uniqueness, statistic, dof, p_value):
    S = ability()
    model = FactorAnalysis(k).fit_covariance(S, 112)
    found = model.noise_variance_ / np.diagonal(S) * 112 / 111
    np.testing.assert_allclose(found, uniqueness, atol=6e-4)
    test = model.goodness_of_fit()
    assert test.statistic == pytest.approx(statistic, abs=6e-3)
    assert test.dof == dof
    assert test.p_value == pytest.approx(p_value, rel=4e-3)
    assert model.feature_names_in_.tolist() == list(S.columns)


VARIMAX = np.array(
    [[0.499, 0.156, 0.206, 0.109, 0.956, 0.785], [0.543, 0.622, 0.860, 0.468, 0.182, 0.225]]
)


def varimax_by_angle(loadings):
    """Of two factors one angle is sought: Kaiser's criterion, scanned and refined."""
    normal = loadings / np.linalg.norm(loadings, axis=1, keepdims=True)

    def turned(angle, of=normal):
        return of @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    angles = np.linspace(0, np.pi / 2, 200)
    start = min(angles, key=lambda angle: -np.square(turned(angle)).var(axis=0).sum())
    best = minimize_scalar(
        lambda angle: -np.square(turned(angle)).var(axis=0).sum(),
        bracket=(start - 0.01, start, start + 0.01),
        tol=1e-12,
    )
    return turned(best.x, loadings)


def aligned(loadings, like):
    """Factors in the order and with the signs of others."""
    order = [np.abs(loadings @ row).argmax() for row in like]
    chosen = loadings[order]
    return chosen * np.sign((chosen * like).sum(axis=1, keepdims=True))


def test_varimax_loadings_of_ability():
    S = ability().to_numpy()
    plain = FactorAnalysis(2).fit_covariance(S, 112, ddof=0)
    model = FactorAnalysis(2, rotation="varimax", kaiser=True).fit_covariance(S, 112, ddof=0)
    found = in_deviations(model, S)
    # R ends its iterations at a relative gain of 1e-5, a tenth of a degree before the maximum.
    np.testing.assert_allclose(aligned(found, VARIMAX), VARIMAX, atol=4e-3)
    expected = varimax_by_angle(in_deviations(plain, S).T).T
    np.testing.assert_allclose(aligned(found, expected), expected, atol=1e-7)
    same = FactorAnalysis(2, rotation="varimax", kaiser=True).fit_covariance(S, 112, ddof=0)
    np.testing.assert_allclose(same.get_covariance(), plain.get_covariance(), rtol=1e-12)


def test_where_r_ends_its_rotation_its_loadings_are_ours():
    """Its rule of stopping, applied to our loadings before rotation, gives what it prints."""
    S = ability().to_numpy()
    plain = in_deviations(FactorAnalysis(2).fit_covariance(S, 112, ddof=0), S).T
    length = np.linalg.norm(plain, axis=1, keepdims=True)
    normal, T, reached = plain / length, np.eye(2), 0.0
    for _ in range(1000):
        z = normal @ T
        left, values, right = np.linalg.svd(normal.T @ (z**3 - z * (z**2).sum(axis=0) / 6))
        T, past, reached = left @ right, reached, values.sum()
        if reached < past * (1 + 1e-5):
            break
    np.testing.assert_allclose(aligned((plain @ T).T, VARIMAX), VARIMAX, atol=6e-4)


def test_promax_is_the_least_squares_fit_to_fourth_powers():
    S = ability().to_numpy()
    varimax = FactorAnalysis(2, rotation="varimax", kaiser=True).fit_covariance(S, 112, ddof=0)
    model = varimax.__class__(2, rotation="promax", kaiser=True).fit_covariance(S, 112, ddof=0)
    L = in_deviations(varimax, S).T
    U = np.linalg.inv(L.T @ L) @ L.T @ (np.sign(L) * L**4)
    U = U @ np.diag(np.sqrt(np.diagonal(np.linalg.inv(U.T @ U))))
    np.testing.assert_allclose(in_deviations(model, S), (L @ U).T, atol=1e-10)
    phi = np.linalg.inv(U.T @ U)
    np.testing.assert_allclose(model.factor_correlation_, phi, atol=1e-10)
    np.testing.assert_allclose(np.diagonal(phi), 1.0)
    assert in_deviations(model, S)[0, 0] == pytest.approx(0.364, abs=2e-3)  # R's
    np.testing.assert_allclose(model.get_covariance(), varimax.get_covariance(), rtol=1e-12)
    assert model.loglike_ == varimax.loglike_


# --- scikit-learn --------------------------------------------------------------------------


def real_sets():
    digits = load_digits().data
    return {
        "digits": digits[:500, digits.var(axis=0) > 9],
        "cancer": load_breast_cancer().data,
        "wine": load_wine().data,
        "diabetes": load_diabetes(scaled=False).data,
    }


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("name", ["digits", "cancer", "wine", "diabetes"])
@pytest.mark.filterwarnings("ignore:FactorAnalysis did not converge")
def test_no_less_likely_than_scikit_learn(name, k):
    """Without the bound on the noise, which scikit-learn has not."""
    X = real_sets()[name]
    model = FactorAnalysis(k, min_uniqueness=1e-6).fit(X)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    with threadpool_limits(1):  # many threads on small matrices wait for each other
        theirs = [Peer(k, svd_method="lapack", max_iter=100).fit(X).score(X)]
        peer = Peer(k, svd_method="lapack", tol=1e-4, max_iter=100).fit(scaled)
    theirs.append(peer.score(scaled) - np.log(X.std(axis=0)).sum())
    assert model.score(X) >= max(theirs) - 1e-9
    assert model.score(X) * len(X) == pytest.approx(model.loglike_[-1], rel=1e-10)
    assert model.certificate_.holds
    assert model.certificate_.stationarity < 1e-8
    assert (np.diff(model.loglike_) > 0).all()


@pytest.mark.parametrize("rotation", [None, "varimax", "quartimax"])
def test_the_solution_of_scikit_learn(rotation):
    X = made_of_factors(500, 8, 3, offset=2.0)
    ours = FactorAnalysis(3, rotation=rotation).fit(X)
    theirs = Peer(3, rotation=rotation, tol=1e-10, max_iter=10**5, svd_method="lapack").fit(X)
    like = theirs.components_
    tolerance = 1e-4 if rotation is None else 1e-2  # its rotations stop early
    np.testing.assert_allclose(aligned(ours.components_, like), like, atol=tolerance)
    np.testing.assert_allclose(ours.noise_variance_, theirs.noise_variance_, rtol=1e-4)
    np.testing.assert_allclose(ours.get_precision(), theirs.get_precision(), atol=1e-5)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-4)
    found, expected = ours.transform(X).T, theirs.transform(X).T
    np.testing.assert_allclose(aligned(found, expected), expected, atol=3 * tolerance)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


# --- what it does with rows ----------------------------------------------------------------


@pytest.mark.parametrize("rotation", ["varimax", "promax"])
def test_scores_are_conditional_means_and_densities_are_normal(rotation):
    X = made_of_factors(300, 6, 2)
    model = FactorAnalysis(2, rotation=rotation).fit(X)
    sigma, L, phi = model.get_covariance(), model.components_, model.factor_correlation_
    # Cov(z, x) = Φ Λ, hence E[z | x] = Φ Λ Σ⁻¹ (x − μ).
    expected = (X - X.mean(axis=0)) @ np.linalg.solve(sigma, (phi @ L).T)
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-10)
    normal = multivariate_normal(X.mean(axis=0), sigma)
    np.testing.assert_allclose(model.score_samples(X), normal.logpdf(X), atol=1e-9)
    np.testing.assert_allclose(model.get_precision() @ sigma, np.eye(6), atol=1e-10)
    frame = model.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == ["factoranalysis0", "factoranalysis1"]


def test_units_do_not_matter():
    X = made_of_factors(300, 6, 2)
    unit = 10.0 ** np.arange(-3, 3)
    plain = FactorAnalysis(2, rotation="varimax", kaiser=True).fit(X)
    scaled = FactorAnalysis(2, rotation="varimax", kaiser=True).fit(X * unit)
    np.testing.assert_allclose(scaled.components_ / unit, plain.components_, atol=1e-8)
    np.testing.assert_allclose(scaled.noise_variance_ / unit**2, plain.noise_variance_, rtol=1e-8)
    behind = make_pipeline(StandardScaler(), FactorAnalysis(2)).fit(X * unit)
    whole = plain.loglike_[-1] / 300
    assert behind.score(X * unit) == pytest.approx(whole + np.log(X.std(axis=0)).sum())


@pytest.mark.parametrize("rotation", ["varimax", "quartimax", "promax"])
@pytest.mark.parametrize("k", [2, 6])
def test_no_rotation_changes_the_covariance(rotation, k):
    """Not even one of loadings in units far apart."""
    X = made_of_factors(300, 6, 2) * 10.0 ** np.array([-6, 6, 0, 3, -3, 1])
    plain, turned = FactorAnalysis(k).fit(X), FactorAnalysis(k, rotation=rotation).fit(X)
    unit = np.outer(X.std(axis=0), X.std(axis=0))
    np.testing.assert_allclose(
        turned.get_covariance() / unit, plain.get_covariance() / unit, atol=1e-10
    )
    assert turned.score(X) == pytest.approx(plain.score(X), abs=1e-8)


# --- degenerate data -----------------------------------------------------------------------


def test_a_heywood_case_is_held_and_named():
    X = load_diabetes(scaled=False).data
    names = load_diabetes().feature_names
    model = FactorAnalysis(2).fit(pd.DataFrame(X, columns=names))
    share = model.noise_variance_ / X.var(axis=0)
    held = np.isclose(share, 0.005, rtol=1e-9)
    assert model.certificate_.at_bound == held.sum() == 2
    note = next(note for note in model.certificate_.notes if "Heywood" in note)
    assert f"columns [{', '.join(map(str, np.flatnonzero(held)))}]" in note
    lower = model.refit(min_uniqueness=1e-4)
    assert (lower.noise_variance_ / X.var(axis=0)).min() < 2e-4


@pytest.mark.parametrize("k", [1, 3, 8, 20])
def test_fewer_rows_than_columns_and_equal_columns(k):
    X = made_of_factors(12, 20, 2)
    X[:, 3] = X[:, 2]
    model = FactorAnalysis(k).fit(X)
    assert model.certificate_.holds
    assert (model.noise_variance_ >= 0.005 * X.var(axis=0) * (1 - 1e-9)).all()
    assert model.score(X) * 12 == pytest.approx(model.loglike_[-1], rel=1e-9)
    if k < 11:
        smaller = FactorAnalysis(k, noise_variance_init=np.ones(20)).fit(X)
        assert smaller.loglike_[-1] <= model.loglike_[-1] + 1e-6
    if k == 1:
        with pytest.raises(ValueError, match="covariance is singular"):
            model.goodness_of_fit()


def test_constant_columns_are_named():
    X = made_of_factors(50, 4)
    X[:, 2] = 1e6 + 0.1
    with pytest.raises(ValueError, match=r"constant columns.*\[2\]; leave them out"):
        FactorAnalysis(1).fit(X)
    with pytest.raises(ValueError, match=r"columns \[b\]"):
        FactorAnalysis(1).fit(pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 3.0, 3.0]}))


def test_bad_input():
    X = made_of_factors(50, 4)
    with pytest.raises(ValueError, match="n_components=5 must be at most"):
        FactorAnalysis(5).fit(X)
    with pytest.raises(ValueError, match="noise_variance_init must hold a positive number"):
        FactorAnalysis(1, noise_variance_init=np.ones(3)).fit(X)
    with pytest.raises(ValueError, match="n_samples=1"):
        FactorAnalysis(1).fit(X[:1])
    with pytest.warns(ConvergenceWarning, match="still grows: raise max_iter"):
        FactorAnalysis(1, max_iter=2).fit(X)
    for parameters in ({"rotation": "oblimin"}, {"min_uniqueness": 0.0}, {"svd_method": "qr"}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            FactorAnalysis(1, **parameters).fit(X)


def test_bad_covariances():
    S = ability().to_numpy()
    model = FactorAnalysis(1)
    with pytest.raises(ValueError, match="symmetric"):
        model.fit_covariance(np.triu(S), 112)
    with pytest.raises(ValueError, match="symmetric"):
        model.fit_covariance(S[:4], 112)
    for negative in (S - 60 * np.eye(6), np.array([[1.0, 2.0], [2.0, 1.0]])):
        with pytest.raises(ValueError, match="positive semi-definite"):
            model.fit_covariance(negative, 112)
    with pytest.raises(ValueError, match="n_samples=1 must exceed 1"):
        model.fit_covariance(S, 1)
    with pytest.raises(ValueError, match="mean must hold"):
        model.fit_covariance(S, 112, mean=[1.0])
    with pytest.raises(ValueError, match="constant columns"):
        model.fit_covariance(np.diag([1.0, 0.0]), 10)
    assert not hasattr(model, "certificate_")


# --- laws ----------------------------------------------------------------------------------


@pytest.mark.compiled
def test_same_bits_at_any_number_of_threads_and_from_files(tmp_path):
    X = made_of_factors(60_000, 5, 2, offset=1.0)
    fits = []
    for threads in (1, 2, 4):
        with suffice.config(threads=threads):
            fits.append(FactorAnalysis(2, rotation="varimax").fit(X))
    table = pa.table({f"x{j}": X[:, j] for j in range(5)})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=7000)
    source = suffice.scan(str(tmp_path / "rows.parquet"))
    fits.append(FactorAnalysis(2, rotation="varimax").fit(source))
    for other in fits[1:]:
        same_bits(other, fits[0])
    scores = fits[3].transform(source)
    assert isinstance(scores, Source)
    rows = np.concatenate([piece.load().X for piece in scores.pieces()])
    np.testing.assert_allclose(rows, fits[0].transform(X), atol=1e-12)
    assert fits[3].score(source) == pytest.approx(fits[0].score(X), rel=1e-12)


def test_a_weight_is_a_number_of_repetitions():
    X = made_of_factors(200, 6, 2)
    weight = np.random.default_rng(1).integers(0, 4, size=200)
    weighted = FactorAnalysis(2).fit(X, sample_weight=weight)
    close(weighted, FactorAnalysis(2).fit(np.repeat(X, weight, axis=0)))
    assert weighted.n_samples_ == weight.sum()


def test_update_merge_forget_and_refit():
    X = made_of_factors(900, 6, 2, offset=3.0)
    whole = FactorAnalysis(2).fit(X)
    close(FactorAnalysis(2).fit(X[:300]).update(X[300:]), whole)
    close(FactorAnalysis(2).fit(X[:300]) + FactorAnalysis(2).fit(X[300:]), whole)
    more = np.concatenate([X, 1e3 * made_of_factors(20, 6, seed=9)])
    close(FactorAnalysis(2, exact=True).fit(more).forget(more[900:]), whole)
    turned = FactorAnalysis(2).fit(X).refit(rotation="promax", n_components=3, kaiser=True)
    close(turned, FactorAnalysis(3, rotation="promax", kaiser=True).fit(X))


def test_a_covariance_stands_for_its_rows():
    X = made_of_factors(400, 6, 2, offset=3.0)
    whole = FactorAnalysis(2).fit(X)
    model = FactorAnalysis(2).fit_covariance(np.cov(X.T), 400, mean=X.mean(axis=0))
    close(model, whole)
    assert model.trace_.step == ("covariance",)
    here = FactorAnalysis(2).fit_covariance(np.cov(X[:150].T), 150, mean=X[:150].mean(axis=0))
    close(here.update(X[150:]), whole)
    exact = FactorAnalysis(2, exact=True).fit_covariance(np.cov(X.T).tolist(), 400)
    assert exact.goodness_of_fit() == pytest.approx(whole.goodness_of_fit(), rel=1e-6)


def test_cross_validation_finds_the_number_of_factors():
    X = made_of_factors(1500, 8, 3, seed=1)
    search = suffice.GridSearchCV(FactorAnalysis(), {"n_components": [1, 2, 3, 4, 5]}, cv=5).fit(X)
    assert search.best_params_ == {"n_components": 3}
    behind = make_pipeline(StandardScaler(), FactorAnalysis())
    grid = {"factoranalysis__n_components": [1, 2, 3, 4, 5]}
    assert suffice.GridSearchCV(behind, grid, cv=5).fit(X).best_params_ == {
        "factoranalysis__n_components": 3
    }
