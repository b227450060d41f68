"""The trace of a fit: a row a pass, as text, as a frame and as a picture."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle

import pytest

from suffice import LinearRegression
from suffice.fitting.trace import Trace


@pytest.fixture
def trace():
    return Trace().extended("first", math.nan, 0.25).extended("second", 1234.5678, 0.5)


def test_rows(trace):
    assert len(trace) == 2
    assert trace.step == ("first", "second")
    assert math.isnan(trace.objective[0])
    assert trace.objective[1] == 1234.5678
    assert trace.seconds == (0.25, 0.5)


def test_no_rows():
    assert len(Trace()) == 0
    assert str(Trace()).split() == ["pass", "objective", "seconds", "step"]
    assert Trace().to_frame().shape == (0, 4)


def test_extending_makes_a_new_one(trace):
    longer = trace.extended("third", 1, 1)
    assert len(trace) == 2
    assert len(longer) == 3
    assert all(type(value) is float for value in longer.objective + longer.seconds)


def test_text(trace):
    heading, first, second = (line.split() for line in str(trace).splitlines())
    assert heading == ["pass", "objective", "seconds", "step"]
    assert first == ["1", "nan", "0.2500", "first"]
    assert second == ["2", "1234.5678", "0.5000", "second"]


def test_frame(trace):
    frame = trace.to_frame()
    assert frame.columns.tolist() == ["step", "objective", "seconds", "accepted"]
    assert frame.index.tolist() == [1, 2]
    assert frame.index.name == "pass"
    assert frame["seconds"].sum() == 0.75


def test_rejected_rows_are_marked(trace):
    tried = trace.extended("third", 5.0, 1.0, accepted=False).extended("third", 2.0, 1.0)
    assert tried.accepted == (True, True, False, True)
    assert [line.endswith(", rejected") for line in str(tried).splitlines()[1:]] == [
        False, False, True, False,
    ]  # fmt: skip
    assert tried.to_frame()["accepted"].tolist() == [True, True, False, True]
    assert (tried + tried).accepted == tried.accepted * 2


def test_rejected_rows_are_not_drawn(trace):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    tried = trace.extended("third", 5.0, 1.0, accepted=False).extended("third", 2.0, 1.0)
    try:
        (line,) = tried.plot().lines
        assert line.get_xdata().tolist() == [1, 2, 4]
        assert line.get_ydata()[1:].tolist() == [1234.5678, 2.0]
    finally:
        plt.close("all")


def test_picture(trace):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    ax = trace.plot()
    try:
        (line,) = ax.lines
        assert line.get_xdata().tolist() == [1, 2]
        assert line.get_ydata()[1] == 1234.5678
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("pass", "objective")
        assert trace.plot(ax) is ax
        assert len(ax.lines) == 2
    finally:
        plt.close("all")


@pytest.mark.parametrize(
    "duplicate", [lambda t: pickle.loads(pickle.dumps(t)), copy.copy, copy.deepcopy]
)
def test_duplicates(trace, duplicate):
    same = duplicate(trace.extended("third", 1.0, 2.0))
    assert isinstance(same, Trace)
    assert same.step == ("first", "second", "third")
    assert same.objective[1:] == (1234.5678, 1.0)
    assert same.seconds == (0.25, 0.5, 2.0)


def test_equality():
    assert Trace().extended("a", 1.0, 2.0) == Trace().extended("a", 1.0, 2.0)
    assert Trace().extended("a", 1.0, 2.0) != Trace().extended("a", 1.0, 3.0)


def test_it_is_frozen(trace):
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.step = ()


def test_that_of_a_model(diabetes):
    model = LinearRegression().fit(*diabetes)
    trace = model.trace_
    assert len(trace) == model.n_iter_ == 1
    assert trace.seconds[0] > 0
    residuals = diabetes[1] - model.predict(diabetes[0])
    assert trace.objective[0] == pytest.approx(residuals @ residuals / 2, rel=1e-10)
