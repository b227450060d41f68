"""What a user writes beside a model: JSON, checked in both directions.

Notes come back equal to what was written, so what JSON would change on the way (tuples, keys that
are no strings, NaN) is refused when it is written.
"""

from __future__ import annotations

import json
import math
from typing import Any

from suffice.fitting.files.encoding import DEEPEST
from suffice.fitting.files.tensorfile import parse_json


def write_notes(notes: dict[str, Any]) -> str:
    """Notes as ASCII text.

    Raises
    ------
    TypeError
        If they are no dict, or hold what JSON has no word for; the message says where.
    ValueError
        If they hold a number that is not finite or too large, or are nested too deeply.
    """
    if type(notes) is not dict:
        raise TypeError(f"notes must be a dict of JSON values, not {type(notes).__name__}")
    _check(notes, "notes", 0)
    return json.dumps(notes, separators=(",", ":"))


def parse_notes(text: str) -> dict[str, Any]:
    """The notes of a file.

    Raises
    ------
    ValueError
        If this is not what `write_notes` writes.
    """
    notes: dict[str, Any] = parse_json(text)
    try:
        write_notes(notes)
    except (TypeError, ValueError) as error:
        raise ValueError(f"its notes are damaged: {error}") from None
    return notes


def _check(value: Any, path: str, depth: int) -> None:
    kind = type(value)
    if depth == DEEPEST:
        raise ValueError(f"{path[:200]} is nested more than {DEEPEST} levels deep")
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise TypeError(f"{path} has a key of type {type(key).__name__}; keys are strings")
            _check_text(key, path)
            _check(item, f"{path}[{key!a}]", depth + 1)
    elif kind is list:
        for i, item in enumerate(value):
            _check(item, f"{path}[{i}]", depth + 1)
    elif kind is str:
        _check_text(value, path)
    elif kind in (int, float):
        if not math.isfinite(value) or (kind is int and abs(value) >= 2**63):
            raise ValueError(f"{path} is a number that JSON readers do not share: {value!r:.40}")
    elif value is not None and kind is not bool:
        raise TypeError(
            f"{path} is of type {kind.__name__}; notes hold strings, numbers, booleans, None, "
            "and lists and dicts of these"
        )


def _check_text(text: str, path: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{path} holds a string that is no Unicode text: {text!a:.80}") from None
