"""The table of models keeps its word: every ability it lists is tried, every other refused."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils import all_estimators
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import catalogue
from suffice.fitting.base import OnePass

ENTRIES = list(catalogue.models())
DOCS = Path(__file__).resolve().parents[1] / "docs"

each = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


def those(*abilities: str, lacking: bool = False) -> Any:
    """Parametrise over the models that have these abilities, or lack them."""
    found = [e for e in ENTRIES if all(bool(getattr(e, a)) is not lacking for a in abilities)]
    return pytest.mark.parametrize("entry", found, ids=lambda entry: entry.name)


def variants(entry: catalogue.Entry) -> list[Any]:
    """A model as it comes, and with each of its switches thrown."""
    model = entry.load()()
    switches = {name: value for name, value in model.get_params().items() if name in entry.refit}
    flipped = [{name: not on} for name, on in switches.items() if isinstance(on, bool)]
    return [model, *(entry.load()(**changed) for changed in flipped)]


@dataclasses.dataclass(frozen=True)
class Data:
    X: Any
    y: Any

    def __getitem__(self, rows: Any) -> Data:
        return Data(self.X[rows], self.y[rows])

    def columns(self, **more: Any) -> dict[str, Any]:
        names = {f"x{j}": self.X[:, j] for j in range(self.X.shape[1])}
        return {**names, "target": self.y, **more}


SHAPES = {"few rows": (60, 3), "many rows": (100_000, 4), "more columns than rows": (40, 200)}
KEPT = {name: shape for name, shape in SHAPES.items() if shape[0] > shape[1]}


def make_data(shape: tuple[int, int], seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) * rng.uniform(0.5, 2, size=shape[1]) + rng.normal(size=shape[1])
    return Data(X, X @ rng.normal(size=shape[1]) + rng.normal(size=shape[0]) + 3.0)


@pytest.fixture(params=SHAPES.values(), ids=SHAPES)
def data(request):
    """Every way to a solution that shapes can lead to."""
    return make_data(request.param)


@pytest.fixture(params=KEPT.values(), ids=KEPT)
def tall(request):
    """Rows whose statistic is kept with the model."""
    return make_data(request.param)


def write_parquet(folder: Path, columns: dict[str, Any]) -> list[Path]:
    table = pa.table(columns)
    third = table.num_rows // 3
    paths = [folder / f"{i}.parquet" for i in range(3)]
    for i, path in enumerate(paths):
        part = table.slice(i * third, third if i < 2 else None)
        pq.write_table(part, path, row_group_size=1 + third // (i + 1))
    return paths


def learned(model: Any) -> dict[str, Any]:
    """The numbers that a fit found."""
    return {
        name: np.asarray(value, dtype=float)
        for name, value in vars(model).items()
        if name.endswith("_") and isinstance(value, (float, int, np.ndarray, np.number))
        if np.asarray(value).dtype.kind in "fiu" and name != "n_iter_"
    }


def same_bits(one: Any, other: Any) -> None:
    ours, theirs = learned(one), learned(other)
    assert ours.keys() == theirs.keys()
    assert ours
    for name, value in ours.items():
        assert value.tobytes() == theirs[name].tobytes(), name
    assert one.certificate_ == other.certificate_


def close(one: Any, other: Any, tolerance: float) -> None:
    """Every learned number, relative to the largest of its array."""
    ours, theirs = learned(one), learned(other)
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        scale = np.abs(value).max(initial=0.0)
        np.testing.assert_allclose(ours[name], value, rtol=0, atol=tolerance * scale, err_msg=name)


# --- the table -----------------------------------------------------------------------------


def test_names_are_unique():
    names = [entry.name for entry in ENTRIES]
    assert names
    assert len(set(names)) == len(names)


def test_every_public_estimator_is_listed_and_every_model_is_public():
    public = {name: getattr(suffice, name) for name in suffice.__all__}
    estimators = {
        name
        for name, thing in public.items()
        if inspect.isclass(thing) and issubclass(thing, BaseEstimator)
    }
    assert estimators == {entry.name for entry in ENTRIES}


@each
def test_entries_lead_to_their_class(entry):
    found = entry.load()
    assert found is getattr(suffice, entry.name)
    assert found is catalogue.find(entry.name)
    assert (found.__module__, found.__name__) == (entry.module, entry.name)
    with pytest.raises(dataclasses.FrozenInstanceError):
        entry.sparse = True


def test_unknown_models():
    assert catalogue.find("Oracle") is None
    assert catalogue.find("__init__") is None


@each
def test_documentation(entry):
    page = DOCS / entry.docs
    assert page.is_file()
    assert entry.name in page.read_text("utf-8")
    assert inspect.getdoc(entry.load())
    assert entry.objective


def test_markdown_tells_everything():
    heading, rule, *lines = catalogue.as_markdown().splitlines()
    assert len(lines) == len(ENTRIES)
    names = {title: name for name, title in catalogue.TITLES.items()}
    columns = [cell.strip() for cell in heading.strip("|").split("|")]
    columns = [names.get(title, title) for title in columns]
    assert rule.count("---") == len(columns)
    for entry, line in zip(ENTRIES, lines, strict=True):
        # An objective may contain the character that separates cells only where it is escaped.
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        row = dict(zip(columns, cells, strict=True))
        assert row["model"] == f"[`{entry.name}`]({entry.docs})"
        assert row["objective"] == entry.objective
        for name in ("merge", "forget", "stream", "distribute", "weights", "missing", "sparse"):
            assert row[name] == ("yes" if getattr(entry, name) else "–")
        assert row["refit"] == (", ".join(f"`{name}`" for name in entry.refit) or "–")


@each
def test_parameters_of_scikit_learn_are_accepted(entry):
    theirs = dict(all_estimators()).get(entry.name)
    if theirs is None:
        pytest.skip("scikit-learn has no estimator of this name")
    model = entry.load()()
    assert set(theirs().get_params()) <= set(model.get_params())


@each
def test_tasks(entry):
    assert entry.task in {"regression"}
    assert is_regressor(entry.load()()) == (entry.task == "regression")


# --- scikit-learn's own contract -----------------------------------------------------------


@parametrize_with_checks([model for entry in ENTRIES for model in variants(entry)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@each
def test_tags_agree_with_the_table(entry):
    tags = entry.load()().__sklearn_tags__()
    assert tags.input_tags.sparse == entry.sparse
    assert tags.input_tags.allow_nan == entry.missing
    accepts_weights = "sample_weight" in inspect.signature(entry.load().fit).parameters
    assert accepts_weights or not entry.weights


# --- determinism ---------------------------------------------------------------------------


@each
def test_same_bits_at_any_number_of_threads(entry, data):
    for model in variants(entry):
        fits = []
        for threads in (1, 2, 4):
            with suffice.config(threads=threads):
                fits.append(copy.deepcopy(model).fit(data.X, data.y))
        same_bits(fits[1], fits[0])
        same_bits(fits[2], fits[0])


# --- stream --------------------------------------------------------------------------------


@those("stream")
def test_files_give_the_bits_of_the_array(entry, data, tmp_path):
    source = suffice.scan(write_parquet(tmp_path, data.columns()), target="target")
    for model in variants(entry):
        plain = copy.deepcopy(model).fit(data.X, data.y)
        streamed = model.fit(source)
        same_bits(streamed, plain)
        predicted = plain.predict(data.X)
        scale = np.abs(predicted).max()
        np.testing.assert_allclose(streamed.predict(source), predicted, atol=1e-13 * scale)


@those("stream", "weights")
def test_weighted_files_give_the_bits_of_the_array(entry, data, tmp_path):
    weight = np.random.default_rng(5).uniform(0.1, 2, size=len(data.y))
    paths = write_parquet(tmp_path, data.columns(weight=weight))
    source = suffice.scan(paths, target="target", weight="weight")
    same_bits(entry.load()().fit(source), entry.load()().fit(data.X, data.y, weight))


@those("stream", lacking=True)
def test_files_are_refused(entry, tmp_path):
    data = make_data((60, 3))
    source = suffice.scan(write_parquet(tmp_path, data.columns()), target="target")
    with pytest.raises((TypeError, ValueError), match=entry.name):
        entry.load()().fit(source)


# --- weights -------------------------------------------------------------------------------


@those("weights")
def test_a_weight_is_a_number_of_repetitions(entry, data):
    weight = np.random.default_rng(1).integers(1, 4, size=len(data.y))
    repeated = data[np.repeat(np.arange(len(data.y)), weight)]
    for model in variants(entry):
        weighted = copy.deepcopy(model).fit(data.X, data.y, weight)
        close(weighted, model.fit(repeated.X, repeated.y), 1e-12)


@those("weights")
def test_equal_weights_are_no_weights(entry, data):
    plain = entry.load()().fit(data.X, data.y)
    close(entry.load()().fit(data.X, data.y, np.ones(len(data.y))), plain, 1e-12)


@those("weights")
@pytest.mark.parametrize("holds", ["numbers", "NaN"])
def test_rows_of_weight_zero_do_not_exist(entry, data, holds, tmp_path):
    weight = np.random.default_rng(2).integers(0, 3, size=len(data.y)).astype(float)
    weight[0] = 0
    rest = data[weight > 0]
    full = Data(data.X.copy(), data.y.copy())
    if holds == "NaN":
        full.X[weight == 0, 1] = np.nan
        full.y[weight == 0] = np.nan
    paths = write_parquet(tmp_path, full.columns(weight=weight))
    source = suffice.scan(paths, target="target", weight="weight")
    for model in variants(entry):
        expected = copy.deepcopy(model).fit(rest.X, rest.y, weight[weight > 0])
        close(copy.deepcopy(model).fit(full.X, full.y, weight), expected, 1e-12)
        if entry.sparse:
            rows = sparse.csr_array(full.X)
            close(copy.deepcopy(model).fit(rows, full.y, weight), expected, 1e-12)
        if entry.stream:
            close(copy.deepcopy(model).fit(source), expected, 1e-12)


@those("weights", lacking=True)
def test_weights_are_refused(entry):
    data = make_data((60, 3))
    with pytest.raises((TypeError, ValueError), match="weight"):
        entry.load()().fit(data.X, data.y, sample_weight=np.ones(60))


# --- sparse --------------------------------------------------------------------------------

SPARSE = {"tall": (20_000, 30), "wide": (300, 1500)}


def sparse_data(shape: tuple[int, int]) -> Data:
    rng = np.random.default_rng(4)
    X = sparse.random_array(shape, density=0.1, format="csr", rng=rng, data_sampler=rng.normal)
    return Data(X, X @ rng.normal(size=shape[1]) + rng.normal(size=shape[0]))


@pytest.fixture
def _never_made_dense(monkeypatch):
    """No matrix of a shape in SPARSE may be made dense; its blocks may."""

    def guarded(original):
        def method(self, *args, **options):
            assert self.shape not in SPARSE.values(), "the whole matrix was made dense"
            return original(self, *args, **options)

        return method

    for cls in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        for name in ("toarray", "todense"):
            monkeypatch.setattr(cls, name, guarded(getattr(cls, name)))


@those("sparse")
@pytest.mark.parametrize("shape", SPARSE.values(), ids=SPARSE)
@pytest.mark.usefixtures("_never_made_dense")
def test_sparse_rows_stay_sparse(entry, shape):
    data = sparse_data(shape)
    table = np.zeros(shape)
    entries = data.X.tocoo()
    table[entries.coords] = entries.data
    with pytest.raises(AssertionError, match="made dense"):
        data.X.toarray()  # the guard does stand
    for model in variants(entry):
        dense = copy.deepcopy(model).fit(table, data.y)
        predicted = dense.predict(table)
        for form in (data.X, sparse.csr_matrix(data.X), data.X.tocsc(), entries):
            fitted = copy.deepcopy(model).fit(form, data.y)
            close(fitted, dense, 1e-10)
            scale = np.abs(predicted).max()
            np.testing.assert_allclose(fitted.predict(form), predicted, atol=1e-10 * scale)


@those("sparse", "weights")
@pytest.mark.parametrize("shape", SPARSE.values(), ids=SPARSE)
def test_weighted_sparse_rows(entry, shape):
    data = sparse_data(shape)
    weight = np.random.default_rng(1).uniform(0.5, 2, size=shape[0])
    dense = entry.load()().fit(data.X.toarray(), data.y, weight)
    close(entry.load()().fit(data.X, data.y, weight), dense, 1e-10)


@those("sparse", lacking=True)
def test_sparse_rows_are_refused(entry):
    data = sparse_data((60, 30))
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        entry.load()().fit(data.X, data.y)


# --- missing cells -------------------------------------------------------------------------


def with_hole(data: Data, row: int, column: int) -> Data:
    X = data.X.copy()
    X[row, column] = np.nan
    return Data(X, data.y)


@those("missing", lacking=True)
def test_a_missing_cell_is_named(entry, data, tmp_path):
    row = int(0.9 * len(data.y))
    holed = with_hole(data, row, 2)
    by_number, by_name = rf"NaN: column 2, row {row} ", rf"NaN: column 'x2', row {row} "
    model = entry.load()()
    with pytest.raises(ValueError, match=by_number):
        model.fit(holed.X, holed.y)
    frame = pd.DataFrame(holed.X, columns=[f"x{j}" for j in range(holed.X.shape[1])])
    with pytest.raises(ValueError, match=by_name):
        model.fit(frame, holed.y)
    if entry.sparse:
        with pytest.raises(ValueError, match=by_number):
            model.fit(sparse.csr_array(holed.X), holed.y)
    if entry.stream:
        source = suffice.scan(write_parquet(tmp_path, holed.columns()), target="target")
        with pytest.raises(ValueError, match=by_name):
            model.fit(source)
    assert vars(model).keys() == model.get_params().keys()


@those("missing")
def test_missing_cells_are_learned_from(entry):
    holed = with_hole(make_data((60, 3)), 50, 2)
    model = entry.load()().fit(holed.X, holed.y)
    assert np.isfinite(model.predict(holed.X)).all()


# --- merge, forget, refit ------------------------------------------------------------------


def solved(model: Any, statistic: Any) -> Any:
    """A copy of a fitted model, computed again from another statistic."""
    model = copy.copy(model)
    outcome = model._solve(statistic)
    assert outcome is not None
    model.certificate_ = outcome.certificate
    return model


def parts(data: Data) -> list[Data]:
    n = len(data.y)
    return [data[: n // 2], data[n // 2 : n // 2 + n // 5], data[n // 2 + n // 5 :]]


@those("merge")
def test_merged_statistics_give_the_whole_fit(entry, tall):
    assert issubclass(entry.load(), OnePass)
    for model in variants(entry):
        fits = [copy.deepcopy(model).fit(part.X, part.y) for part in parts(tall)]
        whole = model.fit(tall.X, tall.y)
        merge = type(whole.statistics_).merge
        a, b, c = (fit.statistics_ for fit in fits)
        for statistic in (merge([a, b, c]), merge([merge([a, b]), c]), merge([a, merge([b, c])])):
            close(solved(fits[0], statistic), whole, 1e-12)
        assert solved(fits[0], merge([a, b, c])).certificate_.holds


@those("forget")
def test_subtracted_statistics_give_the_fit_of_the_rest(entry, tall):
    for model in variants(entry):
        first, second, third = parts(tall)
        gone = copy.deepcopy(model).fit(second.X, second.y)
        rest = Data(np.r_[first.X, third.X], np.r_[first.y, third.y])
        expected = copy.deepcopy(model).fit(rest.X, rest.y)
        whole = model.fit(tall.X, tall.y)
        close(solved(whole, whole.statistics_.subtract(gone.statistics_)), expected, 1e-12)


@those("merge")
def test_the_kept_statistic_reproduces_the_fit(entry, tall):
    for model in variants(entry):
        fitted = model.fit(tall.X, tall.y)
        same_bits(solved(fitted, fitted.statistics_), fitted)


@those("merge")
def test_where_no_statistic_is_kept_it_says_so(entry):
    data = make_data(SHAPES["more columns than rows"])
    fitted = entry.load()().fit(data.X, data.y)
    assert not hasattr(fitted, "statistics_")
    with pytest.raises(AttributeError, match=r"kept no statistic.*200 columns"):
        _ = fitted.statistics_
    # Nor does one of an earlier fit outlive it.
    tall = make_data((60, 3))
    assert not hasattr(entry.load()().fit(tall.X, tall.y).fit(data.X, data.y), "statistics_")


@each
def test_refit_parameters_are_parameters(entry):
    assert set(entry.refit) <= set(entry.load()().get_params())
    assert len(set(entry.refit)) == len(entry.refit)


@those("refit")
def test_parameters_change_without_the_data(entry, tall):
    """From the kept statistic, the same bits as from the rows."""
    fitted = entry.load()().fit(tall.X, tall.y)
    for name in entry.refit:
        value = fitted.get_params()[name]
        changed = not value if isinstance(value, bool) else 10 * value + 1
        again = copy.deepcopy(fitted).set_params(**{name: changed})
        fresh = entry.load()(**{name: changed}).fit(tall.X, tall.y)
        assert not np.array_equal(fresh.predict(tall.X), fitted.predict(tall.X))
        same_bits(solved(again, fitted.statistics_), fresh)


# --- saving --------------------------------------------------------------------------------


@each
def test_saved_models_come_back(entry, data, tmp_path):
    path = tmp_path / "model.safetensors"
    frame = pd.DataFrame(data.X, columns=[f"x{j}" for j in range(data.X.shape[1])])
    for model in variants(entry):
        for X in (data.X, frame):
            fitted = copy.deepcopy(model).fit(X, data.y)
            fitted.save(path)
            loaded = suffice.load(path)
            assert type(loaded) is type(fitted)
            assert loaded.get_params() == fitted.get_params()
            assert vars(loaded).keys() == vars(fitted).keys()
            same_bits(loaded, fitted)
            np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
            assert loaded.certificate_ == fitted.certificate_
            assert loaded.trace_.step == fitted.trace_.step
            assert loaded.trace_.seconds == fitted.trace_.seconds
            np.testing.assert_array_equal(loaded.trace_.objective, fitted.trace_.objective)
            if hasattr(fitted, "statistics_"):
                same_bits(solved(loaded, loaded.statistics_), fitted)
            if X is frame:
                assert loaded.feature_names_in_.tolist() == frame.columns.tolist()


@each
def test_saved_models_can_be_fitted_again(entry, tmp_path):
    data = make_data((60, 3))
    entry.load()().fit(data.X, data.y).save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    other = make_data((70, 2), seed=1)
    same_bits(loaded.fit(other.X, other.y), entry.load()().fit(other.X, other.y))


# --- clusters ------------------------------------------------------------------------------


class Array:
    """What a cluster's array looks like from here."""

    __module__ = "dask.array.core"

    def __init__(self, values: Any) -> None:
        self.values, self.shape, self.dtype, self.ndim = values, values.shape, values.dtype, 2

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise AssertionError("the rows of a cluster were gathered")


@those("distribute", lacking=True)
def test_collections_of_a_cluster_are_refused(entry):
    """Rather than gathered here without a word."""
    data = make_data((60, 3))
    with pytest.raises(TypeError, match=r"of type Array; accepted are.*scan\(path\)"):
        entry.load()().fit(Array(data.X), data.y)
    with pytest.raises(TypeError, match="accepted are"):
        entry.load()().fit(data.X, data.y).predict(Array(data.X))
