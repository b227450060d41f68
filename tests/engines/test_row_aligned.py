"""State beside the rows, proved by a regression tree that keeps bins and node numbers there."""

from __future__ import annotations

import gc
import weakref
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.model_selection import KFold

import suffice
from suffice.engines import sweep as sweeps
from suffice.fitting.certificate import Certificate
from suffice.fitting.estimator import Estimator
from suffice.fitting.regression import Regressor
from suffice.fitting.requests import Found, Keep, Pass, Passes, Sweep
from suffice.fitting.shared_passes import RunningFit, SharedColumns, in_step, on_some_rows
from suffice.sources import ArraySource, Block, Source
from suffice.sources.derived.subset import SubsetSource
from suffice.statistics.sums import Sums

# --- the model --------------------------------------------------------------------------------

MOST_BINS = 16


@dataclass(frozen=True)
class Distinct:
    """The values of each column."""

    values: list[Any]

    @classmethod
    def of(cls, block: Block) -> Distinct:
        rows = block.X if block.weight is None else block.X[block.weight > 0]
        return cls([np.unique(column) for column in rows.T])

    @classmethod
    def merge(cls, parts: list[Distinct]) -> Distinct:
        together = zip(*(part.values for part in parts), strict=True)
        return cls([np.unique(np.concatenate(values)) for values in together])

    def edges(self) -> tuple[tuple[float, ...], ...]:
        """Between neighbouring values, or at quantiles of many."""
        shares = np.linspace(0, 1, MOST_BINS + 1)[1:-1]
        return tuple(
            tuple((v[1:] + v[:-1]) / 2 if len(v) <= MOST_BINS else np.quantile(v, shares))
            for v in self.values
        )


@dataclass(frozen=True)
class Binned:
    """The bin of every cell: equal edges, equal columns."""

    edges: tuple[tuple[float, ...], ...]

    def bins(self, X: Any) -> Any:
        pairs = zip(self.edges, X.T, strict=True)
        return np.stack([np.searchsorted(edges, x) for edges, x in pairs], axis=1).astype(np.uint8)

    def __call__(self, block: Block) -> dict[str, Any]:
        return {"bins": self.bins(block.X), "y": np.array(block.y, dtype=float)}


def moved(bins: Any, nodes: Any, tree: Any) -> Any:
    """Rows of nodes that were split, one level further down; node k has children 2k+1 and 2k+2."""
    column, threshold = tree[:, nodes]
    right = bins[np.arange(len(bins)), np.maximum(column, 0)] > threshold
    return np.where(column < 0, nodes, 2 * nodes + 1 + right)


def grown(shard: sweeps.Shard, tree: Any, level: int) -> tuple[Any, Sums]:
    """Move the rows down, and add up weight and target by node, column and bin."""
    bins, y = shard.columns["bins"], shard.columns["y"]
    w = np.ones(shard.n_rows) if shard.weight is None else shard.weight
    nodes = np.zeros(shard.n_rows, np.int64) if shard.own is None else shard.own
    nodes = moved(bins, nodes, tree)
    first, width = 2**level - 1, 2**level
    here = nodes >= first
    place = ((nodes - first)[:, None] * bins.shape[1] + np.arange(bins.shape[1])) * MOST_BINS + bins
    shape = (width, bins.shape[1], MOST_BINS)
    sums = [
        np.bincount(place[here].ravel(), np.repeat(v[here], bins.shape[1]), np.prod(shape))
        for v in (w, w * y)
    ]
    return nodes, Sums(tuple(s.reshape(shape) for s in sums))


def best_split(count: Any, total: Any) -> tuple[int, int]:
    """Column and bin of the largest Σ²/n left and right; a column of −1 where nothing is gained."""
    n, s = count.sum(axis=1)[0], total.sum(axis=1)[0]
    left_n, left_s = count.cumsum(axis=1), total.cumsum(axis=1)
    right_n, right_s = n - left_n, s - left_s
    with np.errstate(all="ignore"):
        gain = left_s**2 / left_n + right_s**2 / right_n - s**2 / n
    gain[~((left_n > 0) & (right_n > 0))] = 0.0
    column, threshold = np.unravel_index(np.argmax(gain), gain.shape)
    return (int(column), int(threshold)) if gain[column, threshold] > 1e-9 else (-1, 0)


class Tree(Regressor, Estimator):
    """A regression tree of bins, grown a level at a time."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def __init__(self, depth=3, n_jobs=None, failing=None):
        self.depth, self.n_jobs, self.failing = depth, n_jobs, failing

    def _passes(self, source: Source) -> Passes:
        edges = (yield Pass("quantiles", Distinct.of)).edges()
        shards = yield Keep("bins", Binned(edges))
        size = 2 ** (self.depth + 1) - 1
        tree, value = np.stack([np.full(size, -1), np.zeros(size, int)]), np.zeros(size)
        for level in range(self.depth + 1):
            function = partial(grown, tree=tree, level=level)
            if self.failing is not None and level == 2:
                function = self.failing
            count, total = (yield Sweep(None, shards, function)).values
            for k in np.flatnonzero(count[:, 0].sum(axis=1)):
                node = 2**level - 1 + k
                value[node] = total[k, 0].sum() / count[k, 0].sum()
                if level < self.depth:
                    tree[:, node] = best_split(count[k], total[k])
        proof = Certificate(True, "no split of a bin explains more", "levels", {})
        return Found({"tree_": tree, "value_": value, "binned_": Binned(edges)}, proof)

    def _predicted(self, X: Any) -> Any:
        bins, nodes = self.binned_.bins(X), np.zeros(len(X), int)
        for _ in range(self.depth):
            nodes = moved(bins, nodes, self.tree_)
        return self.value_[nodes]


def naive(X: Any, y: Any, w: Any, depth: int) -> tuple[Any, Any]:
    """The same tree by recursion over masks of the whole array."""
    bins = Binned(Distinct.of(Block(X, y, w, 0)).edges()).bins(X)
    size = 2 ** (depth + 1) - 1
    tree, value = np.stack([np.full(size, -1), np.zeros(size, int)]), np.zeros(size)

    def grow(node: int, rows: Any, level: int) -> None:
        value[node] = (w * y)[rows].sum() / w[rows].sum()
        best = (1e-9, -1, 0)
        for column in range(X.shape[1] if level < depth else 0):
            for threshold in range(MOST_BINS):
                left = rows & (bins[:, column] <= threshold)
                parts = [(w[p].sum(), (w * y)[p].sum()) for p in (left, rows & ~left, rows)]
                if parts[0][0] > 0 < parts[1][0]:
                    left_gain, right_gain, whole = (s**2 / n for n, s in parts)
                    best = max(best, (left_gain + right_gain - whole, -column, -threshold))
        if best[0] > 1e-9:
            column, threshold = -best[1], -best[2]
            tree[:, node] = column, threshold
            right = bins[:, column] > threshold
            grow(2 * node + 1, rows & ~right, level + 1)
            grow(2 * node + 2, rows & right, level + 1)

    grow(0, w > 0, 0)
    return tree, value


# --- the tests --------------------------------------------------------------------------------

N = 300_000  # 19 blocks of three columns: shards of two blocks


def bits(tree: Tree) -> tuple[bytes, bytes]:
    return tree.tree_.tobytes(), tree.value_.tobytes()


@pytest.fixture(scope="module")
def rows():
    """Continuous columns and target: the order of a sum shows in its bits."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=N)


@pytest.fixture(scope="module")
def whole():
    """Few values and a whole target: all sums are exact, and every fold has every value."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 12, size=(120_000, 3)).astype(float)
    return X, np.round(5 * np.sin(X[:, 0]) * X[:, 1] + 3 * rng.normal(size=len(X)))


@pytest.fixture(scope="module")
def parquet(rows, tmp_path_factory):
    """The continuous rows in three files whose row groups end anywhere."""
    X, y = rows
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    folder = tmp_path_factory.mktemp("rows")
    for i, (start, stop, group) in enumerate([(0, 999, 7), (999, 161_003, 5003), (161_003, N, N)]):
        pq.write_table(table.slice(start, stop - start), folder / f"{i}.parquet", group)
    return suffice.scan(folder, target="y")


@pytest.fixture(scope="module")
def alone(rows):
    return Tree(n_jobs=1).fit(*rows)


def test_shards_are_cut_by_the_number_of_rows(rows):
    shards = sweeps.keep(ArraySource(*rows), Binned(((0.0,),) * 3))
    assert [(s.start, s.n_rows) for s in shards] == [
        (start, min(32768, N - start)) for start in range(0, N, 32768)
    ]


def test_the_tree_is_the_textbooks(whole):
    X, y = whole
    w = np.random.default_rng(2).integers(0, 4, len(X)).astype(float)
    tree, value = naive(X, y, w, 2)
    model = Tree(depth=2).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(model.tree_, tree)
    np.testing.assert_array_equal(model.value_, value)
    assert model.score(X, y) > 0.3


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_same_bits_at_any_number_of_threads(rows, alone, n_jobs):
    assert bits(Tree(n_jobs=n_jobs).fit(*rows)) == bits(alone)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_same_bits_from_files(parquet, alone, n_jobs):
    model = Tree(n_jobs=n_jobs).fit(parquet)
    assert bits(model) == bits(alone)


def test_sweeps_without_a_name_leave_no_trace(rows, alone):
    told = []

    class Listener:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
            told.append(context.task_name)

        def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
            return False

        def teardown(self, estimator, context):
            pass

    assert alone.trace_.step == ("quantiles", "bins")
    watched = Tree().set_callbacks(Listener()).fit(*rows)
    assert watched.trace_.step == ("quantiles", "bins")
    assert told == ["fit", "pass", "pass"]


# --- fits in step -----------------------------------------------------------------------------


@pytest.fixture
def kept(monkeypatch):
    """All shards that are made, and the arrays in them, as long as these live."""
    shards, arrays = [], []

    class Watched(sweeps.Shards):
        def __init__(self, parts, source):
            super().__init__(parts, source)
            shards.append(self)
            arrays.extend(weakref.ref(a) for s in self for a in s.columns.values())

    monkeypatch.setattr(sweeps, "Shards", Watched)
    return shards, arrays


def folds(n: int) -> list[Any]:
    masks = []
    for _, test in KFold(3, shuffle=True, random_state=0).split(np.empty(n)):
        masks.append(np.ones(n, bool))
        masks[-1][test] = False
    return masks


def started(source: Source, columns: SharedColumns | None, **options: Any) -> list[RunningFit]:
    return [on_some_rows(Tree(**options), source, m, columns) for m in folds(source.count_rows())]


def are_closed(shards: list[Any]) -> bool:
    return all(not len(one) for one in shards)


@pytest.mark.parametrize("weighted", [False, True])
def test_folds_share_their_columns(whole, kept, weighted):
    X, y = whole
    weight = np.random.default_rng(3).integers(0, 3, len(X)) if weighted else None
    source = ArraySource(X, y, weight)
    with closing(SharedColumns(source)) as columns:
        fits = started(source, columns)
        readings = in_step(fits, source)
        shared, *own = kept[0]
        assert len(columns._kept) == 1
        assert len(own) == 3
        assert not are_closed([shared])
        assert are_closed(own)
    assert are_closed([shared])
    assert readings == 1
    for fit, mask in zip(fits, folds(len(X)), strict=True):
        assert fit.error is None
        assert fit.model.trace_.step == ("quantiles", "bins")
        assert bits(fit.model) == bits(Tree().fit(SubsetSource(source, mask)))


def test_shared_columns_are_the_same_objects(whole):
    source = ArraySource(*whole)
    columns = SharedColumns(source)
    binned = Binned(((0.0, 5.0),) * 3)
    mask = folds(len(whole[0]))[0]
    shared, again = columns.of(binned), columns.of(Binned(((0.0, 5.0),) * 3))
    assert shared is again
    assert shared is not columns.of(Binned(((1.0,),) * 3))
    for one, other in zip(shared, shared.among(mask), strict=True):
        assert one.columns is other.columns
        assert not one.columns["bins"].flags.writeable
        assert one.weight is None
        rows = slice(one.start, one.start + one.n_rows)
        np.testing.assert_array_equal(other.weight, mask[rows].astype(float))
    assert all(one.weight is None for one in shared.among(np.ones(len(mask), bool)))


def test_folds_with_bins_of_their_own(rows):
    """Quantiles of continuous columns differ from fold to fold: nothing is shared, all is right."""
    source = ArraySource(rows[0][:50_000], rows[1][:50_000])
    columns = SharedColumns(source)
    fits = started(source, columns, depth=2)
    in_step(fits, source)
    assert len(columns._kept) == 3
    for fit, mask in zip(fits, folds(50_000), strict=True):
        apart = Tree(depth=2).fit(SubsetSource(source, mask))
        np.testing.assert_array_equal(fit.model.tree_, apart.tree_)
        np.testing.assert_allclose(fit.model.value_, apart.value_, rtol=1e-10)


def test_cross_validation_shares_columns(whole, kept, monkeypatch):
    monkeypatch.setattr(Tree, "__module__", "suffice.trees")  # the library's own models only
    X, y = whole
    found = suffice.cross_validate(Tree(), X, y, cv=KFold(3), return_estimator=True)
    assert len(kept[0]) == 1 + 3
    assert are_closed(kept[0])
    for model, (train, test), score in zip(
        found["estimator"], KFold(3).split(X), found["test_score"], strict=True
    ):
        apart = Tree().fit(X[train], y[train])
        assert bits(model) == bits(apart)
        assert score == apart.score(X[test], y[test])


# --- failures ---------------------------------------------------------------------------------


class Failing:
    """The work of a sweep that fails in one shard."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __call__(self, shard: sweeps.Shard) -> Any:
        if shard.start:
            raise self.error("amid a sweep")
        return np.zeros(shard.n_rows), Sums((np.zeros(1),))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_a_failed_sweep_leaves_nothing_behind(whole, kept, error, n_jobs):
    model = Tree(n_jobs=n_jobs).fit(*whole)
    model.failing = Failing(error)
    before, earlier = dict(vars(model)), len(kept[0])
    with pytest.raises(error, match="amid a sweep"):
        model.fit(*whole)
    assert vars(model) == before
    assert len(kept[0]) == earlier + 1
    assert are_closed(kept[0])
    gc.collect()
    assert kept[1]
    assert all(array() is None for array in kept[1])
    model.failing = None
    assert bits(model.fit(*whole)) == (before["tree_"].tobytes(), before["value_"].tobytes())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_fit_in_step_that_fails_by_itself(whole, kept, n_jobs):
    source = ArraySource(*whole)
    with closing(SharedColumns(source, n_jobs)) as columns:
        fits = started(source, columns, n_jobs=n_jobs)
        bad = on_some_rows(
            Tree(n_jobs=n_jobs, failing=Failing(ZeroDivisionError)), source, folds(len(whole[0]))[0]
        )
        in_step([*fits, bad], source)
    assert "amid a sweep" in str(bad.error)
    assert isinstance(bad.failure, ZeroDivisionError)
    assert vars(bad.model) == vars(Tree(n_jobs=n_jobs, failing=bad.model.failing))
    assert are_closed(kept[0])
    gc.collect()
    assert all(array() is None for array in kept[1])
    for fit in fits:
        assert fit.error is None
        assert fit.model.certificate_.holds


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_among_fits_in_step(whole, kept, n_jobs):
    source, models = ArraySource(*whole), []

    def fit_all():
        with closing(SharedColumns(source, n_jobs)) as columns:
            fits = started(source, columns, n_jobs=n_jobs, failing=Failing(KeyboardInterrupt))
            models.extend(fit.model for fit in fits)
            in_step(fits, source)

    with pytest.raises(KeyboardInterrupt, match="amid a sweep"):
        fit_all()
    assert are_closed(kept[0])
    assert [vars(model) for model in models] == [vars(Tree(**m.get_params())) for m in models]
    gc.collect()
    assert all(array() is None for array in kept[1])
