"""A line of the lists of tests that are left out or fail."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """Tests that have one reason; a failing one must end in an error that `says` this."""

    reason: str
    tests: tuple[str, ...]
    says: str = ""
