"""Coefficients of linear models, with standard errors where the model knows them without rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.cli.saved import Saved
from suffice.cli.show import table
from suffice.linear.inference.summary import PENALISED

MOST_ROWS, MOST_COLUMNS = 30, 6
OPEN = "—"
"""What stands for a number that the rows do not determine."""


def coefficients(saved: Saved) -> list[dict[str, Any]] | None:
    """One entry a coefficient; None for a model that has none."""
    model, names = saved.model, saved.coefficient_names
    coef = getattr(model, "coef_", None)
    if coef is None or names is None:
        return None
    coef = np.atleast_2d(_dense(coef))
    if coef.shape[1] != len(names):
        return None
    kinds = _responses(model, len(coef))
    values = np.column_stack([np.broadcast_to(model.intercept_, len(coef)), coef])
    names, more = ["intercept", *names], _inference(model, values)
    first = len(names) - min(map(len, more.values()), default=0)  # 1 without an intercept
    return [
        {"name": name}
        | ({"coef": float(values[0, j])} if kinds is None else
           {"coef": {kind: float(values[k, j]) for k, kind in enumerate(kinds)}})
        | {key: float(column[j - first]) for key, column in more.items() if j >= first}
        for j, name in enumerate(names)
    ]  # fmt: skip


def coefficient_lines(
    model: Any, found: list[dict[str, Any]] | None, most: int | None = MOST_ROWS
) -> list[Any]:
    """What `coefficients` found as a table for people; the first of them, if there are many."""
    if found is None:
        return []
    if isinstance(found[0]["coef"], dict):
        titles = list(found[0]["coef"])
        if len(titles) > MOST_COLUMNS:
            return [f"{len(found):,} coefficients for each of {len(titles):,} targets or classes"]
        rows = [[one["name"], *map(_cell, one["coef"].values())] for one in found]
    else:
        titles = [key for key in found[-1] if key != "name"]
        rows = [[one["name"], *(_cell(one.get(key)) for key in titles)] for one in found]
    lines = [table(rows[:most], ("", *titles))]
    if most is not None and len(rows) > most:
        lines.append(f"… and {len(rows) - most:,} more: `suffice inspect` shows them all")
    if any(OPEN in row for row in rows[:most]):
        columns = len(found) - 1
        rank = model.certificate_.measures.get("rank", columns)
        why = f": {rank:.0f} of {columns:,} columns are independent" if rank < columns else ""
        lines.append(f"{OPEN} is not determined by the rows{why}")
    return lines


def _cell(value: float | None) -> str:
    """A number; nothing where there is none to show, and a dash where the rows leave it open."""
    if value is None:
        return ""
    return OPEN if np.isnan(value) else f"{value:.6g}"


def _inference(model: Any, values: Any) -> dict[str, Any]:
    """Standard errors and p values of a single set of coefficients, where they need no rows."""
    if len(values) > 1 or not hasattr(model, "summary"):
        return {}
    try:
        found = model.summary()
    except ValueError:  # too little was kept, or the penalty leaves no errors
        return {}
    errors, p = np.ravel(found.std_err), np.ravel(found.p)
    usable = len(errors) in (values.shape[1], values.shape[1] - 1)  # one less: no intercept
    tested = {} if PENALISED in found.notes else {"p": p}
    return {"std err": errors, **tested} if usable else {}


def _responses(model: Any, number: int) -> list[str] | None:
    """What several sets of coefficients stand for; None for one set."""
    if number == 1:
        return None
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) == number:
        return [str(label) for label in classes]
    names = getattr(model, "target_names_in_", None) or [f"target {i}" for i in range(number)]
    return list(names)


def _dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else values
