"""Which of scikit-learn's tests for kernel methods are left out here, and which fail, with reasons.

What is on neither list passes.
"""

from __future__ import annotations

from peers.lines import Line

LEFT_OUT: tuple[Line, ...] = ()

DIFFERENT: tuple[Line, ...] = ()
