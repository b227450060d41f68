"""Engines other than threads: what they are asked for, and what they are given."""

from __future__ import annotations

import importlib
import multiprocessing
import pkgutil
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import suffice
from suffice.engines.gather import gather
from suffice.engines.sweep import keep, sweep
from suffice.engines.threads import Threads
from suffice.fitting.shared_passes import in_step, on_some_rows
from suffice.sources import ArraySource, Source, SparseSource, scan
from suffice.sources.derived.long_blocks import LongBlocks
from suffice.sources.derived.mapped import MappedSource
from suffice.sources.derived.relabelled import RelabelledSource
from suffice.sources.derived.subset import SubsetSource
from tests.engines.processes import Processes, counted, first_and_target
from tests.test_catalogue import ENTRIES, applied, make_data, shape_for

HOME = Path(suffice.__file__).parent

# --- the engine of a source -------------------------------------------------------------------

DERIVED = {
    LongBlocks: lambda source: LongBlocks(source),
    MappedSource: lambda source: MappedSource(source, np.square, 3),
    RelabelledSource: lambda source: RelabelledSource(source, np.sign),
    SubsetSource: lambda source: SubsetSource(source, np.ones(source.n_rows, bool)),
}
OF_THEIR_OWN = {
    "ArraySource", "BlockAtHand", "ColumnsSource", "FileSource", "FrameSource", "OneBlock",
    "QueryBlocks", "SparseSource", "OnePiece", "WithTarget",
}  # fmt: skip
"""Sources of rows that are at hand: data of a user, or a block that a worker has loaded."""


def every_source() -> set[type[Source]]:
    for module in pkgutil.walk_packages(suffice.__path__, "suffice."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found, waiting = set(), [Source]
    while waiting:
        more = waiting.pop().__subclasses__()
        waiting += more
        found |= {cls for cls in more if cls.__module__.startswith("suffice.")}
    return found


def test_derived_sources_hand_on_the_engine():
    rest = every_source() - set(DERIVED)
    assert {cls.__name__ for cls in rest} <= OF_THEIR_OWN
    for derived in DERIVED.values():
        base = SparseSource(sparse.eye_array(3), y=[1.0, 2.0, 3.0])
        assert derived(base).engine is None
        base.engine = Threads()
        assert derived(base).engine is base.engine
        assert SubsetSource(derived(base), np.array([True, False, True])).engine is base.engine


class Recording(Threads):
    """Threads that note what they are asked for."""

    def __init__(self):
        self.verbs = []

    def in_order(self, *arguments):
        self.verbs.append("in_order")
        return super().in_order(*arguments)

    def each(self, *arguments):
        self.verbs.append("each")
        return super().each(*arguments)


@pytest.fixture
def engines_only(monkeypatch):
    """Fail where a thread is asked for outside of the engines."""
    submit = ThreadPoolExecutor.submit

    def guarded(self, *arguments, **named):
        caller = Path(sys._getframe(1).f_code.co_filename)
        assert caller.parent == HOME / "engines"
        return submit(self, *arguments, **named)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", guarded)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_model_asks_the_engine_of_its_source(entry, tmp_path, engines_only):
    rows = 2_000 if entry.name in {"SVC", "SVR"} else 20_000  # those compare every two
    data = make_data(shape_for((rows, 3), entry), entry)
    source = data.scan(tmp_path)
    source.engine = Recording()
    with suffice.config(threads=2):
        model = entry.load()().fit(source)
        assert source.engine.verbs
        queries = data[:500].scan(tmp_path)
        queries.engine = Recording()
        applied(model, queries)
        assert queries.engine.verbs or hasattr(model, "transform")  # which maps, and reads nothing


def test_threads_are_the_engines_business():
    words = ("pool(", "ThreadPoolExecutor", "threading.Thread(")
    found = [
        str(path.relative_to(HOME))
        for path in HOME.rglob("*.py")
        if path.parent != HOME / "engines" and any(word in path.read_text() for word in words)
    ]
    assert found == []


# --- other processes --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def executor():
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        yield executor


@pytest.fixture
def processes(executor):
    return Processes(executor)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 100_003
    X = rng.normal(size=(n, 4)) + np.array([0, 1, 2, 30])
    y = X @ [1.0, -2.0, 0.5, 0.1] + rng.normal(size=n)
    columns = {name: X[:, j] for j, name in enumerate("abcd")}
    return pa.table({**columns, "y": y, "label": y > 1, "w": rng.integers(0, 4, n)})


def write(table, folder):
    parts = [(0, 30, 7), (30, 49_971, 9001), (50_001, None, 1 << 20)]
    for i, (start, length, group) in enumerate(parts):
        part = table.slice(start, length)
        pq.write_table(part, folder / f"{i}.parquet", row_group_size=group)
    return folder


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    return write(table, tmp_path_factory.mktemp("rows"))


def numbers(model):
    return {
        name: value.tobytes()
        for name, value in vars(model).items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "fi"
    }


def fitted(model, source, engine=None):
    source.engine = engine
    return model.fit(source)


@pytest.mark.parametrize(
    ("model", "target", "weight"),
    [
        ("Ridge", "y", None),
        pytest.param("Ridge", "y", "w", marks=pytest.mark.long),
        pytest.param("GaussianNB", "label", None, marks=pytest.mark.long),
        ("GaussianNB", "label", "w"),
        pytest.param("LogisticRegression", "label", None, marks=pytest.mark.long),
        ("LogisticRegression", "label", "w"),
    ],
)
def test_models_from_files_have_the_same_bits(processes, folder, model, target, weight):
    def source():
        return scan(folder, target=target, weight=weight, features=list("abcd"))

    make = getattr(suffice, model)
    here, there = fitted(make(), source()), fitted(make(), source(), processes)
    assert processes.sent
    assert numbers(here) == numbers(there)
    assert numbers(here)
    assert there.trace_.step == here.trace_.step


def test_models_from_arrays_have_the_same_bits(processes, table):
    X = np.asfortranarray(np.stack([table[name].to_numpy() for name in "abcd"], axis=1))
    y = table["y"].to_numpy()
    here = suffice.Ridge().fit(ArraySource(X, y))
    there = fitted(suffice.Ridge(), ArraySource(X, y), processes)
    assert numbers(here) == numbers(there)
    assert max(map(len, processes.sent)) < 4 * 16384 * 5 * 8 + 2000  # a run's rows, not all


@pytest.mark.parametrize("column", ["b", "y"])
def test_values_that_are_not_finite_are_named_as_ever(processes, table, tmp_path, column):
    values = table[column].to_numpy().copy()
    values[70_000] = np.nan
    bad = table.set_column(table.column_names.index(column), column, pa.array(values))
    messages = []
    for engine in (None, processes):
        source = scan(write(bad, tmp_path), target="y", features=list("abcd"))
        for fit in (lambda s: suffice.Ridge().fit(s), lambda s: gather(s, "Anyone")):
            source.engine = engine
            with pytest.raises(ValueError, match=r"row 70000.*which is row 19999 of") as caught:
                fit(source)
            messages.append(str(caught.value))
    assert len(set(messages)) == 1


def test_bad_weights_are_named_as_ever(processes, table, tmp_path):
    values = table["w"].to_numpy().copy()
    values[70_000] = -1
    bad = table.set_column(table.column_names.index("w"), "w", pa.array(values))
    messages = []
    for engine in (None, processes):
        source = scan(write(bad, tmp_path), target="y", weight="w", features=list("abcd"))
        with pytest.raises(ValueError, match="Weight column 'w' holds -1") as caught:
            fitted(suffice.Ridge(), source, engine)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_fits_in_step_have_the_same_bits(processes, folder):
    source = scan(folder, target="label", weight="w", features=list("abcd"))
    masks = [np.arange(source.n_rows) % 3 != k for k in range(3)]
    models = {}
    for engine in (None, processes):
        source.engine = engine
        fits = [on_some_rows(suffice.GaussianNB(), source, mask) for mask in masks]
        assert in_step(fits, source) == 1
        models[engine] = [numbers(fit.model) for fit in fits]
    assert models[None] == models[processes]


def test_all_rows_from_processes(processes, folder, table):
    source = scan(folder, target="label", features=["d", "a"])
    source.engine = processes
    rows = gather(source, "Anyone")
    np.testing.assert_array_equal(rows.X[:, 1], table["a"].to_numpy())
    np.testing.assert_array_equal(rows.y, table["label"].to_numpy())


def test_sweeps_in_processes(processes, folder, table):
    source = scan(folder, target="y", features=list("abcd"))
    here = keep(source, first_and_target)
    source.engine = processes
    there = keep(source, first_and_target)
    for times in (1, 2):
        expected, found = sweep(here, counted).values[0], sweep(there, counted).values[0]
        assert found.tobytes() == expected.tobytes()
        assert found[0] == times * len(table)
