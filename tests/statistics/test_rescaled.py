"""What a scaler learns from a statistic, and what it makes of it: as from the rows."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from suffice.numerics.double_double import DoubleDouble
from suffice.statistics.moments.by_class import ClassMoments
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.moments.fourth import FourthMoments
from suffice.statistics.moments.full import Moments
from suffice.statistics.moments.labelled import LabelledMoments
from suffice.statistics.moments.pooled import PooledMoments

STATISTICS = {
    "columns": lambda X, y, p: ColumnMoments.summarize(X, None, p),
    "full": lambda X, y, p: Moments.summarize(X, None, None, p),
    "fourth": lambda X, y, p: FourthMoments.summarize(X, None, p),
    "by class": lambda X, y, p: ClassMoments.summarize(X, y, None, p),
    "pooled": lambda X, y, p: PooledMoments.summarize(X, y, None, p),
    "labelled": lambda X, y, p: LabelledMoments.summarize(X, y, None, p),
    "labelled fourth": lambda X, y, p: LabelledMoments.summarize(X, y, None, p, fourth=True),
}
CENTRE, SCALE = np.array([1.0, -200.0, 0.5]), np.array([2.0, 30.0, 0.125])


def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) * [3.0, 20.0, 0.1] + [1.0, -200.0, 0.0]
    return X, np.arange(80) % 3


def agree(a, b):
    """All numbers but the bounds on their errors."""
    assert type(a) is type(b)
    if isinstance(a, DoubleDouble):
        a, b = a.round(), b.round()
    if isinstance(a, tuple):
        for one, other in zip(a, b, strict=True):
            agree(one, other)
    elif is_dataclass(a):
        for field in fields(a):
            if field.name not in ("magnitude", "mean_rest", "roundings", "height", "steps"):
                agree(getattr(a, field.name), getattr(b, field.name))
    else:
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("precision", ["float64", "double-double"])
@pytest.mark.parametrize("make", STATISTICS.values(), ids=STATISTICS)
def test_as_from_the_rows(make, precision):
    X, y = sample()
    statistic = make(X, y, precision)
    agree(statistic.columns_seen(3), ColumnMoments.summarize(X, None, precision))
    for centre in (None, CENTRE):
        for scale in (None, SCALE):
            rows = (X - (0 if centre is None else centre)) / (1 if scale is None else scale)
            found = statistic.rescaled(centre, scale, 3)
            agree(found, make(rows, y, precision))
            assert found.precision == precision


def test_further_columns_stay_as_they_are():
    X, y = sample()
    moments = Moments.summarize(X, 1e6 + y[:, None])
    found = moments.rescaled(CENTRE, SCALE, 3)
    agree(found, Moments.summarize((X - CENTRE) / SCALE, 1e6 + y[:, None]))
    np.testing.assert_array_equal(found.mean.hi[3:], moments.mean.hi[3:])
    np.testing.assert_array_equal(found.mean.lo[3:], moments.mean.lo[3:])
    np.testing.assert_array_equal(found.mean_rest[3:], moments.mean_rest[3:])
    agree(moments.columns_seen(3), ColumnMoments.summarize(X))


@pytest.mark.parametrize("name", ["columns", "by class"])
def test_columns_without_a_value_have_nothing_to_scale(name):
    X, y = sample()
    X[:, 1] = np.nan
    centre, scale = np.where([0, 1, 0], np.nan, CENTRE), np.where([0, 1, 0], np.nan, SCALE)
    make = STATISTICS[name]
    found = make(X, y, "float64").rescaled(centre, scale, 3)
    agree(found, make((X - CENTRE) / SCALE, y, "float64"))
