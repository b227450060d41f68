"""The command as a process of its own: entry points, signals, pipes, limits of the system."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import suffice

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals, pipes and limits as POSIX has them")
HEAD = [sys.executable, "-m", "suffice"]


def run(*arguments, **options):
    options = {"capture_output": True, "text": True, "timeout": 120} | options
    return subprocess.run([*HEAD, *map(str, arguments)], **options)


def test_entry_points(tmp_path):
    script = Path(sys.executable).with_name("suffice")
    expected = f"suffice {suffice.__version__}\n"
    assert run("--version").stdout == expected
    if script.exists():  # where the project is installed
        assert (
            subprocess.run([script, "--version"], capture_output=True, text=True).stdout == expected
        )
    outcome = run("inspect", "nowhere", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr == "error: 'nowhere': No such file or directory\n"


def test_the_library_does_without_the_command_lines_packages():
    code = """
import sys, suffice
suffice.scan
print([name for name in ("typer", "rich", "suffice.cli") if name in sys.modules])
suffice.Ridge().fit([[0.0], [1.0]], [0.0, 1.0])  # scikit-learn imports Rich where it finds it
print([name for name in ("typer", "suffice.cli") if name in sys.modules])
"""
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert outcome.stdout == "[]\n[]\n"


def test_fit_and_predict_from_another_process(rides, folder):
    fit = run("fit", "rides.csv", "--target", "fare", "--model", "ridge", "--save", "m", cwd=folder)
    assert (fit.returncode, fit.stderr) == (0, "")
    model = suffice.load("m")
    predicted = run("predict", "m", "rides.csv", "--output", "-", cwd=folder)
    assert (predicted.returncode, predicted.stderr) == (0, "")
    expected = model.predict(suffice.scan("rides.csv", features=list(model.feature_names_in_)))
    found = [float(line) for line in predicted.stdout.splitlines()[1:]]
    np.testing.assert_array_equal(found, expected)


def test_text_columns_need_no_pandas(folder):
    code = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from suffice.cli import main
main(sys.argv[1:])
"""
    rows = [f"{city},{i % 7},{i}" for i, city in enumerate(["Ulm", "Rome", "Oslo"] * 8)]
    (folder / "d.csv").write_text("\n".join(["city,x,y", *rows]) + "\n")
    arguments = ["fit", "d.csv", "--target", "y", "--model", "ridge", "--save", "m"]
    command = [sys.executable, "-c", code, *arguments]
    outcome = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert (outcome.returncode, outcome.stderr.count("\n")) == (0, 1), outcome.stderr
    assert "city_Ulm" in outcome.stdout
    assert len(suffice.load(folder / "m")["model"].coef_) == 4


@pytest.fixture
def endless(folder):
    """Arguments of a fit that would take minutes: one file of two million numbers, named often."""
    rows = np.random.default_rng(0).normal(size=(4000, 40))
    names = ",".join(f"x{i}" for i in range(40))
    np.savetxt(folder / "long.csv", rows, delimiter=",", header=names, comments="")
    data = ["long.csv"] * 3000
    return ["fit", *data, "--target", "x0", "--model", "ridge", "--save", "m", "--threads", "2"]


@POSIX
def test_ctrl_c_during_a_long_fit_with_its_bar(endless, folder):
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*HEAD, *endless], stdout=subprocess.PIPE, stderr=theirs, cwd=folder,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80"},
    )  # fmt: skip
    os.close(theirs)
    try:
        shown = read_until(ours, b"looking", seconds=60)
        assert b"looking" in shown, shown
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=60)
        shown += read_until(ours, b"interrupted", seconds=5)
    finally:
        process.kill()
        os.close(ours)
    assert code == 130
    assert process.stdout.read() == b""
    process.stdout.close()
    assert b"Traceback" not in shown
    assert shown.rstrip().endswith(b"interrupted")
    assert sorted(os.listdir(folder)) == ["long.csv"]


def read_until(descriptor, word, seconds):
    """What a terminal shows, up to a word or the end."""
    shown, end = b"", time.monotonic() + seconds
    while word not in shown and time.monotonic() < end:
        if select.select([descriptor], [], [], 0.2)[0]:
            try:
                part = os.read(descriptor, 4096)
            except OSError:  # nobody writes any more
                break
            if not part:
                break
            shown += part
    return shown


@POSIX
def test_ctrl_c_without_a_terminal(endless, folder):
    process = subprocess.Popen(
        [*HEAD, *endless, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
    )
    try:
        time.sleep(4)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert out.split() == b'{ "error": "interrupted" }'.split()
    assert err == b"interrupted\n"
    assert sorted(os.listdir(folder)) == ["long.csv"]


@POSIX
def test_a_reader_that_goes_away_is_no_error(folder, model_file):
    (folder / "many.csv").write_text("miles,night\n" + "1.5,1\n" * 300_000)
    process = subprocess.Popen(
        [*HEAD, "predict", model_file, "many.csv", "--output", "-"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
    )  # fmt: skip
    assert process.stdout.readline() == b"prediction\n"
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert err == b""


@POSIX
@pytest.mark.parametrize("command", ["models", pytest.param("inspect", marks=pytest.mark.long)])
def test_a_reader_that_was_never_there(folder, model_file, command):
    read, write = os.pipe()
    os.close(read)
    arguments = [command] if command == "models" else [command, model_file]
    outcome = run(*arguments, capture_output=False, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert outcome.returncode == 141
    assert outcome.stderr == ""


@POSIX
@pytest.mark.parametrize(
    "kind",
    [
        "csv",
        *(pytest.param(kind, marks=pytest.mark.long) for kind in ("parquet", "arrow")),
        "safetensors",
    ],
)
def test_a_file_that_outgrows_its_limit(rides, folder, model_file, kind):
    import resource

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (800, 800))

    if kind == "safetensors":
        command = ["fit", "rides.csv", "--target", "fare", "--model", "ridge", "--save"]
    else:
        command = ["predict", model_file, "rides.csv", "--output"]
    before = sorted(os.listdir(folder))
    # Without .pyc files: Python would write those under the same limit.
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    outcome = run(*command, f"p.{kind}", cwd=folder, preexec_fn=limit, env=environment)
    assert outcome.returncode == 2
    assert outcome.stderr == f"error: 'p.{kind}': File too large\n"
    assert outcome.stdout == ""
    assert sorted(os.listdir(folder)) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output(rides, folder, model_file):
    with open("/dev/full", "wb") as full:
        command = ("predict", model_file, "rides.csv", "--output", "-")
        outcome = run(*command, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert outcome.returncode == 2
    assert outcome.stderr == "error: No space left on device\n"
    with open("/dev/full", "wb") as full:
        command = ("inspect", model_file, "--json")
        outcome = run(*command, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert outcome.returncode == 2
    assert outcome.stderr == "error: No space left on device\n"


def test_output_in_an_encoding_that_lacks_the_characters(folder, model_file):
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    outcome = run("models", env=environment, encoding="ascii", text=None)
    assert outcome.returncode == 0
    assert "Ridge" in outcome.stdout
