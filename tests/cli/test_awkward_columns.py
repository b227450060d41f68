"""Columns of awkward types: copied as they are, left out, or in a note that says what helps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice.cli.spellings import Spellings

FIT = ("--target", "y", "--model", "ridge", "--folds", "0", "--save", "m")


@pytest.fixture
def typed(folder) -> pa.Table:
    """Columns of many types in a Parquet file of two row groups."""
    n = 40
    days = pd.date_range("2020-01-01", periods=n).date
    table = pa.table(
        {
            "x": np.arange(n) / 7,
            "day": pa.array(days, pa.date32()),
            "flag": [i % 3 == 0 for i in range(n)],
            "y": np.arange(n) ** 0.5,
            "big": pa.array([2**53 + i for i in range(n - 1)] + [None], pa.int64()),
            "tags": pa.array([["a"]] * n),
            "wait": pa.array(range(n), pa.duration("s")),
            "kind": pa.array(["u", "v"] * (n // 2)).dictionary_encode(),
        }
    )
    pq.write_table(table, "typed.parquet", row_group_size=25)
    return table


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_kept_columns_of_parquet_keep_their_types(run, typed, suffix):
    assert run("fit", "typed.parquet", *FIT, "--features", "x,day,flag").code == 0
    keep = ["big", "day", "flag", "kind", "tags"]
    outcome = run(
        "predict", "m", "typed.parquet", "--keep", ",".join(keep), "--output", f"p.{suffix}"
    )
    assert outcome.code == 0, outcome.err
    table = pq.read_table("p.parquet") if suffix == "parquet" else pa.ipc.open_file("p.arrow")
    found = table if suffix == "parquet" else table.read_all()
    plain = typed.set_column(7, "kind", typed["kind"].cast(pa.string()))
    assert found.drop(["prediction"]).equals(plain.select(keep))


def test_kept_columns_go_beside_their_rows_whatever_their_number(run, refused, typed):
    n = 300_000
    long = pa.table({"x": np.arange(n) % 1000 / 8, "id": np.arange(n), "y": np.arange(n) % 1000})
    pq.write_table(long, "long.parquet", row_group_size=70_001)
    fit = ("fit", "long.parquet", *FIT, "--features", "x", "--set", "alpha=0")
    assert run(*fit).code == 0
    files = ("long.parquet", "typed.parquet")
    assert "typed.parquet' has no column of that name" in refused(
        "predict", "m", *files, "--keep", "id", "--output", "p.parquet"
    )
    run("predict", "m", *files[:1], *files[:1], "--keep", "id,x", "--output", "p.parquet")
    found = pq.read_table("p.parquet")
    np.testing.assert_array_equal(found["id"], np.tile(np.arange(n), 2))
    np.testing.assert_allclose(found["prediction"], 8 * found["x"].to_numpy(), atol=1e-6)


def test_kept_cells_of_csv_keep_their_text(run, refused, folder):
    cells = ["01,2020-01-31,True,1.50", '"1,234,567",2020-02-01,False,NA', "03,,True,unknown"]
    rows = [f"{row},{i}" for i, row in enumerate(cells * 4)]
    Path("t.csv").write_text("\n".join(["code,day,flag,size,y", *rows]) + "\n")
    missing = ("--missing", "unknown")
    assert run("fit", "t.csv", *FIT, *missing, "--features", "code,day,flag").code == 0
    keep = ("--keep", "code,day,flag,size", *missing)
    assert run("predict", "m", "t.csv", *keep, "--output", "p.csv").code == 0
    found = pd.read_csv("p.csv", dtype=str, keep_default_na=False).drop(columns="prediction")
    written = pd.read_csv("t.csv", dtype=str, keep_default_na=False).drop(columns="y")
    pd.testing.assert_frame_equal(found, written)
    message = refused("predict", "m", "t.csv", "--keep", "nope", "--output", "p.csv")
    assert message.startswith("error: --keep 'nope': ")
    assert message.endswith("no column of that name; it has 'code', 'day', 'flag', 'size', 'y'\n")
    assert "more than once" in refused(
        "predict", "m", "t.csv", "--keep", "y,y", "--output", "p.csv"
    )


def test_kept_lists_cannot_be_csv(refused, run, typed):
    run("fit", "typed.parquet", *FIT, "--features", "x")
    message = refused("predict", "m", "typed.parquet", "--keep", "tags", "--output", "p.csv")
    assert "write a .parquet file" in message
    assert "list" in message


def test_columns_of_unsupported_types_are_left_out(run, refused, typed):
    fit = ("fit", "typed.parquet", *FIT)
    outcome = run(*fit)
    assert outcome.code == 0, outcome.err
    left = [line for line in outcome.err.splitlines() if "left out" in line]
    assert left == [
        "note: column 'tags' is left out: values of type list<element: string> are no features",
        "note: column 'wait' is left out: values of type duration[s] are no features",
    ]
    outcome = run(*fit, "--drop", "tags,wait,big", "--json")
    assert "left out" not in outcome.err
    assert outcome.json["columns"] == 5
    assert "'tags'" in refused(*fit, "--features", "x,tags")
    assert "'wait'" in refused("fit", "typed.parquet", *FIT, "--target", "wait")
    pq.write_table(typed.select(["tags", "y"]), "only.parquet")
    assert "is left to learn from" in refused("fit", "only.parquet", *FIT)
    assert "is left to learn from" in refused("fit", "only.parquet", *FIT, "--drop", "tags")


def test_text_that_is_almost_numbers_is_noted_with_what_mends_it(run, folder):
    n = 40
    columns = {
        "age": [*map(str, range(20, 20 + n - 2)), "unknown", "NA"],
        "income": [f'"{20 + i},000"' for i in range(n)],
        "rate": [f"{i}%" for i in range(n)],
        "size": [f'"{i},5"' if i % 9 == 8 else f"{i}.25" for i in range(n)],
        "grade": [*"ab" * (n // 4), *map(str, [7] * (n // 2))],
        "y": map(str, range(n)),
    }
    rows = [",".join(row) for row in zip(*columns.values(), strict=True)]
    Path("t.csv").write_text("\n".join([",".join(columns), *rows]) + "\n")
    outcome = run("fit", "t.csv", *FIT)
    assert outcome.code == 0, outcome.err
    taken = [line for line in outcome.err.splitlines() if "taken for text" in line]
    assert taken == [
        "note: column 'age' is taken for text: 38 of 39 cells are numbers, not 'unknown': "
        "--missing unknown",
        "note: column 'income' is taken for text: 40 of 40 cells are numbers, some are written "
        "as '20,000': --thousands ,",
        "note: column 'rate' is taken for text: 40 of 40 cells are numbers, some end in %, as '0%'",
        "note: column 'size' is taken for text: 40 of 40 cells are numbers, some are written as "
        "'17,5': --decimal ,",
    ]
    options = ("--missing", "unknown", "--thousands", ",", "--drop", "rate,size")
    outcome = run("fit", "t.csv", *FIT, *options)
    assert "taken for text" not in outcome.err
    assert "mean: age (2)" in outcome.err


def test_classes_that_may_mean_nothing_are_noted(run, folder):
    labels = ["yes", "no", "NA", "-", "no", "yes", "?", "NA", "yes", "no"] * 3
    rows = [f"{i % 7},{label}" for i, label in enumerate(labels)]
    Path("t.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    fit = ("fit", "t.csv", *FIT, "--model", "gaussian-nb")
    outcome = run(*fit)
    assert outcome.code == 0, outcome.err
    assert outcome.err == (
        "note: the target's '?' is taken for a class, in rows: 3 (--missing '?' would make it "
        "missing)\n"
        "note: the target's 'NA' is taken for a class, in rows: 6 (--missing NA would make it "
        "missing)\n"
    )
    outcome = run(*fit, "--missing", "NA,?")
    assert outcome.err == "note: rows without a target, left out: 9\n"
    assert run("inspect", "m", "--json").json["classes"] == ["-", "no", "yes"]


def test_unseen_values_count_as_the_reference_level_where_there_is_one(run, folder):
    rows = [f"{city},{i % 3},{i % 3 + len(city)}" for i, city in enumerate(["Ulm", "Rome"] * 9)]
    Path("t.csv").write_text("\n".join(["city,x,y", *rows]) + "\n")
    Path("new.csv").write_text("city,x\nOslo,1\n,1\nRome,1\nUlm,1\n")
    run("fit", "t.csv", *FIT, "--model", "linear-regression")
    outcome = run("predict", "m", "new.csv", "--output", "p.csv")
    assert outcome.err == (
        "note: cells of column 'city' with values that the fit did not see, which count as the "
        "reference level 'Rome': 2\n"
    )
    np.testing.assert_allclose(pd.read_csv("p.csv")["prediction"], [5, 5, 5, 4])


def test_messages_name_options_and_not_arguments_of_python(run, refused, typed):
    rows = [f"{i}.5,{i % 2},{i}" for i in range(9)]
    Path("t.csv").write_text("\n".join(["x,z,y", *rows]) + "\n")
    assert run("fit", "t.csv", *FIT).code == 0
    predict = ("--output", "p.csv")
    for cells, words in {
        "1.5,it's": "say --missing 'it'\"'\"'s' if",
        '1.5,"a, b"': "say --missing '\"a, b\"' if",
        '"1,500",1': "Give --decimal , or --thousands , (or another mark)",
        "1.5,": "fit to rows that have such gaps",
        "2020-01-31,1": "fitted on numbers in column 'x', but",
    }.items():
        Path("new.csv").write_text(f"x,z\n{cells}\n")
        message = refused("predict", "m", "new.csv", *predict)
        assert words in message, message
        assert "suffice." not in message
        assert "=" not in message
    assert refused("fit", "t.csv", *FIT, "--sep", "ab").startswith("error: --sep is 'ab'")
    assert "--features names" in refused("fit", "t.csv", *FIT, "--features", "x,x")
    assert "--thousands and --decimal" in refused("fit", "t.csv", *FIT, "--thousands", ".")


def test_parquet_columns_of_another_kind_than_in_the_fit(run, refused, typed):
    run("fit", "typed.parquet", *FIT, "--features", "x,day,kind")
    for place, name, values, words in (
        (0, "x", ["a"] * 40, "fitted on numbers in column 'x'"),
        (1, "day", range(40), "fitted on dates in column 'day'"),
        (7, "kind", range(40), "fitted on text in column 'kind'"),
    ):
        pq.write_table(typed.set_column(place, name, pa.array(values)), "new.parquet")
        message = refused("predict", "m", "new.parquet", "--output", "p.csv")
        assert words in message
        assert message.endswith(f"holds {'text' if name == 'x' else 'numbers'} there\n")
    pq.write_table(typed.set_column(7, "kind", pa.nulls(40)), "new.parquet")
    assert run("predict", "m", "new.parquet", "--output", "p.csv").code == 0


def test_what_the_rows_leave_open_is_a_dash_with_a_footnote(run, folder):
    rows = [f"{i % 5},{i % 5 * 2},{i * i % 7},{'uv'[i % 2]},{i % 5 + i % 3}" for i in range(30)]
    Path("t.csv").write_text("\n".join(["a,b,c,d,y", *rows]) + "\n")
    fit = ("fit", "t.csv", *FIT, "--model", "linear-regression")
    outcome = run(*fit)
    assert "note: text becomes 1 column of zeros and ones: d\n" in outcome.err
    table = {line.split()[0]: line.split()[1:] for line in outcome.out.splitlines()}
    assert table["a"][1:] == table["b"][1:] == ["—", "—"]
    footnote = "\n— is not determined by the rows: 3 of 4 columns are independent\n"
    assert footnote in outcome.out
    assert "nan" not in outcome.out + run("inspect", "m").out
    document = run("inspect", "m", "--json").json
    assert [one["accepted"] for one in document["trace"]] == [True]
    assert document["coefficients"][1]["std err"] is None
    outcome = run(*fit, "--drop", "a,d", "--set", "fit_intercept=false")
    table = {line.split()[0]: line.split()[1:] for line in outcome.out.splitlines()}
    assert table["intercept"] == ["0"]
    assert len(table["b"]) == 3
    assert "—" not in outcome.out


def test_spellings_of_parts_merge_to_those_of_the_whole():
    cells = sorted(["1", "2.5", "1,234", "7%", "8 %", "x", "v", "w", "u", "1,5", "NA", "-3e4"])
    whole = Spellings.summarize([*cells, None], range(13), ".")
    parts = [Spellings.summarize(cells[i::3], range(i, 12, 3), ".") for i in range(3)]
    assert Spellings.merge(parts) == Spellings.merge([whole, Spellings()]) == whole
    forms = {"number": "1 2.5 -3e4", "grouped": "1,234", "swapped": "1,5", "stray": "x v w u"}
    counts = {form: sum(map(cells.index, some.split())) for form, some in forms.items()}
    assert whole.counts == counts | {"percent": cells.index("7%") + cells.index("8 %")}
