"""Gaussian mixtures: closed forms and naive EM, scikit-learn, what EM promises, hard tables."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Peer
from sklearn.preprocessing import StandardScaler

import suffice
from suffice import GaussianMixture, KMeans, LinearDiscriminantAnalysis
from suffice.bayes import DirichletCategorical, NormalInverseWishart

KINDS = ["full", "tied", "diag", "spherical"]
IRIS, SPECIES = load_iris(return_X_y=True)
each_kind = pytest.mark.parametrize("kind", KINDS)


def as_matrices(covariances, kind, k, d):
    """Covariances of any kind, as (k, d, d)."""
    if kind == "tied":
        return np.broadcast_to(covariances, (k, d, d))
    if kind == "full":
        return covariances
    scale = covariances if kind == "diag" else np.repeat(covariances[:, None], d, axis=1)
    return scale[:, :, None] * np.eye(d)


def log_joint(X, weights, means, covariances, kind):
    matrices = as_matrices(covariances, kind, *means.shape)
    logs = []
    for m, C in zip(means, matrices, strict=True):
        root = np.linalg.cholesky(C)
        squares = np.square(np.linalg.solve(root, (X - m).T)).sum(axis=0)
        logs.append(-0.5 * squares - np.log(np.diag(root)).sum() - len(m) / 2 * np.log(2 * np.pi))
    return np.log(weights) + np.array(logs).T


def naive_step(X, weight, weights, means, covariances, kind):
    """One step of EM by the formulas of a textbook."""
    joint = log_joint(X, weights, means, covariances, kind)
    r = np.exp(joint - logsumexp(joint, axis=1, keepdims=True)) * weight[:, None]
    N = r.sum(axis=0)
    means = r.T @ X / N[:, None]
    S = np.array([(X - m).T @ ((X - m) * r[:, [c]]) for c, m in enumerate(means)])
    if kind == "tied":
        new = S.sum(axis=0) / N.sum()
    else:
        new = S / N[:, None, None]
        diagonal = np.diagonal(new, axis1=1, axis2=2)
        new = {"full": new, "diag": diagonal, "spherical": diagonal.mean(axis=1)}[kind]
    return N / N.sum(), means, new


def start(kind, k, d):
    shapes = {"full": (k, 1, 1), "tied": (1, 1), "diag": (k, d), "spherical": (k,)}
    base = np.eye(d) if kind in ("full", "tied") else np.ones(())
    return np.ones(shapes[kind]) * base


def given(kind, X, k=3, rng=0):
    """Parameters of a start that is the same for everyone."""
    rows = np.random.default_rng(rng).choice(len(X), k, replace=False)
    d = X.shape[1]
    return {
        "n_components": k,
        "covariance_type": kind,
        "weights_init": np.full(k, 1 / k),
        "means_init": X[rows],
        "precisions_init": start(kind, k, d),
    }


def settled(model, *args):
    """A fit that need not come to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args)


# --- closed forms and naive EM ------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_are_those_of_the_textbook(kind, weighted):
    X = StandardScaler().fit_transform(load_wine().data)[:, :5]
    w = np.random.default_rng(1).uniform(0.2, 3, len(X)) if weighted else np.ones(len(X))
    begin = given(kind, X)
    expected = (begin["weights_init"], begin["means_init"], start(kind, 3, 5))
    for steps in (1, 2, 5):
        model = settled(
            GaussianMixture(**begin, reg_covar=0, tol=0, max_iter=steps),
            X,
            None,
            w if weighted else None,
        )
        found = expected
        for _ in range(steps):
            found = naive_step(X, w, *found, kind)
        for ours, theirs in zip(
            (model.weights_, model.means_, model.covariances_), found, strict=True
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)


@each_kind
def test_densities_and_responsibilities(kind):
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(IRIS)
    joint = log_joint(IRIS, model.weights_, model.means_, model.covariances_, kind)
    np.testing.assert_allclose(model.score_samples(IRIS), logsumexp(joint, axis=1), rtol=1e-10)
    shares = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(IRIS), shares, atol=1e-10)
    np.testing.assert_array_equal(model.predict(IRIS), joint.argmax(axis=1))
    assert model.score(IRIS) == pytest.approx(model.score_samples(IRIS).mean(), rel=1e-12)
    assert model.lower_bound_ <= model.score(IRIS) + 1e-9  # a step later it is no less


@each_kind
def test_one_component_is_the_closed_form(kind):
    model = GaussianMixture(1, covariance_type=kind, reg_covar=0).fit(IRIS)
    S = np.cov(IRIS.T, bias=True)
    expected = {
        "full": S[None],
        "tied": S,
        "diag": np.diag(S)[None],
        "spherical": np.array([np.trace(S) / 4]),
    }
    np.testing.assert_allclose(model.means_[0], IRIS.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(model.covariances_, expected[kind], rtol=1e-10)
    assert model.certificate_.holds


def test_all_labels_and_a_shared_covariance_are_the_linear_discriminant():
    model = GaussianMixture(3, covariance_type="tied", reg_covar=0, unlabelled=-1)
    model.fit(IRIS, SPECIES)
    peer = LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True).fit(IRIS, SPECIES)
    np.testing.assert_allclose(model.weights_, peer.priors_, rtol=1e-12)
    np.testing.assert_allclose(model.means_, peer.means_, rtol=1e-12)
    np.testing.assert_allclose(model.covariances_, peer.covariance_, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(IRIS), peer.predict_proba(IRIS), atol=1e-9)
    assert model.classes_.tolist() == [0, 1, 2]


ERUPTIONS = """3.6 79 1.8 54 3.333 74 2.283 62 4.533 85 2.883 55 4.7 88 3.6 85 1.95 51 4.35 85 1.833
54 3.917 84 4.2 78 1.75 47 4.7 83 2.167 52 1.75 62 4.8 84 1.6 52 4.25 79 1.8 51 1.75 47 3.45 78
3.067 69 4.533 74 3.6 83 1.967 55 4.083 76 3.85 78 4.433 79 4.3 73 4.467 77 3.367 66 4.033 80
3.833 74 2.017 52 1.867 48 4.833 80 1.833 59 4.783 90 4.35 80 1.883 58 4.567 84 1.75 58 4.533 73
3.317 83 3.833 64 2.1 53 4.633 82 2 59 4.8 75 4.716 90 1.833 54 4.833 80 1.733 54 4.883 83 3.717
71 1.667 64 4.567 77 4.317 81 2.233 59 4.5 84 1.75 48 4.8 82 1.817 60 4.4 92 4.167 78 4.7 78
2.067 65 4.7 73 4.033 82 1.967 56 4.5 79 4 71 1.983 62 5.067 76 2.017 60 4.567 78 3.883 76 3.6
83 4.133 75 4.333 82 4.1 70 2.633 65 4.067 73 4.933 88 3.95 76 4.517 80 2.167 48 4 86 2.2 60
4.333 90 1.867 50 4.817 78 1.833 63 4.3 72 4.667 84 3.75 75 1.867 51 4.9 82 2.483 62 4.367 88
2.1 49 4.5 83 4.05 81 1.867 47 4.7 84 1.783 52 4.85 86 3.683 81 4.733 75 2.3 59 4.9 89 4.417 79
1.7 59 4.633 81 2.317 50 4.6 85 1.817 59 4.417 87 2.617 53 4.067 69 4.25 77 1.967 56 4.6 88 3.767
81 1.917 45 4.5 82 2.267 55 4.65 90 1.867 45 4.167 83 2.8 56 4.333 89 1.833 46 4.383 82 1.883 51
4.933 86 2.033 53 3.733 79 4.233 81 2.233 60 4.533 82 4.817 77 4.333 76 1.983 59 4.633 80 2.017
49 5.1 96 1.8 53 5.033 77 4 77 2.4 65 4.6 81 3.567 71 4 70 4.5 81 4.083 93 1.8 53 3.967 89 2.2
45 4.15 86 2 58 3.833 78 3.5 66 4.583 76 2.367 63 5 88 1.933 52 4.617 93 1.917 49 2.083 57 4.583
77 3.333 68 4.167 81 4.333 81 4.5 73 2.417 50 4 85 4.167 74 1.883 55 4.583 77 4.25 83 3.767 83
2.033 51 4.433 78 4.083 84 1.833 46 4.417 83 2.183 55 4.8 81 1.833 57 4.8 76 4.1 84 3.966 77
4.233 81 3.5 87 4.366 77 2.25 51 4.667 78 2.1 60 4.35 82 4.133 91 1.867 53 4.6 78 1.783 46 4.367
77 3.85 84 1.933 49 4.5 83 2.383 71 4.7 80 1.867 49 3.833 75 3.417 64 4.233 76 2.4 53 4.8 94 2
55 4.15 76 1.867 50 4.267 82 1.75 54 4.483 75 4 78 4.117 79 4.083 78 4.267 78 3.917 70 4.55 79
4.083 70 2.417 54 4.183 86 2.217 50 4.45 90 1.883 54 1.85 54 4.283 77 3.95 79 2.333 64 4.15 75
2.35 47 4.933 86 2.9 63 4.583 85 3.833 82 2.083 57 4.367 82 2.133 67 4.35 74 2.2 54 4.45 83
3.567 73 4.5 73 4.15 88 3.817 80 3.917 71 4.45 83 2 56 4.283 79 4.767 78 4.533 84 1.85 58 4.25
83 1.983 43 2.25 60 4.75 75 4.117 81 2.15 46 4.417 90 1.817 46 4.467 74"""


def test_old_faithful():
    """Two components with one covariance, as published: log-likelihood −1140.187 (mclust)."""
    X = np.array(ERUPTIONS.split(), float).reshape(-1, 2)
    assert X.shape == (272, 2)
    model = GaussianMixture(2, covariance_type="tied", reg_covar=0, tol=1e-10, max_iter=1000)
    assert model.fit(X).score(X) * 272 == pytest.approx(-1140.187, abs=5e-4)


# --- scikit-learn --------------------------------------------------------------------------


@each_kind
def test_next_to_scikit_learn(kind):
    X = StandardScaler().fit_transform(load_breast_cancer().data)[:, :8]
    begin = given(kind, X) | {"tol": 0, "max_iter": 30}
    ours = settled(GaussianMixture(**begin), X)
    peer = settled(Peer(**begin), X)
    for name in ("weights_", "means_", "covariances_", "precisions_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(peer, name), rtol=1e-7, atol=1e-9)
    assert ours.bic(X) == pytest.approx(peer.bic(X), rel=1e-10)
    assert ours.aic(X) == pytest.approx(peer.aic(X), rel=1e-10)


# --- what EM promises -----------------------------------------------------------------------


def random_fit(seed):
    """A table, and a model of a random kind for it."""
    rng = np.random.default_rng(seed)
    kind, k, d = rng.choice(KINDS), int(rng.integers(1, 4)), int(rng.integers(1, 5))
    n = int(rng.integers(60, 200))
    centres = rng.normal(size=(k, d)) * rng.uniform(0.5, 4)
    X = centres[rng.integers(k, size=n)] + rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X += rng.normal(size=d) * 10.0 ** rng.integers(-1, 3)
    variant = str(rng.choice(["soft", "hard", "labels", "gaps", "prior", "weights"]))
    y, weight = None, None
    options = {"covariance_type": kind, "reg_covar": 0, "tol": 0, "max_iter": 40}
    if variant == "hard":
        options["em"] = "hard"
    if variant == "labels":
        y = np.where(rng.random(n) < 0.8, -1, rng.integers(k, size=n))
        options["unlabelled"] = -1
    if variant == "gaps":
        X[rng.random(X.shape) < 0.1] = np.nan
    if variant == "prior":
        mean = np.nanmean(X, axis=0)
        options["prior"] = NormalInverseWishart(mean, 0.1, d + 3.0, np.nanvar(X, axis=0).mean())
        options["weights_prior"] = 2.0
    if variant == "weights":
        weight = rng.uniform(0.1, 3, n)
    return GaussianMixture(k, random_state=seed, **options), X, y, weight


def objectives_never_rise(seed):
    model, X, y, weight = random_fit(seed)
    try:
        settled(model, X, y, weight)
    except ValueError as refusal:
        if "singular" not in str(refusal) and "unlabelled" not in str(refusal):
            raise
        return False
    bounds = np.array(model.lower_bounds_)
    assert (np.diff(bounds) >= -1e-10 * np.abs(bounds[1:])).all(), seed
    assert model.certificate_.largest_fall <= 1e-10
    return True


@pytest.mark.compiled
def test_the_objective_never_falls():
    assert sum(map(objectives_never_rise, range(50))) > 35


@pytest.mark.long
@pytest.mark.compiled
def test_the_objective_never_falls_in_many_fits():
    assert sum(map(objectives_never_rise, range(1000))) > 700


@each_kind
@pytest.mark.parametrize("with_prior", [False, True])
def test_the_trace_is_the_objective(kind, with_prior):
    """Minus the log-likelihood, and the prior by its own density, up to a constant."""
    prior = NormalInverseWishart(IRIS.mean(axis=0), 0.5, 7.0, np.eye(4))
    options = {"prior": prior, "weights_prior": DirichletCategorical(3.0)} if with_prior else {}
    values, known = [], []
    for steps in (3, 6):
        model = GaussianMixture(**given(kind, IRIS), reg_covar=0, tol=0, max_iter=steps, **options)
        fitted = settled(model, IRIS)
        again = fitted.set_params(max_iter=1, warm_start=True)
        params = (fitted.weights_, fitted.means_, fitted.covariances_)
        settled(again, IRIS)
        values.append(again.lower_bound_ * len(IRIS))
        joint = log_joint(IRIS, *params, kind)
        total = logsumexp(joint, axis=1).sum()
        if with_prior:
            total += 2.0 * np.log(params[0]).sum()
            matrices = as_matrices(params[2], kind, 3, 4)
            for m, C in zip(params[1], matrices, strict=True):
                total += prior.log_density((m, C))
            if kind == "tied":  # the covariance is one, and has its density once
                P = np.linalg.inv(matrices[0])
                total -= 2 * (
                    -0.5 * (7.0 + 4 + 1) * np.linalg.slogdet(matrices[0])[1] - 0.5 * np.trace(P)
                )
        known.append(total)
    assert values[1] - values[0] == pytest.approx(known[1] - known[0], rel=1e-7, abs=1e-8)


@each_kind
def test_the_maximum_of_the_posterior(kind):
    """Nearby parameters are no better: the M step under a prior is the maximum that it claims."""
    prior = NormalInverseWishart(IRIS.mean(axis=0), 2.0, 9.0, 0.5 * np.eye(4))
    model = GaussianMixture(
        2, covariance_type=kind, reg_covar=0, tol=1e-10, max_iter=5000, prior=prior, random_state=0
    ).fit(IRIS)
    assert model.certificate_.holds

    def objective(weights, means, covariances):
        joint = log_joint(IRIS, weights, means, covariances, kind)
        total = logsumexp(joint, axis=1).sum()
        matrices = as_matrices(covariances, kind, 2, 4)
        for c, (m, C) in enumerate(zip(means, matrices, strict=True)):
            volume, P = np.linalg.slogdet(C)[1], np.linalg.inv(C)
            total -= 0.5 * volume + (m - prior.mu) @ P @ (m - prior.mu)
            if kind != "tied" or c == 0:
                total -= 0.5 * (9.0 + 4 + 1) * volume + 0.25 * np.trace(P)
        return total

    best = objective(model.weights_, model.means_, model.covariances_)
    rng = np.random.default_rng(0)
    for _ in range(20):
        means = model.means_ + 1e-3 * rng.normal(size=model.means_.shape)
        turn = 1e-3 * rng.normal(size=model.covariances_.shape)
        if kind in ("full", "tied"):
            turn = (turn + np.swapaxes(turn, -1, -2)) * 0.02
        covariances = (
            model.covariances_ * (1 + turn) if kind != "tied" else model.covariances_ + 0.05 * turn
        )
        assert objective(model.weights_, means, model.covariances_) < best
        assert objective(model.weights_, model.means_, covariances) < best


@each_kind
def test_at_rest_one_more_step_moves_nothing(kind):
    X = StandardScaler().fit_transform(load_wine().data)[:, :4]
    model = GaussianMixture(
        2, covariance_type=kind, reg_covar=0, tol=1e-10, max_iter=20_000, random_state=0
    ).fit(X)
    assert model.certificate_.holds
    weights, means, covariances = naive_step(
        X, np.ones(len(X)), model.weights_, model.means_, model.covariances_, kind
    )
    np.testing.assert_allclose(weights, model.weights_, atol=1e-6)
    matrices = as_matrices(model.covariances_, kind, 2, 4)
    for c, (old, new) in enumerate(
        zip(matrices, as_matrices(covariances, kind, 2, 4), strict=True)
    ):
        half = np.linalg.inv(np.linalg.cholesky(old))
        assert np.abs(half @ (means[c] - model.means_[c])).max() <= 1e-6
        assert np.abs(half @ new @ half.T - np.eye(4)).max() <= 1e-6


@pytest.mark.parametrize("steps", [1, 2, 4, 8])
def test_hard_em_with_unit_covariances_is_k_means(steps):
    X = StandardScaler().fit_transform(load_wine().data)
    centres = X[[0, 70, 150]]
    mixture = GaussianMixture(
        3, covariance_type="spherical", em="hard", hold=("weights", "covariances"), reg_covar=0,
        means_init=centres, weights_init=np.full(3, 1 / 3), precisions_init=np.ones(3), tol=0,
        max_iter=steps,
    )  # fmt: skip
    clusters = KMeans(3, init=centres, n_init=1, max_iter=steps, tol=0)
    settled(mixture, X)
    settled(clusters, X)
    np.testing.assert_allclose(mixture.means_, clusters.cluster_centers_, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(mixture.predict(X), clusters.predict(X))


def test_hard_em_comes_to_rest():
    model = GaussianMixture(3, em="hard", tol=1e-10, max_iter=500, reg_covar=0, random_state=0)
    model.fit(IRIS)
    assert model.certificate_.holds
    assert "classification likelihood" in model.certificate_.claim
    before = model.predict(IRIS)
    again = model.set_params(warm_start=True, max_iter=3).fit(IRIS)
    np.testing.assert_array_equal(again.predict(IRIS), before)


def test_what_regularisation_proves():
    model = GaussianMixture(2, random_state=0).fit(IRIS)
    assert model.certificate_.holds
    assert "reg_covar" in "".join(model.certificate_.notes)
    assert "never fell" not in model.certificate_.claim


# --- rows of every kind ---------------------------------------------------------------------


@each_kind
def test_weights_are_repetitions_from_the_same_start(kind):
    w = np.random.default_rng(0).integers(0, 4, len(IRIS))
    begin = given(kind, IRIS) | {"tol": 0, "max_iter": 10}
    one = settled(GaussianMixture(**begin), IRIS, None, w)
    many = settled(GaussianMixture(**begin), np.repeat(IRIS, w, axis=0))
    for name in ("weights_", "means_", "covariances_"):
        np.testing.assert_allclose(getattr(one, name), getattr(many, name), rtol=1e-9, atol=1e-11)


@each_kind
@pytest.mark.compiled
def test_threads_and_files_give_the_same_bits(kind, tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20_000, 3)), rng.normal(3, 2, (15_000, 3))])
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=5_000)
    options = {"covariance_type": kind, "max_iter": 5, "tol": 0, "random_state": 0}
    models = [
        settled(GaussianMixture(2, n_jobs=jobs, **options), rows)
        for jobs, rows in ((1, X), (2, X), (4, frame), (2, suffice.scan(tmp_path / "*.parquet")))
    ]
    for other in models[1:]:
        for name in ("weights_", "means_", "covariances_"):
            assert getattr(models[0], name).tobytes() == getattr(other, name).tobytes()


@each_kind
def test_missing_cells_are_integrated_out(kind):
    """Against the densities of the cells that are there, and EM over each row by itself."""
    rng = np.random.default_rng(3)
    X = IRIS.copy()
    X[rng.random(X.shape) < 0.2] = np.nan
    begin = given(kind, IRIS) | {"reg_covar": 0, "tol": 0, "max_iter": 1}
    model = settled(GaussianMixture(**begin), X)
    weights, means = begin["weights_init"], begin["means_init"]
    matrices = as_matrices(start(kind, 3, 4), kind, 3, 4)
    N, first, second, total = np.zeros(3), np.zeros((3, 4)), np.zeros((3, 4, 4)), 0.0
    for row in X:
        o = ~np.isnan(row)
        logs, filled, spread = np.log(weights), np.zeros((3, 4)), np.zeros((3, 4, 4))
        for c in range(3):
            C, m = matrices[c], means[c]
            filled[c] = m
            gain = C[:, o] @ np.linalg.inv(C[np.ix_(o, o)]) if o.any() else np.zeros((4, 0))
            filled[c] = m + gain @ (row[o] - m[o])
            spread[c] = C - gain @ C[o]
            if o.any():
                logs[c] += multivariate_normal(m[o], C[np.ix_(o, o)]).logpdf(row[o])
        r = np.exp(logs - logsumexp(logs))
        total += logsumexp(logs)
        N += r
        first += r[:, None] * filled
        second += r[:, None, None] * (filled[:, :, None] * filled[:, None, :] + spread)
    new = first / N[:, None]
    scatter = second - N[:, None, None] * new[:, :, None] * new[:, None, :]
    np.testing.assert_allclose(model.means_, new, rtol=1e-10)
    diagonal = np.diagonal(scatter, axis1=1, axis2=2) / N[:, None]
    expected = {
        "full": scatter / N[:, None, None],
        "tied": scatter.sum(axis=0) / N.sum(),
        "diag": diagonal,
        "spherical": diagonal.mean(axis=1),
    }
    np.testing.assert_allclose(model.covariances_, expected[kind], rtol=1e-9, atol=1e-12)
    assert model.lower_bound_ == pytest.approx(total / len(X), rel=1e-10)


@pytest.mark.compiled
def test_estimates_with_gaps_are_as_good_as_their_standard_errors_say():
    rng = np.random.default_rng(5)
    n, mix = 4000, np.array([[1.0, 0.6], [0.6, 2.0]])
    z = rng.random(n) < 0.4
    X = np.where(z[:, None], 4.0, 0.0) + rng.normal(size=(n, 2)) @ np.linalg.cholesky(mix).T
    holed = X.copy()
    holed[rng.random(X.shape) < 0.1] = np.nan
    whole = GaussianMixture(2, tol=1e-8, max_iter=2000, random_state=0).fit(X)
    gaps = GaussianMixture(2, tol=1e-8, max_iter=2000, means_init=whole.means_).fit(holed)
    errors = np.sqrt(np.diagonal(whole.covariances_, axis1=1, axis2=2) / (n * 0.4))
    assert (np.abs(gaps.means_ - whole.means_) < 3 * errors).all()
    np.testing.assert_allclose(gaps.covariances_, whole.covariances_, atol=0.15)


@pytest.mark.parametrize("data", [load_iris, load_wine])
def test_few_labels_help(data):
    X, y = data(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:, :6]
    gain_on_none, gain_on_alone = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        known = np.concatenate(
            [rng.choice(np.flatnonzero(y == c), 3, replace=False) for c in range(3)]
        )
        marked = np.full(len(y), -1)
        marked[known] = y[known]
        options = {"covariance_type": "tied", "random_state": seed}
        half = GaussianMixture(3, unlabelled=-1, **options).fit(X, marked)
        some = (half.classes_[half.predict(X)] == y).mean()
        free = GaussianMixture(3, **options).fit(X).predict(X)
        none = sum(np.bincount(y[free == c]).max() for c in range(3) if (free == c).any()) / len(y)
        alone = GaussianMixture(3, covariance_type="tied", unlabelled=-1, reg_covar=1e-2)
        alone.fit(X[known], y[known])
        gain_on_none.append(some - none)
        gain_on_alone.append(some - (alone.classes_[alone.predict(X)] == y).mean())
    assert np.mean(gain_on_none) > 0
    assert np.mean(gain_on_alone) > 0


def test_labels_of_any_kind():
    names = np.array(["sétosa", "versi", "virgi"], dtype=object)[SPECIES]
    names[::2] = None
    model = GaussianMixture(4, unlabelled=np.nan, random_state=0).fit(IRIS, names)
    assert model.classes_.tolist() == ["sétosa", "versi", "virgi"]
    assert model.means_.shape == (4, 4)
    with pytest.raises(ValueError, match="each label is a component"):
        GaussianMixture(2, unlabelled=np.nan).fit(IRIS, names)
    with pytest.raises(ValueError, match="pass y"):
        GaussianMixture(2, unlabelled=-1).fit(IRIS)


# --- hard tables ----------------------------------------------------------------------------


@each_kind
def test_narrow_components_and_columns_far_from_zero(kind):
    """The likelihood is that of rows that were brought to the middle first."""
    rng = np.random.default_rng(0)
    amount = np.where(rng.random(500) < 0.5, rng.normal(0, 1e-5, 500), rng.normal(0, 1, 500))
    X = np.stack([amount, rng.normal(size=500)], axis=1)
    options = {
        "covariance_type": kind, "reg_covar": 0, "tol": 0, "max_iter": 60,
        "weights_init": [0.5, 0.5], "precisions_init": start(kind, 2, 2),
    }  # fmt: skip
    near = settled(GaussianMixture(2, means_init=[[0, 0], [0.5, 0]], **options), X)
    far = settled(GaussianMixture(2, means_init=[[1e6, 1e6], [1e6 + 0.5, 1e6]], **options), X + 1e6)
    assert far.score(X + 1e6) == pytest.approx(near.score(X), rel=1e-4)  # cells are rounded
    joint = log_joint(X, near.weights_, near.means_, near.covariances_, kind)
    assert near.score(X) == pytest.approx(logsumexp(joint, axis=1).mean(), rel=1e-9)


def test_tables_without_a_mixture():
    equal = np.ones((20, 3))
    assert np.isfinite(GaussianMixture(1).fit(equal).score(equal))
    with pytest.raises(ValueError, match="singular"):
        GaussianMixture(1, reg_covar=0).fit(equal)
    outlier = np.concatenate([np.random.default_rng(0).normal(size=(50, 2)), [[1e6, 1e6]]])
    for kind in KINDS:
        model = settled(GaussianMixture(2, covariance_type=kind, random_state=0), outlier)
        assert np.isfinite(model.means_).all()
        assert np.isfinite(model.covariances_).all()
    with pytest.raises(ValueError, match="n_samples=2"):
        GaussianMixture(3).fit([[0.0], [1.0]])
    constant = np.column_stack([IRIS[:, 0], np.full(150, 7.0)])
    assert np.isfinite(settled(GaussianMixture(2, random_state=0), constant).score(constant))


def test_a_prior_keeps_a_component_from_collapsing():
    X = np.concatenate([np.random.default_rng(0).normal(size=(50, 2)), [[50.0, 50.0]]])
    prior = NormalInverseWishart([0.0, 0.0], 0.01, 4.0, np.eye(2))
    model = GaussianMixture(2, reg_covar=0, prior=prior, random_state=0, tol=1e-8, max_iter=1000)
    model.fit(X)
    assert model.certificate_.holds
    assert "times the prior never fell" in model.certificate_.claim


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hold": ("colour",)}, "what can be held"),
        ({"weights_init": [0.5, 0.6]}, "sums to"),
        ({"means_init": [[1.0, 2.0]]}, "means_init should have the shape"),
        ({"precisions_init": np.ones((2, 4, 4))}, "positive"),
        ({"prior": NormalInverseWishart([0.0])}, "the prior is of 1 columns"),
        ({"weights_prior": DirichletCategorical([2.0, 2.0, 2.0])}, "weights_prior"),
        ({"em": "hard"}, "missing cells"),
    ],
)
def test_bad_options_are_named(options, message):
    X = IRIS.copy()
    if options.get("em") == "hard":
        X[3, 1] = np.nan
    with pytest.raises(ValueError, match=message):
        GaussianMixture(2, **options).fit(X)


def test_restarts_share_their_passes():
    model = GaussianMixture(3, n_init=4, init_params="random", random_state=0, tol=1e-4)
    several = model.fit(IRIS)
    alone = [
        GaussianMixture(3, init_params="random", random_state=0, tol=1e-4).fit(IRIS).lower_bound_
    ]
    assert several.lower_bound_ >= max(alone) - 1e-12
    steps = several.trace_.step.count("expectation and maximisation")
    assert steps < 4 * max(several.n_iter_, 10) * 2
    assert steps >= several.n_iter_


def test_components_are_chosen_by_held_out_likelihood():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 1, (80, 2)) for c in (-6, 0, 6)])
    search = suffice.GridSearchCV(
        GaussianMixture(random_state=0), {"n_components": [1, 2, 3, 5]}, cv=4
    ).fit(X)
    assert search.best_params_ == {"n_components": 3}


def test_draws():
    model = GaussianMixture(2, random_state=0).fit(IRIS)
    X, component = model.sample(20_000)
    np.testing.assert_allclose(np.bincount(component) / 20_000, model.weights_, atol=0.02)
    for c in range(2):
        rows = X[component == c]
        np.testing.assert_allclose(rows.mean(axis=0), model.means_[c], atol=0.05)
        np.testing.assert_allclose(np.cov(rows.T), model.covariances_[c], atol=0.05)


def test_saved_and_warm(tmp_path):
    model = GaussianMixture(2, random_state=0, n_init=2).fit(IRIS)
    model.save(tmp_path / "mixture")
    loaded = suffice.load(tmp_path / "mixture")
    np.testing.assert_array_equal(loaded.predict_proba(IRIS), model.predict_proba(IRIS))
    warm = settled(GaussianMixture(2, random_state=0, warm_start=True, max_iter=1), IRIS)
    first = warm.lower_bound_
    assert settled(warm, IRIS).lower_bound_ > first


def test_warm_starts_converge_in_single_steps():
    model = GaussianMixture(3, random_state=0, max_iter=1, warm_start=True)
    for _ in range(40):
        if settled(model, IRIS).converged_:
            break
    assert model.certificate_.holds
    with pytest.raises(ValueError, match="covariance_type; these are others"):
        model.set_params(covariance_type="diag").fit(IRIS)


def test_nearly_dependent_columns_keep_their_digits():
    """Scores are those of the same rows in coordinates in which nothing is narrow."""
    rng = np.random.default_rng(0)
    x, noise, narrow = rng.normal(size=(300, 1)), rng.normal(size=(300, 3)), 1e-6
    X = np.concatenate([x, 2 * x + narrow * noise[:, :1], noise[:, 1:]], axis=1)
    model = GaussianMixture(1, reg_covar=0).fit(X)
    plain = X.copy()
    plain[:, 1] = (X[:, 1] - 2 * X[:, 0]) / narrow
    expected = GaussianMixture(1, reg_covar=0).fit(plain).score_samples(plain) - np.log(narrow)
    np.testing.assert_allclose(model.score_samples(X), expected, atol=1e-6)


def test_one_start_may_collapse():
    options = {"reg_covar": 0, "init_params": "random_from_data", "max_iter": 300}
    model = GaussianMixture(5, n_init=10, random_state=0, **options).fit(IRIS)
    assert np.isfinite(model.lower_bound_)


def test_an_empty_component_has_the_mode_of_its_prior():
    prior = NormalInverseWishart(IRIS.mean(axis=0), 0.01, 6.0, np.cov(IRIS.T) / 9)
    model = GaussianMixture(
        2, prior=prior, reg_covar=0, means_init=[IRIS.mean(axis=0), [1e3] * 4],
        precisions_init=[np.eye(4)] * 2, weights_init=[0.5, 0.5], max_iter=1000,
    ).fit(IRIS)  # fmt: skip
    np.testing.assert_allclose(model.weights_, [1, 0], atol=1e-12)
    np.testing.assert_allclose(model.means_[1], prior.mu, rtol=1e-9)
    np.testing.assert_allclose(model.covariances_[1], prior.psi / (6.0 + 4 + 2), rtol=1e-6)


def test_what_a_certificate_says_of_the_last_step():
    usual = GaussianMixture(2, random_state=0).fit(IRIS).certificate_
    assert "is a maximum" not in usual.claim
    held = GaussianMixture(2, hold=("covariances",), random_state=0).fit(IRIS).certificate_
    assert "never fell" in held.claim
    assert not held.notes
