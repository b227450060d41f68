"""The bootstrap: exact distributions, SciPy's intervals of the same resamples, bad input."""

from __future__ import annotations

import itertools
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse, stats

from suffice.theory import bootstrap
from suffice.theory.bootstrapping import acceleration, bias_correction, corrected_levels

# Efron's fifteen law schools: mean scores of their students in an admission test, and mean grades.
LSAT = np.array([576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594.0])
GPA = np.array([339, 330, 281, 303, 344, 307, 300, 343, 336, 313, 312, 274, 276, 288, 296.0]) / 100


def correlation(x, y):
    return np.corrcoef(x, y)[0, 1]


def test_law_schools():
    """Efron and Tibshirani (1993): 0.776, and 0.132 from 3200 resamples."""
    found = bootstrap(correlation, (LSAT, GPA), n_resamples=3200, random_state=0)
    assert found.estimate == pytest.approx(0.776, abs=5e-4)
    assert found.standard_error == pytest.approx(0.132, abs=0.006)
    assert found.bias < 0
    # Skewed to the left: the correction moves both ends downwards.
    assert found.bca[0] < found.percentile[0]
    assert found.bca[1] < found.percentile[1]


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(
    ("statistic", "data"),
    [
        (correlation, (LSAT, GPA)),
        (np.mean, (GPA**8,)),
        (np.var, (GPA,)),
        (np.median, (LSAT,)),  # with ties
        (np.max, (LSAT,)),
    ],
)
def test_intervals_against_scipy(statistic, data, confidence):
    found = bootstrap(statistic, data, n_resamples=500, confidence=confidence, random_state=0)
    for method, ours in (("percentile", found.percentile), ("BCa", found.bca)):
        theirs = stats.bootstrap(
            data,
            statistic,
            n_resamples=0,
            paired=len(data) > 1,
            vectorized=False,
            method=method,
            confidence_level=confidence,
            bootstrap_result=SimpleNamespace(bootstrap_distribution=found.resamples),
        )
        assert ours == pytest.approx(tuple(theirs.confidence_interval), rel=1e-9)
        assert found.standard_error == pytest.approx(theirs.standard_error, rel=1e-12)


def test_draws_are_those_of_all_resamples():
    """Four rows have 256 resamples, all equally probable."""
    x = np.array([0.0, 1.0, 2.0, 4.0])
    every = np.array([np.mean(rows) for rows in itertools.product(x, repeat=4)])
    values, counts = np.unique(every, return_counts=True)
    B = 8000
    found = bootstrap(np.mean, x, n_resamples=B, random_state=1)
    drawn = (found.resamples[:, None] == values).sum(axis=0)
    assert drawn.sum() == B
    assert stats.chisquare(drawn, counts * B / 256).pvalue > 0.001
    exact = x.std() / 2
    assert every.std() == pytest.approx(exact)
    assert found.standard_error == pytest.approx(exact, rel=4 / np.sqrt(2 * B))
    assert abs(found.bias) < 4 * exact / np.sqrt(B)


def test_acceleration_of_a_mean():
    """It is a sixth of the skewness over √n."""
    x = np.random.default_rng(0).exponential(size=50)
    jackknife = np.array([np.delete(x, i).mean() for i in range(50)])
    assert acceleration(jackknife) == pytest.approx(stats.skew(x) / (6 * np.sqrt(50)))
    assert acceleration(jackknife * 1e-150) == pytest.approx(acceleration(jackknife))
    assert acceleration(np.full(5, 0.1)) == 0.0


def test_ties_in_another_order():
    """0.1 + 0.2 + 0.3 depends on the order, the share below does not."""
    orders = np.array([sum(rows) for rows in itertools.permutations([0.1, 0.2, 0.3])])
    assert len(set(orders)) > 1
    assert bias_correction(orders, np.asarray(orders.min())) == 0.0


def test_levels():
    low, high = corrected_levels(np.asarray(0.0), np.asarray(0.0), 0.9)
    assert (low, high) == (pytest.approx(0.05), pytest.approx(0.95))
    low, high = corrected_levels(np.asarray(0.2), np.asarray(0.1), 0.9)
    z = stats.norm.ppf(0.95)
    assert low == pytest.approx(stats.norm.cdf(0.2 + (0.2 - z) / (1 - 0.1 * (0.2 - z))))
    assert high == pytest.approx(stats.norm.cdf(0.2 + (0.2 + z) / (1 - 0.1 * (0.2 + z))))
    assert corrected_levels(np.asarray(0.0), np.asarray(0.4), 0.999)[1] == 1.0  # beyond the pole
    assert np.isnan(corrected_levels(np.asarray(np.inf), np.asarray(0.1), 0.9)).all()


def test_arrays_are_elementwise():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=(30, 2)), np.full(30, 0.1)])
    found = bootstrap(lambda X: X.mean(axis=0).reshape(3, 1), X, n_resamples=200, random_state=3)
    assert found.resamples.shape == (200, 3, 1)
    for j in range(3):
        alone = bootstrap(np.mean, X[:, j], n_resamples=200, random_state=3)
        assert found.estimate[j, 0] == pytest.approx(alone.estimate)
        assert found.standard_error[j, 0] == pytest.approx(alone.standard_error)
        for ours, theirs in ((found.percentile, alone.percentile), (found.bca, alone.bca)):
            assert [end[j, 0] for end in ours] == pytest.approx(list(theirs))


def test_kinds_of_data():
    """Rows of X and y stay together, in whatever they are held."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    settings = {"n_resamples": 50, "random_state": 5}

    def statistic(X, y):
        dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
        return dense.T @ np.asarray(y)

    expected = bootstrap(statistic, (X, y), **settings).resamples
    frame, series = pd.DataFrame(X, columns=["a", "b"]), pd.Series(y, index=np.arange(20) + 7)
    for data in (
        (X.tolist(), y.tolist()),
        (frame, series),
        (pl.DataFrame(X, schema=["a", "b"]), pl.Series(y)),
        (sparse.coo_array(X), y),
    ):
        assert bootstrap(statistic, data, **settings).resamples == pytest.approx(expected)
    assert isinstance(bootstrap(lambda f: f["a"].mean(), frame, **settings).estimate, float)


def test_random_state():
    few = bootstrap(np.mean, GPA, n_resamples=10, random_state=0).resamples
    more = bootstrap(np.mean, GPA, n_resamples=20, random_state=0).resamples
    assert (more[:10] == few).all()
    again = bootstrap(np.mean, GPA, n_resamples=10, random_state=np.random.RandomState(0))
    assert (again.resamples == few).all()
    rng = np.random.default_rng(0)
    first, second = (
        bootstrap(np.mean, GPA, n_resamples=10, random_state=r).resamples for r in (rng, rng)
    )
    assert (first != second).any()


def test_statistic_may_change_its_rows():
    x = np.array([3.0, 1.0, 2.0])

    def low(rows):
        rows.sort()
        return rows[0]

    bootstrap(low, x, n_resamples=5, random_state=0)
    assert x.tolist() == [3.0, 1.0, 2.0]


def test_constant():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = bootstrap(np.mean, np.full(10, 0.1), n_resamples=100, random_state=0)
    assert found.percentile == found.bca == (found.estimate, found.estimate)
    assert found.standard_error == found.bias == 0.0


def test_all_on_one_side():
    x = np.arange(40.0)
    with pytest.warns(RuntimeWarning, match="one side"):
        found = bootstrap(
            lambda x: [len(np.unique(x)), x.mean()], x, n_resamples=50, random_state=0
        )
    assert np.isnan([end[0] for end in found.bca]).all()
    assert np.isfinite([end[1] for end in found.bca]).all()
    assert found.percentile[1][0] < found.estimate[0]


@pytest.mark.parametrize(
    ("statistic", "data", "settings", "message"),
    [
        (np.mean, [1.0], {}, "at least 2 rows"),
        (np.mean, [], {}, "at least 2 rows"),
        (np.mean, (), {}, "empty tuple"),
        (np.mean, 3.0, {}, "no rows"),
        (correlation, (LSAT, GPA[1:]), {}, r"\[15, 14\] rows"),
        (np.mean, GPA, {"confidence": 1.0}, "confidence"),
        (np.mean, GPA, {"confidence": "0.9"}, "confidence"),
        (np.mean, GPA, {"n_resamples": 1}, "n_resamples"),
        (np.mean, GPA, {"n_resamples": 99.0}, "n_resamples"),
        (np.mean, [1.0, np.nan], {}, "must be finite"),
        (lambda x: 0.0 if len(set(x)) == len(x) else np.inf, GPA, {}, "resample 0"),
        (lambda x: 0.0 if len(x) == 15 else np.nan, GPA, {}, "all rows but row 0"),
        (lambda x: 1j, GPA, {}, "numbers"),
        (lambda x: "much", GPA, {}, "numbers"),
        (np.unique, GPA, {}, "shape"),
        (np.mean, GPA, {"random_state": "seed"}, "seed"),
    ],
)
def test_bad_input(statistic, data, settings, message):
    with pytest.raises(ValueError, match=message):
        bootstrap(statistic, data, **{"n_resamples": 10, "random_state": 0, **settings})
