"""CSV files as the world writes them, against the frames that pandas wrote or reads."""

import gzip
import itertools

import numpy as np
import pandas as pd
import pytest

from suffice import Ridge
from suffice.sources import scan
from suffice.sources.files.dialect import Dialect

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
ENCODINGS = {"utf-8": "utf-8", "utf-8-sig": "utf-8", "utf-16": "utf-16", "cp1252": "cp1252"}
FRAME = pd.DataFrame(
    {
        "größe": [1.5, -2.25, np.nan, 1e-7, 123456.75],
        "Stück": [3, 0, 12, 7, 1000],
        "ort": ["Köln, Dom", "a;b|c\td", 'say "é"', "two\nlines", "Ulm"],
        "neu": [True, False, True, True, False],
        "y": [0.5, 1.0, 2.0, -1.25, 4.0],
    }
)


def rows_of(source):
    """Features and target of a source as a frame."""
    parts = []
    for piece in source.pieces():
        block = piece.load()
        X = block.X.to_objects() if source.kinds else block.X
        parts.append(pd.DataFrame(X, columns=source.feature_names, dtype=X.dtype).assign(y=block.y))
    return pd.concat(parts, ignore_index=True)


def assert_same(found, expected):
    assert list(found.columns) == list(expected.columns)
    for name in expected:
        if expected[name].dtype == object or pd.api.types.is_string_dtype(expected[name]):
            assert found[name].tolist() == expected[name].tolist()
        else:
            np.testing.assert_array_equal(found[name].astype(float), expected[name].astype(float))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("sep", SEPARATORS)
def test_what_pandas_writes_in_any_dialect(tmp_path, sep, encoding, end):
    for decimal, suffix in itertools.product(".,", ["csv", "csv.gz"]):
        path = tmp_path / f"a.{suffix}"
        FRAME.to_csv(
            path, index=False, sep=SEPARATORS[sep], decimal=decimal, encoding=encoding,
            lineterminator=end,
        )  # fmt: skip
        source = scan(path, target="y")
        assert_same(rows_of(source), FRAME)
        assert source.column_kinds == ("number", "number", "text", "bool")
        dialect = source.dialect or Dialect()
        assert dialect.sep == SEPARATORS[sep]
        assert (dialect.decimal, dialect.encoding) == (decimal, ENCODINGS[encoding])


def test_files_of_one_folder_may_differ_in_all_but_the_decimal_mark(tmp_path):
    FRAME[:2].to_csv(tmp_path / "a.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    FRAME[2:3].to_csv(tmp_path / "b.tsv", index=False, sep="\t", decimal=",", encoding="utf-16")
    FRAME[3:].to_csv(tmp_path / "c.csv.gz", index=False, sep="|", decimal=",")
    assert_same(rows_of(scan(tmp_path, target="y")), FRAME)
    FRAME.to_csv(tmp_path / "d.csv", index=False, sep=";")
    words = r"'größe' of '.*a.csv' has a decimal comma, as in '1,5', but .*d.csv'.* decimal='.'"
    with pytest.raises(ValueError, match=words):
        scan(tmp_path, target="y")


def test_whole_numbers_follow_the_decimal_mark_of_other_files(tmp_path):
    (tmp_path / "a.csv").write_text("x;y\n1;2\n")
    (tmp_path / "b.csv").write_text("x;y\n1,5;2,5\n")
    found = rows_of(scan(tmp_path, target="y"))
    assert found["x"].tolist() == [1, 1.5]
    assert found["y"].tolist() == [2, 2.5]


def test_what_is_said_is_not_guessed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("x;ö,y\n1;5,2\n".encode("cp437"))
    source = scan(path, target="y", sep=",", encoding="cp437")
    assert source.feature_names == ("x;ö",)
    source = scan(path, target="ö,y", sep=";", decimal=",", encoding="cp437")
    assert rows_of(source).to_numpy().tolist() == [[1, 5.2]]
    path.write_text("x;y\n1,5;2\n3,5;4\n")
    assert scan(path, target="y", decimal=".").kinds == ("text",)
    path.write_text("x~y\n1~2\n")
    assert rows_of(scan(path, target="y", sep="~")).to_numpy().tolist() == [[1, 2]]


def test_the_dialect_in_words(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1.5,2\n")
    assert scan(path).dialect is None
    assert str(Dialect()) == "nothing unusual"
    path.write_bytes("x;é\n1,5;2\n".encode("latin-1"))
    assert str(scan(path).dialect) == (
        "separated by ';', decimal comma, encoded as cp1252 (change by sep, decimal, encoding)"
    )
    assert str(scan(path, sep=";", encoding="cp1252").dialect).endswith("(change by decimal)")
    path.write_text(",x\n0,5\n")
    assert str(scan(path).dialect) == "column 1 without a name left out (change by features)"


def column(tmp_path, cells, sep=";", **options):
    """One column of a file, as a list; it has a column of whole numbers beside it."""
    text = "".join(f"{cell}{sep}1\n" for cell in ("x", *cells)).replace(f"x{sep}1", f"x{sep}n", 1)
    (tmp_path / "a.csv").write_text(text)
    source = scan(tmp_path / "a.csv", **options)
    blocks = [piece.load().X for piece in source.pieces()]
    return [cell for X in blocks for cell in (X.column(0) if source.kinds else X[:, 0])]


NUMBERS = {
    "two groups": (["1,234,567", "1", "12,345"], [1234567, 1, 12345]),
    "a group and a fraction": (["1,234.50", "7", "-2,000"], [1234.5, 7, -2000]),
    "German": (["1.234,50", "7", "2.000"], [1234.5, 7, 2000]),
    "German groups": (["1.234.567", "?", "2.000"], [1234567, np.nan, 2000]),
    "a decimal comma": (["1,5", "1,234", "NA"], [1.5, 1.234, np.nan]),
    "a zero before the comma": (["0,125", "1,234"], [0.125, 1.234]),
    "four digits before the comma": (["1234,567", "1,234"], [1234.567, 1.234]),
    "four digits after the comma": (["1,2345", "1,234"], [1.2345, 1.234]),
    "points": (["1.234", "2.5"], [1.234, 2.5]),
    "points that could be groups": (["1.234", "2.500"], [1.234, 2.5]),
    "Swiss": (["1'234'567.5", "12"], [1234567.5, 12]),
    "French": (["1 234,5", "12"], [1234.5, 12]),
    "signs and exponents": (["+1,5", "-2,5e3", ",5", "2,"], [1.5, -2500, 0.5, 2]),
    "infinities": (["1,234,567", "inf", "-Infinity"], [1234567, np.inf, -np.inf]),
    "signs and groups": (["+1,234,567", "-1", ""], [1234567, -1, np.nan]),
}


@pytest.mark.parametrize("case", NUMBERS)
@pytest.mark.parametrize("sep", [";", "\t", "|"])
def test_numbers_that_prove_how_they_are_written(tmp_path, case, sep):
    cells, expected = NUMBERS[case]
    np.testing.assert_array_equal(column(tmp_path, cells, sep), expected)
    quoted = [f'"{cell}"' for cell in cells]
    np.testing.assert_array_equal(column(tmp_path, quoted, ","), expected)


DOUBTFUL = {
    "groups or a decimal comma": ["1,234", "2,500"],
    "groups beside whole numbers": ["1,234", "15"],
    "both marks as decimals": ["1,5", "1.5"],
    "groups of another length": ["1,234,567", "12,34"],
    "a telephone number": ["089.123.456", "1.234.567"],
    "a date": ["01.02.2024", "03.04.2024"],
    "addresses": ["10.100.200.123", "10.100.200.1"],
}


@pytest.mark.parametrize("case", DOUBTFUL)
def test_numbers_in_doubt_stay_text(tmp_path, case):
    assert column(tmp_path, DOUBTFUL[case]) == DOUBTFUL[case]


def test_the_thousands_can_be_said(tmp_path):
    assert column(tmp_path, ["1,234", "15"], thousands=",") == [1234, 15]
    assert column(tmp_path, ["12", *["15"] * 300_000, "1,234"], thousands=",")[-1] == 1234
    assert column(tmp_path, ["1.234", "15"], thousands=".", decimal=",") == [1234, 15]


def test_points_beside_decimal_commas_are_text_unless_a_cell_proves_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b\n1,5;1.234\n2,5;2.500\n")
    assert scan(path).column_kinds == ("number", "text")
    path.write_text("a;b\n1,5;1.234\n2,5;2.500.000\n")
    assert scan(path).column_kinds == ("number", "number")
    assert scan(path).dialect.thousands == {"b": "."}
    path.write_text("a;b\n1,5;1.23\n2,5;2.5\n")
    with pytest.raises(ValueError, match=r"'a' of .*decimal comma.*'b' of .*decimal point.*'1.23'"):
        scan(path)
    assert scan(path, decimal=",").column_kinds == ("number", "text")


def test_a_list_of_numbers_in_quotes_is_text_beside_decimal_points(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('x,picks\n1.5,"3,5"\n2.5,"1,4"\n')
    assert scan(path).column_kinds == ("number", "text")


def test_thousands_proved_in_one_file_hold_in_all(tmp_path):
    for name, cells in (("a", ["5", "12"]), ("b", ["1,234"]), ("c", ["1,234,567"])):
        (tmp_path / f"{name}.csv").write_text("x;y\n" + "".join(f"{cell};1\n" for cell in cells))
    found = rows_of(scan(tmp_path, target="y"))
    assert found["x"].tolist() == [5, 12, 1234, 1234567]


def test_a_cell_that_breaks_the_groups_is_named(tmp_path):
    cells = ["1,234,567"] * 300_000 + ["12,34"]
    words = r"Column 'x' of '.*a.csv' holds '12,34' in line 300002, which is not a number"
    with pytest.raises(ValueError, match=words):
        column(tmp_path, cells)


@pytest.mark.parametrize("missing", ["?", "NA", "-", "", "NaN", "nan", "N/A", "null", "None", " ?"])
def test_missing_cells_of_numbers_are_labels_of_text(tmp_path, missing):
    path = tmp_path / "a.csv"
    path.write_text(
        f"x,t,d,b,y\n1,a,2024-05-01,true,1\n{missing},{missing},{missing},{missing},2\n"
    )
    source = scan(path, target="y")
    assert source.column_kinds == ("number", "text", "date", "bool")
    found = rows_of(source)
    assert found.iloc[1, [0, 2, 3]].isna().all()
    assert found["t"].tolist() == ["a", missing or None]


def test_more_texts_can_mean_missing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,t,y\n1,a,1\nunknown,unknown,2\n.,NA,3\n")
    found = rows_of(scan(path, target="y", missing=["unknown", "."]))
    np.testing.assert_array_equal(found["x"].astype(float), [1, np.nan, np.nan])
    assert found["t"].tolist() == ["a", None, "NA"]
    assert column(tmp_path, ["1,5", "gone"], missing=["gone"])[0] == 1.5
    assert column(tmp_path, ["1,234,567", "gone"], missing=["gone"])[0] == 1234567


def test_spaces_around_cells_are_as_pandas_meets_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x, t,y\n 1 , a ,1\n2, b,2\n")
    source, frame = scan(path, target="y"), pd.read_csv(path)
    assert_same(rows_of(source), frame)
    with pytest.raises(ValueError, match=r"no column 't'.*Did you mean ' t'"):
        scan(path, target="t")


def test_columns_without_a_name_are_left_out(tmp_path):
    path = tmp_path / "a.csv"
    FRAME.to_csv(path)  # with pandas' index
    source = scan(path, target="y")
    assert_same(rows_of(source), FRAME)
    path.write_text("x,y,\n1,2,\n3,4,\n")
    source = scan(path, target="y")
    assert rows_of(source).to_numpy().tolist() == [[1, 2], [3, 4]]
    path.write_text("x,y\n1,2,\n3,4,\n")
    with pytest.raises(ValueError, match=r"has 3 values in line 2.*no separator after the last"):
        rows_of(scan(path, target="y"))


@pytest.mark.parametrize(
    "text",
    [
        "5.1,3.5,setosa\n4.9,3.0,setosa\n",
        "39,State-gov,77516\n50,Private,83311\n",
        "1,14.23\n2,13.2\n",
        "3,3\n4,5\n",
        "5\n6\n",
        "a,1\nb,2\n",
        "1,5;2\n2,5;3\n",
    ],
)
def test_a_file_without_a_header(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"first line of '.*a.csv' looks like data.*header=False"):
        scan(path)
    sep, decimal = (";", ",") if ";" in text else (",", ".")
    expected = pd.read_csv(path, header=None, sep=sep, decimal=decimal)
    for file in (path, tmp_path / "a.csv.gz"):
        file.write_bytes(text.encode() if file is path else gzip.compress(text.encode()))
        source = scan(file, header=False)
        assert source.feature_names == tuple(f"column_{i + 1}" for i in range(expected.shape[1]))
        assert source.count_rows() == 2
        (block,) = [piece.load() for piece in source.pieces()]
        X = block.X.to_objects() if source.kinds else block.X
        assert X.tolist() == expected.to_numpy().tolist()
        assert source.row_label(1).startswith("line 2 of")
    if text != "3,3\n4,5\n":
        assert scan(path, header=True).n_columns == expected.shape[1]


@pytest.mark.parametrize("text", ["0,1\n5,a\n", "1,2\n5,6\n", "who,2019,2021\nA,1,2\n", "0\n4\n"])
def test_numbers_that_are_names(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert scan(path).feature_names == tuple(text.split("\n")[0].split(","))


def test_repeated_names_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x;x;y\n1;2;3\n")
    with pytest.raises(ValueError, match="has 2 columns named 'x'"):
        scan(path, target="y")


def test_lines_are_those_of_an_editor(tmp_path):
    path = tmp_path / "a.csv"
    rows = ['1,"two\nlines",1', "", "2,plain,1", '3,"a ""b""\n\n,",1', "4,c,1"]
    for end in ("\n", "\r\n"):
        text = end.join(["x,t,y", *rows, "five,d,1", ""])
        path.write_bytes(text.encode())
        line = text[: text.index("five")].count("\n") + 1
        with pytest.raises(ValueError, match=rf"holds 'five' in line {line},"):
            scan(path, features=["t"], weight="x")
        source = scan(path, features=["t"])
        assert source.row_label(4) == f"line {line} of {str(path)!r}"
        assert source.row_label(3) == f"line {line - 1} of {str(path)!r}"
        assert source.row_label(0) == f"line 2 of {str(path)!r}"


def test_a_missing_cell_is_named_by_its_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x;y\n1,5;2\n;3\n2,5;4\n")
    words = r"NaN: column 'x', line 3 of '.*a.csv'. .*SimpleImputer.*drop those rows"
    with pytest.raises(ValueError, match=words):
        Ridge().fit(scan(path, target="y"))
    path.write_text("x;y\n1,5;2\n2;\n2,5;4\n")
    with pytest.raises(ValueError, match=r"y contains NaN: line 3 of .*Drop rows"):
        Ridge().fit(scan(path, target="y"))


def test_bytes_that_are_not_in_the_encoding(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"t,y\n" + b"Ulm,1\n" * 300_000 + "Köln,2\n".encode("cp1252"))
    words = r"bytes that are not utf-8 in line 300002; .*encoding='cp1252'"
    with pytest.raises(ValueError, match=words):
        rows_of(scan(path, target="y"))
    assert rows_of(scan(path, target="y", encoding="cp1252"))["t"].iloc[-1] == "Köln"
    path.write_bytes("größe,y\n1,2".encode("cp1252"))
    with pytest.raises(ValueError, match="bytes that are not utf-8"):
        scan(path, encoding="utf-8")
    path.write_bytes(b"t,y\n" + "é,1\nà,2\n".encode() * 9 + "ü,3\n".encode("cp1252"))
    with pytest.raises(ValueError, match="bytes that are not utf-8 in line 20"):  # not cp1252
        rows_of(scan(path, target="y"))
    path.write_bytes("x,y\n1,2\n".encode("utf-16")[:-1])
    with pytest.raises(ValueError, match=r"bytes that are not utf-16.*encoding="):
        scan(path)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32"])
def test_wide_characters_without_a_byte_order_mark(tmp_path, encoding):
    FRAME.to_csv(tmp_path / "a.csv", index=False, encoding=encoding)
    assert_same(rows_of(scan(tmp_path / "a.csv", target="y")), FRAME)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sep": ""}, "sep is ''; give one character"),
        ({"sep": "ab"}, "sep is 'ab'"),
        ({"sep": "§"}, "one ASCII character"),
        ({"decimal": ";"}, r"decimal is ';'; give '\.' or ','"),
        ({"thousands": "."}, r"both '\.'"),
        ({"encoding": "klingon"}, "encoding is 'klingon', which Python does not know"),
        ({"encoding": "rot13"}, "encoding is 'rot13'"),
        ({"missing": "NA"}, "missing is 'NA'; give a list"),
        ({"missing": [3]}, "give a list of texts"),
        ({"header": 0}, "header is 0; give True, False or None"),
    ],
)
def test_options_that_make_no_sense(tmp_path, options, words):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n")
    with pytest.raises((ValueError, TypeError), match=words):
        scan(path, **options)
