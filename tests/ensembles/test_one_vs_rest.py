"""One against the rest: binary fits by hand, scikit-learn's own around the same model, files."""

from __future__ import annotations

import copy
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression as SklearnLinear
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import suffice
from suffice import GaussianNB, LogisticRegression, OneVsRest, Perceptron
from suffice.ensembles import binary_fits
from suffice.preprocessing import ColumnTransformer, OneHotEncoder, StandardScaler
from suffice.sources import ArraySource
from tests.contract import contract

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MODELS = {
    "logistic": LogisticRegression(C=2.0),
    "lasso": LogisticRegression(l1_ratio=1.0),
    "balanced": LogisticRegression(class_weight="balanced"),
    "naive Bayes": GaussianNB(),
    "perceptron": Perceptron(),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
}
each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
LABELS = {
    "integers": np.array([7, -3, 0]),
    "text": np.array(["größer", "Ωmega", "a b"], dtype=object),
    "floats": np.array([1.0, 2.0, -5.0]),
}


def rows(n=300, d=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, size=n)
    y[:k] = np.arange(k)
    return rng.normal(size=(n, d)) + rng.normal(size=(k, d))[y], y


def written(folder, X, y, weight=None):
    table = {f"x{j}": X[:, j] for j in range(X.shape[1])} | {"kind": y}
    options = {"target": "kind"}
    if weight is not None:
        table["w"], options["weight"] = weight, "w"
    pq.write_table(pa.table(table), folder / "rows.parquet", row_group_size=77)
    return suffice.scan(folder / "rows.parquet", **options)


def last(model):
    return binary_fits.steps(model)[-1]


def parameters(model):
    """Every number that the binary models have learned."""
    return [
        value
        for one in model.estimators_
        for name, value in sorted(vars(last(one)).items())
        if name in {"coef_", "intercept_", "theta_", "var_", "class_prior_"}
    ]


def same_bits(one, other):
    ours, theirs = parameters(one), parameters(other)
    assert len(ours) == len(theirs) > 0
    for a, b in zip(ours, theirs, strict=True):
        assert a.tobytes() == b.tobytes()


# --- the same as scikit-learn's -------------------------------------------------------------


@quiet
@each
@pytest.mark.parametrize("k", [2, 3, 6])
def test_agrees_with_scikit_learn_around_the_same_model(model, k):
    X, y = rows(k=k)
    ours, theirs = OneVsRest(model).fit(X, y), OneVsRestClassifier(model).fit(X, y)
    assert ours.n_classes_ == k
    assert len(ours.estimators_) == len(theirs.estimators_) == (1 if k == 2 else k)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    for method in ("decision_function", "predict_proba"):
        assert hasattr(ours, method) == hasattr(theirs, method)
        if hasattr(theirs, method):
            expected = getattr(theirs, method)(X)
            np.testing.assert_allclose(getattr(ours, method)(X), expected, rtol=1e-10, atol=1e-10)


def test_agrees_with_scikit_learns_model_too():
    X, y = load_iris(return_X_y=True)
    peer = SklearnLogistic(C=0.7, solver="newton-cholesky", tol=1e-12)
    theirs = OneVsRestClassifier(peer).fit(X, y)
    ours = OneVsRest(LogisticRegression(C=0.7)).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_each_model_tells_a_class_from_the_rest(labels, tmp_path):
    X, y = rows()
    weight = np.random.default_rng(1).uniform(0.5, 2, size=len(y))
    named = labels[y]
    model = OneVsRest().fit(X, named, weight)
    assert model.classes_.tolist() == sorted(labels.tolist())
    scores = []
    for label, binary in zip(model.classes_, model.estimators_, strict=True):
        alone = LogisticRegression().fit(X, (named == label).astype(int), weight)
        assert binary.coef_.tobytes() == alone.coef_.tobytes()
        assert binary.intercept_.tobytes() == alone.intercept_.tobytes()
        assert binary.certificate_ == alone.certificate_
        scores.append(X @ alone.coef_[0] + alone.intercept_[0])
    scores = np.stack(scores, axis=1)
    odds = expit(scores)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-12)
    np.testing.assert_allclose(
        model.predict_proba(X), odds / odds.sum(axis=1, keepdims=True), atol=1e-13
    )
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    same_bits(OneVsRest().fit(written(tmp_path, X, named, weight)), model)


@pytest.mark.parametrize("labels", [np.array([False, True]), np.array(["no", "yes"])])
def test_two_classes_need_one_model(labels):
    X, y = rows(k=2)
    model = OneVsRest().fit(X, labels[y])
    alone = LogisticRegression().fit(X, labels[y])
    (binary,) = model.estimators_
    assert binary.coef_.tobytes() == alone.coef_.tobytes()
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(model.predict_log_proba(X), alone.predict_log_proba(X))
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
    bayes = OneVsRest(GaussianNB()).fit(X, labels[y])
    np.testing.assert_array_equal(bayes.predict(X), GaussianNB().fit(X, labels[y]).predict(X))


def test_logarithms_are_those_of_the_probabilities():
    X, y = rows()
    for estimator in (LogisticRegression(), GaussianNB(), DecisionTreeClassifier(max_depth=2)):
        model = OneVsRest(estimator).fit(X, y)
        found = model.predict_log_proba(X)
        np.testing.assert_allclose(np.exp(found), model.predict_proba(X), atol=1e-13)


def test_probabilities_that_round_to_zero_are_divided_by_their_logarithms():
    X, y = rows(k=3)
    model = OneVsRest(LogisticRegression()).fit(X, y)
    for binary in model.estimators_:  # all sure that no row is theirs
        binary.coef_, binary.intercept_ = np.zeros((1, 4)), np.array([-900.0])
    model.estimators_[1].intercept_ = np.array([-900.0 + np.log(2)])
    assert model.estimators_[0].predict_proba(X)[:, 1].max() == 0
    np.testing.assert_allclose(model.predict_proba(X[:2]), [[0.25, 0.5, 0.25]] * 2, rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X[:1])), [[0.25, 0.5, 0.25]])


def test_no_probability_at_all_is_zero_as_in_scikit_learn():
    X = np.array([[0.0, 0], [0, 0], [1, 0], [1, 0], [0, 1], [0, 1], [1, 1]])
    y = np.array([0, 0, 1, 1, 2, 2, 1])
    tree = DecisionTreeClassifier(random_state=0)
    ours, theirs = OneVsRest(tree).fit(X, y), OneVsRestClassifier(tree).fit(X, y)
    grid = np.random.default_rng(0).uniform(size=(50, 2))
    np.testing.assert_array_equal(ours.predict_proba(grid), theirs.predict_proba(grid))


# --- where the rows come from ---------------------------------------------------------------


@quiet
@each
def test_files_give_the_bits_of_the_array(model, tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.sources.base.LARGEST_BLOCK", 1024)
    X, y = rows(n=2500, d=3)
    source = written(tmp_path, X, y)
    plain, streamed = OneVsRest(model).fit(X, y), OneVsRest(model).fit(source)
    same_bits(streamed, plain)
    assert streamed.certificate_ == plain.certificate_
    np.testing.assert_array_equal(streamed.predict(source), plain.predict(X))
    assert streamed.score(source) == pytest.approx(plain.score(X, y), abs=1e-15)
    with suffice.config(threads=1):
        same_bits(OneVsRest(model).fit(X, y), plain)


class Counted(ArraySource):
    """A source that counts its readings."""

    readings = 0

    def pieces(self):
        self.readings += 1
        return super().pieces()


def test_the_classes_share_the_readings():
    X, y = rows(n=20_000, d=3, k=8)
    source = Counted(X, y)
    model = OneVsRest().fit(source)
    passes = [sum(one != "labels" for one in binary.trace_.step) for binary in model.estimators_]
    # Passes over a sample are not over the source, so there are fewer readings than that.
    assert source.readings <= 1 + max(passes)
    alone = Counted(X, (y == 0).astype(int))
    LogisticRegression().fit(alone)
    assert source.readings <= alone.readings + 3
    assert len(model.trace_) == 1 + sum(passes)
    assert model.trace_.step[0] == "labels"
    assert model.trace_.step[1].startswith("0: ")


def test_many_classes_are_fitted_in_groups(monkeypatch):
    """The memory for all of them at once would grow with the classes."""
    X, y = rows(n=3000, k=7)
    together = OneVsRest().fit(X, y)
    monkeypatch.setattr(binary_fits, "MEMORY", 8 * 3 * (3000 * 5 + 25))
    source = Counted(X, y)
    assert binary_fits.fits_at_once(source) == 3
    grouped = OneVsRest().fit(source)
    same_bits(grouped, together)
    assert grouped.certificate_ == together.certificate_
    assert binary_fits.fits_at_once(ArraySource(np.zeros((40_000, 900)), None)) == 1


def test_frames_keep_their_names():
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = OneVsRest().fit(frame, pd.Series(LABELS["text"][y]))
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.estimators_[0].feature_names_in_.tolist() == list("abcd")
    plain = OneVsRest().fit(X, LABELS["text"][y])
    same_bits(model, plain)
    np.testing.assert_array_equal(model.predict(frame), plain.predict(X))
    with pytest.warns(UserWarning, match="valid feature names") as caught:
        model.predict(X)
    assert len(caught) == 1
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a", "c", "d"]])
    with pytest.raises(ValueError, match="column 'c', row 5"):
        OneVsRest().fit(frame.mask(np.arange(1200).reshape(300, 4) == 22), y)


def test_sparse_rows():
    X, y = rows()
    X[np.abs(X) < 0.8] = 0
    dense, scarce = OneVsRest().fit(X, y), OneVsRest().fit(sparse.csr_array(X), y)
    found = scarce.predict_proba(sparse.csr_matrix(X))
    np.testing.assert_allclose(found, dense.predict_proba(X), atol=1e-10)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        OneVsRest(GaussianNB()).fit(sparse.csr_array(X), y)


def test_missing_cells_where_the_model_takes_them():
    X, y = rows()
    X[3, 1] = np.nan
    model = OneVsRest(GaussianNB()).fit(X, y)
    theirs = OneVsRestClassifier(GaussianNB()).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    with pytest.raises(ValueError, match="NaN: column 1, row 3 "):
        OneVsRest().fit(X, y)


def test_text_columns_in_a_pipeline(tmp_path):
    X, y = rows(d=2)
    towns = np.array(["Ulm", "Rome", "Graz"], dtype=object)[(y + (X[:, 0] > 1)) % 3]
    frame = pd.DataFrame({"x0": X[:, 0], "x1": X[:, 1], "town": towns})
    encode = ColumnTransformer([("town", OneHotEncoder(), ["town"])], remainder="passthrough")
    model = OneVsRest(make_pipeline(encode, LogisticRegression()))
    theirs = OneVsRestClassifier(clone(model.estimator)).fit(frame, y)
    model.fit(frame, y)
    np.testing.assert_allclose(model.predict_proba(frame), theirs.predict_proba(frame), atol=1e-10)
    pq.write_table(pa.Table.from_pandas(frame.assign(kind=y)), tmp_path / "towns.parquet")
    source = suffice.scan(tmp_path / "towns.parquet", target="kind")
    same_bits(clone(model).fit(source), model)
    np.testing.assert_array_equal(model.predict(source), model.predict(frame))


@pytest.mark.parametrize("peer", [SklearnLogistic(), DecisionTreeClassifier(random_state=0)])
def test_models_of_another_library(peer, tmp_path):
    X, y = rows()
    weight = np.random.default_rng(1).integers(1, 4, size=len(y)).astype(float)
    ours, theirs = OneVsRest(peer).fit(X, y), OneVsRestClassifier(peer).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    assert ours.certificate_.holds
    assert "proves nothing" in ours.certificate_.claim
    frame = pd.DataFrame(X, columns=list("abcd"))
    framed = clone(ours).fit(frame, y, weight)
    alone = clone(peer).fit(X, (y == 2).astype(int), weight)
    np.testing.assert_array_equal(framed.estimators_[2].predict_proba(X), alone.predict_proba(X))
    framed.predict(frame)
    with pytest.raises(ValueError, match="Column 'b' has type"):
        clone(ours).fit(frame.assign(b="text"), y)
    source = written(tmp_path, X, y)
    with pytest.raises(TypeError, match=f"{type(peer).__name__} is not a model of this library"):
        clone(ours).fit(source)
    # Predictions are made a block at a time, so files are welcome there.
    np.testing.assert_array_equal(ours.predict(source), ours.predict(X))


# --- weights --------------------------------------------------------------------------------


def test_rows_of_weight_zero_do_not_exist():
    X, y = rows(k=4)
    weight = np.ones(len(y))
    weight[y == 3] = 0
    model = OneVsRest().fit(X, y.astype(float), weight)
    assert model.classes_.tolist() == [0, 1, 2]
    rest = OneVsRest().fit(X[y < 3], y[y < 3])
    np.testing.assert_allclose(model.predict_proba(X), rest.predict_proba(X), atol=1e-10)
    with pytest.raises(ValueError, match="only one class: 2"):
        OneVsRest().fit(X, y, (y == 2).astype(float))
    with pytest.raises(ValueError, match="at least one non-zero"):
        OneVsRest().fit(X, y, np.zeros(len(y)))


def test_weights_are_refused_by_models_that_take_none():
    X, y = rows()
    with pytest.raises(ValueError, match="Perceptron takes no row weights"):
        OneVsRest(Perceptron()).fit(X, y, np.full(len(y), 2.0))


# --- more rows ------------------------------------------------------------------------------


def test_updated_models_are_those_of_all_rows(tmp_path):
    X, y = rows()
    weight = np.random.default_rng(1).uniform(0.5, 2, size=len(y))
    whole = OneVsRest(GaussianNB()).fit(X, y, weight)
    first, second = slice(0, 120), slice(120, None)
    ways = [
        OneVsRest(GaussianNB()).update(X[first], y[first], weight[first]),
        OneVsRest(GaussianNB()).partial_fit(X[first], y[first], [0, 1, 2], weight[first]),
    ]
    for model in ways:
        model.update(X[second], y[second], weight[second])
        for ours, expected in zip(parameters(model), parameters(whole), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-12)
        assert model.certificate_.holds
    source = written(tmp_path, X[second], y[second], weight[second])
    streamed = OneVsRest(GaussianNB()).fit(X[first], y[first], weight[first])
    np.testing.assert_allclose(
        streamed.partial_fit(source).predict_proba(X), whole.predict_proba(X), atol=1e-12
    )


def test_classes_may_be_told_before_they_come():
    X, y = rows()
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    late = OneVsRest(GaussianNB()).partial_fit(X[:150], y[:150], classes=[2, 0, 1])
    assert 2 not in y[:150]
    assert late.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(late.predict_proba(X)).all()
    late.partial_fit(X[150:], y[150:], classes=[0, 1, 2])
    whole = OneVsRest(GaussianNB()).fit(X, y)
    np.testing.assert_allclose(late.predict_proba(X), whole.predict_proba(X), atol=1e-12)
    with pytest.raises(ValueError, match=r"classes=\[0, 1\] is not the same"):
        late.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="at least two"):
        OneVsRest(GaussianNB()).partial_fit(X, y, classes=[0])


@quiet
@pytest.mark.parametrize("model", [Perceptron(shuffle=False), SGDClassifier(random_state=0)])
def test_partial_fit_as_scikit_learn_does(model):
    X, y = rows()
    ours, theirs = OneVsRest(model), OneVsRestClassifier(model)
    for part in (slice(0, 100), slice(100, 200), slice(200, None)):
        ours.partial_fit(X[part], y[part], classes=[0, 1, 2])
        theirs.partial_fit(X[part], y[part], classes=[0, 1, 2])
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-10)


def test_new_classes_cannot_be_added():
    X, y = rows()
    model = OneVsRest(GaussianNB()).fit(X[y < 2], y[y < 2])
    before = copy.deepcopy(vars(model))
    with pytest.raises(ValueError, match=r"holds 2, which is not among the classes \[0, 1\]"):
        model.update(X, y)
    with pytest.raises(ValueError, match="one kind, but these are integers and text"):
        model.update(X, np.array(["a", "b", "c"])[y])
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.update(X[y < 2][:, :3], y[y < 2])
    assert vars(model).keys() == before.keys()
    assert model.estimators_[0].theta_.tobytes() == before["estimators_"][0].theta_.tobytes()


def test_a_failed_update_leaves_all_models_as_they_were(monkeypatch):
    X, y = rows()
    model = OneVsRest(GaussianNB()).fit(X, y)
    before = [value.copy() for value in parameters(model)]
    original, calls = GaussianNB.partial_fit, []

    def failing(self, *args, **options):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("third")
        return original(self, *args, **options)

    monkeypatch.setattr(GaussianNB, "partial_fit", failing)
    with pytest.raises(RuntimeError, match="third"):
        model.update(X, y)
    for ours, expected in zip(parameters(model), before, strict=True):
        assert ours.tobytes() == expected.tobytes()


def test_no_update_where_the_model_has_none():
    assert not hasattr(OneVsRest(), "update")
    assert not hasattr(OneVsRest(), "partial_fit")
    assert not hasattr(OneVsRest(GaussianNB()), "decision_function")
    assert hasattr(OneVsRest(GaussianNB()), "partial_fit")
    assert not hasattr(OneVsRest(Perceptron()), "predict_proba")


# --- what is proved -------------------------------------------------------------------------


def test_what_is_not_proved_is_told_once():
    X, y = load_iris(return_X_y=True)
    model = OneVsRest(LogisticRegression(C=float("inf")))
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    assert len(caught) == 1
    assert "OneVsRest" in str(caught[0].message)
    assert caught[0].filename == __file__
    proof = model.certificate_
    assert not proof.holds
    assert (proof.models, proof.proved) == (3, 2)
    assert proof.notes[0].startswith("class 0: the classes are separated")
    assert hasattr(model.estimators_[0], "separating_direction_")


# --- saving ---------------------------------------------------------------------------------


@quiet
@pytest.mark.parametrize("model", [LogisticRegression(C=3.0), GaussianNB(), Perceptron(), None])
@pytest.mark.parametrize("k", [2, 4])
def test_saved_models_come_back(model, k, tmp_path):
    X, y = rows(k=k)
    fitted = OneVsRest(model).fit(X, np.array(list("äbcd"))[y])
    fitted.save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    same_bits(loaded, fitted)
    assert type(loaded.estimator) is type(fitted.estimator)
    assert str(loaded.get_params()) == str(fitted.get_params())
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.certificate_ == fitted.certificate_
    if isinstance(model, GaussianNB):
        loaded.update(X, np.array(list("äbcd"))[y])


def test_models_of_another_library_are_not_saved(tmp_path):
    X, y = rows()
    for inner in (SklearnLogistic(), make_pipeline(StandardScaler(), SklearnLogistic())):
        with pytest.raises(TypeError, match="cannot save"):
            OneVsRest(inner).fit(X, y).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("first", [StandardScaler(), "passthrough"], ids=str)
def test_pipelines_of_ours_are_saved(tmp_path, first):
    X, y = rows()
    model = OneVsRest(make_pipeline(first, LogisticRegression())).fit(X, y)
    model.save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


def of_nine_columns():
    return LogisticRegression().fit(np.eye(9), np.arange(9) % 2)


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (lambda model: model.estimators_.pop(), "2 binary models do not fit 3 classes"),
        (lambda model: vars(model).update(estimators_=3), "missing"),
        (lambda model: vars(model).update(classes_=np.zeros((3, 1))), "do not fit"),
        (lambda model: model.estimators_.__setitem__(1, suffice.Ridge()), "not binary"),
        (lambda model: model.estimators_.__setitem__(1, of_nine_columns()), "not of 4 columns"),
        (lambda model: vars(model.estimators_[1]).update(n_features_in_=9), "and 9 columns"),
        (lambda model: vars(model.estimators_[1]).update(classes_=np.arange(3)), "not binary"),
    ],
)
def test_forged_files_are_refused(forge, said, tmp_path):
    X, y = rows()
    model = OneVsRest().fit(X, y)
    forge(model)
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=said):
        suffice.load(tmp_path / "model")


# --- scikit-learn's world -------------------------------------------------------------------


def test_searches_reach_the_inner_parameters():
    X, y = load_iris(return_X_y=True)
    grid = {"estimator__C": [1e-3, 1.0]}
    search = GridSearchCV(OneVsRest(LogisticRegression()), grid, cv=3).fit(X, y)
    assert search.best_params_ == {"estimator__C": 1.0}
    found = suffice.GridSearchCV(OneVsRest(LogisticRegression()), grid, cv=3).fit(X, y)
    assert found.best_params_ == search.best_params_
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )


def test_cross_validation_of_files(tmp_path):
    X, y = rows()
    found = suffice.cross_validate(OneVsRest(), written(tmp_path, X, y), cv=3)
    expected = suffice.cross_validate(OneVsRest(), X, y, cv=3)
    np.testing.assert_allclose(found["test_score"], expected["test_score"])


def test_callbacks_change_nothing(capsys):
    X, y = rows()
    plain = OneVsRest().fit(X, y)
    watched = OneVsRest()
    watched.set_callbacks(ProgressBar())
    same_bits(watched.fit(X, y), plain)
    assert watched.certificate_ == plain.certificate_


def test_several_threads_at_once():
    problems = [rows(n=5000, seed=seed) for seed in range(6)]
    expected = [OneVsRest().fit(*problem) for problem in problems]
    with ThreadPoolExecutor(6) as pool:
        for found, alone in zip(
            pool.map(lambda problem: OneVsRest().fit(*problem), problems), expected, strict=True
        ):
            same_bits(found, alone)


def test_threads_reach_the_binary_models():
    X, y = rows()
    model = OneVsRest(LogisticRegression(), n_jobs=2).fit(X, y)
    assert [binary.n_jobs for binary in model.estimators_] == [2, 2, 2]
    assert model.estimator.n_jobs is None
    kept = OneVsRest(LogisticRegression(n_jobs=1), n_jobs=2).fit(X, y)
    assert kept.estimators_[0].n_jobs == 1


# --- bad input ------------------------------------------------------------------------------


def test_bad_input():
    X, y = rows()
    with pytest.raises(ValueError, match="at least two classes, but the target holds only one"):
        OneVsRest().fit(X, np.full(len(y), "only"))
    with pytest.raises(ValueError, match="only one class"):
        OneVsRest().fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="is no classifier"):
        OneVsRest(SklearnLinear()).fit(X, y)
    with pytest.raises(ValueError, match="'estimator' parameter"):
        OneVsRest("logistic").fit(X, y)
    with pytest.raises(ValueError, match="continuous"):
        OneVsRest().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="1d"):
        OneVsRest().fit(X, np.stack([y, y], axis=1))
    with pytest.raises(NotFittedError):
        OneVsRest().predict(X)
    with pytest.raises(ValueError, match="C"):
        OneVsRest(LogisticRegression(C=-1.0)).fit(X, y)


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = rows()
    model = OneVsRest().fit(X, y)
    before = dict(vars(model))
    broken = X.copy()
    broken[7, 2] = np.inf
    with pytest.raises(ValueError, match="column 2, row 7"):
        model.fit(broken, y % 2)
    assert vars(model) == before


def test_constant_columns_and_huge_values():
    X, y = rows()
    X = np.hstack([X, np.ones((len(X), 1))])
    X[:, 0] *= 1e9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = OneVsRest().fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@contract([OneVsRest(SklearnLogistic())], switched=[OneVsRest(GaussianNB())])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
