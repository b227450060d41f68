"""Lasso and elastic net: optimality by independent computation, scikit-learn, laws, bad input."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice import ElasticNet, Lasso, LinearRegression, Ridge
from suffice.engines.gather import gather
from suffice.linear.lasso_solvers import coordinate_descent
from suffice.linear.lasso_solvers import from_columns as working_set
from suffice.linear.lasso_solvers import from_moments as penalised_moments
from suffice.linear.lasso_solvers.coordinate_descent import solve_inside, towards_signs
from suffice.linear.lasso_solvers.duality_gap import Penalty, duality_gap, duality_gaps
from suffice.linear.lasso_solvers.from_moments import targets_of
from suffice.linear.lasso_solvers.path import solve_path
from suffice.statistics.moments.full import Moments

SHAPES = {"tall": (400, 12), "few rows": (30, 12), "square": (150, 140), "wide": (60, 300)}


def make(shape, seed=0, share=0.3):
    rng = np.random.default_rng(seed)
    n, d = shape
    X = rng.normal(size=shape) * rng.uniform(0.5, 2, d) + rng.normal(size=d)
    theta = rng.normal(size=d) * (rng.random(d) < share)
    return X, X @ theta + rng.normal(size=n) + 3.0


@pytest.fixture(params=SHAPES.values(), ids=SHAPES)
def data(request):
    return make(request.param)


def strongest(X, y, l1_ratio=1.0):
    return np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y) / l1_ratio


def objective(X, y, coef, intercept, alpha, l1_ratio, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    left = y - X @ coef - intercept
    penalty = l1_ratio * np.abs(coef).sum() + (1 - l1_ratio) / 2 * (coef @ coef)
    return weight @ np.square(left) / weight.sum() / 2 + alpha * penalty


def check_kkt(model, X, y, alpha, l1_ratio, weight=None, positive=False, tolerance=1e-9):
    """0 in the subdifferential, computed from the rows."""
    weight = np.ones(len(y)) if weight is None else weight
    left = y - X @ model.coef_ - model.intercept_
    slope = (weight * left) @ X / weight.sum() - alpha * (1 - l1_ratio) * model.coef_
    bound = alpha * l1_ratio
    scale = np.sqrt(weight @ np.square(y) / weight.sum()) * np.abs(X).max()
    inside = model.coef_ != 0
    np.testing.assert_allclose(
        slope[inside], bound * np.sign(model.coef_[inside]), rtol=0, atol=tolerance * scale
    )
    outward = slope if positive else np.abs(slope)
    assert (outward[~inside] <= bound + tolerance * scale).all()
    if model.fit_intercept:
        assert abs(weight @ left) / weight.sum() <= tolerance * scale
    if positive:
        assert (model.coef_ >= 0).all()


# --- optimality ------------------------------------------------------------------------------


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5, 0.05])
@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("positive", [False, True])
def test_optimality_from_the_rows(data, l1_ratio, share, positive):
    X, y = data
    alpha = share * strongest(X, y, l1_ratio)
    weight = np.random.default_rng(3).uniform(0.5, 2, len(y))
    for options in ({}, {"fit_intercept": False}):
        model = ElasticNet(alpha, l1_ratio=l1_ratio, positive=positive, **options)
        model.fit(X, y, weight)
        assert model.certificate_.holds
        check_kkt(model, X, y, alpha, l1_ratio, weight, positive)


def test_one_column_by_hand():
    X, y = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 6.0])
    # Σ(x − x̄)(y − ȳ) = 5, Σ(x − x̄)² = 2: θ = (5 − 3·0.5)/2.
    model = Lasso(alpha=0.5).fit(X, y)
    assert model.coef_[0] == 1.75
    assert model.intercept_ == pytest.approx(3 - 2 * 1.75, abs=1e-15)
    assert Lasso(alpha=5 / 3).fit(X, y).coef_[0] == 0
    assert Lasso(alpha=5 / 3 - 1e-9).fit(X, y).coef_[0] == pytest.approx(1.5e-9, rel=1e-5)
    assert Lasso(alpha=0.5, positive=True).fit(X, -y).coef_[0] == 0


def test_orthogonal_columns_are_soft_thresholded():
    rng = np.random.default_rng(0)
    X = np.linalg.qr(rng.normal(size=(40, 6)))[0] * 7
    y = rng.normal(size=40) * 5
    pull = X.T @ y
    alpha, l1_ratio = 0.3, 0.7
    expected = np.sign(pull) * np.maximum(np.abs(pull) - 40 * alpha * l1_ratio, 0)
    expected /= 49 + 40 * alpha * (1 - l1_ratio)
    model = ElasticNet(alpha, l1_ratio=l1_ratio, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-14)


numbers = st.integers(-8, 8)


@given(st.data())
def test_the_gap_bounds_the_true_distance(drawn):
    """In exact arithmetic, against many other points: none is better by more than the gap."""
    n, d = drawn.draw(st.integers(2, 6)), drawn.draw(st.integers(1, 3))
    rows = [[drawn.draw(numbers) for _ in range(d)] for _ in range(n)]
    y = [drawn.draw(numbers) for _ in range(n)]
    alpha = drawn.draw(st.sampled_from([0.125, 0.5, 2.0]))
    l1_ratio = drawn.draw(st.sampled_from([1.0, 0.5]))
    model = ElasticNet(alpha, l1_ratio=l1_ratio).fit(np.array(rows, float), np.array(y, float))

    def exact(coef, intercept):
        left = [
            Fraction(t) - intercept - sum(c * v for c, v in zip(coef, row, strict=True))
            for row, t in zip(rows, y, strict=True)
        ]
        rho = Fraction(l1_ratio)
        penalty = sum(rho * abs(c) + (1 - rho) / 2 * c * c for c in coef)
        return sum(r * r for r in left) / (2 * n) + Fraction(alpha) * penalty

    def profiled(coef):
        """With its best intercept, as the model's would be if it were not rounded."""
        means = [sum(map(Fraction, column), Fraction(0)) / n for column in zip(*rows, strict=True)]
        return exact(
            coef, Fraction(sum(y), n) - sum(c * m for c, m in zip(coef, means, strict=True))
        )

    coef = [Fraction(float(c)) for c in model.coef_]
    reached, gap = profiled(coef), Fraction(model.certificate_.gap)
    assert model.certificate_.holds
    rng = np.random.default_rng(0)
    for size in (1e-9, 1e-6, 1e-3, 1.0):
        for _ in range(6):
            step = rng.normal(size=d) * size * rng.integers(0, 2, size=d)
            other = [c + Fraction(float(s)) for c, s in zip(coef, step, strict=True)]
            assert profiled(other) >= reached - gap


@given(st.integers(0, 10**6), st.sampled_from([1.0, 0.4]), st.booleans())
def test_the_gap_of_any_point_bounds_its_distance(seed, l1_ratio, positive):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 5)), rng.normal(size=20) * 3
    l1, l2 = np.full(5, 4.0 * l1_ratio), np.full(5, 4.0 * (1 - l1_ratio))
    penalty = Penalty(l1, l2, positive)

    def cost(theta):
        left = y - X @ theta
        return left @ left / 2 + l1 @ np.abs(theta) + l2 @ np.square(theta) / 2

    theta = rng.normal(size=5) * rng.integers(0, 2, size=5)
    theta = np.abs(theta) if positive else theta
    left = y - X @ theta
    bound = duality_gap(theta, X.T @ left, left @ left, penalty).gap
    best = solve_inside(X.T @ X, X.T @ y, penalty, np.zeros(5), 10_000)
    assert best.rests
    assert cost(theta) - cost(best.theta) <= bound * (1 + 1e-12) + 1e-12
    assert bound >= 0


@pytest.mark.parametrize("positive", [False, True])
def test_the_gaps_of_many_points_are_those_of_each(positive):
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(40, 5)) * rng.integers(0, 2, size=(40, 5))
    slope, error = rng.normal(size=(40, 5)), 1e-3 * rng.random((40, 5))
    l1 = rng.random((40, 5)) * rng.integers(0, 3, size=(40, 1))  # none at all in some rows
    l2 = rng.random((40, 5)) * rng.integers(0, 2, size=(40, 1))
    squares = rng.random(40)
    gaps, violations = duality_gaps(theta, slope, squares, Penalty(l1, l2, positive), error)
    assert 0 < np.isnan(gaps).sum() < 40
    for i in range(40):
        one = Penalty(l1[i], l2[i], positive)
        alone = duality_gap(theta[i], slope[i], float(squares[i]), one, error[i])
        np.testing.assert_allclose([gaps[i], violations[i]], alone, rtol=1e-14)


# --- another library -------------------------------------------------------------------------


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_paths_agree_with_scikit_learn(data, l1_ratio, positive, fit_intercept):
    X, y = data
    options = {"l1_ratio": l1_ratio, "positive": positive, "fit_intercept": fit_intercept}
    for alpha in np.geomspace(0.9, 0.02, 5) * strongest(X, y, l1_ratio):
        ours = ElasticNet(alpha, **options).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = linear_model.ElasticNet(alpha, tol=1e-14, max_iter=10**6, **options).fit(X, y)
        scale = max(np.abs(theirs.coef_).max(), 1e-300)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-8 * scale)
        assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-7)
        args = (alpha, l1_ratio)
        assert objective(X, y, ours.coef_, ours.intercept_, *args) <= objective(
            X, y, theirs.coef_, theirs.intercept_, *args
        ) * (1 + 1e-13)


def test_several_targets(data):
    X, y = data
    Y = np.column_stack([y, -2 * y + X[:, 0], np.zeros(len(y))])
    model = Lasso(0.05).fit(X, Y)
    for t in range(3):
        one = Lasso(0.05).fit(X, Y[:, t])
        np.testing.assert_allclose(model.coef_[t], one.coef_, atol=1e-13)
        assert model.intercept_[t] == pytest.approx(one.intercept_, abs=1e-12)
    assert model.sparse_coef_.shape == model.coef_.shape
    assert len(model.n_iter_) == len(model.dual_gap_) == 3
    theirs = linear_model.Lasso(0.05, tol=1e-12, max_iter=10**5).fit(X, Y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-6)
    assert model.predict(X).shape == theirs.predict(X).shape


def test_weights_agree_with_scikit_learn(data):
    X, y = data
    weight = np.random.default_rng(0).uniform(0.1, 3, len(y))
    ours = ElasticNet(0.05, l1_ratio=0.8).fit(X, y, weight)
    theirs = linear_model.ElasticNet(0.05, l1_ratio=0.8, tol=1e-14, max_iter=10**6)
    theirs.fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)


# --- neighbours ------------------------------------------------------------------------------


def test_no_penalty_is_least_squares():
    X, y = make((200, 6))
    model, plain = Lasso(alpha=0).fit(X, y), LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-14)
    assert any("least squares" in note for note in model.certificate_.notes)
    assert model.certificate_.holds


def test_no_absolute_penalty_is_a_ridge():
    X, y = make((200, 6))
    model = ElasticNet(alpha=0.3, l1_ratio=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, Ridge(alpha=0.3 * 200).fit(X, y).coef_, rtol=1e-13)
    assert model.certificate_.holds


def test_not_negative_least_squares():
    from scipy.optimize import nnls

    X, y = make((80, 6))
    model = Lasso(alpha=0, positive=True, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, nnls(X, y)[0], atol=1e-12)


def test_standardize_is_a_scaler_in_front(data):
    X, y = data
    deviation = X.std(axis=0)
    scaled = Lasso(0.1).fit(X / deviation, y)
    model = Lasso(0.1, standardize=True).fit(X, y)
    np.testing.assert_allclose(model.coef_ * deviation, scaled.coef_, atol=1e-11)


def test_both_solvers_agree():
    X, y = make((300, 150))
    for options in ({}, {"standardize": True}, {"fit_intercept": False}, {"positive": True}):
        one = Lasso(0.05, solver="moments", **options).fit(X, y)
        other = Lasso(0.05, solver="working_set", **options).fit(X, y)
        np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-12)
        assert one.certificate_.path != other.certificate_.path


# --- degenerate rows -------------------------------------------------------------------------


def test_constant_and_repeated_columns(data):
    X, y = data
    X = np.column_stack([np.full(len(y), 7.1), X, X[:, 0], np.zeros(len(y))])
    for options in ({}, {"standardize": True}, {"solver": "working_set"}):
        model = Lasso(0.1 * strongest(X, y), **options).fit(X, y)
        assert model.coef_[0] == model.coef_[-1] == 0
        assert model.certificate_.holds
        if not options:
            check_kkt(model, X, y, model.alpha, 1.0)


def test_constant_target(data):
    X, _ = data
    model = Lasso(0.1).fit(X, np.full(len(X), 2.5))
    assert not model.coef_.any()
    assert model.intercept_ == 2.5
    assert model.certificate_.holds


@pytest.mark.parametrize("solver", ["moments", "working_set"])
def test_one_row(solver):
    model = Lasso(0.1, solver=solver).fit([[1.0, 2.0]], [3.0])
    assert model.intercept_ == 3
    assert not model.coef_.any()


def test_columns_of_any_size():
    X, y = make((300, 8))
    scale = np.array([1e-60, 1e60, 1, 1e-5, 1e5, 1, 1e30, 1e-30])
    plain = Lasso(0.1, standardize=True).fit(X, y)
    model = Lasso(0.1, standardize=True).fit(X * scale, y)
    np.testing.assert_allclose(model.coef_ * scale, plain.coef_, rtol=1e-10)


def test_too_few_sweeps_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 200)) @ rng.normal(size=(200, 200))
    y = X @ rng.normal(size=200) + rng.normal(size=300)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = Lasso(1e-4, max_iter=1).fit(X, y)
    assert not model.certificate_.holds
    assert model.dual_gap_ > 0


# --- one statistic, many models ----------------------------------------------------------------


def test_the_path_is_that_of_single_fits():
    X, y = make((500, 10))
    model = ElasticNet(0.1, l1_ratio=0.7).fit(X, y)
    path = model.path(n_alphas=12, eps=1e-2)
    assert path.alphas[0] == pytest.approx(strongest(X, y, 0.7), rel=1e-12)
    assert not path.coefs[0].any()
    for alpha, coef, intercept in zip(path.alphas, path.coefs, path.intercepts, strict=True):
        one = ElasticNet(alpha, l1_ratio=0.7).fit(X, y)
        np.testing.assert_allclose(coef, one.coef_, atol=1e-11)
        assert intercept == pytest.approx(one.intercept_, abs=1e-10)
    assert (path.gaps < 1e-11).all()
    shuffled = model.path(path.alphas[::-1])
    np.testing.assert_allclose(shuffled.coefs[::-1], path.coefs, atol=1e-11)


def test_update_forget_merge_refit():
    X, y = make((900, 7))
    whole = Lasso(0.1).fit(X, y)
    grown = Lasso(0.1).fit(X[:500], y[:500]).update(X[500:], y[500:])
    np.testing.assert_allclose(grown.coef_, whole.coef_, rtol=1e-12)
    merged = Lasso(0.1).fit(X[:500], y[:500]) + Lasso(0.1).fit(X[500:], y[500:])
    np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-12)
    left = Lasso(0.1).fit(X[:500], y[:500])
    grown.forget(X[500:], y[500:])
    np.testing.assert_allclose(grown.coef_, left.coef_, rtol=1e-11)
    assert grown.certificate_.digits >= 8
    again = left.refit(alpha=0.01, positive=True)
    fresh = Lasso(0.01, positive=True).fit(X[:500], y[:500])
    np.testing.assert_array_equal(again.coef_, fresh.coef_)


def test_weights_are_repetitions(data):
    X, y = data
    weight = np.random.default_rng(2).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = Lasso(0.05).fit(X, y, weight.astype(float))
    repeated = Lasso(0.05).fit(X[rows], y[rows])
    scale = np.abs(repeated.coef_).max()
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize("shape", [(3000, 6), (80, 300)])
def test_files_give_the_bits_of_the_array(tmp_path, shape):
    X, y = make(shape)
    table = pa.table({**{f"x{j}": X[:, j] for j in range(shape[1])}, "y": y})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=700)
    streamed = Lasso(0.05).fit(suffice.scan(tmp_path / "rows.parquet", target="y"))
    for rows in (X, np.asfortranarray(X)):
        plain = Lasso(0.05).fit(rows, y)
        assert plain.coef_.any()
        np.testing.assert_array_equal(streamed.coef_, plain.coef_)
        assert streamed.intercept_ == plain.intercept_
        assert streamed.certificate_ == plain.certificate_


@pytest.mark.parametrize("shape", [(2000, 40), (200, 1200)])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_sparse_rows(shape, fit_intercept):
    rng = np.random.default_rng(0)
    X = sparse.random_array(shape, density=0.05, format="csr", rng=rng, data_sampler=rng.normal)
    y = X @ (rng.normal(size=shape[1]) * (rng.random(shape[1]) < 0.1)) + rng.normal(size=shape[0])
    for alpha in (0.05, 0.005):
        model = Lasso(alpha, fit_intercept=fit_intercept).fit(X, y + 1)
        dense = Lasso(alpha, fit_intercept=fit_intercept).fit(X.toarray(), y + 1)
        assert model.certificate_.holds
        assert model.coef_.any()
        np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-10)


@pytest.mark.compiled
def test_text_like_rows_with_many_columns():
    rng = np.random.default_rng(0)
    X = sparse.random_array((800, 100_000), density=1e-3, format="csr", rng=rng)
    theta = np.zeros(100_000)
    theta[:50] = 20
    y = X @ theta + 0.1 * rng.normal(size=800)
    model = Lasso(1e-4).fit(X, y)
    assert model.certificate_.holds
    left = y - X @ model.coef_ - model.intercept_
    slope = X.T @ left / 800
    assert np.abs(slope).max() <= 1e-4 * (1 + 1e-9)


@pytest.mark.parametrize("precision", ["float64", "double-double"])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_penalties_in_turn_are_as_if_alone(l1_ratio, positive, standardize, precision, monkeypatch):
    X, y = make((400, 12))
    X[:, 7], X[:, 9] = X[:, 2], 5.0  # not unique, and without any effect
    model = ElasticNet(l1_ratio=l1_ratio, positive=positive, standardize=standardize)
    moments = Moments.summarize(X, y[:, None], None, precision)
    target = targets_of(moments, 1, True, True, quick=True)[0]
    alphas = [0.0, *np.geomspace(2, 1e-4, 12), 1e-5, 0.0]
    strengths = [model._strength(alpha) for alpha in alphas]
    together = solve_path(target, strengths)

    def one_by_one(equations, penalties, solved=penalised_moments.solve_together):
        several = equations.B.shape[1] > 1
        return ([None], [np.inf]) if several else solved(equations, penalties)

    target.begin()
    monkeypatch.setattr(penalised_moments, "solve_together", one_by_one)
    for apart in (solve_path(target, strengths), [target.solve(s) for s in strengths]):
        for ours, alone in zip(together, apart, strict=True):
            fitted = [X @ s.coef + s.intercept for s in (ours, alone)]
            np.testing.assert_allclose(*fitted, rtol=1e-9, atol=1e-9)
            assert (ours.certain, ours.proved) == (alone.certain, alone.proved)
            assert ours.objective == pytest.approx(alone.objective, rel=1e-12)
            assert ours.reaches(1e-8) == alone.reaches(1e-8)
            assert ours.gap <= 1e-10 * ours.scale or ours.least_squares


# --- the solver ------------------------------------------------------------------------------


def test_dependent_columns_leave_the_support():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(50, 3))
    X = np.column_stack([base, base @ [1.0, 1.0, 0.0]])
    y = X @ [1.0, 2.0, 3.0, 0.5] + 0.1 * rng.normal(size=50)
    penalty = Penalty(np.full(4, 1.0), np.zeros(4))
    theta = towards_signs(X.T @ X, X.T @ y, penalty, np.array([1.0, 2.0, 3.0, 0.5]))
    assert np.count_nonzero(theta) <= 3
    assert np.abs(theta).sum() <= 6.5


def test_few_columns_are_looked_at(monkeypatch):
    """What is known of an earlier residual saves most of the products."""
    X, y = make((200, 3000), share=0.01)
    full = []
    from suffice.linear.lasso_solvers.columns import DenseColumns

    dots = DenseColumns.dots

    def counted(self, chosen, r):
        full.append(chosen is None)
        return dots(self, chosen, r)

    monkeypatch.setattr(DenseColumns, "dots", counted)
    model = Lasso(0.3 * strongest(X, y)).fit(X, y)
    assert model.certificate_.holds
    assert sum(full) <= len(full) / 2
    check_kkt(model, X, y, model.alpha, 1.0)


def test_a_set_that_grows(monkeypatch):
    monkeypatch.setattr(coordinate_descent, "SMALL_SET", 4)
    monkeypatch.setattr(coordinate_descent.WorkingSet, "MOST", 8)
    X, y = make((100, 60))
    for solver in ("moments", "working_set"):
        model = Lasso(0.02 * strongest(X, y), solver=solver).fit(X, y)
        check_kkt(model, X, y, model.alpha, 1.0)


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{"alpha": -1}, {"l1_ratio": 1.5}, {"l1_ratio": -0.1}, {"tol": -1}, {"max_iter": 0},
     {"selection": "best"}, {"solver": "magic"}, {"alpha": np.nan}],
)  # fmt: skip
def test_parameters_that_are_none(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        ElasticNet(**options).fit([[1.0], [2.0]], [1.0, 2.0])


def test_too_many_columns_for_moments():
    with pytest.raises(ValueError, match="solver='moments' would need a matrix of 6000"):
        Lasso(solver="moments").fit(np.zeros((3, 6000)), np.zeros(3))


def test_nothing_to_learn_from():
    for options in ({}, {"solver": "working_set"}):
        with pytest.raises(ValueError, match="zero"):
            Lasso(**options).fit([[1.0], [2.0]], [1.0, 2.0], [0.0, 0.0])


def test_paths_that_are_none():
    model = Lasso().fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 5.0])
    with pytest.raises(ValueError, match="not negative"):
        model.path([-1.0])
    with pytest.raises(ValueError, match="eps"):
        model.path(eps=2)
    with pytest.raises(ValueError, match="n_alphas"):
        model.path(n_alphas=0)


def test_a_working_set_keeps_no_statistic():
    X, y = make((20, 300))
    model = Lasso(0.1).fit(X, y)
    with pytest.raises(ValueError, match="kept no statistic"):
        model.update(X, y)
    with pytest.raises(ValueError, match="kept no statistic"):
        model.path()


# --- too many columns for their products -------------------------------------------------------


@pytest.mark.parametrize("l1_ratio", [1.0, 0.3])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_descent_on_the_residual_agrees_with_products(monkeypatch, l1_ratio, positive, as_sparse):
    X, y = make((60, 400))
    if as_sparse:
        X = sparse.csr_array(np.where(np.random.default_rng(1).random(X.shape) < 0.2, X, 0.0))
    dense = X.toarray() if as_sparse else X
    alpha = 0.02 * strongest(dense, y, l1_ratio)
    weight = np.random.default_rng(3).uniform(0.5, 2, len(y))
    options = {"l1_ratio": l1_ratio, "positive": positive}
    plain = ElasticNet(alpha, **options).fit(X, y, weight)
    calls = []
    descend = working_set.solve_on_residual
    monkeypatch.setattr(coordinate_descent, "MOST_COEFFICIENTS", 20)
    monkeypatch.setattr(
        working_set, "solve_on_residual", lambda *args: calls.append(1) or descend(*args)
    )
    model = ElasticNet(alpha, **options).fit(X, y, weight)
    assert calls
    assert model.certificate_.holds
    check_kkt(model, dense, y, alpha, l1_ratio, weight, positive, tolerance=1e-6)
    costs = [objective(dense, y, m.coef_, m.intercept_, alpha, l1_ratio, weight)
             for m in (model, plain)]  # fmt: skip
    assert costs[0] <= costs[1] + model.certificate_.gap
    assert costs[1] <= costs[0] + plain.certificate_.gap


@pytest.mark.compiled
def test_few_rows_many_columns_and_a_tiny_penalty():
    X, y = make((250, 10_000), share=0.005)
    model = Lasso(1e-4 * strongest(X, y)).fit(X, y)
    assert model.certificate_.holds
    check_kkt(model, X, y, model.alpha, 1.0, tolerance=1e-7)


@pytest.mark.compiled
def test_text_like_rows_on_the_residual(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((5000, 50_000), density=2e-3, format="csr", rng=rng)
    y = X[:, :300] @ rng.normal(size=300) + 0.3 * rng.normal(size=5000)
    alpha = 0.1 * np.abs(X.T @ (y - y.mean())).max() / 5000
    monkeypatch.setattr(coordinate_descent, "MOST_COEFFICIENTS", 100)
    model = Lasso(alpha).fit(X, y)
    assert model.certificate_.holds
    slope = X.T @ (y - X @ model.coef_ - model.intercept_) / 5000
    assert np.abs(slope).max() <= alpha * (1 + 1e-6)


def test_the_error_of_a_slope_is_bounded():
    """Against exact rational arithmetic, on columns far from zero."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 5)) + 1e4, rng.normal(size=12) * 3
    for rows in (X, sparse.csr_array(X)):
        gathered = gather(suffice.sources.ArraySource(rows, y), "Lasso")
        target, support = working_set.targets_of_rows(gathered, 1, True, 1)[0], np.array([0, 3])
        theta = np.array([0.7, -1.3])
        r = target.problem.residual(support, theta)
        error, _ = target._rounding(r, support, theta)
        exact = [[Fraction(float(v)) for v in row] for row in X]
        means = [sum(column) / 12 for column in zip(*exact, strict=True)]
        y_mean = sum(Fraction(float(v)) for v in y) / 12
        left = [
            Fraction(float(t)) - y_mean
            - sum(Fraction(c) * (row[j] - means[j]) for j, c in zip(support, theta, strict=True))
            for row, t in zip(exact, y, strict=True)
        ]  # fmt: skip
        for j, found in enumerate(target.columns.dots(None, r)):
            true = sum((row[j] - means[j]) * part for row, part in zip(exact, left, strict=True))
            assert abs(Fraction(float(found)) - true) <= Fraction(float(error[j]))
