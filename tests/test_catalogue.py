"""The table of models keeps its word: every ability it lists is tried, every other refused."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector, is_regressor
from sklearn.utils import all_estimators

import suffice
from suffice import catalogue
from suffice.decomposition import pca
from suffice.fitting.one_pass import OnePass
from suffice.linear.least_squares import base as least_squares
from suffice.sources import Source
from tests.contract import contract

# On rows that no boundary separates a perceptron says so, and k-means where rows are fewer than
# clusters; that is all right here.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Perceptron. not proved:sklearn.exceptions.ConvergenceWarning",
    "ignore:Number of distinct clusters:sklearn.exceptions.ConvergenceWarning",
)

ENTRIES = list(catalogue.models())
TASKS = {
    "anomalies",
    "regression",
    "classification",
    "clustering",
    "density",
    "decomposition",
    "preprocessing",
}
PUBLIC = {"preprocessing": "suffice.preprocessing"}
"""Where the models of a task are public, if not in `suffice` itself."""
ALSO_TRANSFORM = {"KMeans", "LinearDiscriminantAnalysis"}
"""Models of other tasks that have coordinates for rows."""
DRAWS_ROWS = {
    "BaggingClassifier",
    "BaggingRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
}
"""Models that draw rows: with a seed they do it alike, and a weight is a chance to be drawn."""
OF_EACH_ROW = {
    "held_out_scores_",
    "support_",
    "support_vectors_",
    "n_support_",
    "dual_coef_",
    "functional_margins_",
    "kkt_cases_",
    "shape_fit_",
}
"""Attributes with a number for each row of the fit: repeated rows have more of them."""
TO_A_TOLERANCE = {"SVC": 1e-6, "SVR": 1e-6}
"""Models that stop within a tolerance, here a narrow one, and how near two fits then are."""
DOCS = Path(__file__).resolve().parents[1] / "docs"

each = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


def those(*abilities: str, lacking: bool = False) -> Any:
    """Parametrise over the models that have these abilities, or lack them."""
    found = [e for e in ENTRIES if all(bool(getattr(e, a)) is not lacking for a in abilities)]
    return pytest.mark.parametrize("entry", found, ids=lambda entry: entry.name)


def unfitted(entry: catalogue.Entry) -> Any:
    """A model as it comes; one that draws rows with a seed, and of few trees."""
    model = entry.load()()
    if entry.name in DRAWS_ROWS:
        model.set_params(random_state=0, n_estimators=10)
    if entry.task == "clustering":
        model.set_params(random_state=0)
    if entry.name in TO_A_TOLERANCE:
        model.set_params(tol=1e-9)
    return model


def variants(entry: catalogue.Entry) -> list[Any]:
    """A model as it comes, and with each of its switches thrown."""
    model = unfitted(entry)
    switches = {name: value for name, value in model.get_params().items() if name in entry.refit}
    flipped = [{name: not on} for name, on in switches.items() if isinstance(on, bool)]
    return [model, *(entry.load()(**changed) for changed in flipped)]


@dataclasses.dataclass(frozen=True)
class Data:
    """Rows, and a target: numbers, labels or None, as the task asks for."""

    X: Any
    y: Any

    def __getitem__(self, rows: Any) -> Data:
        return Data(self.X[rows], None if self.y is None else self.y[rows])

    def __len__(self) -> int:
        return self.X.shape[0]

    def columns(self, **more: Any) -> dict[str, Any]:
        names = {f"x{j}": self.X[:, j] for j in range(self.X.shape[1])}
        target = {} if self.y is None else {"target": self.y}
        return {**names, **target, **more}

    def scan(self, folder: Path, weight: Any = None) -> Source:
        """The same rows as files."""
        more = {} if weight is None else {"weight": weight}
        options = {} if self.y is None else {"target": "target"}
        options |= {} if weight is None else {"weight": "weight"}
        return suffice.scan(write_parquet(folder, self.columns(**more)), **options)

    def fit(self, model: Any, weight: Any = None) -> Any:
        options = {} if weight is None else {"sample_weight": weight}
        return model.fit(self.X, self.y, **options)


SHAPES = {"few rows": (60, 3), "many rows": (3000, 4), "more columns than rows": (24, 60)}
USUAL_BLOCKS = pytest.param((100_000, 4), id="blocks of the usual size", marks=pytest.mark.long)
BLOCK = 512
"""Rows of a block where there are many: two runs of blocks, and a short one last."""
KEEPS_ROWS = {
    "AnomalyDetector",
    "KNeighborsClassifier",
    "KNeighborsDensity",
    "KNeighborsRegressor",
    "KernelDensity",
    "KernelPCA",
    "KernelRidge",
    "LocallyWeightedRegression",
}
"""Models that compare every query with each of their rows: fewer rows do."""
EVERY_TWO_ROWS = {"KernelPCA": 300, "KernelRidge": 600}
"""Models that compare every two rows of a fit: how many will do."""
KEPT = {name: shape for name, shape in SHAPES.items() if shape[0] > shape[1]}


def target_of(X: Any, task: str, rng: np.random.Generator) -> Any:
    """Something to learn from the rows: numbers, three labels, or nothing."""
    score = X @ rng.normal(size=X.shape[1]) + rng.normal(size=X.shape[0]) + 3.0
    if task == "regression":
        return score
    if task == "classification":
        return np.digitize(score, np.quantile(score, [0.3, 0.7])) + 4
    return None


def make_data(shape: tuple[int, int], entry: catalogue.Entry, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) * rng.uniform(0.5, 2, size=shape[1]) + rng.normal(size=shape[1])
    if entry.task == "preprocessing":
        X = X.round()  # to an encoder, every value is a category
    X = as_accepted(X, entry)
    return Data(X, target_of(X, entry.task, rng))


def as_accepted(X: Any, entry: catalogue.Entry) -> Any:
    """Cells that the model takes: some models are of counts, some of categories."""
    if unfitted(entry).__sklearn_tags__().input_tags.categorical and not sparse.issparse(X):
        X = X.round(1)
    return abs(X) if unfitted(entry).__sklearn_tags__().input_tags.positive_only else X


def shape_for(shape: tuple[int, int], entry: catalogue.Entry) -> tuple[int, int]:
    most = EVERY_TWO_ROWS.get(entry.name, 20_000 if entry.name in KEEPS_ROWS else shape[0])
    return min(shape[0], most), shape[1]


def shapes(among: dict[str, Any]) -> list[Any]:
    return [*(pytest.param(shape, id=name) for name, shape in among.items()), USUAL_BLOCKS]


def call_many(columns: int, monkeypatch: Any) -> None:
    """So many columns are not few, to models that ask."""
    for module in (pca, least_squares):
        monkeypatch.setattr(module, "FEW_COLUMNS", columns // 2)


def data_of(shape: tuple[int, int], entry: catalogue.Entry, monkeypatch: Any) -> Data:
    """Rows of a shape, treated as ten times as many are, or ten times as many columns.

    That is in several runs of blocks, and in float64 before more digits are asked for; or by way
    of the rows where there are more columns.
    """
    if shape == SHAPES["more columns than rows"]:
        call_many(shape[1], monkeypatch)
    if shape == SHAPES["many rows"]:
        monkeypatch.setattr(suffice.sources.base, "LARGEST_BLOCK", BLOCK)
        for cls in entry.load().__mro__:
            if "_cheap_exact" in vars(cls):
                monkeypatch.setattr(cls, "_cheap_exact", (0, 0))
    return make_data(shape_for(shape, entry), entry)


@pytest.fixture(params=shapes(SHAPES))
def data(request, entry, monkeypatch):
    """Every way to a solution that shapes can lead to."""
    return data_of(request.param, entry, monkeypatch)


@pytest.fixture(params=shapes(KEPT))
def tall(request, entry, monkeypatch):
    """Rows whose statistic is kept with the model."""
    return data_of(request.param, entry, monkeypatch)


@pytest.fixture
def small(entry):
    return make_data((60, 3), entry)


def write_parquet(folder: Path, columns: dict[str, Any]) -> list[Path]:
    table = pa.table(columns)
    third = table.num_rows // 3
    paths = [folder / f"{i}.parquet" for i in range(3)]
    for i, path in enumerate(paths):
        part = table.slice(i * third, third if i < 2 else None)
        pq.write_table(part, path, row_group_size=1 + third // (i + 1))
    return paths


def learned(model: Any) -> dict[str, Any]:
    """The numbers that a fit found, in arrays or lists of arrays."""
    found: dict[str, Any] = {}
    for name, value in vars(model).items():
        if not name.endswith("_") or name in {"n_iter_", *OF_EACH_ROW}:
            continue
        many = isinstance(value, list | tuple)
        for i, one in enumerate(value if many else [value]):
            if isinstance(one, (float, int, np.ndarray, np.number)):
                numbers = np.asarray(one)
                if numbers.dtype.kind in "fiu":
                    found[f"{name}[{i}]" if many else name] = numbers.astype(float)
    return found


def applied(model: Any, rows: Any) -> Any:
    """What a fitted model makes of rows, in numbers."""
    if is_classifier(model):
        if not hasattr(model, "predict_proba"):
            return model.decision_function(rows)
        return model.predict_proba(rows)
    if not is_regressor(model) and not hasattr(model, "transform"):
        return model.score_samples(rows)
    out = model.predict(rows) if is_regressor(model) else model.transform(rows)
    if isinstance(out, Source):
        out = np.concatenate([dense(piece.load().X) for piece in out.pieces()])
    return dense(out)


def dense(rows: Any) -> Any:
    if not sparse.issparse(rows):
        return np.asarray(rows)
    # Not by its own method, which a test may guard.
    entries = sparse.coo_array(rows)
    table = np.zeros(entries.shape)
    table[entries.coords] = entries.data
    return table


def same_bits(one: Any, other: Any) -> None:
    ours, theirs = learned(one), learned(other)
    assert ours.keys() == theirs.keys()
    assert ours
    for name, value in ours.items():
        assert value.tobytes() == theirs[name].tobytes(), name
    assert one.certificate_ == other.certificate_


def close(one: Any, other: Any, tolerance: float) -> None:
    """Every learned number, relative to the largest of its array; not those of single rows."""
    ours, theirs = learned(one), learned(other)
    tolerance = max(tolerance, TO_A_TOLERANCE.get(type(one).__name__, 0.0))
    for found in (ours, theirs):
        found.pop("labels_", None)
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        scale = np.nanmax(np.abs(value), initial=0.0)
        np.testing.assert_allclose(ours[name], value, rtol=0, atol=tolerance * scale, err_msg=name)


# --- the table -----------------------------------------------------------------------------


def test_names_are_unique():
    names = [entry.name for entry in ENTRIES]
    assert names
    assert len(set(names)) == len(names)


def takes_models(cls: type) -> bool:
    """Whether a class is made of other models: it cannot be made of nothing."""
    parameters = inspect.signature(cls).parameters.values()
    return any(parameter.default is parameter.empty for parameter in parameters)


def public(task: str) -> Any:
    return importlib.import_module(PUBLIC.get(task, "suffice"))


def test_every_public_estimator_is_listed_and_every_model_is_public():
    """Searches over models are no models themselves."""
    estimators = set()
    for module in {public(entry.task) for entry in ENTRIES}:
        for name in module.__all__:
            thing = getattr(module, name)
            is_model = inspect.isclass(thing) and issubclass(thing, BaseEstimator)
            if is_model and not takes_models(thing) and not name.endswith("CV"):
                estimators.add(name)
    assert estimators == {entry.name for entry in ENTRIES}


@each
def test_entries_lead_to_their_class(entry):
    found = entry.load()
    assert found is getattr(public(entry.task), entry.name)
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
    model = unfitted(entry)
    assert set(theirs().get_params()) <= set(model.get_params())


@each
def test_tasks(entry):
    model = unfitted(entry)
    assert entry.task in TASKS
    assert is_outlier_detector(model) == (entry.task == "anomalies")
    assert is_regressor(model) == (entry.task == "regression")
    assert is_classifier(model) == (entry.task == "classification")
    transforms = entry.task in {"decomposition", "preprocessing"}
    assert hasattr(model, "transform") == (transforms or entry.name in ALSO_TRANSFORM)
    learns_a_target = entry.task in {"regression", "classification"}
    assert model.__sklearn_tags__().target_tags.required == learns_a_target


# --- scikit-learn's own contract -----------------------------------------------------------


OTHER_OUTPUT = {"add_indicator", "sparse_output", "with_mean"}
"""Switches that change what a model accepts or the shape of what it gives."""


def switches(thrown: bool) -> list[Any]:
    """The models with a switch thrown that is, or is not, one of those."""
    return [
        model
        for entry in ENTRIES
        for model in variants(entry)[1:]
        if thrown
        == any(
            getattr(model, name) != getattr(unfitted(entry), name)
            for name in OTHER_OUTPUT & set(entry.refit)
        )
    ]


FAMILIES = {(entry.module.rpartition(".")[0], entry.task): entry for entry in reversed(ENTRIES)}
"""One model, the first, of each folder and task: its kin share most of its door."""


def excused(model: Any) -> dict[str, str]:
    """Checks that a model should fail."""
    if type(model).__name__ == "AnomalyDetector":
        reason = "rows of the fit are judged by held-out densities: see tests/ensembles"
        return dict.fromkeys(("check_outliers_train", "check_outliers_fit_predict"), reason)
    # The extremely randomised classifier has all rows, and draws the same cuts on the check's data.
    draws = DRAWS_ROWS - {"ExtraTreesClassifier"} | {"KMeans"}
    if type(model).__name__ not in draws:
        return {}
    checks = ["check_sample_weight_equivalence_on_dense_data"]
    if type(model).__name__ in {"KMeans", "BaggingRegressor"}:
        checks += ["check_sample_weight_equivalence_on_sparse_data"]
    return dict.fromkeys(checks, "other rows, other draws")


@contract(
    [unfitted(entry) for entry in FAMILIES.values()],
    kin=[unfitted(entry) for entry in ENTRIES if entry not in FAMILIES.values()]
    + switches(thrown=True),
    switched=switches(thrown=False),
    excused=excused,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@each
def test_tags_agree_with_the_table(entry):
    tags = unfitted(entry).__sklearn_tags__()
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
                fits.append(data.fit(copy.deepcopy(model)))
        same_bits(fits[1], fits[0])
        same_bits(fits[2], fits[0])


# --- stream --------------------------------------------------------------------------------


@those("stream")
def test_files_give_the_bits_of_the_array(entry, data, tmp_path):
    source = data.scan(tmp_path)
    plain, *others = variants(entry)
    for model in others:
        same_bits(copy.deepcopy(model).fit(source), data.fit(model))
    streamed = copy.deepcopy(plain).fit(source)
    same_bits(streamed, data.fit(plain))
    if entry.name in KEEPS_ROWS:
        data = data[::10]
        source = data.scan(tmp_path)
    expected = applied(plain, data.X)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(applied(streamed, source), expected, atol=1e-13 * scale)


@those("stream", "weights")
def test_weighted_files_give_the_bits_of_the_array(entry, data, tmp_path):
    weight = np.random.default_rng(5).uniform(0.1, 2, size=len(data))
    source = data.scan(tmp_path, weight)
    same_bits(unfitted(entry).fit(source), data.fit(unfitted(entry), weight))


@those("stream", lacking=True)
def test_files_are_refused(entry, small, tmp_path):
    with pytest.raises((TypeError, ValueError), match=entry.name):
        unfitted(entry).fit(small.scan(tmp_path))


# --- weights -------------------------------------------------------------------------------


@those("weights")
def test_a_weight_is_a_number_of_repetitions(entry, data):
    weight = np.random.default_rng(1).integers(1, 4, size=len(data))
    repeated = data[np.repeat(np.arange(len(data)), weight)]
    # The covariance of fewer rows than columns and 1e-6 on its diagonal has a condition of 1e6.
    loses = entry.name == "GaussianMixture" and data.X.shape[0] < data.X.shape[1]
    for model in variants(entry):
        weighted = data.fit(copy.deepcopy(model), weight)
        if entry.name in EVERY_TWO_ROWS:  # a coefficient for each row: repeated rows have more
            expected = applied(repeated.fit(model), data.X)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(applied(weighted, data.X), expected, atol=1e-10 * scale)
        else:
            close(weighted, repeated.fit(model), 1e-8 if loses else 1e-12)


@those("weights")
def test_equal_weights_are_no_weights(entry, data):
    plain = data.fit(unfitted(entry))
    close(data.fit(unfitted(entry), np.ones(len(data))), plain, 1e-12)


@those("weights")
@pytest.mark.parametrize("holds", ["numbers", "NaN"])
def test_rows_of_weight_zero_do_not_exist(entry, data, holds, tmp_path):
    weight = np.random.default_rng(2).integers(0, 3, size=len(data)).astype(float)
    weight[0] = 0
    full = Data(data.X.copy(), None if data.y is None else data.y.astype(float))
    rest = full[weight > 0]
    if holds == "NaN":
        full.X[weight == 0, 1] = np.nan
        if full.y is not None:
            full.y[weight == 0] = np.nan
    source = full.scan(tmp_path, weight)
    for model in variants(entry)[: 1 if holds == "numbers" else None]:
        expected = rest.fit(copy.deepcopy(model), weight[weight > 0])
        close(full.fit(model, weight), expected, 1e-12)
    expected = rest.fit(unfitted(entry), weight[weight > 0])
    if entry.sparse:
        rows = Data(sparse.csr_array(full.X), full.y)
        close(rows.fit(unfitted(entry), weight), expected, 1e-12)
    if entry.stream:
        close(unfitted(entry).fit(source), expected, 1e-12)


@those("weights", lacking=True)
def test_weights_are_refused(entry, small):
    with pytest.raises((TypeError, ValueError), match="weight"):
        small.fit(unfitted(entry), np.ones(60))


# --- sparse --------------------------------------------------------------------------------

SPARSE = {"tall": (5000, 10), "wide": (60, 300)}
SPARSE_KEPT = {"tall": (1000, 10), "wide": (60, 300)}
SPARSE_CELLS = {"tall": (17_000, 3), "wide": (300, 8000)}
"""More rows than a block has, for models that write out all cells of one."""
"""Where every query is compared with every row."""


def sparse_data(shape: tuple[int, int], entry: catalogue.Entry) -> Data:
    rng = np.random.default_rng(4)
    X = sparse.random_array(shape, density=0.1, format="csr", rng=rng, data_sampler=rng.normal)
    X = as_accepted(X, entry)
    return Data(X, target_of(X, entry.task, rng))


@pytest.fixture
def _never_made_dense(monkeypatch):
    """No matrix of a shape in SPARSE may be made dense; its blocks may."""

    def guarded(original):
        def method(self, *args, **options):
            shapes = {*SPARSE.values(), *SPARSE_KEPT.values(), *SPARSE_CELLS.values()}
            assert self.shape not in shapes, "the whole matrix was made dense"
            return original(self, *args, **options)

        return method

    for cls in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        for name in ("toarray", "todense"):
            monkeypatch.setattr(cls, name, guarded(getattr(cls, name)))


@those("sparse")
@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.usefixtures("_never_made_dense")
def test_sparse_rows_stay_sparse(entry, kind):
    shapes = SPARSE_KEPT if entry.name in KEEPS_ROWS else SPARSE
    by_cells = DRAWS_ROWS | {"DecisionTreeClassifier", "DecisionTreeRegressor"}
    shape = (SPARSE_CELLS if entry.name in by_cells else shapes)[kind]
    data = sparse_data(shape, entry)
    table = np.zeros(shape)
    entries = data.X.tocoo()
    table[entries.coords] = entries.data
    with pytest.raises(AssertionError, match="made dense"):
        data.X.toarray()  # the guard does stand
    forms = [data.X, sparse.csr_matrix(data.X), data.X.tocsc(), entries]
    for model in variants(entry):
        expected = copy.deepcopy(model).fit(table, data.y)
        outcome = applied(expected, table)
        for form in forms:
            fitted = copy.deepcopy(model).fit(form, data.y)
            close(fitted, expected, 1e-10)
            scale = np.abs(outcome[np.isfinite(outcome)]).max()  # densities may be infinite
            np.testing.assert_allclose(applied(fitted, form), outcome, atol=1e-10 * scale)
        forms = [data.X]  # of a model with a switch thrown, one will do


@those("sparse", "weights")
@pytest.mark.parametrize("shape", SPARSE.values(), ids=SPARSE)
def test_weighted_sparse_rows(entry, shape):
    data = sparse_data(shape_for(shape, entry), entry)
    weight = np.random.default_rng(1).uniform(0.5, 2, size=len(data))
    expected = Data(data.X.toarray(), data.y).fit(unfitted(entry), weight)
    close(data.fit(unfitted(entry), weight), expected, 1e-10)


@those("sparse", lacking=True)
def test_sparse_rows_are_refused(entry):
    with pytest.raises((TypeError, ValueError), match=r"[Ss]parse"):
        sparse_data((60, 30), entry).fit(unfitted(entry))


# --- missing cells -------------------------------------------------------------------------


def with_hole(data: Data, row: int, column: int) -> Data:
    X = data.X.copy()
    X[row, column] = np.nan
    return Data(X, data.y)


@those("missing", lacking=True)
def test_a_missing_cell_is_named(entry, data, tmp_path):
    row = int(0.9 * len(data))
    holed = with_hole(data, row, 2)
    by_number, by_name = rf"NaN: column 2, row {row} ", rf"NaN: column 'x2', row {row} "
    model = unfitted(entry)
    with pytest.raises(ValueError, match=by_number):
        model.fit(holed.X, holed.y)
    frame = pd.DataFrame(holed.X, columns=[f"x{j}" for j in range(holed.X.shape[1])])
    with pytest.raises(ValueError, match=by_name):
        model.fit(frame, holed.y)
    if entry.sparse:
        with pytest.raises(ValueError, match=by_number):
            model.fit(sparse.csr_array(holed.X), holed.y)
    if entry.stream:
        with pytest.raises(ValueError, match=by_name):
            model.fit(holed.scan(tmp_path))
    assert vars(model).keys() == model.get_params().keys()


@those("missing")
def test_missing_cells_are_learned_from(entry, small, tmp_path):
    holed = with_hole(small, 50, 2)
    model = holed.fit(unfitted(entry))
    for rows in (holed.X, holed.scan(tmp_path)):
        outcome = applied(model, rows)
        others = np.delete(outcome, 50, axis=0) if entry.task == "preprocessing" else outcome
        assert np.isfinite(others).all()
    if entry.stream:
        same_bits(unfitted(entry).fit(holed.scan(tmp_path)), model)
    holed.X[40, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity or a value too large: column 1, row 40 "):
        holed.fit(unfitted(entry))


# --- merge, forget, refit ------------------------------------------------------------------


def solved(model: Any, statistic: Any) -> Any:
    """A copy of a fitted model, computed again from another statistic."""
    model = copy.copy(model)
    model.certificate_ = model._solve(statistic, True).certificate
    return model


def parts(data: Data) -> list[Data]:
    n = len(data)
    return [data[: n // 2], data[n // 2 : n // 2 + n // 5], data[n // 2 + n // 5 :]]


@those("merge")
def test_merged_statistics_give_the_whole_fit(entry, tall):
    assert issubclass(entry.load(), OnePass)
    for model in variants(entry):
        fits = [part.fit(copy.deepcopy(model)) for part in parts(tall)]
        whole = tall.fit(model)
        merge = type(whole._kept()).merge
        a, b, c = (fit._kept() for fit in fits)
        for statistic in (merge([a, b, c]), merge([merge([a, b]), c]), merge([a, merge([b, c])])):
            close(solved(fits[0], statistic), whole, 1e-12)
        assert solved(fits[0], merge([a, b, c])).certificate_.holds


@those("forget")
def test_subtracted_statistics_give_the_fit_of_the_rest(entry, tall):
    for model in variants(entry):
        first, second, _ = parts(tall)
        gone = second.fit(copy.deepcopy(model))
        rest = np.ones(len(tall), bool)
        rest[len(first) : len(first) + len(second)] = False
        expected = tall[rest].fit(copy.deepcopy(model))
        whole = tall.fit(model)
        close(solved(whole, whole._kept().subtract(gone._kept())), expected, 1e-12)


@those("merge")
def test_the_kept_statistic_reproduces_the_fit(entry, tall):
    for model in variants(entry):
        fitted = tall.fit(model)
        same_bits(solved(fitted, fitted._kept()), fitted)


@those("merge")
def test_where_no_statistic_is_kept_it_says_so(entry, small, monkeypatch):
    data = data_of(SHAPES["more columns than rows"], entry, monkeypatch)
    fitted = data.fit(unfitted(entry))
    if hasattr(fitted, "statistics_"):
        pytest.skip("keeps its statistic whatever the shape")
    with pytest.raises(AttributeError, match=r"kept no statistic.*60 columns"):
        _ = fitted.statistics_
    # Nor does one of an earlier fit outlive it.
    assert not hasattr(data.fit(small.fit(unfitted(entry))), "statistics_")


@each
def test_refit_parameters_are_parameters(entry):
    assert set(entry.refit) <= set(unfitted(entry).get_params())
    assert len(set(entry.refit)) == len(entry.refit)


OTHER_VALUES = {
    "kernel": "exponential",
    "l1_ratio": 0.9,
    "priors": [0.2, 0.3, 0.5],
    "class_prior": [0.2, 0.3, 0.5],
    "n_components": 2,
    "quantile_range": (10.0, 90.0),
    **dict.fromkeys(
        ("clip", "sparse_output", "add_indicator", "keep_empty_features", "force_alpha")
    ),
    "leaf_size": None,
    "min_uniqueness": 0.99,
}
"""Another value of a parameter, where no rule makes one; None where it would not show here."""


WITH_COEFFICIENTS = {
    "Lasso": {"alpha": 0.02},
    "ElasticNet": {"alpha": 0.02},
    "MixedNB": {"kinds": {0: "categorical"}},
}
"""Parameters of models that as they come may find nothing in the rows here."""


WITHOUT_EFFECT = {
    "ComplementNB": {"fit_prior", "class_prior", "prior_alpha"},
    # As many factors as columns explain all: nothing is left to iterate or to rotate.
    "FactorAnalysis": {"tol", "max_iter", "n_init", "kaiser"},
    "KernelDensity": {"folds"},  # of a bandwidth that is chosen by them
    "LinearDiscriminantAnalysis": {"n_components", "store_covariance"},
    "MixedNB": {"beta"},  # no column here is one of events
    "QuadraticDiscriminantAnalysis": {"store_covariance"},
}
"""Parameters that these models have, and that by themselves change no prediction here."""


def another(name: str, value: Any) -> Any:
    if name in OTHER_VALUES:
        return OTHER_VALUES[name]
    if isinstance(value, tuple):
        return tuple(3 * one - 1 for one in value)
    if isinstance(value, bool):
        return not value
    return 10 * value + 1 if isinstance(value, int | float) else None


@those("refit")
def test_parameters_change_without_the_data(entry, tall):
    """From the kept statistic, the same bits as from the rows.

    Unless a fit would read the rows again for more digits: then as many as are promised.
    """
    common = WITH_COEFFICIENTS.get(entry.name, {})
    fitted = tall.fit(entry.load()(**common))
    some = tall.X[:500]
    assert set(fitted._refit_parameters) == set(entry.refit)
    for name in entry.refit:
        changed = another(name, fitted.get_params()[name])
        if changed is None or name in WITHOUT_EFFECT.get(entry.name, ()):
            continue  # a test of its own has to choose
        again = copy.deepcopy(fitted).set_params(**{name: changed})
        fresh = tall.fit(entry.load()(**{**common, name: changed}))
        assert not np.array_equal(applied(fresh, some), applied(fitted, some))
        refitted = solved(again, fitted._kept())
        if fresh._kept().precision == fitted._kept().precision:
            same_bits(refitted, fresh)
        else:
            close(refitted, fresh, 10 ** -min(refitted.certificate_.digits, 15))


# --- saving --------------------------------------------------------------------------------


@each
def test_saved_models_come_back(entry, data, tmp_path):
    path = tmp_path / "model.safetensors"
    frame = pd.DataFrame(data.X, columns=[f"x{j}" for j in range(data.X.shape[1])])
    for i, model in enumerate(variants(entry)):
        for X in (data.X,) if i else (data.X, frame):
            fitted = Data(X, data.y).fit(copy.deepcopy(model))
            fitted.save(path)
            loaded = suffice.load(path)
            assert type(loaded) is type(fitted)
            assert str(loaded.get_params()) == str(fitted.get_params())  # NaN is not NaN
            assert vars(loaded).keys() == vars(fitted).keys()
            same_bits(loaded, fitted)
            np.testing.assert_array_equal(applied(loaded, X[:500]), applied(fitted, X[:500]))
            assert loaded.certificate_ == fitted.certificate_
            assert loaded.trace_.step == fitted.trace_.step
            assert loaded.trace_.seconds == fitted.trace_.seconds
            np.testing.assert_array_equal(loaded.trace_.objective, fitted.trace_.objective)
            if hasattr(fitted, "statistics_"):
                same_bits(solved(loaded, loaded._kept()), fitted)
            if X is frame:
                assert loaded.feature_names_in_.tolist() == frame.columns.tolist()


@each
def test_saved_models_can_be_fitted_again(entry, small, tmp_path):
    small.fit(unfitted(entry)).save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    other = make_data((70, 2), entry, seed=1)
    same_bits(other.fit(loaded), other.fit(unfitted(entry)))


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
def test_collections_of_a_cluster_are_refused(entry, small):
    """Rather than gathered here without a word."""
    with pytest.raises(TypeError, match=r"of type Array; accepted are.*scan\(path\)"):
        unfitted(entry).fit(Array(small.X), small.y)
    with pytest.raises(TypeError, match="accepted are"):
        applied(small.fit(unfitted(entry)), Array(small.X))
