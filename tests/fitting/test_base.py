"""The loop: a one-pass and an iterative model, written here in a few lines, get all of it."""

from __future__ import annotations

import time
import warnings
from contextlib import closing
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
import scipy.linalg  # noqa: F401  (its BLAS must be there when threads are counted)
from sklearn.base import ClusterMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils._param_validation import Interval
from threadpoolctl import threadpool_info, threadpool_limits

import suffice
from suffice.fitting.certificate import Certificate
from suffice.fitting.estimator import Estimator
from suffice.fitting.one_pass import OnePass, Solved
from suffice.fitting.requests import Found, Pass, Passes
from suffice.sources import Block, Source
from suffice.statistics.moments.full import Moments
from suffice.statistics.sums import Sums


def blas_threads() -> set[int]:
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


# --- an iterative model: k-means by Lloyd's algorithm ----------------------------------------


def distances(X: Any, centers: Any) -> Any:
    return np.square(X[:, None, :] - centers).sum(axis=2)


def assigned(block: Block, centers: Any) -> Sums:
    """Sum and weight of the rows nearest to each centre, and the cost."""
    apart = distances(block.X, centers)
    if not np.isfinite(apart).all():
        raise FloatingPointError
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    nearest = weight[:, None] * (apart.argmin(axis=1)[:, None] == np.arange(len(centers)))
    return Sums((nearest.T @ block.X, nearest.sum(axis=0), weight @ apart.min(axis=1)))


class KMeans(ClusterMixin, Estimator):
    """Minimise Σ w min ‖x − c‖², starting from the first rows."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    def __init__(self, n_clusters=3, *, max_iter=100, n_jobs=None):
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _passes(self, source: Source) -> Passes:
        with closing(source.pieces()) as pieces:
            rows = next(pieces).load().X
        centers = np.array(rows[: self.n_clusters], dtype=float)
        for step in range(1, self.max_iter + 1):
            cost = lambda sums: float(sums.values[2])  # noqa: E731
            sums = yield Pass("update", partial(assigned, centers=centers), cost)
            self.blas_during_update = blas_threads()
            total, counts, inertia = sums.values
            before, centers = centers, total / counts[:, None]
            moved = float(np.abs(centers - before).max())
            self.n_iter_ = step
            if moved == 0:
                break
        proof = Certificate(
            holds=moved == 0,
            claim="every centre is the mean of the rows nearest to it",
            path=f"Lloyd, {len(counts)} centres",
            measures={"moved": moved},
            notes=() if moved == 0 else ("raise max_iter.",),
        )
        learned = {"cluster_centers_": centers, "inertia_": float(inertia)}
        return Found(learned, proof)

    def predict(self, X):
        return self._apply(X, lambda rows: distances(rows, self.cluster_centers_).argmin(axis=1))


def lloyd(X: Any, k: int) -> tuple[Any, list[float]]:
    """The textbook's loop on the whole array: the centres, and the cost before each step."""
    centers, costs = X[:k].copy(), []
    while True:
        apart = distances(X, centers)
        costs.append(apart.min(axis=1).sum())
        nearest = apart.argmin(axis=1)
        means = np.array([X[nearest == j].mean(axis=0) for j in range(k)])
        if np.allclose(means, centers, rtol=0, atol=1e-13):
            return means, costs
        centers = means


@pytest.fixture(scope="module")
def clusters():
    rng = np.random.default_rng(3)
    return rng.normal(size=(150_000, 2)) + rng.choice([-6.0, 0.0, 7.0], size=(150_000, 1))


def test_start_pass_update_certify(clusters):
    X = clusters[:5000]
    model = KMeans().fit(X)
    centers, costs = lloyd(X, 3)
    np.testing.assert_allclose(model.cluster_centers_, centers, rtol=1e-12)
    np.testing.assert_allclose(model.trace_.objective[: len(costs)], costs, rtol=1e-12)
    assert model.certificate_.holds
    assert model.certificate_.moved == 0
    assert model.inertia_ == model.trace_.objective[-1]
    np.testing.assert_array_equal(model.predict(X), distances(X, centers).argmin(axis=1))


def test_trace_has_a_row_for_each_pass(clusters):
    began = time.perf_counter()
    model = KMeans().fit(clusters[:5000])
    took = time.perf_counter() - began
    trace = model.trace_
    assert len(trace) == model.n_iter_ > 3
    assert all(seconds > 0 for seconds in trace.seconds)
    assert sum(trace.seconds) <= took
    assert all(later <= before for before, later in zip(trace.objective, trace.objective[1:]))  # noqa: B905
    assert set(trace.step) == {"update"}


def test_too_few_iterations(clusters):
    with pytest.warns(ConvergenceWarning, match=r"KMeans: not proved: every centre.*max_iter") as w:
        model = KMeans(max_iter=2).fit(clusters[:5000])
    assert len(w) == 1
    assert w[0].filename == __file__  # the caller's line, not one of the library's
    assert not model.certificate_.holds
    assert model.certificate_.moved > 0
    assert len(model.trace_) == model.n_iter_ == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.set_params(max_iter=100).fit(clusters[:5000]).certificate_.holds


def test_a_warning_made_an_error_undoes_the_fit(clusters, unchanged):
    model = KMeans(max_iter=2)
    with warnings.catch_warnings(), unchanged(model):
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            model.fit(clusters[:5000])


def bits(model: KMeans) -> tuple[Any, ...]:
    return model.cluster_centers_.tobytes(), model.trace_.objective, model.certificate_


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_iterations_from_files_have_the_bits_of_the_array(
    clusters, write_parquet, n_jobs, monkeypatch
):
    monkeypatch.setattr(suffice.sources.base, "LARGEST_BLOCK", 512)
    clusters = clusters[:5000]
    reference = KMeans(n_jobs=1, max_iter=15)
    files = suffice.scan(write_parquet({"a": clusters[:, 0], "b": clusters[:, 1]}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        expected = bits(reference.fit(clusters))
        assert bits(KMeans(n_jobs=n_jobs, max_iter=15).fit(clusters)) == expected
        model = KMeans(n_jobs=n_jobs, max_iter=15).fit(files)
    assert bits(model) == expected
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.predict(files), reference.predict(clusters))


def test_a_source_needs_no_target_where_the_model_needs_none(clusters, write_parquet):
    X = clusters[:3000]
    columns = {"a": X[:, 0], "b": X[:, 1]}
    plain = KMeans().fit(X)
    assert bits(KMeans().fit(suffice.scan(write_parquet(columns)))) == bits(plain)
    assert bits(KMeans().fit(pd.DataFrame(columns))) == bits(plain)
    assert bits(KMeans().fit(X.tolist())) == bits(plain)


def test_weights_reach_an_iterative_model(clusters):
    X = clusters[:3000]
    weight = np.random.default_rng(0).integers(1, 4, size=3000)
    weighted = KMeans().fit(X, sample_weight=weight)
    # The first three rows stay first, so that both start alike.
    order = np.r_[np.arange(3000), np.repeat(np.arange(3000), weight - 1)]
    np.testing.assert_allclose(
        weighted.cluster_centers_, KMeans().fit(X[order]).cluster_centers_, rtol=1e-12
    )


def test_blas_is_held_through_an_iterative_fit(clusters):
    with threadpool_limits(3, user_api="blas"):
        model = KMeans().fit(clusters[:3000])
        assert model.blas_during_update == {1}
        assert blas_threads() == {3}


def test_parameters_are_checked(clusters, unchanged):
    for parameters in ({"n_clusters": 0}, {"max_iter": 0}, {"max_iter": 2.5}, {"n_jobs": "2"}):
        model = KMeans(**parameters)
        name = next(iter(parameters))
        with unchanged(model), pytest.raises(ValueError, match=f"The '{name}' parameter of KMeans"):
            model.fit(clusters[:30])


def test_not_fitted():
    for call in (lambda: KMeans().predict([[1.0, 2.0]]), lambda: KMeans().save("nowhere")):
        with pytest.raises(NotFittedError, match="KMeans"):
            call()


# --- a one-pass model: a Gaussian density --------------------------------------------------


class Gaussian(OnePass):
    """The density of largest likelihood; `precise` asks for double-double."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"precise": ["boolean"]}

    def __init__(self, *, precise=False):
        self.precise = precise

    def _summarize(self, block: Block, precision: Any) -> Moments:
        return Moments.summarize(block.X, None, block.weight, precision)

    def _solve(self, moments: Moments, final: bool) -> Solved | None:
        self.blas_during_solve = blas_threads()
        if self.precise and moments.precision == "float64":
            return None
        self.mean_ = moments.mean.round()
        self.covariance_ = moments.rounded_scatter / moments.weight.hi
        smallest = float(np.linalg.eigvalsh(self.covariance_)[0])
        objective = float(moments.weight.hi / 2 * np.linalg.slogdet(self.covariance_)[1])
        proof = Certificate(smallest > 0, "a density", "moments", {"smallest": smallest})
        return Solved(proof, objective)

    def score_samples(self, X):
        inverse = np.linalg.inv(self.covariance_)

        def log_density(rows):
            away = np.asarray(rows) - self.mean_
            constant = np.linalg.slogdet(2 * np.pi * self.covariance_)[1]
            return -0.5 * (np.einsum("ij,jk,ik->i", away, inverse, away) + constant)

        return self._apply(X, log_density)


def test_one_pass(clusters):
    model = Gaussian().fit(clusters)
    np.testing.assert_allclose(model.mean_, clusters.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(model.covariance_, np.cov(clusters.T, bias=True), rtol=1e-10)
    assert model.certificate_.holds
    assert model.certificate_.smallest == np.linalg.eigvalsh(model.covariance_)[0]
    assert model.trace_.step == ("moments in float64",)
    assert model.trace_.seconds[0] > 0
    assert np.isfinite(model.trace_.objective[0])
    assert isinstance(model.statistics_, Moments)
    assert model.statistics_.count == len(clusters)


def test_a_second_pass_where_float64_does_not_suffice(clusters):
    model = Gaussian(precise=True).fit(clusters[:5000])
    assert model.trace_.step == ("moments in float64", "moments in double-double")
    assert np.isnan(model.trace_.objective[0])
    assert np.isfinite(model.trace_.objective[1])
    assert model.statistics_.precision == "double-double"
    np.testing.assert_allclose(model.covariance_, np.cov(clusters[:5000].T, bias=True), rtol=1e-12)


def test_the_kept_statistic_reproduces_the_fit(clusters):
    model = Gaussian().fit(clusters)
    again = clone(model)
    again._solve(model.statistics_, True)
    assert again.covariance_.tobytes() == model.covariance_.tobytes()
    halves = [Gaussian().fit(part).statistics_ for part in np.array_split(clusters, 2)]
    again._solve(Moments.merge(halves), True)
    np.testing.assert_allclose(again.covariance_, model.covariance_, rtol=1e-12)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_one_pass_from_files_has_the_bits_of_the_array(clusters, write_parquet, threads):
    expected = Gaussian().fit(clusters)
    files = suffice.scan(write_parquet({"a": clusters[:, 0], "b": clusters[:, 1]}))
    with suffice.config(threads=threads):
        for model in (Gaussian().fit(clusters), Gaussian().fit(files)):
            assert model.mean_.tobytes() == expected.mean_.tobytes()
            assert model.covariance_.tobytes() == expected.covariance_.tobytes()
        np.testing.assert_allclose(
            model.score_samples(files), expected.score_samples(clusters), rtol=1e-12
        )


def test_a_density_that_is_none_is_not_certified():
    with pytest.warns(ConvergenceWarning, match="Gaussian: not proved: a density"):
        model = Gaussian().fit(np.ones((10, 2)))
    assert not model.certificate_.holds


def test_blas_is_held_while_solving(clusters):
    with threadpool_limits(3, user_api="blas"):
        assert Gaussian().fit(clusters).blas_during_solve == {1}
        assert blas_threads() == {3}


def test_rows_of_weight_zero_do_not_exist(clusters):
    X = clusters[:100].copy()
    weight = np.ones(100)
    weight[[3, 50]] = 0
    X[3], X[50] = np.nan, np.inf
    model = Gaussian().fit(X, sample_weight=weight)
    np.testing.assert_allclose(
        model.mean_, np.delete(clusters[:100], [3, 50], axis=0).mean(axis=0), rtol=1e-13
    )
    assert model.statistics_.count == 98


def test_values_that_are_not_finite_are_named(clusters, unchanged):
    for model in (Gaussian(), KMeans(2)):
        X = clusters[:30_000].copy()
        X[25_000, 1] = np.nan
        with (
            unchanged(model),
            pytest.raises(ValueError, match="NaN: column 1, row 25000"),
        ):
            model.fit(X)
        X[25_000, 1] = -np.inf
        with unchanged(model), pytest.raises(ValueError, match=r"infinity.*column 1, row 25000"):
            model.fit(X)
