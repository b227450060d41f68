"""Rows that are piped in."""

import gzip
import io
import os
import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from suffice import Ridge
from suffice.sources import scan

FRAME = pd.DataFrame({"x": [1.5, 2.5, 4.0], "z": [0.0, 1.0, 1.0], "y": [1.0, 2.0, 4.0]})


def pipe(monkeypatch, content, terminal=False):
    stream = SimpleNamespace(buffer=io.BytesIO(content), isatty=lambda: terminal, closed=False)
    monkeypatch.setattr(sys, "stdin", stream)


def contents():
    parquet, arrow = io.BytesIO(), io.BytesIO()
    FRAME.to_parquet(parquet)
    FRAME.to_feather(arrow)
    text = FRAME.to_csv(index=False).encode()
    return {
        "csv": text,
        "gzip": gzip.compress(text),
        "German": FRAME.to_csv(index=False, sep=";", decimal=",").encode("utf-16"),
        "parquet": parquet.getvalue(),
        "arrow": arrow.getvalue(),
    }


@pytest.mark.parametrize("name", contents())
def test_what_is_piped_in_is_read_again_and_again(monkeypatch, name):
    pipe(monkeypatch, contents()[name])
    source = scan("-", target="y")
    for _ in range(2):
        (block,) = [piece.load() for piece in source.pieces()]
        np.testing.assert_array_equal(block.X, FRAME[["x", "z"]])
        np.testing.assert_array_equal(block.y, FRAME["y"])


def test_the_copy_goes_with_the_source(monkeypatch):
    pipe(monkeypatch, contents()["csv"])
    source = scan("-", target="y")
    path = source.files[0].path
    folder = os.path.dirname(path)
    assert "standard-input.csv" in repr(source)
    train = source.split(test=0.5, seed=2)[0]
    again = pickle.loads(pickle.dumps(source))
    del source
    assert Ridge().fit(train).coef_.shape == (2,)
    assert again.count_rows() == 3
    del train
    assert not os.path.exists(folder)


def test_the_copy_goes_when_the_scan_fails(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    pipe(monkeypatch, contents()["csv"])
    with pytest.raises(ValueError, match="no column 'fare'"):
        scan("-", target="fare")
    assert list(tmp_path.iterdir()) == []


def test_it_can_stand_beside_files(monkeypatch, tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    pipe(monkeypatch, contents()["csv"])
    assert scan([tmp_path / "a.csv", "-"], target="y").count_rows() == 6
    with pytest.raises(ValueError, match="'-', more than once"):
        scan(["-", "-"])


def test_nothing_to_read(monkeypatch):
    pipe(monkeypatch, b"")
    with pytest.raises(ValueError, match="nothing on standard input"):
        scan("-")
    pipe(monkeypatch, b"x\n1\n", terminal=True)
    with pytest.raises(ValueError, match="is a terminal: pipe a file into it"):
        scan("-")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ValueError, match="no standard input"):
        scan("-")


def test_a_full_disk(monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    pipe(monkeypatch, b"x\n1\n")
    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(ValueError, match=r"No space left on device\. .*TMPDIR"):
        scan("-")


def test_the_copy_is_gone_after_the_process():
    code = "from suffice import scan; s = scan('-'); print(s.files[0].path, s.count_rows())"
    content = contents()["csv"]
    run = subprocess.run(
        [sys.executable, "-c", code], input=content, capture_output=True, check=True
    )
    path, count = run.stdout.decode().split()
    assert count == "3"
    assert not os.path.exists(os.path.dirname(path))
