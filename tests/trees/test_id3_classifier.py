"""ID3: the textbook's tree, a slow recursive one, unseen values, rows of any kind, bad input."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice import ID3Classifier
from suffice.trees.multiway.gain import entropy, gain, gain_ratio, gini_decrease, split_information
from tests.contract import contract
from tests.trees.multiway_samples import nested, same, tennis

# --- the textbook --------------------------------------------------------------------------


def table_of(column, label):
    return pd.crosstab(column, label).to_numpy()


def test_gains_of_play_tennis():
    X, y = tennis()
    assert entropy([9, 5]) == pytest.approx(0.940286, abs=1e-6)
    tables = [table_of(X[name], y) for name in X]
    starts = np.cumsum([0, *map(len, tables)])[:-1]
    stacked = np.concatenate(tables)
    assert gain(stacked, starts) == pytest.approx(
        [0.246750, 0.029223, 0.151836, 0.048127], abs=1e-6
    )
    assert gain_ratio(tables[0]) == pytest.approx([0.156428], abs=1e-6)
    assert split_information(tables[0]) == pytest.approx([1.577406], abs=1e-6)
    assert gini_decrease(tables[0]) == pytest.approx([0.116327], abs=1e-6)


@pytest.mark.parametrize("criterion", ["gain", "gain_ratio", "gini"])
def test_the_tree_of_play_tennis(criterion):
    X, y = tennis()
    model = ID3Classifier(criterion).fit(X, y)
    assert model.export_text().splitlines() == [
        "outlook = overcast: yes (4.0)",
        "outlook = rain:",
        "|   wind = strong: no (2.0)",
        "|   wind = weak: yes (3.0)",
        "outlook = sunny:",
        "|   humidity = high: no (3.0)",
        "|   humidity = normal: yes (2.0)",
    ]
    assert model.rules_[-1] == "if outlook = sunny and humidity = normal then yes (2.0)"
    assert (model.predict(X) == y).all()
    assert (model.get_depth(), model.get_n_leaves()) == (2, 5)
    assert model.certificate_.holds
    assert model.certificate_.training_error == 0


# --- a slow recursive ID3 ------------------------------------------------------------------


def impurity(labels, criterion):
    shares = [labels.count(label) / len(labels) for label in set(labels)]
    if criterion == "gini":
        return 1 - sum(p * p for p in shares)
    return -sum(p * math.log2(p) for p in shares)


def worth(rows, labels, column, criterion):
    parts = {}
    for row, label in zip(rows, labels, strict=True):
        parts.setdefault(row[column], []).append(label)
    if len(parts) < 2:
        return None
    shares = {value: len(part) / len(rows) for value, part in parts.items()}
    after = sum(shares[value] * impurity(part, criterion) for value, part in parts.items())
    found = impurity(labels, criterion) - after
    return (
        found / -sum(p * math.log2(p) for p in shares.values()) if "ratio" in criterion else found
    )


def slow_id3(rows, labels, columns, criterion, n_classes):
    counts = [float(labels.count(k)) for k in range(n_classes)]
    found = {j: worth(rows, labels, j, criterion) for j in columns}
    found = {j: value for j, value in found.items() if value is not None}
    if len(set(labels)) == 1 or not found:
        return (counts, None, None, {})
    best = next(j for j in sorted(found) if found[j] > max(found.values()) - 1e-9)
    below = {}
    for value in {row[best] for row in rows}:
        at = [i for i, row in enumerate(rows) if row[best] == value]
        part = [rows[i] for i in at], [labels[i] for i in at]
        below[value] = slow_id3(*part, [j for j in columns if j != best], criterion, n_classes)
    return (counts, best, None, below)


@pytest.mark.parametrize("criterion", ["gain", "gain_ratio", "gini"])
def test_a_slow_recursive_id3(criterion):
    rng = np.random.default_rng(3)
    for _ in range(25):
        n, d, k = rng.integers(1, 30), rng.integers(1, 6), rng.integers(1, 4)
        X, y = rng.integers(0, 4, (n, d)), rng.integers(0, k, n)
        model = ID3Classifier(criterion).fit(X, y)
        codes = [[model.categories_[j].tolist().index(v) for j, v in enumerate(r)] for r in X]
        labels = np.searchsorted(model.classes_, y).tolist()
        expected = slow_id3(codes, labels, range(d), criterion, len(model.classes_))
        assert same(nested(model.tree_), expected)


def test_columns_that_differ_by_nothing_but_names_tie():
    rng = np.random.default_rng(0)
    column = rng.integers(0, 3, 100)
    y = (column + rng.integers(0, 2, 100)) % 3
    for renamed in ([2, 0, 1], [1, 2, 0], [2, 1, 0]):  # sums come in another order
        X = np.column_stack([np.array(renamed)[column], column])
        assert ID3Classifier("gain_ratio").fit(X, y).tree_.column[0] == 0


# --- what it does with values --------------------------------------------------------------


def test_gain_prefers_columns_that_number_the_rows_and_the_ratio_does_not():
    y = np.arange(64) % 2
    sign = np.where(np.arange(64) < 6, 1 - y, y)  # right in 58 rows
    X = np.column_stack([np.arange(64), sign])
    assert ID3Classifier("gain", max_depth=1).fit(X, y).tree_.column[0] == 0
    assert ID3Classifier("gain_ratio", max_depth=1).fit(X, y).tree_.column[0] == 1


def test_a_value_that_a_node_has_not_seen_gets_its_classes():
    X, y = tennis()
    model = ID3Classifier().fit(X, y)
    asked = pd.DataFrame(
        [["hail", "hot", "high", "weak"], ["sunny", "hot", "damp", "weak"]], columns=X.columns
    )
    np.testing.assert_allclose(model.predict_proba(asked), [[5 / 14, 9 / 14], [3 / 5, 2 / 5]])
    assert model.predict(asked).tolist() == ["yes", "no"]
    log = model.predict_log_proba(X.iloc[:1])
    assert log.tolist() == [[0.0, -np.inf]]


def test_a_missing_cell_is_a_value_of_its_own():
    X = pd.DataFrame({"colour": ["red", None, "red", None], "size": [1.0, 2.0, np.nan, np.nan]})
    model = ID3Classifier().fit(X, ["a", "b", "a", "b"])
    assert model.export_text() == "colour = red: a (2.0)\ncolour is missing: b (2.0)"
    assert model.predict(X).tolist() == ["a", "b", "a", "b"]
    # A missing cell where there was none is a value that the node has not seen.
    numbers = ID3Classifier().fit(X[["size"]].fillna(3.0), ["a", "b", "a", "b"])
    np.testing.assert_allclose(numbers.predict_proba(X[["size"]])[2], [0.5, 0.5])


def test_limits_of_growth():
    X, y = tennis()
    assert ID3Classifier(max_depth=0).fit(X, y).export_text() == "yes (14.0/5.0)"
    assert ID3Classifier(max_depth=1).fit(X, y).get_depth() == 1
    large = ID3Classifier(min_samples_split=6).fit(X, y)
    assert large.export_text().splitlines()[1] == "outlook = rain: yes (5.0/2.0)"


def test_weights_are_repetitions():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 3, (60, 4)), rng.integers(0, 3, 60)
    weight = rng.integers(0, 4, 60)
    one = ID3Classifier(min_samples_split=5).fit(X, y, weight)
    other = ID3Classifier(min_samples_split=5).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert same(nested(one.tree_), nested(other.tree_))


def test_files_give_the_tree_of_the_frame(tmp_path):
    X, y = tennis()
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.15)
    X.assign(play=y).to_csv(tmp_path / "days.csv", index=False)
    source = suffice.scan(tmp_path / "days.csv", target="play")
    files, frame = ID3Classifier().fit(source), ID3Classifier().fit(X, y)
    assert files.export_text() == frame.export_text()
    assert files.predict(source).tolist() == frame.predict(X).tolist() == y.tolist()
    assert files.score(source) == 1.0


# --- labels, sizes and bad input -----------------------------------------------------------


@pytest.mark.parametrize(
    "labels", [[True, False], [3, -1], [2.0, 5.0], ["köln", "東京"], np.array(["a", "b"])]
)
def test_labels_of_any_kind(labels):
    model = ID3Classifier().fit([["ü"], ["ß"]], labels)
    assert model.predict([["ü"], ["ß"]]).tolist() == list(labels)


def test_one_row_one_class_constant_and_empty_columns():
    assert ID3Classifier().fit([["a"]], ["only"]).predict([["b"]]).tolist() == ["only"]
    assert ID3Classifier().fit([[1], [2]], [7, 7]).get_n_leaves() == 1
    constant = ID3Classifier().fit([["a", np.nan], ["a", np.nan]], [0, 1])
    assert constant.get_n_leaves() == 1
    assert constant.predict_proba([["a", "text"]]).tolist() == [[0.5, 0.5]]


def test_ten_thousand_categories():
    names = np.array([f"n{i}" for i in range(10_000)], dtype=object)
    y = np.arange(10_000) % 3
    model = ID3Classifier().fit(np.column_stack([names, names[::-1]]), y)
    assert model.get_n_leaves() == 10_000
    assert (model.predict(np.column_stack([names, names])) == y).all()


def test_saved_and_pickled(tmp_path):
    X, y = tennis()
    X = X.assign(weekend=[True, False] * 7)
    model = ID3Classifier().fit(X, y)
    model.save(tmp_path / "tree")
    for other in (suffice.load(tmp_path / "tree"), pickle.loads(pickle.dumps(model))):
        assert other.export_text() == model.export_text()
        assert (other.predict_proba(X) == model.predict_proba(X)).all()


def test_bad_input():
    X, y = tennis()
    with pytest.raises(ValueError, match="'criterion' parameter of ID3Classifier"):
        ID3Classifier("chance").fit(X, y)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        ID3Classifier().fit(X, [None, *y[1:]])
    with pytest.raises(ValueError, match="continuous"):
        ID3Classifier().fit(X, np.linspace(0, 1, 14))
    with pytest.raises(ValueError, match="infinity"):
        ID3Classifier().fit([[1.0], [np.inf]], [0, 1])
    with pytest.raises(ValueError, match="feature names should match"):
        ID3Classifier().fit(X, y).predict(X[X.columns[::-1]])


@contract([], kin=[ID3Classifier()], switched=[ID3Classifier("gain_ratio", max_depth=2)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
