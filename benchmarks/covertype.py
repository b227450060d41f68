"""Forest cover types: 581,012 rows of 54 columns in seven classes, from Colorado's forests.

The table comes with scikit-multiflow's wheel, which an index of packages serves where the
archive of the table itself is out of reach.  It is fetched once, into `benchmarks/.data`.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).with_name(".data")
PACKAGE = "scikit-multiflow==0.4.1"
TABLE = "skmultiflow/data/datasets/covtype.csv"


class Unavailable(RuntimeError):
    """There is no index of packages, or it does not have the wheel."""


def wheel() -> Path:
    """The wheel, fetched if it is not there yet."""
    command = ("-m", "pip", "download", "--quiet", "--retries=1", "--timeout=30")
    # Read as an archive, never installed: any interpreter will do.
    system = ("--python-version=3.7", "--implementation=cp", "--abi=cp37m")
    platform = ("--platform=manylinux1_x86_64", "--no-deps", "--only-binary=:all:")
    if not any(FOLDER.glob("scikit_multiflow-*.whl")):
        done = subprocess.run(
            [sys.executable, *command, *system, *platform, f"--dest={FOLDER}", PACKAGE],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
            raise Unavailable(f"covertype's table cannot be fetched: {reason}")
    return next(FOLDER.glob("scikit_multiflow-*.whl"))


@cache
def read() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Cells and classes."""
    from pyarrow import csv

    with zipfile.ZipFile(wheel()) as archive, archive.open(TABLE) as file:
        *cells, classes = (column.to_numpy() for column in csv.read_csv(file).columns)
    return np.column_stack(cells).astype(np.float64), classes.astype(np.int64)
