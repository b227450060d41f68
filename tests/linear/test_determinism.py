"""The same bits at any number of threads and from any source; promised digits in any order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import suffice
from suffice import LinearRegression, Ridge
from suffice.linear.least_squares import base as way
from suffice.sources import block_rows


def data(rows: int, columns: int, seed: int = 0) -> tuple[Any, Any]:
    noise = np.random.default_rng(seed)
    X = noise.standard_normal((rows, columns))
    X += noise.standard_normal(columns)
    return X, X[:, :3].sum(axis=1) + noise.standard_normal(rows)


def learned(model: Any) -> tuple[bytes, bytes, float]:
    """Every bit that a fit decides."""
    return model.coef_.tobytes(), np.asarray(model.intercept_).tobytes(), model.certificate_.digits


def with_threads(threads: int, model: Any, *rows: Any) -> tuple[bytes, bytes, float]:
    with suffice.config(threads=threads):
        return learned(model.fit(*rows))


# --- threads -------------------------------------------------------------------------------


@pytest.mark.parametrize(("columns", "blocks"), [(5, 80), (100, 26), (500, 10)])
@pytest.mark.parametrize("weighted", [False, True])
def test_bits_do_not_depend_on_threads(
    columns: int, blocks: int, weighted: bool, small_blocks: int
) -> None:
    rows = block_rows(columns) * blocks - 37
    X, y = data(rows, columns)
    weight = (np.arange(rows) % 3).astype(float) if weighted else None
    one = with_threads(1, LinearRegression(), X, y, weight)
    assert with_threads(2, LinearRegression(), X, y, weight) == one
    assert with_threads(4, LinearRegression(), X, y, weight) == one
    assert learned(LinearRegression(n_jobs=3).fit(X, y, weight)) == one


def test_bits_of_a_second_pass_do_not_depend_on_threads() -> None:
    X, y = data(100_000, 6)
    X[:, 5] = X[:, 0] + 1e-6 * X[:, 5]
    one = with_threads(1, LinearRegression(), X, y)
    assert with_threads(2, LinearRegression(), X, y) == one
    model = LinearRegression(n_jobs=4).fit(X, y)
    assert model.statistics_.precision == "double-double"
    assert learned(model) == one


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_bits_on_the_rows_side_do_not_depend_on_threads(alpha: float) -> None:
    X, y = data(150, 3_000)
    one = with_threads(1, Ridge(alpha), X, y)
    assert with_threads(2, Ridge(alpha), X, y) == one
    assert with_threads(4, Ridge(alpha), X, y) == one


def test_bits_of_conjugate_gradients_do_not_depend_on_threads(monkeypatch: Any) -> None:
    monkeypatch.setattr(way, "MOST_COLUMNS", 10)
    X, y = data(200_000, 12)
    fits = []
    for threads in (1, 2, 4):
        with suffice.config(threads=threads):
            model = Ridge(1.0).fit(X, y)
        assert "conjugate gradients" in model.certificate_.path
        fits.append((model.coef_.tobytes(), model.intercept_, model.n_iter_))
    assert fits[0] == fits[1] == fits[2]


def test_bits_of_sparse_rows_do_not_depend_on_threads() -> None:
    noise = np.random.default_rng(1)
    X = sparse.random_array((60_000, 60), density=0.05, rng=noise, format="csr")
    y = noise.standard_normal(60_000)
    one = with_threads(1, LinearRegression(), X, y)
    assert with_threads(2, LinearRegression(), X, y) == one
    assert with_threads(4, LinearRegression(), X, y) == one


def test_bits_of_predictions_do_not_depend_on_threads() -> None:
    X, y = data(100_000, 6)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = LinearRegression().fit(frame, y)
    predictions = []
    for threads in (1, 4):
        with suffice.config(threads=threads):
            predictions.append(model.predict(frame).tobytes())
    assert predictions[0] == predictions[1]


# --- sources -------------------------------------------------------------------------------

NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture(scope="module", params=[900, 45_000], ids=["small", "large"])
def table(request: pytest.FixtureRequest) -> tuple[Any, Any, pa.Table]:
    X, y = data(request.param, 5, seed=2)
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    return X, y, pa.table({**columns, "y": y})


def cut(rows: int, files: int) -> list[slice]:
    """Uneven parts, one of them empty if there are many."""
    shares = np.random.default_rng(files).uniform(0.05, 1, files)
    ends = np.rint(np.cumsum(shares) / shares.sum() * rows).astype(int)
    ends[-1] = rows
    if files > 10:
        ends[4] = ends[3]
    return [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def test_bits_do_not_depend_on_the_kind_of_memory(table: tuple[Any, Any, pa.Table]) -> None:
    X, y, arrow = table
    one = learned(LinearRegression().fit(X, y))
    features = arrow.select(NAMES)
    read_only = X.copy()
    read_only.setflags(write=False)
    for rows in (
        np.asfortranarray(X),
        np.hstack([X, X])[:, :5],
        read_only,
        pd.DataFrame(X, columns=NAMES),
        pl.DataFrame({name: X[:, j] for j, name in enumerate(NAMES)}),
        features,
        pa.Table.from_batches(features.to_batches(max_chunksize=777)),
    ):
        assert learned(LinearRegression().fit(rows, y)) == one, type(rows)


@pytest.mark.parametrize("files", [1, 3, 17])
def test_bits_do_not_depend_on_the_number_of_files(
    table: tuple[Any, Any, pa.Table], files: int, tmp_path: Path
) -> None:
    X, y, arrow = table
    one = learned(LinearRegression().fit(X, y))
    for k, part in enumerate(cut(len(y), files)):
        rows = arrow.slice(part.start, part.stop - part.start)
        pq.write_table(rows, tmp_path / f"part-{k:02d}.parquet", row_group_size=1_000 + 317 * k)
    source = suffice.scan(tmp_path / "*.parquet", target="y")
    assert learned(LinearRegression().fit(source)) == one
    with suffice.config(threads=4):
        model = LinearRegression().fit(source)
    assert learned(model) == one
    assert list(model.feature_names_in_) == NAMES
    assert model.score(source) == pytest.approx(LinearRegression().fit(X, y).score(X, y), rel=1e-12)


def test_bits_from_csv_and_arrow_files(table: tuple[Any, Any, pa.Table], tmp_path: Path) -> None:
    X, y, arrow = table
    one = learned(LinearRegression().fit(X, y))
    pyarrow.csv.write_csv(arrow, tmp_path / "rows.csv")
    assert learned(LinearRegression().fit(suffice.scan(tmp_path / "rows.csv", target="y"))) == one
    with pa.ipc.new_file(tmp_path / "rows.arrow", arrow.schema) as writer:
        writer.write_table(arrow)
    assert learned(LinearRegression().fit(suffice.scan(tmp_path / "rows.arrow", target="y"))) == one


def test_bits_of_float32_are_those_of_the_same_numbers_in_float64() -> None:
    for rows in (500, 45_000):
        X, y = data(rows, 5, seed=3)
        X, y = X.astype(np.float32), y.astype(np.float32)
        single = learned(LinearRegression().fit(X, y))
        assert learned(LinearRegression().fit(X.astype(np.float64), y.astype(np.float64))) == single


def test_a_second_fit_of_one_model_gives_the_same_bits() -> None:
    X, y = data(45_000, 5, seed=4)
    model = LinearRegression()
    first = learned(model.fit(X, y))
    model.fit(X[:50] * 1e9, y[:50])
    assert learned(model.fit(X, y)) == first


# --- order ---------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", [1.0, 1e-4])
@pytest.mark.parametrize("rows", [2_000, 70_000])
def test_order_of_rows_and_blocks_matters_to_no_promised_digit(rows: int, distance: float) -> None:
    X, y = data(rows, 5, seed=5)
    X[:, 4] = X[:, 0] + distance * X[:, 4]
    model = LinearRegression().fit(X, y)
    order = np.random.default_rng(6)
    size = block_rows(5)
    blocks = [np.arange(start, min(start + size, rows)) for start in range(0, rows, size)]
    shuffled = np.concatenate([blocks[k] for k in order.permutation(len(blocks))])
    for permutation in (shuffled, order.permutation(rows), np.arange(rows)[::-1]):
        other = LinearRegression().fit(X[permutation], y[permutation])
        promised = min(model.certificate_.digits, other.certificate_.digits)
        assert promised > 7
        ours = np.append(model.coef_, model.intercept_)
        theirs = np.append(other.coef_, other.intercept_)
        # Each is within the promise of the exact solution.
        assert (np.abs(ours - theirs) <= 2 * 10.0**-promised * np.abs(ours)).all()
