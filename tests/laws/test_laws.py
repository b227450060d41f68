"""The laws of a statistic, for every statistic there is.

Summaries of disjoint rows merge into the summary of all of them, whatever the partition and the
order; no rows change nothing; a weight is a number of repetitions; and where rows can be taken
away, that undoes a merge.  Sums of integers keep the laws exactly, centred moments within the
error bound that they carry.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import types

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.laws.specimens import (
    SPECIMENS,
    arrays,
    assert_identical,
    contents,
    mergeable_classes,
)
from tests.statistics.rows import Rows

every_specimen = pytest.mark.parametrize("specimen", SPECIMENS, ids=str)
few = settings(max_examples=settings.default.max_examples // 5)


def pieces(draw, block, most=4):
    """The rows in disjoint parts, some of them perhaps empty."""
    count = draw(st.integers(1, most))
    part = np.array(
        draw(st.lists(st.integers(0, count - 1), min_size=len(block), max_size=len(block)))
    )
    return [block[part == k] for k in range(count)]


def merge_in_some_tree(draw, merge, parts):
    """The parts merged a few at a time, in any order and grouping."""
    parts = draw(st.permutations(parts))
    while len(parts) > 1:
        width = draw(st.integers(2, len(parts)))
        parts = [merge(parts[:width]), *parts[width:]]
    return parts[0]


# --- every statistic is here ---------------------------------------------------------------


def test_every_statistic_has_a_specimen():
    missing = mergeable_classes() - {specimen.statistic for specimen in SPECIMENS}
    assert not missing, f"add to tests/laws/specimens.py: {sorted(c.__name__ for c in missing)}"


def test_statistics_are_found(tmp_path, monkeypatch):
    folder = tmp_path / "some_statistics"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "late.py").write_text(
        "from suffice.statistics.sums import Sums\n"
        "class Late:\n"
        "    @classmethod\n"
        "    def merge(cls, parts): ...\n"
        "class Helper: ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    package = types.ModuleType("some_statistics")
    package.__path__ = [str(folder)]
    assert [cls.__name__ for cls in mergeable_classes(package)] == ["Late"]


@every_specimen
def test_a_statistic_is_a_frozen_dataclass_with_a_zero(specimen):
    cls = specimen.statistic
    assert dataclasses.is_dataclass(cls)
    assert cls.__dataclass_params__.frozen
    assert isinstance(inspect.getattr_static(cls, "zero"), classmethod)
    assert inspect.getdoc(cls)


# --- a monoid ------------------------------------------------------------------------------


@every_specimen
@given(data=st.data())
@few
def test_zero_changes_nothing_on_either_side(specimen, data):
    block = data.draw(specimen.rows)
    statistic, zero = specimen.summarize(block), specimen.zero(2)
    merge = specimen.statistic.merge
    for parts in ([zero, statistic], [statistic, zero], [zero, statistic, zero], (statistic,)):
        assert_identical(merge(parts), merge([statistic]))
        specimen.agree(merge(parts), statistic)
    specimen.agree(merge([zero, zero]), zero)


@every_specimen
@given(data=st.data())
@few
def test_a_block_without_rows_is_zero(specimen, data):
    block = data.draw(specimen.rows)
    assert_identical(specimen.summarize(block[:0]), specimen.zero(2))
    if block.weight is not None:
        nothing = specimen.summarize(Rows(block.Z, np.zeros(len(block))))
        specimen.agree(nothing, specimen.zero(2))


@every_specimen
@given(data=st.data())
@few
def test_merging_is_associative(specimen, data):
    merge = specimen.statistic.merge
    a, b, c = (specimen.summarize(data.draw(specimen.rows)) for _ in range(3))
    left, right = merge([merge([a, b]), c]), merge([a, merge([b, c])])
    specimen.agree(left, right)
    specimen.agree(left, merge([a, b, c]))


@every_specimen
@given(data=st.data())
@few
def test_order_of_parts_does_not_matter(specimen, data):
    parts = [specimen.summarize(data.draw(specimen.rows)) for _ in range(4)]
    merge = specimen.statistic.merge
    specimen.agree(merge(parts), merge(data.draw(st.permutations(parts))))


@every_specimen
@given(data=st.data())
@few
def test_any_partition_is_one_block(specimen, data):
    block = data.draw(specimen.rows)
    parts = [specimen.summarize(piece) for piece in pieces(data.draw, block)]
    merged = merge_in_some_tree(data.draw, specimen.statistic.merge, parts)
    whole = specimen.summarize(block)
    specimen.agree(merged, whole)
    assert np.array_equal(getattr(merged, "count", 0), getattr(whole, "count", 0))


@every_specimen
@given(data=st.data())
@few
def test_single_rows_make_the_block(specimen, data):
    block = data.draw(specimen.rows)
    single = [specimen.summarize(block[i : i + 1]) for i in range(len(block))]
    specimen.agree(specimen.statistic.merge(single), specimen.summarize(block))


@every_specimen
@given(data=st.data())
@few
def test_weight_two_is_the_row_twice(specimen, data):
    block = data.draw(specimen.rows)
    weight = np.ones(len(block)) if block.weight is None else block.weight
    doubled = specimen.summarize(Rows(block.Z, 2 * weight))
    twice = specimen.summarize(Rows(np.repeat(block.Z, 2, axis=0), np.repeat(weight, 2)))
    once = specimen.summarize(block)
    specimen.agree(doubled, twice)
    specimen.agree(doubled, specimen.statistic.merge([once, once]))


# --- a group, where it is one --------------------------------------------------------------

subtracting = pytest.mark.parametrize(
    "specimen", [specimen for specimen in SPECIMENS if specimen.subtracts], ids=str
)


@subtracting
@given(data=st.data())
@few
def test_subtract_undoes_merge(specimen, data):
    a, b = (specimen.summarize(data.draw(specimen.rows)) for _ in range(2))
    merged = specimen.statistic.merge([a, b])
    specimen.agree(merged.subtract(b), a)
    specimen.agree(merged.subtract(a), b)
    specimen.agree(specimen.statistic.merge([merged.subtract(a), a]), merged)


@subtracting
@given(data=st.data())
@few
def test_rows_of_one_block_can_be_subtracted(specimen, data):
    block = data.draw(specimen.rows)
    whole = specimen.summarize(block)
    kept, gone = [*pieces(data.draw, block, most=2), block[:0]][:2]
    specimen.agree(whole.subtract(specimen.summarize(gone)), specimen.summarize(kept))


@subtracting
@given(data=st.data())
@few
def test_order_of_subtractions_does_not_matter(specimen, data):
    a, b, c = (specimen.summarize(data.draw(specimen.rows)) for _ in range(3))
    merged = specimen.statistic.merge([a, b, c])
    specimen.agree(merged.subtract(a).subtract(b), merged.subtract(b).subtract(a))
    specimen.agree(
        merged.subtract(a).subtract(b), merged.subtract(specimen.statistic.merge([a, b]))
    )


@subtracting
@given(data=st.data())
@few
def test_subtracting_nothing_and_everything(specimen, data):
    statistic = specimen.summarize(data.draw(specimen.rows))
    specimen.agree(statistic.subtract(specimen.zero(2)), statistic)
    specimen.agree(statistic.subtract(statistic), specimen.zero(2))


# --- values --------------------------------------------------------------------------------


@every_specimen
@given(data=st.data())
@few
def test_rows_and_operands_are_left_alone(specimen, data):
    blocks = [data.draw(specimen.rows) for _ in range(2)]
    before = copy.deepcopy(blocks)
    parts = [specimen.summarize(block) for block in blocks]
    kept = copy.deepcopy(parts)
    merged = specimen.statistic.merge(parts)
    results = [merged, *([merged.subtract(parts[0])] if specimen.subtracts else [])]
    for part, same in zip(parts, kept, strict=True):
        assert_identical(part, same)
    # Nor do they change when the rows do, or when further blocks are summarised.
    results_before = copy.deepcopy(results)
    for block, same in zip(blocks, before, strict=True):
        assert_identical(block, same)
        block.Z[...] = -7.0
        if block.weight is not None:
            block.weight[...] = 3.0
        specimen.summarize(block)
    for part, same in zip([*parts, *results], [*kept, *results_before], strict=True):
        assert_identical(part, same)


@every_specimen
@given(data=st.data())
@few
def test_results_share_no_memory(specimen, data):
    blocks = [data.draw(specimen.rows) for _ in range(2)]
    parts = [specimen.summarize(block) for block in blocks]
    assume(all(len(block.present) for block in blocks))
    merged = specimen.statistic.merge(parts)
    results = [merged, *([merged.subtract(parts[0])] if specimen.subtracts else [])]
    memory = [*([] if specimen.hands_on else arrays(parts)), *arrays(blocks)]
    for result in results:
        assert not any(np.shares_memory(x, y) for x in arrays(result) for y in memory)
    for part in parts:
        assert not any(np.shares_memory(x, y) for x in arrays(part) for y in arrays(blocks))


@every_specimen
@given(data=st.data())
@settings(max_examples=3)
def test_a_statistic_travels(specimen, data):
    parts = [specimen.summarize(data.draw(specimen.rows)) for _ in range(2)]
    for statistic in (*parts, specimen.zero(2), specimen.statistic.merge(parts)):
        for protocol in (2, pickle.HIGHEST_PROTOCOL):
            assert_identical(pickle.loads(pickle.dumps(statistic, protocol)), statistic)
        assert_identical(copy.deepcopy(statistic), statistic)
    travelled = [pickle.loads(pickle.dumps(part)) for part in parts]
    assert_identical(specimen.statistic.merge(travelled), specimen.statistic.merge(parts))


@every_specimen
def test_a_statistic_is_frozen(specimen):
    statistic = specimen.zero(2)
    for field in dataclasses.fields(statistic):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(statistic, field.name, None)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(statistic, field.name)
    with pytest.raises((AttributeError, TypeError)):
        statistic.something_else = 1
    assert statistic.nbytes >= 0
    assert list(contents(statistic))
