"""All or nothing: whatever goes wrong, a model is as it was, fitted or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import suffice
from suffice import LinearRegression, Ridge
from suffice.sources.memory.arrays import ArraySource

MODELS = [LinearRegression(), Ridge(alpha=0.5)]


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def unfitted(request):
    return clone(request.param)


@pytest.fixture(params=["unfitted", "fitted"])
def model(request, unfitted):
    """A model before any fit, or one that was fitted to three named columns."""
    if request.param == "unfitted":
        return unfitted
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(50, 3)), columns=["x", "y", "z"])
    return unfitted.fit(frame, rng.normal(size=50), rng.uniform(size=50))


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, X @ [1.0, -2.0] + rng.normal(size=60)


@pytest.fixture(scope="module")
def million():
    """A million rows, one cell of which is missing."""
    X = np.random.default_rng(0).normal(size=(1_000_000, 2))
    y = X @ [1.0, 2.0]
    X[900_000, 1] = np.nan
    return X, y


# --- data ----------------------------------------------------------------------------------


def test_a_missing_cell_deep_in_an_array(model, million, unchanged):
    X, y = million
    with unchanged(model), pytest.raises(ValueError, match=r"NaN: column 1, row 900000"):
        model.fit(X, y)
    with unchanged(model), pytest.raises(ValueError, match=r"NaN: column 1, row 900000"):
        model.fit(np.asfortranarray(X), y)


def test_a_missing_cell_deep_in_files(model, million, unchanged, write_parquet):
    X, y = million
    files = suffice.scan(write_parquet({"a": X[:, 0], "b": X[:, 1], "t": y}), target="t")
    expected = r"NaN: column 'b', row 900000 .*which is row \d+ of .*part-2\.parquet"
    with unchanged(model), pytest.raises(ValueError, match=expected):
        model.fit(files)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pd", "pl", "pa"])
def test_a_missing_cell_in_a_frame(model, rows, unchanged, make):
    X, y = rows
    cells = X[:, 1].copy()
    cells[33] = np.nan
    with unchanged(model), pytest.raises(ValueError, match=r"NaN: column 'b', row 33 "):
        model.fit(make({"a": X[:, 0], "b": cells}), y)


@pytest.mark.parametrize("n_rows", [60, 300_000], ids=["small", "large"])
def test_squares_that_overflow(model, unchanged, n_rows):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_rows, 3)), rng.normal(size=n_rows)
    X[n_rows // 2, 1] = 1e200
    with unchanged(model), pytest.raises(ValueError, match=r"too large.*rescale"):
        model.fit(X, y)
    X[n_rows // 2, 1], y[n_rows // 2] = 1.0, -1e200
    with unchanged(model), pytest.raises(ValueError, match=r"too large.*rescale"):
        model.fit(X, y)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_target_that_is_not_finite(model, rows, unchanged, value):
    X, y = rows
    y[7] = value
    with unchanged(model), pytest.raises(ValueError, match=r"Input y contains (NaN|infinity)"):
        model.fit(X, y)
    with unchanged(model), pytest.raises(ValueError, match=r"Input y contains (NaN|infinity)"):
        model.fit(pd.DataFrame(X, columns=["a", "b"]), y)


@pytest.fixture(scope="module")
def lines_of_text(tmp_path_factory):
    """CSV files with a word among the numbers, too deep in the last for scan to see it."""
    folder = tmp_path_factory.mktemp("csv")
    for i, n_lines in enumerate([1000, 1000, 400_000]):
        lines = [f"{j},{j % 7},{j + i}" for j in range(n_lines)]
        if i == 2:
            lines[-2] = "1,oops,3"
        (folder / f"{i}.csv").write_text("a,b,t\n" + "\n".join(lines) + "\n")
    return suffice.scan(folder / "*.csv", target="t")


def test_text_in_the_last_file(model, lines_of_text, unchanged):
    with unchanged(model), pytest.raises(ValueError, match=r"Column 'b' of .*2\.csv' holds 'oops'"):
        model.fit(lines_of_text)


def test_a_file_that_changes_the_type_of_a_column(model, write_parquet, unchanged):
    columns = {"a": np.arange(1e4), "b": np.arange(1e4) % 7, "t": np.ones(10_000)}
    paths = write_parquet(columns)
    files = suffice.scan(paths, target="t")
    rows = pq.read_metadata(paths[2]).num_rows
    text = {"a": np.ones(rows), "b": ["text"] * rows, "t": np.ones(rows)}
    pq.write_table(pa.table(text), paths[2])
    with unchanged(model), pytest.raises(ValueError, match=r"part-2\.parquet"):
        model.fit(files)


def test_a_file_that_goes_away(model, write_parquet, unchanged):
    paths = write_parquet({"a": np.arange(1e4), "t": np.ones(10_000)})
    files = suffice.scan(paths, target="t")
    paths[1].unlink()
    with unchanged(model), pytest.raises((OSError, ValueError), match=r"part-1\.parquet"):
        model.fit(files)


@pytest.mark.parametrize("length", [0, 59, 61])
def test_a_target_of_another_length(model, rows, unchanged, length):
    X, y = rows
    wrong = np.resize(y, length)
    for data in (X, X.tolist(), pd.DataFrame(X, columns=["a", "b"])):
        with (
            unchanged(model),
            pytest.raises(ValueError, match=r"inconsistent|0 sample|length|rows"),
        ):
            model.fit(data, wrong)


def test_a_target_that_is_missing(model, rows, unchanged):
    X, _ = rows
    for data in (X, pd.DataFrame(X, columns=["a", "b"])):
        with unchanged(model), pytest.raises(ValueError, match="requires y to be passed"):
            model.fit(data)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(59), r"sample_weight"),
        (-np.ones(60), r"[Nn]egative"),
        (np.zeros(60), r"all weights .* are zero|zero"),
        (np.full(60, np.nan), r"NaN"),
        (np.ones((60, 2)), r"1D|dimension"),
    ],
    ids=["short", "negative", "zero", "NaN", "2-D"],
)
def test_bad_weights(model, rows, unchanged, weight, message):
    X, y = rows
    for data in (X, pd.DataFrame(X, columns=["a", "b"])):
        with unchanged(model), pytest.raises(ValueError, match=message):
            model.fit(data, y, weight)


@pytest.mark.parametrize(
    "X",
    [np.ones(60), np.ones((60, 2, 2)), np.empty((60, 0)), [["a", "b"]] * 60, np.ones((60, 2)) * 1j],
    ids=["1-D", "3-D", "no columns", "text", "complex"],
)
def test_rows_that_are_none(model, unchanged, X):
    with unchanged(model), pytest.raises(ValueError):
        model.fit(X, np.ones(60))


def test_a_path_is_not_rows(model, rows, unchanged):
    """It tells how files are read."""
    fitted = clone(model).fit(*rows)
    for path in ("rides.parquet", b"rides.parquet", Path("rides.parquet")):
        with unchanged(model), pytest.raises(TypeError, match=r"is the path .*scan\(path\)"):
            model.fit(path, rows[1])
        with unchanged(fitted), pytest.raises(TypeError, match=r"is the path .*scan\(path\)"):
            fitted.predict(path)


# --- parameters ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("alpha", -1), ("alpha", "1"), ("solver", "magic"), ("max_iter", 0), ("fit_intercept", 2)],
)
def test_a_bad_parameter(rows, unchanged, parameter, value):
    fitted = Ridge().fit(*rows)
    for model in (Ridge(), fitted):
        model.set_params(**{parameter: value})
        with unchanged(model), pytest.raises(ValueError, match=parameter):
            model.fit(*rows)


def test_penalties_that_do_not_fit_the_targets(rows, unchanged):
    """Seen only once the rows have been read."""
    for model in (Ridge(), Ridge().fit(*rows)):
        model.set_params(alpha=np.array([1.0, 2.0]))
        with unchanged(model), pytest.raises(ValueError, match="alpha must be one number or one"):
            model.fit(*rows)
        model.set_params(alpha=np.array([np.nan]))
        with unchanged(model), pytest.raises(ValueError, match="alpha must be finite"):
            model.fit(*rows)


# --- interruptions -------------------------------------------------------------------------


class Breaking(ArraySource):
    """Raises when a certain row is read."""

    def __init__(self, error, at: int = 200_000) -> None:
        X = np.random.default_rng(0).normal(size=(300_000, 3))
        super().__init__(X, X @ [1.0, 2.0, 3.0])
        self.error, self.at = error, at

    def rows(self, start, stop):
        if start <= self.at < stop:
            raise self.error
        return super().rows(start, stop)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), MemoryError("full"), SystemExit(3), OSError("unplugged")]
)
def test_an_interruption_while_reading(model, unchanged, threads, error):
    with unchanged(model), suffice.config(threads=threads), pytest.raises(type(error)) as caught:
        model.fit(Breaking(error))
    assert caught.value is error


@pytest.mark.skipif(os.name != "posix", reason="sends signals as POSIX does")
def test_control_c_in_earnest():
    code = """
import json, os, signal, threading, time
import numpy as np
from suffice import LinearRegression, Ridge
from suffice.sources.memory.arrays import ArraySource

class Slow(ArraySource):
    def rows(self, start, stop):
        time.sleep(0.05)
        return super().rows(start, stop)

X = np.random.default_rng(0).normal(size=(2_000_000, 2))
y = X @ [1.0, 2.0]
slow = Slow(X, y)
answers = []
for fresh in (Ridge(), LinearRegression(n_jobs=2)):
    for fitted in (False, True):
        model = fresh.fit(X[:50], y[:50]) if fitted else fresh
        before = dict(vars(model))
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        try:
            model.fit(slow)
        except KeyboardInterrupt:
            soon = time.monotonic() - began < 4  # the whole fit takes more than six
            same = set(vars(model)) == set(before)
            same = same and all(vars(model)[k] is v for k, v in before.items())
            answers.append([soon, same, model.fit(X[:99], y[:99]).coef_.round(1).tolist()])
            for name in set(vars(model)) - set(model.get_params()):
                delattr(model, name)
print(json.dumps(answers))
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == [[True, True, [1.0, 2.0]]] * 4


# --- what is asked of a fitted model -------------------------------------------------------


@pytest.mark.parametrize("ask", ["predict", "score"])
def test_other_columns_than_in_the_fit(unfitted, rows, unchanged, write_parquet, ask):
    X, y = rows
    model = unfitted.fit(X, y)
    arguments = () if ask == "predict" else (y,)
    expected = r"X has 3 features, but \w+ is expecting 2 features as input"
    wide = np.ones((60, 3))
    for data in (wide, wide.tolist()):
        with unchanged(model), pytest.raises(ValueError, match=expected):
            getattr(model, ask)(data, *arguments)
    columns = {"a": wide[:, 0], "b": wide[:, 1], "c": wide[:, 2], "t": wide[:, 0]}
    files = suffice.scan(write_parquet(columns), target="t")
    with unchanged(model), pytest.raises(ValueError, match=expected):
        getattr(model, ask)(files)


def test_rows_to_predict_that_are_not_finite(unfitted, rows, unchanged, write_parquet):
    X, y = rows
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = unfitted.fit(frame, y)
    frame.loc[12, "b"] = np.nan
    with unchanged(model), pytest.raises(ValueError, match=r"NaN: column 'b', row 12 "):
        model.predict(frame)
    files = suffice.scan(write_parquet({"a": frame["a"], "b": frame["b"], "t": y}), target="t")
    with unchanged(model), pytest.raises(ValueError, match=r"NaN: column 'b', row 12 "):
        model.score(files)


def test_nothing_can_be_asked_of_an_unfitted_model(unfitted, rows, unchanged, write_parquet):
    X, y = rows
    files = suffice.scan(write_parquet({"a": X[:, 0], "t": y}), target="t")
    for call in (
        lambda: unfitted.predict(X),
        lambda: unfitted.predict(files),
        lambda: unfitted.score(X, y),
        lambda: unfitted.score(files),
        lambda: unfitted.save("nowhere"),
    ):
        with unchanged(unfitted), pytest.raises(NotFittedError, match=type(unfitted).__name__):
            call()


def test_a_failure_and_then_a_success(model, rows, unchanged):
    X, y = rows
    with unchanged(model), pytest.raises(ValueError):
        model.fit(X, y[:-1])
    fitted = model.fit(X, y)
    fresh = clone(model).fit(X, y)
    assert set(vars(fitted)) == set(vars(fresh))  # nothing of the three named columns is left
    assert fitted.coef_.tobytes() == fresh.coef_.tobytes()
    assert fitted.n_features_in_ == 2
    assert not hasattr(fitted, "feature_names_in_")
