"""Numbers as people write them: decimal commas, and marks between groups of three digits.

1,234 is a number above a thousand to some and just above one to others.  A column says which
only by a cell that can be read in one way:

    the decimal mark is D      1D5  12D3456  0D123  1G234D5  1G234G567
    G separates thousands      1G234D5  1G234G567

where G is the other mark.  Every other cell of the column must fit that reading.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

GROUP_MARKS = (",", ".", "'", " ", "\u00a0", "\u202f")

_EXPONENT = r"([eE][+-]?[0-9]+)?"


def _pattern(g: str, d: str) -> str:
    """Numbers with a mark between groups of three digits or none, and a decimal mark or none."""
    whole = rf"([1-9][0-9]{{0,2}}({g}[0-9]{{3}})+|[0-9]+)"
    return rf"^[+-]?(({whole}({d}[0-9]*)?|{d}[0-9]+){_EXPONENT}|(?i:inf|infinity|nan))$"


def _grouped(g: str, d: str) -> str:
    """Numbers that prove that the mark `g` separates thousands."""
    return rf"^[+-]?[1-9][0-9]{{0,2}}(({g}[0-9]{{3}}){{2,}}({d}[0-9]*)?|{g}[0-9]{{3}}{d}[0-9]+)$"


def _numbers_in(column: Any, pattern: str, missing: Sequence[str]) -> Any:
    """The cells of a text column that hold a value, if all fit the pattern, else None."""
    import pyarrow as pa
    from pyarrow import compute

    # Most columns of text tell by their first cells.
    for cell in column.slice(0, 5).to_pylist():
        if not (cell is None or cell.strip() in missing or re.match(pattern, cell.strip())):
            return None
    cells = compute.utf8_trim_whitespace(column.drop_null())
    cells = cells.filter(compute.invert(compute.is_in(cells, value_set=pa.array(missing))))
    fit = compute.all(compute.match_substring_regex(cells, pattern)).as_py()
    return cells if fit and len(cells) else None


def proof_of_decimal(column: Any, decimal: str, missing: Sequence[str]) -> str | None:
    """A cell of a text column that proves a decimal mark, "." or ",", if there is one."""
    from pyarrow import compute

    groups = "[{}]".format("".join(GROUP_MARKS).replace(decimal, ""))
    d, other = re.escape(decimal), re.escape("," if decimal == "." else ".")
    cells = _numbers_in(column, _pattern(groups, d), missing)
    if cells is None:
        return None
    doubtful = compute.match_substring_regex(cells, rf"^[+-]?[1-9][0-9]{{0,2}}{d}[0-9]{{3}}$")
    clear = compute.and_not(compute.match_substring(cells, decimal), doubtful)
    grouped = compute.match_substring_regex(cells, _grouped(other, d))
    first = compute.index(compute.or_(clear, grouped), True).as_py()
    return None if first < 0 else cells[first].as_py()


def thousands_mark(
    column: Any, decimal: str, missing: Sequence[str], given: str | None = None
) -> tuple[str, bool] | None:
    """The mark between groups of digits that a text column fits, and whether a cell proves it.

    Parameters
    ----------
    column : pyarrow Array of text
    decimal : str
    missing : sequence of str
        Cells that mean a missing value.
    given : str, optional
        The mark, if the user says it.
    """
    from pyarrow import compute

    for group in GROUP_MARKS if given is None else (given,):
        marks = re.escape(group), re.escape(decimal)
        cells = None if group == decimal else _numbers_in(column, _pattern(*marks), missing)
        if cells is not None:
            proofs = compute.match_substring_regex(cells, _grouped(*marks))
            return group, given is not None or compute.any(proofs).as_py()
    return None


def without_marks(
    column: Any, group: str, decimal: str, missing: Sequence[str]
) -> tuple[Any, int | None]:
    """A text column as float64, or the number of its first cell that is no number.

    Parameters
    ----------
    column : pyarrow Array of text
    group, decimal : str
        The marks between groups of digits and before the fraction.
    missing : sequence of str
        Cells that mean a missing value.
    """
    import pyarrow as pa
    from pyarrow import compute

    cells = compute.utf8_trim_whitespace(column)
    nothing = compute.is_in(cells, value_set=pa.array(missing))
    cells = compute.if_else(nothing, pa.scalar(None, pa.string()), cells)
    pattern = _pattern(re.escape(group), re.escape(decimal))
    fits = compute.match_substring_regex(cells, pattern)
    bad = compute.index(fits.fill_null(True), False).as_py()
    if bad >= 0:
        return None, bad
    cells = compute.replace_substring_regex(cells, rf"[+{re.escape(group)}]", "")
    cells = compute.replace_substring(cells, decimal, ".")
    return cells.cast(pa.float64()), None
