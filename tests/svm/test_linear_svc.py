"""Linear machines: oracles, scikit-learn's solvers, laws, bad input."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_wine,
    make_circles,
    make_classification,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from sklearn.svm import LinearSVC as Liblinear

import suffice
from suffice import GridSearchCV, LinearSVC, scan
from suffice.sources import MappedSource
from suffice.svm.primal import newton
from tests.contract import contract

LOSSES = ("hinge", "squared_hinge")


def tables():
    X, y = load_breast_cancer(return_X_y=True)
    wine, digits = load_wine(return_X_y=True), load_digits(return_X_y=True)
    return {"raw": (X, y), "scaled": (scale(X), y), "offset": (X + 1e5, y), "wine": wine,
            "digits": digits}  # fmt: skip


TABLES = tables()


def objective(w, b, X, side, C, loss, weight=1.0):
    slack = np.maximum(1 - side * (X @ w + b), 0)
    return w @ w / 2 + C * np.sum(weight * (slack if loss == "hinge" else slack**2))


def with_ones(X):
    return np.hstack([X, np.ones((len(X), 1))])


# --- oracles -----------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_two_rows_have_a_closed_form(loss):
    """Between (−1, 0) and (1, 0) lies w = (t, 0), b = 0, with t + 2C ℓ′ at its root."""
    X, y = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([0, 1])
    for C in (0.1, 0.4, 3.0):
        t = min(2 * C, 1.0) if loss == "hinge" else 4 * C / (1 + 4 * C)
        model = LinearSVC(loss=loss, C=C, tol=1e-12).fit(X, y)
        np.testing.assert_allclose(model.coef_, [[t, 0]], atol=1e-9)
        assert abs(model.intercept_[0]) < 1e-6


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_squared_hinges_against_scipy(fit_intercept):
    rng = np.random.default_rng(3)
    X, weight = rng.normal(size=(80, 3)) + 1, rng.random(80) + 0.5
    side = np.where(X @ [1, -2, 0.5] + rng.normal(size=80) > 0, 1.0, -1.0)

    def value(parameters):
        b = parameters[3] if fit_intercept else 0.0
        return objective(parameters[:3], b, X, side, 0.7, "squared_hinge", weight)

    best = minimize(value, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).x
    model = LinearSVC(C=0.7, tol=1e-13, fit_intercept=fit_intercept)
    model.fit(X, side, sample_weight=weight)
    np.testing.assert_allclose(model.coef_[0], best[:3], atol=1e-5)
    np.testing.assert_allclose(model.intercept_[0], best[3], atol=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_hinges_against_a_quadratic_programme(fit_intercept):
    """Slacks as variables, bounds as constraints: another method for the same problem."""
    rng = np.random.default_rng(4)
    X, weight = rng.normal(size=(30, 2)), rng.integers(1, 4, 30).astype(float)
    side = np.where(X @ [1, -2] + rng.normal(size=30) > 0.3, 1.0, -1.0)
    C, d, n = 0.5, 2, 30
    A = np.hstack([side[:, None] * X, fit_intercept * side[:, None], np.eye(n)])
    found = minimize(
        lambda v: v[:d] @ v[:d] / 2 + C * weight @ v[d + 1 :],
        np.r_[np.zeros(d + 1), np.ones(n)],
        jac=lambda v: np.r_[v[:d], 0.0, C * weight],
        constraints={"type": "ineq", "fun": lambda v: A @ v - 1, "jac": lambda v: A},
        bounds=[(None, None)] * (d + 1) + [(0, None)] * n,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    model = LinearSVC(loss="hinge", C=C, tol=1e-12, fit_intercept=fit_intercept)
    model.fit(X, side, sample_weight=weight)
    assert model.certificate_.primal == pytest.approx(found.fun, rel=1e-8)
    np.testing.assert_allclose(model.coef_[0], found.x[:d], atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("table", TABLES)
def test_the_gap_is_what_it_says(table, loss):
    X, y = TABLES[table]
    model = LinearSVC(loss=loss, tol=1e-6).fit(X, y)
    proof = model.certificate_
    assert proof.holds
    assert proof.relative_gap <= 1e-6
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    lines = zip(classes, model.coef_, model.intercept_, strict=True)
    values = [objective(w, b, X, np.where(y == k, 1, -1), 1.0, loss) for k, w, b in lines]
    assert proof.primal == pytest.approx(sum(values), rel=1e-9)
    assert proof.gap == pytest.approx(proof.primal - proof.dual)
    better = LinearSVC(loss=loss, tol=1e-9).fit(X, y).certificate_
    assert proof.dual <= better.primal * (1 + 1e-12)


# --- scikit-learn ------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["scaled", "wine", "digits"])
def test_squared_hinges_are_liblinears_without_an_intercept(table):
    """A column of ones is penalised by both, so that the two problems are one."""
    X, y = TABLES[table]
    X = with_ones(scale(X))
    C = 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = Liblinear(dual=False, tol=1e-10, C=C, fit_intercept=False, max_iter=100_000)
        peer.fit(X, y)
    model = LinearSVC(tol=1e-13, C=C, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6 * np.abs(peer.coef_).max())
    assert (model.predict(X) == peer.predict(X)).all()


@pytest.mark.parametrize("C", [0.01, 0.1])
def test_the_primal_minimiser_is_that_of_the_dual(C):
    """λ = 1/2C: the penalised sum of hinges and libsvm's dual have one w.

    libsvm's own w is off by about 1e-6 C, whatever its tolerance.
    """
    for table in ("scaled", "wine"):
        X, y = TABLES[table]
        X, y = scale(X), y == 1
        peer = SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)
        model = LinearSVC(loss="hinge", C=C, tol=1e-12).fit(X, y)
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6 * np.abs(peer.coef_).max())
        np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-4)


def test_class_weights_are_libsvms():
    X, y = TABLES["scaled"]
    for weights in ("balanced", {0: 3.0, 1: 0.5}):
        peer = SVC(kernel="linear", C=0.1, tol=1e-10, class_weight=weights).fit(X, y)
        model = LinearSVC(loss="hinge", C=0.1, tol=1e-12, class_weight=weights).fit(X, y)
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6)


def test_class_weights_of_several_classes_are_liblinears():
    X, y = TABLES["wine"]
    X, weights = with_ones(scale(X)), {0: 5.0, 2: 0.2}
    peer = Liblinear(dual=False, tol=1e-10, fit_intercept=False, class_weight=weights).fit(X, y)
    model = LinearSVC(tol=1e-13, fit_intercept=False, class_weight=weights).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6)


# --- laws --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_repetitions(loss):
    X, y = TABLES["wine"]
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    X = np.where(weight[:, None] > 0, X, np.nan)  # rows of weight 0 do not exist
    model = LinearSVC(loss=loss, tol=1e-12, C=0.1).fit(X, y, sample_weight=weight)
    twice = LinearSVC(loss=loss, tol=1e-12, C=0.1)
    twice.fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_allclose(model.coef_, twice.coef_, atol=1e-7)


@pytest.mark.compiled
@pytest.mark.parametrize("loss", LOSSES)
def test_threads_and_files_give_the_same_bits(loss, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = make_classification(40_000, 12, n_informative=6, n_classes=3, random_state=1)
    table = {f"x{j}": X[:, j] for j in range(12)} | {"y": y}
    pq.write_table(pa.table(table), tmp_path / "rows.parquet", row_group_size=7_000)
    model = LinearSVC(loss=loss)
    with suffice.config(threads=1):
        one = model.fit(X, y).coef_
    with suffice.config(threads=2):
        two = model.fit(X, y).coef_
        streamed = model.fit(scan(tmp_path / "rows.parquet", target="y"))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, streamed.coef_)
    assert streamed.certificate_.holds
    assert streamed.score(scan(tmp_path / "rows.parquet", target="y")) > 0.5


@pytest.mark.compiled
def test_a_kernel_machine_streams_from_files(tmp_path):
    """Random features of each block as it is read are those of all rows at once."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = make_circles(20_000, noise=0.15, factor=0.4, random_state=0)
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "y": y}), tmp_path / "rows.parquet")
    kernel = RBFSampler(gamma=1.0, n_components=64, random_state=0).fit(X[:1])
    stored = MappedSource(scan(tmp_path / "rows.parquet", target="y"), kernel.transform, 64)
    model = LinearSVC().fit(stored)
    assert model.certificate_.holds
    assert model.score(stored) > 0.95
    in_memory = make_pipeline(kernel, LinearSVC()).fit(X, y)
    np.testing.assert_allclose(in_memory[-1].coef_, model.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("most", [0, 2000])
def test_sparse_rows_are_dense_ones(loss, most, monkeypatch):
    """By Gram matrices, and by conjugate gradients, as where columns are many."""
    monkeypatch.setattr(newton, "MOST_COLUMNS", most)
    X, y = TABLES["digits"]
    X, y, options = X[:600], y[:600] % 3, {"loss": loss, "C": 0.01, "tol": 1e-9}
    dense = LinearSVC(**options).fit(X, y)
    thin = LinearSVC(**options).fit(sparse.csr_array(X), y)
    assert thin.certificate_.holds
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-4 * np.abs(dense.coef_).max())
    assert (thin.predict(sparse.csr_array(X)) == dense.predict(X)).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_more_columns_than_a_matrix_takes(loss):
    rng = np.random.default_rng(5)
    X = sparse.random_array((150, 3000), density=0.02, format="csr", rng=rng)
    y = rng.integers(0, 2, 150)
    model = LinearSVC(loss=loss, tol=1e-6).fit(X, y)
    assert model.certificate_.holds
    assert "conjugate gradients" in model.certificate_.path
    peer = SVC(kernel="linear", tol=1e-9).fit(X, y) if loss == "hinge" else model
    assert (model.predict(X) == peer.predict(X)).mean() > 0.99


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_hard_cases_are_proved(loss, C):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 3))
    cases = {
        "separable": (np.vstack([X + 4, X - 4]), np.repeat([0, 1], 60)),
        "opposite labels": (np.vstack([X, X]), np.repeat([0, 1], 60)),
        "constant columns": (np.hstack([X, np.full((60, 2), 7.3)]), (X[:, 0] > 0).astype(int)),
        "two rows": (X[:2], np.array([0, 1])),
        "one row against many": (X, (np.arange(60) == 7).astype(int)),
        "nothing but a constant": (np.full((10, 1), 2.0), np.arange(10) % 2),
    }
    for name, (rows, y) in cases.items():
        model = LinearSVC(loss=loss, C=C, tol=1e-6).fit(rows, y)
        assert model.certificate_.holds, name
        if name == "constant columns":
            assert not model.coef_[0, 3:].any()
        if name == "separable" and C >= 1:
            assert model.score(rows, y) == 1.0


def test_an_early_stop_is_told():
    X, y = TABLES["scaled"]
    for loss in LOSSES:
        model = LinearSVC(loss=loss, max_iter=2, tol=1e-8)
        with pytest.warns(ConvergenceWarning, match="raise max_iter"):
            model.fit(X, y)
        assert not model.certificate_.holds
        assert model.n_iter_ == 2


@pytest.mark.parametrize("loss", LOSSES)
def test_a_search_shares_its_passes(loss):
    X, y = TABLES["scaled"]
    grid = {"C": [0.01, 0.1, 1.0]}
    search = GridSearchCV(LinearSVC(loss=loss), grid, cv=3).fit(X, y)
    alone = LinearSVC(loss=loss, C=1.0).fit(X, y)
    assert search.passes_ < 4 * len(alone.trace_)  # and not 9 fits
    assert 0.9 < search.best_score_ <= 1.0


def test_classes_share_their_passes():
    X, y = TABLES["digits"]
    model = LinearSVC(loss="hinge", C=0.01).fit(X, y)
    own = [LinearSVC(loss="hinge", C=0.01).fit(X, y == k) for k in range(10)]
    assert len(model.trace_) <= 2 * max(len(one.trace_) for one in own)
    np.testing.assert_allclose(model.coef_[3], own[3].coef_[0], atol=1e-9)


def test_labels_of_any_kind():
    X, y = TABLES["wine"]
    names = np.array(["red", "white", "rosé"])
    model = LinearSVC().fit(X, names[y])
    assert (model.predict(X) == names[LinearSVC().fit(X, y).predict(X)]).all()
    assert model.decision_function(X).shape == (len(X), 3)
    assert LinearSVC().fit(X, y > 0).decision_function(X).shape == (len(X),)


# --- scikit-learn's checks, and bad input --------------------------------------------------------


@contract([LinearSVC()], switched=[LinearSVC(loss="hinge")])
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"penalty": "l1"}, "'l1' is not offered"),
        ({"multi_class": "crammer_singer"}, "'crammer_singer' is not offered"),
        ({"C": 0}, "'C' parameter"),
        ({"loss": "logistic"}, "'loss' parameter"),
        ({"class_weight": {9: 1.0}}, "names 9"),
        ({"class_weight": {2: 0.0}}, "gives class 2 the weight 0"),
    ],
)
def test_parameters_are_checked(parameters, says):
    X, y = TABLES["wine"]
    with pytest.raises(ValueError, match=says):
        LinearSVC(**parameters).fit(X, y)


def test_one_class_and_cells_that_are_no_numbers():
    X, y = TABLES["wine"]
    with pytest.raises(ValueError, match="only one class: 1"):
        LinearSVC().fit(X, np.ones(len(X), dtype=int))
    broken = X.copy()
    broken[5, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LinearSVC().fit(broken, y)
