"""Anomalies: fits by hand without each row, all thresholds one by one, rates of a known density."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse, stats
from sklearn.covariance import EllipticEnvelope
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import IsolationForest
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.mixture import GaussianMixture as SklearnMixture
from sklearn.neighbors import KernelDensity as SklearnDensity
from sklearn.pipeline import make_pipeline

import suffice
from suffice import AnomalyDetector, KernelDensity, KNeighborsDensity
from suffice.ensembles.anomalies import threshold
from suffice.fitting.certificate import Certificate
from suffice.fitting.density import DensityModel
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Found, Pass
from suffice.numerics.row_hashes import row_hashes
from suffice.preprocessing import StandardScaler
from suffice.statistics.sums import Sums
from tests.contract import contract

DENSITIES = {
    "kernel": KernelDensity(bandwidth=0.6),
    "tophat": KernelDensity(bandwidth=2.5, kernel="tophat"),
    "neighbours": KNeighborsDensity(n_neighbors=4),
}


def rows(n=80, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def moments(block):
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    there = weight > 0
    X, weight = np.asarray(block.X)[there], weight[there]
    return Sums((weight @ X, weight @ X**2, np.array(weight.sum())))


class Gaussian(DensityModel, Estimator):
    """Independent normal columns, in two passes: a density whose fits share them."""

    def _training_source(self, X, y, sample_weight, reset=True):
        return super()._training_source(X, None, sample_weight, reset)

    def _passes(self, source):
        for _ in range(2):
            total, squares, weight = (yield Pass("moments", moments)).values
        mean = total / weight
        learned = {"mean_": mean, "scale_": np.sqrt(squares / weight - mean**2)}
        return Found(learned, Certificate(True, "moments", "a pass"))

    def _log_densities(self, rows):
        return stats.norm.logpdf(rows, self.mean_, self.scale_).sum(axis=1)


Gaussian.__module__ = "suffice.tests"  # of the library, as far as ensembles ask


# --- densities of rows held out ------------------------------------------------------------


@pytest.mark.parametrize("model", DENSITIES.values(), ids=DENSITIES)
def test_leave_one_out_is_a_fit_without_each_row(model):
    X = rows(30)
    detector = AnomalyDetector(model, contamination=0.1).fit(X)
    expected = [
        type(model)(**model.get_params()).fit(np.delete(X, i, 0)).score_samples(X[i : i + 1])[0]
        for i in range(len(X))
    ]
    np.testing.assert_allclose(detector.held_out_scores_, expected, rtol=1e-12)
    assert detector.offset_ == np.sort(detector.held_out_scores_)[3]
    assert detector.certificate_.path.startswith("leave-one-out")


def test_leave_one_out_leaves_one_repetition_out():
    X, weight = rows(20), np.random.default_rng(1).integers(1, 4, size=20)
    model = KernelDensity(bandwidth=0.6)
    found = AnomalyDetector(model).fit(X, sample_weight=weight).held_out_scores_
    for i in range(len(X)):
        rest = weight.astype(float)
        rest[i] -= 1
        expected = (
            KernelDensity(bandwidth=0.6).fit(X, sample_weight=rest).score_samples(X[i : i + 1])
        )
        np.testing.assert_allclose(found[i], expected[0], rtol=1e-12)


FOLDED = {
    "shared passes": Gaussian(),
    "one by one": KernelDensity(bandwidth=0.6),
    "pipeline": make_pipeline(StandardScaler(), KernelDensity(bandwidth=0.6)),
    "scikit-learn": SklearnDensity(bandwidth=0.6),
}


@pytest.mark.parametrize("model", FOLDED.values(), ids=FOLDED)
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_are_fits_to_the_other_folds(model, weighted):
    X = rows(60)
    weight = np.random.default_rng(2).integers(0, 3, size=60) if weighted else np.ones(60)
    if weighted and isinstance(model, type(FOLDED["pipeline"])):
        weight = np.minimum(weight, 1)
    there = weight > 0
    fold = np.full(60, -1)
    fold[there] = np.argsort(np.argsort(row_hashes(X[there]))) % 4
    expected = np.full(60, np.nan)
    for k in range(4):
        train, test = there & (fold != k), fold == k
        repeated = np.repeat(X[train], weight[train].astype(int), axis=0)
        expected[test] = model.fit(repeated).score_samples(X[test])
    options = {"sample_weight": weight} if weighted else {}
    found = AnomalyDetector(model, held_out="folds", folds=4).fit(X, **options)
    np.testing.assert_allclose(found.held_out_scores_, expected, rtol=1e-9)
    whole = model.fit(np.repeat(X[there], weight[there].astype(int), axis=0))
    np.testing.assert_allclose(found.score_samples(X), whole.score_samples(X), rtol=1e-9)


def test_a_split_holds_rows_out_of_the_model_itself():
    X = rows(50)
    detector = AnomalyDetector(KernelDensity(), held_out="split", contamination=0.2).fit(X)
    held_out = ~np.isnan(detector.held_out_scores_)
    assert held_out.sum() == 10
    np.testing.assert_array_equal(detector.model_.statistics_.X, X[~held_out])
    np.testing.assert_array_equal(
        detector.held_out_scores_[held_out], detector.model_.score_samples(X[held_out])
    )
    flagged = detector.fit_predict(X)
    np.testing.assert_array_equal(flagged, detector.predict(X))


def test_equal_rows_share_a_fold():
    X = np.repeat(rows(20), 3, axis=0)
    detector = AnomalyDetector(KernelDensity(bandwidth=0.1), held_out="folds").fit(X)
    once = AnomalyDetector(KernelDensity(bandwidth=0.1), held_out="folds").fit(X[::3])
    np.testing.assert_allclose(detector.held_out_scores_[::3], once.held_out_scores_, rtol=1e-12)


def test_models_of_the_library_and_of_others_without_a_closed_form_use_folds():
    X = rows(60)
    for model in (
        SklearnMixture(random_state=0),
        IsolationForest(n_estimators=20, random_state=0),
        Gaussian(),
    ):
        detector = AnomalyDetector(model, contamination=0.1).fit(X)
        assert detector.certificate_.path == f"folds, {type(model).__name__}"
        assert (detector.held_out_scores_ < detector.offset_).sum() == 6
        assert (detector.fit_predict(X) == -1).sum() == 6
        assert detector.predict([[9.0, 9.0]]).tolist() == [-1]


# --- thresholds ----------------------------------------------------------------------------


def test_f1_against_every_threshold():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 12))
        scores = rng.integers(0, 6, size=n).astype(float)  # with ties
        anomaly = rng.random(n) < 0.4
        anomaly[:2] = True, False
        weight = rng.integers(1, 4, size=n).astype(float)
        best = threshold.of_largest_f1(scores, weight, anomaly)
        values = np.unique(scores)
        ends = np.append(values[1:], np.inf)
        tried = [f1_score(anomaly, scores <= v, sample_weight=weight) for v in values]
        below = scores < best.offset
        options = {"sample_weight": weight, "zero_division": 0.0}
        assert best.f1 == pytest.approx(max(tried))
        assert best.f1 == pytest.approx(f1_score(anomaly, below, **options))
        assert best.precision == pytest.approx(precision_score(anomaly, below, **options))
        assert best.recall == pytest.approx(recall_score(anomaly, below, **options))
        widest = max((ends - values)[np.isclose(tried, max(tried), rtol=1e-12)])
        above = scores[~below]
        assert np.min(above, initial=np.inf) - scores[below].max() == widest


@pytest.mark.parametrize("share", [0.01, 0.1, 0.25, 0.5])
def test_a_quantile_is_an_order_statistic(share):
    rng = np.random.default_rng(3)
    for n in (2, 7, 99, 100, 300):
        scores = rng.normal(size=n)
        found = threshold.quantile(scores, np.ones(n), share)
        k = int(np.floor(n * share + 1e-9))
        assert (found.offset, found.rank) == (np.sort(scores)[k], k + 1)
        assert found.rate == (k + 1) / (n + 1)
        assert found.rate_bound(0.9) == pytest.approx(stats.beta(k + 1, n - k).ppf(0.9))
        tied = threshold.quantile(scores.round(), np.ones(n), share)
        assert tied.flagged <= share


def test_infinite_densities():
    X = np.vstack([rows(50), [[90.0, 90.0], [-90.0, 90.0]]])
    detector = AnomalyDetector(KernelDensity(bandwidth=2.0, kernel="tophat"), contamination=0.04)
    flagged = detector.fit_predict(X)
    assert np.flatnonzero(flagged == -1).tolist() == [50, 51]
    assert detector.decision_function([[500.0, 0.0]]).tolist() == [-np.inf]
    none = AnomalyDetector(detector.model, contamination=0.001).fit(X)
    assert none.offset_ == -np.inf
    assert none.decision_function([[500.0, 0.0]]).tolist() == [0.0]
    assert none.predict([[500.0, 0.0]]).tolist() == [1]


GRID = np.linspace(-6, 6, 2001)[:, None]
MASS = stats.norm.pdf(GRID[:, 0]) * (GRID[1] - GRID[0])


@pytest.mark.parametrize("held_out", ["leave-one-out", "split"])
@pytest.mark.parametrize(("n", "contamination"), [(60, 0.1), (150, "auto")])
def test_the_bound_on_the_rate_covers(held_out, n, contamination):
    """The true rate is an integral over the flagged part of a known density."""
    model = KernelDensity(bandwidth=0.4)
    options = {"held_out": held_out, "contamination": contamination}
    rates = []
    for seed in range(200):
        X = np.random.default_rng(seed).normal(size=(n, 1))
        detector = AnomalyDetector(model, **options).fit(X)
        rates.append(MASS[detector.predict(GRID) == -1].sum())
    assert np.mean(np.array(rates) <= detector.rate_bound_) >= 0.93
    assert np.mean(rates) == pytest.approx(detector.rate_, rel=0.2)


def test_the_bound_of_a_chosen_threshold_covers():
    covered = []
    for seed in range(200):
        X = np.random.default_rng(seed).normal(size=(60, 1))
        X[50:] = 2.5
        y = np.where(np.arange(60) < 50, 1, -1)
        detector = AnomalyDetector(KernelDensity(bandwidth=0.4), anomaly_label=-1).fit(X, y)
        covered.append(MASS[detector.predict(GRID) == -1].sum() <= detector.rate_bound_)
    assert np.mean(covered) >= 0.95


# --- labels --------------------------------------------------------------------------------


@pytest.mark.parametrize("held_out", ["leave-one-out", "folds", "split", None])
@pytest.mark.parametrize("labels", [(-1, 1), (True, False), ("bad", "good")])
def test_labelled_rows(held_out, labels):
    X = np.vstack([rows(60), rows(20, seed=1) + 2.5])
    bad = np.arange(80) >= 60
    y = np.where(bad, *labels)
    model = KernelDensity(bandwidth=0.5)
    detector = AnomalyDetector(model, anomaly_label=labels[0], held_out=held_out).fit(X, y)
    scores = detector.held_out_scores_
    judged = ~np.isnan(scores)
    np.testing.assert_allclose(scores[bad], detector.score_samples(X[bad]), rtol=1e-12)
    assert detector.model_.statistics_.count == (48 if held_out == "split" else 60)
    f1 = [f1_score(bad[judged], scores[judged] <= s) for s in scores[judged]]
    assert detector.f1_ == pytest.approx(max(f1))
    flagged = scores[judged] < detector.offset_
    assert detector.precision_ == precision_score(bad[judged], flagged)
    assert detector.recall_ == recall_score(bad[judged], flagged)
    assert detector.rate_ == flagged[~bad[judged]].mean()
    assert np.isnan(detector.rate_bound_) == (held_out is None)


def test_without_a_label_of_anomalies_the_target_is_left_aside():
    X, y = load_iris(return_X_y=True)
    one, other = AnomalyDetector().fit(X, y), AnomalyDetector().fit(X)
    assert one.offset_ == other.offset_
    assert not hasattr(one, "f1_")


def test_breast_cancer():
    """Held-out densities give the rate that other rows have; the rows' own densities do not."""
    X, y = load_breast_cancer(return_X_y=True)
    benign = X[y == 1]
    rates = {}
    for held_out in ("auto", None):
        detector = AnomalyDetector(contamination=0.05, held_out=held_out)
        pipeline = make_pipeline(StandardScaler(), detector).fit(benign[:250])
        rates[held_out] = np.mean(pipeline.predict(benign[250:]) == -1)
        if held_out:
            assert rates[held_out] <= detector.rate_bound_
            assert np.mean(pipeline.predict(X[y == 0]) == -1) > 0.7
    assert rates[None] > 0.9


# --- the same everywhere -------------------------------------------------------------------

SETTINGS = {
    "labels": AnomalyDetector(anomaly_label=2),
    "folds": AnomalyDetector(Gaussian(), anomaly_label=2),
    "split": AnomalyDetector(held_out="split"),
    "pipeline": AnomalyDetector(make_pipeline(StandardScaler(), KernelDensity())),
    "scikit-learn": AnomalyDetector(SklearnDensity()),
}


@pytest.mark.parametrize("detector", SETTINGS.values(), ids=SETTINGS)
def test_same_bits_from_files_and_at_any_number_of_threads(detector, tmp_path, monkeypatch):
    monkeypatch.setattr(suffice.sources.base, "LARGEST_BLOCK", 64)
    X, y = load_iris(return_X_y=True)
    path = tmp_path / "rows.parquet"
    columns = {f"x{j}": X[:, j] for j in range(4)}
    pq.write_table(pa.table({**columns, "kind": y}), path, row_group_size=37)
    seen = []
    for threads in (1, 3):
        with suffice.config(threads=threads):
            for data in ((X, y), (suffice.scan(path, target="kind"),)):
                scores = detector.fit(*data).score_samples(data[0])
                found = detector.held_out_scores_.tobytes(), detector.offset_, detector.rate_bound_
                seen.append((*found, scores.tobytes()))
    assert len(set(seen)) == 1


def test_saved_and_loaded(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), KNeighborsDensity())
    for detector in (AnomalyDetector(model), AnomalyDetector(anomaly_label=1)):
        detector.fit(X, y).save(tmp_path / "detector")
        loaded = suffice.load(tmp_path / "detector")
        np.testing.assert_array_equal(loaded.decision_function(X), detector.decision_function(X))
        assert loaded.certificate_ == detector.certificate_
    with pytest.raises(TypeError, match="EllipticEnvelope"):
        AnomalyDetector(EllipticEnvelope()).fit(X).save(tmp_path / "foreign")


def test_frames_and_sparse_rows():
    X = rows(40)
    frame = pd.DataFrame(X, columns=["a", "b"])
    for model in (None, KNeighborsDensity(), SklearnDensity()):
        named, plain = AnomalyDetector(model).fit(frame), AnomalyDetector(model).fit(X)
        assert named.offset_ == plain.offset_
        np.testing.assert_array_equal(named.score_samples(frame), plain.score_samples(X))
    detector = AnomalyDetector(KNeighborsDensity(), held_out="folds")
    table = np.where(abs(X) > 1, X, 0.0) + np.eye(40, 2)
    dense = detector.fit(table).held_out_scores_
    found = detector.fit(sparse.csr_array(table)).held_out_scores_
    np.testing.assert_allclose(found, dense, rtol=1e-12)


@contract([AnomalyDetector(held_out=None)])
def test_scikit_learn_contract_where_rows_judge_themselves(estimator, check):
    """All checks of scikit-learn's, which ask that `predict` flag so many rows of the fit."""
    check(estimator)


def test_rows_of_the_fit_are_flagged_as_asked():
    X = rows(300)
    detector = AnomalyDetector(contamination=0.1)
    assert (detector.fit_predict(X) == -1).sum() == 30
    assert (detector.predict(X) == -1).sum() <= 30
    np.testing.assert_array_equal(
        detector.decision_function(X), detector.score_samples(X) - detector.offset_
    )


# --- bad input -----------------------------------------------------------------------------


def test_rows_that_say_nothing():
    X = rows(20)
    detector = AnomalyDetector(anomaly_label=-1)
    with pytest.raises(ValueError, match=r"no row has the label anomaly_label=-1"):
        detector.fit(X, np.ones(20))
    with pytest.raises(ValueError, match="no row has the label"):
        detector.fit(X, np.repeat("ordinary", 20))
    with pytest.raises(ValueError, match="all rows have the label"):
        detector.fit(X, np.full(20, -1))
    with pytest.raises(ValueError, match="requires y"):
        detector.fit(X)
    with pytest.raises(ValueError, match="only one sample"):
        detector.fit(X, np.append(1, np.full(19, -1)))
    with pytest.raises(ValueError, match="only one sample"):
        AnomalyDetector().fit(X[:1])
    with pytest.raises(ValueError, match="all are equal"):
        AnomalyDetector().fit(np.ones((20, 2)))
    with pytest.raises(ValueError, match="all rows to learn from are equal"):
        AnomalyDetector(held_out="folds").fit(np.ones((20, 2)))


def test_a_constant_column_changes_nothing_but_the_densities():
    X = rows(50)
    wide = np.column_stack([X, np.ones(50)])
    narrow, with_constant = AnomalyDetector(contamination=0.1), AnomalyDetector(contamination=0.1)
    same = narrow.fit_predict(X) == with_constant.fit_predict(wide)
    assert same.mean() > 0.9
    assert with_constant.predict([[0.0, 0.0, 9.0]]).tolist() == [-1]


def test_a_hole_in_an_anomaly_is_named():
    X, y = rows(40), np.ones(40)
    y[30:] = -1
    X[33, 1] = np.nan
    with pytest.raises(ValueError, match="NaN: column 1, row 33"):
        AnomalyDetector(anomaly_label=-1).fit(X, y)


def test_parameters_are_checked():
    X = rows(30)
    for wrong in ({"contamination": 0.6}, {"contamination": 0}, {"held_out": "half"}, {"folds": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            AnomalyDetector(**wrong).fit(X)
    with pytest.raises(ValueError, match="model"):
        AnomalyDetector(StandardScaler()).fit(X)
    with pytest.raises(ValueError, match="does not know its density without each row"):
        AnomalyDetector(SklearnDensity(), held_out="leave-one-out").fit(X)
    for model in (SklearnMixture(), KNeighborsDensity()):
        with pytest.raises(ValueError, match="takes no row weights"):
            AnomalyDetector(model).fit(X, sample_weight=np.full(30, 2.0))
