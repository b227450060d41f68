"""Values told apart exactly: Python's own integers, fractions and sets are the oracle."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.statistics.counts.distinct import cast_exactly, distinct, locate, objects, together

DTYPES = ["bool", "int8", "int64", "uint8", "uint64", "float16", "float32", "float64"]
EDGES = [0, 1, -1, 127, 128, 255, 256, 2**24 + 1, 2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2]
EDGES += [2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1, -(2**53) - 1, -(2**63)]
FRACTIONS = [0.5, 0.1, -2.5, 2.0**63, 2.0**64, 1e300, -1e300, np.nan, -0.0]


def held(dtype):
    """The edges that a dtype can hold, as its values."""
    if np.dtype(dtype).kind == "b":
        return np.array([False, True])
    if np.dtype(dtype).kind == "f":
        with np.errstate(over="ignore"):
            values = np.array([float(v) for v in EDGES + FRACTIONS]).astype(dtype)
        return values[~np.isinf(values)]
    info = np.iinfo(dtype)
    return np.array([v for v in EDGES if info.min <= v <= info.max], dtype=dtype)


def exact(value):
    return "NaN" if value != value else Fraction(value.item())


@pytest.mark.parametrize("of", DTYPES)
def test_numbers_are_found_where_they_are_equal(of):
    values = held(of)
    for to in DTYPES:
        known = distinct(held(to)).values
        rank = {exact(value): i for i, value in enumerate(known)}
        assert locate(values, known).tolist() == [rank.get(exact(value), -1) for value in values]
        cast, same = cast_exactly(values, np.dtype(to))
        for before, after, equal in zip(values, cast, same, strict=True):
            if equal:
                assert exact(before) == exact(after)


@pytest.mark.parametrize("first", DTYPES)
def test_numbers_of_two_types_stay_what_they_are_or_are_refused(first):
    for second in DTYPES:
        stay_or_are_refused([held(first), held(second)])


def stay_or_are_refused(parts):
    expected = [exact(value) for part in parts for value in part]
    try:
        assert [exact(value) for value in together(parts)] == expected
    except OverflowError:
        # Neither float64 nor 64 bits hold all of them.
        numbers = [value for value in expected if value != "NaN"]
        assert any(Fraction(float(value)) != value for value in numbers)
        whole = "NaN" not in expected and all(value.denominator == 1 for value in numbers)
        assert not whole or min(numbers) < 0 or max(numbers) >= 2**64


@given(st.lists(st.sampled_from(["b", "a", "Ä", None, np.nan, float("nan")]), max_size=20))
def test_objects_in_order_then_none_then_nan(items):
    found, codes = distinct(objects(items))
    text = sorted({item for item in items if isinstance(item, str)})
    none = [None] * (None in items)
    nan = ["NaN"] * any(item != item for item in items)
    assert ["NaN" if v != v else v for v in found] == [*text, *none, *nan]
    for item, code in zip(items, codes, strict=True):
        assert item == found[code] or (item != item and found[code] != found[code])
    assert locate(objects(items), found).tolist() == codes.tolist()


def test_objects_and_numbers():
    known = objects([1, 2.5, None])
    assert locate(np.array([2.5, 1.0, 3.0]), known).tolist() == [1, 0, -1]
    assert locate(objects([1, None, "a"]), np.array([0.0, 1.0])).tolist() == [1, -1, -1]
    assert together([objects([1, None]), np.array([2.5])]).tolist() == [1, None, 2.5]
    with pytest.raises(TypeError):
        together([objects(["a"]), np.array([2.5])])
