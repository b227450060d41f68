"""CSV: what text can do that other formats cannot."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suffice.sources import scan
from suffice.sources.files import lines as csv_lines


@pytest.fixture(autouse=True, params=[1 << 20, 64], ids=["large chunks", "small chunks"])
def _chunks(request, monkeypatch):
    monkeypatch.setattr(csv_lines, "CHUNK_BYTES", request.param)


def write(tmp_path, text, name="a.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


def load_all(source):
    return [piece.load() for piece in source.pieces()]


def test_a_column_that_turns_into_fractions_late(read_whole, tmp_path):
    text = "x,y\n" + "1,2\n" * 5000 + "1.5,2.5\n"
    whole = read_whole(scan(write(tmp_path, text), target="y"))
    assert whole.X[-1, 0] == 1.5
    assert whole.y[-1] == 2.5
    assert whole.y.sum() == 10_002.5


def test_whole_numbers_are_integer_labels(read_whole, tmp_path):
    whole = read_whole(scan(write(tmp_path, "x,y\n1,0\n2,1\n3,\n"), target="y"))
    np.testing.assert_array_equal(whole.y, [0, 1, np.nan])
    whole = read_whole(scan(write(tmp_path, "x,y\n1,0\n2,1\n"), target="y"))
    assert whole.y.dtype == np.int64


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(read_whole, tmp_path, end, last):
    lines = ["x,y", *(f"{i},{i}.5" for i in range(50))]
    path = write(tmp_path, end.join(lines) + (end if last else ""))
    whole = read_whole(scan(path, target="y"))
    assert whole.X[:, 0].tolist() == list(range(50))
    assert whole.y.tolist() == [i + 0.5 for i in range(50)]


def test_old_line_ends_in_a_file_of_many_chunks(read_whole, tmp_path, monkeypatch):
    monkeypatch.setattr(csv_lines, "CHUNK_BYTES", 64)
    monkeypatch.setattr(csv_lines, "LONGEST_LINE", 500)
    for header_end in ("\r", "\n"):
        text = "x,y" + header_end + "".join(f"{i},{i}\r" for i in range(1000))
        whole = read_whole(scan(write(tmp_path, text), target="y"))
        assert whole.y.tolist() == list(range(1000))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("where", ["start", "first", "middle", "end"])
def test_blank_lines_are_no_rows(read_whole, tmp_path, end, where):
    lines = ["x,y", *(f"{i},{i}" for i in range(40))]
    at = {"start": 0, "first": 1, "middle": 20, "end": 41}[where]
    lines[at:at] = ["", ""]
    source = scan(write(tmp_path, end.join(lines) + end), target="y")
    assert read_whole(source).X[:, 0].tolist() == list(range(40))


def test_quotes_hide_newlines_and_commas(read_whole, tmp_path):
    lines = [f'{i},"a, ""{i}""\nb",{2 * i}' for i in range(60)]
    lines[5] = "5,plain,10"
    path = write(tmp_path, "\n".join(['"x","no\nte",y', *lines]))
    source = scan(path, target="y", features=["x"])
    whole = read_whole(source)
    assert whole.X[:, 0].tolist() == list(range(60))
    assert whole.y.tolist() == list(range(0, 120, 2))


def test_quotes_that_come_late(read_whole, tmp_path):
    plain = "".join(f"{i},k\n" for i in range(400))
    text = "x,y\n" + plain + '400,"two\nlines"\n401,"k"\n'
    whole = read_whole(scan(write(tmp_path, text), target="y"))
    assert whole.X[:, 0].tolist() == list(range(402))
    assert whole.y[-3:].tolist() == ["k", "two\nlines", "k"]


def test_quoted_numbers_byte_order_mark_and_spaces(read_whole, tmp_path):
    text = '\ufeff"x",y\n"1.5", 2\n-1e3,+4 \n'
    whole = read_whole(scan(write(tmp_path, text), target="y"))
    assert whole.X[:, 0].tolist() == [1.5, -1000]
    assert whole.y.tolist() == [2, 4]


def test_missing_values_and_infinities(read_whole, tmp_path):
    values = ["", "NA", "NaN", "nan", "null", "N/A", "inf", "-inf"]
    text = "x,y\n" + "".join(f"{value},1\n" for value in values)
    X = read_whole(scan(write(tmp_path, text), target="y")).X
    np.testing.assert_array_equal(X[:, 0], [np.nan] * 6 + [np.inf, -np.inf])


def test_true_and_false_are_numbers(read_whole, tmp_path):
    text = "x,y\nTrue,1\nfalse,2\n,3\n"
    whole = read_whole(scan(write(tmp_path, text), target="y"))
    np.testing.assert_array_equal(whole.X[:, 0], [1, 0, np.nan])


def test_empty_labels_are_missing_but_na_is_a_label(read_whole, tmp_path):
    text = "x,y\n1,NA\n2,\n3,FR\n"
    assert read_whole(scan(write(tmp_path, text), target="y")).y.tolist() == ["NA", None, "FR"]


def test_labels_that_look_like_numbers_in_one_file_only(read_whole, tmp_path):
    write(tmp_path, "x,y\n1,7\n2,8\n", "a.csv")
    write(tmp_path, "x,y\n3,seven\n", "b.csv")
    write(tmp_path, "x,y\n3,2024-01-01\n", "c.csv")
    whole = read_whole(scan(tmp_path, target="y"))
    assert whole.y.tolist() == ["7", "8", "seven", "2024-01-01"]


def test_compression(read_whole, tmp_path):
    text = "x,y\n" + "".join(f"{i},{i}\n" for i in range(500))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert read_whole(scan(tmp_path, target="y")).y.sum() == 124_750


def test_wide_lines(read_whole, tmp_path):
    names = ",".join(f"column{j}" for j in range(3000))
    row = ",".join(str(j) for j in range(3000))
    whole = read_whole(scan(write(tmp_path, f"{names}\n{row}\n{row}\n")))
    np.testing.assert_array_equal(whole.X, np.tile(np.arange(3000.0), (2, 1)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(
            st.floats(width=64),
            st.text("ab,\"'\n é", max_size=5),
            st.one_of(st.none(), st.integers(-(2**53), 2**53)),
        ),
        min_size=1,
        max_size=30,
    ),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_pandas_writes_is_what_is_read(tmp_path_factory, rows, end):
    frame = pd.DataFrame(rows, columns=["x", "note", "z"])
    frame["z"] = frame["z"].astype("Float64")
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    frame.to_csv(path, index=False, lineterminator=end)
    X = np.concatenate([block.X for block in load_all(scan(path, features=["z", "x"]))])
    expected = frame[["z", "x"]].to_numpy(float, na_value=np.nan)
    np.testing.assert_array_equal(X, expected)


@pytest.mark.parametrize("note", ["", '"q"'], ids=["plain", "quoted"])
def test_a_bad_number_is_named_with_its_place(tmp_path, note):
    rows = "".join(f"{i},{note},1\n" for i in range(300))
    text = f"x,note,y\n{rows}12;5,,1\n"
    with pytest.raises(ValueError, match=r"Column 'x' of '.*a\.csv' holds '12;5' in line 302, "):
        numbers_of(scan(write(tmp_path, text), target="y", features=["x"]))


def test_text_later_in_a_column_of_numbers(tmp_path):
    n_rows = csv_lines.CHUNK_BYTES  # far more than the first chunk, from which types are guessed
    source = scan(write(tmp_path, "x,y\n" + "1.5,2\n" * n_rows + "1.5,two\n"), target="y")
    words = rf"Column 'y' of .*holds 'two' in line {n_rows + 2}, .*missing=\['two'\]"
    with pytest.raises(ValueError, match=words):
        load_all(source)


def numbers_of(source):
    """What a model that needs numbers does with a source."""
    source.refuse_text()
    return load_all(source)


def test_text_where_numbers_are_needed(tmp_path):
    path = write(tmp_path, "x,city,y\n1,Rome,2\n2,Oslo,3\n")
    words = r"Column 'city' of '.*a.csv' holds 'Rome' in line 2, .*OneHotEncoder"
    with pytest.raises(ValueError, match=words):
        numbers_of(scan(path, target="y"))
    path = write(tmp_path, "x,when,y\n1,2024-01-01,2\n")
    words = r"Column 'when' of '.*a.csv' holds '2024-01-01' in line 2"
    with pytest.raises(ValueError, match=words):
        scan(path, target="y", features=["x"], weight="when")


def test_text_features_are_read_as_text(tmp_path):
    path = write(tmp_path, "x,city,y\n1,Rome,2\n,,3\n2,NA,4\n")
    source = scan(path, target="y")
    assert source.kinds == ("number", "text")
    (block,) = load_all(source)
    np.testing.assert_array_equal(block.X.column(0), [1.0, np.nan, 2.0])
    assert block.X.column(1).tolist() == ["Rome", None, "NA"]


def test_numbers_in_one_csv_file_and_text_in_another_are_text(tmp_path):
    write(tmp_path, "zip,y\n89073,1\n", "a.csv")
    write(tmp_path, "zip,y\nW1A,2\n", "b.csv")
    source = scan(tmp_path, target="y")
    values = [value for block in load_all(source) for value in block.X.column(0)]
    assert values == ["89073", "W1A"]


@pytest.mark.parametrize("n_rows", [1, 100])
def test_lines_of_another_length(tmp_path, n_rows):
    for bad, count in (("1", 1), ("1,2,3", 3)):
        path = write(tmp_path, "x,y\n" + "1,2\n" * n_rows + bad + "\n")
        words = rf"a.csv' has {count} values in line {n_rows + 2}, but 2 columns"
        with pytest.raises(ValueError, match=words):
            load_all(scan(path, target="y"))


def test_a_header_alone_has_no_rows(tmp_path):
    with pytest.raises(ValueError, match=r"There are no rows in '.*a.csv'"):
        scan(write(tmp_path, "x,y\n"), target="y")
    with pytest.raises(ValueError, match=r"There are no rows in '.*a.csv'"):
        scan(write(tmp_path, "x,y"), target="y")


def test_a_compressed_file_cut_short(tmp_path):
    rng = np.random.default_rng(0)
    text = "x,y\n" + "".join(f"{a},{b}\n" for a, b in rng.random((3000, 2)))
    whole = gzip.compress(text.encode())
    (tmp_path / "a.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"a\.csv\.gz' (is cut short|has 1 values|cannot be read)"):
        load_all(scan(tmp_path, target="y"))
    (tmp_path / "a.csv.gz").write_bytes(b"no gzip at all")
    with pytest.raises(ValueError, match=r"a\.csv\.gz' is cut short, damaged or not CSV"):
        scan(tmp_path, target="y")
