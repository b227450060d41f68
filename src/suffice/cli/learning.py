"""A fit from files: which columns, how they are prepared, the model, its score on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_regressor

from suffice.cli.choices import as_option
from suffice.cli.inventory import Inventory, take_inventory
from suffice.cli.preparation import MOST_LEVELS, preparation, useless_columns
from suffice.cli.rows import in_memory, progress, with_columns, without_absent
from suffice.cli.running import note
from suffice.cli.saved import Saved
from suffice.cli.show import counted, shown
from suffice.sources import FileSource, Source

MOST_CELLS_KEPT = 10_000_000
"""Cells up to which rows are read into memory, not to be parsed for each pass."""


def ready(estimator: Any, source: FileSource, named: bool) -> tuple[Saved, Source]:
    """An unfitted model behind what prepares its columns, and the rows for it.

    Parameters
    ----------
    estimator : unfitted model
    source : FileSource
    named : bool
        Whether the user chose the columns: then none is left out.
    """
    _check_target(estimator, source)
    with progress(source, "looking at the rows") as rows:
        found = take_inventory(rows, np.inf if named else MOST_LEVELS)
    names, kinds = source.selection.features, source.column_kinds
    useless = {} if named else useless_columns(names, found)
    for name, reason in useless.items():
        note(f"column {name!r} is left out: {reason}")
    columns = {n: kind for n, kind in zip(names, kinds, strict=True) if n not in useless}
    if not columns:
        reasons = "; ".join(f"{name!r}: {reason}" for name, reason in useless.items())
        raise ValueError(f"no column is left to learn from ({reasons}): name some with --features")
    kept = with_columns(source, columns)
    labelled = without_absent(kept, found.absent)
    if found.count * len(columns) <= MOST_CELLS_KEPT:
        labelled = in_memory(labelled)
    prepared = preparation(estimator, labelled, found)
    _tell(estimator, columns, found, prepared)
    _tell_of_doubts(source, found)
    notes = {"columns": columns, "left_out": useless, "rows": found.count}
    if len(found.absent):
        notes["rows_without_target"] = len(found.absent)
    if source.target_names:
        notes["target"] = list(source.target_names)
    _number_columns(estimator, prepared)
    return Saved(estimator, prepared, notes), labelled


def _check_target(estimator: Any, source: FileSource) -> None:
    name = type(estimator).__name__
    if not source.has_target:
        if estimator.__sklearn_tags__().target_tags.required:
            raise ValueError(f"{name} needs a target: name it with --target")
    elif is_regressor(estimator) and source.selection.target_kind == "text":
        raise ValueError(
            f"the target {source.selection.target[0]!r} holds text, and {name} predicts numbers: "
            "choose a classifier, such as logistic-regression, or another --target"
        )


def _tell(estimator: Any, columns: dict[str, str], found: Inventory, prepared: Any) -> None:
    """Say in a line each what is done to the columns."""
    dates = [name for name, kind in columns.items() if kind == "date"]
    if dates:
        note(f"dates count as days since 1970-01-01: {shown(dates)}")
    if prepared is None:
        return
    empty = {name: n for name, n in found.missing().items() if n and name in columns}
    if empty and not estimator._takes_missing():
        cells = [f"{name} ({n:,})" for name, n in empty.items()]
        note(f"missing cells get their column's mean: {shown(cells)}")
    texts = [name for name, kind in columns.items() if kind == "text"]
    if texts and not estimator._takes_text:
        width = len(prepared.get_feature_names_out()) - len(columns) + len(texts)
        note(f"text becomes {counted(width, 'column')} of zeros and ones: {shown(texts)}")


def _tell_of_doubts(source: FileSource, found: Inventory) -> None:
    """Say in a line each which text may have been meant otherwise, and what option says so."""
    is_csv = any(file.dialect is not None for file in source.files)
    for name, hint in found.hints(is_csv).items():
        note(f"column {name!r} is taken for text: {hint}")
    for label, n in sorted(found.doubtful.items()):
        advice = f"{as_option('missing', [label])} would make it missing"
        note(
            f"the target's {label!r} is taken for a class, in rows: {n:,}"
            + (f" ({advice})" if is_csv else "")
        )


def _number_columns(estimator: Any, prepared: Any) -> None:
    """Let parameters that name a column say which one it is: prepared columns have no names."""
    if prepared is None:
        return
    names = prepared.get_feature_names_out().tolist()
    for parameter in ("offset", "exposure"):
        name = getattr(estimator, parameter, None)
        if isinstance(name, str):
            if name not in names:
                raise ValueError(f"{parameter}={name!r} is none of the columns {shown(names)}")
            estimator.set_params(**{parameter: names.index(name)})
