"""Kernel densities against sums in long double, integrals, scikit-learn, and samples."""

from __future__ import annotations

import copy
import itertools
import math
import re
import threading
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from scipy.integrate import dblquad, quad
from scipy.special import gammaln
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity as Peer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import suffice
from suffice import KernelDensity, KNeighborsDensity
from suffice.engines import gather
from suffice.fitting import one_pass
from suffice.neighbors.density.kernels import KERNELS, cosine_moment, log_ball

NAMES = list(KERNELS)
SHARED = [name for name in NAMES if name != "tophat-cube"]
ENDLESS = ["gaussian", "exponential"]
each_kernel = pytest.mark.parametrize("name", NAMES)

LONG_PI = np.longdouble("3.14159265358979323846264338327950288")


def log_integral(name, d):
    """log ∫ K by quadrature of the radius."""
    if name == "tophat-cube":
        return 0.0
    profile = {
        "gaussian": lambda r: np.exp(-r * r / 2),
        "exponential": lambda r: np.exp(-r),
        "tophat": lambda r: 1.0,
        "epanechnikov": lambda r: 1 - r * r,
        "linear": lambda r: 1 - r,
        "cosine": lambda r: np.cos(np.pi * r / 2),
    }[name]
    # In units of the radius where r^(d − 1) K is largest, and divided by its value there.
    unit = max(d - 1, 1.0) ** {"gaussian": 0.5, "exponential": 1.0}.get(name, 0.0)
    largest = profile(unit) if name in ENDLESS else 1.0
    ends = [0.0, 1.0, 2.0, 60.0] if name in ENDLESS else [0.0, 1.0]
    radial = sum(
        quad(lambda r: profile(unit * r) / largest * r ** (d - 1), a, b, epsabs=0, limit=200)[0]
        for a, b in itertools.pairwise(ends)
    )
    surface = np.log(2) + d / 2 * np.log(np.pi) - gammaln(d / 2)
    return np.log(radial) + np.log(largest) + d * np.log(unit) + surface


def naive(X, weight, queries, h, name):
    """Log densities from the formula, in long double."""
    X, queries = X.astype(np.longdouble), queries.astype(np.longdouble)
    out = np.empty(len(queries))
    for i, q in enumerate(queries):
        u = np.sqrt(((X - q) ** 2).sum(axis=1)) / h
        with np.errstate(divide="ignore"):
            terms = {
                "gaussian": lambda: -(u**2) / 2,
                "exponential": lambda: -u,
                "tophat": lambda: np.where(u < 1, 0.0, -np.inf),
                "epanechnikov": lambda: np.log(np.maximum(1 - u**2, 0)),
                "linear": lambda: np.log(np.maximum(1 - u, 0)),
                "cosine": lambda: np.log(np.where(u < 1, np.cos(LONG_PI * u / 2), 0)),
                "tophat-cube": lambda: np.where(abs(X - q).max(axis=1) <= h / 2, 0.0, -np.inf),
            }[name]() + np.log(weight)
        top = terms.max()
        total = np.exp(terms - top).sum() if top > -np.inf else np.longdouble(0)
        out[i] = top + np.log(total) - np.log(weight.sum()) if total else -np.inf
    return out - X.shape[1] * np.log(h) - log_integral(name, X.shape[1])


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n, d))


# --- the definition ------------------------------------------------------------------------


@each_kernel
@pytest.mark.parametrize(("n", "d"), [(1, 1), (3, 2), (700, 1), (900, 5), (60, 40)])
def test_log_densities_equal_the_formula(name, n, d):
    rng, X = rows(n, d)
    queries = np.concatenate([X[:5], rng.normal(size=(20, d)), rng.normal(size=(3, d)) + 2000])
    h = 1.3 * np.sqrt(d)
    found = KernelDensity(kernel=name, bandwidth=h).fit(X).score_samples(queries)
    expected = naive(X, np.ones(n), queries, h, name)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=2e-13)


@each_kernel
def test_weights(name):
    rng, X = rows(400, 3)
    weight = rng.uniform(0, 2, size=400).round(1)
    queries = rng.normal(size=(30, 3))
    model = KernelDensity(kernel=name).fit(X, sample_weight=weight)
    expected = naive(X[weight > 0], weight[weight > 0], queries, 1.0, name)
    np.testing.assert_allclose(model.score_samples(queries), expected, rtol=1e-12, atol=2e-13)
    # Nothing changes when all weights are multiplied, even by very much.
    large = KernelDensity(kernel=name).fit(X, sample_weight=weight * 2.0**900)
    np.testing.assert_array_equal(large.score_samples(queries), model.score_samples(queries))


def test_the_hypercube_counts_rows():
    """k / (n hᵈ), the window of the notes."""
    rng, X = rows(500, 2)
    queries = rng.normal(size=(40, 2))
    for h in (0.5, 1.0, 4.0):
        k = (np.abs(queries[:, None] - X).max(axis=2) <= h / 2).sum(axis=1)
        model = KernelDensity(kernel="tophat-cube", bandwidth=h).fit(X)
        found = np.exp(model.score_samples(queries))
        np.testing.assert_allclose(found, k / (500 * h**2), rtol=1e-14)


@each_kernel
def test_integral_over_a_line_is_one(name):
    X = np.array([[0.0], [0.3], [2.0]])
    model = KernelDensity(kernel=name, bandwidth=0.7).fit(X, sample_weight=[1.0, 2.0, 0.5])
    kinks = sorted({c + s for c in X[:, 0] for s in (-0.7, -0.35, 0.0, 0.35, 0.7)})
    ends = [-30.0, *kinks, 32.0]
    mass = sum(
        quad(lambda x: np.exp(model.score_samples([[x]])[0]), a, b, epsabs=1e-11)[0]
        for a, b in itertools.pairwise(ends)
    )
    assert mass == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize(
    "name",
    [
        "epanechnikov",
        "linear",
        *(pytest.param(n, marks=pytest.mark.long) for n in ("gaussian", "cosine")),
    ],
)
def test_integral_over_a_plane_is_one(name):
    """Of one window, whose middle is the origin: a quarter of it, four times."""
    density = KernelDensity(kernel=name, bandwidth=0.8).fit(np.zeros((1, 2)))
    end = 8.0 if name == "gaussian" else 0.8

    def value(y, x):
        return float(np.exp(density.score_samples([[x, y]])[0]))

    def edge(x):
        return end if name == "gaussian" else np.sqrt(max(end**2 - x * x, 0.0))

    mass = 4 * dblquad(value, 0, end, 0, edge, epsabs=1e-6, epsrel=1e-6)[0]
    assert mass == pytest.approx(1, abs=1e-5)


@each_kernel
@pytest.mark.parametrize("d", [1, 2, 3, 8, 25, 100])
def test_normalising_constants(name, d):
    assert KERNELS[name].log_integral(d) == pytest.approx(
        log_integral(name, d), rel=1e-11, abs=1e-11
    )


def test_volumes_of_balls():
    for d, volume in [(1, 2.0), (2, np.pi), (3, 4 * np.pi / 3), (4, np.pi**2 / 2)]:
        assert log_ball(d) == pytest.approx(np.log(volume), rel=1e-14)
    assert cosine_moment(1) == pytest.approx(2 / np.pi, rel=1e-15)
    assert cosine_moment(2) == pytest.approx(2 / np.pi - 4 / np.pi**2, rel=1e-15)


# --- scikit-learn --------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("d", [1, 3, 5])
def test_scikit_learn(name, d):
    rng, X = rows(800, d)
    queries, weight = rng.normal(size=(50, d)), rng.uniform(0.2, 2, size=800)
    for options in ({}, {"sample_weight": weight}):
        ours = KernelDensity(kernel=name, bandwidth=1.5).fit(X, **options)
        theirs = Peer(kernel=name, bandwidth=1.5).fit(X, **options)
        near = theirs.score_samples(queries) > -15  # beyond, its tree leaves a residue
        np.testing.assert_allclose(
            ours.score_samples(queries)[near], theirs.score_samples(queries)[near], rtol=1e-9
        )


@pytest.mark.parametrize("rule", ["scott", "silverman"])
def test_rules_of_thumb(rule):
    _, X = rows(300, 3)
    X[:, 1] = 7.0  # a constant column is a column
    ours = KernelDensity(bandwidth=rule).fit(X)
    assert ours.bandwidth_ == pytest.approx(Peer(bandwidth=rule).fit(X).bandwidth_, rel=1e-15)
    twice = KernelDensity(bandwidth=rule).fit(X, sample_weight=np.full(300, 2.0))
    again = KernelDensity(bandwidth=rule).fit(np.concatenate([X, X]))
    assert twice.bandwidth_ == again.bandwidth_


@pytest.mark.parametrize("name", ["gaussian", "tophat"])
def test_the_same_draws(name):
    rng, X = rows(200, 3)
    for options in ({}, {"sample_weight": rng.uniform(0.2, 2, size=200)}):
        ours = KernelDensity(kernel=name, bandwidth=0.4).fit(X, **options).sample(50, 3)
        theirs = Peer(kernel=name, bandwidth=0.4).fit(X, **options).sample(50, 3)
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)


def test_in_a_pipeline_and_a_grid_search():
    _, X = rows(150, 2)
    pipeline = make_pipeline(StandardScaler(), KernelDensity())
    assert pipeline.fit(X).score_samples(X).shape == (150,)
    grid = {"bandwidth": [0.1, 0.5, 2.0]}
    found = GridSearchCV(KernelDensity(), grid).fit(X)
    assert found.best_params_ == GridSearchCV(Peer(), grid).fit(X).best_params_


# --- far away, huge and tiny ---------------------------------------------------------------


def test_a_thousand_bandwidths_away():
    X = np.array([[0.0], [1.0]])
    gaussian = KernelDensity(bandwidth=1e-3).fit(X).score_samples([[2.0], [-5.0]])
    log_peak = -np.log(2) - np.log(1e-3) - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(gaussian, log_peak - 0.5 * np.array([1e6, 25e6]), rtol=1e-14)
    exponential = KernelDensity(bandwidth=1e-3, kernel="exponential").fit(X)
    np.testing.assert_allclose(
        exponential.score_samples([[2.0], [-5.0]]),
        np.array([-1000, -5000]) + np.log(250),
        rtol=1e-14,
    )
    for name in set(NAMES) - set(ENDLESS):
        assert KernelDensity(kernel=name).fit(X).score_samples([[1e3]]) == -np.inf


@each_kernel
@pytest.mark.parametrize("power", [-250, 250])
def test_units_do_not_matter(name, power):
    """Multiplied by a power of two, a density has the same digits."""
    rng, X = rows(300, 2)
    queries = rng.normal(size=(20, 2))
    factor = 2.0**power
    plain = KernelDensity(kernel=name, bandwidth=0.5).fit(X).score_samples(queries)
    scaled = KernelDensity(kernel=name, bandwidth=0.5 * factor).fit(X * factor)
    np.testing.assert_allclose(
        scaled.score_samples(queries * factor),
        plain - 2 * power * np.log(2),
        rtol=1e-14,
        atol=1e-12,
    )


def test_an_offset_costs_no_digits():
    rng, X = rows(300, 2)
    X, queries = X.round(3), rng.normal(size=(20, 2)).round(3)
    moved = np.round((X + 1e8) * 8) / 8, np.round((queries + 1e8) * 8) / 8
    near = moved[0] - 1e8, moved[1] - 1e8  # exactly the same differences
    for name in NAMES:
        found = KernelDensity(kernel=name).fit(moved[0]).score_samples(moved[1])
        np.testing.assert_array_equal(
            found, KernelDensity(kernel=name).fit(near[0]).score_samples(near[1])
        )


# --- queries are a pass --------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    def write(X, **more):
        table = pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, **more})
        half = len(X) // 2
        for i, part in enumerate((table.slice(0, half), table.slice(half))):
            pq.write_table(part, tmp_path / f"{i}.parquet", row_group_size=333)
        return str(tmp_path / "*.parquet")

    return write


@each_kernel
def test_the_same_bits_from_files_frames_and_threads(name, files):
    rng, X = rows(1500, 3)
    model = KernelDensity(kernel=name, bandwidth=0.9).fit(X)
    expected = model.score_samples(X)
    source = suffice.scan(files(X))
    streamed = KernelDensity(kernel=name, bandwidth=0.9).fit(source)
    assert streamed.score_samples(source).tobytes() == expected.tobytes()
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    assert streamed.score_samples(frame).tobytes() == expected.tobytes()
    for threads in (1, 2, 5):
        with suffice.config(threads=threads):
            assert model.score_samples(X).tobytes() == expected.tobytes()
    some = rng.permutation(1500)[:77]
    assert model.score_samples(X[some]).tobytes() == expected[some].tobytes()
    assert model.score_samples(X.astype(np.float32)).dtype == np.float64


def test_scores(files):
    rng, X = rows(400, 2)
    weight = rng.integers(0, 3, size=400).astype(float)
    model = KernelDensity().fit(X)
    assert model.score(X) == model.score_samples(X).sum()
    source = suffice.scan(files(X, weight=weight), weight="weight")
    expected = weight @ model.score_samples(X)
    assert KernelDensity().fit(X).score(source) == pytest.approx(expected, rel=1e-13)


def test_two_threads_at_once():
    _, X = rows(600, 3)
    model = KernelDensity().fit(X)
    expected = copy.deepcopy(model).score_samples(X)
    found = {}
    threads = [
        threading.Thread(target=lambda i=i: found.update({i: model.score_samples(X)}))
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(one.tobytes() == expected.tobytes() for one in found.values())
    assert len(found) == 4


# --- draws ---------------------------------------------------------------------------------


@each_kernel
@pytest.mark.parametrize("d", [1, 3])
def test_draws_have_the_moments_of_the_density(name, d):
    """Mean and covariance of rows plus those of the kernel, within five standard errors."""
    rng, X = rows(50, d)
    weight = rng.uniform(0.5, 2, size=50)
    draws = KernelDensity(kernel=name, bandwidth=0.6).fit(X, sample_weight=weight).sample(40_000, 1)
    mean = weight @ X / weight.sum()
    spread = np.cov(X.T, aweights=weight, ddof=0) + 0.36 * KERNELS[name].variance(d) * np.eye(d)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=5 * np.sqrt(spread.max() / 40_000))
    np.testing.assert_allclose(np.cov(draws.T), spread, atol=0.05 * spread.max())


@each_kernel
def test_draws_follow_the_density(name):
    """Kolmogorov and Smirnov's test against the integral of the density."""
    X = np.array([[0.0], [0.4], [3.0]])
    model = KernelDensity(kernel=name, bandwidth=0.8).fit(X, sample_weight=[1.0, 1.0, 3.0])
    grid = np.linspace(-12, 15, 40_001)
    density = np.exp(model.score_samples(grid[:, None]))
    steps = np.diff(grid) * (density[1:] + density[:-1]) / 2
    below = np.append(0.0, np.cumsum(steps))
    draws = model.sample(4000, random_state=11)[:, 0]
    assert stats.kstest(draws, lambda x: np.interp(x, grid, below)).pvalue > 0.01


@each_kernel
def test_draws_stay_within_the_window(name):
    draws = KernelDensity(kernel=name, bandwidth=2.0).fit(np.zeros((1, 3))).sample(3000, 5)
    lengths = np.linalg.norm(draws, axis=1)
    if name == "tophat-cube":
        assert np.abs(draws).max() <= 1.0
    elif name not in ENDLESS:
        assert lengths.max() <= 2.0
    # All directions alike.
    assert np.abs((draws / lengths[:, None]).mean(axis=0)).max() < 0.05


# --- rows come and go ----------------------------------------------------------------------


def test_update_merge_forget_and_refit():
    rng, X = rows(500, 2)
    queries = rng.normal(size=(30, 2))
    whole = KernelDensity(bandwidth=0.5).fit(X)
    parts = [KernelDensity(bandwidth=0.5).fit(X[i::3]) for i in range(3)]
    expected = whole.score_samples(queries)
    np.testing.assert_allclose(sum(parts).score_samples(queries), expected, rtol=1e-13)
    grown = KernelDensity(bandwidth=0.5)
    for start in range(0, 500, 100):
        grown = grown.update(X[start : start + 100])
    assert grown.score_samples(queries).tobytes() == expected.tobytes()
    grown.forget(X[100:450])
    rest = KernelDensity(bandwidth=0.5).fit(np.concatenate([X[:100], X[450:]]))
    assert grown.score_samples(queries).tobytes() == rest.score_samples(queries).tobytes()
    assert grown.trace_.step[-1] == "forget"
    chosen = copy.deepcopy(whole).refit(bandwidth="held-out", folds=3, bandwidths=[0.2, 0.5, 1.0])
    fresh = KernelDensity(bandwidth="held-out", folds=3, bandwidths=[0.2, 0.5, 1.0]).fit(X)
    assert chosen.bandwidth_ == fresh.bandwidth_
    assert chosen.certificate_.log_likelihood == fresh.certificate_.log_likelihood
    again = whole.refit(kernel="linear", bandwidth=2.0)
    fresh = KernelDensity(kernel="linear", bandwidth=2.0).fit(X)
    assert again.score_samples(queries).tobytes() == fresh.score_samples(queries).tobytes()


def test_parameters_changed_after_a_fit_leave_it_alone():
    _, X = rows(80, 2)
    model = KernelDensity(kernel="linear").fit(X)
    before, draws = model.score_samples(X), model.sample(5, 0)
    model.set_params(kernel="gaussian", bandwidth=9.0)
    assert model.score_samples(X).tobytes() == before.tobytes()
    np.testing.assert_array_equal(model.sample(5, 0), draws)


def test_what_cannot_be_forgotten_or_merged():
    _, X = rows(50, 2)
    model = KernelDensity().fit(X)
    before = model.score_samples(X)
    with pytest.raises(ValueError, match="not there"):
        model.forget(X[:3] + 1e-12)
    with pytest.raises(ValueError, match="no row would stay"):
        model.forget(X)
    with pytest.raises(ValueError, match="cannot be refitted with other metric"):
        model.refit(metric="l2")
    with pytest.raises(ValueError, match=r"bandwidth=1\.0 and bandwidth=2\.0"):
        model + KernelDensity(bandwidth=2.0).fit(X)
    assert model.score_samples(X).tobytes() == before.tobytes()


def test_a_large_weight_is_forgotten_to_the_last_one():
    model = KernelDensity().fit([[0.0], [5.0]], sample_weight=[1e13, 1.0])
    with pytest.raises(ValueError, match="more of its weight than there is"):
        model.forget([[0.0]], sample_weight=[1e13 + 5])
    model.forget([[0.0]], sample_weight=[1e13 - 1])
    assert model.statistics_.weight.tolist() == [1.0, 1.0]


def test_saved_models_keep_their_rows(tmp_path):
    _, X = rows(300, 2)
    model = KernelDensity(bandwidth="silverman", kernel="tophat-cube").fit(X)
    model.save(tmp_path / "density")
    loaded = suffice.load(tmp_path / "density")
    assert loaded.score_samples(X).tobytes() == model.score_samples(X).tobytes()
    np.testing.assert_array_equal(loaded.sample(9, 1), model.sample(9, 1))
    assert loaded.update(X[:5]).statistics_.count == 305


@pytest.mark.parametrize(
    ("name", "value"),
    [("bandwidth_", -1.0), ("bandwidth_", "wide"), ("kernel_", "eval"), ("n_features_in_", 3)],
)
def test_files_that_hold_something_else(name, value, tmp_path):
    model = KernelDensity().fit(rows(20, 2)[1])
    setattr(model, name, value)
    model.save(tmp_path / "density")
    with pytest.raises(ValueError, match=r"its (bandwidth_|kernel_|rows)"):
        suffice.load(tmp_path / "density")


# --- the certificate -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ENDLESS)
def test_the_error_that_is_promised(name):
    rng, X = rows(3000, 4)
    queries = np.concatenate([rng.normal(size=(20, 4)), 100 * rng.normal(size=(20, 4))])
    model = KernelDensity(kernel=name, bandwidth=0.3).fit(X)
    assert model.certificate_.holds
    away = np.sqrt(((queries[:, None] - X) ** 2).sum(axis=2)).min(axis=1) / 0.3
    exponent = away**2 / 2 if name == "gaussian" else away
    expected = naive(X, np.ones(3000), queries, 0.3, name)
    bound = model.certificate_.error + 2.0**-52 * 10 * exponent + 2e-15 * np.abs(expected)
    assert (np.abs(model.score_samples(queries) - expected) <= bound).all()


@pytest.mark.parametrize("d", [1, 4])
def test_the_error_of_exponents_that_is_promised(d):
    """Of one row, against fractions: all there is but the exponent is the rounding of the end."""
    rng = np.random.default_rng(d)
    X, h = rng.normal(size=(1, d)), 0.3
    queries = rng.normal(size=(300, d)) * 1000
    model = KernelDensity(bandwidth=h).fit(X)
    claim = re.search(r"to (\S+) and (\S+) of the exponent", model.certificate_.claim)
    error, exponents = map(float, claim.groups())
    log_peak = -d * (math.log(h) + 0.5 * math.log(2 * math.pi))
    for q, found in zip(queries, model.score_samples(queries), strict=True):
        squares = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(q, X[0], strict=True))
        exponent = squares / (2 * Fraction(h) ** 2)
        wrong = abs(Fraction(found) - Fraction(log_peak) + exponent)
        assert wrong <= error + exponents * exponent + np.spacing(abs(found)) / 2


@pytest.mark.parametrize("d", [1, 4])
def test_the_error_of_windows_that_is_promised(d):
    """Near the edge of a window, where 1 − r² has lost most of its digits."""
    rng = np.random.default_rng(d)
    X = rng.normal(size=(1, d))
    away = rng.normal(size=(300, d))
    away *= rng.uniform(0.99, 0.9999, size=(300, 1)) / np.linalg.norm(away, axis=1, keepdims=True)
    queries = X + away
    model = KernelDensity(kernel="epanechnikov").fit(X)
    integral = math.exp(KERNELS["epanechnikov"].log_integral(d))
    for q, found in zip(queries, model.score_samples(queries), strict=True):
        squares = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(q, X[0], strict=True))
        term = Fraction(math.exp(found) * integral)
        assert abs(term - (1 - squares)) <= model.certificate_.error + 1e-15 * float(term)


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize("bandwidth", [0, -1.0, np.nan, np.inf, "wide", None])
def test_bad_bandwidths(bandwidth):
    with pytest.raises(ValueError, match="'bandwidth' parameter"):
        KernelDensity(bandwidth=bandwidth).fit([[1.0], [2.0]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "manhattan"}, "metric='manhattan' is not supported.*'euclidean'"),
        ({"metric": "haversine"}, "metric='haversine' is not supported"),
        ({"metric": "minkowski", "metric_params": {"p": 3}}, "metric_params=.* not supported"),
        ({"metric_params": {"V": 1}}, "metric_params=.* not supported"),
        ({"kernel": "triangle"}, "'kernel' parameter"),
        ({"algorithm": "brute"}, "'algorithm' parameter"),
        ({"leaf_size": 0}, "'leaf_size' parameter"),
        ({"atol": -1}, "'atol' parameter"),
        ({"breadth_first": "no"}, "'breadth_first' parameter"),
        ({"folds": 1}, "'folds' parameter"),
        ({"bandwidth": "held-out", "bandwidths": []}, "bandwidths=.*positive"),
        ({"bandwidth": "held-out", "bandwidths": [1.0, -1.0]}, "bandwidths=.*positive"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        KernelDensity(**options).fit([[1.0], [2.0], [4.0]])


def test_accepted_parameters_change_nothing():
    _, X = rows(100, 2)
    plain = KernelDensity().fit(X).score_samples(X)
    for options in (
        {"metric": "l2"},
        {"metric": "minkowski", "metric_params": {"p": 2}},
        {"algorithm": "ball_tree", "leaf_size": 3, "breadth_first": False, "atol": 1, "rtol": 0.5},
    ):
        assert KernelDensity(**options).fit(X).score_samples(X).tobytes() == plain.tobytes()


def test_bad_rows():
    _, X = rows(20, 2)
    model = KernelDensity().fit(X)
    with pytest.raises(ValueError, match="NaN"):
        KernelDensity().fit([[1.0], [np.nan]])
    with pytest.raises(ValueError, match="0 sample"):
        KernelDensity().fit(np.empty((0, 2)))
    with pytest.raises(ValueError, match="at least one"):
        KernelDensity().fit(X, sample_weight=np.zeros(20))
    with pytest.raises(ValueError, match="NaN"):
        model.score_samples([[1.0, np.nan]])
    with pytest.raises(ValueError, match="X has 3 features"):
        model.score_samples(np.ones((1, 3)))
    with pytest.raises(ValueError, match=r"text|string"):
        KernelDensity().fit(pd.DataFrame({"a": ["x", "y"]}))


def test_rows_that_do_not_fit(monkeypatch):
    monkeypatch.setattr(gather, "MOST_BYTES", 1000)
    model = KernelDensity().fit(pd.DataFrame(np.ones((30, 2))))
    with pytest.raises(ValueError, match="KernelDensity keeps its rows: at least 60"):
        model.update(pd.DataFrame(np.ones((60, 2))))
    with pytest.raises(ValueError, match="Fit a sample"):
        KernelDensity().fit(pd.DataFrame(np.ones((60, 2))))
    assert model.statistics_.count == 30


@pytest.mark.parametrize("model", [KernelDensity(), KNeighborsDensity(2)])
def test_rows_are_kept_whatever_their_size_and_not_as_the_users_array(model, monkeypatch):
    monkeypatch.setattr(one_pass, "LARGEST_KEPT_STATISTIC", 100)
    _, X = rows(40, 2)
    given = X.copy()
    found = model.fit(given).score_samples(X)
    given[:] = 0.0
    assert (model.score_samples(X) == found).all()
    assert model.update(X).statistics_.count == 80


def test_a_target_is_ignored():
    _, X = rows(50, 2)
    plain = KernelDensity().fit(X)
    assert KernelDensity().fit(X, ["a"] * 50).score(X, "b") == plain.score(X)


def test_one_row():
    model = KernelDensity(bandwidth=2.0).fit([[1.0, 2.0]])
    np.testing.assert_allclose(model.score_samples([[1.0, 2.0]]), -np.log(2 * np.pi * 4))
    assert model.sample(3).shape == (3, 2)


def test_draws_and_bandwidths_that_are_no_numbers():
    _, X = rows(20, 2)
    model = KernelDensity().fit(X)
    for n in (-1, 2.5, "3"):
        with pytest.raises(ValueError, match=r"n_samples=.* must be a whole number"):
            model.sample(n)
    with pytest.raises(ValueError, match="must be positive numbers in a list"):
        KernelDensity(bandwidth="held-out", bandwidths=["wide"]).fit(X)
