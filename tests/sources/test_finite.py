import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from suffice.sources import ArraySource, Block, FrameSource, SparseSource, describe_non_finite, scan


def first_message(source):
    for piece in source.pieces():
        message = describe_non_finite(piece.load(), source)
        if message is not None:
            return message
    return None


def with_value(value, row=9_000, column=1, dtype=float):
    X = np.zeros((20_000, 3), dtype=dtype)
    X[row, column] = value
    return X


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_nan_and_infinity_are_found_with_their_place(dtype, order):
    X = np.asarray(with_value(np.nan, dtype=dtype), order=order)
    message = first_message(ArraySource(X))
    assert message.startswith("Input X contains NaN: column 1, row 9000 (counted from 0). ")
    for value in (np.inf, -np.inf):
        X[9_000, 1] = value
        message = first_message(ArraySource(X))
        assert message.startswith("Input X contains infinity or a value too large: column 1, row 9")


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, lambda X: X[:, ::-1][:, ::-1]])
def test_values_beyond_the_range_are_found_with_their_place(form):
    for value in (1e151, -1e308):
        source = ArraySource(form(with_value(value)))
        message = first_message(source)
        assert message == (
            f"Input X contains a value too large, {value:g}: column 1, row 9000 (counted from 0). "
            "Values beyond 1e+150 are not taken: rescale the columns."
        )
        assert first_message(SparseSource(sparse.csr_array(with_value(value)))) == message
    assert first_message(ArraySource(form(with_value(1e150)))) is None
    target = ArraySource(np.zeros((20_000, 1)), with_value(-1e160)[:, 1])
    assert first_message(target).startswith("Input y contains a value too large, -1e+160: row 9000")


def test_missing_cells_are_no_reason():
    X = with_value(np.nan)
    source = ArraySource(X)
    block = Block(X, None, None, 0)
    assert describe_non_finite(block, source, missing=True) is None
    X[10_000, 2] = 1e151
    assert "column 2, row 10000 " in describe_non_finite(block, source, missing=True)


def test_the_column_has_its_name():
    frame = pd.DataFrame(with_value(np.nan), columns=["age", "pay", "tax"])
    assert "column 'pay', row 9000 (counted from 0)" in first_message(FrameSource(frame))


def test_rows_come_before_columns():
    X = with_value(np.inf, row=5, column=2)
    X[6, 0] = np.nan
    assert "infinity or a value too large: column 2, row 5 " in first_message(ArraySource(X))


def test_all_finite_is_none():
    for dtype in (float, int, bool):
        assert first_message(ArraySource(np.ones((10, 2), dtype), np.ones(10))) is None
    assert first_message(ArraySource(np.full((2, 2), 1e150), ["a", "b"])) is None
    assert first_message(SparseSource(sparse.eye_array(3))) is None
    assert first_message(SparseSource(sparse.eye_array(3, dtype=int))) is None


def test_rows_of_weight_zero_do_not_exist():
    weight = np.ones(20_000)
    weight[9_000] = 0
    X = with_value(np.nan)
    assert first_message(ArraySource(X, weight=weight)) is None
    assert first_message(SparseSource(sparse.csr_array(X), weight=weight)) is None
    X[10_000, 2] = np.inf
    for source in (ArraySource(X, None, weight), SparseSource(sparse.csr_array(X), None, weight)):
        assert "column 2, row 10000 " in first_message(source)
    y = np.zeros(20_000)
    y[9_000] = np.nan
    assert first_message(ArraySource(np.ones((20_000, 1)), y, weight)) is None


def test_sparse_entries():
    X = sparse.csr_array(with_value(np.nan, row=19_999))
    assert "NaN: column 1, row 19999 " in first_message(SparseSource(X))
    X = sparse.csr_array(([1.0, np.inf], ([0, 2], [0, 1])), shape=(3, 2))
    assert "infinity or a value too large: column 1, row 2 " in first_message(SparseSource(X))


X20 = np.zeros((20_000, 2))


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_labels_that_are_missing(missing):
    y = np.full(20_000, "a", dtype=object)
    assert first_message(ArraySource(X20, y)) is None
    y[12_000] = missing
    message = first_message(ArraySource(X20, y))
    assert message.startswith("Input y contains NaN: row 12000 (counted from 0). ")


def test_targets():
    y = np.zeros((20_000, 2))
    y[12, 1] = np.inf
    message = first_message(ArraySource(X20, y))
    assert message.startswith("Input y contains infinity or a value too large: column 1, row 12 ")
    named = ArraySource(X20, pd.DataFrame(y, columns=["u", "v"]))
    assert "column 'v', row 12 " in first_message(named)
    y = np.zeros(20_000, dtype=object)
    y[5] = float("inf")
    assert "y contains infinity" in first_message(ArraySource(X20, y))


def test_features_come_before_the_target():
    X, y = np.zeros((5, 1)), np.full(5, np.nan)
    X[3] = np.nan
    assert first_message(ArraySource(X, y)).startswith("Input X contains NaN: column 0, row 3 ")


def test_a_row_of_files_is_named_by_its_file(tmp_path):
    for name, age in (("a", [1.0, 2.0]), ("b", [3.0, None])):
        pd.DataFrame({"age": age}).to_parquet(tmp_path / f"{name}.parquet")
    message = first_message(scan(tmp_path))
    where = f"column 'age', row 3 (counted from 0), which is row 1 of {str(tmp_path)!r}"[:-1]
    assert message.startswith(f"Input X contains NaN: {where}")
