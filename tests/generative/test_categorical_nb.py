"""Categorical naive Bayes: fractions, scikit-learn, types of categories, leaving out, bad input."""

from __future__ import annotations

import functools
import threading
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import naive_bayes
from sklearn.datasets import load_digits
from sklearn.model_selection import LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import suffice
from suffice import CategoricalNB
from suffice.bayes import DirichletCategorical
from suffice.fitting.text_columns import text_queries
from suffice.sources import as_source

NAMES = np.array(["Köln", "Ulm", "東京", "rain", "a b"], dtype=object)


def codes(n=300, d=4, classes=3, top=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size=n)
    agree = rng.random((n, d)) < 0.4
    return np.where(agree, y[:, None] % top, rng.integers(0, top, size=(n, d))), y


def frame(n=300, seed=0):
    """Text with gaps, a category, a boolean, an integer and a float."""
    X, y = codes(n, seed=seed)
    sky = NAMES[X[:, 0]]
    sky[::11] = None
    table = pd.DataFrame({"sky": sky, "warm": X[:, 2] > 2, "floor": X[:, 3] - 1})
    table.insert(1, "kind", pd.Categorical(NAMES[X[:, 1]]))
    table["share"] = np.where(X[:, 1] == 4, np.nan, X[:, 1] / 4)
    return table, np.array(["no", "yes", "maybe"], dtype=object)[y]


def rows_of(table):
    """The cells as Python's values, None where they are missing."""
    return [[None if pd.isna(v) else v for v in row] for row in table.to_numpy(object).tolist()]


def exact_joint(rows, labels, weight, queries, alpha, sizes=None):
    """p(x, y = k) in fractions, for rows of any values, None where one is missing."""
    alpha, classes = Fraction(alpha), sorted(set(labels))
    total = sum(map(Fraction, weight))
    out = []
    for query in queries:
        line = []
        for k in classes:
            mine = [(r, Fraction(w)) for r, c, w in zip(rows, labels, weight, strict=True)
                    if c == k]  # fmt: skip
            p = sum(w for _, w in mine) / total
            for j, value in enumerate(query):
                seen = {r[j] for r in rows if r[j] is not None}
                size = len(seen) if sizes is None else sizes[j]
                if value is None or (alpha == 0 and value not in seen):
                    continue
                held = sum((w for r, w in mine if r[j] == value), Fraction(0))
                there = sum((w for r, w in mine if r[j] is not None), Fraction(0))
                p *= (held + alpha) / (there + size * alpha)
            line.append(p)
        out.append(line)
    return np.array(out)


# --- exact numbers -------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.0, 0.25])
@pytest.mark.parametrize("weighted", [False, True])
def test_fractions(alpha, weighted):
    table, y = frame(120)
    weight = np.random.default_rng(1).integers(1, 9, 120) / 4 if weighted else np.ones(120)
    model = CategoricalNB(alpha=alpha).fit(table, y, weight if weighted else None)
    queries, _ = frame(30, seed=5)
    queries.loc[:3, "sky"] = "hail"
    expected = exact_joint(rows_of(table), y, weight, rows_of(queries), alpha)
    found = np.exp(model.predict_joint_log_proba(queries))
    np.testing.assert_allclose(found, expected.astype(float), rtol=1e-13)
    assert model.certificate_.holds
    assert model.certificate_.digits > 15


def test_the_smoothing_is_the_dirichlet_posterior():
    X, y = codes()
    model = CategoricalNB(alpha=0.7).fit(X, y)
    for counts, logs in zip(model.category_count_, model.feature_log_prob_, strict=True):
        expected = (DirichletCategorical(0.7) + counts).log_mean()
        np.testing.assert_allclose(logs, expected, rtol=1e-14)


def test_objective():
    X, y = codes()
    model = CategoricalNB().fit(X, y)
    joint = model.predict_joint_log_proba(X)
    np.testing.assert_allclose(model.trace_.objective[-1], -joint[np.arange(len(y)), y].sum())


# --- scikit-learn --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"alpha": 0.1},
        {"alpha": 0.0, "force_alpha": False},
        {"fit_prior": False},
        {"class_prior": [0.2, 0.5, 0.3]},
        {"min_categories": 9},
        {"min_categories": [6, 2, 9, 5]},
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.uint8])
@pytest.mark.filterwarnings("ignore:alpha too small")
def test_scikit_learn(params, dtype):
    X, y = codes()
    X[:, 1] *= 2  # codes that do not occur
    X = X.astype(dtype)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    for w in (None, weight):
        ours = CategoricalNB(**params).fit(X, y, w)
        theirs = naive_bayes.CategoricalNB(**params).fit(X, y, w)
        assert ours.n_categories_.tolist() == theirs.n_categories_.tolist()
        assert ours.n_features_in_ == theirs.n_features_in_
        for name in ("class_count_", "class_log_prior_"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-13)
        for name in ("category_count_", "feature_log_prob_"):
            for a, b in zip(getattr(ours, name), getattr(theirs, name), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-11)
        assert (ours.predict(X) == theirs.predict(X)).all()


def test_digits_of_scikit_learn():
    X, y = load_digits(return_X_y=True)
    ours, theirs = CategoricalNB().fit(X, y), naive_bayes.CategoricalNB().fit(X, y)
    joint = theirs.predict_joint_log_proba(X)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), joint, rtol=1e-12)
    assert ours.score(X, y) == theirs.score(X, y)


def test_text_is_as_its_codes():
    table, y = frame()
    text = table[["sky", "kind"]].fillna("none").astype(object)
    encoder = OrdinalEncoder().fit(text)
    theirs = naive_bayes.CategoricalNB().fit(encoder.transform(text), y)
    ours = CategoricalNB().fit(text, y)
    np.testing.assert_allclose(
        ours.predict_proba(text), theirs.predict_proba(encoder.transform(text)), rtol=1e-12
    )
    behind = make_pipeline(OrdinalEncoder(), CategoricalNB()).fit(text, y)
    np.testing.assert_array_equal(behind.predict_proba(text), ours.predict_proba(text))


# --- categories ----------------------------------------------------------------------------


def as_forms(table, folder):
    """The same rows as frames of each library, objects, and files."""
    pq.write_table(pa.Table.from_pandas(table), folder / "t.parquet", row_group_size=70)
    return {
        "polars": pl.from_pandas(table),
        "pyarrow": pa.Table.from_pandas(table),
        "arrow-backed": table.convert_dtypes(dtype_backend="pyarrow"),
        "nullable": table.convert_dtypes(),
        "objects": table.astype(object).to_numpy(),
        "list": rows_of(table),
        "file": suffice.scan(folder / "t.parquet"),
    }


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_frames_and_files_give_the_same_model(tmp_path):
    table, y = frame()
    plain = CategoricalNB().fit(table, y)
    expected = plain.predict_joint_log_proba(table)
    for name, rows in as_forms(table, tmp_path).items():
        if name == "file":
            pq.write_table(pa.Table.from_pandas(table.assign(y=y)), tmp_path / "y.parquet")
            model = CategoricalNB().fit(suffice.scan(tmp_path / "y.parquet", target="y"))
        else:
            model = CategoricalNB().fit(rows, y)
        assert [v.tolist() for v in model.categories_] == [v.tolist() for v in plain.categories_]
        assert model.statistics_.counts.tolist() == plain.statistics_.counts.tolist()
        np.testing.assert_array_equal(model.predict_joint_log_proba(rows), expected)
        np.testing.assert_array_equal(plain.predict_joint_log_proba(rows), expected)


def test_integers_beyond_floats():
    X = np.array([[2**53], [2**53 + 1], [2**53], [2**53 + 1]])
    y = ["even", "odd", "even", "odd"]
    for rows in (X, pd.DataFrame({"id": X[:, 0]}), X.astype(object), X.tolist(),
                 X.astype(np.uint64) + 2**63):  # fmt: skip
        model = CategoricalNB().fit(rows, y)
        assert model.n_categories_.tolist() == [2]
        assert model.predict(rows).tolist() == y


def test_files_do_not_mistake_integers_for_each_other(tmp_path):
    X = np.array([2**53, 2**53 + 1, 2**53 + 2])
    y = ["a", "b", "a"]
    pq.write_table(pa.table({"id": X, "y": y}), tmp_path / "t.parquet")
    files = suffice.scan(tmp_path / "t.parquet", target="y")
    with pytest.raises(ValueError, match=r"column 'id' holds numbers of 2\^53 and more"):
        CategoricalNB().fit(files)
    with pytest.raises(ValueError, match=r"column 'id' holds numbers of 2\^53 and more"):
        CategoricalNB().fit(pd.DataFrame({"id": X}), y).predict(files)


def test_codes_and_other_numbers():
    y = [0, 0, 1, 1]

    def sizes(cells):
        return CategoricalNB().fit(np.array(cells).reshape(-1, 1), y).n_categories_.tolist()

    assert sizes([0, 5, 5, 2]) == [6]
    assert sizes([65_535, 1, 1, 1]) == [65_536]
    assert sizes([65_536, 1, 1, 1]) == [2]
    assert sizes([-1, 5, 5, 2]) == [3]
    assert sizes([0.5, 5, 5, 2]) == [3]
    assert sizes([True, True, True, True]) == [2]


def test_unknown_values_have_the_share_of_no_row():
    X, y = np.array([["a"], ["b"], ["a"], ["a"]]), [0, 0, 1, 1]
    model = CategoricalNB(alpha=0.5, fit_prior=False).fit(X, y)
    np.testing.assert_allclose(
        np.exp(model.predict_joint_log_proba([["z"]])), [[0.25 / 3, 0.25 / 3]]
    )
    more = model.refit(min_categories=5)
    np.testing.assert_allclose(np.exp(more.predict_joint_log_proba([["z"]])), [[0.25 / 4.5] * 2])
    assert model.feature_log_prob_[0].shape == (2, 5)
    none = CategoricalNB(alpha=0).fit(X, y)
    assert none.predict_proba([["z"]]).tolist() == [[0.5, 0.5]]
    assert none.predict_proba([["b"]]).tolist() == [[1.0, 0.0]]
    assert none.predict([[1.5]]).tolist() == [0]  # numbers among text are unknown, too


def test_missing_cells_are_left_out():
    X, y = codes(200)
    holes = np.random.default_rng(4).random(X.shape) < 0.3
    holed = np.where(holes, np.nan, X)
    model = CategoricalNB().fit(holed, y)
    for i in range(5):
        there = ~holes[i]
        part = CategoricalNB().fit(holed[:, there], y) if there.any() else None
        expected = model.class_log_prior_ if part is None else (
            part.predict_joint_log_proba(X[i : i + 1, there])[0]
        )  # fmt: skip
        np.testing.assert_allclose(model.predict_joint_log_proba(holed[i : i + 1])[0], expected)
    nothing = np.c_[holed, np.full(200, np.nan)]
    more = CategoricalNB().fit(nothing, y)
    assert "1 columns have no value" in str(more.certificate_)
    nothing[:, 4] = 3
    np.testing.assert_allclose(more.predict_proba(nothing), model.predict_proba(holed))


def test_a_class_without_a_value_in_a_column():
    X = np.array([[0, 1], [1, 0], [np.nan, 1]])
    smoothed = CategoricalNB().fit(X, [0, 0, 1])
    np.testing.assert_allclose(np.exp(smoothed.feature_log_prob_[0][1]), [0.5, 0.5])
    plain = CategoricalNB(alpha=0).fit(np.r_[X, X[:1]], [0, 0, 1, 0])
    np.testing.assert_allclose(np.exp(plain.feature_log_prob_[0][1]), [2 / 3, 1 / 3])
    assert np.isfinite(plain.predict_proba(X)).all()


# --- update, forget, merge, refit ----------------------------------------------------------


def same(a, b):
    assert a.classes_.tolist() == b.classes_.tolist()
    assert [v.tolist() for v in a.categories_] == [v.tolist() for v in b.categories_]
    for x, y in zip(a.feature_log_prob_, b.feature_log_prob_, strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(a.class_log_prior_, b.class_log_prior_)


def test_algebra_is_exact():
    table, y = frame()
    whole = CategoricalNB().fit(table, y)
    first, second = table[:100], table[100:]
    some = CategoricalNB().fit(first, y[:100])
    rest = CategoricalNB().fit(second, y[100:])
    same(some + rest, whole)
    same(sum([rest, some]), whole)
    same(CategoricalNB().fit(first, y[:100]).update(second, y[100:]), whole)
    same(whole.forget(first, y[:100]), rest)
    same(whole.refit(alpha=0.3, min_categories=4), CategoricalNB(alpha=0.3, min_categories=4).fit(
        second, y[100:]))  # fmt: skip


def test_categories_and_classes_turn_up_late():
    X = np.array([["a", "x"], ["b", "x"], ["c", "y"], ["a", "z"]], dtype=object)
    y = np.array(["one", "one", "two", "three"])
    model = CategoricalNB()
    for i in range(4):
        model = model.partial_fit(X[i : i + 1], y[i : i + 1])
    same(model, CategoricalNB().fit(X, y))
    with pytest.raises(ValueError, match="hold 'q' in column 0"):
        model.forget([["q", "x"]], ["one"])
    same(model.forget(X[2:], y[2:]), CategoricalNB().fit(X[:2], y[:2]))


def test_save_and_load(tmp_path):
    table, y = frame()
    model = CategoricalNB(alpha=0.5).fit(table, y)
    model.save(tmp_path / "m")
    loaded = suffice.load(tmp_path / "m")
    same(loaded, model)
    np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))
    same(loaded.update(table[:9], y[:9]), model.update(table[:9], y[:9]))


# --- leaving out ---------------------------------------------------------------------------


def left_out(model, X, y, weight=None):
    model = model.fit(X, y, weight)
    source = as_source(text_queries(model, X) if isinstance(X, pd.DataFrame) else X, y, weight)
    return np.concatenate([model._leave_one_out(piece.load()) for piece in source.pieces()])


def refitted(model, X, y, weight=None):
    """log p(x, y = k) by a fit without each row; −∞ for classes that it does not know."""
    classes, out = np.unique(y).tolist(), []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        rows = X[rest]
        fit = model.fit(rows, y[rest], None if weight is None else weight[rest])
        line = np.full(len(classes), -np.inf)
        at = [classes.index(k) for k in fit.classes_.tolist()]
        line[at] = fit.predict_joint_log_proba(X[i : i + 1])[0]
        out.append(line)
    return np.array(out)


RARE = {
    "codes": lambda X: X,
    "gaps": lambda X: np.where(X == 4, 40 + X, X),
    "values of one row": lambda X: X + np.where(np.arange(len(X)) % 7 == 0, np.arange(len(X)), 0)[
        :, None
    ],
    "negative ones": lambda X: np.where(np.arange(len(X))[:, None] == 3, -1, X),
    "one fraction": lambda X: np.where(np.arange(len(X))[:, None] == 3, 0.5, X),
    "missing": lambda X: np.where(X == 1, np.nan, X),
    "large": lambda X: np.where(np.arange(len(X))[:, None] == 3, 70_000, X),
}  # fmt: skip


@pytest.mark.parametrize("kind", RARE)
@pytest.mark.parametrize("params", [{}, {"alpha": 0.0}, {"alpha": 0.3, "min_categories": 6}],
                         ids=str)  # fmt: skip
def test_leaving_one_out_is_exact(kind, params):
    X, y = codes(25, d=3, seed=2)
    y[0] = 9  # a class of one row
    X = RARE[kind](X)
    model = CategoricalNB(**params)
    np.testing.assert_array_equal(left_out(model, X, y), refitted(model, X, y))


def test_leaving_one_out_with_weights():
    X, y = codes(60, d=3, seed=2)
    X[::9, 0] = 11
    weight = np.random.default_rng(0).uniform(0.2, 3, 60)
    model = CategoricalNB()
    np.testing.assert_allclose(
        left_out(model, X, y, weight), refitted(model, X, y, weight), rtol=1e-13
    )


def test_cross_validation_leaves_one_out_of_text():
    table, y = frame(60)
    found = suffice.cross_validate(CategoricalNB(), table, y, cv=LeaveOneOut())
    again = [
        CategoricalNB().fit(table.drop(index=i), np.delete(y, i)).score(table[i : i + 1], y[[i]])
        for i in range(60)
    ]
    assert found["test_score"].tolist() == again


@pytest.mark.compiled
def test_leaving_one_out_of_many_rows():
    X, y = codes(2000, d=30)
    sources = as_source(X, y)
    model = CategoricalNB().fit(X, y)
    found = np.concatenate([model._leave_one_out(piece.load()) for piece in sources.pieces()])
    for i in range(0, 2000, 37):
        rest = np.arange(2000) != i
        expected = CategoricalNB().fit(X[rest], y[rest]).predict_joint_log_proba(X[i : i + 1])[0]
        np.testing.assert_array_equal(found[i], expected)


# --- threads, sizes, bad input -------------------------------------------------------------


@pytest.mark.compiled
def test_same_bits_at_any_number_of_threads_and_from_files(tmp_path):
    X, y = codes(40_000, d=12)
    weight = np.random.default_rng(0).uniform(0.1, 2, len(y))
    columns = {f"x{j}": X[:, j] for j in range(12)}
    pq.write_table(pa.table({**columns, "y": y, "w": weight}), tmp_path / "t.parquet")
    files = suffice.scan(tmp_path / "t.parquet", target="y", weight="w")
    fits = []
    for threads in (1, 2, 4):
        with suffice.config(threads=threads):
            fits += [CategoricalNB().fit(X, y, weight), CategoricalNB().fit(files)]
    for other in fits[1:]:
        same(other, fits[0])
    joint = fits[0].predict_joint_log_proba(X)
    np.testing.assert_array_equal(fits[0].predict_joint_log_proba(files), joint)
    small = np.concatenate([fits[0].predict_joint_log_proba(part) for part in np.split(X, 400)])
    np.testing.assert_array_equal(small, joint)


def test_two_threads_at_once():
    X, y = codes(3000, d=12)
    expected = CategoricalNB().fit(X, y)
    fits, answers = {}, {}

    def run(i):
        fits[i] = CategoricalNB().fit(X, y)
        answers[i] = expected.predict_proba(X)

    threads = [threading.Thread(target=functools.partial(run, i)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        same(fits[i], expected)
        np.testing.assert_array_equal(answers[i], expected.predict_proba(X))


def test_one_row_and_one_class():
    model = CategoricalNB().fit([["a", 1]], ["x"])
    assert model.predict([["b", 7]]).tolist() == ["x"]
    assert model.predict_proba([["b", None]]).tolist() == [[1.0]]


def test_bad_input():
    X, y = codes(20)
    with pytest.raises(ValueError, match="'min_categories' should have shape"):
        CategoricalNB(min_categories=[3, 4]).fit(X, y)
    with pytest.raises(ValueError, match="'min_categories' should have integral type"):
        CategoricalNB(min_categories=[1.5] * 4).fit(X, y)
    with pytest.raises(ValueError, match="Number of priors must match"):
        CategoricalNB(class_prior=[0.5, 0.5]).fit(X, y)
    with pytest.raises(ValueError, match="alpha"):
        CategoricalNB(alpha=-1).fit(X, y)
    with pytest.raises(TypeError, match=r"^column 0 holds values of the types int, str: .*uniform"):
        CategoricalNB().fit(np.array([["a"], [1]], dtype=object), [0, 1])
    with pytest.raises(TypeError, match=r"^column 'b' holds values of the types float, str"):
        CategoricalNB().fit(pd.DataFrame({"a": [1, 2], "b": ["x", 2.5]}), [0, 1])
    bad = X.astype(float)
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity or a value too large: column 1, row 3"):
        CategoricalNB().fit(bad, y)
    with pytest.raises(ValueError, match="y is None"):
        CategoricalNB().fit(pd.DataFrame({"a": ["x"]}))
    with pytest.raises(ValueError, match="column 0 holds text in some rows and numbers in others"):
        CategoricalNB().fit([["a"]], [0]).update(np.array([[1]]), [0])
    model = CategoricalNB().fit(X, y)
    before = {**vars(model)}
    with pytest.raises(ValueError, match="no row would stay"):
        model.forget(X, y)
    assert vars(model) == before


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("least", [10**12, [10**12, 1, 1, 1], 2**62, 2**26])
def test_more_categories_than_fit_into_memory(least):
    X, y = np.array([[0, 1, 2, 3], [1, 0, 0, 0], [1, 1, 0, 2]]), [0, 1, 2]
    with pytest.raises(ValueError, match=r"'min_categories' asks for up to .*: lower it"):
        CategoricalNB(min_categories=least).fit(X, y)
    model = CategoricalNB(min_categories=4).fit(X, y)
    with pytest.raises(ValueError, match="'min_categories' asks for up to"):
        model.refit(min_categories=least)
    assert model.min_categories == 4
    assert model.n_categories_.tolist() == [4, 4, 4, 4]
    mixed = suffice.MixedNB(categorical=[0, 1, 2, 3], min_categories=least)
    with pytest.raises(ValueError, match="'min_categories' asks for up to"):
        mixed.fit(X, y)


def test_categories_are_refused_before_rows_are_read(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": ["a", "b"], "y": [0, 1]}), path)
    source = suffice.scan(path, target="y")
    path.unlink()
    with pytest.raises(ValueError, match="'min_categories' asks for up to"):
        CategoricalNB(min_categories=10**12).fit(source)


def test_cross_validation_of_files(tmp_path):
    table, y = frame(90)
    pq.write_table(pa.Table.from_pandas(table.assign(y=y)), tmp_path / "t.parquet")
    files = suffice.scan(tmp_path / "t.parquet", target="y")
    for cv in (LeaveOneOut(), 3):
        found = suffice.cross_validate(CategoricalNB(), files, cv=cv)
        again = suffice.cross_validate(CategoricalNB(), table, y, cv=cv)
        np.testing.assert_array_equal(found["test_score"], again["test_score"])


@pytest.mark.parametrize("n", [3, 20_000])
def test_weights_beyond_the_numbers(n):
    X, y = np.arange(n)[:, None] % 2, np.arange(n) % 3 % 2
    for rows in (X, X.astype(str)):
        with pytest.raises(ValueError, match="weights add up to more than float64 can hold"):
            CategoricalNB().fit(rows, y, sample_weight=np.full(n, 1e308))


@pytest.mark.parametrize("n", [300, 20_000])
@pytest.mark.filterwarnings("error")
def test_half_precision(n):
    X, y = codes(n)
    for values in (X, X / 2):
        expected, narrow = CategoricalNB().fit(values, y), values.astype(np.float16)
        found = CategoricalNB().fit(narrow, y).predict_proba(narrow)
        np.testing.assert_array_equal(found, expected.predict_proba(values))
