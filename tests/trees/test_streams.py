"""Trees from streams of blocks: against scikit-learn, a search of all splits, and themselves."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import suffice
from suffice import scan
from suffice.engines.passes import reduce
from suffice.engines.sweep import keep, sweep
from suffice.fitting.certificate import Certificate
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Found, StopAsked, Sweep
from suffice.sources import as_source, base
from suffice.trees.growing import levels
from suffice.trees.growing.binned import grow_from_stream, overview_of
from suffice.trees.growing.bins import quantile_edges
from suffice.trees.growing.overview import RowSample, few_numbers, few_of_sparse
from suffice.trees.growing.settings import CRITERIA, WITHOUT_LIMIT, Settings


class StreamTree(Estimator):
    """As little of a model as drives the growth."""

    _takes_text = True

    def __init__(self, criterion, categorical=(), class_weight=None, n_jobs=1, **settings):
        self.criterion, self.categorical, self.class_weight = criterion, categorical, class_weight
        self.n_jobs, self.settings = n_jobs, settings

    def _validate_params(self):
        pass

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _passes(self, source):
        categorical = [j in self.categorical for j in range(source.n_columns)]
        code, max_bins = CRITERIA[self.criterion], self.settings.get("max_bins", 255)
        overview = yield from overview_of(source, categorical, code < 3, max_bins)
        values = {
            "max_depth": WITHOUT_LIMIT, "max_leaf_nodes": WITHOUT_LIMIT, "min_samples_split": 2,
            "min_samples_leaf": 1, "min_weight_leaf": 0.0, "min_impurity_decrease": 0.0,
            "max_features": source.n_columns, "seed": 0, **self.settings,
        }  # fmt: skip
        values.pop("max_bins", None)
        n_classes = 0 if overview.labels is None else len(overview.labels)
        settings = Settings(criterion=code, n_classes=n_classes, **values)
        grown = yield from grow_from_stream(overview, settings, self.class_weight)
        found = {"grown_": grown, "tree_": grown.tree, "overview_": overview}
        return Found(found, Certificate(True, "a tree", "histograms"))


def table(n=4000, seed=0):
    """Columns of few distinct values, some missing; a class, a number and a count to predict."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.integers(0, k, n) / d for k, d in ((40, 4), (200, 8), (7, 1), (2, 1), (90, 2))]
    )
    signal = X[:, 0] * (X[:, 2] - 3) + X[:, 1] / 4 + 4 * X[:, 3]
    X[rng.random(n) < 0.15, 0] = np.nan
    X[rng.random(n) < 0.05, 4] = np.nan
    noisy = signal + rng.normal(size=n) * 4
    return X, {
        "label": np.digitize(noisy, [-3.0, 9.0]),
        "number": noisy,
        "count": rng.poisson(np.exp(np.clip(signal / 20, -2, 2))).astype(float),
        "weight": rng.uniform(0.5, 2.0, n),
    }


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(base, "LARGEST_BLOCK", 256)
    monkeypatch.setattr(base, "CELLS_PER_BLOCK", 1)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    X, targets = table()
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    frame = pd.DataFrame(X, columns=list("abcde")).assign(**targets)
    frame.to_parquet(path)
    frame.to_csv(path.with_suffix(".csv"), index=False)
    return path


def features(path, target, weight=None):
    return scan(path, features=list("abcde"), target=target, weight=weight)


def assert_same_tree(ours, theirs, tolerance=1e-9):
    for name in ("children_left", "children_right", "feature", "n_node_samples"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    inner = ours.feature >= 0
    assert np.array_equal(ours.threshold[inner], theirs.threshold[inner])
    ways = np.asarray(theirs.missing_go_to_left, bool)
    assert np.array_equal(ours.missing_go_to_left[inner].astype(bool), ways[inner])
    for name in ("impurity", "weighted_n_node_samples", "value"):
        expected = getattr(theirs, name)
        assert np.allclose(getattr(ours, name), expected, rtol=tolerance, atol=tolerance), name


def goes_left(tree, node, column):
    """Which cells of the tested column go to the left; categories are numbers."""
    left = column <= tree.threshold[node]
    if tree.tests_categories(node):
        left = tree.categories_left(node, 512)[np.nan_to_num(column).astype(int)]
    return np.where(np.isnan(column), tree.missing_go_to_left[node] == 1, left)


def rows_of_nodes(tree, X):
    """The rows of each node."""
    rows = {0: np.arange(len(X))}
    for node in range(tree.node_count):
        if tree.children_left[node] >= 0:
            mine = rows[node]
            left = goes_left(tree, node, X[mine, tree.feature[node]])
            rows[int(tree.children_left[node])] = mine[left]
            rows[int(tree.children_right[node])] = mine[~left]
    return [rows[node] for node in range(tree.node_count)]


def assert_rows_are_counted(tree, X):
    assert [len(rows) for rows in rows_of_nodes(tree, X)] == tree.n_node_samples.tolist()


def predicted(tree, X):
    found = np.empty((len(X), tree.value.shape[2]))
    for node, rows in enumerate(rows_of_nodes(tree, X)):
        if tree.children_left[node] < 0:
            found[rows] = tree.value[node, 0]
    return found


def identical(a, b):
    return all(
        np.array_equal(getattr(a, one.name), getattr(b, one.name), equal_nan=True)
        for one in fields(a)
    )


# --- scikit-learn ----------------------------------------------------------------------------

PEERS = {
    "gini": (DecisionTreeClassifier, "label"),
    "entropy": (DecisionTreeClassifier, "label"),
    "squared_error": (DecisionTreeRegressor, "number"),
    "poisson": (DecisionTreeRegressor, "count"),
}

LIMITS = [
    {"max_depth": 5},
    {"max_depth": 9, "min_samples_leaf": 40},
    {"max_depth": 7, "min_samples_split": 100, "min_impurity_decrease": 0.001},
    {"max_leaf_nodes": 23, "min_samples_leaf": 5},
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_few_distinct_values_give_the_exact_tree(criterion, limits, weighted, file, small_blocks):
    X, targets = table()
    cls, target = PEERS[criterion]
    weight = targets["weight"] if weighted else None
    if not weighted:  # equal splits are drawn by scikit-learn, but not by our growth in memory
        cls = getattr(suffice, cls.__name__)
    peer = cls(criterion=criterion, random_state=0, **limits).fit(X, targets[target], weight)
    source = features(file, target, "weight" if weighted else None)
    model = StreamTree(criterion, **limits).fit(source)
    assert model.grown_.exact
    assert_same_tree(model.tree_, peer.tree_)
    assert_rows_are_counted(model.tree_, X)


def test_more_of_scikit_learns_trees(file, small_blocks):
    X, targets = table()
    # A least weight of leaves, and weights of classes.
    weights = np.array([3.0, 0.5, 1.0])
    given = dict(enumerate(weights))
    peer = DecisionTreeClassifier(
        class_weight=given, min_weight_fraction_leaf=0.02, random_state=0
    ).fit(X, targets["label"])
    least = 0.02 * weights[targets["label"]].sum()
    model = StreamTree("gini", class_weight=weights, min_weight_leaf=least)
    assert_same_tree(model.fit(features(file.with_suffix(".csv"), "label")).tree_, peer.tree_)
    # Poisson, without missing cells.
    X = np.nan_to_num(X)
    peer = DecisionTreeRegressor(criterion="poisson", max_depth=5, random_state=0)
    model = StreamTree("poisson", max_depth=5).fit(as_source(X, targets["count"]))
    assert_same_tree(model.tree_, peer.fit(X, targets["count"]).tree_)


def test_the_estimators_say_which_and_agree(file, small_blocks):
    binned, exact = (
        suffice.DecisionTreeClassifier(max_depth=6, random_state=0, max_bins=bins).fit(
            features(file, "label", "weight")
        )
        for bins in (255, None)
    )
    assert_same_tree(binned.tree_, exact.tree_)
    assert "histograms: every cut between two values" in binned.certificate_.path
    assert binned.trace_.step[:2] == ("overview", "bins")
    few = suffice.DecisionTreeRegressor(max_depth=6, max_bins=31).fit(features(file, "number"))
    assert "two bins, at most 31 a column" in few.certificate_.path
    assert few.certificate_.holds
    X, targets = table()
    exact = DecisionTreeRegressor(max_depth=6, random_state=0).fit(X, targets["number"])
    score = few.score(features(file, "number"))
    assert score > 0.97 * exact.score(X, targets["number"])


def test_folds_grow_the_trees_of_their_own_rows(file, small_blocks):
    source = features(file, "label")
    model = suffice.DecisionTreeClassifier(max_depth=5, random_state=0, max_bins=255)
    found = suffice.cross_validate(model, source, cv=3)
    exact = suffice.cross_validate(clone(model).set_params(max_bins=None), source, cv=3)
    assert np.array_equal(found["test_score"], exact["test_score"])


def test_classes_of_weight_zero_are_not_there(small_blocks):
    X, targets = table(1500)
    y = targets["label"]
    weights = np.array([1.0, 0.0, 1.0])
    tree = StreamTree("gini", class_weight=weights, max_depth=4).fit(as_source(X, y)).tree_
    assert tree.n_node_samples[0] == np.count_nonzero(y != 1)
    assert tree.value[:, 0, 1].max() == 0
    with pytest.raises(ValueError, match="weight zero"):
        StreamTree("gini", class_weight=np.zeros(3)).fit(as_source(X, y))


# --- all splits ------------------------------------------------------------------------------


def plain_cost(criterion, y, w, n_classes):
    """The weight of rows times their impurity."""
    total = w.sum()
    if criterion == "squared_error":
        return float(w @ (y - w @ y / total) ** 2)
    if criterion == "poisson":
        mean = w @ y / total
        logs = np.log(np.where(y > 0, y, 1) / mean) if mean > 0 else y
        return float(w @ (y * logs)) if mean > 0 else math.inf
    shares = np.bincount(y, w, n_classes) / total
    if criterion == "gini":
        return total * float(1 - shares @ shares)
    if criterion == "entropy":
        return total * float(-sum(p * math.log2(p) for p in shares if p > 0))
    return total * float(1 - shares.max())


def ways(column, categorical):
    """Rows that go to the left, for all splits of a column."""
    missing = np.isnan(column)
    values = np.unique(column[~missing])
    if categorical:
        sets = [[v for k, v in enumerate(values) if s >> k & 1] for s in range(1 << len(values))]
        known = [np.isin(column, one) for one in sets]
    else:
        known = [column <= v for v in values]
    for left in known:
        for side in (left, left | missing):
            if 0 < side.sum() < len(side):
                yield side


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["misclassification", *PEERS])
def test_every_split_is_the_best_of_all(criterion, weighted, small_blocks):
    X, targets = table(700, seed=3)
    X[:, 0] = np.round(X[:, 0])
    X[:, 1] = np.round(X[:, 1] / 4)
    target = PEERS.get(criterion, (None, "label"))[1]
    y, categorical = targets[target], (0, 2)
    X[:, 0] = np.where(np.isnan(X[:, 0]), np.nan, X[:, 0] % 6)
    w = targets["weight"] if weighted else np.ones(700)
    model = StreamTree(criterion, categorical, max_depth=4, min_samples_leaf=3).fit(X, y, w)
    tree, codes = model.tree_, X.copy()
    for j in categorical:
        there = ~np.isnan(X[:, j])
        codes[there, j] = np.searchsorted(model.grown_.categories[j], X[there, j])
    for node, mine in enumerate(rows_of_nodes(tree, codes)):
        assert tree.n_node_samples[node] == len(mine)
        if tree.children_left[node] < 0:
            continue
        costs = []
        for j in range(5):
            for left in ways(codes[mine, j], j in categorical):
                if min(left.sum(), (~left).sum()) >= 3:
                    sides = (mine[left], mine[~left])
                    costs.append(sum(plain_cost(criterion, y[s], w[s], 3) for s in sides))
        left = goes_left(tree, node, codes[mine, tree.feature[node]])
        chosen = sum(plain_cost(criterion, y[s], w[s], 3) for s in (mine[left], mine[~left]))
        assert chosen == pytest.approx(min(costs), rel=1e-9, abs=1e-7)
    assert tree.node_count > 8
    assert any(map(tree.tests_categories, range(tree.node_count)))


# --- the same tree, however it is grown --------------------------------------------------------


@pytest.mark.parametrize(("criterion", "target"), [("gini", "label"), ("squared_error", "number")])
def test_any_threads_blocks_and_batches_give_the_same_bits(criterion, target, file, monkeypatch):
    options = {"min_samples_leaf": 2, "max_features": 3, "seed": 5}
    whole = StreamTree(criterion, **options).fit(features(file, target, "weight")).tree_
    assert whole.node_count > 300
    monkeypatch.setattr(base, "LARGEST_BLOCK", 256)
    monkeypatch.setattr(base, "CELLS_PER_BLOCK", 1)
    for changes in (
        {},
        {"FEW_ROWS": 0},
        {"FEW_ROWS": 300, "ROWS_COPIED": 500},
        {"FEW_ROWS": 0, "CELLS_KEPT": 0},
        {"FEW_ROWS": 200, "CELLS_AT_ONCE": 1},
    ):
        with monkeypatch.context() as patch:
            for name, value in changes.items():
                patch.setattr(levels, name, value)
            model = StreamTree(criterion, n_jobs=3, **options)
            assert identical(model.fit(features(file, target, "weight")).tree_, whole), changes
    other = StreamTree(criterion, **{**options, "seed": 6}).fit(features(file, target, "weight"))
    assert not np.array_equal(other.tree_.feature, whole.feature)


def test_rows_of_weight_zero_do_not_exist(small_blocks):
    X, targets = table(2000)
    there = np.random.default_rng(1).random(2000) < 0.7
    y = targets["label"].astype(float)
    y[~there] = np.nan
    X[~there, 1] = np.inf
    source = as_source(X, np.where(there, y, 77), there.astype(float))
    model = StreamTree("gini", max_depth=6).fit(source)
    alone = StreamTree("gini", max_depth=6).fit(as_source(X[there], targets["label"][there]))
    assert identical(model.tree_, alone.tree_)
    assert model.overview_.alike


def test_a_weight_of_two_is_the_row_twice(small_blocks):
    X, targets = table(1500)
    weight = np.where(np.arange(1500) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(1500), weight.astype(int))
    options = {"max_depth": 5}
    model = StreamTree("squared_error", **options).fit(X, targets["number"], weight)
    other = StreamTree("squared_error", **options).fit(X[twice], targets["number"][twice])
    assert np.array_equal(model.tree_.feature, other.tree_.feature)
    assert np.array_equal(model.tree_.threshold, other.tree_.threshold)


def test_a_wish_to_stop_leaves_a_whole_tree(small_blocks):
    X, targets = table(2000)
    source = as_source(X, targets["label"])
    method = StreamTree("gini", max_depth=8, max_leaf_nodes=50)._passes(source)
    asked = method.send(reduce(source, next(method).summarize))
    asked = method.send(keep(source, asked.prepare))
    for _ in range(7):
        assert isinstance(asked, Sweep)
        asked = method.send(sweep(asked.shards, asked.function))
    with pytest.raises(StopIteration) as end:
        method.throw(StopAsked())
    tree = end.value.value.attributes["tree_"]
    assert 3 <= tree.node_count < 20
    tree._check_loaded()
    assert_rows_are_counted(tree, X)


# --- many values -------------------------------------------------------------------------------


@pytest.mark.compiled
def test_quantiles_come_near_the_exact_tree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24_000, 6)) ** 3
    X[rng.random(X.shape) < 0.3] = 0.0
    signal = np.sign(X[:, 0]) * np.abs(X[:, 1]) ** (1 / 3) + np.tanh(X[:, 2])
    y = signal + rng.normal(size=len(X)) * 0.3
    train, test = slice(12_000), slice(12_000, None)
    exact = DecisionTreeRegressor(min_samples_leaf=20, random_state=0).fit(X[train], y[train])
    model = StreamTree("squared_error", min_samples_leaf=20).fit(as_source(X[train], y[train]))
    assert not model.grown_.exact
    errors = [np.mean((one - y[test]) ** 2) for one in (
        exact.predict(X[test]), predicted(model.tree_, X[test])[:, 0])]  # fmt: skip
    assert errors[1] < 1.02 * errors[0]
    assert_rows_are_counted(model.tree_, X[train])
    coarse = StreamTree("squared_error", max_bins=2).fit(as_source(X[train], y[train]))
    assert coarse.tree_.n_leaves <= 2**6


def test_quantile_edges():
    rng = np.random.default_rng(0)
    even = quantile_edges(rng.random(100_000), 255)
    assert len(even) == 254
    assert np.diff([0, *even, 1]).max() < 1.2 / 255
    # Of skewed numbers no bin has more than its share of fewer quantiles, and the outer ones end
    # with single numbers.
    skewed = np.exp(3 * rng.normal(size=100_000))
    edges = quantile_edges(skewed, 255)
    assert len(edges) == 254
    assert np.diff([0, *np.searchsorted(np.sort(skewed), edges), 100_000]).max() < 1.1 / 192 * 1e5
    assert (skewed < edges[0]).sum() == 1
    assert (skewed > edges[-1]).sum() == 1
    # Half of the numbers are 0: that is one bin, and the others have nearly all of the rest.
    half = quantile_edges(np.where(rng.random(100_000) < 0.5, 0.0, rng.normal(size=100_000)), 255)
    assert 240 < len(half) <= 254
    below, above = half[half < 0].max(), half[half > 0].min()
    assert below > -0.03
    assert above < 0.03
    assert quantile_edges(np.array([1.0, np.nan, 2.0, 2.0]), 255).tolist() == [1.5]
    assert quantile_edges(np.full(3, np.nan), 255).tolist() == []


def test_values_of_sparse_rows_are_those_of_their_cells():
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (40, 6)) * (rng.random((40, 6)) < [0, 0.1, 0.5, 0.9, 1, 1])
    X = X.astype(np.float64)
    X[:, 5] = rng.normal(size=40)
    X[::5, 2:4] = np.nan
    thin = sparse.csr_array(X)
    thin.data[::7] = 0.0  # stored all the same
    for found, column in zip(few_of_sparse(thin, 20), thin.toarray().T, strict=True):
        np.testing.assert_array_equal(found, few_numbers(column, 20))


@pytest.mark.parametrize("power", [1, 3, 9])
def test_bins_of_a_long_tail_lose_little_of_its_variance(power):
    """A step function of the bins can be as near to the numbers as their sums of squares say."""
    values = np.random.default_rng(0).standard_normal(50_000) ** power
    edges = quantile_edges(values, 255)
    assert len(np.unique(edges)) == 254
    place = np.searchsorted(edges, values)
    means = np.bincount(place, values) / np.bincount(place)
    assert np.var(values - means[place]) < 1e-3 * np.var(values)
    np.testing.assert_array_equal(edges, quantile_edges(np.sort(values), 255))


def test_a_sample_is_bounded_and_the_same_in_any_parts():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 64, 5000, dtype=np.uint64)
    rows = rng.normal(size=(5000, 3))
    whole = RowSample.merge([RowSample(600, 0, (bits,), (rows,))])
    assert 300 <= len(whole.bits[0]) <= 600
    for size in (1, 7, 900):
        parts = [
            RowSample.merge([RowSample(600, 0, (bits[i : i + size],), (rows[i : i + size],))])
            for i in range(0, 5000, size)
        ]
        order = rng.permutation(len(parts))
        found = RowSample.merge([parts[0]])
        found = RowSample.merge([parts[i] for i in order])
        kept = np.sort(np.concatenate(found.bits))
        assert np.array_equal(kept, np.sort(whole.bits[0]))
        assert found.zeros == whole.zeros


def test_memory_is_a_byte_a_value(small_blocks, monkeypatch):
    monkeypatch.setattr("suffice.trees.growing.overview.SAMPLED_ROWS", 500)
    monkeypatch.setattr(levels, "FEW_ROWS", 0)
    held = {}

    def watched(scheme, divisions=(), make=levels.Divide):
        inner = make(scheme, divisions)

        def divide(shard):
            own, totals = inner(shard)
            held[shard.start] = (
                shard.n_rows,
                sum(c.nbytes for c in shard.columns.values()),
                sum(getattr(own, name).nbytes for name in ("order", "weight", "moment")),
            )
            return own, totals

        return divide

    monkeypatch.setattr(levels, "Divide", watched)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 9)), rng.integers(0, 3, 6000)
    model = StreamTree("gini", max_depth=3).fit(as_source(X, y))
    assert sum(rows for rows, _, _ in held.values()) == 6000
    assert sum(columns for _, columns, _ in held.values()) == 6000 * (9 + 2)
    assert sum(own for _, _, own in held.values()) == 6000 * 4
    assert model.overview_.nbytes < 500 * (9 + 1) * 8 + 1000


# --- odd rows ------------------------------------------------------------------------------------


def test_text_and_many_categories(tmp_path, small_blocks):
    rng = np.random.default_rng(0)
    towns = np.array([f"Ort {k:03d} ß" for k in range(400)], object)
    place = rng.integers(0, 400, 6000)
    effect = rng.permutation(400) % 7
    frame = pd.DataFrame({"town": towns[place], "size": rng.normal(size=6000)})
    frame["price"] = effect[place] + (frame["size"] > 0) + rng.normal(size=6000) * 0.1
    frame.loc[rng.random(6000) < 0.02, "town"] = None
    frame.to_parquet(tmp_path / "towns.parquet")
    source = scan(tmp_path / "towns.parquet", target="price")
    model = StreamTree("squared_error", (0,), max_depth=5).fit(source)
    tree, known = model.tree_, model.grown_.categories[0]
    assert known.tolist() == sorted(towns)
    assert model.grown_.categories[1] is None
    # Sorted by their means, the towns of low prices go to the left at the root.
    assert tree.tests_categories(0)
    left = tree.categories_left(0, 400)
    means = frame.groupby("town").price.mean()[list(known)].to_numpy()
    assert means[left].max() < means[~left].min()
    codes = np.column_stack([frame["town"].map({t: k for k, t in enumerate(known)}), frame["size"]])
    found = predicted(tree, codes.astype(float))[:, 0]
    assert np.mean((found - frame.price) ** 2) < 0.1 * frame.price.var()


@pytest.mark.parametrize(("criterion", "y"), [("gini", [1]), ("squared_error", [2.5])])
def test_one_row(criterion, y):
    tree = StreamTree(criterion).fit(as_source(np.array([[1.0, np.nan]]), np.array(y))).tree_
    assert tree.node_count == 1
    assert tree.value[0, 0, 0] == (1.0 if criterion == "gini" else 2.5)


def test_nothing_to_tell_apart():
    X = np.column_stack([np.full(90, 3.0), np.full(90, np.nan), np.arange(90) % 3])
    y = (np.arange(90) % 3 == 1).astype(int)
    tree = StreamTree("gini").fit(as_source(X, y)).tree_
    assert set(tree.feature[tree.feature >= 0]) == {2}
    assert (tree.impurity[tree.is_leaf] == 0).all()
    for target, criterion in ((np.ones(90, int), "entropy"), (np.full(90, 0.1), "squared_error")):
        tree = StreamTree(criterion).fit(as_source(X, target, np.linspace(0.1, 3, 90))).tree_
        assert tree.node_count == 1
        assert tree.value[0, 0, 0] == target[0]
    assert StreamTree("gini").fit(as_source(X[:, :2], y)).tree_.node_count == 1


def test_only_missing_cells_tell():
    X = np.array([[1.0], [np.nan]] * 20)
    tree = StreamTree("gini").fit(as_source(X, np.arange(40) % 2)).tree_
    assert tree.threshold.tolist() == [np.inf, -2, -2]
    assert predicted(tree, np.array([[5.0], [np.nan]])).tolist() == [[1, 0], [0, 1]]


def test_targets_far_from_zero_keep_their_digits():
    X, targets = table(2000)
    near, far = targets["number"], targets["number"] + 1e9
    trees = [StreamTree("squared_error", max_depth=6).fit(X, y).tree_ for y in (near, far)]
    assert np.array_equal(trees[0].feature, trees[1].feature)
    assert np.allclose(trees[0].value, trees[1].value - 1e9, atol=1e-6)
    assert np.allclose(trees[0].impurity, trees[1].impurity, atol=1e-5)


def test_bad_rows_are_named(small_blocks, monkeypatch):
    X, targets = table(1000)
    with pytest.raises(ValueError, match=r"in memory.*max_bins=None"):
        StreamTree("absolute_error").fit(as_source(X, targets["number"]))
    with pytest.raises(ValueError, match="negative values are not allowed for Poisson"):
        StreamTree("poisson").fit(as_source(X, targets["number"]))
    with pytest.raises(ValueError, match="all targets are 0"):
        StreamTree("poisson").fit(as_source(X, np.zeros(1000)))
    with pytest.raises(ValueError, match="weight zero"):
        StreamTree("gini").fit(as_source(X, targets["label"], np.zeros(1000)))
    with pytest.raises(ValueError, match="Unknown label type"):
        StreamTree("gini").fit(as_source(X, targets["number"]))
    wrong = X.copy()
    wrong[700, 3] = np.inf
    with pytest.raises(ValueError, match=r"infinity.*column 3, row 700"):
        StreamTree("gini").fit(as_source(wrong, targets["label"]))
    y = targets["number"].copy()
    y[3] = np.nan
    with pytest.raises(ValueError, match=r"y contains NaN.*row 3"):
        StreamTree("squared_error").fit(as_source(X, y))
    monkeypatch.setattr("suffice.trees.growing.overview.MOST_CATEGORIES", 100)
    with pytest.raises(ValueError, match="column 1 has more than 100 categories"):
        StreamTree("gini", (1,)).fit(as_source(X, targets["label"]))
