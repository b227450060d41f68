"""Cached attributes: computed once, and by nobody waited for."""

from __future__ import annotations

import functools
import threading

import pytest

from suffice.numerics.cached import cached_property

PATIENCE = 60


class Slow:
    def __init__(self, gate=None):
        self.gate, self.entered, self.calls = gate, threading.Event(), 0

    @cached_property
    def value(self):
        self.calls += 1
        self.entered.set()
        if self.gate is not None:
            assert self.gate.wait(PATIENCE)
        return object()


def test_it_is_computed_once_and_kept_by_the_instance():
    one, other = Slow(), Slow()
    assert one.value is one.value
    assert one.calls == 1
    assert one.value is not other.value
    assert vars(one)["value"] is one.value
    assert isinstance(Slow.value, functools.cached_property)


def test_an_instance_waits_for_no_other():
    """What waits here would wait forever in a process that was forked meanwhile."""
    gate = threading.Event()
    slow, quick = Slow(gate), Slow()
    first = threading.Thread(target=lambda: slow.value)
    first.start()
    assert slow.entered.wait(PATIENCE)
    second = threading.Thread(target=lambda: quick.value, daemon=True)
    second.start()
    second.join(5)
    waited = second.is_alive()
    gate.set()
    first.join(PATIENCE)
    assert not waited


def test_what_fails_is_asked_again():
    class Failing:
        calls = 0

        @cached_property
        def value(self):
            self.calls += 1
            if self.calls == 1:
                raise ValueError("not yet")
            return 5

    one = Failing()
    with pytest.raises(ValueError, match="not yet"):
        one.value  # noqa: B018
    assert one.value == 5
