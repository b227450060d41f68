"""Fresh Python processes: what a kernel does at its first call can only be seen in one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 600
"""Seconds after which a process is taken to be stuck; all kernels compile in one to two minutes."""


def environment(changes: dict[str, str]) -> dict[str, str]:
    """Return this process's environment without settings that steer kernels, plus `changes`."""
    steering = ("NUMBA_", "SUFFICE_", "XDG_CACHE_HOME", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(steering)}
    return {**kept, **changes}


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start Python on some code; the cache is in ``tmp_path / "cache"`` unless told otherwise."""

    def start_process(
        code: str, preexec_fn: Callable[[], None] | None = None, **changes: str
    ) -> subprocess.Popen[str]:
        changes = {"SUFFICE_CACHE_DIR": str(tmp_path / "cache"), **changes}
        return subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment(changes),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=preexec_fn,
        )

    return start_process


@pytest.fixture
def finish() -> Callable[[subprocess.Popen[str]], Any]:
    """Wait for a process; return the JSON on its last line. Anything on stderr is a failure."""

    def finish_process(process: subprocess.Popen[str]) -> Any:
        try:
            output, errors = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        assert process.returncode == 0, errors
        assert errors == ""
        return json.loads(output.splitlines()[-1])

    return finish_process


@pytest.fixture
def run(
    start: Callable[..., subprocess.Popen[str]], finish: Callable[[subprocess.Popen[str]], Any]
) -> Callable[..., Any]:
    """Run code in a fresh process and return the JSON that it prints last."""
    return lambda code, **options: finish(start(code, **options))
