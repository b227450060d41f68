"""Rows that are hard on sums, labels and names: what a tree makes of them, or says."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import suffice
from suffice import C45Classifier, DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier


def test_targets_in_groups_far_apart():
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 5, 5000), rng.normal(size=5000)]
    y = 1e9 * X[:, 0] + 0.01 * (X[:, 1] > 0)
    model = DecisionTreeRegressor().fit(X, y)
    assert model.get_n_leaves() == 10
    assert np.abs(model.predict(X) - y).max() < 1e-6


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("max_bins", [None, 255])
def test_the_scale_of_a_target_changes_no_split(scale, max_bins):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2))
    model = DecisionTreeRegressor(max_depth=3, max_bins=max_bins).fit(X, X[:, 0] * scale)
    assert model.get_n_leaves() == 8
    assert model.score(X, X[:, 0] * scale) > 0.95


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
def test_a_weight_that_is_small_does_not_vanish(criterion):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(2000, 3)), rng.integers(0, 2, 2000)
    weight = np.where(rng.random(2000) < 0.5, 1e20, 1.0)
    tree = DecisionTreeClassifier(criterion=criterion).fit(X, y, weight).tree_
    assert (tree.weighted_n_node_samples > 0).all()
    assert np.isfinite(tree.value).all()


def test_weights_that_are_shares():
    X, y = load_iris(return_X_y=True)
    for Model in (C45Classifier, ID3Classifier):
        whole = Model().fit(X, y)
        shares = Model().fit(X, y, sample_weight=np.full(150, 1 / 150))
        assert shares.get_n_leaves() == whole.get_n_leaves() > 1


def test_validation_labels_of_another_kind():
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(prune="reduced_error")
    text = y.astype(str)
    assert model.fit(X, text, X_val=X, y_val=text).get_n_leaves() > 1
    with pytest.raises(ValueError, match="none of the validation labels"):
        model.fit(X, text, X_val=X, y_val=y)


def test_validation_counts_may_be_all_zero():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2))
    model = DecisionTreeRegressor(criterion="poisson", prune="reduced_error")
    assert model.fit(X, rng.poisson(2, 200), X_val=X[:5], y_val=np.zeros(5)).get_n_leaves() >= 1


@pytest.mark.parametrize("Model", [DecisionTreeClassifier, C45Classifier, ID3Classifier])
def test_a_column_that_changed_its_kind(Model):
    text, numbers = pd.DataFrame({"a": ["1", "0"] * 6}), pd.DataFrame({"a": [1, 0] * 6})
    y = [1, 0] * 6
    with pytest.raises(ValueError, match="'a' holds numbers; in the fit it held text"):
        Model().fit(text, y).predict(numbers)
    if Model is ID3Classifier:
        with pytest.raises(ValueError, match="'a' holds text; in the fit it held numbers"):
            Model().fit(numbers, y).predict(text)
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        Model().fit(text[[]], y)


def test_paths_of_a_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.assign(y=y).to_csv(tmp_path / "iris.csv", index=False)
    source = suffice.scan(tmp_path / "iris.csv", target="y")
    model = DecisionTreeClassifier().fit(source)
    assert (model.decision_path(source) != model.decision_path(frame)).nnz == 0


def test_sets_take_no_more_than_they_need():
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"a": rng.choice(list("abcdefghij"), 500)})
    y = X["a"].isin(list("aceg")) ^ (rng.random(500) < 0.1)
    for leaves in (None, 5):
        tree = DecisionTreeClassifier(max_leaf_nodes=leaves).fit(X, y).tree_
        inner = tree.n_leaves - 1
        assert inner <= len(tree.category_bits) <= 2 * inner + 1
