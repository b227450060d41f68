"""The dialects of CSV files, each told from its first megabyte, and the decimal mark from all."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from suffice.numerics.cached import cached_property
from suffice.sources.files.dialect import (
    SAMPLE_BYTES,
    Dialect,
    encoding_of,
    records,
    separator_of,
)
from suffice.sources.files.schema import unreadable
from suffice.sources.files.written_numbers import proof_of_decimal

DEFAULT_SEPARATORS = {"csv": ",", "tsv": "\t"}


class Proof(NamedTuple):
    """A cell that can be read with one decimal mark only."""

    path: str
    column: str
    cell: str
    sep: str


def detect(formats: Mapping[str, str], given: Mapping[str, Any]) -> dict[str, Dialect]:
    """How each CSV file is written.

    Parameters
    ----------
    formats : mapping
        From paths to formats.  Files that are not CSV have no dialect.
    given : mapping
        What the user says (see `check_options`): it is not guessed.

    Raises
    ------
    ValueError
        If some columns have decimal commas and others decimal points.
    """
    samples = [
        Sample.of(path, file_format, given)
        for path, file_format in formats.items()
        if file_format in DEFAULT_SEPARATORS
    ]
    decimal = given.get("decimal") or _decimal(samples)
    return {sample.path: replace(sample.dialect, decimal=decimal) for sample in samples}


@dataclass(frozen=True)
class Sample:
    """The first lines of a file, and how they are written."""

    path: str
    text: str
    dialect: Dialect

    @classmethod
    def of(cls, path: str, file_format: str, given: Mapping[str, Any]) -> Sample:
        """The sample of a file; a line that its end cuts is left out."""
        import pyarrow as pa

        try:
            with pa.input_stream(path, compression="detect") as stream:
                raw = stream.read(SAMPLE_BYTES)
        except (pa.ArrowException, OSError) as error:
            raise unreadable(path, file_format, error) from error
        encoding = given.get("encoding") or encoding_of(raw)
        text = codecs.getincrementaldecoder(encoding)("replace").decode(raw).lstrip("\ufeff")
        if len(raw) == SAMPLE_BYTES:
            text = text[: text.rfind("\n") + 1] or text
        sep = given.get("sep") or separator_of(text, DEFAULT_SEPARATORS[file_format])
        names: tuple[str, ...] = ()
        if not given.get("header", True):
            width = len(next(records(text, sep), ()))
            names = tuple(f"column_{i + 1}" for i in range(width))
        dialect = Dialect(
            sep=sep,
            encoding=encoding,
            header=not names,
            names=names,
            missing=given.get("missing", ()),
            given=frozenset(given),
        )
        return cls(path, text, dialect)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The columns as text, by their names; without rows that are too short or too long."""
        import pyarrow as pa
        from pyarrow import csv

        sep = self.dialect.sep
        names = next(records(self.text, sep), [])
        content = self.text.encode()
        try:
            table = csv.read_csv(
                pa.BufferReader(content),
                csv.ReadOptions(autogenerate_column_names=True, block_size=len(content) + 1),
                csv.ParseOptions(
                    delimiter=sep, newlines_in_values=True, invalid_row_handler=lambda row: "skip"
                ),
                csv.ConvertOptions(column_types={f"f{i}": pa.string() for i in range(len(names))}),
            )
        except ValueError:  # reading it will say why
            return {}
        columns = table.slice(int(self.dialect.header)).combine_chunks().to_batches()
        return dict(zip(names, columns[0].columns, strict=False)) if columns else {}

    def proof(self, decimal: str) -> Proof | None:
        """The first column that proves a decimal mark, if there is one."""
        sep, other = self.dialect.sep, "." if decimal == "," else ","
        in_cells = decimal in self.text and (decimal != sep or '"' in self.text)
        if not in_cells and not re.search(rf"\{other}[0-9]{{3}}\{other}[0-9]{{3}}", self.text):
            return None
        for name, column in self.columns.items():
            cell = proof_of_decimal(column, decimal, self.dialect.all_missing)
            if cell is not None:
                return Proof(self.path, name, cell, sep)
        return None


def _decimal(samples: Sequence[Sample]) -> str:
    """The decimal mark of all files: a comma only where it is proved, and a point is not."""
    commas = [proof for sample in samples if (proof := sample.proof(","))]
    if not commas:
        return "."
    point = next((proof for sample in samples if (proof := sample.proof("."))), None)
    if point is None:
        return ","
    comma = next((proof for proof in commas if proof.sep != ","), None)
    if comma is None:  # in quotes, between commas: such text is no number as long as others are
        return "."
    raise ValueError(
        f"Column {comma.column!r} of {comma.path!r} has a decimal comma, as in {comma.cell!r}, but "
        f"column {point.column!r} of {point.path!r} a decimal point, as in {point.cell!r}. Say "
        "which it is, decimal=',' or decimal='.': columns written in the other way are then text."
    )
