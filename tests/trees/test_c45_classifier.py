"""C4.5: the book's numbers, a slow one case by case, J48's iris tree, missing values, bad input."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, cross_val_score

import suffice
from suffice import C45Classifier
from suffice.trees.multiway.gain import gain, split_information
from suffice.trees.multiway.growing import Cases, in_arrays, result_of
from suffice.trees.multiway.pruning import PessimisticPruning, expected_errors
from tests.contract import contract
from tests.trees.multiway_samples import golf, nested, same

# --- the book ------------------------------------------------------------------------------


def test_the_golf_tree():
    X, y = golf()
    model = C45Classifier().fit(X, y)
    assert model.is_categorical_.tolist() == [True, False, False, True]
    assert model.export_text().splitlines() == [
        "outlook = overcast: Play (4.0)",
        "outlook = rain:",
        "|   windy = false: Play (3.0)",
        "|   windy = true: Don't (2.0)",
        "outlook = sunny:",
        "|   humidity <= 75: Play (2.0)",
        "|   humidity > 75: Don't (3.0)",
    ]
    assert model.rules_[-2:] == [
        "if outlook = sunny and humidity <= 75 then Play (2.0)",
        "if outlook = sunny and humidity > 75 then Don't (3.0)",
    ]
    assert model.certificate_.holds


def test_the_golf_tree_with_an_unknown_outlook():
    outlook = [[3, 2], [0, 3], [2, 3]]  # sunny, overcast, rain; one row has none
    assert gain(outlook, (0,), 1.0) == pytest.approx([0.199], abs=5e-4)
    assert split_information(outlook, (0,), 1.0) == pytest.approx([1.809], abs=5e-4)
    X, y = golf(unknown=True)
    model = C45Classifier().fit(X, y)
    assert model.export_text().splitlines() == [
        "outlook = overcast: Play (3.2)",
        "outlook = rain:",
        "|   windy = false: Play (3.0)",
        "|   windy = true: Don't (2.4/0.4)",
        "outlook = sunny:",
        "|   humidity <= 75: Play (2.0)",
        "|   humidity > 75: Don't (3.4/0.4)",
    ]
    # A sunny day of unknown humidity: 2 in 5.4 went down one branch, 3.4 down the other.
    asked = pd.DataFrame([["sunny", 70, np.nan, "false"]], columns=X.columns)
    play = 2.0 / 5.4 + 3.4 / 5.4 * (0.4 / 3.4)
    np.testing.assert_allclose(model.predict_proba(asked), [[1 - play, play]], atol=0.01)


def test_expected_errors_of_the_book():
    rates = [expected_errors(n, e) / n for n, e in [(6, 0), (9, 0), (1, 0), (16, 1)]]
    assert rates == pytest.approx([0.206, 0.143, 0.750, 0.157], abs=5e-4)
    assert expected_errors(168, 1) == pytest.approx(2.610, abs=5e-4)


def test_the_subtree_that_the_book_prunes():
    spending = np.repeat(["n", "y", "u"], [6, 9, 1])[:, None]
    party = np.repeat(["democrat", "republican"], [15, 1])
    grown = C45Classifier(prune=False).fit(spending, party)
    assert grown.get_n_leaves() == 3
    assert grown.certificate_.expected_error * 16 == pytest.approx(3.273, abs=1e-3)
    pruned = C45Classifier().fit(spending, party)
    assert pruned.export_text() == "democrat (16.0/1.0)"
    assert pruned.certificate_.expected_error * 16 == pytest.approx(16 * 0.157, abs=0.01)
    assert C45Classifier(confidence=1.0).fit(spending, party).get_n_leaves() == 3


def test_iris_as_weka_has_it():
    X, y = load_iris(return_X_y=True)
    model = C45Classifier().fit(X, y)
    assert model.export_text().splitlines() == [
        "x3 <= 0.6: 0 (50.0)",
        "x3 > 0.6:",
        "|   x3 > 1.7: 2 (46.0/1.0)",
        "|   x3 <= 1.7:",
        "|   |   x2 <= 4.9: 1 (48.0/1.0)",
        "|   |   x2 > 4.9:",
        "|   |   |   x3 <= 1.5: 2 (3.0)",
        "|   |   |   x3 > 1.5: 1 (3.0/1.0)",
    ]
    # Of several bounds on a column, a rule has the narrowest.
    assert model.rules_[-1] == "if x3 <= 1.7 and x2 > 4.9 and x3 > 1.5 then 1 (3.0/1.0)"


# --- a slow C4.5, case by case -------------------------------------------------------------


def bits(weights):
    total = sum(weights)
    return sum(w * math.log2(total / w) for w in weights if w > 0)


class SlowC45:
    """Cases are triples of cells, label and weight; a missing cell is None."""

    def __init__(self, cases, categorical, n_classes, minimum=2.0, confidence=0.25, raising=True):
        self.cases, self.categorical, self.k = cases, categorical, n_classes
        self.minimum, self.confidence, self.raising = minimum, confidence, raising
        self.raised = 0
        total = sum(w for _, _, w in cases)
        values = [len({x[j] for x, _, _ in cases} - {None}) for j in range(len(categorical))]
        many = [c and v >= 0.3 * total for c, v in zip(categorical, values, strict=True)]
        self.averaged = [not m or all(many) for m in many]

    def counts(self, cases):
        return [sum((w for _, c, w in cases if c == k), 0.0) for k in range(self.k)]

    def parts(self, cases, column, threshold):
        known = [case for case in cases if case[0][column] is not None]
        lost = [case for case in cases if case[0][column] is None]
        found = {}
        for case in known:
            cell = case[0][column]
            found.setdefault(cell if threshold is None else int(cell > threshold), []).append(case)
        total = sum(w for _, _, w in known)
        for value in sorted(found):
            share = sum(w for _, _, w in found[value]) / total
            yield value, found[value] + [(x, c, w * share) for x, c, w in lost], share

    def evaluated(self, cases, column, threshold):
        known = [case for case in cases if case[0][column] is not None]
        parts = {}
        for case in known:
            cell = case[0][column]
            parts.setdefault(cell if threshold is None else cell > threshold, []).append(case)
        sizes = [sum(w for _, _, w in part) for part in parts.values()]
        if sum(size >= self.minimum - 1e-9 for size in sizes) < 2:
            return None
        total = sum(w for _, _, w in cases)
        before = bits(self.counts(known))
        after = sum(bits(self.counts(part)) for part in parts.values())
        missing = total - sum(sizes)
        return (before - after) / total, bits([*sizes, missing]) / total

    def best_cut(self, cases, column):
        known = sorted((x[column], w) for x, _, w in cases if x[column] is not None)
        weight = sum(w for _, w in known)
        beside = max(min(0.1 * weight / self.k, 25), self.minimum)
        values, tried = sorted({v for v, _ in known}), []
        for low, high in pairwise(values):
            below = sum(w for v, w in known if v <= low)
            if beside - 1e-9 <= below <= weight - beside + 1e-9:
                tried.append((*self.evaluated(cases, column, low), (low + high) / 2))
        if not tried:
            return None
        cost = math.log2(len(tried)) / sum(w for _, _, w in cases)
        most = max(g for g, _, _ in tried)
        worth, information, middle = next(t for t in tried if t[0] > most - 1e-9)
        if worth - cost <= 1e-12:
            return None
        all_values = [x[column] for x, _, _ in self.cases if x[column] is not None]
        return worth - cost, information, max(v for v in all_values if v <= middle)

    def grow(self, cases, tested=()):
        counts = self.counts(cases)
        leaf = (counts, None, None, {}), sum(counts) - max(counts)
        if sum(c > 0 for c in counts) == 1 or sum(counts) < 2 * self.minimum - 1e-9:
            return leaf
        splits = {}
        for j, is_category in enumerate(self.categorical):
            if is_category and j not in tested:
                found = self.evaluated(cases, j, None)
                splits[j] = found and (*found, None)
            elif not is_category:
                splits[j] = self.best_cut(cases, j)
        splits = {j: split for j, split in splits.items() if split is not None}
        counted = [split[0] for j, split in splits.items() if self.averaged[j]]
        if not counted:
            return leaf
        average = sum(counted) / len(counted)
        ratios = {j: g / i for j, (g, i, _) in splits.items() if g >= average - 1e-3 and i > 1e-3}
        if not ratios:
            return leaf
        best = next(j for j in sorted(ratios) if ratios[j] > max(ratios.values()) - 1e-9)
        threshold, below, errors = splits[best][2], {}, 0.0
        for value, part, _ in self.parts(cases, best, threshold):
            below[value], wrong = self.grow(part, (*tested, best))
            errors += wrong
        if errors >= leaf[1] - 1e-3:
            return leaf
        return (counts, best, threshold, below), errors

    def leaf_errors(self, cases):
        counts = self.counts(cases)
        return expected_errors(sum(counts), sum(counts) - max(counts), self.confidence)

    def estimate(self, tree, cases):
        if tree is None or not tree[3]:
            return self.leaf_errors(cases)
        parts = self.parts(cases, tree[1], tree[2])
        return sum(self.estimate(tree[3].get(value), part) for value, part, _ in parts)

    def prune(self, tree, cases):
        leaf = (self.counts(cases), None, None, {}), self.leaf_errors(cases)
        if tree is None or not tree[3]:
            return leaf
        below, errors, largest, heaviest = dict(tree[3]), 0.0, 0.0, None
        for value, part, share in self.parts(cases, tree[1], tree[2]):
            below[value], expected = self.prune(tree[3].get(value), part)
            errors += expected
            if share >= largest:
                largest, heaviest = share, value
        branch = self.estimate(below[heaviest], cases) if self.raising else math.inf
        if leaf[1] <= branch + 0.1 and leaf[1] <= errors + 0.1:
            return leaf
        if branch <= errors + 0.1:
            self.raised += 1
            return self.prune(below[heaviest], cases)
        return (leaf[0][0], tree[1], tree[2], below), errors


CATEGORICAL = [True, False, False, True]


def random_rows(rng):
    """Rows with two columns of categories, the numbers 0 to 4, and two of numbers."""
    n, k = int(rng.integers(12, 70)), int(rng.integers(2, 4))
    y = rng.integers(0, k, n)
    numbers = np.round(y[:, None] + rng.normal(scale=1.5, size=(n, 2)), 1)
    categories = (y[:, None] + rng.integers(0, 4, (n, 2)) * rng.integers(0, 2, (n, 2))) % 5.0
    X = np.column_stack([categories[:, :1], numbers, categories[:, 1:]])
    X[rng.random(X.shape) < rng.choice([0.0, 0.1, 0.3])] = np.nan
    X[:5, [0, 3]] = np.arange(5)[:, None]  # all five are there
    weight = np.ones(n) if rng.random() < 0.5 else rng.integers(1, 8, n) / 4
    return X, y, weight


def listed(X, y, weight):
    cells = [[None if math.isnan(v) else v for v in x] for x in X.tolist()]
    return list(zip(cells, np.unique(y, return_inverse=True)[1].tolist(), weight, strict=True))


def test_a_slow_c45():
    rng = np.random.default_rng(5)
    leaves = pruned_away = 0
    for trial in range(30):
        X, y, weight = random_rows(rng)
        weight = weight * max(1.0, len(y) / weight.sum())  # as a fit scales them
        options = {"raising": trial % 5 > 0, "confidence": [0.25, 0.05, 0.6][trial % 3]}
        grown = C45Classifier(categorical=CATEGORICAL, prune=False).fit(X, y, weight)
        pruned = C45Classifier(categorical=CATEGORICAL, **options).fit(X, y, weight)
        cases = listed(X, y, weight)
        slow = SlowC45(cases, CATEGORICAL, len(grown.classes_), **options)
        expected, _ = slow.grow(cases)
        assert same(nested(grown.tree_), expected)
        kept, errors = slow.prune(expected, cases)
        assert same(nested(pruned.tree_), kept)
        assert pruned.certificate_.expected_error * weight.sum() == pytest.approx(errors)
        assert grown.certificate_.holds
        assert pruned.certificate_.holds
        leaves += grown.get_n_leaves()
        pruned_away += grown.get_n_leaves() - pruned.get_n_leaves()
    assert leaves > 150  # the rows are such that there is something to grow,
    assert pruned_away > 30  # and to prune


def grown_at_random(cases, rows, weight, rng, depth=4):
    node = cases.node(rows, weight)
    column = int(rng.integers(0, 4))
    known = cases.cells[rows, column]
    known = known[~np.isnan(known)]
    if depth == 0 or not len(known) or known.min() == known.max():
        return node
    node.column = column
    if not CATEGORICAL[column]:
        node.threshold = float(rng.choice(known[known < known.max()]))
    for value, part, part_weight, _ in cases.branches(node, rows, weight):
        node.branches[value] = grown_at_random(cases, part, part_weight, rng, depth - 1)
    return node


def test_pruning_of_trees_that_nobody_would_grow():
    """Few trees that gain anything have a branch worth raising; many of these do."""
    rng = np.random.default_rng(7)
    raised = 0
    for _ in range(30):
        X, y, weight = random_rows(rng)
        k = len(np.unique(y))
        values = np.where(CATEGORICAL, 5, 0)
        cases = Cases(X, np.unique(y, return_inverse=True)[1], weight, values, k)
        root = grown_at_random(cases, cases.all_rows, weight, rng)
        slow = SlowC45(listed(X, y, weight), CATEGORICAL, k)
        expected, errors = slow.prune(nested(in_arrays(root)), slow.cases)
        pruning = PessimisticPruning(cases, 0.25, raising=True)
        kept, found = result_of(pruning.pruned(root, cases.all_rows, weight))
        assert same(nested(in_arrays(kept)), expected)
        assert found == pytest.approx(errors)
        raised += slow.raised
    assert raised > 20


# --- details -------------------------------------------------------------------------------


def test_a_threshold_is_a_value_of_the_rows_between_which_nothing_is():
    X = np.array([[1.0], [2.0], [3.0], [10.0], [11.0], [12.0]])
    assert C45Classifier().fit(X, [0, 0, 0, 1, 1, 1]).tree_.threshold[0] == 3.0
    tiny = np.nextafter(1.0, 2.0)  # no float lies between
    close = np.array([[1.0]] * 5 + [[tiny]] * 5)
    model = C45Classifier().fit(close, [0] * 5 + [1] * 5)
    assert model.tree_.threshold[0] == 1.0
    assert model.predict([[1.0], [tiny]]).tolist() == [0, 1]


def test_cuts_that_gain_less_than_their_price_are_not_made():
    # The best of 9 cuts gains 0.108 bits; log₂(9)/10 is more.
    X, y = np.arange(10.0)[:, None], [0, 1, 0, 1, 0, 1, 0, 1, 1, 1]
    assert C45Classifier(min_samples_leaf=1).fit(X, y).get_n_leaves() == 1


def test_columns_of_many_values_do_not_count_in_the_average():
    pair, row = np.arange(40) // 2, np.arange(40)
    y = pair % 2
    sign = np.where(
        row % 10 < 2, 1 - y, y
    )  # right in 4 rows of 5: 0.278 bits, and by ratio as much
    X = np.column_stack([pair, sign])  # pairs tell 1 bit of 4.32, a ratio of 0.231
    model = C45Classifier(categorical=[0, 1], prune=False).fit(X, y)
    assert model.tree_.column[0] == 1
    only = C45Classifier(categorical=[0], prune=False).fit(X[:, :1], y)
    assert only.get_n_leaves() == 20  # where all columns have many values, they count


def test_categories_that_a_node_or_the_fit_did_not_see():
    X, y = golf()
    model = C45Classifier().fit(X, y)
    rows = [["hail", 70, 70, "true"], [None, 70, 70, "true"], ["rain", 70, 70, "?"]]
    found = model.predict_proba(pd.DataFrame(rows, columns=X.columns))
    by_parts = [[5 / 14, 9 / 14], [5 / 14, 9 / 14], [2 / 5, 3 / 5]]
    np.testing.assert_allclose(found, by_parts)
    # "c" is known, but no row with u had it: the largest class of those rows.
    cells = ["ua"] * 6 + ["ub"] * 3 + ["vc"] * 8 + ["va"] * 4
    X = np.array([list(both) for both in cells], dtype=object)
    model = C45Classifier(prune=False).fit(X, np.repeat([0, 1, 2], [6, 3, 12]))
    assert model.export_text().splitlines()[0] == "x0 = v: 2 (12.0)"
    assert model.predict_proba([["u", "c"]]).tolist() == [[1.0, 0.0, 0.0]]


def test_weights_are_repetitions():
    rng = np.random.default_rng(1)
    X, y, _ = random_rows(rng)
    weight = rng.integers(0, 4, len(y))
    for prune in (True, False):
        one = C45Classifier(prune=prune).fit(X, y, weight)
        other = C45Classifier(prune=prune).fit(X.repeat(weight, axis=0), y.repeat(weight))
        assert same(nested(one.tree_), nested(other.tree_))


# --- columns of frames and files -----------------------------------------------------------


def test_frames_and_files_give_the_same_tree(tmp_path):
    X, y = golf(unknown=True)
    X = X.assign(windy=X["windy"] == "true", month=pd.Categorical([1, 2] * 7))
    X.loc[3, "humidity"] = np.nan
    model = C45Classifier().fit(X, y)
    assert model.is_categorical_.tolist() == [True, False, False, True, True]
    X.assign(play=y).to_parquet(tmp_path / "golf.parquet")
    source = suffice.scan(tmp_path / "golf.parquet", target="play")
    arrow = pa.Table.from_pandas(X)
    for other in (
        C45Classifier().fit(source),
        C45Classifier().fit(pl.from_arrow(arrow), y),
        C45Classifier().fit(arrow, y),
    ):
        assert same(nested(other.tree_), nested(model.tree_), 0.0)
    assert (model.predict(source) == model.predict(X)).all()
    np.testing.assert_array_equal(model.predict_proba(source), model.predict_proba(X))


def test_cross_validation_knows_categories_by_their_types():
    rng = np.random.default_rng(2)
    X, y, _ = random_rows(rng)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame = frame.assign(a=frame["a"].astype("Int64").astype("category"))
    folds = KFold(3)
    ours = suffice.cross_validate(C45Classifier(), frame, y, cv=folds)
    theirs = cross_val_score(C45Classifier(), frame, y, cv=folds)
    np.testing.assert_allclose(ours["test_score"], theirs)
    parts = suffice.OneVsRest(C45Classifier()).fit(frame, np.arange(len(y)) % 3).estimators_
    assert all(part.is_categorical_.tolist() == [True, False, False, False] for part in parts)


def test_saved_and_pickled(tmp_path):
    X, y = golf(unknown=True)
    model = C45Classifier(categorical=["temperature"]).fit(X, y)
    model.save(tmp_path / "tree")
    for other in (suffice.load(tmp_path / "tree"), pickle.loads(pickle.dumps(model))):
        assert other.export_text() == model.export_text()
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))


# --- sizes and bad input -------------------------------------------------------------------


def test_one_row_one_class_constant_and_empty_columns():
    assert C45Classifier().fit([[1.0]], ["only"]).predict([[2.0]]).tolist() == ["only"]
    assert C45Classifier().fit([[1.0], [2.0]], [7, 7]).get_n_leaves() == 1
    X = np.column_stack([np.full(8, 3.0), np.full(8, np.nan), np.arange(8.0)])
    y = np.repeat(["ü", "ß"], 4)
    model = C45Classifier().fit(X, y)
    assert model.export_text() == "x2 <= 3: ü (4.0)\nx2 > 3: ß (4.0)"
    assert (model.predict(X) == y).all()
    empty = C45Classifier(categorical=[0]).fit(X[:, 1:2], y)
    assert empty.export_text() == "ß (8.0/4.0)"


def test_ten_thousand_categories():
    names = np.array([f"n{i % 10_000}" for i in range(20_000)], dtype=object)[:, None]
    y = np.arange(20_000) % 10_000 % 2
    model = C45Classifier(prune=False).fit(names, y)
    assert model.get_n_leaves() == 10_000
    np.testing.assert_allclose(model.predict_proba([[None], ["n1"]]), [[0.5, 0.5], [0, 1]])


def test_bad_input():
    X, y = golf()
    with pytest.raises(ValueError, match="'confidence' parameter of C45Classifier"):
        C45Classifier(confidence=0).fit(X, y)
    with pytest.raises(ValueError, match="names a column 'sun'"):
        C45Classifier(categorical=["sun"]).fit(X, y)
    model = C45Classifier().fit(X, y)
    with pytest.raises(
        ValueError, match="column 'temperature' holds text; in the fit it held numbers"
    ):
        model.predict(X.astype(str))


@contract([], kin=[C45Classifier()], switched=[C45Classifier(prune=False)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
