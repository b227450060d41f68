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
    from suffice.decomposition.pca import PCA as PCA
    from suffice.engines.settings import config as config
    from suffice.fitting.algebra import merge as merge
    from suffice.generative.gaussian_nb import GaussianNB as GaussianNB
    from suffice.linear.linear_regression import LinearRegression as LinearRegression
    from suffice.linear.ridge import Ridge as Ridge
    from suffice.selection.cross_validation import cross_validate as cross_validate
    from suffice.selection.grid_search import GridSearchCV as GridSearchCV
    from suffice.sources.files import scan as scan

__version__ = "0.1.0"

# Public name → the module that defines it, imported when the name is first used.
_PUBLIC = {
    "GridSearchCV": "suffice.selection.grid_search",
    "GaussianNB": "suffice.generative.gaussian_nb",
    "LinearRegression": "suffice.linear.linear_regression",
    "PCA": "suffice.decomposition.pca",
    "Ridge": "suffice.linear.ridge",
    "catalogue": "suffice.catalogue",
    "config": "suffice.engines.settings",
    "cross_validate": "suffice.selection.cross_validation",
    "load": "suffice.catalogue",
    "merge": "suffice.fitting.algebra",
    "preprocessing": "suffice.preprocessing",
    "scan": "suffice.sources.files",
}

__all__ = [
    "PCA",
    "GaussianNB",
    "GridSearchCV",
    "LinearRegression",
    "Ridge",
    "__version__",
    "catalogue",
    "config",
    "cross_validate",
    "load",
    "merge",
    "preprocessing",
    "scan",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'suffice' has no attribute {name!r}")
    module = importlib.import_module(_PUBLIC[name])
    value = module if name in ("catalogue", "preprocessing") else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
