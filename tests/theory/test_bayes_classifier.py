"""The best classifier: closed forms, brute force, coverage of intervals."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity
from sklearn.svm import LinearSVC

import suffice
from suffice import GaussianNB
from suffice.bayes import BetaBernoulli, DirichletCategorical, GammaPoisson, NormalInverseGamma
from suffice.families import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Poisson,
)
from suffice.theory import BayesClassifier, Density, MultivariateGaussian, clopper_pearson


def gauss(mu, variance=1.0):
    return Gaussian().at(mu=mu, variance=variance)


def covers(found, truth):
    assert found.lower <= truth <= found.upper, (found, truth)
    assert found.lower <= found.value <= found.upper


# --- closed forms -------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", [0.0, 0.3, 1.0, 2.0, 6.0, 12.0])
def test_two_gaussians(distance):
    found = BayesClassifier([gauss(0.0), gauss(distance)]).error()
    covers(found, ndtr(-distance / 2))
    assert found.value == pytest.approx(ndtr(-distance / 2), abs=1e-12)
    assert found.upper - found.lower < 2e-9
    assert (found.method, found.confidence) == ("quadrature", 1.0)


@pytest.mark.parametrize("prior", [0.5, 0.8, 0.99])
@pytest.mark.parametrize("variance", [1.0, 4.0])
def test_two_gaussians_with_a_prior(prior, variance):
    """The boundary is at x = Δ/2 + σ² log(π₀/π₁)/Δ."""
    distance, sd = 3.0, np.sqrt(variance)
    cut = distance / 2 + variance * np.log(prior / (1 - prior)) / distance
    truth = prior * ndtr(-cut / sd) + (1 - prior) * ndtr((cut - distance) / sd)
    ideal = BayesClassifier([gauss(0.0, variance), gauss(distance, variance)], [prior, 1 - prior])
    covers(ideal.error(), truth)
    assert ideal.error().value == pytest.approx(truth, abs=1e-12)
    assert ideal.predict([cut - 1e-6, cut + 1e-6]).tolist() == [0, 1]


def test_different_variances():
    """Two boundaries, where the log densities are equal."""
    cut = np.sqrt(2 * np.log(3.0) / (1 - 1 / 9))
    truth = 0.5 * (2 * ndtr(-cut)) + 0.5 * (2 * ndtr(cut / 3) - 1)
    covers(BayesClassifier([gauss(0.0), gauss(0.0, 9.0)]).error(), truth)


def test_exponentials_uniforms_and_cauchys():
    cut = np.log(3.0) / 2
    truth = 0.5 * (1 - np.exp(-cut)) + 0.5 * np.exp(-3 * cut)
    covers(BayesClassifier([Exponential().at(1.0), Exponential().at(3.0)]).error(), truth)
    covers(BayesClassifier([stats.uniform(0, 1), stats.uniform(0.75, 1)]).error(), 0.125)
    covers(BayesClassifier([stats.uniform(0, 1), stats.uniform(3, 1)]).error(), 0.0)
    truth = 0.5 - np.arctan(1.5) / np.pi
    covers(BayesClassifier([stats.cauchy(0), stats.cauchy(3)]).error(), truth)


def test_narrow_beside_wide():
    """A density of width 1e-8 is found among others."""
    found = BayesClassifier([gauss(0.0, 1e-16), gauss(3.0)]).error()
    covers(found, 0.5 * stats.norm(3).pdf(0) * _width(1e-8, 3.0))
    assert found.value < 1e-8


def _width(sd, mu):
    """How wide the narrow density wins over the wide one near its middle."""
    height = np.log(1 / (sd * np.sqrt(2 * np.pi))) - stats.norm(mu).logpdf(0)
    cut = np.sqrt(2 * height)
    # What the narrow one loses outside is the same order: add it by its share.
    outside = 2 * ndtr(-cut) / stats.norm(mu).pdf(0)
    return 2 * cut * sd + outside


def test_whole_numbers():
    k = np.arange(200)
    truth = np.minimum(stats.poisson(1).pmf(k), stats.poisson(3).pmf(k)).sum() / 2
    found = BayesClassifier([Poisson().at(1.0), Poisson().at(3.0)]).error()
    covers(found, truth)
    assert found.method == "sum"
    assert found.value == pytest.approx(truth, rel=1e-13)
    assert BayesClassifier(
        [Bernoulli().at(0.2), Bernoulli().at(0.7)]
    ).error().value == pytest.approx(0.25)
    dice = [Categorical(3).at([0.2, 0.3, 0.5]), stats.randint(0, 3)]
    assert BayesClassifier(dice).error().value == pytest.approx(0.5 * (0.2 + 0.3 + 1 / 3))
    found = BayesClassifier([stats.binom(10, 0.3), BetaBernoulli(3, 7).predictive(10)]).error()
    p, q = stats.binom(10, 0.3).pmf(k[:11]), stats.betabinom(10, 3, 7).pmf(k[:11])
    assert found.value == pytest.approx(np.minimum(p, q).sum() / 2, rel=1e-12)
    others = [GammaPoisson(3.0, 1.0).predictive(), stats.nbinom(3, 0.5)]
    assert BayesClassifier(others).error().value == pytest.approx(0.5, rel=1e-12)
    die = DirichletCategorical([1.0, 3.0]).predictive()
    assert BayesClassifier([die, Bernoulli().at(0.25)]).error().value == pytest.approx(0.25)


@pytest.mark.parametrize("mean", [[2.0, 1.0], [0.0, 0.5]])
def test_in_the_plane(mean):
    covariance = np.array([[2.0, 0.6], [0.6, 1.0]])
    distance = np.sqrt(np.array(mean) @ np.linalg.solve(covariance, mean))
    pair = [MultivariateGaussian([0.0, 0.0], covariance), MultivariateGaussian(mean, covariance)]
    found = BayesClassifier(pair).error(tolerance=1e-4)
    covers(found, ndtr(-distance / 2))
    assert found.value == pytest.approx(ndtr(-distance / 2), abs=1e-4)
    same = [stats.multivariate_normal([0.0, 0.0], covariance), pair[1]]
    covers(BayesClassifier(same).error(tolerance=1e-3), ndtr(-distance / 2))


# --- Monte Carlo --------------------------------------------------------------------------------


@pytest.mark.parametrize("interval", ["bernstein", "normal", "clopper-pearson"])
def test_monte_carlo(interval):
    d = 6
    pair = [MultivariateGaussian(np.zeros(d), 1.0), MultivariateGaussian(np.full(d, 0.8), 1.0)]
    ideal, truth = BayesClassifier(pair), ndtr(-0.4 * np.sqrt(d))
    found = ideal.error(interval=interval, random_state=0, n_samples=50_000)
    covers(found, truth)
    assert found.method == "monte-carlo"
    assert found.upper - found.lower < 0.01
    assert found == ideal.error(interval=interval, random_state=0, n_samples=50_000)
    assert found != ideal.error(interval=interval, random_state=1, n_samples=50_000)


@pytest.mark.parametrize(
    ("interval", "least"), [("bernstein", 0.98), ("normal", 0.9), ("clopper-pearson", 0.94)]
)
def test_coverage(interval, least):
    ideal, truth = BayesClassifier([gauss(0.0), gauss(2.0)]), ndtr(-1.0)
    hits = 0
    for seed in range(200):
        found = ideal.error("monte-carlo", interval=interval, n_samples=300, random_state=seed)
        hits += found.lower <= truth <= found.upper
    assert hits / 200 >= least


@pytest.mark.parametrize(
    ("interval", "confidence"),
    [
        ("normal", 0.8),
        ("clopper-pearson", 0.95),
        pytest.param("bernstein", 0.8, marks=pytest.mark.long),
        pytest.param("bernstein", 0.95, marks=pytest.mark.long),
        pytest.param("normal", 0.95, marks=pytest.mark.long),
        pytest.param("clopper-pearson", 0.8, marks=pytest.mark.long),
    ],
)
def test_coverage_in_repeated_draws(interval, confidence):
    """400 problems of a known error: as many are covered as such an interval promises.

    The number of them is binomial, and beyond these bounds once in ten thousand times; the normal
    interval must not cover many more either.
    """
    ideal = BayesClassifier([gauss(0.0), gauss(2.0)], [0.7, 0.3])
    cut = 1.0 + 0.5 * np.log(0.7 / 0.3)
    truth = 0.7 * ndtr(-cut) + 0.3 * ndtr(cut - 2.0)
    rng, covered = np.random.default_rng(0), 0
    for _ in range(400):
        found = ideal.error(
            "monte-carlo",
            interval=interval,
            confidence=confidence,
            n_samples=1000,
            random_state=rng,
        )
        covered += found.lower <= truth <= found.upper
    least, most = stats.binom(400, confidence).ppf([1e-4, 1 - 1e-4])
    assert covered >= least
    if interval == "normal":
        assert covered <= most


def test_averages_vary_less_than_counts():
    ideal = BayesClassifier([gauss(0.0), gauss(2.0)])
    averaged = ideal.error("monte-carlo", interval="normal", random_state=0)
    counted = ideal.error("monte-carlo", interval="clopper-pearson", random_state=0)
    assert averaged.upper - averaged.lower < 0.7 * (counted.upper - counted.lower)


def test_rare_errors_are_not_denied():
    """Where no draw errs, only Bernstein's and Clopper and Pearson's intervals cover."""
    ideal, truth = BayesClassifier([gauss(0.0), gauss(14.0)]), ndtr(-7.0)
    for interval in ("bernstein", "clopper-pearson"):
        covers(ideal.error("monte-carlo", interval=interval, random_state=0), truth)


def test_clopper_pearson():
    for k, n in [(0, 10), (3, 10), (10, 10)]:
        exact = stats.binomtest(k, n).proportion_ci(0.9, method="exact")
        assert clopper_pearson(k, n, 0.9) == pytest.approx((exact.low, exact.high), rel=1e-12)


# --- other rules --------------------------------------------------------------------------------


def test_no_rule_errs_less():
    ideal = BayesClassifier({"a": gauss(0.0), "b": gauss(2.0)})
    best = ideal.error().value
    for cut in (-1.0, 0.9, 1.0, 1.3):
        found = ideal.error(rule=lambda X, cut=cut: np.where(X[:, 0] < cut, "a", "b"))
        truth = 0.5 * ndtr(-cut) + 0.5 * ndtr(cut - 2)
        covers(found, truth)
        assert found.value >= best - 1e-12
        drawn = ideal.error(
            "monte-carlo", rule=lambda X, cut=cut: np.where(X[:, 0] < cut, "a", "b"), random_state=0
        )
        covers(drawn, truth)
    covers(ideal.error(rule=lambda X: np.full(len(X), "c")), 1.0)
    covers(ideal.error("monte-carlo", rule=lambda X: np.full(len(X), "c")), 1.0)
    counted = ideal.error(
        "monte-carlo", rule=lambda X: np.full(len(X), "c"), interval="clopper-pearson"
    )
    assert counted.value == 1.0
    assert ideal.error(rule=ideal).value == pytest.approx(best, abs=1e-12)


def test_what_learned_classifiers_come_near():
    ideal = BayesClassifier([gauss(0.0), gauss(2.0, 4.0)], [0.3, 0.7])
    X, y = ideal.sample(4000, random_state=0)
    learned = GaussianNB().fit(X, y)
    best, found = ideal.error().value, ideal.error(rule=learned).value
    assert best <= found < best + 0.002
    straight = ideal.error(rule=LinearSVC(random_state=0).fit(X, y)).value
    assert straight > found
    assert ideal.score(X, y) == np.mean(ideal.predict(X) == y)
    assert ideal.score(X, y, np.arange(4000)) == pytest.approx(1 - best, abs=0.02)


# --- predictions --------------------------------------------------------------------------------


def test_predictions_are_bayes_rule():
    densities = {"ä": gauss(0.0), "ö": stats.norm(1, 2), "ü": lambda x: stats.laplace(2).logpdf(x)}
    priors = np.array([0.5, 0.3, 0.2])
    ideal = BayesClassifier(densities, priors)
    x = np.linspace(-6, 8, 41)
    parts = np.stack(
        [stats.norm(0).pdf(x), stats.norm(1, 2).pdf(x), stats.laplace(2).pdf(x)], axis=1
    )
    joint = parts * priors
    np.testing.assert_allclose(
        ideal.predict_proba(x), joint / joint.sum(axis=1)[:, None], rtol=1e-12
    )
    np.testing.assert_allclose(np.exp(ideal.predict_joint_log_proba(x)), joint, rtol=1e-12)
    assert ideal.predict(x).tolist() == np.array(["ä", "ö", "ü"])[joint.argmax(axis=1)].tolist()
    np.testing.assert_array_equal(ideal.predict(x), ideal.predict(x[:, None]))
    assert "ä: 0.5" in repr(ideal)


def test_far_away_and_outside():
    ideal = BayesClassifier([gauss(0.0), gauss(1.0)])
    np.testing.assert_array_equal(ideal.predict_proba([1e6, -1e6]), [[0, 1], [1, 0]])
    ideal = BayesClassifier([Beta().at(2.0, 2.0), stats.uniform(2, 1)], [0.4, 0.6])
    np.testing.assert_allclose(ideal.predict_proba([0.5, 2.5, 9.0]), [[1, 0], [0, 1], [0.4, 0.6]])
    assert ideal.predict([9.0]).tolist() == [1]
    assert BayesClassifier([gauss(0.0), gauss(0.0)]).predict([1.0]).tolist() == [0]
    assert BayesClassifier([gauss(0.0), gauss(9.0)], [0.0, 1.0]).predict([0.0]).tolist() == [1]
    assert BayesClassifier([gauss(0.0)]).error().value == 0.0


def test_probabilities_keep_their_digits_and_infinite_densities_win():
    same = BayesClassifier([gauss(0.0), gauss(0.0)])
    np.testing.assert_allclose(same.predict_proba([1e6, 1e9]), 0.5, rtol=1e-15)
    peak = Density(lambda x: np.where(x == 0, np.inf, -np.abs(x)))
    ideal = BayesClassifier([gauss(0.0), peak])
    np.testing.assert_array_equal(ideal.predict_proba([0.0]), [[0.0, 1.0]])


def test_rules_of_the_plane():
    pair = [MultivariateGaussian([0.0, 0.0], 1.0), MultivariateGaussian([2.0, 0.0], 1.0)]
    ideal = BayesClassifier(pair)
    found = ideal.error(rule=lambda X: (X[:, 0] > 1.4).astype(int))
    covers(found, 0.5 * ndtr(-1.4) + 0.5 * ndtr(-0.6))
    assert found.upper - found.lower < 0.01


def test_pickles():
    pair = [gauss(0.0), stats.norm(1, 2), GammaPoisson(2.0, 1.0).predictive()]
    for one in (pair[:2], pair[2:], [MultivariateGaussian([0.0], 1.0)]):
        ideal = BayesClassifier(one)
        assert pickle.loads(pickle.dumps(ideal)).error() == ideal.error()


def test_densities_that_were_learned():
    X, y = load_iris(return_X_y=True)
    parts = [KernelDensity(bandwidth=0.3).fit(X[y == k, 2:]) for k in range(3)]
    ideal = BayesClassifier(parts)
    joint = np.stack([part.score_samples(X[:, 2:]) for part in parts], axis=1)
    np.testing.assert_array_equal(ideal.predict(X[:, 2:]), joint.argmax(axis=1))
    assert 0 < ideal.error("monte-carlo", n_samples=1000, random_state=0).value < 0.1
    mixtures = [GaussianMixture(2, random_state=0).fit(X[y == k, :1]) for k in range(3)]
    ideal = BayesClassifier(mixtures)
    found = ideal.error("monte-carlo", n_samples=2000, random_state=0)
    assert found == ideal.error("monte-carlo", n_samples=2000, random_state=0)
    covers(found, ideal.error().value)
    known = NormalInverseGamma(5.0, 1.0, 2.0, 1.0).posterior(X[y == 0, 0]).predictive()
    assert BayesClassifier([known, Gamma().at(20.0, 3.0)]).error().value < 0.2
    fitted = [Gaussian().fit(X[y == k, 0]) for k in range(2)]
    assert 0.05 < BayesClassifier(fitted).error().value < 0.2


def test_samples():
    ideal = BayesClassifier({"a": gauss(0.0), "b": gauss(50.0)}, [0.25, 0.75])
    X, y = ideal.sample(4000, random_state=0)
    assert X.shape == (4000, 1)
    assert np.mean(y == "b") == pytest.approx(0.75, abs=0.03)
    assert ((X[:, 0] > 25) == (y == "b")).all()


# --- bad input ----------------------------------------------------------------------------------


def test_what_is_refused():
    pair = [gauss(0.0), gauss(1.0)]
    for priors, message in (
        ([1.0], "priors has shape"),
        ([0.5, 0.6], "add up to 1"),
        ([-0.5, 1.5], "not be negative"),
        ([np.nan, 1.0], "not be negative"),
    ):
        with pytest.raises(ValueError, match=message):
            BayesClassifier(pair, priors)
    with pytest.raises(ValueError, match="densities is empty"):
        BayesClassifier([])
    with pytest.raises(TypeError, match="is no density"):
        BayesClassifier([3.0])
    with pytest.raises(ValueError, match="same dimension"):
        BayesClassifier([gauss(0.0), MultivariateGaussian([0.0, 0.0], 1.0)])
    with pytest.raises(ValueError, match="whole numbers or none"):
        BayesClassifier([gauss(0.0), Poisson().at(1.0)])
    with pytest.raises(ValueError, match="one by one"):
        BayesClassifier([Gaussian().at(np.zeros(2), np.ones(2))])
    with pytest.raises(ValueError, match="not over numbers"):
        BayesClassifier([Categorical(("a", "b")).at([0.5, 0.5])])
    with pytest.raises(ValueError, match="not over numbers"):
        BayesClassifier([Dirichlet(2).at([0.5, 0.5])])
    ideal = BayesClassifier(pair)
    with pytest.raises(ValueError, match=r"X has shape \(2, 2\)"):
        ideal.predict(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="NaN"):
        ideal.predict([np.nan])
    for key, value in {
        "method": "guess",
        "interval": "wide",
        "confidence": 2,
        "n_samples": 1,
    }.items():
        with pytest.raises(ValueError, match=key):
            ideal.error(**{"method": "monte-carlo", key: value})
    with pytest.raises(ValueError, match="labels of shape"):
        ideal.error(rule=lambda X: 0)
    three = [MultivariateGaussian(np.zeros(3), 1.0)] * 2
    with pytest.raises(ValueError, match="one or two dimensions"):
        BayesClassifier(three).error("quadrature")
    plain = BayesClassifier([lambda x: -x, lambda x: -2 * x])
    with pytest.raises(ValueError, match="cannot be drawn from"):
        plain.error("monte-carlo")
    with pytest.raises(ValueError, match="add up to"):
        BayesClassifier([Density(lambda x: 0 * x, support=(0, 3))]).error()
    with pytest.raises(ValueError, match="gave NaN"):
        BayesClassifier([lambda x: x * np.nan]).predict([1.0])
    with pytest.raises(ValueError, match="sums begin somewhere"):
        BayesClassifier([Density(lambda x: 0 * x, discrete=True)]).error()
    for covariance in (
        [[1.0, 2.0], [2.0, 1.0]],
        [[1.0, 0.5], [0.0, 1.0]],
        [[1e-9, 5e-10], [-5e-10, 1e-9]],
        [[np.nan, 0], [0, 1]],
    ):
        with pytest.raises(ValueError, match="positive definite"):
            MultivariateGaussian([0.0, 0.0], covariance)
    with pytest.raises(ValueError, match="mean has shape"):
        MultivariateGaussian([0.0, 0.0], np.eye(3))


def test_public_names():
    assert suffice.theory.BayesClassifier is BayesClassifier


# --- what a hostile user tries ------------------------------------------------------------------


def test_densities_that_are_infinite_at_their_ends():
    arcsine, bell = stats.beta(0.5, 0.5), stats.beta(2, 2)
    u = (6 * np.pi) ** (-2 / 3)  # both densities are functions of x (1 − x), and equal there
    x = 0.5 * (1 - np.sqrt(1 - 4 * u))
    truth = 0.5 * (2 * bell.cdf(x) + arcsine.cdf(1 - x) - arcsine.cdf(x))
    with pytest.warns(ConvergenceWarning, match="bounded by"):
        found = BayesClassifier([arcsine, bell]).error()
    covers(found, truth)
    assert abs(found.value - truth) < 1e-6


@pytest.mark.parametrize(
    "labels", [(1, "well"), ((1, 2), (3, 4)), (None, "well"), ("1", 1)], ids=repr
)
def test_labels_stay_what_they_are(labels):
    ideal = BayesClassifier({labels[0]: gauss(0.0), labels[1]: gauss(2.0)})
    assert ideal.predict([-1.0, 3.0]).tolist() == list(labels)
    _, drawn = ideal.sample(20, 0)
    assert set(drawn.tolist()) == set(labels)
    covers(ideal.error("monte-carlo", n_samples=4000, random_state=0), ndtr(-1.0))


def test_scores_need_a_label_for_each_row():
    ideal = BayesClassifier([gauss(0.0), gauss(2.0)])
    for y in ([0], [0, 1, 1], [[0], [1]]):
        with pytest.raises(ValueError, match="y has shape"):
            ideal.score([0.0, 2.0], y)


def test_more_that_is_refused():
    ideal = BayesClassifier([gauss(0.0), gauss(2.0)])
    for tolerance in (np.nan, -1.0, "small"):
        with pytest.raises(ValueError, match="tolerance"):
            ideal.error(tolerance=tolerance)
    with pytest.raises(ValueError, match="whole numbers"):
        ideal.error("monte-carlo", n_samples=2.5)
    with pytest.raises(TypeError, match="rule is 3"):
        ideal.error(rule=3)
    with pytest.raises(ValueError, match="something else than numbers"):
        ideal.predict(["a"])
    with pytest.raises(TypeError, match="densities is None"):
        BayesClassifier(None)
    with pytest.raises(TypeError, match="has no parameters yet"):
        BayesClassifier([stats.norm, stats.norm])
    with pytest.raises(NotFittedError):
        BayesClassifier([suffice.KernelDensity(), suffice.KernelDensity()])
    with pytest.raises(ValueError, match="priors must hold numbers"):
        BayesClassifier([gauss(0.0), gauss(2.0)], ["a", "b"])
    with pytest.raises(ValueError, match="finite"):
        MultivariateGaussian([0.0, np.nan], 1.0)
    for wrong, n in ((3, 2), (-1, 2), (2.5, 10), (3, 20.5), ("3", 20), (None, 3)):
        with pytest.raises(ValueError, match="impossible"):
            clopper_pearson(wrong, n)
    for confidence in (95, "most", np.nan):
        with pytest.raises(ValueError, match="confidence"):
            clopper_pearson(1, 2, confidence)
    for n in (-1, 1.5, "a", None, True):
        for source in (ideal, ideal.densities[0], MultivariateGaussian([0.0, 1.0], 2.0)):
            with pytest.raises(ValueError, match="accepted are whole numbers"):
                source.sample(n)
    for weight in ([-1.0, 2.0], [np.nan, 1.0], [1.0], [0.0, 0.0]):
        with pytest.raises(ValueError, match="weight"):
            ideal.score([0.0, 1.0], [0, 1], weight)
    with pytest.raises(ValueError, match="no row"):
        ideal.score([], [])
    with pytest.raises(ValueError, match="accepted are"):
        MultivariateGaussian([], 1.0)


def test_a_gaussian_stays_what_it_is():
    mean, covariance = np.zeros(2), np.eye(2)
    law = MultivariateGaussian(mean, covariance)
    before = law.log_density([[1.0, 1.0]])
    mean[0] = covariance[0, 0] = 5.0
    np.testing.assert_array_equal(law.log_density([[1.0, 1.0]]), before)
    with pytest.raises(ValueError, match="read-only"):
        law.mean[0] = 5.0


def test_parameters_of_conjugate_pairs():
    """Which of two coins is it, whose probabilities are known by their distributions alone?"""
    coins = BayesClassifier([BetaBernoulli(2.0, 3.0), BetaBernoulli(3.0, 2.0)])
    assert coins.error().value == pytest.approx(stats.beta(2, 3).sf(0.5), rel=1e-10)
    assert coins.predict_proba([0.0, 0.25]).tolist() == [[0.5, 0.5], [0.75, 0.25]]
    rates = BayesClassifier([GammaPoisson(1.0, 1.0), GammaPoisson(1.0, 4.0)])
    crossing = np.log(4.0) / 3.0  # e^−x = 4 e^−4x
    expected = 0.5 * (stats.expon.cdf(crossing) + stats.expon(scale=0.25).sf(crossing))
    assert rates.error().value == pytest.approx(expected, rel=1e-9)
    for pair in (NormalInverseGamma(), DirichletCategorical([1.0, 2.0])):
        with pytest.raises(TypeError, match=r"predictive\(\)"):
            BayesClassifier([pair, pair])
