"""The types of a kernel's arguments, as `kernel` takes them and as numba does."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

_ARGUMENT = re.compile(
    r"(const +)?(bool|u?int(?:8|16|32|64)|float(?:32|64))(?:\[((?:: *, *)*)::1\])?"
)


def parsed(signature: str) -> list[tuple[bool, str, int]]:
    """Split a signature into (read only, element type, dimensions) for each argument."""
    found = []
    for argument in re.split(r", *(?=[a-z])", signature.strip()):
        match = _ARGUMENT.fullmatch(argument)
        if match is None:
            raise TypeError(f"cannot read the argument type {argument!r} of {signature!r}")
        const, element, leading = match.groups()
        dimensions = 0 if leading is None else leading.count(",") + 1
        found.append((const is not None, element, dimensions))
    return found


def numba_types(signature: str) -> tuple[Any, ...]:
    """The same as numba has them."""
    from numba import from_dtype, types

    numbers = [from_dtype(np.dtype(element)) for _, element, _ in parsed(signature)]
    return tuple(
        types.Array(number, dimensions, "C", readonly=const) if dimensions else number
        for number, (const, _, dimensions) in zip(numbers, parsed(signature), strict=True)
    )
