"""The perceptron: plain loops and Novikoff's theorem, then scikit-learn, then its inputs."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import suffice
from suffice import Perceptron
from suffice.linear.solvers.perceptron_rule import Separation
from tests.linear.stop_after import StopAfter

pytestmark = pytest.mark.filterwarnings("ignore:Perceptron. not proved")


def naive(X, y, epochs, eta=1.0, fit_intercept=True):
    """θ ← θ + η (y − g(θ·x)) x with y in {0, 1}; a row on the boundary is wrong."""
    theta, b, mistakes, passes = np.zeros(X.shape[1]), 0.0, 0, 0
    for _ in range(epochs):
        before = mistakes
        for x, label in zip(X, y, strict=True):
            z = 0.0
            for j in range(len(x)):
                z += x[j] * theta[j]
            z += b
            sign = 1 if label else -1
            if sign * z <= 0:
                theta = theta + eta * sign * x
                b += eta * sign if fit_intercept else 0
                mistakes += 1
        passes += 1
        if mistakes == before:
            break
    return theta, b, mistakes, passes


def separable(n=400, d=5, gap=0.1, seed=0, scale=1.0, offset=0.3):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(4 * n, d)), rng.normal(size=d)
    z = X @ w / np.linalg.norm(w) + offset
    kept = np.flatnonzero(np.abs(z) > gap)[:n]
    return scale * X[kept], (z[kept] > 0).astype(int)


# --- the rule ---------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("eta", [1.0, 0.3])
def test_weights_steps_and_passes_of_a_plain_loop(fit_intercept, eta):
    X, y = separable(offset=0.3 if fit_intercept else 0.0)
    model = Perceptron(shuffle=False, tol=None, eta0=eta, fit_intercept=fit_intercept).fit(X, y)
    theta, b, mistakes, passes = naive(X, y, 1000, eta, fit_intercept)
    assert model.coef_.tobytes() == theta[None].tobytes()
    assert model.intercept_.tolist() == [b]
    assert model.n_iter_ == passes
    assert model.certificate_.updates == mistakes
    assert model.certificate_.holds


def test_rows_that_cannot_be_separated_are_gone_through_until_the_end():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    with pytest.warns(ConvergenceWarning, match="not known to be separable"):
        model = Perceptron(shuffle=False, tol=None, max_iter=20).fit(X, y)
    theta, b, _, _ = naive(X, y, 20)
    assert model.coef_.tobytes() == theta[None].tobytes()
    assert model.intercept_ == [b]
    assert model.n_iter_ == 20
    assert not model.certificate_.holds
    assert model.certificate_.mistakes == (model.predict(X) != y).sum()


def test_several_classes_are_told_apart_one_by_one():
    X, y = load_iris(return_X_y=True)
    model = Perceptron(shuffle=False, tol=None, max_iter=9).fit(X, y)
    for k in range(3):
        theta, b, _, _ = naive(X, y == k, 9)
        assert model.coef_[k].tobytes() == theta.tobytes()
        assert model.intercept_[k] == b


def test_the_batch_rule():
    X, y = separable(seed=3)
    theta, b, passes = np.zeros(5), 0.0, 0
    while True:
        z = X @ theta + b
        wrong = np.where(y == 1, z <= 0, z >= 0)
        passes += 1
        if not wrong.any():
            break
        step = np.where(y == 1, 1.0, -1.0) * wrong
        theta, b = theta + 0.5 * X.T @ step, b + 0.5 * step.sum()
    model = Perceptron(batch=True, eta0=0.5, tol=None, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], theta, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, b, rtol=1e-9)
    assert model.n_iter_ == passes
    assert model.certificate_.holds
    assert "batch" in model.certificate_.path
    assert "bound" not in model.certificate_.measures  # Novikoff's is for the online rule
    order = np.random.default_rng(1).permutation(len(y))
    other = clone(model).fit(X[order], y[order])
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-9)


def test_batch_penalties():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    options = {"penalty": "elasticnet", "alpha": 0.01, "l1_ratio": 0.3, "eta0": 0.1}
    model = Perceptron(batch=True, tol=None, max_iter=15, **options).fit(X, y)
    w, b = np.zeros(30), 0.0
    for _ in range(15):
        sign = np.where(y == 1, 1.0, -1.0)
        step = 0.1 * sign * (sign * (X @ w + b) <= 0)
        w = w * (1 - 0.1 * 0.01 * 0.7) + X.T @ step
        w = np.sign(w) * np.maximum(np.abs(w) - 0.1 * 0.01 * 0.3, 0)
        b += step.sum()
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-10)
    np.testing.assert_allclose(model.intercept_, b, rtol=1e-10)


# --- the certificate --------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**31), gap=st.floats(0.02, 1.0), scale=st.floats(0.1, 50),
    shuffle=st.booleans(), fit_intercept=st.booleans(),
)  # fmt: skip
def test_novikoff(seed, gap, scale, shuffle, fit_intercept):
    """Mistakes ≤ (R/γ)², with R and γ measured here, from the rows."""
    offset = 0.3 if fit_intercept else 0.0
    X, y = separable(n=80, d=3, gap=gap, seed=seed, scale=scale, offset=offset)
    if len(set(y)) < 2:
        return
    model = Perceptron(tol=None, max_iter=20_000, shuffle=shuffle, fit_intercept=fit_intercept)
    model.fit(X, y)
    proof = model.certificate_
    if not proof.holds:
        return  # separable, but by too little for these passes
    rows = np.hstack([X, np.ones((len(X), 1))]) if fit_intercept else X
    theta = np.append(model.coef_, model.intercept_) if fit_intercept else model.coef_[0]
    margins = np.where(y == 1, 1, -1) * (rows @ theta) / np.linalg.norm(theta)
    radius = np.linalg.norm(rows, axis=1).max()
    assert margins.min() > 0
    np.testing.assert_allclose(proof.margin, margins.min(), rtol=1e-9)
    np.testing.assert_allclose(proof.radius, radius, rtol=1e-12)
    np.testing.assert_allclose(proof.bound, (radius / margins.min()) ** 2, rtol=1e-8)
    assert proof.updates <= proof.bound
    assert proof.mistakes == 0


def test_the_bound_is_only_told_where_it_applies():
    X, y = separable()
    assert "bound" in Perceptron().fit(X, y).certificate_.measures
    warm = Perceptron(warm_start=True).fit(X, y)
    assert "bound" not in warm.fit(X, y).certificate_.measures
    for options in ({"batch": True}, {"class_weight": {0: 2.0, 1: 1.0}}):
        proof = Perceptron(tol=None, **options).fit(X, y).certificate_
        assert proof.holds
        assert "bound" not in proof.measures


def test_separable_classes_one_by_one():
    X = np.array([[0.0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]])
    y = np.array(["a", "a", "b", "b", "c", "c"])
    model = Perceptron(tol=None).fit(X, y)
    assert model.certificate_.holds
    assert model.certificate_.updates <= model.certificate_.bound
    assert model.score(X, y) == 1


def test_one_row_on_the_wrong_side_is_enough():
    X, y = separable()
    X, y = np.vstack([X, X[:1]]), np.append(y, 1 - y[0])
    with pytest.warns(ConvergenceWarning, match=r"[1-9]\d* of 401 rows are wrong"):
        model = Perceptron(max_iter=50).fit(X, y)
    assert model.certificate_.mistakes >= 1


def test_separations_merge():
    whole = Separation.merge(
        [
            Separation(np.array([1, 0]), np.array([-1.0, 2.0]), 4.0, 3),
            Separation(np.array([2, 0]), np.array([5.0, 1.0]), 9.0, 2),
        ]
    )
    assert whole.mistakes.tolist() == [3, 0]
    assert whole.margin.tolist() == [-1.0, 1.0]
    assert (whole.size, whole.count) == (9.0, 5)


# --- scikit-learn -----------------------------------------------------------------------------

OPTIONS = [
    {},
    {"penalty": "l2", "alpha": 0.01},
    {"penalty": "l1", "alpha": 0.001},
    {"penalty": "elasticnet", "alpha": 0.01, "l1_ratio": 0.4},
    {"fit_intercept": False},
    {"eta0": 0.1},
    {"class_weight": "balanced"},
    {"class_weight": {False: 3.0, True: 0.5}},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_weights_of_scikit_learn_after_as_many_passes(options):
    X, y = load_digits(return_X_y=True)
    for labels in (y > 4, y):
        if labels is y and isinstance(options.get("class_weight"), dict):
            options = {"class_weight": dict.fromkeys(range(10), 2.0) | {3: 0.1}}
        fixed = {"shuffle": False, "tol": None, "max_iter": 6, **options}
        ours = Perceptron(**fixed).fit(X, labels)
        theirs = linear_model.Perceptron(**fixed).fit(X, labels)
        scale = np.abs(theirs.coef_).max()
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-12 * scale)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-12)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        np.testing.assert_allclose(
            ours.decision_function(X), theirs.decision_function(X), rtol=1e-9, atol=1e-9 * scale
        )
        assert (ours.n_iter_, ours.t_) == (theirs.n_iter_, theirs.t_)


@pytest.mark.parametrize("tol", [1e-3, 10.0])
@pytest.mark.parametrize("patience", [1, 5])
@pytest.mark.parametrize("options", [OPTIONS[i] for i in (0, 1, 4)], ids=str)
def test_each_class_stops_when_it_does_in_scikit_learn(tol, patience, options):
    """Not so with absolute values: the norms by which it judges do not follow that penalty."""
    X, y = load_digits(return_X_y=True)
    fixed = {"shuffle": False, "tol": tol, "n_iter_no_change": patience, **options}
    ours, theirs = Perceptron(**fixed).fit(X, y), linear_model.Perceptron(**fixed).fit(X, y)
    scale = np.abs(theirs.coef_).max()
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-12 * scale)
    assert ours.n_iter_ == theirs.n_iter_


def test_shuffled_fits_predict_as_well_as_scikit_learns():
    X, y = load_digits(return_X_y=True)
    ours = [Perceptron(random_state=s).fit(X, y).score(X, y) for s in range(5)]
    theirs = [linear_model.Perceptron(random_state=s).fit(X, y).score(X, y) for s in range(5)]
    assert np.mean(ours) > np.mean(theirs) - 0.02
    assert len(set(ours)) > 1


def test_partial_fits_of_scikit_learn():
    X, y = load_digits(return_X_y=True)
    ours, theirs = Perceptron(shuffle=False), linear_model.Perceptron(shuffle=False)
    for part in np.array_split(np.arange(len(y)), 4):
        ours.partial_fit(X[part], y[part], classes=np.arange(10))
        theirs.partial_fit(X[part], y[part], classes=np.arange(10))
        np.testing.assert_array_equal(ours.coef_, theirs.coef_)
        assert ours.t_ == theirs.t_
    assert ours.n_iter_ == 1
    model = Perceptron(shuffle=False, tol=None, max_iter=1).fit(X, y)
    np.testing.assert_array_equal(ours.coef_, model.coef_)


# --- shuffling, holding out, warm starts ------------------------------------------------------


def test_the_seed_decides():
    X, y = load_breast_cancer(return_X_y=True)
    fits = [Perceptron(random_state=s, max_iter=5).fit(X, y).coef_ for s in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert (fits[0] != fits[2]).any()
    generator = np.random.RandomState(0)
    drawn = [Perceptron(random_state=generator, max_iter=5).fit(X, y).coef_ for _ in range(2)]
    np.testing.assert_array_equal(drawn[0], fits[0])
    assert (drawn[0] != drawn[1]).any()


@pytest.mark.compiled
@pytest.mark.parametrize("options", [{}, {"early_stopping": True}, {"batch": True}], ids=str)
def test_bits_are_the_same_from_files_and_at_any_number_of_threads(options, small_blocks, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_500, 6))
    y = np.where(X @ rng.normal(size=6) + rng.normal(size=3_500) > 0, "ja", "nein")
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=y)
    for i in range(3):
        frame.iloc[i * 1_500 : (i + 1) * 1_500].to_parquet(
            tmp_path / f"{i}.parquet", row_group_size=350 + i
        )
    source = suffice.scan(tmp_path / "*.parquet", target="y")
    fits = []
    for threads in (1, 4):
        with suffice.config(threads=threads):
            fits.append(Perceptron(max_iter=8, **options).fit(X, y))
            fits.append(Perceptron(max_iter=8, **options).fit(source))
    assert len({(fit.coef_.tobytes(), fit.intercept_.tobytes(), fit.n_iter_) for fit in fits}) == 1
    assert all(fit.certificate_ == fits[0].certificate_ for fit in fits)
    assert fits[0].score(source) == fits[0].score(X, y) > 0.7


def test_early_stopping_judges_by_rows_that_it_holds_out():
    X, y = load_digits(return_X_y=True)
    model = Perceptron(early_stopping=True, validation_fraction=0.25, n_iter_no_change=3)
    model.fit(X, y)
    assert "held out" in model.trace_.step
    assert model.n_iter_ < 50
    assert model.score(X, y) > 0.9
    learned = 1797 - sum(round(0.25 * n) for n in np.bincount(y))
    assert model.t_ == 1 + model.n_iter_ * learned
    with pytest.raises(ValueError, match="none to judge by"):
        Perceptron(early_stopping=True).fit(X[:4], [0, 1, 0, 1])


def test_warm_starts():
    X, y = load_breast_cancer(return_X_y=True)
    fixed = {"shuffle": False, "tol": None}
    once = Perceptron(max_iter=6, **fixed).fit(X, y)
    twice = Perceptron(max_iter=3, warm_start=True, **fixed).fit(X, y).fit(X, y)
    np.testing.assert_array_equal(once.coef_, twice.coef_)
    with pytest.raises(ValueError, match="use warm_start=False"):
        twice.fit(X[:, :3], y)
    np.testing.assert_array_equal(once.coef_, twice.coef_)
    with pytest.raises(ValueError, match="use warm_start=False"):
        twice.fit(X, y + 1)


def test_the_trace_has_a_row_for_each_pass():
    X, y = separable()
    model = Perceptron().fit(X, y)
    assert model.trace_.step == ("labels", *["epoch"] * model.n_iter_, "separation")
    assert model.trace_.objective[model.n_iter_] == 0.0


# --- inputs -----------------------------------------------------------------------------------


def test_sparse_rows_give_the_bits_of_dense_rows():
    X, y = load_digits(return_X_y=True)
    dense = Perceptron(max_iter=10).fit(X, y)
    for container in (sparse.csr_array, sparse.csc_matrix):
        few = Perceptron(max_iter=10).fit(container(X), y)
        np.testing.assert_array_equal(few.coef_, dense.coef_)
        np.testing.assert_array_equal(few.predict(container(X)), dense.predict(X))


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.bool_])
def test_other_numbers_are_floats(dtype):
    X, y = load_digits(return_X_y=True)
    X = (X > 8).astype(dtype)
    expected = Perceptron(max_iter=5).fit(X.astype(float), y)
    np.testing.assert_array_equal(Perceptron(max_iter=5).fit(X, y).coef_, expected.coef_)
    read_only = X.copy(order="F")
    read_only.flags.writeable = False
    np.testing.assert_array_equal(Perceptron(max_iter=5).fit(read_only, y).coef_, expected.coef_)


@pytest.mark.parametrize("labels", [["ä", "ß"], [True, False], [-7, 2**62], [1.0, 2.0]], ids=str)
def test_labels_of_any_kind(labels):
    X, y = separable()
    named = np.array(labels, dtype=object if isinstance(labels[0], str) else None)[y]
    model = Perceptron().fit(X, named)
    assert model.score(X, named) == 1
    assert model.classes_.tolist() == sorted(labels)


def test_rows_of_weight_zero_do_not_exist(tmp_path):
    X, y = separable()
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y, w=1.0)
    frame.loc[3::7, "w"] = 0.0
    kept = frame["w"].to_numpy() > 0
    frame.loc[3, "a"] = np.nan
    frame.to_parquet(tmp_path / "rows.parquet")
    source = suffice.scan(tmp_path / "rows.parquet", target="y", weight="w")
    found = Perceptron(shuffle=False).fit(source)
    expected = Perceptron(shuffle=False).fit(X[kept], y[kept])
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    frame["w"] = 2.0
    frame.to_parquet(tmp_path / "rows.parquet")
    source = suffice.scan(tmp_path / "rows.parquet", target="y", weight="w")
    with pytest.raises(ValueError, match="takes no row weights"):
        Perceptron().fit(source)


def test_one_class_one_row_and_no_rows():
    X = np.ones((3, 2))
    for rows, y in ((X, [1, 1, 1]), (X[:1], [4])):
        with pytest.raises(ValueError, match=f"only one class: {y[0]}$"):
            Perceptron().fit(rows, y)
    with pytest.raises(ValueError, match=r"0 sample|no rows"):
        Perceptron().fit(X[:0], [])
    assert Perceptron().fit([[0.0], [1.0]], [0, 1]).certificate_.holds
    model = Perceptron(max_iter=7, tol=None).fit(X, [0, 1, 1])  # one point, two classes
    assert not model.certificate_.holds


def test_huge_values():
    X, y = separable(scale=1e150, offset=0.0)
    assert Perceptron().fit(X, y).certificate_.holds
    with pytest.raises(ValueError, match="rescale the columns"):
        Perceptron(max_iter=5, tol=None).fit(1e157 * X, np.arange(400) % 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"penalty": "l3"}, "penalty"),
        ({"alpha": -1}, "alpha"),
        ({"eta0": 0}, "eta0"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"class_weight": "equal"}, "class_weight"),
        ({"batch": "yes"}, "batch"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = separable(n=20)
    with pytest.raises(ValueError, match=message):
        Perceptron(**parameters).fit(X, y)


def test_bad_partial_fits_change_nothing():
    X, y = separable(n=50)
    model = Perceptron()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X, y)
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(ValueError, match="holds 1, which is not among the classes"):
        model.partial_fit(X, y, classes=[0, 2])
    model.partial_fit(X, y, classes=[1, 0])
    before = model.coef_
    with pytest.raises(ValueError, match="not the same as on the last call"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(X[:, :2], y)
    assert model.coef_ is before
    for options in ({"early_stopping": True}, {"class_weight": "balanced"}):
        with pytest.raises(ValueError, match="needs all rows at once"):
            Perceptron(**options).partial_fit(X, y, classes=[0, 1])


def test_weights_are_no_argument():
    X, y = separable(n=20)
    with pytest.raises(TypeError, match="sample_weight"):
        Perceptron().fit(X, y, sample_weight=np.ones(20))


def test_missing_cells_are_named():
    X, y = separable(n=50)
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN: column 2, row 7"):
        Perceptron().fit(X, y)


def test_in_a_search():
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(Perceptron(max_iter=20), {"penalty": [None, "l2"]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Perceptron().fit(*separable())


def test_saved_models_come_back(tmp_path):
    X, y = separable()
    model = Perceptron().fit(X, y)
    model.save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert loaded.certificate_ == model.certificate_
    loaded.partial_fit(X, y)
    assert loaded.t_ == model.t_ + 400


@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize("passes", [1, 2, 4])
def test_a_callback_stops_the_passes(passes, batch):
    X, y = load_digits(return_X_y=True)
    model = Perceptron(batch=batch).set_callbacks(StopAfter(passes))
    with pytest.warns(ConvergenceWarning, match="a callback stopped the fit"):
        model.fit(X, y)
    expected = Perceptron(batch=batch, tol=None, max_iter=max(passes - 1, 1)).fit(X, y)
    if not batch:
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        assert model.n_iter_ == expected.n_iter_
    assert len(model.trace_) <= passes + 2
