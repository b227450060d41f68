"""What a fit takes: arrays, frames and files of the same rows give the same model, bit for bit."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import suffice
from suffice import LinearRegression, Ridge
from suffice.sources.finite import NotFinite

MODELS = [LinearRegression(), Ridge(alpha=0.5)]
NAMES = ["a", "b", "c"]
SIZES = {"small": 200, "large": 150_000}


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def model(request):
    return clone(request.param)


@pytest.fixture(scope="module", params=SIZES.values(), ids=SIZES)
def rows(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(request.param, 3)) * [1.0, 30.0, 0.01] + [5.0, 0.0, -1.0]
    return X, X @ [1.0, -2.0, 3.0] + rng.normal(size=len(X)), rng.uniform(0.5, 2.0, size=len(X))


@pytest.fixture
def few():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    return X, X @ [1.0, -2.0, 3.0] + rng.normal(size=80)


def same_bits(one, other):
    assert one.coef_.tobytes() == other.coef_.tobytes()
    assert np.asarray(one.intercept_).tobytes() == np.asarray(other.intercept_).tobytes()
    assert one.certificate_ == other.certificate_
    np.testing.assert_array_equal(one.trace_.objective, other.trace_.objective)


def close_predictions(predicted, model, X):
    """Equal up to the rounding of a row's four terms, in whatever order BLAS adds them."""
    expected = model.predict(X)
    assert predicted.shape == expected.shape
    terms = np.abs(X) @ np.abs(model.coef_) + abs(model.intercept_)
    assert (np.abs(predicted - expected) <= 4 * np.finfo(float).eps * terms).all()


def pandas_frame(X):
    return pd.DataFrame(X, columns=NAMES)


def pandas_columns(X):
    return pd.DataFrame({name: X[:, j].copy() for j, name in enumerate(NAMES)})


def pandas_arrow(X):
    return pandas_columns(X).convert_dtypes(dtype_backend="pyarrow")


def polars_frame(X):
    return pl.DataFrame({name: X[:, j] for j, name in enumerate(NAMES)})


def arrow_table(X):
    return pa.table({name: X[:, j] for j, name in enumerate(NAMES)})


FRAMES = [pandas_frame, pandas_columns, pandas_arrow, polars_frame, arrow_table]


# --- one model, whatever the rows come in --------------------------------------------------


@pytest.mark.parametrize("make", FRAMES)
@pytest.mark.parametrize("weighted", [False, True])
def test_frames(model, rows, make, weighted):
    X, y, weight = rows
    weight = weight if weighted else None
    plain = clone(model).fit(X, y, weight)
    framed = model.fit(make(X), y, weight)
    same_bits(framed, plain)
    assert framed.feature_names_in_.tolist() == NAMES
    assert framed.feature_names_in_.dtype == object
    assert framed.n_features_in_ == 3
    close_predictions(framed.predict(make(X)), plain, X)
    assert framed.score(make(X), y, weight) == pytest.approx(plain.score(X, y, weight), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_files", [1, 4])
def test_files(model, rows, write_parquet, weighted, n_files):
    X, y, weight = rows
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "t": y, "w": weight}
    paths = write_parquet(columns, n_files)
    options = {"target": "t", "features": NAMES, "weight": "w" if weighted else None}
    files = suffice.scan(paths, **options)
    weight = weight if weighted else None
    plain = clone(model).fit(X, y, weight)
    streamed = model.fit(files)
    same_bits(streamed, plain)
    assert streamed.feature_names_in_.tolist() == NAMES
    close_predictions(streamed.predict(files), plain, X)
    assert streamed.score(files) == pytest.approx(plain.score(X, y, weight), rel=1e-12)


@pytest.mark.parametrize(
    "view",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    ],
    ids=["Fortran", "every other column", "every other row", "reversed"],
)
def test_layouts(model, rows, view):
    X, y, weight = rows
    seen = view(X)
    np.testing.assert_array_equal(seen, X)
    same_bits(model.fit(seen, y, weight), clone(model).fit(X, y, weight))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int8", "uint8", "bool"])
def test_dtypes(model, rows, dtype):
    X, y, _ = rows
    narrow = np.abs(X * [1, 0.1, 100]).astype(dtype)
    same_bits(model.fit(narrow, y), clone(model).fit(narrow.astype(float), y))


def test_lists_and_series(model, few):
    X, y = few
    plain = clone(model).fit(X, y)
    same_bits(clone(model).fit(X.tolist(), y.tolist()), plain)
    same_bits(clone(model).fit(X, pd.Series(y)), plain)
    same_bits(clone(model).fit(X, pl.Series(y)), plain)
    same_bits(clone(model).fit(polars_frame(X), pl.Series(y)), plain)
    same_bits(clone(model).fit(pandas_frame(X), pd.Series(y, index=range(100, 180))), plain)


def test_inputs_are_left_alone(model, few):
    X, y = few
    weight = np.linspace(0, 1, 80)
    copies = X.copy(), y.copy(), weight.copy()
    for array in (X, y, weight):
        array.setflags(write=False)
    model.fit(X, y, weight)
    for array, before in zip((X, y, weight), copies, strict=True):
        np.testing.assert_array_equal(array, before)


def test_absent_rows_may_hold_anything(model, few):
    """Rows of weight 0 do not exist, so neither their cells nor their target are looked at."""
    X, y = few
    weight = np.ones(80)
    weight[[3, 40]] = 0
    rest = clone(model).fit(np.delete(X, [3, 40], axis=0), np.delete(y, [3, 40]))
    holes, gaps = X.copy(), y.copy()
    holes[3, 1], holes[40], gaps[3], gaps[40] = np.nan, np.inf, np.nan, -np.inf
    arrays = clone(model).fit(holes, gaps, weight)
    frames = clone(model).fit(pandas_frame(holes), pd.Series(gaps), weight)
    several = clone(model).fit(sparse.csr_array(holes), np.column_stack([gaps, gaps]), weight)
    for fitted in (arrays, frames):
        np.testing.assert_allclose(fitted.coef_, rest.coef_, rtol=1e-13)
        assert fitted.statistics_.count == 78
    np.testing.assert_allclose(several.coef_, [rest.coef_, rest.coef_], rtol=1e-13)
    assert np.isnan(gaps[3])
    with pytest.raises(ValueError, match="y contains NaN"):
        clone(model).fit(X, gaps, np.ones(80))


# --- sources -------------------------------------------------------------------------------


@pytest.fixture
def files(few, write_parquet):
    X, y = few
    return write_parquet({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "t": y})


def test_a_source_brings_its_own_target_and_weights(model, few, files, unchanged):
    source = suffice.scan(files, target="t")
    for arguments in ((few[1],), (None, np.ones(80))):
        with (
            unchanged(model),
            pytest.raises(ValueError, match=r"brings its own target.*scan\(targ"),
        ):
            model.fit(source, *arguments)
    model.fit(source)
    for arguments in ((few[1],), (None, np.ones(80))):
        with unchanged(model), pytest.raises(ValueError, match="brings its own target"):
            model.score(source, *arguments)


def test_a_source_without_a_target(model, files, unchanged):
    source = suffice.scan(files, features=NAMES)
    with unchanged(model), pytest.raises(ValueError, match=r"needs a target.*target=…"):
        model.fit(source)
    model.fit(suffice.scan(files, target="t"))
    assert model.predict(source).shape == (80,)
    with unchanged(model), pytest.raises(ValueError, match="needs a target"):
        model.score(source)


def test_several_targets(model, few, write_parquet):
    X, y = few
    Y = np.column_stack([y, -2 * y + 1, X[:, 0]])
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "t": Y[:, 0], "u": Y[:, 1], "v": Y[:, 2]}
    plain = clone(model).fit(X, Y)
    assert plain.coef_.shape == (3, 3)
    assert plain.intercept_.shape == (3,)
    assert plain.predict(X).shape == (80, 3)
    source = suffice.scan(write_parquet(columns), target=["t", "u", "v"])
    same_bits(clone(model).fit(source), plain)
    same_bits(clone(model).fit(X, pd.DataFrame(Y)), plain)
    one = clone(model).fit(X, Y[:, :1])
    peer = getattr(linear_model, type(model).__name__)().fit(X, Y[:, :1])
    assert one.coef_.shape == peer.coef_.shape
    assert one.predict(X).shape == peer.predict(X).shape


# --- names ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", FRAMES)
def test_names_are_checked(model, few, make, unchanged):
    X, y = few
    frame = make(X)
    model.fit(frame, y)
    columns = pandas_columns(X)
    others = {
        r"missing: \['c'\], unexpected: \[\]": columns[["a", "b"]],
        r"missing: \[\], unexpected: \['d'\]": columns.assign(d=1.0),
        r"missing: \['b'\], unexpected: \['B'\]": columns.rename(columns={"b": "B"}),
        r"the same names in another order": columns[["b", "a", "c"]],
    }
    for message, other in others.items():
        forms = [other, pl.DataFrame(other.to_dict("list")), pa.table(other.to_dict("list"))]
        for form in forms:
            for ask in (model.predict, lambda form: model.score(form, y)):
                with unchanged(model), pytest.raises(ValueError, match=message):
                    ask(form)


def test_names_of_files_are_checked(model, few, files):
    X, y = few
    model.fit(pandas_frame(X), y)
    model.predict(suffice.scan(files, features=NAMES))
    with pytest.raises(ValueError, match="the same names in another order"):
        model.predict(suffice.scan(files, features=["c", "b", "a"]))
    with pytest.raises(ValueError, match=r"missing: \['a'\], unexpected: \['t'\]"):
        model.predict(suffice.scan(files, features=["b", "c", "t"]))


def test_names_go_when_a_fit_has_none(model, few):
    X, y = few
    model.fit(pandas_frame(X), y)
    for plain in (X, X.tolist(), sparse.csr_array(X)):
        model.fit(pandas_frame(X), y).fit(plain, y)
        assert not hasattr(model, "feature_names_in_")


def test_arrays_after_frames_warn_as_scikit_learn_does(model, few):
    X, y = few
    model.fit(pandas_frame(X), y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


# --- scikit-learn's ways -------------------------------------------------------------------


def test_parameters_and_clones(model, few):
    parameters = model.get_params()
    assert model.set_params(fit_intercept=False) is model
    assert model.get_params() == {**parameters, "fit_intercept": False}
    fitted = model.fit(*few)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert set(vars(copy)) == set(parameters)
    with pytest.raises(ValueError, match="Invalid parameter 'alfa'"):
        model.set_params(alfa=1)
    assert is_regressor(model)


def test_pickles(model, few):
    model.fit(*few)
    same = pickle.loads(pickle.dumps(model))
    same_bits(same, model)
    np.testing.assert_array_equal(same.predict(few[0]), model.predict(few[0]))


def test_pipelines_hand_over_frames(model, few):
    X, y = few
    pipeline = make_pipeline(StandardScaler(), model).set_output(transform="pandas")
    pipeline.fit(pandas_frame(X), y)
    assert pipeline[-1].feature_names_in_.tolist() == NAMES
    scaled = StandardScaler().fit_transform(pandas_frame(X))
    same_bits(pipeline[-1], clone(model).fit(scaled, y))
    pipeline.set_output(transform="polars").fit(pandas_frame(X), y)
    same_bits(pipeline[-1], clone(model).fit(scaled, y))


def test_searches_and_cross_validation(few):
    X, y = few
    search = GridSearchCV(Ridge(), {"alpha": [0.01, 1.0, 100.0], "fit_intercept": [True, False]})
    search.fit(pandas_frame(X), y)
    scores = [
        cross_val_score(Ridge(**parameters), X, y).mean()
        for parameters in search.cv_results_["params"]
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores, rtol=1e-12)


def test_weights_are_routed(model, few):
    X, y = few
    weight = np.random.default_rng(0).integers(0, 3, size=80).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = clone(model).set_fit_request(sample_weight=True)
        asking.set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, asking)
        pipeline.fit(X, y, sample_weight=weight)
        scaled = scaler.fit_transform(X)
        direct = clone(model).fit(scaled, y, weight)
        same_bits(pipeline[-1], direct)
        assert pipeline.score(X, y, sample_weight=weight) == direct.score(scaled, y, weight)
        refusing = make_pipeline(clone(scaler), clone(model).set_fit_request(sample_weight=False))
        same_bits(refusing.fit(X, y)[-1], clone(model).fit(scaled, y))
        with pytest.raises(Exception, match="sample_weight"):
            make_pipeline(clone(scaler), clone(model)).fit(X, y, sample_weight=weight)


def test_warm_and_cold_fits_agree(model, rows):
    """What an earlier fit left behind does not leak into the next."""
    X, y, weight = rows
    fresh = clone(model).fit(X, y)
    model.fit(X[:50, :2], y[:50]).fit(X, np.column_stack([y, y])).fit(X, y, weight).fit(X, y)
    same_bits(model, fresh)
    assert set(vars(model)) == set(vars(fresh))


ODD_QUERIES = {
    "one axis": np.ones(3),
    "three axes": np.ones((2, 3, 1)),
    "no rows": np.ones((0, 3)),
    "no columns": np.ones((2, 0)),
    "other columns": np.ones((2, 4)),
    "complex": np.ones((2, 3), complex),
    "text": np.array([["a", "b", "c"]]),
    "objects": np.array([[1, None, "x"]], dtype=object),
    "dates": np.ones((2, 3), "datetime64[s]"),
    "infinite": np.array([[1.0, np.inf, 2.0]]),
    "missing": np.array([[1.0, np.nan, 2.0]]),
}


@pytest.mark.parametrize("kind", ODD_QUERIES)
def test_arrays_that_skip_validation_are_those_it_would_not_refuse(kind):
    """Arrays of numbers go past scikit-learn's checks; every other one meets them as before."""
    X = ODD_QUERIES[kind]
    fitted = Ridge().fit(np.eye(3), np.arange(3.0))
    theirs = linear_model.Ridge().fit(np.eye(3), np.arange(3.0))
    with pytest.raises((ValueError, TypeError)) as expected:
        theirs.predict(X)
    with pytest.raises(type(expected.value)) as found:
        fitted.predict(X)
    assert str(found.value).split("\n")[0] == str(expected.value).split("\n")[0]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i8", "u2", "?"])
def test_numbers_of_any_type_and_layout_are_queries(dtype):
    fitted = Ridge().fit(np.eye(3), np.arange(3.0))
    X = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1], [1, 1, 0]], dtype)
    expected = fitted.predict(X.tolist())
    for given in (X, np.asfortranarray(X), X.repeat(2, axis=1)[:, ::2]):
        np.testing.assert_allclose(fitted.predict(given), expected, rtol=1e-6)
    with pytest.warns(UserWarning, match="valid feature names"):
        Ridge().fit(pd.DataFrame(np.eye(3), columns=NAMES), np.arange(3.0)).predict(X)


class ChecksItself(Ridge):
    """Answers with the first column, and looks at the cells on that occasion."""

    _answers_check_range = True

    def predict(self, X):
        def first(rows):
            if not (np.abs(rows) <= 1e150).all():
                raise NotFinite("too large", 0, len(rows))
            return rows[:, 0]

        return self._apply(X, first)


@pytest.mark.parametrize("cell", [np.nan, np.inf, 1e200])
def test_a_model_that_looks_for_cells_out_of_range_gives_the_same_errors(cell):
    fitted, other = (kind().fit(np.eye(3), np.arange(3.0)) for kind in (ChecksItself, Ridge))
    X = np.ones((5, 3))
    np.testing.assert_array_equal(fitted.predict(X), np.ones(5))
    X[3, 1] = cell
    messages = []
    for one in (fitted, other):
        with pytest.raises(ValueError, match="Input X contains") as error:
            one.predict(X)
        messages.append(str(error.value).replace("ChecksItself", "Ridge"))
    assert messages[0] == messages[1]


def test_a_model_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError):
        Ridge().predict(np.eye(3))
