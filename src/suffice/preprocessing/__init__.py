"""Columns made ready for models: scaled, filled, encoded, put side by side.

Each learns from one pass over the rows.  `transform` of a source is a source: its blocks are
changed when a model reads them, so that a pipeline fits from files that no memory could hold.
"""

from __future__ import annotations

from suffice.preprocessing.column_transformer import (
    ColumnTransformer,
    make_column_selector,
    make_column_transformer,
)
from suffice.preprocessing.min_max_scaler import MinMaxScaler
from suffice.preprocessing.one_hot_encoder import OneHotEncoder
from suffice.preprocessing.simple_imputer import SimpleImputer
from suffice.preprocessing.standard_scaler import StandardScaler

__all__ = [
    "ColumnTransformer",
    "MinMaxScaler",
    "OneHotEncoder",
    "SimpleImputer",
    "StandardScaler",
    "make_column_selector",
    "make_column_transformer",
]
