"""Integers that a source has rounded to float64.

Files and frames that are read block by block hand out numbers as float64.  Of integers of 2⁵³
and more, neighbours become one number there: as categories, they would be merged silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import NDArray

from suffice.fitting.tables import has_large
from suffice.sources import FileSource, FrameSource, Source


def rounds_integers(source: Source) -> bool:
    """Whether the numbers of a source may have been integers of more digits."""
    root: Any = source
    while inside := getattr(root, "base", None) or getattr(root, "source", None):
        root = inside
    return isinstance(root, (FileSource, FrameSource))


def refuse_rounded(columns: Iterable[NDArray[Any]], labels: Sequence[str]) -> None:
    """Raise if a column holds floats that different integers are rounded to."""
    for column, label in zip(columns, labels, strict=True):
        if column.dtype.kind == "f" and has_large(column):
            raise ValueError(
                f"{label} holds numbers of 2^53 and more. Sources are read as float64, which "
                "cannot tell such integers apart: store the column as text, or pass rows in memory "
                "(an array or a data frame)"
            )
