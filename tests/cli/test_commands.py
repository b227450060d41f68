"""Every command against the same thing done in Python."""

from __future__ import annotations

import io
import json
import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import suffice
from suffice.cli import rows as cli_rows
from suffice.cli.choices import column_names, find_model, literal, parameters
from tests.cli.conftest import write_csv


def fitted(rows, model=None, weight=False):
    model = model or suffice.Ridge(alpha=2.0)
    return model.fit(rows[:, :2], rows[:, 2], sample_weight=rows[:, 3] if weight else None)


# --- fit ----------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["rides.csv", "parts", "parts/*.csv", "parts/a.csv parts/b.csv"])
def test_fit_has_the_bits_of_python(run, rides, data):
    outcome = run(
        "fit", *data.split(), "--target", "fare", "--features", "miles,night",
        "--model", "ridge", "--set", "alpha=2", "--save", "m.safetensors",
    )  # fmt: skip
    assert outcome.code == 0
    assert outcome.err == ""
    first, second, *shown, score, last = outcome.out.splitlines()
    assert first.startswith("Ridge(alpha=2.0) learned from 300 rows of 2 columns in ")
    assert second.startswith("holds: ")
    assert last == "saved to m.safetensors"
    model = suffice.load("m.safetensors")
    numbers = dict(line.split() for line in shown[2:])
    expected = dict(
        zip(("intercept", "miles", "night"), (model.intercept_, *model.coef_), strict=True)
    )
    assert numbers == {name: f"{value:.6g}" for name, value in expected.items()}
    assert re.fullmatch(r"R² 0\.9\d+ ± 0\.0\d+ on held-out rows \(5-fold .*\)", score)
    np.testing.assert_array_equal(model.coef_, fitted(rides).coef_)
    assert list(model.feature_names_in_) == ["miles", "night"]


def test_fit_with_weights_no_intercept_threads_and_all_other_columns(run, rides):
    outcome = run(
        "fit", "rides.csv", "--target", "fare", "--weight", "trips", "--model", "LinearRegression",
        "--set", "fit_intercept=false", "--save", "m", "--threads", "1", "--json",
    )  # fmt: skip
    document = outcome.json
    assert document["model"] == "LinearRegression"
    assert document["parameters"]["fit_intercept"] is False
    assert (document["rows"], document["columns"], document["saved"]) == (300, 2, "m")
    assert document["certificate"]["holds"] is True
    assert document["warnings"] == []
    expected = fitted(rides, suffice.LinearRegression(fit_intercept=False), weight=True)
    np.testing.assert_array_equal(suffice.load("m").coef_, expected.coef_)


def test_fit_of_several_targets(run, rides):
    run(
        "fit", "rides.csv", "--target", "fare", "--target", "trips", "--model", "ridge",
        "--save", "m",
    )  # fmt: skip
    assert suffice.load("m").coef_.shape == (2, 2)
    outcome = run("predict", "m", "rides.csv", "--output", "-")
    table = pyarrow.csv.read_csv(io.BytesIO(outcome.out.encode()))
    assert table.column_names == ["prediction_0", "prediction_1"]


def test_an_existing_model_is_replaced_and_a_failed_fit_leaves_it(run, refused, rides, model_file):
    before = model_file.read_bytes()
    refused("fit", "rides.csv", "--target", "nothing", "--model", "ridge", "--save", model_file)
    assert model_file.read_bytes() == before
    run("fit", "rides.csv", "--target", "fare", "--model", "ridge", "--save", model_file)
    assert model_file.read_bytes() != before


def test_threads_are_set_for_the_command_only(run, rides):
    run("fit", "rides.csv", "--target", "fare", "--model", "ridge", "--save", "m", "--threads", "1")
    assert repr(suffice.config()) == "config(threads=None)"


# --- names and values -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["LinearRegression", "linear-regression", "linear_regression", "linearregression",
     "linear regression", "LINEAR-REGRESSION"],
)  # fmt: skip
def test_models_in_any_spelling(name):
    assert find_model(name).name == "LinearRegression"


def test_every_model_of_the_catalogue_is_found_by_its_name():
    for entry in suffice.catalogue.models():
        assert find_model(entry.name) == entry


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2), ("2.5", 2.5), ("1e-3", 1e-3), ("true", True), ("False", False), ("null", None),
        ("None", None), ("[1, 2]", [1, 2]), ("(3, 4)", (3, 4)), ('"x y"', "x y"), ("auto", "auto"),
        ("inf", float("inf")), ("", ""), ("1_000", 1000), ("[" * 5000, "[" * 5000),
        ("__import__('os')", "__import__('os')"), ("9" * 5000, "9" * 5000), ('{"a": 1}', {"a": 1}),
    ],
)  # fmt: skip
def test_literals(text, value):
    assert literal(text) == value
    assert type(literal(text)) is type(value)


def test_values_are_read_by_the_parameters_kind():
    settings = [
        "alpha=2", "fit-intercept=0", "max_iter=10", "solver=auto", "tol=1", "random_state=none",
        "standardize=Yes",
    ]  # fmt: skip
    values = parameters(suffice.Ridge, settings)
    assert values == {
        "alpha": 2.0, "fit_intercept": False, "max_iter": 10, "solver": "auto", "tol": 1.0,
        "random_state": None, "standardize": True,
    }  # fmt: skip
    assert type(values["alpha"]) is float
    assert values["fit_intercept"] is False
    assert parameters(suffice.Ridge, ["alpha=[1, 2.5]"]) == {"alpha": [1, 2.5]}


def test_columns_with_commas():
    assert column_names(None) is None
    assert column_names(["a,b", "c"]) == ["a", "b", "c"]
    assert column_names(['"a,b", c']) == ["a,b", "c"]
    with pytest.raises(ValueError, match="missing"):
        column_names(["a,,b"])


# --- predict --------------------------------------------------------------------------------


READERS = {
    "csv": pyarrow.csv.read_csv,
    "parquet": pq.read_table,
    "arrow": pa.feather.read_table,
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("data", ["rides.csv", "parts"])
def test_predictions_have_the_bits_of_python(run, rides, model_file, kind, data):
    outcome = run("predict", model_file, data, "--output", f"p.{kind}")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == f"300 rows written to p.{kind}\n"
    table = READERS[kind](f"p.{kind}")
    assert table.column_names == ["prediction"]
    np.testing.assert_array_equal(
        table["prediction"].to_numpy(), fitted(rides).predict(rides[:, :2])
    )


def test_predictions_on_standard_output_and_as_a_report(run, rides, model_file):
    outcome = run("predict", model_file, "rides.csv", "--output", "-")
    lines = outcome.out.splitlines()
    assert lines[0] == "prediction"
    np.testing.assert_array_equal(
        [float(line) for line in lines[1:]], fitted(rides).predict(rides[:, :2])
    )
    report = run("predict", model_file, "rides.csv", "--output", "p.csv", "--json").json
    assert report == {"rows": 300, "output": "p.csv", "notes": [], "warnings": []}


def test_predictions_need_no_target_and_mind_no_other_columns(run, folder, model_file):
    (folder / "new.csv").write_text("night,name,miles\n1,x,2.0\n0,y,3.0\n")
    outcome = run("predict", model_file, "new.csv", "--output", "-")
    rows = pa.table({"miles": [2.0, 3.0], "night": [1, 0]})
    expected = suffice.load(model_file).predict(rows)
    assert [float(line) for line in outcome.out.splitlines()[1:]] == expected.tolist()


def test_a_model_without_names_takes_columns_by_position_or_by_choice(run, refused, rides, folder):
    fitted(rides).save("m")
    message = refused("predict", "m", "rides.csv", "--output", "p.csv")
    assert "4 features" in message
    assert run(
        "predict", "m", "rides.csv", "--output", "p.csv", "--features", "miles,night"
    ).code == 0  # fmt: skip


def test_many_blocks_come_in_the_rows_order(run, model_file, folder, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150_000, 2))
    pq.write_table(pa.table({"miles": X[:, 0], "night": X[:, 1]}), "many.parquet")
    monkeypatch.setattr("suffice.cli.predictions.CELLS_WRITTEN_AT_ONCE", 70_000)
    for threads in (1, 2):
        outcome = run(
            "predict", model_file, "many.parquet", "--output", "p.parquet", "--threads", threads
        )
        assert outcome.code == 0
        found = pq.read_table("p.parquet")["prediction"].to_numpy()
        np.testing.assert_array_equal(found, suffice.load(model_file).predict(suffice.scan(
            "many.parquet", features=["miles", "night"]
        )))  # fmt: skip
    assert 1 < pq.ParquetFile("p.parquet").num_row_groups < 5
    assert sorted(os.listdir()) == sorted(
        ["m.safetensors", "many.parquet", "p.parquet", "parts", "rides.csv"]
    )


def test_labels_and_probabilities(run, refused, folder):
    rows = [
        "x,z,kind",
        "1,2,größe",
        "1.5,2.5,größe",
        "8,1,no",
        "9,1.5,no",
        '9,0,"a,b"',
        '7,-3,"a,b"',
    ]
    (folder / "kinds.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert (
        run("fit", "kinds.csv", "--target", "kind", "--model", "gaussian-nb", "--save", "m").code
        == 0
    )
    model = suffice.load("m")
    source = suffice.scan("kinds.csv", features=["x", "z"])
    run("predict", "m", "kinds.csv", "--output", "p.csv")
    assert READERS["csv"]("p.csv")["prediction"].to_pylist() == model.predict(source).tolist()
    run("predict", "m", "kinds.csv", "--output", "p.parquet", "--proba")
    table = pq.read_table("p.parquet")
    assert table.column_names == ["probability_a,b", "probability_größe", "probability_no"]
    found = np.column_stack([column.to_numpy() for column in table.columns])
    np.testing.assert_array_equal(found, model.predict_proba(source))
    assert "classes" in run("inspect", "m").out
    assert run("inspect", "m", "--json").json["classes"] == ["a,b", "größe", "no"]


def test_models_that_need_no_target_and_predict_nothing(run, refused, rides):
    options = ("--features", "miles,night", "--model", "pca", "--save", "m")
    assert run("fit", "rides.csv", *options).code == 0
    assert "PCA predicts nothing" in refused("predict", "m", "rides.csv", "--output", "p.csv")


# --- the algebra ------------------------------------------------------------------------------


def test_merge_update_forget_and_refit(run, rides, folder):
    options = ("--target", "fare", "--features", "miles,night", "--model", "ridge")
    for part in "ab":
        assert run("fit", f"parts/{part}.csv", *options, "--save", part).code == 0
    whole = fitted(rides, suffice.Ridge())

    assert "merged from 2 models" in run("merge", "a", "b", "--save", "ab").out
    merged = suffice.load("ab")
    np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-13)

    outcome = run("update", "a", "parts/b.csv", "--target", "fare", "--save", "a+b")
    assert "learned 180 more rows" in outcome.out
    np.testing.assert_allclose(suffice.load("a+b").coef_, whole.coef_, rtol=1e-13)

    outcome = run("forget", "ab", "parts/b.csv", "--target", "fare", "--save", "ab")
    assert "forgot 180 rows" in outcome.out
    np.testing.assert_allclose(suffice.load("ab").coef_, suffice.load("a").coef_, rtol=1e-9)

    document = run("refit", "a+b", "--set", "alpha=2", "--save", "stronger", "--json").json
    assert document["parameters"]["alpha"] == 2.0
    assert document["statistic"]["rows"] == 300
    np.testing.assert_allclose(suffice.load("stronger").coef_, fitted(rides).coef_, rtol=1e-13)


def test_what_cannot_be_forgotten_merged_or_refitted(refused, run, rides, model_file):
    everything = ("forget", model_file, "rides.csv", "--target", "fare", "--save", "x")
    assert "no row would stay" in refused(*everything)
    part = ("forget", model_file, "parts/a.csv", "--target", "fare", "--save", "x")
    assert "digits" in refused(*part, "--digits", "17")
    run("refit", model_file, "--set", "alpha=5", "--save", "other")
    assert "alpha" in refused("merge", model_file, "other", "--save", "x")
    assert "alpha" in refused("refit", model_file, "--save", "x")
    assert "solver" in refused("refit", model_file, "--set", "solver=svd", "--save", "x")
    assert not os.path.exists("x")


# --- looking ----------------------------------------------------------------------------------


def test_inspect(run, rides, model_file):
    outcome = run("inspect", model_file)
    model = suffice.load(model_file)
    assert outcome.out.startswith("Ridge\n")
    assert str(model.certificate_) in outcome.out
    assert str(model.trace_) in outcome.out
    assert "Moments of 300 rows in double-double" in outcome.out
    assert "2: miles, night" in outcome.out
    document = run("inspect", model_file, "--json").json
    assert document["parameters"]["alpha"] == 2.0
    assert document["certificate"]["measures"] == dict(model.certificate_.measures)
    assert document["trace"][0]["step"] == "moments in double-double"
    assert document["statistic"] == {
        "kind": "Moments", "rows": 300, "columns": 2, "precision": "double-double",
        "bytes": model.statistics_.nbytes,
    }  # fmt: skip
    assert (document["columns"], document["features"]) == (2, ["miles", "night"])


def test_inspect_a_model_that_kept_no_statistic(run, folder):
    rng = np.random.default_rng(0)
    model = suffice.Ridge().fit(rng.normal(size=(20, 200)), rng.normal(size=20))
    model.save("wide")
    assert "none was kept" in run("inspect", "wide").out
    assert run("inspect", "wide", "--json").json["statistic"] is None


def test_models(run):
    names = [entry.name for entry in suffice.catalogue.models()]
    shown = run("models").out
    assert all(name in shown for name in names)
    listed = run("models", "--json").json["models"]
    assert [entry["name"] for entry in listed] == names
    assert listed[0]["merge"] is True


def test_warm(run, monkeypatch):
    from suffice.kernels.compiler import compile as compiler

    def pretend(progress):
        progress(0, 1, "suffice.kernels.sums.exact.one")
        progress(1, 1, "")
        return [compiler.Warmed("suffice.kernels.sums.exact.one", 0.25, 1, 0)]

    monkeypatch.setattr(compiler, "warm", pretend)
    assert run("warm").out == "1 kernels: 1 compiled, 0 loaded, 0.2 s\n"
    assert run("warm", "--json").json["kernels"] == [
        {"name": "suffice.kernels.sums.exact.one", "seconds": 0.25, "compiled": 1, "loaded": 0}
    ]


def test_version_and_help(run):
    assert run("--version").out == f"suffice {suffice.__version__}\n"
    commands = ["fit", "predict", "inspect", "merge", "forget", "update", "refit", "models", "warm"]
    for arguments in ([], ["--help"], ["-h"]):
        text = run(*arguments).out
        assert all(command in text for command in commands)
    for command in commands:
        outcome = run(command, "--help")
        assert outcome.code == 0
        assert "--json" in outcome.out


# --- warnings and progress ----------------------------------------------------------------------


def test_a_certificate_that_does_not_hold_is_one_line_of_warning(run, folder):
    noise = np.random.default_rng(0)
    x = noise.uniform(1, 2, 30)
    X = np.column_stack([x, x + noise.integers(-100, 101, 30) * 2.0**-52])
    write_csv(folder / "near.csv", np.column_stack([X, noise.standard_normal(30)]), "a,b,y")
    command = ("fit", "near.csv", "--target", "y", "--model", "linear-regression", "--save", "m")
    outcome = run(*command)
    assert outcome.code == 0
    warning = outcome.err.removeprefix("warning: ").removesuffix("\n")
    assert warning.startswith("LinearRegression: ")
    assert "too nearly dependent" in warning
    assert "\n" not in warning
    assert "DOES NOT HOLD" in outcome.out
    assert run(*command, "--json").json["warnings"] == [warning]


def test_a_bar_counts_the_rows_of_every_pass(monkeypatch, rides):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(cli_rows, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    source = suffice.scan("rides.csv", target="fare")
    with cli_rows.progress(source, "fitting") as watched:
        assert watched.n_rows is None
        assert sum(piece.n_rows for piece in watched.pieces()) == 300
        assert watched.n_rows == watched.count_rows() == 300
        next(watched.pieces())
    assert "fitting" in screen.getvalue()
    assert "300 rows" in screen.getvalue()
    assert "pass 2" in screen.getvalue()
    assert repr(watched) == repr(suffice.scan("rides.csv", target="fare")).replace("unknown", "300")


def test_no_bar_without_a_terminal_or_before_a_second(monkeypatch, rides):
    source = suffice.scan("rides.csv", target="fare")
    with cli_rows.progress(source, "fitting") as watched:
        assert watched is source
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", screen)
    with cli_rows.progress(source, "fitting") as watched:
        assert sum(piece.n_rows for piece in watched.pieces()) == 300
    assert screen.getvalue() == ""


def test_json_has_no_numbers_that_json_lacks(run, rides, model_file):
    def refuse(word):
        raise AssertionError(word)

    json.loads(run("inspect", model_file, "--json").out, parse_constant=refuse)
