"""How a CSV file is written: its separator, decimal mark and encoding, told from its first lines.

A guess is made only where the text proves it:

    encoding    a byte order mark, or zeros between the letters; else UTF-8 if the bytes are
                UTF-8; else Latin-1, as Windows extends it
    separator   one of , ; tab | that cuts the first lines into as many cells as the header; where
                none does, a space if it leaves nothing but numbers
    decimal     a comma if a column of numbers has a cell such as 1,5 that can mean nothing else

Whatever is given by the user is not guessed.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

SEPARATORS = (",", ";", "\t", "|")
MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?", "-",
    " ", " NA", " NaN", " ?", " -",
)  # fmt: skip
"""Cells that mean a missing value in columns of anything but text."""

SAMPLE_BYTES = 1 << 20
SAMPLE_LINES = 200
SAMPLE_CELLS = 1 << 14

_MARKS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_NOT_IN_WINDOWS = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
_UTF_8 = re.compile(
    rb"([\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})+"
)
_NUMBER = re.compile(r"\s*[+-]?(\d[\d.,]*|[.,]\d+)([eE][+-]?\d+)?\s*")
_SHOWN = {"\t": "tabs", "\u00a0": "no-break space", "\u202f": "narrow no-break space"}


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written; `str()` says in one line what is unusual, and how to change it.

    Attributes
    ----------
    sep, decimal, encoding : str
    header : bool
        Whether the first line names the columns.
    missing : tuple of str
        What means a missing value besides the usual texts.
    thousands : dict of str
        Columns of numbers such as 1,234,567, and the mark between their groups of digits.
    unnamed : tuple of int
        Columns, counted from 1, whose name is empty: they are left out.
    names : tuple of str
        Names of the columns where there is no header.
    given : frozenset of str
        What of this the user said.

    Examples
    --------
    >>> print(Dialect(sep=";", decimal=",", encoding="cp1252"))
    separated by ';', decimal comma, encoded as cp1252 (change by sep, decimal, encoding)
    """

    sep: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool = True
    missing: tuple[str, ...] = ()
    thousands: dict[str, str] = field(default_factory=dict)
    unnamed: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    given: frozenset[str] = frozenset()

    @property
    def all_missing(self) -> list[str]:
        """What means a missing value in columns of anything but text."""
        return list(dict.fromkeys((*MISSING, *self.missing)))

    def unusual(self) -> dict[str, str]:
        """In words what is not as in a plain file, each under the argument that changes it."""
        found = {}
        if self.sep != ",":
            found["sep"] = f"separated by {_SHOWN.get(self.sep, repr(self.sep))}"
        if self.decimal != ".":
            found["decimal"] = "decimal comma" if self.decimal == "," else f"decimal {self.decimal}"
        if self.encoding != "utf-8":
            found["encoding"] = f"encoded as {self.encoding}"
        if not self.header:
            found["header"] = "no line of names"
        if self.thousands:
            marks = sorted({_SHOWN.get(mark, repr(mark)) for mark in self.thousands.values()})
            names = ", ".join(map(repr, islice(self.thousands, 5)))
            more = ", …" if len(self.thousands) > 5 else ""
            found["thousands"] = f"thousands separated by {' or '.join(marks)} in {names}{more}"
        if self.unnamed:
            numbers = ", ".join(map(str, self.unnamed))
            several = "s" if len(self.unnamed) > 1 else ""
            found["features"] = f"column{several} {numbers} without a name left out"
        return found

    def __str__(self) -> str:
        found = self.unusual()
        guessed = [name for name in found if name not in self.given]
        change = f" (change by {', '.join(guessed)})" if guessed else ""
        return (", ".join(found.values()) or "nothing unusual") + change


def check_options(
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] | None = None,
    header: bool | None = None,
    thousands: str | None = None,
) -> dict[str, Any]:
    """What the user says about CSV files, checked; only what is not None."""
    marks: dict[str, Any] = {"sep": sep, "decimal": decimal, "thousands": thousands}
    for name, mark in marks.items():
        if mark is None:
            continue
        if not isinstance(mark, str) or len(mark) != 1 or mark in '"\r\n' or mark.isalnum():
            raise ValueError(f"{name} is {mark!r}; give one character that is no letter or digit.")
        if name == "sep" and not mark.isascii():
            raise ValueError(f"sep is {mark!r}; give one ASCII character, such as ';'.")
    if decimal is not None and decimal not in ".,":
        raise ValueError(f"decimal is {decimal!r}; give '.' or ','.")
    if thousands is not None and thousands == (decimal or "."):
        raise ValueError(f"thousands and decimal are both {thousands!r}; they must differ.")
    if isinstance(missing, str) or not all(isinstance(text, str) for text in missing or ()):
        raise TypeError(f"missing is {missing!r}; give a list of texts, such as ['unknown'].")
    if header is not None and not isinstance(header, bool):
        raise TypeError(f"header is {header!r}; give True, False or None.")
    given = {
        "sep": sep,
        "decimal": decimal,
        "encoding": None if encoding is None else _codec(encoding),
        "missing": None if missing is None else tuple(missing),
        "header": header,
        "thousands": thousands,
    }
    return {name: value for name, value in given.items() if value is not None}


def _codec(encoding: str) -> str:
    """Python's name of an encoding; UTF-8 with a mark, and ASCII, are UTF-8."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(
            f"encoding is {encoding!r}, which Python does not know; give one such as 'utf-8', "
            "'cp1252' or 'utf-16'."
        ) from error
    return "utf-8" if name in {"utf-8-sig", "ascii"} else name


def open_text(path: str, encoding: str) -> Any:
    """The bytes of a file, decompressed, in UTF-8."""
    import pyarrow as pa

    stream = pa.input_stream(path, compression="detect")
    if encoding == "utf-8":
        return stream
    return pa.transcoding_input_stream(stream, encoding, "utf8")


def encoding_of(sample: bytes) -> str:
    """The encoding of a file that begins with these bytes."""
    for mark, encoding in _MARKS.items():
        if sample.startswith(mark):
            return encoding
    head = sample[:512]
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if 4 * head[first::2].count(0) > len(head):  # every other byte, as a rule
            return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # the end may cut a character
        return "utf-8"
    except UnicodeDecodeError:
        pass
    foreign = _NOT_ASCII.findall(sample)
    if 2 * sum(_UTF_8.fullmatch(run) is not None for run in foreign) > len(foreign):
        return "utf-8"  # damaged: reading it will say where
    return "latin-1" if _NOT_IN_WINDOWS.search(sample) else "cp1252"


def records(text: str, sep: str) -> Iterator[list[str]]:
    """The rows of a text as lists of cells, without blank lines; the last may be cut."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=sep)
    try:
        yield from (row for row in rows if row)
    except csv.Error:  # a cell of more than 131,072 characters: what came before must do
        return


def separator_of(text: str, default: str = ",") -> str:
    """The separator that cuts the first lines best.

    It is in the first line.  Among several, the best cuts the most lines into as many cells as the
    first; among these, the best leaves the most cells that are numbers.
    """
    best, best_score = default, (0.0, 0.0, 0)
    for sep in sorted(SEPARATORS, key=lambda sep: sep != default):
        rows = list(islice(records(text, sep), SAMPLE_LINES))
        width = len(rows[0]) if rows else 1
        if width < 2:
            continue
        rows = rows[: max(SAMPLE_CELLS // width, 2)]
        even = sum(len(row) == width for row in rows) / len(rows)
        cells = [cell for row in rows for cell in row]
        numbers = sum(_NUMBER.fullmatch(cell) is not None for cell in cells) / len(cells)
        score = (round(even, 2), round(numbers, 2), width)
        if score > best_score:
            best, best_score = sep, score
    return " " if best_score[2] == 0 and _are_spaced_numbers(text) else best


def _are_spaced_numbers(text: str) -> bool:
    """Whether single spaces cut all lines into as many cells, which are numbers below the first."""
    lines = list(islice(records(text, " "), SAMPLE_LINES))
    cells = [cell for line in lines[1:-1] for cell in line]
    even = len({len(line) for line in lines[:-1]}) == 1 and len(lines[0]) > 1
    return even and bool(cells) and all(_NUMBER.fullmatch(cell) for cell in cells)


def looks_like_data(names: Sequence[str], is_number: Sequence[bool]) -> bool:
    """Whether a first line is a row of data rather than names.

    Every column of numbers then begins with a number.  Numbers counted from 0 or 1, and years,
    are names all the same.
    """
    first = [name for name, number in zip(names, is_number, strict=True) if number]
    if not first or not all(_NUMBER.fullmatch(name) for name in first):
        return False
    if not all(name.isdecimal() for name in first):
        return True
    numbers = [int(name) for name in names if name.isdecimal()]
    counted = numbers in (list(range(len(numbers))), list(range(1, len(numbers) + 1)))
    years = all(a < b for a, b in pairwise(numbers)) and 1500 < numbers[0] <= numbers[-1] < 2200
    return not (numbers == [0] or (len(numbers) > 1 and (counted or years)))
