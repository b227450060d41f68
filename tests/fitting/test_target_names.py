"""The target's name is part of the model: learned, kept, compared and handed on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import model_selection
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import suffice
from suffice import (
    CategoricalNB,
    GaussianNB,
    GeneralizedLinearModel,
    GridSearchCV,
    KNeighborsClassifier,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    OneVsRest,
    Perceptron,
    Ridge,
    RidgeCV,
)
from suffice.cli.saved import Saved
from suffice.cli.show import model_document
from suffice.preprocessing import StandardScaler

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
y = X @ [1.0, -2.0] + rng.normal(size=60)
labels = np.where(X @ [1.0, -2.0] > 0, "yes", "no").astype(object)
two = np.stack([y, -y], axis=1)

NAMED = {
    "pandas series": pd.Series(y, name="fare"),
    "pandas frame": pd.DataFrame({"fare": y}),
    "polars series": pl.Series("fare", y),
    "polars frame": pl.DataFrame({"fare": y}),
    "pyarrow table": pa.table({"fare": y}),
}
UNNAMED = {
    "array": y,
    "list": list(y),
    "pandas series": pd.Series(y),
    "polars series": pl.Series(y),
    "pyarrow array": pa.array(y),
    "number for a name": pd.Series(y, name=0),
    "numbered columns": pd.DataFrame(y),
}
ROWS = {"array": X, "frame": pd.DataFrame(X, columns=["a", "b"])}


def name_of(model):
    return getattr(model, "target_names_in_", None)


@pytest.fixture(scope="module")
def fares():
    return Ridge().fit(X, NAMED["pandas series"])


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    columns = {"a": X[:, 0], "b": X[:, 1], "fare": y, "tip": -y, "survived": labels}
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("target", NAMED.values(), ids=NAMED)
def test_learned(rows, target):
    assert name_of(LinearRegression().fit(rows, target)) == ("fare",)


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("target", UNNAMED.values(), ids=UNNAMED)
def test_unknown(rows, target):
    assert not hasattr(LinearRegression().fit(rows, target), "target_names_in_")


def test_several_targets_and_files(file):
    named = pd.DataFrame(two, columns=["fare", "pourboire «é»"])
    assert name_of(Ridge().fit(X, named)) == ("fare", "pourboire «é»")
    source = suffice.scan(file, target=["fare", "tip"], features=["a", "b"])
    assert name_of(Ridge().fit(source)) == ("fare", "tip")
    source = suffice.scan(file, target="fare", features=["a", "b"])
    assert name_of(Ridge().fit(source)) == ("fare",)


@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(),
        KNeighborsClassifier(),
        LogisticRegression(),
        OneVsRest(LogisticRegression()),
        Perceptron(),
        LogisticRegressionCV(Cs=2, cv=2),
        GridSearchCV(LogisticRegression(), {"C": [1.0, 2.0]}, cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_classifiers(model):
    assert name_of(model.fit(X, pd.Series(labels, name="survived"))) == ("survived",)
    assert name_of(model.fit(X, labels)) is None


def test_targets_that_are_changed_on_the_way():
    """Made one column, filled where nothing is known, or beside text."""
    with pytest.warns(UserWarning, match="column-vector"):
        model = KNeighborsClassifier().fit(X, pd.DataFrame({"survived": labels}))
    assert name_of(model) == ("survived",)
    some = pd.Series(np.where(rng.random(60) < 0.2, -1, labels == "yes"), name="survived")
    assert name_of(GaussianNB(unlabelled=-1).fit(X, some)) == ("survived",)
    text = pd.DataFrame({"port": rng.choice(["C", "Q"], size=60)})
    model = CategoricalNB().fit(text, pd.Series(labels, name="survived"))
    assert name_of(model) == ("survived",)
    with pytest.raises(ValueError, match=r"target is \[port\]"):
        model.update(text, pd.Series(labels, name="port"))
    weight = np.arange(60.0)
    absent = pd.Series(np.append(np.nan, y[1:]), name="fare")
    assert name_of(Ridge().fit(X, absent, sample_weight=weight)) == ("fare",)


@pytest.mark.parametrize("verb", ["update", "forget"])
def test_another_target_is_refused_before_anything_is_learned(fares, verb, unchanged):
    model = copied(fares)
    with (
        unchanged(model),
        pytest.raises(ValueError, match=r"\[tip\], but Ridge .*\[fare\]"),
    ):
        getattr(model, verb)(X[:20], pd.Series(y[:20], name="tip"))
    getattr(model, verb)(X[:20], pd.Series(y[:20], name="fare"))
    getattr(model, verb)(X[20:30], y[20:30])
    assert name_of(model) == ("fare",)


def copied(model):
    return 0 + model


def test_names_are_gained_where_none_was_known():
    model = Ridge().fit(X, y)
    assert name_of(model.update(X, pd.Series(y, name="fare"))) == ("fare",)
    online = Perceptron().partial_fit(X, pd.Series(labels, name="survived"), ["no", "yes"])
    with pytest.raises(ValueError, match=r"\[lived\], but Perceptron was fitted to \[survived\]"):
        online.partial_fit(X, pd.Series(labels, name="lived"))


def test_the_order_of_targets_matters():
    model = Ridge().fit(X, pd.DataFrame(two, columns=["fare", "tip"]))
    with pytest.raises(ValueError, match=r"\[tip, fare\].* \[fare, tip\]"):
        model.update(X, pd.DataFrame(two, columns=["tip", "fare"]))


def test_merging(fares):
    nobody, tips = Ridge().fit(X, y), Ridge().fit(X, pd.Series(y, name="tip"))
    assert name_of(nobody + nobody) is None
    assert name_of(nobody + fares) == name_of(fares + nobody) == name_of(fares + fares) == ("fare",)
    for models in ([fares, tips], [nobody, fares, tips]):
        with pytest.raises(ValueError, match=r"different targets: \[fare\] and \[tip\]"):
            suffice.merge(*models)


def test_columns_are_compared_among_all_who_know_them():
    nobody, ab, ac = (
        Ridge().fit(rows, y)
        for rows in (X, pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(X, columns=["a", "c"]))
    )
    assert suffice.merge(nobody, ab).feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match=r"different columns: \[a, b\] and \[a, c\]"):
        suffice.merge(nobody, ab, ac)


def test_copies(fares, tmp_path):
    fares.save(tmp_path / "fares")
    assert name_of(suffice.load(tmp_path / "fares")) == ("fare",)
    assert name_of(clone(fares)) is None
    assert "target_names_in_" not in fares.get_params()
    assert name_of(copied(fares).refit(alpha=2.0)) == ("fare",)


def searched(search):
    return search.fit(ROWS["frame"], NAMED["pandas series"])


def test_models_of_models(file):
    grid = {"alpha": [0.1, 1.0]}
    behind = make_pipeline(StandardScaler(), Ridge())
    found = [
        searched(GridSearchCV(Ridge(), grid, cv=3)),
        searched(GridSearchCV(behind, {"ridge__alpha": [0.1, 1.0]}, cv=3)),
        searched(RidgeCV()),
        searched(RidgeCV(cv=3)),
        searched(LassoCV(cv=3)),
        searched(behind)[-1],
        searched(model_selection.GridSearchCV(Ridge(), grid, cv=3)).best_estimator_,
        GridSearchCV(Ridge(), grid, cv=3).fit(suffice.scan(file, target="fare", features=["a"])),
    ]
    assert [name_of(model) for model in found] == [("fare",)] * len(found)
    assert not hasattr(found[1].best_estimator_[0], "target_names_in_")
    assert not hasattr(found[1].best_estimator_[-1], "feature_names_in_")
    assert name_of(RidgeCV().fit(X, y)) is None


def test_transformers_have_no_target(file):
    source = suffice.scan(file, target="fare", features=["a", "b"])
    assert not hasattr(StandardScaler().fit(source), "target_names_in_")
    scaled = StandardScaler().fit_transform(source)
    assert name_of(Ridge().fit(scaled)) == ("fare",)


def test_tables(file):
    frame = pd.read_csv(file)
    rows, fare, survived = frame[["a", "b"]], frame["fare"], frame["survived"]

    def title(model):
        return repr(model.summary()).splitlines()[0]

    assert title(LinearRegression().fit(rows, fare)) == "Linear regression of fare"
    assert title(LinearRegression().fit(rows, y)) == "Linear regression"
    both = LinearRegression().fit(rows, frame[["fare", "tip"]]).summary()
    assert both.targets == ("fare", "tip")
    assert "Linear regression of tip" in repr(both)
    logistic = LogisticRegression(C=np.inf)
    X3, y3 = rows.to_numpy(), pd.Series(np.arange(60) % 3, name="class")
    noisy = survived.where(np.arange(60) % 5 > 0, "no")
    assert title(logistic.fit(rows, noisy)) == "Logistic regression of survived = yes"
    assert title(logistic.fit(rows, noisy.to_numpy())) == "Logistic regression of yes"
    assert title(logistic.fit(X3, y3)) == "Logistic regression of class = 0"
    counts = pd.Series(np.arange(60) % 4, name="claims")
    model = GeneralizedLinearModel("poisson").fit(rows, counts)
    assert title(model) == "Generalised linear model of claims: poisson, link log"


def test_what_the_command_line_shows(fares):
    assert model_document(Saved(fares))["target"] == ["fare"]
    assert model_document(Saved(Ridge().fit(X, y)))["target"] is None
