"""Data in every form that a fit accepts, and a watch over what a failure leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest


@contextmanager
def _unchanged(model: Any) -> Iterator[None]:
    before = dict(vars(model))
    yield
    after = vars(model)
    assert set(after) == set(before)
    changed = [name for name, value in before.items() if after[name] is not value]
    assert changed == []


@pytest.fixture
def unchanged() -> Callable[[Any], AbstractContextManager[None]]:
    """Watch a model: afterwards it must hold the very same objects."""
    return _unchanged


@pytest.fixture
def write_parquet(tmp_path: Path) -> Callable[..., list[Path]]:
    """Write columns to a few Parquet files whose sizes and row groups differ."""

    def write(columns: dict[str, Any], n_files: int = 3) -> list[Path]:
        table = pa.table(columns)
        cuts = np.linspace(0, 1, n_files + 1) ** 1.5 * table.num_rows
        paths = []
        for i, (start, stop) in enumerate(pairwise(cuts)):
            paths.append(tmp_path / f"part-{i}.parquet")
            part = table.slice(int(start), int(stop) - int(start))
            pq.write_table(part, paths[-1], row_group_size=1000 * 7**i)
        return paths

    return write
