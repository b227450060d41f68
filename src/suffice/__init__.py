"""Classical machine learning from sufficient statistics.

Models learn from sums over rows, so the same code fits an array, a folder of Parquet files
larger than memory, or merged parts, with the same answer; and each fit carries a
certificate of what was proved about it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.catalogue import load as load
    from suffice.engines.settings import config as config
    from suffice.fitting.algebra import merge as merge
    from suffice.linear.linear_regression import LinearRegression as LinearRegression
    from suffice.linear.ridge import Ridge as Ridge
    from suffice.sources.files import scan as scan

__version__ = "0.1.0"

# Public name → the module that defines it, imported when the name is first used.
_PUBLIC = {
    "LinearRegression": "suffice.linear.linear_regression",
    "Ridge": "suffice.linear.ridge",
    "catalogue": "suffice.catalogue",
    "config": "suffice.engines.settings",
    "load": "suffice.catalogue",
    "merge": "suffice.fitting.algebra",
    "scan": "suffice.sources.files",
}

__all__ = [
    "LinearRegression",
    "Ridge",
    "__version__",
    "catalogue",
    "config",
    "load",
    "merge",
    "scan",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'suffice' has no attribute {name!r}")
    module = importlib.import_module(_PUBLIC[name])
    value = module if name == "catalogue" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
