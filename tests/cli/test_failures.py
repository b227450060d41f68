"""Whatever is wrong with the input: exit code 2, one line, and nothing left behind."""

from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import suffice
from suffice.cli.running import describe, one_line

FIT = ("--target", "fare", "--model", "ridge", "--save", "new")


@pytest.fixture(autouse=True)
def _nothing_left(folder):
    yield
    assert not (folder / "new").exists()
    assert not list(folder.glob(".suffice*"))


@pytest.fixture
def model(rides, model_file) -> str:
    return model_file.name


def test_unknown_models_get_the_nearest_names(refused, rides):
    options = ("--target", "fare", "--save", "new")
    assert "did you mean Ridge or KernelRidge?" in refused(
        "fit", "rides.csv", *options, "--model", "rigde"
    )
    message = refused("fit", "rides.csv", *options, "--model", "linear-regresion")
    assert "did you mean LinearRegression" in message
    assert "suffice models" in refused("fit", "rides.csv", *options, "--model", "%$!")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("alhpa=1", ["no parameter 'alhpa'", "did you mean alpha?", "fit_intercept"]),
        ("alpha", ["name=value"]),
        ("=3", ["name=value"]),
        ("alpha=-1", ["alpha", "-1"]),
        ("alpha=true", ["alpha", "'true'"]),
        ("alpha=much", ["alpha", "'much'"]),
        ("fit_intercept=maybe", ["fit_intercept", "true or false", "'maybe'"]),
        ("solver=magic", ["solver", "'magic'"]),
        ("max_iter=1.5", ["max_iter", "1.5"]),
        ("alpha=__import__('os').mkdir('new')", ["alpha"]),
    ],
)
def test_wrong_parameters(refused, rides, setting, words):
    message = refused("fit", "rides.csv", *FIT, "--set", setting)
    assert all(word in message for word in words), message


def test_a_parameter_twice(refused, rides):
    message = refused("fit", "rides.csv", *FIT, "--set", "alpha=1", "--set", "alpha=2")
    assert "twice" in message


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit"],
        ["fit", "rides.csv"],
        ["fit", "rides.csv", "--model", "ridge"],
        ["fit", "rides.csv", *FIT, "--nonsense"],
        ["fit", "rides.csv", *FIT, "--threads", "many"],
        ["fit", "rides.csv", *FIT, "--threads", "0"],
        ["fit", "rides.csv", *FIT, "--features", "miles,,night"],
        ["fit", "rides.csv", "--model", "ridge", "--save", "new"],
        ["predict", "rides.csv"],
        ["inspect"],
        ["merge", "--save", "new"],
        ["fiit"],
        ["--nonsense"],
    ],
    ids=" ".join,
)
def test_wrong_usage(refused, rides, arguments):
    refused(*arguments)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["bad.csv", "empty"]),
        (b"miles,night,fare\n", ["no rows"]),
        (b"miles,night,fare\n1,2,3\n1,2\n", ["bad.csv", "values"]),
        (b"miles,night,fare\n1,2,\n1,3,\n", ["no row", "fare"]),
        (b"a,b,fare\nx,,3\ny,,4\nz,,4\n", ["no column is left", "--features"]),
        (b"1.5,2,3\n1,2,3\n", ["first line", "--no-header"]),
        (b"miles,night,fare\n1,inf,3\n", ["night", "inf"]),
        (b"miles,night,price\n1,2,3\n", ["'fare'", "'price'"]),
        (b"miles,night,fare\n1,2,a\n", ["target", "'fare'", "text", "classifier"]),
        (bytes(range(256)) * 4, ["bad.csv"]),
    ],
)
def test_bad_rows(refused, folder, content, words):
    Path("bad.csv").write_bytes(content)
    message = refused("fit", "bad.csv", *FIT)
    assert all(word in message for word in words), message


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1" + bytes(500), b"PAR1" * 100, b""])
def test_damaged_parquet(refused, folder, content):
    Path("bad.parquet").write_bytes(content)
    assert "bad.parquet" in refused("fit", "bad.parquet", *FIT)


def test_missing_files_and_folders(refused, rides, model):
    assert "nowhere.csv" in refused("fit", "nowhere.csv", *FIT)
    assert "nothing/*.csv" in refused("fit", "nothing/*.csv", *FIT)
    os.mkdir("hollow")
    assert "hollow" in refused("fit", "hollow", *FIT)
    assert "none" in refused("predict", "none", "rides.csv", "--output", "p.csv")
    assert "nowhere.csv" in refused("predict", model, "nowhere.csv", "--output", "p.csv")
    assert "directory" in refused("inspect", ".")
    assert not os.path.exists("p.csv")


def test_outputs_are_checked_before_any_row_is_read(refused, folder, model):
    for place in ("missing/m", "rides.csv/m", ".", "parts", "new/"):
        options = ("--target", "fare", "--model", "ridge", "--save", place)
        assert "no_such" not in refused("fit", "no_such.csv", *options)
        assert "no_such" not in refused("merge", "no_such", "--save", place)
        assert "no_such" not in refused("refit", "no_such", "--save", place)
    for place in ("missing/p.csv", "p.xlsx", "p"):
        assert "no_such" not in refused("predict", "no_such", "no_such.csv", "--output", place)


def test_folders_that_may_not_be_written(refused, rides, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *args, **kwargs: False)  # root may write anywhere
    message = refused("fit", "no_such.csv", *FIT)
    assert "Permission denied" in message


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads and writes anything"
)
def test_unreadable_files(refused, rides, model):
    os.chmod("rides.csv", 0)
    assert "Permission denied" in refused("fit", "rides.csv", *FIT)
    os.chmod(model, 0)
    assert "Permission denied" in refused("inspect", model)


def test_damaged_and_foreign_models(refused, rides, model):
    content = Path(model).read_bytes()
    for name, damaged in {
        "cut": content[:-100],
        "altered": content[:-1] + bytes([content[-1] ^ 1]),
        "pickle": pickle.dumps(suffice.Ridge()),
        "rides": Path("rides.csv").read_bytes(),
        "nothing": b"",
    }.items():
        Path(name).write_bytes(damaged)
        assert name in refused("inspect", name)
        assert name in refused("predict", name, "rides.csv", "--output", "p.csv")
        assert name in refused("merge", model, name, "--save", "new")
    assert not os.path.exists("p.csv")


def test_columns_that_the_model_does_not_find(refused, model):
    Path("other.csv").write_text("miles,day\n1,2\n")
    assert "'night'" in refused("predict", model, "other.csv", "--output", "p.csv")
    assert "'night'" in refused("update", model, "other.csv", "--target", "day", "--save", "new")
    message = refused("predict", model, "other.csv", "--output", "p.csv", "--features", "miles")
    assert "night" in message
    assert not os.path.exists("p.csv")


def test_bad_rows_while_predicting_leave_the_old_predictions(refused, model):
    Path("p.csv").write_text("old")
    rows = ["miles,night"] + ["1.0,0"] * 200_000 + [",1"]
    Path("late.csv").write_text("\n".join(rows) + "\n")
    message = refused("predict", model, "late.csv", "--output", "p.csv")
    assert "miles" in message
    assert "line 200002 " in message
    assert Path("p.csv").read_text() == "old"


def test_probabilities_and_json_where_there_can_be_none(refused, model):
    assert "--proba" in refused("predict", model, "rides.csv", "--output", "p.csv", "--proba")
    Path("p.csv").write_text("old")
    assert Path("p.csv").read_text() == "old"


def test_json_and_predictions_cannot_share_the_output(run, model):
    outcome = run("predict", model, "rides.csv", "--output", "-", "--json")
    assert outcome.code == 2
    assert "standard output" in outcome.json["error"]


def test_options_may_be_file_names_after_two_dashes(run, rides, model):
    outcome = run("inspect", "--", "--json")
    assert outcome.out == ""
    assert outcome.err == "error: '--json': No such file or directory\n"


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_full_disk_is_one_line_and_leaves_nothing(run, model, monkeypatch, kind, step):
    from suffice.fitting.files import storage

    def fail(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class FullDisk:
        def __init__(self, *args, **kwargs):
            self.file = open(*args, **kwargs)  # noqa: SIM115

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            self.file.close()

        write = flush = fail

    if step == "write":
        monkeypatch.setattr(
            storage,
            "open",
            lambda name, mode, **more: (FullDisk if mode == "xb" else open)(name, mode, **more),
            raising=False,
        )
    else:
        monkeypatch.setattr(os, step, fail)
    before = sorted(os.listdir())
    commands = [
        ("predict", model, "rides.csv", "--output", f"p.{kind}"),
        ("fit", "rides.csv", *FIT),
        ("refit", model, "--set", "alpha=7", "--save", model),
    ]
    content = Path(model).read_bytes()
    for command in commands:
        outcome = run(*command)
        assert outcome.code == 2
        assert outcome.err == f"error: {command[-1]!r}: No space left on device\n"
    assert sorted(os.listdir()) == before
    assert Path(model).read_bytes() == content


# --- what is not the input's fault ----------------------------------------------------------------


def test_faults_are_one_line_too_and_debug_shows_where(run, monkeypatch, rides):
    def broken(*args, **kwargs):
        raise KeyError("no such thing\nat all")

    monkeypatch.setattr("suffice.cli.app.open_rows", broken)
    outcome = run("fit", "rides.csv", *FIT)
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert "KeyError" in outcome.err
    outcome = run("fit", "rides.csv", *FIT, "--debug")
    assert outcome.code == 1
    assert outcome.err.startswith("Traceback")
    assert "in broken" in outcome.err


def test_no_memory(run, monkeypatch, rides):
    def hungry(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr("suffice.cli.app.open_rows", hungry)
    assert run("fit", "rides.csv", *FIT).err == "error: there is not enough memory\n"


def test_debug_shows_the_traceback_of_bad_input(run, rides):
    for arguments in (
        ["fit", "nowhere.csv", *FIT, "--debug"],
        ["--debug", "fit", "nowhere.csv", *FIT],
    ):
        outcome = run(*arguments)
        assert outcome.code == 2
        assert outcome.err.startswith("Traceback")
        assert outcome.err.splitlines()[-1].startswith("error: No file matches")


def test_an_interrupt_anywhere_is_one_line(run, monkeypatch, rides):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("suffice.cli.app.open_rows", interrupted)
    outcome = run("fit", "rides.csv", *FIT)
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "interrupted\n")
    assert run("fit", "rides.csv", *FIT, "--json").json == {"error": "interrupted"}
    monkeypatch.setattr("suffice.cli.running.run", interrupted)
    outcome = run("fit", "rides.csv", *FIT)
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "interrupted\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n  b\r\nc", "a b c"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("lone \udc80", "lone \\udc80"),
        ("größe 日本 🎲", "größe 日本 🎲"),
    ],
)
def test_one_line(text, line):
    assert one_line(text) == line


def test_errors_are_described():
    assert describe(FileNotFoundError(2, "No such file", "a")) == "'a': No such file"
    assert describe(FileNotFoundError(2, "No such file", b"a")) == "'a': No such file"
    assert describe(OSError("strange")) == "strange"
    assert describe(OSError(5, "Input/output error")) == "Input/output error"
    assert describe(ValueError()) == "ValueError"


def test_data_are_not_overwritten(refused, rides, model, folder):
    before = Path("rides.csv").read_bytes()
    os.symlink("rides.csv", "link.csv")
    for name in ("rides.csv", f"../{folder.name}/rides.csv", "link.csv"):
        message = refused("predict", model, "rides.csv", "--output", name)
        assert "one of the files to be read" in message
        options = ("--target", "fare", "--save", name)
        for command in (("fit", "--model", "ridge"), ("update", model), ("forget", model)):
            assert "to be read" in refused(*command, "rides.csv", *options)
    assert Path("rides.csv").read_bytes() == before
    assert Path("link.csv").is_symlink()


def test_values_that_json_has_no_word_for():
    from suffice.cli.show import jsonable

    values = {"a": np.float32(0.5), "b": np.array([1, 2]), "c": float("nan"), 4: (1, None)}
    assert jsonable(values) == {"a": 0.5, "b": [1, 2], "c": None, "4": [1, None]}
    assert jsonable(suffice.Ridge()) == "Ridge()"
