"""Text columns that are numbers but for a few cells, and what option would make them numbers.

Every cell has one of these forms, d being the decimal mark of the file and g another mark:

    number     12  1d5  1e3
    grouped    1g234  12g345d6
    swapped    1,5 where d is a point, 1.5 where it is a comma
    percent    35%
    stray      anything else

Cells that mean a missing value in a column of numbers, such as NA, stand in nobody's way.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from suffice.cli.choices import as_option
from suffice.sources.files.dialect import MISSING
from suffice.sources.files.written_numbers import GROUP_MARKS

NOTHING = frozenset(MISSING)
MOST_EXAMPLES = 3
MOSTLY = 0.8
"""Share of numbers from which a text column is worth a note."""


@dataclass(frozen=True)
class Spellings:
    """How many cells of a text column have each form, and examples; merges like any statistic."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def summarize(
        cls, values: Iterable[str | None], counts: Iterable[int], decimal: str
    ) -> Spellings:
        """Of distinct values, ascending, that occur so often, in files with this decimal mark."""
        read, cells = _forms(decimal).fullmatch, Counter[str]()
        examples = defaultdict[str, list[str]](list)
        for value, count in zip(values, counts, strict=True):
            cell = "" if value is None else value.strip()
            if cell in NOTHING:
                continue
            match = read(cell)
            form = "stray" if match is None else str(match.lastgroup)
            cells[form] += count
            if len(examples[form]) <= MOST_EXAMPLES:
                examples[form].append(cell)
        return cls(dict(cells), {form: tuple(some) for form, some in examples.items()})

    @classmethod
    def merge(cls, parts: Sequence[Spellings]) -> Spellings:
        """Of the cells of all parts."""
        cells, examples = Counter[str](), defaultdict[str, set[str]](set)
        for part in parts:
            cells.update(part.counts)
            for form, some in part.examples.items():
                examples[form].update(some)
        first = {form: sorted(some)[: MOST_EXAMPLES + 1] for form, some in examples.items()}
        return cls(dict(cells), {form: tuple(some) for form, some in first.items()})

    def hint(self, decimal: str, is_csv: bool) -> str | None:
        """What keeps a column that is mostly numbers from being one, and the option that mends it.

        Parameters
        ----------
        decimal : str
            Decimal mark of the files.
        is_csv : bool
            Whether the files are CSV, for which there are options.
        """
        cells = sum(self.counts.values())
        numbers = cells - self.counts.get("stray", 0)
        in_the_way = {form: some for form, some in self.examples.items() if form != "number"}
        if not in_the_way or numbers < MOSTLY * cells:
            return None
        words, options = [], []
        for form, some in sorted(in_the_way.items()):
            shown = ", ".join(map(repr, some[:MOST_EXAMPLES]))
            more = " and others" if len(some) > MOST_EXAMPLES else ""
            if form == "stray":
                words.append(f"not {shown}{more}")
                options.append(as_option("missing", some[:MOST_EXAMPLES]))
            elif form == "percent":
                words.append(f"some end in %, as {some[0]!r}")
            else:
                words.append(f"some are written as {some[0]!r}")
                mark = next(c for c in some[0] if c in GROUP_MARKS and c != decimal)
                option = "thousands" if form == "grouped" else "decimal"
                options.append(f"--{option} {shlex.quote(mark)}")
        advice = f": {' '.join(options)}" if options and is_csv else ""
        return f"{numbers:,} of {cells:,} cells are numbers, {', '.join(words)}{advice}"


@cache
def _forms(decimal: str) -> re.Pattern[str]:
    d, other = re.escape(decimal), re.escape("," if decimal == "." else ".")
    groups = "[{}]".format("".join(GROUP_MARKS).replace(decimal, ""))
    number = rf"(?:\d+(?:{d}\d*)?|{d}\d+)(?:[eE][+-]?\d+)?"
    return re.compile(
        rf"[+-]?(?:(?P<percent>(?:{number}|\d+{other}\d+)\s?%)|(?P<number>{number})"
        rf"|(?P<grouped>[1-9]\d{{0,2}}(?P<mark>{groups})\d{{3}}(?:(?P=mark)\d{{3}})*(?:{d}\d*)?)"
        rf"|(?P<swapped>\d*{other}\d+))"
    )
