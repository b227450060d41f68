"""Generalised linear models: statsmodels, invariances, files, and bad input."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import statsmodels.api as sm
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.genmod.families import family as sm_families
from statsmodels.genmod.families import links as sm_links

import suffice
from suffice import GeneralizedLinearModel
from suffice.fitting.requests import StopAsked
from suffice.linear.glm.links import Power
from suffice.linear.glm.responses.named import NegativeBinomialResponse, PoissonResponse
from tests.contract import contract
from tests.linear.stop_after import StopAfter

SM_LINKS = {
    "identity": sm_links.Identity(),
    "log": sm_links.Log(),
    "logit": sm_links.Logit(),
    "probit": sm_links.Probit(),
    "cloglog": sm_links.CLogLog(),
    "loglog": sm_links.LogLog(),
    "inverse": sm_links.InversePower(),
    "inverse_squared": sm_links.InverseSquared(),
    "sqrt": sm_links.Sqrt(),
}
SM_FAMILIES = {
    "gaussian": partial(sm_families.Gaussian, check_link=False),
    "binomial": partial(sm_families.Binomial, check_link=False),
    "poisson": partial(sm_families.Poisson, check_link=False),
    "gamma": partial(sm_families.Gamma, check_link=False),
    "inverse_gaussian": partial(sm_families.InverseGaussian, check_link=False),
    "tweedie": lambda link: sm_families.Tweedie(link, 1.5, check_link=False),
    "negative_binomial": lambda link: sm_families.NegativeBinomial(link, 1.0, check_link=False),
}


def peer(family, link, X, y, *, intercept=True, **options):
    """A fit by statsmodels, to its last digits."""
    design = sm.add_constant(X, has_constant="add") if intercept else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.GLM(y, design, family=SM_FAMILIES[family](SM_LINKS[link]), **options)
        return model.fit(tol=1e-15, tol_criterion="params", maxiter=300)


def agree(model, theirs, rtol=1e-9):
    table = model.summary()
    np.testing.assert_allclose(table.coef, theirs.params, rtol=rtol)
    np.testing.assert_allclose(table.std_err, theirs.bse, rtol=1e-7)
    np.testing.assert_allclose(table.p, theirs.pvalues, rtol=1e-5, atol=1e-300)
    np.testing.assert_allclose(table.lower, theirs.conf_int()[:, 0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.covariance_, theirs.cov_params(), rtol=1e-6, atol=1e-18)
    for ours, other in (
        (model.deviance_, theirs.deviance),
        (model.null_deviance_, theirs.null_deviance),
        (model.pearson_chi2_, theirs.pearson_chi2),
        (model.dispersion_, theirs.scale),
        (model.log_likelihood_, theirs.llf),
        (model.aic_, theirs.aic),
        (model.bic_, theirs.bic_llf),
        (model.df_residual_, theirs.df_resid),
    ):
        np.testing.assert_allclose(ours, other, rtol=1e-8)
    assert model.certificate_.holds


def loaded(name):
    data = getattr(sm.datasets, name).load()
    return np.asarray(data.exog, float), np.asarray(data.endog, float)


# --- published data ------------------------------------------------------------------------

PUBLISHED = [
    ("star98", "binomial", "logit"),
    ("star98", "binomial", "probit"),
    ("star98", "binomial", "cloglog"),
    ("scotland", "gamma", "log"),
    ("scotland", "gamma", "inverse"),
    ("scotland", "inverse_gaussian", "log"),
    ("cpunish", "poisson", "log"),
    ("cpunish", "negative_binomial", "log"),
    ("randhie", "poisson", "log"),
    ("fair", "poisson", "log"),
    ("fair", "tweedie", "log"),
    ("spector", "binomial", "logit"),
    ("stackloss", "gaussian", "identity"),
    ("stackloss", "gaussian", "log"),
]


@pytest.mark.parametrize(("name", "family", "link"), PUBLISHED)
def test_published_data(name, family, link):
    X, y = loaded(name)
    if name == "cpunish":
        X = X / [1e4, 1, 1, 1, 1, 1, 1][: X.shape[1]]
    model = GeneralizedLinearModel(family, link).fit(X, y)
    agree(model, peer(family, link, X, y))


def simulated(family, link, n=400, seed=3):
    """Rows for which the link is right."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    eta = X @ [0.3, -0.2, 0.1]
    middle = {"unit": 0.4, "positive": 2.0}["unit" if family == "binomial" else "positive"]
    eta = eta * 0.3 + np.asarray(SM_LINKS[link](np.array(middle)))
    mu = SM_LINKS[link].inverse(eta)
    draw = {
        "gaussian": lambda: rng.normal(mu, 0.3),
        "binomial": lambda: (rng.uniform(size=n) < mu).astype(float),
        "poisson": lambda: rng.poisson(mu).astype(float),
        "gamma": lambda: rng.gamma(5, mu / 5),
        "exponential": lambda: rng.exponential(mu),
        "inverse_gaussian": lambda: rng.wald(mu, 8.0),
        "tweedie": lambda: np.array([rng.gamma(2, 0.5, size=k).sum() for k in rng.poisson(mu)]),
        "negative_binomial": lambda: rng.negative_binomial(1, 1 / (1 + mu)).astype(float),
    }
    return X, draw[family]()


PAIRS = [
    (family, link)
    for family in SM_FAMILIES
    for link in SM_LINKS
    if (family == "binomial") or link not in ("logit", "probit", "cloglog", "loglog")
    # Where statsmodels leaves the domain of the link and stops.
    if (family, link) != ("negative_binomial", "inverse_squared")
    if family != "binomial" or link not in ("inverse", "inverse_squared")
]


@pytest.mark.parametrize(("family", "link"), PAIRS)
def test_every_family_and_link(family, link):
    X, y = simulated(family, link)
    agree(GeneralizedLinearModel(family, link).fit(X, y), peer(family, link, X, y), rtol=1e-8)


def test_exponential_is_gamma_of_dispersion_one():
    X, y = simulated("exponential", "log")
    model = GeneralizedLinearModel("exponential").fit(X, y)
    theirs = peer("gamma", "log", X, y)
    np.testing.assert_allclose(model.summary().coef, theirs.params, rtol=1e-9)
    np.testing.assert_allclose(model.summary().std_err, theirs.bse / np.sqrt(theirs.scale))
    expected = stats.expon.logpdf(y, scale=model.predict(X)).sum()
    assert model.log_likelihood_ == pytest.approx(expected, rel=1e-12)
    assert model.dispersion_ == 1


def test_objects_as_family_and_link():
    X, y = simulated("poisson", "log")
    model = GeneralizedLinearModel(NegativeBinomialResponse(0.5), Power(0.0)).fit(X, y)
    other = GeneralizedLinearModel("negative_binomial", overdispersion=0.5).fit(X, y)
    np.testing.assert_array_equal(model.coef_, other.coef_)


# --- weights, counts, offsets --------------------------------------------------------------


@pytest.mark.parametrize("family", ["gaussian", "poisson", "gamma", "binomial"])
def test_weights_are_frequencies(family):
    link = {"gaussian": "identity", "binomial": "logit"}.get(family, "log")
    X, y = simulated(family, link)
    weight = np.random.default_rng(0).integers(0, 4, size=len(y))
    model = GeneralizedLinearModel(family).fit(X, y, sample_weight=weight)
    there = weight > 0
    agree(model, peer(family, link, X[there], y[there], freq_weights=weight[there]))
    repeated = GeneralizedLinearModel(family).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_allclose(model.coef_, repeated.coef_, rtol=1e-11)
    assert model.aic_ == pytest.approx(repeated.aic_, rel=1e-11)


def test_counts_are_rows_of_zero_and_one():
    rng = np.random.default_rng(0)
    X, counts = rng.normal(size=(30, 2)), rng.integers(0, 6, size=(30, 2))
    model = GeneralizedLinearModel("binomial").fit(X, counts)
    rows = np.repeat(np.vstack([X, X]), np.r_[counts[:, 0], counts[:, 1]], axis=0)
    y = np.repeat([1, 0], counts.sum(axis=0))
    single = GeneralizedLinearModel("binomial").fit(rows, y)
    np.testing.assert_allclose(model.coef_, single.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.summary().std_err, single.summary().std_err, rtol=1e-8)
    trials = counts.sum(axis=1)
    some = trials > 0
    share = counts[some, 0] / trials[some]
    shares = GeneralizedLinearModel("binomial").fit(X[some], share, trials[some])
    np.testing.assert_allclose(model.coef_, shares.coef_, rtol=1e-9)
    penalised = GeneralizedLinearModel("binomial", alpha=0.1)
    np.testing.assert_allclose(
        clone(penalised).fit(X, counts).coef_, clone(penalised).fit(rows, y).coef_, rtol=1e-9
    )
    assert model.score(X, counts) == pytest.approx(1 - model.deviance_ / model.null_deviance_)


@pytest.mark.parametrize("intercept", [True, False])
def test_exposure_and_offset(intercept):
    X, y = simulated("poisson", "log")
    rng = np.random.default_rng(1)
    time, shift = rng.uniform(0.1, 30, size=len(y)), rng.normal(size=len(y))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(shift=shift)
    frame.insert(1, "time", time)
    options = {"fit_intercept": intercept}
    model = GeneralizedLinearModel("poisson", exposure="time", offset="shift", **options)
    model.fit(frame, y)
    theirs = peer("poisson", "log", X, y, intercept=intercept, exposure=time, offset=shift)
    agree(model, theirs)
    assert model.coef_[[1, 4]].tolist() == [0, 0]
    assert model.summary().names[intercept:] == ("a", "b", "c")
    np.testing.assert_allclose(model.predict(frame), theirs.fittedvalues, rtol=1e-9)
    by_number = GeneralizedLinearModel("poisson", exposure=1, offset=4, **options)
    by_number.fit(frame.to_numpy(), y)
    np.testing.assert_array_equal(by_number.coef_, model.coef_)
    rows = sparse.csr_array(frame.to_numpy())
    thin = clone(by_number).fit(rows, y)
    np.testing.assert_allclose(thin.predict(rows), model.predict(frame), rtol=1e-9)


def test_offset_under_another_link():
    X, y = simulated("binomial", "probit")
    shift = np.random.default_rng(2).normal(size=len(y)) * 0.3
    model = GeneralizedLinearModel("binomial", "probit", offset=3)
    model.fit(np.column_stack([X, shift]), y)
    agree(model, peer("binomial", "probit", X, y, offset=shift))


def test_offsets_are_cross_validated():
    X, y = simulated("poisson", "log")
    table = np.column_stack([X, np.full(len(y), 3.0)])
    model = GeneralizedLinearModel("poisson", exposure=3)
    plain = cross_val_score(GeneralizedLinearModel("poisson"), X, y)
    np.testing.assert_allclose(cross_val_score(model, table, y), plain, rtol=1e-8)


# --- the penalty ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"family": "poisson"}, PoissonRegressor),
        ({"family": "gamma"}, GammaRegressor),
        ({"family": "tweedie", "power": 1.7}, lambda **o: TweedieRegressor(power=1.7, **o)),
    ],
    ids=["poisson", "gamma", "tweedie"],
)
@pytest.mark.parametrize("intercept", [True, False])
def test_penalty_of_scikit_learn(ours, theirs, intercept):
    X, y = simulated("gamma", "log")
    weight = np.random.default_rng(0).uniform(0.1, 3, size=len(y))
    options = {"alpha": 0.3, "fit_intercept": intercept}
    model = GeneralizedLinearModel(**ours, **options).fit(X, y, weight)
    other = theirs(solver="newton-cholesky", tol=1e-13, **options).fit(X, y, weight)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-8)
    assert model.score(X, y, weight) == pytest.approx(other.score(X, y, weight), rel=1e-9)
    assert model.df_residual_ > weight.sum() - 3 - intercept


def test_wide_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 200))
    y = rng.poisson(np.exp(0.2 * X[:, 0]))
    model = GeneralizedLinearModel("poisson", alpha=0.5).fit(X, y)
    other = PoissonRegressor(alpha=0.5, tol=1e-12, solver="newton-cholesky").fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-7, atol=1e-10)
    assert 0 < model.df_residual_ < 40
    assert "penalised" in str(model.summary())
    with pytest.raises(ValueError, match="penalised fit is none"):
        model.summary().likelihood_ratio_test(model)


def test_dependent_columns_get_the_smallest_coefficients():
    X, y = simulated("poisson", "log")
    twice = np.column_stack([X, X[:, 0]])
    model = GeneralizedLinearModel("poisson").fit(twice, y)
    alone = GeneralizedLinearModel("poisson").fit(X, y)
    half = alone.coef_[0] / 2
    np.testing.assert_allclose(model.coef_, [half, *alone.coef_[1:], half], rtol=1e-9)
    assert model.df_residual_ == alone.df_residual_
    table = model.summary()
    assert np.isnan(table.std_err[[1, 4]]).all()
    np.testing.assert_allclose(table.std_err[[0, 2, 3]], alone.summary().std_err[[0, 2, 3]])
    assert any("4 of 5 parameters" in note for note in model.certificate_.notes)


def test_constant_columns():
    X, y = simulated("gamma", "log")
    model = GeneralizedLinearModel("gamma").fit(np.column_stack([X, np.full(len(y), 7.0)]), y)
    alone = GeneralizedLinearModel("gamma").fit(X, y)
    np.testing.assert_allclose(model.coef_[:3], alone.coef_, rtol=1e-9)
    assert model.certificate_.holds


# --- invariance ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "link"), [("poisson", "log"), ("binomial", "probit"), ("gamma", "inverse")]
)
def test_units_and_offsets_of_columns_do_not_matter(family, link):
    X, y = simulated(family, link)
    moved = X * [1e8, 1.0, 1e-8] + [0.0, 1e6, 0.0]
    one, other = (GeneralizedLinearModel(family, link).fit(rows, y) for rows in (X, moved))
    np.testing.assert_allclose(one.predict(X), other.predict(moved), rtol=1e-9)
    ours, theirs = one.summary(), other.summary()
    np.testing.assert_allclose(ours.std_err[1:], theirs.std_err[1:] * [1e8, 1.0, 1e-8], rtol=1e-7)
    wide, narrow = one.predictive(X), other.predictive(moved)
    np.testing.assert_allclose(wide.predictor_std, narrow.predictor_std, rtol=1e-7)


@pytest.mark.compiled
@pytest.mark.parametrize("family", ["poisson", "binomial"])
def test_files_give_the_bits_of_the_array(family, tmp_path):
    rng = np.random.default_rng(0)
    n = 60_000
    X = rng.normal(size=(n, 4))
    eta = X @ [0.5, -0.2, 0.1, 0.3]
    y = (
        rng.poisson(np.exp(eta))
        if family == "poisson"
        else rng.uniform(size=n) < 1 / (1 + np.exp(-eta))
    )
    y = y.astype(float)
    exposure = np.ones(n)
    table = pa.table({**{f"x{j}": X[:, j] for j in range(4)}, "time": exposure, "y": y})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=7000)
    source = suffice.scan(tmp_path / "rows.parquet", target="y")
    model = GeneralizedLinearModel(family)
    if family == "poisson":
        model.set_params(exposure="time")
    frame = pd.DataFrame(np.column_stack([X, exposure]), columns=["x0", "x1", "x2", "x3", "time"])
    plain, streamed = clone(model).fit(frame, y), clone(model).fit(source)
    for name in ("coef_", "intercept_", "deviance_", "null_deviance_", "log_likelihood_", "aic_"):
        assert (
            np.array(getattr(plain, name)).tobytes() == np.array(getattr(streamed, name)).tobytes()
        )
    np.testing.assert_allclose(plain.predict(frame), streamed.predict(source), rtol=1e-13)
    assert plain.score(frame, y) == pytest.approx(streamed.score(source), rel=1e-12)
    assert plain.certificate_ == streamed.certificate_
    with suffice.config(threads=2):
        again = clone(model).fit(frame, y)
    np.testing.assert_array_equal(again.coef_, plain.coef_)


def test_counts_from_files(tmp_path):
    rng = np.random.default_rng(0)
    X, counts = rng.normal(size=(300, 2)), rng.integers(1, 9, size=(300, 2))
    columns = {"a": X[:, 0], "b": X[:, 1], "won": counts[:, 0], "lost": counts[:, 1]}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    source = suffice.scan(tmp_path / "rows.parquet", target=["won", "lost"])
    streamed = GeneralizedLinearModel("binomial").fit(source)
    plain = GeneralizedLinearModel("binomial").fit(X, counts)
    np.testing.assert_array_equal(streamed.coef_, plain.coef_)


@pytest.mark.parametrize("family", ["gaussian", "poisson", "binomial"])
def test_sparse_rows(family):
    rng = np.random.default_rng(0)
    X = sparse.random_array((500, 20), density=0.2, format="csr", rng=rng)
    mean = np.asarray(X.toarray() @ rng.normal(size=20)) * 0.5
    y = {
        "gaussian": mean + rng.normal(size=500),
        "poisson": rng.poisson(np.exp(mean)),
        "binomial": mean > 0.1,
    }[family]
    options = {"alpha": 0.01}
    thin = GeneralizedLinearModel(family, **options).fit(X, np.asarray(y, float))
    full = GeneralizedLinearModel(family, **options).fit(X.toarray(), np.asarray(y, float))
    np.testing.assert_allclose(thin.coef_, full.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(thin.predict(X), full.predict(X.toarray()), rtol=1e-9)
    np.testing.assert_allclose(
        thin.predictive(X).predictor_std, full.predictive(X.toarray()).predictor_std, rtol=1e-8
    )


def test_methods_agree():
    X, y = simulated("gamma", "log", n=2000)
    fits = [
        GeneralizedLinearModel("gamma", solver=solver).fit(X, y)
        for solver in ("newton", "newton-cholesky", "lbfgs")
    ]
    for fit in fits:
        np.testing.assert_allclose(fit.coef_, fits[0].coef_, rtol=1e-8)
        assert fit.certificate_.holds


def test_warm_starts_take_fewer_passes():
    X, y = simulated("poisson", "log")
    model = GeneralizedLinearModel("poisson", warm_start=True).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ < cold


def test_many_rows_of_counts():
    """Led by a sample of them; small counts look up what they have in common."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(40_000, 6))
    y = rng.poisson(np.exp(0.3 + X @ rng.normal(size=6) / 4)).astype(float)
    model = GeneralizedLinearModel("poisson").fit(X, y)
    assert any(step.startswith("sample") for step in model.trace_.step)
    theirs = peer("poisson", "log", X, y)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), theirs.params, rtol=1e-12)
    errors = np.sqrt(np.diagonal(model.covariance_))
    np.testing.assert_allclose(errors, theirs.bse, rtol=1e-9)
    np.testing.assert_allclose(
        [model.deviance_, model.null_deviance_, model.pearson_chi2_, model.log_likelihood_],
        [theirs.deviance, theirs.null_deviance, theirs.pearson_chi2, theirs.llf],
        rtol=1e-10,
    )


# --- inference -----------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["poisson", "binomial", "gaussian"])
def test_robust_standard_errors(family):
    X, y = simulated(family, "log" if family == "poisson" else "identity")
    model = GeneralizedLinearModel(family).fit(X, y)
    design = sm.add_constant(X)
    link = SM_LINKS[model.link_.label]
    theirs = sm.GLM(y, design, family=SM_FAMILIES[family](link)).fit(cov_type="HC0", tol=1e-14)
    table = model.summary(cov="HC0", X=X, y=y)
    np.testing.assert_allclose(table.std_err, theirs.bse, rtol=1e-6)
    one = model.summary(cov="HC1", X=X, y=y)
    np.testing.assert_allclose(one.std_err, table.std_err * np.sqrt(400 / 396), rtol=1e-12)


def test_robust_standard_errors_of_counts():
    X, y = loaded("star98")
    model = GeneralizedLinearModel("binomial").fit(X, y)
    design = sm.add_constant(X)
    theirs = sm.GLM(y, design, family=sm.families.Binomial()).fit(cov_type="HC0", tol=1e-14)
    table = model.summary(cov="HC0", X=X, y=y)
    np.testing.assert_allclose(table.std_err, theirs.bse, rtol=1e-5)


def test_without_information_there_are_no_standard_errors(monkeypatch):
    X, y = simulated("poisson", "log")
    whole = GeneralizedLinearModel("poisson").fit(X, y)
    monkeypatch.setattr("suffice.linear.glm.goodness_of_fit.MOST_INFORMATION", 3)
    model = GeneralizedLinearModel("poisson").fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-8)
    assert model.aic_ == pytest.approx(whole.aic_, rel=1e-12)
    for ask in (model.summary, lambda: model.predictive(X), lambda: model.covariance_):
        with pytest.raises(ValueError, match="no information"):
            ask()


def test_families_tell_scikit_learn_what_they_take():
    for family, positive in (("gaussian", False), (PoissonResponse(), True), ("binomial", True)):
        tags = GeneralizedLinearModel(family).__sklearn_tags__()
        assert tags.target_tags.positive_only is positive
    assert not GeneralizedLinearModel("unknown").__sklearn_tags__().target_tags.positive_only


def test_likelihood_ratio():
    X, y = simulated("poisson", "log")
    large = GeneralizedLinearModel("poisson").fit(X, y)
    small = GeneralizedLinearModel("poisson").fit(X[:, :2], y)
    test = large.summary().likelihood_ratio_test(small)
    assert test.statistic == pytest.approx(small.deviance_ - large.deviance_, rel=1e-6)
    assert test.df == 1


def test_the_table_in_words():
    X, y = simulated("gamma", "log")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    text = str(GeneralizedLinearModel("gamma").fit(frame, y).summary())
    for word in (
        "gamma, link log",
        "intercept",
        "Pearson χ²",
        "null deviance",
        "AIC",
        "dispersion",
    ):
        assert word in text
    assert list(GeneralizedLinearModel().fit(frame, y).summary().to_frame().columns)[2] == "z"


# --- predictions ---------------------------------------------------------------------------


def test_predictive_widens_away_from_the_rows():
    X, y = simulated("poisson", "log")
    model = GeneralizedLinearModel("poisson").fit(X, y)
    far = np.outer([0.0, 1.0, 5.0, 50.0], [1.0, 1.0, 1.0])
    found = model.predictive(far)
    assert (np.diff(found.predictor_std) > 0).all()
    assert ((found.lower <= found.mean) & (found.mean <= found.upper))[:2].all()
    design = np.column_stack([np.ones(4), far])
    variance = np.einsum("ij,jk,ik->i", design, model.covariance_, design)
    np.testing.assert_allclose(found.predictor_std, np.sqrt(variance), rtol=1e-9)
    eta = design @ np.r_[model.intercept_, model.coef_]
    np.testing.assert_allclose(found.mean, np.exp(eta + variance / 2), rtol=1e-9)
    np.testing.assert_allclose(found.upper, np.exp(eta + 1.959963984540054 * np.sqrt(variance)))


def test_predictive_probabilities_go_to_a_half():
    X, y = simulated("binomial", "logit")
    model = GeneralizedLinearModel("binomial").fit(X, y)
    direction = model.coef_ / np.linalg.norm(model.coef_)
    rows = np.outer([1.0, 10.0, 100.0], direction)
    found = model.predictive(rows)
    assert (np.abs(found.mean - 0.5) <= np.abs(model.predict(rows) - 0.5)).all()
    draws = np.random.default_rng(0).normal(size=200_000)
    sampled = 1 / (1 + np.exp(-(found.predictor[1] + draws * found.predictor_std[1])))
    assert found.mean[1] == pytest.approx(sampled.mean(), abs=3e-3)


def test_predictive_is_that_of_linear_regression():
    X, y = simulated("gaussian", "identity")
    found = GeneralizedLinearModel().fit(X, y).predictive(X)
    theirs = sm.OLS(y, sm.add_constant(X)).fit().get_prediction()
    np.testing.assert_allclose(found.predictor_std, theirs.se_mean, rtol=1e-9)
    np.testing.assert_allclose(found.mean, theirs.predicted_mean, rtol=1e-9)


def test_what_the_rows_leave_open_is_unknown():
    X, y = simulated("poisson", "log")
    model = GeneralizedLinearModel("poisson").fit(np.column_stack([X, X[:, 0]]), y)
    along, across = np.array([[0.5, 0, 0, 0.5]]), np.array([[0.5, 0, 0, -0.5]])
    assert np.isfinite(model.predictive(along).predictor_std).all()
    assert np.isinf(model.predictive(across).predictor_std).all()


@pytest.mark.parametrize(("family", "link"), PAIRS)
def test_predictions_far_away_are_finite(family, link):
    X, y = simulated(family, link)
    model = GeneralizedLinearModel(family, link).fit(X, y)
    far = np.outer([-1e3, 0.0, 1e3], model.coef_) / (model.coef_ @ model.coef_)
    mean = model.predict(far)
    assert np.isfinite(mean).all()
    if family != "gaussian":
        assert (mean > 0).all()


# --- what goes wrong -----------------------------------------------------------------------


def test_separated_classes_are_reported():
    X = np.arange(20.0)[:, None]
    y = (X[:, 0] > 9.5).astype(float)
    with pytest.warns(ConvergenceWarning, match="no maximum"):
        model = GeneralizedLinearModel("binomial").fit(X, y)
    assert not model.certificate_.holds
    np.testing.assert_allclose(model.predict(X), y, atol=1e-6)
    assert GeneralizedLinearModel("binomial", alpha=0.1).fit(X, y).certificate_.holds


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "loglog"])
def test_separated_classes_under_every_link(link, solver):
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(float)
    with pytest.warns(ConvergenceWarning):
        model = GeneralizedLinearModel("binomial", link, solver=solver).fit(X, y)
    assert not model.certificate_.holds
    assert model.score(X, y) > 0.9


def test_a_group_without_events_is_reported():
    X = np.repeat([[0.0], [1.0]], 30, axis=0)
    y = np.r_[np.zeros(30), np.random.default_rng(0).poisson(3.0, size=30)]
    with pytest.warns(ConvergenceWarning, match="no maximum"):
        model = GeneralizedLinearModel("poisson").fit(X, y)
    np.testing.assert_allclose(model.predict([[1.0]]), y[30:].mean(), rtol=1e-6)


@pytest.mark.parametrize(
    ("family", "y", "message"),
    [
        ("poisson", [1.0, -1.0, 2.0], r"takes numbers that are not negative.* holds -1.0 \(row 1"),
        ("gamma", [1.0, 0.0, 2.0], r"takes positive numbers, but the target holds 0.0"),
        ("binomial", [0.0, 2.0, 1.0], r"takes numbers from 0 to 1, or two columns"),
        ("poisson", [[1.0, 2], [1, 2], [1, 2]], "y should be a 1d array"),
        ("binomial", [[1.0, -2], [1, 2], [1, 2]], "counts, but the target holds -2.0"),
        ("binomial", [[1, 2, 3], [1, 2, 3], [1, 2, 3]], "the target has 3 columns"),
        ("poisson", [1.0, np.nan, 2.0], "NaN"),
    ],
)
def test_bad_targets(family, y, message):
    model = GeneralizedLinearModel(family)
    with pytest.raises(ValueError, match=message):
        model.fit([[1.0], [2.0], [4.0]], y)
    assert vars(model).keys() == model.get_params().keys()


def test_bad_parameters():
    X, y = simulated("poisson", "log")
    for options, message in (
        ({"family": "categorical"}, "are for LogisticRegression"),
        ({"family": "multinomial"}, "are for LogisticRegression"),
        ({"family": "normal"}, "family='normal' is not known"),
        ({"link": "logarithm"}, "link='logarithm' is not known"),
        ({"link": "logit"}, "means between 0 and 1"),
        ({"family": "tweedie", "power": 0.5}, "no Tweedie distribution"),
        ({"exposure": 3}, "exposure=3 is not a column of X, which has 3"),
        ({"offset": "time"}, "offset='time' is not among the columns of X"),
        ({"exposure": 0, "family": "poisson"}, "exposure must be positive"),
        ({"exposure": 0, "link": "identity"}, "exposure"),
        ({"alpha": -1.0}, "alpha"),
        ({"solver": "saga"}, "solver"),
    ):
        with pytest.raises(ValueError, match=message):
            GeneralizedLinearModel(**options).fit(X, y)


def test_missing_cells_of_an_offset_are_named():
    X, y = simulated("poisson", "log")
    X[17, 1] = np.nan
    with pytest.raises(ValueError, match="NaN: column 1, row 17 "):
        GeneralizedLinearModel("poisson", offset=1).fit(X, y)


def test_weights_that_leave_nothing():
    X, y = simulated("poisson", "log")
    with pytest.raises(ValueError, match="at least one non-zero"):
        GeneralizedLinearModel("poisson").fit(X, y, np.zeros(len(y)))


def test_no_trials():
    with pytest.raises(ValueError, match="no trials"):
        GeneralizedLinearModel("binomial").fit([[1.0], [2.0]], [[0, 0], [0, 0]])


@pytest.mark.parametrize("family", ["gaussian", "poisson", "gamma", "inverse_gaussian"])
def test_one_row(family):
    model = GeneralizedLinearModel(family).fit([[1.0, 2.0]], [3.0])
    assert model.predict([[1.0, 2.0]]) == pytest.approx(3.0)
    assert model.deviance_ == pytest.approx(0, abs=1e-20)
    assert model.certificate_.holds


def test_a_target_of_zeros():
    with pytest.warns(ConvergenceWarning):
        model = GeneralizedLinearModel("poisson").fit(np.arange(10.0)[:, None], np.zeros(10))
    assert (model.predict([[3.0]]) < 1e-6).all()


def test_no_start_in_the_domain():
    X = np.array([[1.0], [-1.0], [2.0], [-2.0]])
    with pytest.raises(ValueError, match="no start was found"):
        GeneralizedLinearModel("gamma", "inverse", fit_intercept=False).fit(X, [1.0, 2, 3, 4])


def test_no_intercept_under_a_bounded_link():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 2, size=(200, 2))
    y = rng.gamma(20, 1 / (X @ [0.4, 0.7]) / 20)
    model = GeneralizedLinearModel("gamma", "inverse", fit_intercept=False).fit(X, y)
    agree(model, peer("gamma", "inverse", X, y, intercept=False))


@pytest.mark.parametrize("after", [3, 4, 6, 7, 8])
def test_a_wish_to_stop_leaves_a_model(after):
    """Thrown in at every request from some pass on, as the driver does for a callback."""
    X, y = simulated("poisson", "log")
    model = GeneralizedLinearModel("poisson", offset=0)
    source = model._training_source(X, y, None)
    method, count = model._passes(source), 1
    try:
        asked = next(method)
        while True:
            if count >= after:
                asked = method.throw(StopAsked())
            asked = method.send(model._pass(asked.source or source, asked.summarize))
            count += 1
    except StopIteration as end:
        found = end.value
    assert np.isfinite(found.attributes["deviance_"])
    assert np.isfinite(found.attributes["coef_"]).all()
    if after == 3:
        assert not found.certificate.holds


# --- gradient descent ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "link"),
    [
        ("gaussian", "identity"), ("poisson", "log"), ("gamma", "log"), ("gamma", "inverse"),
        ("binomial", "logit"), ("binomial", "probit"), ("tweedie", "log"),
        ("negative_binomial", "log"), ("inverse_gaussian", "log"),
    ],
)  # fmt: skip
def test_gradient_descent_arrives(family, link):
    X, y = simulated(family, link)
    options = {"alpha": 0.01}
    exact = GeneralizedLinearModel(family, link, **options).fit(X, y)
    model = GeneralizedLinearModel(family, link, solver="gd", max_iter=5000, **options).fit(X, y)
    assert model.certificate_.holds
    assert model.certificate_.path == "gradient descent"
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-6, atol=1e-8)
    assert model.deviance_ == pytest.approx(exact.deviance_, rel=1e-9)
    np.testing.assert_allclose(model.summary().std_err, exact.summary().std_err, rtol=1e-5)


def test_a_gradient_step_by_hand():
    """Θ ← Θ − η ∇f, in columns of mean 0 and deviation 1, from the intercept alone."""
    X, y = simulated("poisson", "log")
    A = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(y))])
    theta = np.append(np.zeros(3), np.log(y.mean()))
    steps, eta0 = 7, 0.05
    for _ in range(steps - 1):
        theta = theta - eta0 * A.T @ (np.exp(A @ theta) - y) / len(y)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = GeneralizedLinearModel(
            "poisson", solver="gd", learning_rate="constant", eta0=eta0, max_iter=steps
        ).fit(X, y)
    np.testing.assert_allclose(model.coef_ * X.std(axis=0), theta[:3], rtol=1e-10)
    assert model.n_iter_ == steps


@pytest.mark.parametrize("family", ["poisson", "binomial", "gamma"])
def test_stochastic_gradient_descent_comes_near(family):
    # Gradients are measured by that of a constant mean: the columns must matter.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    mu = np.exp(X @ [0.6, -0.4, 0.2])
    draw = {
        "poisson": lambda: rng.poisson(mu),
        "binomial": lambda: rng.binomial(1, mu / (1 + mu)),
        "gamma": lambda: rng.gamma(3, mu / 3),
    }
    y = draw[family]()
    exact = GeneralizedLinearModel(family).fit(X, y)
    options = {"solver": "sgd", "batch_size": 8, "max_iter": 20, "tol": 0.1, "random_state": 0}
    model = GeneralizedLinearModel(family, **options).fit(X, y)
    assert model.certificate_.holds
    # A gradient of g times that of the constant leaves about g² of what there is to explain.
    left = (model.deviance_ - exact.deviance_) / (exact.null_deviance_ - exact.deviance_)
    assert 0 < left < 3 * model.certificate_.stationarity**2
    again = GeneralizedLinearModel(family, **options, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    options["random_state"] = 1
    assert (GeneralizedLinearModel(family, **options).fit(X, y).coef_ != model.coef_).any()


def test_gradient_descent_of_counts_and_exposures():
    rng = np.random.default_rng(0)
    X, trials = rng.normal(size=(1000, 3)), rng.integers(1, 9, size=1000)
    mu, time = np.exp(X @ [0.6, -0.4, 0.2]), rng.uniform(1, 3, size=1000)
    successes = rng.binomial(trials, mu / (1 + mu))
    counts = np.column_stack([successes, trials - successes])
    timed, events = np.column_stack([X, time]), rng.poisson(time * mu)
    for family, rows, target, more in (
        ("binomial", X, counts, {}),
        ("poisson", timed, events, {"exposure": 3}),
    ):
        exact = GeneralizedLinearModel(family, **more).fit(rows, target)
        model = GeneralizedLinearModel(family, solver="gd", max_iter=2000, **more)
        np.testing.assert_allclose(model.fit(rows, target).coef_, exact.coef_, rtol=1e-6)
        near = GeneralizedLinearModel(
            family, solver="sgd", batch_size=8, max_iter=20, tol=0.2, random_state=0, **more
        ).fit(rows, target)
        assert near.deviance_ == pytest.approx(exact.deviance_, rel=0.01)


def test_gradient_solvers_say_what_they_cannot():
    X, y = simulated("gamma", "inverse")
    with pytest.raises(ValueError, match="solver='sgd' takes steps after which means need not"):
        GeneralizedLinearModel("gamma", "inverse", solver="sgd").fit(X, y)
    with pytest.raises(ValueError, match=r"grow without bound: lower eta0 \(now 1e\+06\)"):
        GeneralizedLinearModel("poisson", solver="gd", learning_rate="constant", eta0=1e6).fit(X, y)
    for options, message in (
        ({"momentum": 1.0}, "momentum"), ({"eta0": 0.0}, "eta0"), ({"batch_size": 0}, "batch_size"),
        ({"learning_rate": "fast"}, "learning_rate"), ({"random_state": "a"}, "random_state"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            GeneralizedLinearModel("gamma", solver="sgd", **options).fit(X, y)


@pytest.mark.parametrize("solver", ["newton", "newton-cg", "lbfgs", "gd", "sgd"])
@pytest.mark.parametrize("passes", [1, 2, 3, 4, 5])
def test_a_callback_stops_a_fit(solver, passes):
    """From the survey on: the method's first pass is enough for a model."""
    X, y = simulated("poisson", "log")
    model = GeneralizedLinearModel("poisson", solver=solver).set_callbacks(StopAfter(passes))
    with pytest.warns(ConvergenceWarning, match="a callback stopped the fit"):
        model.fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.deviance_)
    assert np.isfinite(model.summary().std_err).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.set_callbacks().set_params(solver="auto").fit(X, y).certificate_.holds


@pytest.mark.parametrize("stops", [True, False])
def test_a_start_that_is_not_finite_is_refused(stops):
    X = np.array([[1e200], [2e200], [-1e200]])
    model = GeneralizedLinearModel("poisson", fit_intercept=False, warm_start=True)
    model.fit(X / 1e200, [1.0, 2.0, 3.0])
    if stops:
        model.set_callbacks(StopAfter(1))
    with pytest.raises(ValueError, match="not finite where the fit starts"):
        model.fit(X, [1.0, 2.0, 3.0])


# --- scikit-learn --------------------------------------------------------------------------


@contract(
    [GeneralizedLinearModel("gamma")],
    switched=[GeneralizedLinearModel("poisson"), GeneralizedLinearModel("tweedie")],
)
def test_scikit_learn_contract_of_other_families(estimator, check):
    check(estimator)


def test_searches_and_pipelines():
    X, y = simulated("tweedie", "log")
    grid = {"generalizedlinearmodel__power": [1.2, 1.5], "generalizedlinearmodel__alpha": [0, 1]}
    model = make_pipeline(StandardScaler(), GeneralizedLinearModel("tweedie"))
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_saving(tmp_path):
    X, y = simulated("tweedie", "log")
    for model in (
        GeneralizedLinearModel("tweedie", power=1.4),
        GeneralizedLinearModel(PoissonResponse(), Power(0.4)),
    ):
        fitted = model.fit(X, y)
        fitted.save(tmp_path / "model")
        again = suffice.load(tmp_path / "model")
        assert str(again.summary()) == str(fitted.summary())
        np.testing.assert_array_equal(again.predictive(X).upper, fitted.predictive(X).upper)


@pytest.mark.parametrize("noise", [1e-5, 3e-7, 1e-7, 1e-8])
def test_nearly_dependent_columns_are_right_or_doubted(noise):
    rng = np.random.default_rng(0)
    X, z = rng.normal(size=(200, 2)), rng.normal(size=200)
    y = rng.poisson(np.exp(0.3 + 0.4 * X[:, 0])).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GeneralizedLinearModel("poisson").fit(np.c_[X, X[:, 0] + noise * z], y)
    truth = GeneralizedLinearModel("poisson").fit(np.c_[X, z], y).coef_[-1] / noise
    right = abs(model.coef_[-1] - truth) <= 1e-3 * abs(truth)
    assert right or not model.certificate_.holds


def test_the_columns_of_a_fit_stay_those_of_the_fit(tmp_path):
    """Parameters changed after a fit count for the next one."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(80, 2)), rng.uniform(1, 2, 80)])
    y = rng.poisson(np.exp(X[:, 0]) * X[:, 2])
    model = GeneralizedLinearModel("poisson", exposure=2).fit(X, y)
    expected = model.predict(X)
    model.save(tmp_path / "model")
    model.set_params(exposure=None, offset=0)
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(suffice.load(tmp_path / "model").predict(X), expected)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"offset": True}, "offset=True is not a column"),
        ({"exposure": False}, "exposure=False is not a column"),
        ({"offset": 1, "exposure": 1}, "the same column, 1: name two"),
    ],
)
def test_columns_that_cannot_be_meant(columns, message):
    X, y = np.ones((5, 3)), np.arange(5.0)
    with pytest.raises(ValueError, match=message):
        GeneralizedLinearModel("poisson", **columns).fit(X, y)
