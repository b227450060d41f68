"""Coefficients of linear models, with standard errors where the model knows them without rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.cli.saved import Saved
from suffice.cli.show import table
from suffice.linear.inference.summary import PENALISED

MOST_ROWS, MOST_COLUMNS = 30, 6


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
    return [
        {"name": name}
        | ({"coef": float(values[0, j])} if kinds is None else
           {"coef": {kind: float(values[k, j]) for k, kind in enumerate(kinds)}})
        | {key: float(column[j]) for key, column in more.items()}
        for j, name in enumerate(names)
    ]  # fmt: skip


def coefficient_lines(saved: Saved, most: int | None = MOST_ROWS) -> list[Any]:
    """The same as a table for people; the first of them, if there are many."""
    found = coefficients(saved)
    if found is None:
        return []
    if isinstance(found[0]["coef"], dict):
        titles = list(found[0]["coef"])
        if len(titles) > MOST_COLUMNS:
            return [f"{len(found):,} coefficients for each of {len(titles):,} targets or classes"]
        rows = [[one["name"], *(f"{v:.6g}" for v in one["coef"].values())] for one in found]
    else:
        titles = [key for key in found[0] if key != "name"]
        rows = [[one["name"], *(f"{one[key]:.6g}" for key in titles)] for one in found]
    lines = [table(rows[:most], ("", *titles))]
    if most is not None and len(rows) > most:
        lines.append(f"… and {len(rows) - most:,} more: `suffice inspect` shows them all")
    return lines


def _inference(model: Any, values: Any) -> dict[str, Any]:
    """Standard errors and p values of a single set of coefficients, where they need no rows."""
    if len(values) > 1 or not hasattr(model, "summary"):
        return {}
    try:
        found = model.summary()
    except ValueError:  # too little was kept, or the penalty leaves no errors
        return {}
    errors, p = np.ravel(found.std_err), np.ravel(found.p)
    if len(errors) == values.shape[1] - 1:  # a model without an intercept
        errors, p = np.append(np.nan, errors), np.append(np.nan, p)
    usable = len(errors) == values.shape[1]
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
