import os
from pathlib import Path

import pytest

from suffice.sources.files.paths import find_files, format_of


@pytest.fixture
def folder(tmp_path, monkeypatch):
    names = [
        "b.parquet",
        "a.csv",
        "sub/z.csv.gz",
        "sub/deep/c.feather",
        "sub-2/x.ipc",
        "notes.txt",
        "_SUCCESS",
        ".hidden.csv",
        "_part.csv",
        "_temporary/half.parquet",
        ".git/d.csv",
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(path):
    return [os.path.relpath(name) for name in find_files(path)]


ALL = ["a.csv", "b.parquet", "sub-2/x.ipc", "sub/deep/c.feather", "sub/z.csv.gz"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.csv", ["a.csv"]),
        (Path("a.csv"), ["a.csv"]),
        (".", ALL),
        ("sub", ["sub/deep/c.feather", "sub/z.csv.gz"]),
        ("*.*", ["_part.csv", "a.csv", "b.parquet", "notes.txt"]),
        ("*/*.ipc", ["sub-2/x.ipc"]),
        ("sub*", ["sub/deep/c.feather", "sub/z.csv.gz", "sub-2/x.ipc"]),
        ("sub/**", ["sub/deep/c.feather", "sub/z.csv.gz"]),
        ("**/*.feather", ["sub/deep/c.feather"]),
        (["b.parquet", "a.csv"], ["b.parquet", "a.csv"]),
        (("sub-2", "*.csv"), ["sub-2/x.ipc", "_part.csv", "a.csv"]),
        (["a.csv", "a.csv"], ["a.csv", "a.csv"]),
        ("notes.txt", ["notes.txt"]),
    ],
    ids=str,
)
@pytest.mark.usefixtures("folder")
def test_files_globs_folders_and_lists(path, expected):
    assert found(path) == expected


@pytest.mark.usefixtures("folder")
def test_paths_are_absolute():
    assert all(os.path.isabs(name) for name in find_files("."))


def test_a_name_that_looks_like_a_glob_is_a_name_first(folder):
    (folder / "[1].csv").write_text("x")
    assert found("[1].csv") == ["[1].csv"]


def test_home_is_understood(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    assert found("~/sub-2/*.ipc") == ["sub-2/x.ipc"]


def test_nothing_found(folder):
    for path in ("nothing.csv", "nothing/*.parquet", ["a.csv", "nothing*"]):
        with pytest.raises(FileNotFoundError, match="No file matches 'nothing"):
            find_files(path)
    (folder / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"'empty' holds no data file; .*\.parquet"):
        find_files("empty")


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ([], ValueError, "empty list"),
        (3, TypeError, "path is of type int"),
        ([3], TypeError, "path holds 3"),
        ("s3://bucket/a.parquet", ValueError, "only files on this computer"),
    ],
)
def test_what_is_no_path(path, error, words):
    with pytest.raises(error, match=words):
        find_files(path)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.parquet", b"PAR1", "parquet"),
        ("a.PQ", b"PAR1", "parquet"),
        ("a.csv", b"a,b", "csv"),
        ("a.csv.gz", b"..", "csv"),
        ("a.CSV.ZST", b"..", "csv"),
        ("a.tsv", b"a", "tsv"),
        ("a.tsv.bz2", b"a", "tsv"),
        ("a.arrow", b"ARROW1", "arrow"),
        ("a.feather", b"ARROW1", "arrow"),
        ("a.ipc", b"\xff\xff\xff\xff", "arrow"),
        ("data", b"PAR1....", "parquet"),
        ("data.bin", b"ARROW1\0\0", "arrow"),
        ("data.v2", b"\xff\xff\xff\xff\0\0", "arrow"),
    ],
)
def test_formats_by_suffix_then_by_first_bytes(tmp_path, name, content, expected):
    (tmp_path / name).write_bytes(content)
    assert format_of(str(tmp_path / name)) == expected


def test_unknown_empty_and_unreadable_files(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"notes.txt' is of no known format.*Parquet"):
        format_of(str(path))
    path.write_text("")
    with pytest.raises(ValueError, match=r"notes.txt' is an empty file"):
        format_of(str(path))
    with pytest.raises(ValueError, match=r"cannot be read: Is a directory"):
        format_of(str(tmp_path))
