"""Columns written side by side, against the plain loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from suffice.sources.files.columns import ROWS_AT_ONCE, write_columns

SHAPES = [
    (0, 3),
    (1, 1),
    (5, 11),
    (12, 12),
    (11, 12),
    (ROWS_AT_ONCE - 8, 13),
    (ROWS_AT_ONCE, 12),
    (2 * ROWS_AT_ONCE + 1, 50),
]


def plain(columns: list[Any]) -> Any:
    out = np.empty((len(columns[0]), len(columns)))
    for j, column in enumerate(columns):
        out[:, j] = column
    return out


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_columns_of_any_dtype_are_written_as_by_a_loop(shape: tuple[int, int]) -> None:
    noise = np.random.default_rng(sum(shape))
    dtypes = [np.float64, np.float32, np.int64, np.uint64, np.int8, np.bool_, np.float16]
    columns = [
        (noise.standard_normal(shape[0]) * 9).astype(np.int8).astype(dtypes[j % len(dtypes)])
        for j in range(shape[1])
    ]
    columns[0] = noise.standard_normal(shape[0])
    columns[0][::3] = np.nan
    for column in columns:
        column.setflags(write=False)
    out = np.empty(shape)
    write_columns(out, columns)
    np.testing.assert_array_equal(out, plain(columns))


def test_only_the_rows_given_are_written() -> None:
    columns = list(np.random.default_rng(0).standard_normal((20, 300)))
    out = np.zeros((500, 20))
    write_columns(out[100:400], columns)
    np.testing.assert_array_equal(out[100:400], plain(columns))
    assert not out[:100].any()
    assert not out[400:].any()
