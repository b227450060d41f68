"""What users name on the command line: a model, its parameters, columns.

Whatever is not known is answered with the nearest names that are.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import shlex
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from suffice.catalogue import Entry, models

YES, NO = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}

_WORDS: dict[str, Any] = {
    "true": True, "false": False, "null": None, "none": None,
    "inf": float("inf"), "-inf": float("-inf"), "nan": float("nan"),
}  # fmt: skip


def find_model(name: str) -> Entry:
    """The catalogue's entry of a model, whatever way its name is written.

    Parameters
    ----------
    name : str
        LinearRegression, linear-regression, linear_regression, "linear regression".
    """
    known = {_letters(entry.name): entry for entry in models()}
    if _letters(name) in known:
        return known[_letters(name)]
    near = get_close_matches(_letters(name), known, n=3, cutoff=0.5)
    raise ValueError(
        f"there is no model {name!r}{_suggestion(known[n].name for n in near)}; "
        "`suffice models` lists them all"
    )


def make_model(model_class: type[Any], settings: Sequence[str]) -> Any:
    """An unfitted model with parameters as ``--set name=value`` gives them, all of them checked."""
    model = model_class(**parameters(model_class, settings))
    model._validate_params()
    return model


def parameters(model_class: type[Any], settings: Sequence[str]) -> dict[str, Any]:
    """Values of parameters from texts ``name=value``.

    Raises
    ------
    ValueError
        If a text has no equals sign, a parameter is unknown or set twice, or its value is not
        one that the model accepts.
    """
    defaults = model_class().get_params(deep=False)
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise ValueError(f"--set {setting!r} is not of the form name=value, as in alpha=2")
        if name not in defaults:
            near = get_close_matches(name, defaults, n=3, cutoff=0.5)
            raise ValueError(
                f"{model_class.__name__} has no parameter {name!r}{_suggestion(near)}; it has "
                f"{', '.join(defaults)}"
            )
        if name in values:
            raise ValueError(f"--set gives {name!r} twice")
        values[name] = _accepted(model_class, name, text.strip(), defaults[name])
    return values


def _accepted(model_class: type[Any], name: str, text: str, default: Any) -> Any:
    """The reading of a text that the parameter accepts: a literal first, else plain text."""
    readings = [_of_kind(text, default), text]
    problems = []
    for value in readings:
        if value is _NOT_OF_KIND:
            problems.append(f"{name} must be true or false, got {text!r}")
            continue
        try:
            model_class(**{name: value})._validate_params()
        except (TypeError, ValueError) as problem:
            problems.append(str(problem))
        else:
            return value
    raise ValueError(problems[0])


_NOT_OF_KIND = object()


def _of_kind(text: str, default: Any) -> Any:
    """A text read as a value of its parameter's own kind."""
    if isinstance(default, bool):
        word = text.lower()
        return True if word in YES else False if word in NO else _NOT_OF_KIND
    value = literal(text)
    if type(value) is int and isinstance(default, float):
        return float(value)
    if isinstance(value, bool) and isinstance(default, int | float):
        return text  # Python takes true for the number 1
    return value


def literal(text: str) -> Any:
    """Text as JSON or Python would read it: a number, true, null, a list; else itself."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    return text


def column_names(texts: Sequence[str] | None) -> list[str] | None:
    """Names from options that list them with commas: ``a,b`` or ``"a, with comma",b``."""
    if not texts:
        return None
    names = [name for row in csv.reader(texts, skipinitialspace=True) for name in row]
    if "" in names or not names:
        raise ValueError(f"a column's name is missing in {','.join(texts)!r}")
    return names


def as_option(name: str, values: Sequence[str]) -> str:
    """What to type for an option that lists values with commas; `column_names` reads it."""
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(values)
    return f"--{name} {shlex.quote(written.getvalue())}"


def _letters(name: str) -> str:
    return re.sub(r"[^0-9a-z]", "", name.lower())


def _suggestion(names: Iterable[str]) -> str:
    near = list(names)
    return f" (did you mean {' or '.join(near)}?)" if near else ""
