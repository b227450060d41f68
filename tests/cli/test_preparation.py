"""Columns of every kind, prepared as the rules say, against scikit-learn's transformers."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import log_loss, mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

import suffice
from suffice.cli import learning, scores
from suffice.sources import scan

NUMBERS, TEXT = ["age", "vip", "joined", "visits"], ["city", "plan"]


@pytest.fixture(scope="session")
def members() -> pd.DataFrame:
    """A table as people have them: numbers, flags, dates and text, with gaps, and an index."""
    rng = np.random.default_rng(3)
    n = 90
    frame = pd.DataFrame(
        {
            "member": [f"M{i:03}" for i in range(n)],
            "age": rng.integers(18, 80, n).astype(float),
            "vip": rng.random(n) < 0.3,
            "joined": pd.Timestamp("2020-01-31") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "city": rng.choice(["Ulm", "Rome", "São Paulo"], n),
            "plan": rng.choice(["basic", "full"], n),
            "country": "Utopia",
            "nothing": np.nan,
            "visits": rng.poisson(4, n),
        }
    )
    paid = 10 + 0.2 * frame["age"] + 30 * frame["vip"] + 5 * (frame["city"] == "Ulm")
    frame["paid"] = (paid + rng.normal(size=n)).round(3)
    frame["stays"] = np.where(paid + rng.normal(0, 5, n) > 25, "yes", "no")
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "city"] = None
    frame.loc[::17, "paid"] = np.nan
    return frame


@pytest.fixture
def table(members, folder) -> pd.DataFrame:
    """The same in members.csv, with the index that pandas writes."""
    members.to_csv("members.csv")
    return members


def as_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    days = (frame["joined"] - pd.Timestamp("1970-01-01")) / pd.Timedelta("1D")
    text = {name: frame[name].astype(object).where(frame[name].notna(), None) for name in TEXT}
    return frame.assign(joined=days, vip=frame["vip"].astype(float), **text)[[*NUMBERS, *TEXT]]


def oracle(model, frame: pd.DataFrame, drop=None) -> Pipeline:
    """What the rules of the preparation come to in scikit-learn, fitted to rows with a target."""
    encoder = OneHotEncoder(handle_unknown="ignore", drop=drop, sparse_output=False)
    parts = [("numbers", SimpleImputer(), NUMBERS), ("text", encoder, TEXT)]
    known = frame[frame["paid"].notna()]
    return make_pipeline(ColumnTransformer(parts), model).fit(as_numbers(known), known["paid"])


FIT = ("fit", "members.csv", "--target", "paid", "--drop", "stays")


def predicted(run, model="m", data="members.csv"):
    assert run("predict", model, data, "--output", "p.csv").code == 0
    return pd.read_csv("p.csv")["prediction"].to_numpy()


@pytest.mark.parametrize(
    ("name", "model", "drop"),
    [("ridge", Ridge(), None), ("linear-regression", LinearRegression(), "first")],
)
def test_a_fit_is_that_of_a_pipeline(run, table, name, model, drop):
    outcome = run(*FIT, "--model", name, "--save", "m")
    assert outcome.code == 0
    assert outcome.err.splitlines() == [
        "note: the file: column 1 without a name left out (change by --features)",
        "note: column 'nothing' is left out: it holds no value",
        "note: column 'member' is left out: text with more than 50 values",
        "note: column 'country' is left out: always the same text",
        "note: rows without a target, left out: 6",
        "note: dates count as days since 1970-01-01: joined",
        "note: missing cells get their column's mean: "
        f"age ({table['age'][table['paid'].notna()].isna().sum()})",
        f"note: text becomes {6 if drop is None else 4} columns of zeros and ones: city, plan",
    ]
    expected = oracle(model, table, drop)
    np.testing.assert_allclose(
        predicted(run), expected.predict(as_numbers(table)), rtol=1e-9, atol=1e-9
    )
    saved = suffice.load("m")
    assert saved["model"].coef_.shape == expected[-1].coef_.shape
    assert list(saved.feature_names_in_) == ["age", "vip", "joined", "city", "plan", "visits"]


def test_rows_are_read_twice_however_many_there_are(run, table, monkeypatch):
    assert run(*FIT, "--model", "ridge", "--save", "small").code == 0
    monkeypatch.setattr(learning, "MOST_CELLS_KEPT", 0)
    monkeypatch.setattr(scores, "MOST_ROWS", 0)
    outcome = run(*FIT, "--model", "ridge", "--save", "large")
    assert "`suffice cv` computes it" in outcome.out
    a, b = suffice.load("small")["model"], suffice.load("large")["model"]
    np.testing.assert_array_equal(a.coef_, b.coef_)
    assert len(b.trace_) == 1


def test_scores_are_those_of_scikit_learn(run, table):
    document = run(*FIT, "--model", "ridge", "--save", "m", "--json").json
    known = table[table["paid"].notna()]
    expected, rows = oracle(Ridge(), table), as_numbers(known)
    folds = KFold(5, shuffle=True, random_state=0)
    held_out = cross_val_score(expected, rows, known["paid"], cv=folds)
    np.testing.assert_allclose(document["score"]["scores"], held_out, rtol=1e-9)
    options = ("--target", "paid", "--drop", "stays", "--model", "ridge")
    assert run("cv", "members.csv", *options, "--json").json["scores"] == pytest.approx(held_out)
    assert run("inspect", "m", "--json").json["score"] == document["score"]
    guess = expected.predict(rows)
    found = run("score", "m", "members.csv", "--json").json
    assert found["rows"] == len(known)
    assert found["scores"] == pytest.approx(
        {
            "r2": r2_score(known["paid"], guess),
            "rmse": root_mean_squared_error(known["paid"], guess),
            "mae": mean_absolute_error(known["paid"], guess),
        }
    )


def test_classes_that_are_text(run, table):
    options = ("--target", "stays", "--drop", "paid", "--model", "logistic-regression")
    assert run("fit", "members.csv", *options, "--save", "m").code == 0
    assert run("predict", "m", "members.csv", "--proba", "--output", "p.csv").code == 0
    shares = pd.read_csv("p.csv")
    assert shares.columns.tolist() == ["probability_no", "probability_yes"]
    found = run("score", "m", "members.csv", "--json").json["scores"]
    guess = np.where(shares["probability_yes"] > 0.5, "yes", "no")
    assert found["accuracy"] == pytest.approx((guess == table["stays"]).mean())
    assert found["log_loss"] == pytest.approx(log_loss(table["stays"], shares))


def test_a_model_that_takes_text_gets_the_columns_as_they_are(run, table):
    options = ("--target", "stays", "--drop", "paid", "--model", "mixed-nb", "--save", "m")
    outcome = run("fit", "members.csv", *options)
    assert "zeros and ones" not in outcome.err
    assert "mean" not in outcome.err
    names = ["age", "vip", "joined", "city", "plan", "visits"]
    expected = suffice.MixedNB().fit(scan("members.csv", target="stays", features=names))
    run("predict", "m", "members.csv", "--proba", "--output", "p.parquet")
    rows = scan("members.csv", features=names)
    np.testing.assert_array_equal(pd.read_parquet("p.parquet"), expected.predict_proba(rows))


def test_columns_are_found_by_name_and_others_copied(run, refused, table):
    run(*FIT, "--model", "ridge", "--save", "m")
    before = predicted(run)
    other = table[["plan", "member", *NUMBERS[::-1], "city"]].assign(more=1)
    other.to_csv("other.csv", index=False)
    predict = ("predict", "m", "other.csv", "--keep", "member,age", "--output")
    assert run(*predict, "kept.csv").code == 0
    kept = pd.read_csv("kept.csv")
    assert kept.columns.tolist() == ["member", "age", "prediction"]
    np.testing.assert_array_equal(kept["prediction"], before)
    pd.testing.assert_frame_equal(kept[["member", "age"]], table[["member", "age"]])
    other.drop(columns="city").to_csv("less.csv", index=False)
    assert "'city'" in refused("predict", "m", "less.csv", "--output", "p.csv")
    assert "'salary'" in refused(*predict[:-1], "--keep", "salary", "--output", "p.csv")
    assert "'salary'" in refused(*FIT, "--drop", "salary", "--model", "ridge", "--save", "x")


def test_standard_input_is_a_file_like_any_other(run, table, monkeypatch):
    def pipe(*command):
        content = io.BytesIO(table.to_csv(index=False).encode())
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(content))
        outcome = run(*command)
        assert outcome.code == 0, outcome.err
        return outcome

    options = ("--target", "paid", "--drop", "stays", "--model", "ridge")
    pipe("fit", "-", *options, "--save", "piped")
    run(*FIT, "--model", "ridge", "--save", "m")
    expected = predicted(run)
    out = pipe("predict", "piped", "-", "--keep", "member", "--output", "-").out
    found = pd.read_csv(io.StringIO(out))
    np.testing.assert_array_equal(found["prediction"], expected)
    assert found["member"].tolist() == table["member"].tolist()
    assert pipe("score", "piped", "-").out == run("score", "m", "members.csv").out


def test_values_that_the_fit_did_not_see(run, table):
    run(*FIT, "--model", "ridge", "--save", "m")
    new = table.assign(city=[table["city"][0], "Oslo", "Bonn", *table["city"][3:]])
    new.to_csv("new.csv", index=False)
    outcome = run("predict", "m", "new.csv", "--output", "p.csv", "--json")
    line = (
        "cells of column 'city' with values that the fit did not see, which count as none of the "
        "known ones: 2"
    )
    assert outcome.json["notes"] == [line]
    expected = oracle(Ridge(), table).predict(as_numbers(new))
    np.testing.assert_allclose(pd.read_csv("p.csv")["prediction"], expected, rtol=1e-9)
    assert line in run("update", "m", "new.csv", "--save", "u").err


def test_numbers_where_the_fit_saw_text_are_text(run, folder):
    rows = [f"{i % 3:02}{'x' if i == 5 else ''},{i}" for i in range(40)]
    (folder / "codes.csv").write_text("\n".join(["code,y", *rows]) + "\n")
    run("fit", "codes.csv", "--target", "y", "--model", "ridge", "--save", "m")
    (folder / "new.csv").write_text("code\n00\n01\n02\n")
    outcome = run("predict", "m", "new.csv", "--output", "-")
    assert (outcome.code, outcome.err) == (0, "")
    expected = run("predict", "m", "codes.csv", "--output", "-").out.splitlines()[1:4]
    assert outcome.out.splitlines()[1:] == expected


# --- without the old rows -----------------------------------------------------------------------


def test_update_and_forget_go_through_the_preparation(run, table):
    table[:60].to_csv("old.csv", index=False)
    table[60:].to_csv("new.csv", index=False)
    fit = ("--target", "paid", "--drop", "stays", "--model", "ridge", "--save", "m")
    assert run("fit", "old.csv", *fit).code == 0
    assert "learned 28 more rows" in run("update", "m", "new.csv", "--save", "both").out
    prepare = oracle(Ridge(), table[:60])[0]
    known = table[table["paid"].notna()]
    expected = Ridge().fit(prepare.transform(as_numbers(known)), known["paid"])
    found = suffice.load("both")["model"]
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
    assert "forgot 28 rows" in run("forget", "both", "new.csv", "--save", "again").out
    before, after = suffice.load("m")["model"], suffice.load("again")["model"]
    np.testing.assert_allclose(after.coef_, before.coef_, rtol=1e-6)
    assert run("refit", "m", "--set", "alpha=9", "--save", "r").code == 0
    assert suffice.load("r")["model"].alpha == 9
    assert run("inspect", "both", "--json").json["score"] is None


def test_models_merge_if_their_columns_were_prepared_alike(run, refused, table):
    whole = table.drop(columns=["nothing", "stays"]).dropna()
    parts = {"a": whole[:30], "b": whole[30:], "all": whole}
    for name, part in parts.items():
        part.to_csv(f"{name}.csv", index=False)
        options = ("--drop", "member,country", "--target", "paid", "--model", "ridge")
        assert run("fit", f"{name}.csv", *options, "--save", name).code == 0
    assert run("merge", "a", "b", "--save", "ab").code == 0
    expected = suffice.load("all")["model"].coef_
    np.testing.assert_allclose(suffice.load("ab")["model"].coef_, expected, rtol=1e-9)
    others = {"means": table[:30], "columns": whole.assign(plan="none")}
    others["values"] = whole.assign(plan=whole["plan"].replace("full", "all"))
    for what, part in others.items():
        part.drop(columns=["stays", "nothing"], errors="ignore").to_csv("other.csv", index=False)
        assert run("fit", "other.csv", *options, "--save", "other").code == 0
        assert what in refused("merge", "a", "other", "--save", "x")


# --- what is left out ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "values", "reason"),
    [
        ("n", range(12), "it numbers the rows"),
        ("n", range(1, 13), "it numbers the rows"),
        ("rownames", "abcdefghijkl", "it numbers the rows"),
        ("name", "abcdefgaaaaa", "text with 7 values in 12 rows"),
        ("year", range(2001, 2013), None),
        ("kind", "aaabbbcccaaa", None),
    ],
)
def test_columns_that_say_nothing(run, folder, column, values, reason):
    x = np.random.default_rng(0).normal(size=12)
    pd.DataFrame({column: list(values), "x": x, "y": 2 * x}).to_csv("d.csv", index=False)
    fit = ("fit", "d.csv", "--target", "y", "--model", "ridge", "--save", "m", "--json")
    document = run(*fit).json
    assert document["left_out"] == ({} if reason is None else {column: reason})
    assert run(*fit, "--features", f"{column},x").json["left_out"] == {}


def test_a_column_that_counts_is_all_there_is(run, folder):
    rows = [f"{i},{2 * i}" for i in range(1, 13)]
    (folder / "d.csv").write_text("\n".join(["hours,score", *rows]) + "\n")
    fit = ("fit", "d.csv", "--target", "score", "--model", "linear-regression", "--save", "m")
    assert [one["name"] for one in run(*fit, "--json").json["coefficients"]] == [
        "intercept",
        "hours",
    ]


def test_whole_numbers_stay_labels_beside_missing_ones(run, folder):
    labels = ["1", "", "2", "1", "2", "2", "1", "", "1", "2", "2", "1"]
    rows = [f"{i * 0.7 % 3},{label}" for i, label in enumerate(labels)]
    (folder / "d.csv").write_text("\n".join(["x,label", *rows]) + "\n")
    for cells in (10_000_000, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(learning, "MOST_CELLS_KEPT", cells)
            outcome = run(
                "fit", "d.csv", "--target", "label", "--model", "gaussian-nb", "--save", "m"
            )
        assert outcome.err == "note: rows without a target, left out: 2\n"
        assert suffice.load("m").classes_.tolist() == [1, 2]
        assert suffice.load("m").classes_.dtype.kind == "i"


def test_a_value_that_makes_the_name_of_another_column(run, folder):
    rows = ["city,city_Ulm,y", *(f"{'Ulm' if i % 2 else 'Rome'},{i},{i * 2}" for i in range(12))]
    (folder / "d.csv").write_text("\n".join(rows) + "\n")
    fit = ("fit", "d.csv", "--target", "y", "--model", "ridge", "--save", "m")
    found = run(*fit, "--json").json
    names = [entry["name"] for entry in found["coefficients"]]
    assert names == ["intercept", "numbers__city_Ulm", "text__city_Rome", "text__city_Ulm"]
    assert run("predict", "m", "d.csv", "--output", "p.csv").code == 0


def test_an_exposure_is_found_behind_the_preparation(run, folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(["a", "b"], 50), "years": rng.uniform(1, 9, 50)})
    frame["deaths"] = rng.poisson(frame["years"] * np.where(frame["kind"] == "a", 0.5, 2.0))
    frame.to_csv("d.csv", index=False)
    options = ("--set", "family=poisson", "--set", "exposure=years", "--folds", "0", "--save", "m")
    fit = ("fit", "d.csv", "--target", "deaths", "--model", "generalized-linear-model", *options)
    assert run(*fit).code == 0
    rate = frame.groupby("kind")["deaths"].sum() / frame.groupby("kind")["years"].sum()
    expected = frame["years"] * frame["kind"].map(rate)
    np.testing.assert_allclose(predicted(run, data="d.csv"), expected, rtol=1e-6)


# --- every model --------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", suffice.catalogue.models(), ids=lambda entry: entry.name)
def test_every_model_is_of_use_after_it_was_saved(run, table, entry):
    target = {"regression": "paid", "classification": "stays"}.get(entry.task)
    left = ",".join({"paid", "stays", "joined"} - {target})
    options = ["--drop", left, "--folds", "0", *(["--target", target] if target else [])]
    assert run("fit", "members.csv", *options, "--model", entry.name, "--save", "m").code == 0
    use = "transform" if entry.task in ("preprocessing", "decomposition") else "predict"
    outcome = run(use, "m", "members.csv", "--output", "-")
    assert outcome.code == 0, outcome.err
    assert len(pd.read_csv(io.StringIO(outcome.out))) == len(table)
    if use == "predict":
        assert run("score", "m", "members.csv").code == 0
    assert run("inspect", "m").code == 0


def test_transformed_rows(run, table):
    for name in ("pca", "standard-scaler"):
        options = ("--features", "visits,vip,plan", "--model", name, "--save", name)
        assert run("fit", "members.csv", *options).code == 0
        run("transform", name, "members.csv", "--keep", "member", "--output", f"{name}.parquet")
    scaled = pd.read_parquet("standard-scaler.parquet")
    assert scaled.columns.tolist() == ["member", "visits", "vip", "plan_basic", "plan_full"]
    visits = table["visits"]
    np.testing.assert_allclose(scaled["visits"], (visits - visits.mean()) / visits.std(ddof=0))
    axes = pd.read_parquet("pca.parquet").drop(columns="member")
    centred = scaled[["visits", "vip", "plan_basic", "plan_full"]].to_numpy() * [
        visits.std(ddof=0), table["vip"].std(ddof=0), *[(table["plan"] == "full").std(ddof=0)] * 2
    ]  # fmt: skip
    _, values, _ = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(np.linalg.norm(axes, axis=0)[:3], values[:3], rtol=1e-9)


def test_what_cannot_be_scored_transformed_or_cross_validated(refused, run, table):
    run("fit", "members.csv", "--features", "visits", "--model", "standard-scaler", "--save", "s")
    assert "suffice transform" in refused("score", "s", "members.csv")
    assert "suffice transform" in refused("predict", "s", "members.csv", "--output", "p.csv")
    run(*FIT, "--model", "ridge", "--save", "m")
    assert "suffice predict" in refused("transform", "m", "members.csv", "--output", "p.csv")
    options = ("--target", "paid", "--features", "visits", "--model", "ridge")
    assert "--folds 1" in refused("cv", "members.csv", *options, "--folds", "1")
    assert "too few for 100 folds" in refused("cv", "members.csv", *options, "--folds", "100")
    assert "no target" in refused("cv", "members.csv", "--features", "visits", "--model", "pca")


def test_models_are_listed_whole_in_a_narrow_terminal(run, monkeypatch):
    monkeypatch.setattr("suffice.cli.show.width", lambda: 80)
    shown = run("models").out
    assert "…" not in shown
    assert all(entry.name in shown for entry in suffice.catalogue.models())
    assert max(map(len, shown.splitlines())) <= 80
