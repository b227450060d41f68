"""Trees as text and as rules: scikit-learn's text, and conditions that choose a leaf's rows."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.tree import export_text as theirs

from suffice.trees import export_text, rules, rules_of
from suffice.trees.showing.rules import written
from suffice.trees.showing.wording import membership
from tests.trees.shown_trees import (
    COLOURS,
    Fitted,
    a_chain,
    by_hand,
    classifier,
    fitted,
    ours,
    regressor,
    with_categories,
)


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    return data.data, data.target_names[data.target]


@pytest.fixture(scope="module")
def flowers(iris):
    return ours(classifier(*iris))


# --- text ------------------------------------------------------------------------------------


@pytest.mark.parametrize("grown", [{}, {"max_depth": 3}, {"max_leaf_nodes": 6}], ids=str)
@pytest.mark.parametrize(
    "shown",
    [
        {},
        {"max_depth": 0},
        {"max_depth": 2, "spacing": 1},
        {"decimals": 0, "show_weights": True},
        {"decimals": 4, "max_depth": 100, "spacing": 5},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["classes", "weights", "values"])
def test_text_is_that_of_scikit_learn(grown, shown, kind):
    X, y = load_iris(return_X_y=True)
    weight = np.linspace(0.1, 2.0, len(y))
    if kind == "values":
        model = regressor(X[:, :3], X[:, 3], **grown)
    else:
        model = classifier(X, y, **grown)
        if kind == "weights":
            model.fit(X, y, weight)
    assert export_text(ours(model), **shown) == theirs(model, **shown)


@pytest.mark.parametrize("constructor", [list, np.array])
def test_names_of_columns_and_classes(constructor):
    X, y = [[-2, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1]], [-1, -1, -1, 1, 1, 1]
    model = classifier(X, y)
    names = {
        "feature_names": constructor(["höhe  (m)", "breite"]),
        "class_names": constructor(["猫", "犬"]),
    }
    assert export_text(ours(model), **names) == theirs(model, **names)


def test_names_of_the_fit_are_taken(iris, flowers):
    model = classifier(*iris)
    assert export_text(flowers) == theirs(model, feature_names=list(iris[0].columns))


def test_a_single_class_has_its_name():
    tree = by_hand([(-1, -1, -2, -2.0, 0, [1.0])])
    model = fitted(tree, classes=["only"])
    assert export_text(model) == "|--- class: only\n"
    assert rules(model) == "always only (100% of 10 rows)"


def test_sets_of_categories_and_missing_cells():
    assert export_text(with_categories(), missing=False).splitlines() == [
        "|--- colour in {blue, red}",
        "|   |--- class: no",
        "|--- colour in {green, yellow}",
        "|   |--- size <= 2.00",
        "|   |   |--- colour in {blue, green}",
        "|   |   |   |--- class: no",
        "|   |   |--- colour in {red, yellow}",
        "|   |   |   |--- class: yes",
        "|   |--- size >  2.00",
        "|   |   |--- size is not missing",
        "|   |   |   |--- class: yes",
        "|   |   |--- size is missing",
        "|   |   |   |--- class: no",
    ]
    lines = export_text(with_categories()).splitlines()
    tests = [line.split("--- ")[1] for line in lines if "class" not in line]
    assert tests == [
        "colour in {blue, red} or missing",
        "colour in {green, yellow}",
        "size <= 2.00",
        "colour in {blue, green}",
        "colour in {red, yellow} or missing",
        "size >  2.00 or missing",
        "size is not missing",
        "size is missing",
    ]  # fmt: skip


def test_missing_cells_are_told_where_their_way_was_learned():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [np.nan]])
    silent = ours(classifier(X[:4], [0, 1, 1, 1]))
    learned = ours(classifier(X, [0, 1, 1, 1, 1, 0]))
    assert "missing" not in export_text(silent) + rules(silent)
    assert "missing" in export_text(silent, missing=True)
    assert "missing" in rules(silent, missing=True)
    assert "feature_0 <= 1.50 or missing\n" in export_text(learned)
    assert "if (feature_0 ≤ 1.5 or missing) then 0 (100% of 2 rows)" in rules(learned)
    assert "missing" not in rules(learned, missing=False)
    alone = ours(classifier(X, [1, 1, 1, 1, 1, 0]))
    assert "feature_0 is missing" in export_text(alone, missing=False)


def test_large_sets_are_told_by_the_fewer_and_cut_short():
    many = np.array([f"c{i}" for i in range(1000)])
    chosen = np.zeros(1000, bool)
    chosen[:700] = True
    assert membership(many, chosen) == "not in {c700, c701, c702, c703, c704, … 295 more}"
    assert membership(many, ~chosen) == "in {c700, c701, c702, c703, c704, … 295 more}"
    chosen[3:] = False
    assert membership(many, chosen) == "in {c0, c1, c2}"
    long = np.array(["a line\nbreak", "x" * 100, True], dtype=object)
    assert membership(long, np.array([1, 0, 0], bool)) == "in {a line break}"
    assert membership(long, np.array([0, 1, 0], bool)) == f"in {{{'x' * 23}…}}"
    assert membership(long, np.array([1, 1, 0], bool)) == "not in {True}"


@pytest.mark.parametrize("missing_left", [0, 1])
def test_a_test_of_missing_categories_alone(missing_left):
    chosen = set() if missing_left else {0, 1, 2, 3}
    tree = by_hand(
        [
            (1, 2, 0, chosen, missing_left, [0.5, 0.5]),
            (-1, -1, -2, -2.0, 0, [1.0, 0.0]),
            (-1, -1, -2, -2.0, 0, [0.0, 1.0]),
        ],
        categories=[COLOURS],
    )
    model = fitted(tree, classes=["a", "b"], categories=[COLOURS])
    said = ["feature_0 is missing", "feature_0 is not missing"][:: 1 if missing_left else -1]
    assert export_text(model).split("\n")[::2][:2] == [f"|--- {words}" for words in said]
    found = rules(model, order="leaves").split("\n")
    assert [line[3:].partition(" then ")[0] for line in found] == said


def test_what_cannot_be_shown(flowers):
    with pytest.raises(ValueError, match="feature_names must contain 4 elements, got 1"):
        export_text(flowers, feature_names=["a"])
    with pytest.raises(ValueError, match=r"Got 1 while the tree was fitted with 3 classes"):
        rules(flowers, class_names=["a"])
    with pytest.raises(NotFittedError):
        export_text(Fitted())
    other = Fitted()
    other.tree_ = object()
    with pytest.raises(TypeError, match="Fitted has no binary tree to show"):
        rules(other)
    with pytest.raises(ValueError, match="'max_depth'"):
        export_text(flowers, max_depth=-1)
    with pytest.raises(ValueError, match="'order'"):
        rules(flowers, order="size")


def test_deep_trees():
    levels = 10_000
    model = fitted(a_chain(levels), classes=["a", "b"])
    assert export_text(model).splitlines()[-1].endswith(f"truncated branch of depth {levels - 10}")
    found = rules(model, order="leaves").splitlines()
    assert len(found) == levels + 1
    assert found[5] == f"if 4 < feature_0 ≤ 5 then a (100% of {(2 * levels - 10) * 10:,} rows)"
    assert found[-1].startswith("if feature_0 > 9999 then b (75.0% of")


# --- rules -----------------------------------------------------------------------------------


def chosen_by(rule, X):
    """Which rows meet the conditions of a rule."""
    met = np.ones(len(X), bool)
    for asked in rule.conditions:
        cells = X[:, asked.column]
        gone = np.isnan(cells)
        if asked.allowed is None:
            passes = (asked.above < cells) & (cells <= asked.up_to)
        else:
            passes = asked.allowed[np.where(gone, 0, cells).astype(int)]
        met &= np.where(gone, asked.missing, passes)
    return met


def test_rules_choose_the_rows_of_their_leaves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = (np.nan_to_num(X[:, 0], nan=1.0) > rng.normal(size=300)) + 2 * np.isnan(X[:, 1])
    model = classifier(X, y, min_samples_leaf=4)
    leaf, shares = model.apply(X), model.predict_proba(X).max(axis=1)
    found = rules_of(ours(model))
    assert len(found) == model.get_n_leaves() > 8
    for rule in found:
        rows = chosen_by(rule, X)
        np.testing.assert_array_equal(rows, leaf == rule.leaf)
        assert rule.rows == rows.sum()
        assert set(model.predict(X[rows])) == {rule.prediction}
        assert rule.share == pytest.approx(shares[rows][0])
        assert len({asked.column for asked in rule.conditions}) == len(rule.conditions)


def test_rules_choose_categories():
    found = {rule.leaf: rule for rule in rules_of(with_categories())}
    cells = np.array([(a, b) for a in (0, 1, 2, 3, np.nan) for b in (1.0, 3.0, np.nan)])

    def leaf(colour, size):
        if np.isnan(colour) or colour in (0, 2):
            return 1
        if size <= 2:
            return 5 if colour == 1 else 6
        return 8 if np.isnan(size) else 7

    expected = np.array([leaf(*row) for row in cells])
    assert set(expected) == set(found)
    for number, rule in found.items():
        np.testing.assert_array_equal(chosen_by(rule, cells), expected == number)


def test_rules_in_words():
    assert rules(with_categories(), order="leaves").splitlines() == [
        "if (colour in {blue, red} or missing) then no (100% of 80 rows)",
        "if colour in {green} and size ≤ 2 then no (90.0% of 40 rows)",
        "if colour in {yellow} and size ≤ 2 then yes (100% of 30 rows)",
        "if colour in {green, yellow} and size > 2 then yes (80.0% of 20 rows)",
        "if colour in {green, yellow} and size is missing then no (70.0% of 10 rows)",
    ]


def test_rules_by_support(iris):
    model = ours(classifier(*iris, max_depth=3))
    names = ["sepal length", "sepal width", "length", "width"]
    assert rules(model, feature_names=names).splitlines() == [
        "if width ≤ 0.8 then setosa (100% of 50 rows)",
        "if 0.8 < width ≤ 1.75 and length ≤ 4.95 then versicolor (97.9% of 48 rows)",
        "if width > 1.75 and length > 4.85 then virginica (100% of 43 rows)",
        "if 0.8 < width ≤ 1.75 and length > 4.95 then virginica (66.7% of 6 rows)",
        "if width > 1.75 and length ≤ 4.85 then virginica (66.7% of 3 rows)",
    ]


def test_rules_of_a_regression_tell_the_spread():
    X, y = load_diabetes(return_X_y=True)
    model = regressor(X, y, max_depth=1)
    left = y[model.apply(X) == 1]
    first = rules(ours(model), order="leaves").splitlines()[0]
    assert first.endswith(f"then {left.mean():.6g} ± {left.std():.3g} ({len(left)} rows)")
    robust = ours(regressor(X[:40], y[:40], max_depth=1, criterion="absolute_error"))
    assert "±" not in rules(robust)


def test_nearly_all_is_not_all():
    tree = by_hand([(-1, -1, -2, -2.0, 0, [0.99999, 0.00001])])
    assert rules(fitted(tree, classes=["a", "b"])) == "always a (>99.9% of 10 rows)"


@pytest.mark.parametrize(
    ("threshold", "gap", "expected"),
    [
        (0.0, 1.0, "0"),
        (-2.5, 1.0, "-2.5"),
        ((0.1 + 0.2) / 2, np.inf, "0.15"),
        (1987.5, 1.0, "1987.5"),
        (1_700_000_000.5, np.inf, "1700000000.5"),
        (float(np.float32(2.4)) / 2 + float(np.float32(2.5)) / 2, np.inf, "2.45"),
        (1 / 3, np.inf, "0.333333"),
        (1 / 3, 1e-5, "0.3333333"),
        (1e9 / 3, np.inf, "333333333.33"),
        (1e-20 / 3, np.inf, "3.33333e-21"),
        (1e150 / 3, np.inf, "3.33333333333e+149"),
    ],
)
def test_thresholds_in_few_digits(threshold, gap, expected):
    assert written(threshold, gap) == expected


def test_shown_thresholds_stay_apart():
    rng = np.random.default_rng(1)
    for base, width in ((0.0, 1.0), (1e6, 1.0), (1.0, 1e-9)):
        cuts = np.sort(base + width * rng.random(50))
        gaps = np.diff(cuts, prepend=-np.inf, append=np.inf)
        nearest = np.minimum(gaps[:-1], gaps[1:])
        shown = np.array([float(written(*one)) for one in zip(cuts, nearest, strict=True)])
        assert (np.abs(shown - cuts) <= nearest / 100 + 1e-15 * np.abs(cuts)).all()
        assert (np.diff(shown) > 0).all()
