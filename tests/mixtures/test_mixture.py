"""Mixtures of exponential families: a plain EM beside it, then laws, then bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp, xlog1py, xlogy

import suffice
from suffice import Mixture
from suffice.bayes import DirichletCategorical
from suffice.families import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    GaussianKnownVariance,
    Poisson,
)

unsettled = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SHARP = {"tol": 1e-10, "max_iter": 5000}


def table(kind, n=300, d=3, seed=0):
    """Rows of two groups, and where EM is to start."""
    rng = np.random.default_rng(seed)
    group = (rng.random(n) < 0.4).astype(int)
    if kind == "bernoulli":
        p = rng.uniform(0.1, 0.9, (2, d))
        return (rng.random((n, d)) < p[group]).astype(float), {"probability": 0.2 + 0.6 * p}
    if kind == "poisson":
        rate = rng.uniform(0.5, 9, (2, d))
        return rng.poisson(rate[group]).astype(float), {"rate": rate + 1}
    p = rng.dirichlet(np.ones(3), (2, d))
    X = (rng.random((n, d, 1)) > p[group].cumsum(axis=2)).sum(axis=2).astype(float)
    return X, {"probabilities": (p + 0.2) / 1.6}


FAMILIES = {"bernoulli": Bernoulli(), "poisson": Poisson(), "categorical": Categorical(3)}
NAMES = {"bernoulli": "probability", "poisson": "rate", "categorical": "probabilities"}


def log_densities(kind, X, p):
    """Of shape (rows, components)."""
    if kind == "bernoulli":
        return (xlogy(X[:, None], p) + xlog1py(1 - X[:, None], -p)).sum(axis=2)
    if kind == "poisson":
        return (xlogy(X[:, None], p) - p - gammaln(X[:, None] + 1)).sum(axis=2)
    with np.errstate(divide="ignore"):
        return np.log(p[:, np.arange(X.shape[1]), X.astype(int)]).sum(axis=2).T


def statistic(kind, X):
    return np.eye(3)[X.astype(int)] if kind == "categorical" else X


def plain_em(kind, X, weights, p, steps, alpha=0.0, hard=False):
    """As in a textbook."""
    T = statistic(kind, X)
    for _ in range(steps):
        joint = np.log(weights) + log_densities(kind, X, p)
        r = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        if hard:
            r = np.eye(len(weights))[joint.argmax(axis=1)]
        weights = r.mean(axis=0)
        sums = np.tensordot(r, T, (0, 0)) + alpha * T.mean(axis=0)
        p = sums / (r.sum(axis=0) + alpha).reshape(-1, *[1] * (sums.ndim - 1))
    return weights, p


# --- a plain loop ----------------------------------------------------------------------------


@unsettled
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize(("alpha", "em"), [(0.0, "soft"), (2.5, "soft"), (0.0, "hard")])
def test_steps_are_those_of_a_plain_loop(kind, alpha, em):
    X, start = table(kind)
    model = Mixture(
        FAMILIES[kind], 2, alpha=alpha, em=em, weights_init=[0.5, 0.5], parameters_init=start,
        max_iter=7, tol=0.0,
    )  # fmt: skip
    model.fit(X)
    first = np.array([0.5, 0.5]), start[NAMES[kind]]
    weights, p = plain_em(kind, X, *first, steps=model.n_iter_, alpha=alpha, hard=em == "hard")
    np.testing.assert_allclose(model.weights_, weights, rtol=1e-11)
    np.testing.assert_allclose(model.parameters_[NAMES[kind]], p, rtol=1e-11, atol=1e-15)
    joint = np.log(weights) + log_densities(kind, X, p)
    np.testing.assert_allclose(model.score_samples(X), logsumexp(joint, axis=1), rtol=1e-11)
    r = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(X), r, rtol=1e-9, atol=1e-14)
    np.testing.assert_array_equal(model.predict(X), joint.argmax(axis=1))


def test_the_prior_stands_in_the_objective():
    X, start = table("poisson")
    model = Mixture(
        "poisson", 2, alpha=3.0, weights_init=[0.5, 0.5], parameters_init=start, **SHARP
    ).fit(X)
    rate, tau = model.parameters_["rate"], X.mean(axis=0)
    prior = 3.0 * (tau * np.log(rate) - rate).sum()
    assert model.lower_bound_ == pytest.approx(model.score(X) + prior / len(X), rel=1e-9)
    assert "log-likelihood times the prior never fell" in model.certificate_.claim
    assert (
        Mixture("poisson", alpha=0)
        .fit(X)
        .certificate_.claim.startswith("EM on rows: the log-likelihood never fell")
    )


# --- one component, and other families ------------------------------------------------------


def samples(seed=3):
    rng = np.random.default_rng(seed)
    return [
        (Bernoulli(), rng.integers(0, 2, 80)),
        (Beta(), rng.beta(2, 5, 80)),
        (Categorical(4), rng.integers(0, 4, 80)),
        (Exponential(), rng.exponential(3, 80)),
        (Gamma(), rng.gamma(2, 3, 80)),
        (Gaussian(), rng.normal(1e6, 2, 80)),
        (GaussianKnownVariance(4.0), rng.normal(-3, 2, 80)),
        (Poisson(), rng.poisson(4, 80)),
    ]


@pytest.mark.parametrize("alpha", [0.0, 5.0])
@pytest.mark.parametrize(("family", "y"), samples(), ids=lambda v: type(v).__name__)
def test_one_component_is_the_fit_of_the_family(family, y, alpha):
    model = Mixture(family, alpha=alpha).fit(y[:, None])
    fitted = family.fit(y)
    for name, value in fitted.family.parameters(fitted.eta).items():
        np.testing.assert_allclose(model.parameters_[name][0, 0], value, rtol=1e-9)
    expected = family.log_density(y, fitted.eta)
    np.testing.assert_allclose(model.score_samples(y[:, None]), expected, rtol=1e-8, atol=1e-9)
    free = family.dimension - isinstance(family, Categorical)
    assert model.bic(y[:, None]) == pytest.approx(-2 * expected.sum() + free * np.log(80))
    assert model.aic(y[:, None]) == pytest.approx(-2 * expected.sum() + 2 * free)
    drawn = model.sample(20)[0][:, 0]
    family.log_density(drawn, fitted.eta)  # what is drawn is possible


def test_rows_of_shares():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.dirichlet([9, 2, 2], 150), rng.dirichlet([1, 3, 8], 100)])
    model = Mixture(Dirichlet(3), 2, random_state=0, **SHARP).fit(X)
    order = np.argsort(-model.weights_)
    np.testing.assert_allclose(model.weights_[order], [0.6, 0.4], atol=0.05)
    alpha = model.parameters_["alpha"][order]
    expected = [stats.dirichlet.logpdf(x / x.sum(), a) for a in alpha for x in X]
    joint = np.reshape(expected, (2, -1)).T + np.log(model.weights_[order])
    np.testing.assert_allclose(model.score_samples(X), logsumexp(joint, axis=1), rtol=1e-9)
    assert model.sample(5)[0].shape == (5, 3)
    assert model._n_parameters() == 2 * 3 + 1


def mixed(n=500, seed=1):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, n)
    columns = {
        "colour": np.where(rng.random(n) < np.array([0.9, 0.2])[z], "red", "blue").astype(object),
        "visits": rng.poisson(np.array([2.0, 9.0])[z]).astype(float),
        "wait": rng.gamma(2.0, np.array([1.0, 4.0])[z]),
        "height": rng.normal(np.array([170.0, 180.0])[z], 4),
    }
    return pd.DataFrame(columns), z


MIXED = [Categorical(["red", "blue"]), Poisson(), Gamma(), "gaussian"]


def test_columns_of_different_kinds_and_text():
    frame, z = mixed()
    model = Mixture(MIXED, 2, random_state=0, **SHARP).fit(frame)
    labels = model.predict(frame)
    assert max(np.mean(labels == z), np.mean(labels != z)) > 0.9
    parts = model.parameters_
    p = parts[0]["probabilities"][:, (frame["colour"] == "blue").to_numpy().astype(int)]
    gamma = [
        stats.gamma.logpdf(frame["wait"], a, scale=1 / b)
        for a, b in zip(parts[2]["shape"], parts[2]["rate"], strict=True)
    ]
    rates, mu, var = parts[1]["rate"][:, None], parts[3]["mu"], parts[3]["variance"]
    normal = stats.norm.logpdf(frame["height"], mu[:, None], np.sqrt(var)[:, None])
    logs = np.log(p) + stats.poisson.logpmf(frame["visits"], rates) + gamma + normal
    expected = logsumexp(logs + np.log(model.weights_)[:, None], axis=0)
    np.testing.assert_allclose(model.score_samples(frame), expected, rtol=1e-9)
    assert model._n_parameters() == 2 * (1 + 1 + 2 + 2) + 1
    drawn, _ = model.sample(10)
    assert set(drawn[:, 0]) <= {"red", "blue"}
    with pytest.raises(ValueError, match=r"found 'green' in column 0, row 2"):
        Mixture(MIXED, 2).fit(frame.assign(colour=["red", "blue", "green", *["red"] * 497]))


def test_text_with_missing_cells_and_files(tmp_path):
    frame, _ = mixed()
    frame.loc[::7, "colour"] = None
    frame.loc[::5, "visits"] = np.nan
    one = Mixture(MIXED, 2, random_state=0).fit(frame)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet")
    rows = suffice.scan(tmp_path / "t.parquet")
    other = Mixture(MIXED, 2, random_state=0).fit(rows)
    assert one.weights_.tobytes() == other.weights_.tobytes()
    np.testing.assert_array_equal(one.score_samples(frame), other.score_samples(rows))
    assert one.score(frame) == pytest.approx(other.score(rows))
    one.save(tmp_path / "model")
    again = suffice.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(frame), one.predict_proba(frame))


# --- laws ------------------------------------------------------------------------------------


@pytest.mark.parametrize("em", ["soft", "hard"])
@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random", "random_from_data"])
@pytest.mark.parametrize("kind", [*FAMILIES, "gamma", "gaussian"])
@unsettled
def test_the_objective_never_falls(kind, em, init):
    rng = np.random.default_rng(5)
    if kind in FAMILIES:
        X, family = table(kind, seed=5)[0], FAMILIES[kind]
    else:
        X, family = rng.gamma(2.0, rng.uniform(1, 9, (300, 3))), kind
    model = Mixture(family, 3, em=em, init_params=init, random_state=1, max_iter=30).fit(X)
    assert (np.diff(model.lower_bounds_) >= -1e-11).all()
    assert model.certificate_.largest_fall <= 1e-12


def test_restarts_keep_the_best():
    X, _ = table("bernoulli", 400, 8)
    options = {"init_params": "random", "random_state": 0}
    many = Mixture("bernoulli", 4, n_init=5, **options).fit(X)
    one = Mixture("bernoulli", 4, **options).fit(X)
    assert many.lower_bound_ > one.lower_bound_
    assert many.trace_.step.count("start") == 5


def given(kind, **more):
    _, start = table(kind)
    return Mixture(FAMILIES[kind], 2, weights_init=[0.5, 0.5], parameters_init=start, **more)


@pytest.mark.parametrize("kind", FAMILIES)
def test_weights_count_as_repetitions(kind):
    X, _ = table(kind)
    weight = np.random.default_rng(2).integers(0, 4, len(X))
    one = given(kind).fit(X, sample_weight=weight)
    other = given(kind).fit(np.repeat(X, weight, axis=0))
    for name, value in other.parameters_.items():
        np.testing.assert_allclose(one.parameters_[name], value, rtol=1e-9)
    assert one.n_iter_ == other.n_iter_


@pytest.mark.parametrize("bad", [2.5, np.nan, -np.inf])
def test_rows_of_weight_0_do_not_exist(bad):
    X, _ = table("poisson")
    weight = np.r_[np.zeros(5), np.ones(len(X) - 5)]
    X[:5] = bad
    one = Mixture("poisson", 2, random_state=0, **SHARP).fit(X, sample_weight=weight)
    other = Mixture("poisson", 2, random_state=0, **SHARP).fit(X[5:])
    assert one.score(X[5:]) == pytest.approx(other.score(X[5:]), rel=1e-6)


def test_files_and_threads_change_no_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(suffice.sources.base, "LARGEST_BLOCK", 512)
    X, _ = table("poisson", 3000, 4)
    X[::11, 1] = np.nan
    pq.write_table(
        pa.table({f"x{j}": X[:, j] for j in range(4)}), tmp_path / "t.parquet", row_group_size=700
    )
    options = {"random_state": 0, "n_init": 2}
    one = Mixture("poisson", 3, n_jobs=1, **options).fit(X)
    rows = suffice.scan(tmp_path / "t.parquet")
    for other in (
        Mixture("poisson", 3, n_jobs=3, **options).fit(X),
        Mixture("poisson", 3, **options).fit(rows),
    ):
        assert other.parameters_["rate"].tobytes() == one.parameters_["rate"].tobytes()
        assert other.weights_.tobytes() == one.weights_.tobytes()
    np.testing.assert_array_equal(one.predict(X), one.predict(rows))


def test_a_missing_cell_tells_nothing():
    """Each row has the density of the cells that it has; the sums leave the others out."""
    X, start = table("poisson")
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    X[0] = np.nan
    model = given("poisson", alpha=0, max_iter=1, tol=1e9)
    with pytest.warns(match="EM stopped"):
        model.fit(X)
    rate, there = start["rate"], ~np.isnan(X)
    filled = np.where(there, X, 0)
    logs = np.where(there[:, None], stats.poisson.logpmf(filled[:, None], rate), 0).sum(axis=2)
    r = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    np.testing.assert_allclose(model.parameters_["rate"], r.T @ filled / (r.T @ there), rtol=1e-12)
    np.testing.assert_allclose(model.weights_, r.mean(axis=0), rtol=1e-12)
    assert model.score_samples(np.full((1, 3), np.nan)) == pytest.approx(0, abs=1e-12)


def test_some_rows_have_labels():
    X, _ = table("bernoulli", 400, 10, seed=4)
    truth = Mixture("bernoulli", 2, random_state=0).fit(X).predict(X)
    y = np.where(np.arange(400) < 40, truth + 7, -1)
    model = Mixture("bernoulli", 3, unlabelled=-1, random_state=0).fit(X, y)
    assert model.classes_.tolist() == [7, 8]
    agree = Mixture("bernoulli", 2, unlabelled=-1, random_state=0).fit(X, y).predict(X)
    assert np.mean(agree == truth) > 0.95
    everything = Mixture("bernoulli", 2, unlabelled=-1, alpha=0).fit(X, truth)
    for c in range(2):
        np.testing.assert_allclose(
            everything.parameters_["probability"][c], X[truth == c].mean(axis=0), rtol=1e-12
        )


def test_the_number_of_components_is_found_by_cross_validation():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.poisson(2, (100, 2)), rng.poisson(9, (100, 2))])
    search = suffice.GridSearchCV(
        Mixture("poisson", random_state=0), {"n_components": [1, 2]}, cv=3
    ).fit(X)
    assert search.best_params_ == {"n_components": 2}
    labels = Mixture(Categorical([2, 5, 9]), random_state=0).fit([[2], [5], [9], [9]]).sample(50)[0]
    assert set(labels[:, 0].tolist()) <= {2, 5, 9}


def test_weights_are_held_and_have_a_prior():
    X, start = table("poisson")
    held = Mixture(
        "poisson", 2, hold=("weights",), weights_init=[0.3, 0.7], parameters_init=start
    ).fit(X)
    assert held.weights_.tolist() == [0.3, 0.7]
    strong = Mixture("poisson", 2, weights_prior=DirichletCategorical([1e6, 1e6])).fit(X)
    np.testing.assert_allclose(strong.weights_, 0.5, atol=1e-3)
    warm = Mixture("poisson", 2, random_state=0, warm_start=True).fit(X)
    with pytest.warns(match="EM stopped"):  # the change of a step is known after three
        assert warm.set_params(max_iter=1).fit(X).lower_bound_ >= warm.lower_bounds_[0]


# --- the boundary ----------------------------------------------------------------------------


def test_probabilities_of_zero_and_one():
    X = np.array([[0, 1, 0.0], [0, 1, 1], [0, 1, 0], [0, 1, 1]])
    model = Mixture("bernoulli", alpha=0).fit(X)
    np.testing.assert_array_equal(model.parameters_["probability"], [[0, 1, 0.5]])
    np.testing.assert_allclose(model.score_samples(X), np.log(0.5))
    assert model.score_samples([[1, 1, 0]]) == -np.inf
    np.testing.assert_array_equal(
        Mixture("bernoulli", 2, random_state=0).fit(X).predict_proba([[1, 1, 0]]), [[0.5, 0.5]]
    )
    counts = Mixture("poisson", 2, random_state=0, alpha=0).fit([[0, 3], [0, 5], [0, 90], [0, 80]])
    assert (counts.parameters_["rate"][:, 0] == 0).all()
    assert np.isfinite(counts.lower_bounds_).all()


def test_rows_far_from_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) + np.repeat([[0.0, 0], [5, 5]], 100, axis=0)
    near = Mixture("gaussian", 2, random_state=0).fit(X)
    far = Mixture("gaussian", 2, random_state=0).fit(X * 1e-3 + 1e6)
    np.testing.assert_allclose(far.parameters_["variance"], near.parameters_["variance"] * 1e-6,
                               rtol=1e-5)  # fmt: skip


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "X", "message"),
    [
        ("poisson", [[1.5], [2]], r"counts 0, 1, 2, …; found 1.5 in column 0, row 0"),
        ("bernoulli", [[1.0], [2]], r"0 and 1 \(or booleans\); found 2.0 in column 0, row 1"),
        (Categorical(2), [[0], [5]], r"categories 0 to 1; found 5"),
        (["poisson"], [[1, 2]], "family names 1 columns, the rows have 2"),
        (Dirichlet(2), [[0.5, np.nan]], "shares that add up to 1; found a missing cell"),
        (Dirichlet(3), [[0.5, 0.5]], "is of other rows"),
        ([Dirichlet(2), "poisson"], [[1, 2]], "for the whole row"),
        (["horseshoe"], [[1]], "accepted are families"),
        ("gamma", [[3.0], [3.0]], "column 0 has no most likely distribution"),
        ("exponential", [[0.0], [0.0]], "every value is 0"),
        ("gaussian", [[np.nan], [np.nan]], "has no value at all"),
        ("gaussian", [[np.inf], [1]], "infinity"),
    ],
)
def test_rows_that_the_families_do_not_allow(family, X, message):
    with pytest.raises(ValueError, match=message):
        Mixture(family).fit(X)


def test_a_component_that_collapses():
    X = np.array([[0.0], [0.0], [0.0], [5.0], [6.0], [8.0]])
    with pytest.raises(ValueError, match=r"component . has no most .* give alpha > 0"):
        Mixture("gaussian", 2, alpha=0, random_state=0, **SHARP).fit(X)
    assert Mixture("gaussian", 2, random_state=0, **SHARP).fit(X).certificate_.holds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights_init": [0.5, 0.6]}, "shares that sum to 1"),
        ({"parameters_init": {"rate": [[1.0]]}}, "of 2 components and 2 columns"),
        ({"parameters_init": {"mu": [[1.0]]}}, "have other names"),
        ({"hold": ("rates",)}, "what can be held"),
        ({"n_components": 4}, "n_samples=3 should be >= n_components=4"),
        ({"n_components": 4, "init_params": "random"}, "n_samples=3 should be"),
        ({"alpha": -1}, "alpha"),
        ({"init_params": "best"}, "init_params"),
        ({"family": 3}, "family"),
    ],
)
def test_parameters_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Mixture(**{"family": "poisson", "n_components": 2, **options}).fit([[1, 2], [3, 4], [5, 6]])
