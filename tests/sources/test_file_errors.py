"""Files that cannot be used: one clear error each, in one line, with the place."""

import builtins
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

from suffice import Ridge
from suffice.sources import scan


@pytest.fixture
def rides(tmp_path):
    path = tmp_path / "rides.parquet"
    table = pa.table(
        {
            "miles": [1.0, 2.0, 3.0],
            "city": ["Rome", "Oslo", "Bonn"],
            "when": pa.array([1, 2, 3], pa.date32()),
            "fare": [5.0, 6.0, 7.0],
            "weight": [1.0, -1.0, float("nan")],
            "nested": [[1], [2], [3]],
        }
    )
    parquet.write_table(table, path)
    return path


def load_all(path, **arguments):
    return [piece.load() for piece in scan(path, **arguments).pieces()]


def error_of(path, kind=ValueError, **arguments):
    with pytest.raises(kind) as caught:
        load_all(path, **arguments)
    message = str(caught.value)
    assert "\n" not in message
    assert type(caught.value) is kind
    return message


def test_unknown_columns_are_named_with_the_nearest_and_all_others(rides):
    message = error_of(rides, target="fair", features=["miles"])
    assert message == (
        f"{str(rides)!r} has no column 'fair' (target). Did you mean 'fare'? Its columns are "
        "'miles', 'city', 'when', 'fare', 'weight', 'nested'."
    )
    assert "no column 'wait' (weight)" in error_of(rides, weight="wait", features=["miles"])
    message = error_of(rides, features=["miles", "smiles"])
    assert "no column 'smiles' (feature). Did you mean 'miles'?" in message
    assert "Did you mean" not in error_of(rides, features=["qqq"])


def test_many_columns_are_not_all_listed(tmp_path):
    pd.DataFrame(np.ones((1, 100))).add_prefix("x").to_parquet(tmp_path / "a.parquet")
    message = error_of(tmp_path, target="y")
    assert "'x19' and 80 more" in message
    assert "'x20'" not in message


def test_features_that_are_neither_numbers_nor_text(rides):
    message = error_of(rides, features=["miles", "nested"])
    assert f"Column 'nested' (feature) of {str(rides)!r} has type list<" in message
    assert "accepted are numbers" in message
    assert "and text to be encoded" in message


@pytest.mark.parametrize("name", ["city", "when", "nested"])
def test_weights_that_are_no_numbers(rides, name):
    message = error_of(rides, features=["miles"], weight=name)
    assert f"Column {name!r} (weight)" in message


@pytest.mark.parametrize("method", ["fit", "predict", "score"])
def test_text_features_are_refused_by_models_that_need_numbers(rides, method):
    source = scan(rides, target="fare", features=["miles", "city"])
    model = Ridge()
    if method != "fit":
        model.fit(np.ones((3, 2)), [1.0, 2.0, 3.0])
    words = rf"Column 'city' \(feature\) of '{rides}' has type string; .*OneHotEncoder"
    with pytest.raises(ValueError, match=words):
        getattr(model, method)(source)
    assert hasattr(model, "coef_") == (method != "fit")


@pytest.mark.parametrize("name", ["when", "nested"])
def test_targets_that_are_neither_numbers_nor_text(rides, name):
    message = error_of(rides, features=["miles"], target=name)
    assert f"Column {name!r} (target) of {str(rides)!r} has type" in message
    assert "and text as labels" in message


def test_all_columns_by_default_means_all(rides):
    assert "Column 'nested' (feature)" in error_of(rides, target="fare")


def test_bad_weights_are_named_with_their_row(rides):
    message = error_of(rides, features=["miles"], weight="weight")
    assert message == (
        "Weight column 'weight' holds -1.0 in row 1 (counted from 0), which is row 1 of "
        f"{str(rides)!r}; weights must be finite and not negative."
    )


@pytest.mark.parametrize("bad", [-0.5, np.nan, None, np.inf])
def test_bad_weights_far_into_the_rows(tmp_path, bad):
    weight = [1.0] * 30_000
    weight[20_000] = bad
    for i, part in enumerate((weight[:10_000], weight[10_000:])):
        pd.DataFrame({"x": 1.0, "w": part}).to_parquet(tmp_path / f"{i}.parquet")
    message = error_of(tmp_path, weight="w")
    shown = "nan" if bad is None else bad
    assert f"Weight column 'w' holds {shown} in row 20000 (counted from 0)" in message
    assert f"row 10000 of {str(tmp_path / '1.parquet')!r}" in message


def test_roles_that_collide(rides):
    message = error_of(rides, target="fare", features=["miles", "fare"])
    assert message == "Column 'fare' is the target and a feature; it can be one only."
    assert "target and the weight" in error_of(
        rides, target="fare", weight="fare", features=["miles"]
    )
    assert "names column 'miles' more than once" in error_of(rides, features=["miles", "miles"])
    assert "features is an empty list" in error_of(rides, features=[])
    assert "target is an empty list" in error_of(rides, target=[], features=["miles"])


def test_parameters_of_another_type(rides):
    assert "features is the text 'miles'" in error_of(rides, TypeError, features="miles")
    assert "features holds 3" in error_of(rides, TypeError, features=[3])
    assert "weight is ['weight']" in error_of(rides, TypeError, weight=["weight"])
    assert "target holds 0" in error_of(rides, TypeError, target=[0])


def test_no_feature_is_left(tmp_path):
    pd.DataFrame({"y": [1.0]}).to_parquet(tmp_path / "a.parquet")
    assert "No feature column is left" in error_of(tmp_path, target="y")


def test_files_that_disagree(tmp_path):
    pd.DataFrame({"x": [1.0], "z": [1], "y": [1.0]}).to_parquet(tmp_path / "a.parquet")
    second = tmp_path / "b.parquet"
    pd.DataFrame({"x": [1.0], "y": [1.0]}).to_parquet(second)
    first = str(tmp_path / "a.parquet")
    message = error_of(tmp_path, target="y")
    assert message.startswith(f"{str(second)!r} has no column 'z' (feature), which {first!r} has.")
    pd.DataFrame({"x": [1.0], "z": ["one"], "y": [1.0]}).to_parquet(second)
    message = error_of(tmp_path, target="y")
    assert message == (
        f"Column 'z' (feature) holds int64 in {first!r}, but column 'z' holds text in "
        f"{str(second)!r}; a feature is all numbers or all text."
    )
    pd.DataFrame({"x": [1.0], "z": [1], "y": ["one"]}).to_parquet(second)
    message = error_of(tmp_path, target="y")
    assert message == (
        f"Column 'y' (target) holds double in {first!r}, but column 'y' holds text in "
        f"{str(second)!r}; a target is all numbers or all text."
    )


def test_columns_of_one_target_that_disagree(rides):
    message = error_of(rides, target=["fare", "city"], features=["miles"])
    assert "a target is all numbers or all text" in message


def test_repeated_names(tmp_path):
    table = pa.table([[1.0], [2.0], [3.0]], names=["x", "y", "x"])
    parquet.write_table(table, tmp_path / "a.parquet")
    assert "has 2 columns named 'x'" in error_of(tmp_path, target="y")
    (tmp_path / "a.parquet").unlink()
    (tmp_path / "a.csv").write_text("x,y,x\n1,2,3\n")
    assert "has 2 columns named 'x'" in error_of(tmp_path, target="y")
    assert scan(tmp_path, features=["y"]).n_columns == 1


def test_no_rows_at_all(tmp_path):
    empty = pa.table({"x": pa.array([], pa.float64())})
    parquet.write_table(empty, tmp_path / "a.parquet")
    message = error_of(tmp_path)
    assert message == f"There are no rows in {str(tmp_path / 'a.parquet')!r}."
    with ipc.new_stream(tmp_path / "b.arrow", empty.schema) as writer:
        writer.write_table(empty)
    with ipc.new_file(tmp_path / "c.arrow", empty.schema) as writer:
        writer.write_table(empty)
    assert error_of(tmp_path).endswith("nor in the 2 other files.")


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow", ".feather", ""])
def test_empty_files(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"")
    assert error_of(path) == f"{str(path)!r} is an empty file (0 bytes)."


def test_nothing_matches(tmp_path):
    assert "No file matches" in error_of(tmp_path / "*.parquet", FileNotFoundError)


def write_numbers(path):
    table = pa.table({"x": np.random.default_rng(0).random(50_000), "y": ["a", "b"] * 25_000})
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        opener = ipc.new_file if path.suffix == ".arrow" else ipc.new_stream
        with opener(path, table.schema) as writer:
            writer.write_table(table)
    return path.read_bytes()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".ipc"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_files_cut_short(tmp_path, suffix, share):
    path = tmp_path / f"a{suffix}"
    content = write_numbers(path)
    path.write_bytes(content[: max(int(len(content) * share), 10)])
    assert f"{str(path)!r} is cut short, damaged or not a" in error_of(path, target="y")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".ipc"])
def test_files_of_another_kind(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_text("x,y\n1,2\n" * 100)
    assert f"{str(path)!r} is cut short, damaged or not a" in error_of(path)


def test_damaged_pages(tmp_path):
    path = tmp_path / "a.parquet"
    content = bytearray(write_numbers(path))
    content[4:4000] = bytes(3996)
    path.write_bytes(content)
    assert f"{str(path)!r} is cut short, damaged or not a Parquet" in error_of(path, target="y")


def test_damaged_text_in_arrow_files(tmp_path):
    path = tmp_path / "a.arrow"
    content = bytearray(write_numbers(path))
    offsets = np.arange(4, dtype=np.int32).tobytes()
    at = content.find(offsets)
    content[at + 400 : at + 800] = b"\x7f" * 400
    path.write_bytes(content)
    assert f"{str(path)!r} is cut short, damaged" in error_of(path, target="y")


def test_files_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    write_numbers(path)
    real = builtins.open

    def refuse(file, *arguments, **options):
        if file == str(path):
            raise PermissionError(13, "Permission denied")
        return real(file, *arguments, **options)

    monkeypatch.setattr(builtins, "open", refuse)
    assert error_of(path) == f"{str(path)!r} cannot be read: Permission denied."


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_without_permission(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n")
    path.chmod(0)
    assert "cannot be read: Permission denied" in error_of(path)


def test_files_that_changed_or_vanished_since_the_scan(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"x": [1.0, 2.0], "z": [1, 2]}).to_parquet(path)
    source = scan(path)
    pd.DataFrame({"x": [1.0], "z": [1]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"has changed since it was scanned: it had 2 rows, now 1"):
        list(source.pieces())
    pd.DataFrame({"x": [1.0, 2.0]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"has changed since it was scanned: .*\bz\b"):
        list(source.pieces())
    path.unlink()
    with pytest.raises(ValueError, match=r"a.parquet' is gone"):
        list(source.pieces())


def test_a_column_that_changed_its_kind_since_the_scan(tmp_path):
    path = tmp_path / "a.parquet"
    for before, after, words in (([1.0], ["one"], "not numeric"), (["one"], [1.0], "not text")):
        pd.DataFrame({"x": before}).to_parquet(path)
        source = scan(path)
        pd.DataFrame({"x": after}).to_parquet(path)
        with pytest.raises(ValueError, match=rf"column 'x' is now of type .*, {words}"):
            list(source.pieces())
