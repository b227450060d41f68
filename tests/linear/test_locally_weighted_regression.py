"""Locally weighted regression against per-query factorisations, its own claims, and peers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import r2_score
from statsmodels.nonparametric.kernel_regression import KernelReg

import suffice
from suffice import LocallyWeightedRegression
from suffice.engines import gather
from suffice.linear.local import solution
from suffice.linear.local.rows import LEAF, column_deviations
from suffice.linear.local.solution import LocalModel, moments_around, solve, solve_directly
from suffice.numerics.spatial import spatial_order
from tests.contract import contract


def weights_of(X, q, bandwidth, weight=None):
    """Weights relative to the largest, from distances with 64 bits of mantissa."""
    away = (X.astype(np.longdouble) - q) / np.asarray(bandwidth, dtype=np.longdouble)
    exponent = -(away * away).sum(axis=1) / 2
    if weight is not None:
        exponent += np.log(weight.astype(np.longdouble))
    return np.exp(exponent - exponent.max()).astype(float)


def by_qr(X, y, queries, bandwidth, weight=None, degree=1):
    """Each query's least-squares problem, centred at the query, by QR on all rows."""
    out = []
    for q in queries:
        root = np.sqrt(weights_of(X, q, bandwidth, weight))
        design = np.hstack([np.ones((len(X), 1)), (X - q)[:, : degree * X.shape[1]]])
        Q, R = np.linalg.qr(root[:, None] * design)
        b = Q.T @ (root.reshape(-1, *[1] * (y.ndim - 1)) * y)
        out.append(np.linalg.solve(R, b)[0])
    return np.array(out)


def wavy(rows=1500, columns=3, targets=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    shape = (rows,) if targets is None else (rows, targets)
    y = np.sin(2 * X).sum(axis=1).reshape(rows, *[1] * (len(shape) - 1))
    return X, y + 0.3 * rng.normal(size=shape) + 2.0


def inner_queries(columns, seed=1, count=150):
    return np.random.default_rng(seed).uniform(-1.2, 1.2, size=(count, columns))


def agree(found, expected, tolerance=1e-9):
    scale = np.maximum(np.abs(expected), 1.0)
    np.testing.assert_array_less(np.abs(found - expected) / scale, tolerance)


# --- an independent solution of each query -------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("degree", [0, 1])
@pytest.mark.parametrize("bandwidth", [0.35, 1.0, 30.0])
def test_every_query_is_solved_as_by_qr(offset, degree, bandwidth):
    X, y = wavy()
    X[:, 1] += offset
    queries = inner_queries(3)
    queries[:, 1] += offset
    model = LocallyWeightedRegression(bandwidth, degree=degree).fit(X, y)
    agree(model.predict(queries), by_qr(X, y, queries, bandwidth, degree=degree))


@pytest.mark.parametrize("columns", [1, 2, 8])
def test_several_targets_and_weights(columns):
    X, y = wavy(columns=columns, targets=3)
    y *= [1.0, 1e-6, 1e6]
    weight = np.random.default_rng(3).uniform(0.01, 3, size=len(X))
    queries = inner_queries(columns)
    model = LocallyWeightedRegression().fit(X, y, weight)
    found = model.predict(queries)
    assert found.shape == (len(queries), 3)
    expected = by_qr(X, y, queries, model.bandwidth_, weight)
    agree(found / [1, 1e-6, 1e6], expected / [1, 1e-6, 1e6])


@pytest.mark.parametrize("bandwidth", [0.02, 0.2, 2.0])
def test_both_ways_to_a_solution_agree_with_qr(bandwidth):
    """On a line, a small bandwidth takes few rows out of many."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-3, 3, size=(5000, 1)) + 1e3
    y = np.cos(3 * X[:, 0]) + 0.1 * rng.normal(size=5000)
    queries = rng.uniform(-2.9, 2.9, size=(80, 1)) + 1e3
    model = LocallyWeightedRegression(bandwidth).fit(X, y)
    rows, rule = model._rows, LocalModel(1, np.zeros(1), 60.0)
    expected = by_qr(X, y, queries, bandwidth)
    agree(model.predict(queries), expected)
    agree(np.array([solve_directly(rows, q, q, rule)[0] for q in queries]), expected)


def test_moments_are_trusted_where_they_should_be():
    """Else everything would be slow: ordinary queries need no second solution."""
    X, y = wavy(rows=4000, columns=5)
    queries = inner_queries(5)
    model = LocallyWeightedRegression().fit(X, y)
    rows, rule = model._rows, LocalModel(1, np.zeros(5), 60.0)
    found, trusted = solve(rows, queries, moments_around(rows, queries, rule), rule)
    assert trusted.all()
    agree(found[:, 0], by_qr(X, y, queries, model.bandwidth_))


def test_moments_are_not_trusted_where_they_are_wrong():
    X, y = wavy(rows=4000, columns=2)
    X[:, 1] = X[:, 0] + 1e-5 * X[:, 1]
    queries = np.repeat(inner_queries(1), 2, axis=1)
    model = LocallyWeightedRegression(0.5).fit(X, y)
    rows, rule = model._rows, LocalModel(1, np.zeros(2), 60.0)
    found, trusted = solve(rows, queries, moments_around(rows, queries, rule), rule)
    expected = by_qr(X, y, queries, 0.5)
    agree(found[trusted, 0], expected[trusted])
    agree(model.predict(queries), expected)


def test_a_plane_is_found_exactly():
    X, _ = wavy(columns=4)
    y = 3 + X @ [1.0, -2.0, 0.5, 7.0]
    queries = inner_queries(4)
    found = LocallyWeightedRegression(0.8).fit(X, y).predict(queries)
    agree(found, 3 + queries @ [1.0, -2.0, 0.5, 7.0], 1e-12)


# --- peers ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::FutureWarning")  # about the peer's own random numbers
@pytest.mark.parametrize(("degree", "kind"), [(0, "lc"), (1, "ll")])
def test_statsmodels(degree, kind):
    X, y = wavy(rows=200, columns=2)
    peer = KernelReg(y, X, "cc", reg_type=kind, bw=[0.5, 0.5])
    queries = inner_queries(2, count=20)
    found = LocallyWeightedRegression(0.5, degree=degree).fit(X, y).predict(queries)
    agree(found, peer.fit(queries)[0])


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("bandwidth", [0.1, 1.0])
def test_a_penalty_is_that_of_weighted_ridge(alpha, bandwidth):
    X, y = wavy(rows=600, columns=2)
    weight = np.random.default_rng(2).uniform(0.5, 50, size=len(X))
    queries = 2 * inner_queries(2, count=40)
    found = LocallyWeightedRegression(bandwidth, alpha=alpha).fit(X, y, weight).predict(queries)
    for q, prediction in zip(queries, found, strict=True):
        w = weight * np.exp(-(((X - q) / bandwidth) ** 2).sum(axis=1) / 2)
        if w.sum() > 1e-6:
            peer = Ridge(alpha, solver="svd").fit(X - q, y, w)
            agree(prediction, peer.intercept_, 1e-8)


def test_a_wide_kernel_is_linear_regression():
    X, y = wavy()
    queries = inner_queries(3)
    found = LocallyWeightedRegression(1e8).fit(X, y).predict(queries)
    agree(found, LinearRegression().fit(X, y).predict(queries))


# --- rows left out -------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-2, 1e-6, 1e-10])
@pytest.mark.parametrize("degree", [0, 1])
@pytest.mark.parametrize("columns", [1, 2])
def test_rows_left_out_change_no_more_than_promised(tol, degree, columns):
    X, y = wavy(rows=20 * LEAF, columns=columns)
    y[np.abs(X[:, 0]) > 2.5] += 1e4  # what is far away would be noticed
    queries = np.sort(inner_queries(columns, count=60), axis=0)
    model = LocallyWeightedRegression(0.05, degree=degree, tol=tol).fit(X, y)
    rows = model._rows
    full = LocalModel(degree, np.zeros(columns), np.inf)
    everything = np.array([solve_directly(rows, q, q, full)[0] for q in queries])
    change = np.abs(model.predict(queries) - everything)
    assert (change <= tol * np.ptp(y) + 1e-9 * np.abs(everything)).all()


def test_leaves_are_left_out_only_for_a_tolerance(monkeypatch):
    X, y = wavy(rows=20 * LEAF, columns=2)
    queries = np.sort(inner_queries(2, count=60), axis=0)[:8]
    visited = []
    plain = solution.products
    monkeypatch.setattr(solution, "products", lambda z, y: visited.append(0) or plain(z, y))
    for tol in (1e-2, 1e-10, 0.0):
        visited.clear()
        LocallyWeightedRegression(0.05, tol=tol).fit(X, y).predict(queries)
        assert len(visited) == 20 if tol == 0 else 0 < len(visited) < 20


@pytest.mark.parametrize("tol", [0.5, 1e-2, 1e-4, 1e-6])
def test_rows_left_out_have_no_more_weight_than_promised(tol):
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 1, size=(8 * LEAF, 1))
    y = X[:, 0] + rng.normal(size=len(X))
    weight = rng.uniform(0.1, 10, size=len(X))
    rows = LocallyWeightedRegression(0.05).fit(X, y, weight)._rows
    depth = np.log(len(X)) - 2 * np.log(tol)
    for q in np.linspace(-0.1, 1.1, 25)[:, None, None]:
        kept, full = (
            moments_around(rows, q, LocalModel(0, np.zeros(1), deep)) for deep in (depth, np.inf)
        )
        share = kept.sums[0, 0] * np.exp(kept.log_scale - full.log_scale) / full.sums[0, 0]
        assert 1 - share <= tol**2
        mean, all_mean = ((at.sums[0, 1] / at.sums[0, 0]) for at in (kept, full))
        assert abs(mean - all_mean) * rows.target_unit <= tol**2 * np.ptp(y)


def test_leaves_bound_their_weights():
    X, y = wavy(rows=3 * LEAF + 5, columns=2)
    weight = np.random.default_rng(0).uniform(0.1, 1, size=len(X))
    rows = LocallyWeightedRegression(0.3).fit(X, y, weight)._rows
    queries = 3 * inner_queries(2, count=20)
    highest = rows.highest_log_weights(queries)
    assert highest.shape == (20, 4)
    for q, bounds in zip(queries, highest, strict=True):
        away = (rows.X - q[:, None]) / 0.3
        logs = rows.log_weight - (away**2).sum(axis=0) / 2
        for leaf, bound in enumerate(bounds):
            assert logs[leaf * LEAF : (leaf + 1) * LEAF].max() <= bound


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 100])
def test_spatial_order(rows):
    values = np.random.default_rng(0).normal(size=(rows, 2))
    order = spatial_order(values, 8)
    assert sorted(order) == list(range(rows))
    spread = [np.ptp(values[order[at : at + 8]], axis=0).prod() for at in range(0, rows, 8)]
    assert not rows > 50 or np.mean(spread) < np.ptp(values, axis=0).prod() / 4


def test_spatial_order_of_equal_rows():
    assert sorted(spatial_order(np.ones((50, 2)), 8)) == list(range(50))
    assert sorted(spatial_order(np.ones((50, 0)), 8)) == list(range(50))


# --- far from the data, and too few rows ---------------------------------------------------


@pytest.mark.parametrize("degree", [0, 1])
@pytest.mark.parametrize("bandwidths", [1e3, 1e6, 1e12, 1e100, 1e150])
def test_far_away_the_nearest_row_decides(bandwidths, degree):
    X, y = wavy(columns=2)
    direction = np.array([0.6, -0.8])
    query = bandwidths * 0.1 * direction
    found = LocallyWeightedRegression(0.1, degree=degree).fit(X, y).predict(query[None])
    assert np.isfinite(found).all()
    ahead = np.argsort(X @ direction)[::-1]
    if bandwidths >= 1e6:  # the next row's weight is nil
        agree(found, y[ahead[:1]], 1e-12)


def test_predictions_are_finite_everywhere():
    X, y = wavy(rows=300, columns=2)
    for distance in np.logspace(-1, 18, 60):
        queries = distance * np.array([[1.0, 0.0], [-0.3, 0.9], [-1.0, -1.0]])
        for model in (
            LocallyWeightedRegression(0.05),
            LocallyWeightedRegression(0.05, degree=0),
            LocallyWeightedRegression(0.05, alpha=1e-3),
        ):
            assert np.isfinite(model.fit(X, y).predict(queries)).all()


def test_rows_at_equal_distance_share_a_far_query():
    X = np.array([[0.0, 1.0], [0.0, -1.0], [-5.0, 0.0]])
    for degree, expected in ((0, 3.5), (1, 3.0)):  # their mean, and the line between them
        model = LocallyWeightedRegression(0.5, degree=degree)
        model.fit(X, [2.0, 4.0, 100.0], [1.0, 3.0, 1.0])
        agree(model.predict([[1e4, 0.0]]), [expected], 1e-12)


def test_a_penalty_turns_far_predictions_into_means():
    X = np.array([[0.0], [0.1], [0.2]])
    model = LocallyWeightedRegression(1.0, alpha=1e-3).fit(X, [0.0, 1.0, 2.0])
    w = np.exp(-((X[:, 0] - 40.0) ** 2) / 2 + (0.2 - 40.0) ** 2 / 2)
    agree(model.predict([[40.0]]), [(w @ [0.0, 1.0, 2.0]) / w.sum()], 1e-12)


def test_one_row():
    model = LocallyWeightedRegression().fit([[3.0, 4.0]], [7.0])
    assert model.predict([[3.0, 4.0], [0.0, 0.0], [1e9, -1e9]]).tolist() == [7.0] * 3


def test_equal_rows_are_averaged():
    model = LocallyWeightedRegression().fit([[1.0]] * 4, [1.0, 2.0, 3.0, 6.0])
    agree(model.predict([[1.0], [50.0]]), [3.0, 3.0], 1e-15)


def test_constant_columns_do_not_matter():
    X, y = wavy()
    wide = np.insert(X, 1, 1e8, axis=1)
    queries = inner_queries(3)
    expected = LocallyWeightedRegression().fit(X, y)
    model = LocallyWeightedRegression().fit(wide, y)
    assert model.bandwidth_ == expected.bandwidth_
    assert "1 constant column" in model.certificate_.notes[0]
    shifted = np.insert(queries, 1, -5.0, axis=1)
    np.testing.assert_array_equal(model.predict(shifted), expected.predict(queries))


def least_norm(X, y, q, bandwidth, units):
    """The weighted mean plus the shortest slope, by a pseudo-inverse."""
    w = weights_of(X, q, bandwidth)
    w /= w.sum()
    mean, root = w @ X, np.sqrt(w)
    slope = np.linalg.pinv(root[:, None] * (X - mean) / units, rcond=1e-8) @ (root * (y - w @ y))
    return w @ y + (q - mean) / units @ slope


@pytest.mark.parametrize("rows", [15, 900])
def test_dependent_columns_take_the_shortest_slope(rows):
    X, y = wavy(rows=rows, columns=2)
    X = np.column_stack([X, X[:, 0] - X[:, 1], 2 * X[:, 0]])
    queries = inner_queries(4, count=30)
    model = LocallyWeightedRegression(1.5).fit(X, y)
    units = np.minimum(1.5, X.std(axis=0))
    expected = [least_norm(X, y, q, 1.5, units) for q in queries]
    agree(model.predict(queries), np.array(expected), 1e-8)


def test_more_columns_than_rows():
    X, y = wavy(rows=20, columns=40)
    model = LocallyWeightedRegression(3.0).fit(X, y)
    expected = [least_norm(X, y, q, 3.0, np.minimum(3.0, X.std(axis=0))) for q in X]
    agree(model.predict(X), np.array(expected), 1e-8)


def test_more_columns_than_moments_are_made_of():
    X, y = wavy(rows=800, columns=185)
    queries = inner_queries(185, count=3)
    found = LocallyWeightedRegression(20.0).fit(X, y).predict(queries)
    agree(found, by_qr(X, y, queries, 20.0))


# --- laws ----------------------------------------------------------------------------------


def test_units_matter_only_to_the_distance():
    X, y = wavy()
    queries, scale = inner_queries(3), np.array([1e-9, 1.0, 1e7])
    expected = LocallyWeightedRegression(standardize=True, alpha=0.1).fit(X, y)
    model = LocallyWeightedRegression(standardize=True, alpha=0.1).fit(X * scale, y)
    agree(model.predict(queries * scale), expected.predict(queries))
    by_hand = LocallyWeightedRegression(0.7).fit(X / X.std(axis=0), y)
    model = LocallyWeightedRegression(0.7, standardize=True).fit(X, y)
    agree(model.predict(queries), by_hand.predict(queries / X.std(axis=0)))


def test_targets_of_any_size():
    X, y = wavy()
    queries = inner_queries(3)
    expected = LocallyWeightedRegression().fit(X, y).predict(queries)
    for scale in (1e-100, 1e100):
        found = LocallyWeightedRegression().fit(X, y * scale).predict(queries)
        agree(found / scale, expected)


def test_weights_are_repetitions_and_zero_is_absence():
    X, y = wavy(rows=700)
    weight = np.random.default_rng(0).integers(0, 4, size=len(X))
    queries = inner_queries(3)
    repeated = np.repeat(np.arange(len(X)), weight)
    for options in ({}, {"alpha": 2.0}, {"degree": 0}, {"standardize": True}):
        model = LocallyWeightedRegression(**options).fit(X, y, weight)
        other = LocallyWeightedRegression(**options).fit(X[repeated], y[repeated])
        assert model.bandwidth_ == pytest.approx(other.bandwidth_, rel=1e-13)
        agree(model.predict(queries), other.predict(queries), 1e-10)


def test_huge_and_tiny_weights():
    X, y = wavy()
    queries = inner_queries(3)
    expected = LocallyWeightedRegression(0.5).fit(X, y).predict(queries)
    for weight in (1e-300, 1e300):
        model = LocallyWeightedRegression(0.5).fit(X, y, np.full(len(X), weight))
        np.testing.assert_array_equal(model.predict(queries), expected)


def test_the_automatic_bandwidth():
    X, y = wavy(columns=2)
    spread = np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())
    model = LocallyWeightedRegression().fit(X, y)
    assert model.bandwidth_ == pytest.approx(spread * len(X) ** (-1 / 6), rel=1e-13)
    assert LocallyWeightedRegression(0.25).fit(X, y).bandwidth_ == 0.25


def test_deviations_of_columns():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1e-200, 1.0, 1e200] + [0, 1e6, 0]
    weight = np.arange(50.0)
    mean = np.average(X, axis=0, weights=weight)
    scaled = (X - mean) / [1e-200, 1.0, 1e200]
    expected = np.sqrt(np.average(scaled**2, axis=0, weights=weight))
    found = column_deviations(X, weight) / [1e-200, 1.0, 1e200]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert column_deviations(np.full((9, 1), 0.1), np.ones(9)).tolist() == [0.0]


def test_same_bits_at_any_number_of_threads():
    X, y = wavy(rows=3000, targets=2)
    queries = 2 * inner_queries(3, count=1300)
    found = [
        LocallyWeightedRegression(n_jobs=jobs).fit(X, y).predict(queries) for jobs in (1, 2, 5)
    ]
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])


@pytest.mark.compiled
def test_files_give_the_bits_of_arrays(small_blocks, tmp_path):
    X, y = wavy(rows=1_700, columns=2)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": y})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=700)
    source = suffice.scan(tmp_path / "rows.parquet", target="y")
    plain, streamed = (LocallyWeightedRegression(0.1) for _ in "ab")
    plain.fit(X, y)
    streamed.fit(source)
    expected = plain.predict(X)
    np.testing.assert_array_equal(streamed.predict(source), expected)
    assert streamed.score(source) == pytest.approx(r2_score(y, expected), rel=1e-12)


def test_frames_and_other_dtypes():
    X, y = wavy(rows=300)
    whole = (4 * X).round()
    expected = LocallyWeightedRegression().fit(whole, y).predict(whole)
    for rows in (whole.astype(np.int8), whole.astype(np.float32), np.asfortranarray(whole)):
        found = LocallyWeightedRegression().fit(rows, y).predict(rows)
        assert found.dtype == (np.float32 if rows.dtype == np.float32 else np.float64)
        np.testing.assert_array_equal(found, expected.astype(found.dtype))
    frame = pd.DataFrame(whole, columns=["a", "b", "c"])
    found = LocallyWeightedRegression().fit(frame, y).predict(frame)
    np.testing.assert_array_equal(found, expected)


def test_two_threads_predict_at_once():
    X, y = wavy(rows=3000)
    model = LocallyWeightedRegression().fit(X, y)
    expected = LocallyWeightedRegression().fit(X, y).predict(X)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: model.predict(X), range(4)):
            np.testing.assert_array_equal(found, expected)


def test_saved_and_loaded(tmp_path):
    X, y = wavy(targets=2)
    model = LocallyWeightedRegression(0.5, standardize=True, alpha=0.1).fit(X, y)
    model.save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    queries = inner_queries(3)
    np.testing.assert_array_equal(loaded.predict(queries), model.predict(queries))


def test_queries_one_by_one_and_in_any_order():
    X, y = wavy()
    queries = inner_queries(3, count=300)
    model = LocallyWeightedRegression().fit(X, y)
    found = model.predict(queries)
    order = np.random.default_rng(0).permutation(300)
    agree(model.predict(queries[order]), found[order], 1e-10)
    agree(np.concatenate([model.predict(q[None]) for q in queries[:20]]), found[:20], 1e-10)


def test_the_shape_of_the_target_is_kept():
    X, y = wavy(rows=50)
    assert LocallyWeightedRegression().fit(X, y).predict(X).shape == (50,)
    assert LocallyWeightedRegression().fit(X, y[:, None]).predict(X).shape == (50, 1)


def test_the_certificate_states_the_rule():
    X, y = wavy()
    model = LocallyWeightedRegression(tol=1e-7).fit(X, y)
    assert model.certificate_.holds
    assert "weights together are at most 1e-14 of all" in model.certificate_.claim
    assert model.certificate_.rows == len(X)
    assert model.certificate_.bandwidth == model.bandwidth_ > 0
    assert len(model.trace_) == 1


@contract(
    [],
    switched=[
        LocallyWeightedRegression(degree=0),
        LocallyWeightedRegression(standardize=True),
        LocallyWeightedRegression(alpha=1.0),
    ],
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"bandwidth": 0.0},
        {"bandwidth": -1.0},
        {"bandwidth": np.nan},
        {"bandwidth": np.inf},
        {"bandwidth": "scott"},
        {"degree": 2},
        {"alpha": -1.0},
        {"alpha": np.inf},
        {"tol": -1e-3},
        {"tol": 1.0},
        {"standardize": "yes"},
    ],
)
def test_bad_parameters(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        LocallyWeightedRegression(**options).fit([[0.0], [1.0]], [0.0, 1.0])


def test_bad_rows(monkeypatch, tmp_path):
    X, y = wavy(rows=30)
    model = LocallyWeightedRegression().fit(X, y)
    holed = X.copy()
    holed[4, 1] = np.nan
    with pytest.raises(ValueError, match="NaN: column 1, row 4 "):
        LocallyWeightedRegression().fit(holed, y)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(holed)
    with pytest.raises((TypeError, ValueError), match=r"[Ss]parse"):
        LocallyWeightedRegression().fit(sparse.csr_array(X), y)
    with pytest.raises((TypeError, ValueError), match=r"[Ss]parse"):
        model.predict(sparse.csr_array(X))
    with pytest.raises(ValueError, match="weight"):
        LocallyWeightedRegression().fit(X, y, np.zeros(30))
    with pytest.raises(ValueError, match="string"):
        LocallyWeightedRegression().fit(X, np.array(["a", "b"] * 15, dtype=object))
    pq.write_table(pa.table({"y": y} | dict(zip("abc", X.T, strict=True))), tmp_path / "rows")
    monkeypatch.setattr(gather, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match=r"keeps its rows: at least 30 of 40 bytes.*sample"):
        LocallyWeightedRegression().fit(suffice.scan(tmp_path / "rows", target="y"))


def test_columns_beyond_the_range():
    with pytest.raises(ValueError, match="Input X contains a value too large"):
        LocallyWeightedRegression().fit([[-1.5e308], [1.5e308]], [0.0, 1.0])
    with pytest.raises(ValueError, match="Input y contains a value too large"):
        LocallyWeightedRegression().fit([[0.0], [1.0]], [-1.5e308, 1.5e308])
    with pytest.raises(ValueError, match="too small: column 1 spans"):
        LocallyWeightedRegression(1e-150).fit([[0.0, 0.0], [0.0, 1.0]], [0.0, 1.0])


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = wavy(rows=100)
    model = LocallyWeightedRegression().fit(X, y)
    expected = model.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((5, 2), np.nan), np.zeros(5))
    np.testing.assert_array_equal(model.predict(X), expected)


def test_huge_values_are_no_obstacle():
    X, y = wavy(rows=400, columns=2)
    queries = inner_queries(2, count=30)
    expected = LocallyWeightedRegression().fit(X, y).predict(queries)
    for scale in (1e-100, 1e100):
        found = LocallyWeightedRegression().fit(X * scale, y).predict(queries * scale)
        agree(found, expected)
