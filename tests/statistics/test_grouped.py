"""Statistics by group."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.statistics.by_group import Grouped, all_but_each, merged
from suffice.statistics.sums import Sums

ROWS = np.arange(1.0, 13.0)


def total(chosen):
    return Sums((np.array([ROWS[chosen].sum(), len(ROWS[chosen])]),))


def values(grouped):
    return {number: part.values[0].tolist() for number, part in grouped.parts.items()}


@given(st.lists(st.integers(-1, 4), min_size=12, max_size=12))
def test_each_row_goes_to_its_group(numbers):
    group = np.array(numbers)
    found = values(Grouped.summarize(group, total))
    expected = {
        g: [ROWS[group == g].sum(), (group == g).sum()] for g in sorted(set(numbers)) if g >= 0
    }
    assert found == expected
    assert list(found) == sorted(found)


@given(st.lists(st.integers(-1, 4), min_size=12, max_size=12), st.integers(0, 12))
def test_parts_merge(numbers, cut):
    group = np.array(numbers)
    first = Grouped.summarize(group[:cut], total)
    second = Grouped.summarize(group[cut:], lambda rows: total(np.arange(cut, 12)[rows]))
    assert values(Grouped.merge([first, second])) == values(Grouped.summarize(group, total))


def test_rows_that_lie_together_come_as_a_slice():
    seen = []
    Grouped.summarize(np.array([2, 2, 0, 0, 1, 0]), lambda rows: seen.append(rows) or total(rows))
    assert [type(rows) for rows in seen] == [np.ndarray, slice, slice]
    seen.clear()
    Grouped.summarize(np.full(12, 3), lambda rows: seen.append(rows) or total(rows))
    assert seen == [slice(0, 12)]


def test_nothing():
    assert values(Grouped.zero()) == {}
    assert values(Grouped.summarize(np.array([], int), total)) == {}
    assert values(Grouped.summarize(np.array([-1, -1]), total)) == {}
    assert values(Grouped.merge([Grouped.zero(), Grouped.zero()])) == {}
    assert Grouped.zero().nbytes == 0


def test_it_cannot_be_changed_and_can_be_pickled():
    grouped = Grouped.summarize(np.array([1, 0, 1]), total)
    with pytest.raises(TypeError):
        grouped.parts[0] = None
    loaded = pickle.loads(pickle.dumps(grouped))
    assert values(loaded) == values(grouped)
    assert loaded.nbytes == grouped.nbytes > 0


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_all_but_each(n):
    parts = [total([i]) for i in range(n)]
    found = all_but_each(parts)
    for i, rest in enumerate(found):
        if n == 1:
            assert rest is None
        else:
            expected = merged([part for j, part in enumerate(parts) if j != i])
            np.testing.assert_array_equal(rest.values[0], expected.values[0])


def test_all_but_each_where_some_have_no_rows():
    parts = [total([0]), None, total([2])]
    found = all_but_each(parts)
    np.testing.assert_array_equal(found[1].values[0], total([0, 2]).values[0])
    assert found[0] is parts[2]
    assert found[2] is parts[0]
