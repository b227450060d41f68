"""Means, variances and covariances: closed forms in rational numbers, scipy, and ridge."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from sklearn.covariance import empirical_covariance, shrunk_covariance
from sklearn.datasets import load_iris

import suffice
from suffice import BayesianLinearRegression, Ridge
from suffice.bayes import NormalInverseGamma, NormalInverseWishart, NormalNormal, StudentT
from suffice.families import Gaussian
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.moments.full import Moments
from tests.families import exact

Y = [3.25, -1.5, 8.0, 0.125]
FAR = [1e3 + 1, 1e3 + 2, 1e3 + 4]
PRIORS = [(0.0, 1.0, 1.0, 1.0), (1e3, 0.5, 3.0, 2.0), (2.0, 1e4, 1e4, 1e4), (1.0, 1e-6, 1e-6, 1e-6)]


def updated(prior, rows):
    """The posterior's κ, m, α, β as fractions."""
    m, k, a, b = map(Fraction, prior)
    y = [Fraction(v) for v in rows]
    n, mean = len(y), sum(y) / len(y)
    squares = sum((v - mean) ** 2 for v in y) + k * n / (k + n) * (mean - m) ** 2
    return (k * m + n * mean) / (k + n), k + n, a + Fraction(n, 2), b + squares / 2


def close(value, expected, rel=1e-12):
    assert value == pytest.approx(float(expected), rel=rel, abs=0)


# --- one column ---------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("rows", [Y, FAR, [5.0]], ids=["ordinary", "far", "one"])
def test_updates_in_rational_numbers(prior, rows):
    known = NormalInverseGamma(*prior).posterior(rows)
    m, k, a, b = updated(prior, rows)
    for value, expected in zip(
        (known.mu, known.kappa, known.alpha, known.beta), (m, k, a, b), strict=True
    ):
        close(value, expected)
    close(known.map().variance, b / (a + Fraction(3, 2)))
    a = Fraction(known.alpha)  # as it was rounded: α − 2 may be all that is left of it
    if a > 1:
        close(known.mean().variance, b / (a - 1))
        close(known.variance().mu, b / (a - 1) / k)
    if a > 2:
        close(known.variance().variance, b**2 / (a - 1) ** 2 / (a - 2))
    gauss = NormalNormal(prior[0], prior[1], noise_variance=2.5).posterior(rows)
    close(gauss.mean(), m)
    close(gauss.map(), m)
    close(gauss.variance(), Fraction(2.5) / k)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("rows", [Y, FAR, [5.0]], ids=["ordinary", "far", "one"])
def test_evidence_in_decimal_numbers(prior, rows):
    @exact.precise
    def oracle():
        def number(value):
            return Decimal(value.numerator) / value.denominator

        k, a, b = (Decimal(v) for v in prior[1:])
        _, kn, an, bn = map(number, updated(prior, rows))
        value = exact.log_gamma(an) - exact.log_gamma(a) + a * b.ln() - an * bn.ln()
        return value + (k / kn).ln() / 2 - Decimal(len(rows)) / 2 * (2 * exact.pi()).ln()

    close(NormalInverseGamma(*prior).log_evidence(rows), oracle())


def test_means_under_a_vague_and_distant_prior():
    rows = [0.25, 0.5, 0.125]
    for mu, kappa in ((1e10, 1e-12), (1e15, 1e-15), (7.0, 1e20)):
        expected = updated((mu, kappa, 1.0, 1.0), rows)[0]
        close(NormalNormal(mu, kappa).posterior(rows).mu, expected, 1e-15)
        close(NormalInverseGamma(mu, kappa).posterior(rows).mu, expected, 1e-15)
        joint = NormalInverseWishart([mu, 0.0], kappa).posterior([[y, y] for y in rows])
        close(joint.mu[0], expected, 1e-15)
    assert NormalNormal(2.0, 0.0).given(0.0, 4.0, 0.0).mu == 2.0


def test_evidence_of_a_known_variance():
    for rows in (Y, FAR):
        n = len(rows)
        value = NormalNormal(2.0, 4.0, noise_variance=3.0).log_evidence(rows)
        law = stats.multivariate_normal(np.full(n, 2.0), 3.0 * np.eye(n) + 0.75)
        assert value == pytest.approx(law.logpdf(rows), rel=1e-12)


def test_laws_of_scipy():
    known = NormalInverseGamma(1.0, 3.0, 2.5, 4.0)
    mu, variance = known.interval(0.9)
    t = stats.t(5.0, 1.0, np.sqrt(4.0 / 2.5 / 3.0))
    assert mu == pytest.approx(t.interval(0.9), rel=1e-12)
    assert variance == pytest.approx(stats.invgamma(2.5, scale=4.0).interval(0.9), rel=1e-12)
    expected = stats.invgamma(2.5, scale=4.0).logpdf(0.7) + stats.norm(
        1.0, np.sqrt(0.7 / 3)
    ).logpdf(2)
    assert known.log_density((2.0, 0.7)) == pytest.approx(expected, rel=1e-12)
    gauss = NormalNormal(1.0, 3.0, noise_variance=6.0)
    assert gauss.interval(0.8) == pytest.approx(stats.norm(1, np.sqrt(2)).interval(0.8), rel=1e-12)
    assert gauss.log_density(3.0) == pytest.approx(stats.norm(1, np.sqrt(2)).logpdf(3), rel=1e-12)
    y = np.array([-1e3, 0.0, 1.5, 40.0])
    next_row = stats.t(5.0, 1.0, np.sqrt(4.0 / 2.5 * (4 / 3)))
    np.testing.assert_allclose(known.predictive().log_density(y), next_row.logpdf(y), rtol=1e-12)
    assert known.predictive().variance() == pytest.approx(next_row.var(), rel=1e-13)
    law = stats.norm(1.0, np.sqrt(8.0))
    np.testing.assert_allclose(gauss.predictive().log_density(y), law.logpdf(y), rtol=1e-12)
    assert (gauss.predictive().mean(), gauss.predictive().variance()) == (1.0, 8.0)


def test_shortest_intervals():
    known = NormalInverseGamma(1.0, 3.0, 2.5, 4.0)
    law, found = stats.invgamma(2.5, scale=4.0), known.interval(0.9, "shortest")
    assert found.mu == known.interval(0.9).mu
    assert np.diff(law.cdf(found.variance))[0] == pytest.approx(0.9, rel=1e-12)
    ends = law.logpdf(found.variance)
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)
    gauss = NormalNormal(1.0, 3.0)
    assert gauss.interval(0.9, "shortest") == gauss.interval(0.9)
    wishart = NormalInverseWishart([1.0, 0.0], 3.0, 6.0, [[8.0, 1.0], [1.0, 2.0]])
    both = wishart.interval(0.9, "shortest")
    np.testing.assert_array_equal(both.mu, wishart.interval(0.9).mu)
    np.testing.assert_allclose([end[0] for end in both.covariance], found.variance, rtol=1e-12)


def test_student_far_out_and_nearly_gaussian():
    def t(df):
        return StudentT(np.asarray(df), np.asarray(0.0), np.asarray(1.0))

    assert t(3.0).log_density(1e100) == pytest.approx(stats.t(3.0).logpdf(1e100), rel=1e-12)
    close(t(1e14).log_density(2.0), t(np.inf).log_density(2.0), 1e-12)
    assert np.isnan(t(1.0).mean())
    assert np.isnan(t(1.0).variance())
    assert t(2.0).variance() == np.inf


def test_flat_priors_give_the_most_likely():
    likely = Gaussian().fit(Y)
    found = NormalInverseGamma.flat().posterior(Y).map()
    close(found.mu, likely.mu, 1e-15)
    close(found.variance, likely.variance, 1e-14)
    close(NormalNormal.flat().posterior(Y).map(), likely.mu, 1e-15)
    X = load_iris().data
    joint = NormalInverseWishart.flat(4).posterior(X).map()
    np.testing.assert_allclose(joint.mu, X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(joint.covariance, np.cov(X.T, bias=True), rtol=1e-12)


def test_what_is_improper():
    for flat in (NormalInverseGamma.flat(), NormalNormal.flat(), NormalInverseWishart.flat(2)):
        assert not flat.is_proper
        for ask in ("map", "interval", "predictive"):
            with pytest.raises(ValueError, match=r"no mode|improper"):
                getattr(flat, ask)()
    assert np.isnan(NormalNormal.flat().mean())
    with pytest.raises(ValueError, match="improper"):
        NormalInverseGamma.flat().log_evidence(Y)
    same = NormalInverseGamma.flat().posterior([2.0, 2.0])
    assert same.map() == (2.0, 0.0)
    assert np.isnan(NormalInverseGamma.flat().posterior([2.0]).mean().mu)
    assert NormalInverseGamma(0, 1, 0.8, 1.0).mean() == (0.0, np.inf)


# --- several columns ----------------------------------------------------------------------------


def prior_of(d, strong=False):
    rng = np.random.default_rng(d)
    A = rng.normal(size=(d, d + 2))
    size = 1e3 if strong else 1.0
    return NormalInverseWishart(rng.normal(size=d), 0.7 * size, (d + 1.5) * size, A @ A.T * size)


def test_one_column_is_the_inverse_gamma():
    wishart = NormalInverseWishart([1.0], 2.0, 5.0, [[6.0]])
    gamma = NormalInverseGamma(1.0, 2.0, 2.5, 3.0)
    X = np.array(Y)[:, None]
    assert wishart.log_evidence(X) == pytest.approx(gamma.log_evidence(Y), rel=1e-13)
    wishart, gamma = wishart.posterior(X), gamma.posterior(Y)
    for ask in ("mean", "map", "variance"):
        np.testing.assert_allclose(
            np.ravel(getattr(wishart, ask)()[1]), getattr(gamma, ask)()[1], rtol=1e-13
        )
        np.testing.assert_allclose(np.ravel(getattr(wishart, ask)()[0]), getattr(gamma, ask)()[0])
    np.testing.assert_allclose(np.squeeze(wishart.interval()), gamma.interval(), rtol=1e-12)
    value = wishart.predictive().log_density([7.0])
    assert value == pytest.approx(gamma.predictive().log_density(7.0), rel=1e-13)


def determinant(matrix):
    """Of fractions, by elimination."""
    rows, product = [list(row) for row in matrix], Fraction(1)
    for j, row in enumerate(rows):
        product *= row[j]
        for other in rows[j + 1 :]:
            factor = other[j] / row[j]
            other[:] = [a - factor * b for a, b in zip(other, row, strict=True)]
    return product


def joint_evidence(prior, X):
    """log p(X) in fractions and decimals."""
    n, d = X.shape
    rows = [[Fraction(v) for v in row] for row in X.tolist()]
    mu, k, nu = [Fraction(v) for v in prior.mu.tolist()], Fraction(prior.kappa), Fraction(prior.nu)
    centre = [sum(column) / n for column in zip(*rows, strict=True)]
    before = [[Fraction(v) for v in row] for row in prior.psi.tolist()]
    away = [a - b for a, b in zip(centre, mu, strict=True)]
    after = [
        [
            before[i][j]
            + sum((row[i] - centre[i]) * (row[j] - centre[j]) for row in rows)
            + k * n / (k + n) * away[i] * away[j]
            for j in range(d)
        ]
        for i in range(d)
    ]

    @exact.precise
    def oracle():
        def number(value):
            return Decimal(value.numerator) / value.denominator

        halves = [(number(nu) - i) / 2 for i in range(d)]
        rise = sum(exact.log_gamma(h + Decimal(n) / 2) - exact.log_gamma(h) for h in halves)
        value = rise - Decimal(n * d) / 2 * exact.pi().ln() + d * number(k / (k + n)).ln() / 2
        value += number(nu) / 2 * number(determinant(before)).ln()
        return value - number(nu + n) / 2 * number(determinant(after)).ln()

    return oracle()


@pytest.mark.parametrize("away", [0.0, 30.0, 1e3])
@pytest.mark.parametrize("strong", [False, True])
def test_rows_far_from_the_prior(away, strong):
    """The square of the distance is one large eigenvalue, next to which the others count."""
    X = np.random.default_rng(0).normal(size=(20, 3)) + away
    size = 1e3 if strong else 1.0
    prior = NormalInverseWishart(np.zeros(3), size, 5.0 * size, size)
    expected = joint_evidence(prior, X)
    close(prior.log_evidence(X), expected)
    close(prior.posterior(X).log_evidence(), expected)
    known = prior.posterior(X)
    assert known.is_proper
    row = X[:1] + 0.5
    following = joint_evidence(prior, np.vstack([X, row])) - expected
    close(known.predictive().log_density(row[0]), following)
    close(known.log_evidence(row), following)
    assert np.isfinite(known.sample(3, 0).covariance).all()
    assert np.isfinite(known.predictive().sample(3, 0)).all()


def test_what_only_rounding_makes_proper():
    rng = np.random.default_rng(3)
    few, enough = rng.normal(size=(3, 5)) + 1e3, rng.normal(size=(9, 5)) + 1e3
    for precision in ("float64", "double-double"):
        flat = NormalInverseWishart(np.zeros(5), 0.0, 0.0, 0.0)
        for rows, proper in ((few, False), (enough, True)):
            known = flat + Moments.summarize(rows, precision=precision)
            assert NormalInverseWishart(known.mu, 1.0, 9.0, known.psi).is_proper == proper
    A = rng.normal(size=(5, 3))
    assert not NormalInverseWishart(np.zeros(5), psi=A @ A.T).is_proper
    # What rows leave open the prior has to say.
    assert NormalInverseWishart(np.zeros(5)).posterior(few).is_proper


@pytest.mark.parametrize("strong", [False, True])
def test_the_joint_update(strong):
    X = load_iris().data[:30]
    prior = prior_of(4, strong)
    known = prior.posterior(X)
    n, centre = len(X), X.mean(axis=0)
    away = (centre - prior.mu)[:, None]
    scatter = (X - centre).T @ (X - centre)
    k = prior.kappa
    np.testing.assert_allclose(known.mu, (k * prior.mu + n * centre) / (k + n), rtol=1e-13)
    expected = prior.psi + scatter + k * n / (k + n) * away @ away.T
    np.testing.assert_allclose(known.psi, expected, rtol=1e-12)
    assert (known.kappa, known.nu) == (k + n, prior.nu + n)
    total, step = 0.0, prior
    for row in X:
        total += step.predictive().log_density(row)
        step = step.posterior(row[None])
    assert known.log_evidence() == pytest.approx(total, rel=1e-12)


def test_joint_laws_of_scipy():
    known = prior_of(3)
    mu, Sigma = np.array([0.3, -1.0, 2.0]), np.diag([1.0, 2.0, 0.5]) + 0.1
    expected = stats.invwishart(known.nu, known.psi).logpdf(Sigma)
    expected += stats.multivariate_normal(known.mu, Sigma / known.kappa).logpdf(mu)
    assert known.log_density((mu, Sigma)) == pytest.approx(expected, rel=1e-12)
    x = np.random.default_rng(0).normal(size=(5, 3))
    df, scale = known.nu - 2, known.psi * (known.kappa + 1) / known.kappa / (known.nu - 2)
    law = stats.multivariate_t(known.mu, scale, df)
    np.testing.assert_allclose(known.predictive().log_density(x), law.logpdf(x), rtol=1e-12)
    strong = NormalInverseWishart(known.mu, 1.0, 9.0, known.psi)
    law = stats.invwishart(9.0, known.psi)
    np.testing.assert_allclose(strong.mean().covariance, law.mean(), rtol=1e-13)
    np.testing.assert_allclose(strong.variance().covariance, law.var(), rtol=1e-12)


def test_joint_draws():
    known = NormalInverseWishart([1.0, -2.0], 4.0, 12.0, [[6.0, 2.0], [2.0, 3.0]])
    draws = known.sample(40_000, random_state=0)
    assert draws.mu.shape == (40_000, 2)
    np.testing.assert_allclose(draws.mu.mean(axis=0), known.mu, rtol=0.02)
    np.testing.assert_allclose(np.cov(draws.mu.T), known.variance().mu, rtol=0.05)
    np.testing.assert_allclose(draws.covariance.mean(axis=0), known.mean().covariance, rtol=0.02)
    np.testing.assert_allclose(draws.covariance.var(axis=0), known.variance().covariance, rtol=0.1)
    rows = known.predictive().sample(40_000, random_state=0)
    np.testing.assert_allclose(np.cov(rows.T), known.predictive().variance(), rtol=0.05)
    single = NormalInverseGamma(1.0, 4.0, 6.0, 3.0)
    drawn = single.sample(40_000, random_state=0)
    np.testing.assert_allclose(drawn.mu.var(), single.variance().mu, rtol=0.05)
    np.testing.assert_allclose(drawn.variance.mean(), single.mean().variance, rtol=0.02)
    gauss = NormalNormal(3.0, 4.0, noise_variance=8.0)
    assert gauss.sample(40_000, random_state=0).var() == pytest.approx(2.0, rel=0.05)
    for law in (single.predictive(), gauss.predictive()):
        assert law.sample(40_000, random_state=0).var() == pytest.approx(law.variance(), rel=0.05)


# --- arrays of pairs, statistics, merging -------------------------------------------------------


def test_classes_and_columns_at_once():
    X, y = load_iris(return_X_y=True)
    groups = [X[y == k] for k in range(3)]
    prior = NormalInverseGamma(3.0, 1.0, 2.0, [0.5, 1.0, 1.5, 2.0])
    moments = [ColumnMoments.summarize(g, precision="double-double") for g in groups]
    for rows, statistic in zip(groups, moments, strict=True):
        known, again = prior + statistic, prior.posterior(rows)
        np.testing.assert_allclose(known.mean(), again.mean(), rtol=1e-13)
        one = NormalInverseGamma(3.0, 1.0, 2.0, 1.5).posterior(rows[:, 2])
        close(known.log_evidence()[2], one.log_evidence(), 1e-13)
    weight = np.array([[float(len(g))] for g in groups])
    mean = np.array([g.mean(axis=0) for g in groups])
    scatter = np.array([np.square(g - g.mean(axis=0)).sum(axis=0) for g in groups])
    many = prior.given(weight, mean, scatter)
    np.testing.assert_allclose(many.map().variance[1], (prior + moments[1]).map().variance)


def test_a_covariance_of_each_class():
    X, y = load_iris(return_X_y=True)
    moments = [Moments.summarize(X[y == k]) for k in range(3)]
    prior = NormalInverseWishart(X.mean(axis=0), 0.1, 8.0, np.diag(X.var(axis=0)))
    each = [prior + m for m in moments]
    many = prior.given(
        [m.weight.round() for m in moments],
        [m.mean.round() for m in moments],
        [m.scatter for m in moments],
    )
    for k in range(3):
        for ask in ("map", "mean", "variance"):
            for a, b in zip(getattr(many, ask)(), getattr(each[k], ask)(), strict=True):
                np.testing.assert_allclose(a[k], b, rtol=1e-13)
        close(many.log_evidence()[k], each[k].log_evidence())
        np.testing.assert_allclose(
            many.predictive().log_density(X[:5, None])[:, k],
            each[k].predictive().log_density(X[:5]),
            rtol=1e-12,
        )
    assert many.sample(7, random_state=0).covariance.shape == (7, 3, 4, 4)
    # A class with one row, and fewer rows than columns, has a covariance all the same.
    lonely = prior + Moments.summarize(X[:1])
    assert np.linalg.eigvalsh(lonely.map().covariance).min() > 0


@pytest.mark.parametrize(
    "prior",
    [
        NormalNormal(1.0, 0.5, noise_variance=2.0),
        NormalInverseGamma(1.0, 0.5, 2.0, 3.0),
        prior_of(1),
    ],
    ids=["mean", "variance", "covariance"],
)
def test_merging_counts_the_prior_once(prior):
    rows = np.array(Y)[:, None] if isinstance(prior, NormalInverseWishart) else np.array(Y)
    parts = [prior.posterior(rows[:1]), prior.posterior(rows[1:2]), prior.posterior(rows[2:])]
    whole = prior.posterior(rows)
    weighted = prior.posterior(rows[:2], sample_weight=[1.0, 3.0])
    repeated = prior.posterior(rows[[0, 1, 1, 1]])
    for a, b in ((sum(parts), whole), (parts[0].posterior(rows[1:]), whole), (weighted, repeated)):
        for name in ("mu", "kappa"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-13)
        close(a.log_evidence(), b.log_evidence())
    other = prior.posterior(rows)
    other.prior = prior._both + prior._both
    with pytest.raises(ValueError, match="priors differ"):
        whole + other
    with pytest.raises(ValueError, match="priors differ"):
        NormalNormal(noise_variance=2.0) + NormalNormal(noise_variance=3.0)


def test_rows_of_a_file(tmp_path):
    X = load_iris().data
    path = tmp_path / "iris.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(4)}), path)
    prior = prior_of(4)
    np.testing.assert_array_equal(prior.posterior(suffice.scan(path)).psi, prior.posterior(X).psi)
    column = suffice.scan(path, target="x0")
    gamma = NormalInverseGamma()
    assert gamma.posterior(column).map() == gamma.posterior(X[:, 0]).map()


# --- one mechanism: ridge, Bayesian regression, shrunk covariances ------------------------------


def test_ridge_is_a_pseudo_scatter(diabetes):
    X, y = diabetes
    for alpha in (0.1, 30.0):
        prior = NormalInverseWishart(np.zeros(11), 0.0, 0.0, np.diag([alpha] * 10 + [0.0]))
        psi = (prior + Moments.summarize(X, y[:, None], precision="double-double")).psi
        coef = np.linalg.solve(psi[:10, :10], psi[:10, 10])
        np.testing.assert_allclose(coef, Ridge(alpha=alpha).fit(X, y).coef_, rtol=1e-9)


@pytest.mark.parametrize("shrinkage", [0.01, 0.5, 0.99])
def test_shrinkage_is_a_wishart_prior(shrinkage):
    X, y = load_iris(return_X_y=True)
    for rows in (X[y == 1], X[:3]):
        n, d = rows.shape
        covariance = empirical_covariance(rows)
        worth = n * shrinkage / (1 - shrinkage)
        psi = worth * np.trace(covariance) / d
        prior = NormalInverseWishart(np.zeros(d), 0.0, worth - (d + 2), psi)
        found = (prior + Moments.summarize(rows)).map().covariance
        expected = shrunk_covariance(covariance, shrinkage)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-16)


def test_a_mean_is_ridge_on_a_column_of_ones():
    y, ones = np.array(Y), np.ones((4, 1))
    ridge = Ridge(alpha=2.5, fit_intercept=False).fit(ones, y)
    close(NormalNormal(0.0, 2.5).posterior(y).map(), ridge.coef_[0], 1e-14)
    line = BayesianLinearRegression(
        prior_mean=1.5, prior_precision=2.5, a0=2.0, b0=3.0, fit_intercept=False
    ).fit(ones, y)
    known = NormalInverseGamma(1.5, 2.5, 2.0, 3.0).posterior(y)
    close(known.mu, line.coef_[0], 1e-14)
    close(known.log_evidence(), line.log_evidence_, 1e-13)


def test_rows_without_weight_change_nothing():
    for prior in (
        NormalNormal(2.0, 3.0),
        NormalInverseGamma(2.0, 3.0),
        NormalInverseWishart([2.0], 3.0),
    ):
        several = isinstance(prior, NormalInverseWishart)
        known = prior.posterior([[5.0]] if several else [5.0], [0.0])
        assert known.mu == prior.mu
        assert known.kappa == prior.kappa
        assert known.log_evidence() == 0.0
        with pytest.raises(ValueError, match="no rows"):
            prior.posterior(np.empty((0, 1)) if several else [])


def test_what_is_known_does_not_change():
    centre = np.array([1.0, 2.0])
    prior = NormalInverseGamma(centre)
    centre[0] = 9.0
    assert prior.mu.tolist() == [1.0, 2.0]
    again = pickle.loads(pickle.dumps(prior.posterior(Y)))
    assert again.map().mu.tolist() == prior.posterior(Y).map().mu.tolist()
    assert copy.deepcopy(prior) + Gaussian().summarize(Y)


# --- bad input ----------------------------------------------------------------------------------


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"noise_variance holds 0\.0"):
        NormalNormal(noise_variance=0.0)
    with pytest.raises(ValueError, match="kappa holds -1"):
        NormalInverseGamma(kappa=-1.0)
    with pytest.raises(ValueError, match="alpha holds -2"):
        NormalInverseGamma(alpha=-2.0)
    for rows in ([1.0, np.nan], [1.0, np.inf], ["a"]):
        with pytest.raises(ValueError):
            NormalInverseGamma().posterior(rows)
    with pytest.raises(ValueError, match="one number for each column"):
        NormalInverseWishart(0.0)
    with pytest.raises(ValueError, match="symmetric"):
        NormalInverseWishart([0.0, 0.0], psi=[[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="positive semi-definite"):
        NormalInverseWishart([0.0, 0.0], psi=[[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="psi has shape"):
        NormalInverseWishart([0.0, 0.0], psi=np.eye(3))
    joint = NormalInverseWishart([0.0, 0.0])
    with pytest.raises(ValueError, match="have 3 columns"):
        joint.posterior(np.ones((4, 3)))
    with pytest.raises(ValueError, match="NaN"):
        joint.posterior([[1.0, np.nan]])
    with pytest.raises(ValueError, match="mean has shape"):
        joint.given(1.0, [1.0, 2.0], [1.0, 2.0])
    with pytest.raises(TypeError, match=r"given\(weight, mean, scatter\)"):
        joint + 3
    with pytest.raises(TypeError, match=r"given\(weight, mean, scatter\)"):
        NormalNormal() + np.ones(3)
    with pytest.raises(ValueError, match="sums of 1 numbers"):
        NormalNormal() + suffice.families.Poisson().summarize([1])
    with pytest.raises(ValueError, match="accepted is"):
        joint.predictive().log_density([1.0, 2.0, 3.0])
