"""Where centres start."""

from __future__ import annotations

from suffice.clustering.starts.seeding import k_means_plus_plus, start_from

__all__ = ["k_means_plus_plus", "start_from"]
