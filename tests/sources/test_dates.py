"""Dates and timestamps of files are days since 1970-01-01."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from suffice import LinearRegression
from suffice.generative.mixed_nb import MixedNB
from suffice.sources import as_source, scan

WHEN = pd.Series(
    pd.to_datetime(
        ["1969-07-20 20:17:40.00", None, "2024-05-01 12:30:00.25", "1970-01-01 00:00:00.00"]
    )
)
DAYS = (WHEN - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)  # pandas' own arithmetic
DAY = WHEN.dt.normalize()


def column(source, j=0):
    blocks = [piece.load().X for piece in source.pieces()]
    return np.concatenate([X.column(j) if source.kinds else X[:, j] for X in blocks])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_every_unit(tmp_path, unit):
    stamps = WHEN.dt.floor("s" if unit == "s" else "ms")
    expected = (stamps - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    for zone in (None, "UTC"):
        table = pa.table({"t": pa.array(stamps, pa.timestamp(unit, zone)), "x": range(4)})
        parquet.write_table(table, tmp_path / "a.parquet")
        feather.write_feather(table, str(tmp_path / "a.feather"))
        for name in ("a.parquet", "a.feather"):
            source = scan(tmp_path / name)
            assert source.column_kinds == ("date", "number")
            assert source.kinds is None
            np.testing.assert_allclose(column(source), expected, rtol=1e-15)


def test_a_time_zone_is_taken_into_account(tmp_path):
    noon = pd.Series(pd.to_datetime(["2024-05-01 12:00"])).dt.tz_localize("Asia/Tokyo")
    pd.DataFrame({"t": noon}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"t": noon}).to_csv(tmp_path / "a.csv", index=False)
    for name in ("a.parquet", "a.csv"):
        assert column(scan(tmp_path / name)).tolist() == [19844 + 3 / 24]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64(), pa.dictionary(pa.int8(), pa.date32())])
def test_dates(tmp_path, kind):
    days = pa.array(DAY.dt.date, pa.date32())
    days = days.dictionary_encode() if pa.types.is_dictionary(kind) else days.cast(kind)
    feather.write_feather(pa.table({"d": days}), str(tmp_path / "a.feather"))
    np.testing.assert_array_equal(column(scan(tmp_path / "a.feather")), np.floor(DAYS))


@pytest.mark.parametrize("sep", [",", ";"])
def test_dates_of_csv_files(tmp_path, sep):
    frame = pd.DataFrame({"d": DAY.dt.date, "t": WHEN, "s": WHEN.dt.floor("s"), "x": 1.5})
    frame.to_csv(tmp_path / "a.csv", index=False, sep=sep)
    source = scan(tmp_path / "a.csv")
    assert source.column_kinds == ("date", "date", "date", "number")
    assert source.kinds is None
    np.testing.assert_array_equal(column(source, 0), np.floor(DAYS))
    np.testing.assert_allclose(column(source, 1), DAYS, rtol=1e-15)


def test_times_that_come_late_in_a_column_of_dates(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("d,x\n" + "2024-05-01,1\n" * 100_000 + "2024-05-01T06:00:00.5,1\n")
    assert column(scan(path))[-1] == 19844.25 + 0.5 / 86_400
    path.write_text("d,x\n" + "2024-05-01,1\n" * 100_000 + "1 May,1\n")
    words = r"Column 'd' of '.*a.csv' holds '1 May' in line 100002, which is not a date; .*missing="
    with pytest.raises(ValueError, match=words):
        column(scan(path))


def test_a_zone_that_comes_late_is_an_error(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,x\n" + "2024-05-01 10:00:00Z,1\n" * 80_000 + "2024-05-01 10:00:00,1\n")
    with pytest.raises(
        ValueError, match=r"'2024-05-01 10:00:00' in line 80002, which is not a date"
    ):
        column(scan(path))


def test_one_file_without_values_and_one_with_dates(tmp_path):
    (tmp_path / "a.csv").write_text("d,b,x\n,,1\n")
    (tmp_path / "b.csv").write_text("d,b,x\n2024-05-01,true,1\n")
    source = scan(tmp_path)
    assert source.column_kinds == ("date", "bool", "number")
    np.testing.assert_array_equal(column(source), [np.nan, 19844])


def test_files_that_disagree_about_dates(tmp_path):
    (tmp_path / "a.csv").write_text("d,x\n2024-05-01,1\n")
    (tmp_path / "b.csv").write_text("d,x\n20240501,1\n")
    with pytest.raises(ValueError, match="a feature is all numbers or all dates"):
        scan(tmp_path)
    (tmp_path / "b.csv").write_text("d,x\nyesterday,1\n")
    source = scan(tmp_path)
    assert source.column_kinds == ("text", "number")
    assert column(source).tolist() == ["2024-05-01", "yesterday"]
    pd.DataFrame({"d": DAY, "x": 1.0}).to_parquet(tmp_path / "c.parquet")
    with pytest.raises(ValueError, match="but column 'd' holds text"):
        scan(tmp_path)


def test_times_of_day_are_text_in_csv_files_and_refused_in_others(tmp_path):
    (tmp_path / "a.csv").write_text("t,x\n12:30,1\n")
    assert scan(tmp_path / "a.csv").column_kinds == ("text", "number")
    parquet.write_table(pa.table({"t": pa.array([1], pa.time32("s"))}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="has type time32"):
        scan(tmp_path / "a.parquet")


def test_a_date_is_no_target(tmp_path):
    pd.DataFrame({"d": DAY.dropna(), "x": 1.0}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"'d' \(target\) .* has type timestamp"):
        scan(tmp_path / "a.parquet", target="d")
    (tmp_path / "a.csv").write_text("x,d\n1,2024-05-01\n")
    (block,) = [piece.load() for piece in scan(tmp_path / "a.csv", target="d").pieces()]
    assert block.y.tolist() == ["2024-05-01"]


def test_a_model_takes_dates_as_numbers(tmp_path):
    days = pd.date_range("2024-01-01", periods=20)
    frame = pd.DataFrame({"d": days, "flag": [True, False] * 10, "y": np.arange(20.0) * 3})
    frame.to_csv(tmp_path / "a.csv", index=False)
    source = scan(tmp_path / "a.csv", target="y")
    assert source.column_kinds == ("date", "bool")
    np.testing.assert_allclose(LinearRegression().fit(source).coef_, [3, 0], atol=1e-9)
    train, test = source.split(test=0.5)
    assert train.column_kinds == test.column_kinds == ("date", "bool")
    labels = scan(tmp_path / "a.csv", target="flag")
    assert MixedNB().fit(labels).predict(labels).shape == (20,)


def test_kinds_of_sources_in_memory():
    assert as_source(np.eye(2)).column_kinds == ("number", "number")
    assert as_source(pd.DataFrame({"a": [1.0], "b": ["x"]})).column_kinds == ("number", "text")
