"""What the tests of linear models share."""

from __future__ import annotations

import pytest

from suffice.sources import base


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> int:
    """Blocks of 512 rows: what many blocks do shows in few rows."""
    monkeypatch.setattr(base, "LARGEST_BLOCK", 512)
    return 512
