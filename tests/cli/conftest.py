"""Commands run within the tests' own process, and some rows to run them on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capfd) -> Callable[..., Outcome]:
    """Run a command; get its exit code and what it wrote."""

    def run_command(*arguments: Any) -> Outcome:
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        return Outcome(end.value.code, *capfd.readouterr())

    return run_command


@pytest.fixture
def refused(run) -> Callable[..., str]:
    """Run a command that must fail on its input: one line on standard error, exit code 2."""

    def refuse(*arguments: Any) -> str:
        outcome = run(*arguments)
        assert outcome.code == 2
        assert outcome.out == ""
        assert outcome.err.startswith("error: ")
        assert outcome.err.count("\n") == 1
        assert outcome.err.endswith("\n")
        as_json = run(*arguments, "--json")
        assert as_json.code == 2
        assert as_json.json == {"error": outcome.err.removeprefix("error: ").rstrip("\n")}
        return outcome.err

    return refuse


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty folder, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_csv(path: Path, rows: np.ndarray, names: str = "miles,night,fare,trips") -> None:
    lines = [",".join(map(repr, row)) for row in rows.tolist()]
    path.write_text("\n".join([names, *lines]) + "\n")


@pytest.fixture
def rides(folder) -> np.ndarray:
    """Rows of `miles,night,fare,trips`: all in rides.csv, and in two parts."""
    rng = np.random.default_rng(7)
    miles = rng.gamma(2.0, 2.0, 300)
    night = rng.integers(0, 2, 300)
    fare = 3 + 2.5 * miles + 2 * night + rng.normal(size=300)
    rows = np.column_stack([miles, night, fare, rng.integers(1, 4, 300)]).astype(float)
    write_csv(folder / "rides.csv", rows)
    (folder / "parts").mkdir()
    write_csv(folder / "parts" / "a.csv", rows[:120])
    write_csv(folder / "parts" / "b.csv", rows[120:])
    return rows


@pytest.fixture
def model_file(run, rides, folder) -> Path:
    """A ridge regression on miles and night, saved."""
    command = "fit rides.csv --target fare --features miles,night --model ridge --set alpha=2"
    assert run(*command.split(), "--save", "m.safetensors").code == 0
    return folder / "m.safetensors"
