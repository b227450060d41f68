"""Linear discriminants: closed forms, scikit-learn, singular covariances, algebra, bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import special
from sklearn import discriminant_analysis as peer
from sklearn.covariance import (
    OAS,
    EmpiricalCovariance,
    GraphicalLasso,
    LedoitWolf,
    ShrunkCovariance,
)
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.pipeline import make_pipeline

import suffice
from suffice import LinearDiscriminantAnalysis
from suffice.generative.discriminant import more_columns_than_rows as many_columns
from suffice.statistics.moments.labelled import LabelledMoments
from suffice.statistics.moments.pooled import PooledMoments
from tests.generative.exact_gaussians import close, exact_gaussians, floats, fractions, inverse


def sample(n=400, d=5, classes=3, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size=n)
    mixing = rng.normal(size=(d, d))
    return rng.normal(size=(n, d)) @ mixing + rng.normal(size=(classes, d))[y] + offset, y


def same_predictions(one, other, X, tolerance=1e-12):
    a, b = one.predict_proba(X), other.predict_proba(X)
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


# --- closed form ---------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [40, 3000])
def test_two_classes_have_the_boundary_of_the_textbook(offset, weighted, rows):
    """With equal priors w = Σ⁻¹ (μ₁ − μ₀) and w₀ = −½ (μ₁ + μ₀)·w."""
    X, y = sample(rows, 3, 2, offset=offset)
    weight = np.random.default_rng(1).uniform(0.2, 3, size=rows) if weighted else None
    model = LinearDiscriminantAnalysis(priors=[0.5, 0.5], store_covariance=True)
    model.fit(X, y, weight)
    true = exact_gaussians(X, y, weight)
    w = inverse(true.within).dot(true.means[1] - true.means[0])
    w0 = -w.dot(true.means[0] + true.means[1]) / 2
    close(model.means_, true.means, 1e-15)
    close(model.covariance_, true.within, 1e-12)
    close(model.coef_[0], w, 1e-12)
    close(model.intercept_, [w0], 1e-12)
    scores = floats(fractions(X[:50]).dot(w) + w0)
    np.testing.assert_allclose(model.decision_function(X[:50]), scores, rtol=1e-12, atol=1e-12)
    posterior = special.expit(scores)
    np.testing.assert_allclose(model.predict_proba(X[:50])[:, 1], posterior, atol=1e-12)
    assert model.certificate_.holds


@pytest.mark.parametrize("rows", [60, 4000])
def test_posteriors_of_several_classes(rows):
    X, y = sample(rows, 4, 4)
    model = LinearDiscriminantAnalysis().fit(X, y)
    true = exact_gaussians(X, y)
    P = inverse(true.within)
    some = fractions(X[:30])
    squares = [[(x - m).dot(P).dot(x - m) for m in true.means] for x in some]
    joint = np.log(floats(true.weights / sum(true.weights))) - floats(squares) / 2
    expected = np.exp(joint - joint.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X[:30]), expected, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X[:30])), expected, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X[:30]), np.argmax(expected, axis=1))
    np.testing.assert_allclose(model.xbar_, X.mean(axis=0), rtol=1e-13)


def test_far_away_log_probabilities_are_finite():
    X, y = sample()
    model = LinearDiscriminantAnalysis().fit(X, y)
    far = model.predict_log_proba(X * 1e6)
    assert np.isfinite(far).all()
    np.testing.assert_allclose(np.exp(far).sum(axis=1), 1.0)


def test_the_certificate_counts_digits():
    """Nearly dependent columns: fewer digits, and double-double where float64 has too few."""
    rng = np.random.default_rng(0)
    X, y = sample(3000, 4, 2)
    for tiny, precision, digits in (
        (1e-1, "float64", 8),
        (1e-3, "float64", 6),
        (1e-4, "double-double", 8),
    ):
        rows = X.copy()
        rows[:, 3] = rows[:, 0] + tiny * rng.normal(size=len(X))
        model = LinearDiscriminantAnalysis(priors=[0.5, 0.5], tol=1e-6).fit(rows, y)
        true = exact_gaussians(rows, y)
        w = floats(inverse(true.within).dot(true.means[1] - true.means[0]))
        error = np.abs(model.coef_[0] - w).max() / np.abs(w).max()
        assert error <= 10**-model.certificate_.digits
        assert model.certificate_.digits >= digits
        assert model.statistics_.precision == precision


# --- scikit-learn --------------------------------------------------------------------------

PRIORS = [0.2, 0.3, 0.5]
WAYS = [
    {},
    {"solver": "lsqr"},
    {"solver": "eigen"},
    {"priors": PRIORS},
    {"solver": "lsqr", "priors": PRIORS},
    {"solver": "eigen", "priors": PRIORS},
    {"solver": "lsqr", "shrinkage": 0.3},
    {"solver": "eigen", "shrinkage": 0.3},
    {"solver": "eigen", "shrinkage": 1.0},
    {"solver": "lsqr", "shrinkage": "auto"},
    {"solver": "eigen", "shrinkage": "auto"},
    {"solver": "eigen", "shrinkage": "auto", "priors": PRIORS},
    {"solver": "lsqr", "covariance_estimator": OAS()},
    {"solver": "eigen", "covariance_estimator": LedoitWolf()},
    {"solver": "lsqr", "covariance_estimator": ShrunkCovariance(shrinkage=0.2)},
    {"solver": "lsqr", "covariance_estimator": EmpiricalCovariance()},
]


@pytest.mark.parametrize("parameters", WAYS, ids=str)
@pytest.mark.parametrize("rows", [200, 5000])
def test_scikit_learn(parameters, rows):
    X, y = sample(rows)
    X[:, 1] *= 100.0  # shrinkage depends on units, or is to be made independent of them
    ours = LinearDiscriminantAnalysis(**parameters).fit(X, y)
    theirs = peer.LinearDiscriminantAnalysis(**parameters).fit(X, y)
    same_predictions(ours, theirs, X, 1e-10)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    for name in ("means_", "priors_", "covariance_", "xbar_"):
        if hasattr(theirs, name):
            close(getattr(ours, name), getattr(theirs, name), 1e-10)
    mean = theirs.coef_.mean(axis=0)
    close(ours.coef_ - ours.coef_.mean(axis=0), theirs.coef_ - mean, 1e-10)
    # Shrunk altogether, no direction is better than another.
    if parameters.get("solver") != "lsqr" and parameters.get("shrinkage") != 1.0:
        a, b = ours.transform(X), theirs.transform(X)
        a, b = a - a.mean(axis=0), b - b.mean(axis=0)
        close(a * np.sign((a * b).sum(axis=0)), b, 1e-10)
        close(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, 1e-10)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_two_classes_as_scikit_learn(solver):
    X, y = sample(classes=2)
    ours = LinearDiscriminantAnalysis(solver).fit(X, y)
    theirs = peer.LinearDiscriminantAnalysis(solver).fit(X, y)
    close(ours.coef_, theirs.coef_, 1e-11)
    close(ours.intercept_, theirs.intercept_, 1e-11)
    close(ours.decision_function(X), theirs.decision_function(X), 1e-11)


def test_shrinkage_goes_with_any_solver():
    X, y = sample()
    for amount in (0.3, "auto"):
        fits = [LinearDiscriminantAnalysis(s, amount).fit(X, y) for s in ("svd", "lsqr", "eigen")]
        for model in fits[1:]:
            same_predictions(model, fits[0], X)


def test_directions():
    """Within classes they have variance 1 and no correlation; means spread out along them."""
    X, y = load_wine(return_X_y=True)
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    V = model.scalings_
    np.testing.assert_allclose(V.T @ model.covariance_ @ V, np.eye(2), atol=1e-10)
    means = (model.means_ - model.xbar_) @ V
    between = (means.T * model.priors_) @ means
    assert abs(between[0, 1]) < 1e-10 * between[0, 0]
    np.testing.assert_allclose(
        np.diagonal(between) / np.trace(between), model.explained_variance_ratio_, rtol=1e-10
    )
    one = LinearDiscriminantAnalysis(n_components=1).fit(X, y)
    np.testing.assert_allclose(one.transform(X)[:, 0], model.transform(X)[:, 0], rtol=1e-12)
    assert one.get_feature_names_out().tolist() == ["lineardiscriminantanalysis0"]


def test_transform_of_frames_and_sources(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = LinearDiscriminantAnalysis().fit(X, y)
    expected = model.transform(X)
    model.set_output(transform="pandas")
    assert isinstance(model.transform(X), pd.DataFrame)
    X.assign(kind=y).to_parquet(tmp_path / "iris.parquet")
    source = suffice.scan(tmp_path / "iris.parquet", target="kind")
    out = model.transform(source)
    found = np.concatenate([piece.load().X for piece in out.pieces()])
    np.testing.assert_array_equal(found, expected)
    assert model.score(source) == model.score(X, y)


# --- singular covariances ------------------------------------------------------------------


def test_more_columns_than_rows():
    X, y = sample(30, 80)
    ours = LinearDiscriminantAnalysis().fit(X, y)
    theirs = peer.LinearDiscriminantAnalysis().fit(X, y)
    fresh, _ = sample(50, 80, seed=3)
    same_predictions(ours, theirs, fresh, 1e-8)
    assert "rank 27 of 80" in ours.certificate_.notes[0]
    assert ours.certificate_.holds


def test_dependent_and_constant_columns():
    X, y = sample(500)
    rows = np.column_stack([X, X[:, 0] - 2 * X[:, 1], np.full(len(X), 1e8 / 3)])
    model = LinearDiscriminantAnalysis().fit(rows, y)
    same_predictions(model, _other(LinearDiscriminantAnalysis().fit(X, y), X), rows, 1e-9)
    assert "rank 5 of 7" in model.certificate_.notes[0]
    assert np.abs(model.coef_[:, 6]).max() == 0


class _other:
    """A model asked about rows of which it knows the first columns."""

    def __init__(self, model, X):
        self.model, self.n = model, X.shape[1]

    def predict_proba(self, X):
        return self.model.predict_proba(X[:, : self.n])


def test_a_class_with_one_row():
    X, y = sample(60, 3, 2)
    X, y = np.vstack([X, X[0] + 5]), np.append(y, 7)
    ours = LinearDiscriminantAnalysis().fit(X, y)
    same_predictions(ours, peer.LinearDiscriminantAnalysis().fit(X, y), X, 1e-11)


def test_no_spread_within_classes():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]]), np.array([0, 0, 1, 1, 1])
    model = LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[0], [0.4, 0.6])
    assert "rank 0 of 1" in model.certificate_.notes[0]
    with pytest.raises(ValueError, match="number of samples must be more than the number of class"):
        LinearDiscriminantAnalysis().fit(X[[0, 2]], y[[0, 2]])


def test_one_class():
    X, _ = sample()
    model = LinearDiscriminantAnalysis().fit(X, np.full(len(X), "only"))
    assert set(model.predict(X)) == {"only"}
    np.testing.assert_array_equal(model.predict_proba(X), 1.0)
    assert model.transform(X).shape == (len(X), 0)


def test_units_do_not_matter():
    X, y = sample()
    model = LinearDiscriminantAnalysis().fit(X, y)
    scale = np.array([1e-120, 1.0, 1e120, 1e-8, 1e8])
    scaled = LinearDiscriminantAnalysis().fit(X * scale, y)
    np.testing.assert_allclose(scaled.predict_proba(X * scale), model.predict_proba(X), atol=1e-11)


# --- statistics ----------------------------------------------------------------------------


def test_which_statistic_is_kept():
    X, y = sample()
    assert isinstance(LinearDiscriminantAnalysis().fit(X, y).statistics_, PooledMoments)
    auto = LinearDiscriminantAnalysis(shrinkage="auto").fit(X, y)
    assert isinstance(auto.statistics_, LabelledMoments)
    # It tells more, so that every parameter can change without the rows.
    fresh = LinearDiscriminantAnalysis(shrinkage=0.2).fit(X, y)
    same_predictions(auto.refit(shrinkage=0.2), fresh, X)
    auto.update(X[:20], y[:20]).forget(X[:20], y[:20])
    same_predictions(
        auto.refit(shrinkage="auto"), LinearDiscriminantAnalysis(shrinkage="auto").fit(X, y), X
    )
    with pytest.raises(ValueError, match="fit it anew"):
        fresh.refit(shrinkage="auto")
    assert fresh.shrinkage == 0.2


@pytest.mark.parametrize("parameters", [{}, {"shrinkage": "auto"}], ids=str)
def test_parts_merge_and_rows_are_forgotten(parameters):
    X, y = sample(900)
    make = lambda: LinearDiscriminantAnalysis(**parameters)  # noqa: E731
    whole = make().fit(X, y)
    cuts = [slice(0, 200), slice(200, 500), slice(500, 900)]
    same_predictions(sum(make().fit(X[c], y[c]) for c in cuts), whole, X)
    model = make().fit(X[:500], y[:500])
    for part in (slice(500, 700), slice(700, 900)):
        model.update(X[part], y[part])
    same_predictions(model, whole, X)
    same_predictions(model.forget(X[500:], y[500:]), make().fit(X[:500], y[:500]), X, 1e-11)


def test_classes_come_and_go():
    X, y = sample(300)
    model = LinearDiscriminantAnalysis().fit(X[y < 2], y[y < 2])
    assert model.coef_.shape == (1, 5)
    model.update(X[y == 2], y[y == 2])
    same_predictions(model, LinearDiscriminantAnalysis().fit(X, y), X)
    model.update(X[y == 0], y[y == 0])  # the others are absent
    assert model.classes_.tolist() == [0, 1, 2]
    model.forget(X[y == 0], y[y == 0]).forget(X[y == 1], y[y == 1])
    assert model.classes_.tolist() == [0, 2]
    rest = y != 1
    same_predictions(model, LinearDiscriminantAnalysis().fit(X[rest], y[rest]), X, 1e-11)


def test_forgetting_large_rows_tells_what_it_costs():
    X, y = sample(20_000)
    large = X[:10] + 1e7
    model = LinearDiscriminantAnalysis().fit(np.vstack([X, large]), np.append(y, y[:10]))
    with pytest.raises(ValueError, match="digits could be guaranteed"):
        model.forget(large, y[:10])
    exact = LinearDiscriminantAnalysis(exact=True)
    exact.fit(np.vstack([X, large]), np.append(y, y[:10])).forget(large, y[:10])
    same_predictions(exact, LinearDiscriminantAnalysis().fit(X, y), X)


def test_saved_with_fourth_moments(tmp_path):
    X, y = sample()
    model = LinearDiscriminantAnalysis(shrinkage="auto").fit(X, y.astype(str))
    model.save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    loaded.update(X[:9], y[:9].astype(str))
    model.update(X[:9], y[:9].astype(str))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_damaged_models_are_refused(tmp_path):
    X, y = sample()
    model = LinearDiscriminantAnalysis().fit(X, y)
    model.coef_ = model.coef_[:, :2]
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"coef_ of shape \(3, 2\) does not fit 3 classes"):
        suffice.load(tmp_path / "model")


# --- selection -----------------------------------------------------------------------------


def test_grid_search_over_shrinkage_takes_two_passes():
    X, y = load_wine(return_X_y=True)
    grid = {"shrinkage": [None, 0.1, "auto"]}
    ours = suffice.GridSearchCV(LinearDiscriminantAnalysis(), grid, scoring="neg_log_loss").fit(
        X, y
    )
    assert ours.passes_ == 2
    theirs = [
        suffice.cross_validate(
            LinearDiscriminantAnalysis(shrinkage=s), X, y, scoring="neg_log_loss"
        )
        for s in grid["shrinkage"]
    ]
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], [t["test_score"].mean() for t in theirs], rtol=1e-12
    )


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_a_candidate_that_cannot_be_fitted_spoils_no_other():
    X, y = load_wine(return_X_y=True)
    grid = {"covariance_estimator": [None, GraphicalLasso(), OAS()]}
    with pytest.warns(FitFailedWarning, match="would have to see the rows"):
        search = suffice.GridSearchCV(LinearDiscriminantAnalysis(), grid, cv=3).fit(X, y)
    found = search.cv_results_["mean_test_score"]
    assert np.isfinite(found).tolist() == [True, False, True]


@pytest.mark.parametrize("shrinkage", [None, "auto"])
def test_behind_a_scaler(shrinkage):
    X, y = load_wine(return_X_y=True)
    model = LinearDiscriminantAnalysis("eigen", shrinkage)
    ours = make_pipeline(suffice.preprocessing.StandardScaler(), model)
    theirs = make_pipeline(
        suffice.preprocessing.StandardScaler(),
        peer.LinearDiscriminantAnalysis("eigen", shrinkage),
    )
    scores = [
        suffice.cross_validate(one, X, y, scoring="neg_log_loss")["test_score"]
        for one in (ours, theirs)
    ]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-9)


# --- bad input -----------------------------------------------------------------------------


def test_bad_parameters():
    X, y = sample()
    refused = {
        "solver": "qr",
        "shrinkage": 1.5,
        "n_components": 0,
        "tol": -1.0,
        "covariance_estimator": 3,
    }
    for name, value in refused.items():
        with pytest.raises(ValueError, match=name):
            LinearDiscriminantAnalysis(**{name: value}).fit(X, y)
    with pytest.raises(ValueError, match="n_components cannot be larger"):
        LinearDiscriminantAnalysis(n_components=3).fit(X, y)
    with pytest.raises(ValueError, match=r"would have to see the rows.*LedoitWolf"):
        LinearDiscriminantAnalysis(covariance_estimator=GraphicalLasso()).fit(X, y)
    with pytest.raises(ValueError, match="Only one of the two"):
        LinearDiscriminantAnalysis(shrinkage=0.1, covariance_estimator=OAS()).fit(X, y)


def test_bad_priors():
    X, y = sample()
    with pytest.raises(ValueError, match="2 priors for 3 classes"):
        LinearDiscriminantAnalysis(priors=[0.5, 0.5]).fit(X, y)
    with pytest.raises(ValueError, match="non-negative"):
        LinearDiscriminantAnalysis(priors=[-0.5, 1.0, 0.5]).fit(X, y)
    with pytest.warns(UserWarning, match="do not sum to 1"):
        model = LinearDiscriminantAnalysis(priors=[1, 1, 2]).fit(X, y)
    np.testing.assert_allclose(model.priors_, [0.25, 0.25, 0.5])
    without = LinearDiscriminantAnalysis(priors=[0.0, 0.5, 0.5]).fit(X, y)
    assert 0 not in without.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(without.predict_proba(X)[:, 0], 0.0)


def test_bad_rows():
    X, y = sample()
    holed = X.copy()
    holed[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN: column 2, row 7 "):
        LinearDiscriminantAnalysis().fit(holed, y)
    with pytest.raises(ValueError, match="too large"):
        LinearDiscriminantAnalysis().fit(np.where(X > 2, 1e200, X), y)
    with pytest.raises(ValueError, match="Unknown label type"):
        LinearDiscriminantAnalysis().fit(X, y + 0.5)
    with pytest.raises(ValueError, match="non-zero"):
        LinearDiscriminantAnalysis().fit(X, y, np.zeros(len(X)))
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        LinearDiscriminantAnalysis().partial_fit(X, y, classes=[0, 1])


def test_what_is_not_proved_is_told():
    """Columns that depend on each other but for rounding, kept by a tolerance of 0."""
    rng = np.random.default_rng(0)
    X, y = sample(200, 3, 2)
    X[:, 2] = X[:, 0] * (1 + 1e-12 * rng.normal(size=len(X)))
    LinearDiscriminantAnalysis().fit(X, y)  # left out by the default
    with pytest.warns(ConvergenceWarning, match="nearly dependent"):
        model = LinearDiscriminantAnalysis(tol=0.0).fit(X, y)
    assert not model.certificate_.holds


# --- many columns --------------------------------------------------------------------------


@pytest.fixture
def _few_are_many(monkeypatch):
    monkeypatch.setattr(many_columns, "WIDE", 100)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.usefixtures("_few_are_many")
def test_many_columns_are_solved_from_the_rows(weighted, monkeypatch):
    """By the rows' own side, as by the covariance."""
    X, y = sample(60, 150)
    weight = np.random.default_rng(1).integers(0, 4, size=60).astype(float) if weighted else None
    wide = LinearDiscriminantAnalysis().fit(X, y, weight)
    assert wide.certificate_.path.startswith("the rows themselves")
    assert wide.certificate_.holds
    with pytest.raises(AttributeError, match=r"kept no statistic.*150 columns"):
        _ = wide.statistics_
    with pytest.raises(ValueError, match="kept no statistic"):
        wide.update(X, y)
    fresh, _ = sample(50, 150, seed=3)
    if not weighted:
        same_predictions(wide, peer.LinearDiscriminantAnalysis().fit(X, y), fresh, 1e-9)
    monkeypatch.setattr(many_columns, "WIDE", 200)
    full = LinearDiscriminantAnalysis().fit(X, y, weight)
    assert hasattr(full, "statistics_")
    same_predictions(wide, full, fresh, 1e-9)
    close(wide.transform(fresh), full.transform(fresh), 1e-9)
    assert abs(wide.trace_.objective[-1] / full.trace_.objective[-1] - 1) < 1e-9


@pytest.mark.usefixtures("_few_are_many")
def test_many_columns_of_which_some_are_constant(tmp_path):
    X, y = sample(30, 120)
    X[:, 7] = 1e8 / 3
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert np.abs(model.coef_[:, 7]).max() == 0
    model.save(tmp_path / "model")
    same_predictions(suffice.load(tmp_path / "model"), model, X)
    X[3, 5] = np.nan
    with pytest.raises(ValueError, match="NaN: column 5, row 3 "):
        LinearDiscriminantAnalysis().fit(X, y)
