"""Support vector machines, and other methods that see rows through a kernel alone."""

from __future__ import annotations

from suffice.svm.mercer_check import MercerVerdict, mercer_check
from suffice.svm.showing.pictures import MarginsDrawn, plot_gap, plot_margins

__all__ = ["MarginsDrawn", "MercerVerdict", "mercer_check", "plot_gap", "plot_margins"]
