"""Forest cover types: 581,012 rows of 54 columns in seven classes, from Colorado's forests.

The table comes with scikit-multiflow's wheel.
"""

from __future__ import annotations

import zipfile
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.wheels import FOLDER, wheel

PACKAGE = "scikit-multiflow==0.4.1"
SYSTEM = (
    "--python-version=3.7",
    "--implementation=cp",
    "--abi=cp37m",
    "--platform=manylinux1_x86_64",
)
"""Of the wheel; any interpreter can read it."""
TABLE = "skmultiflow/data/datasets/covtype.csv"


@cache
def read() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Cells and classes."""
    from pyarrow import csv

    with zipfile.ZipFile(wheel(FOLDER, PACKAGE, *SYSTEM)) as archive, archive.open(TABLE) as file:
        *cells, classes = (column.to_numpy() for column in csv.read_csv(file).columns)
    return np.column_stack(cells).astype(np.float64), classes.astype(np.int64)
