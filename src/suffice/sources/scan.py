"""Rows of files: Parquet, CSV and Arrow, in memory that does not grow with them.

The files are read one after the other as Arrow record batches, which are cut
again at the fixed boundaries of the blocks.  A piece holds slices of batches;
loading it writes their columns into one C-order float64 array.  However many
files the same rows are spread over, the blocks are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from suffice.sources.base import Source, block_rows
from suffice.sources.files.columns import ACCEPTED, ENCODE
from suffice.sources.files.detection import detect
from suffice.sources.files.dialect import Dialect, check_options
from suffice.sources.files.paths import Path, find_files, format_of
from suffice.sources.files.piece import BatchSlice, FilePiece, in_file
from suffice.sources.files.reading import DataFile, batches, read_as
from suffice.sources.files.schema import (
    FileHeader,
    FoundColumn,
    Selection,
    check_present,
    check_weight_column,
    common_kind,
    found_columns,
    raise_bad_value,
    read_header,
    select_columns,
)
from suffice.sources.files.standard_input import StandardInputCopy, with_standard_input


def scan(
    path: Path | Sequence[Path],
    *,
    target: str | Sequence[str] | None = None,
    weight: str | None = None,
    features: Sequence[str] | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] | None = None,
    header: bool | None = None,
    thousands: str | None = None,
) -> FileSource:
    """Rows of Parquet, CSV or Arrow files, to be read in passes.

    Only the headers are read now: columns, types, and numbers of rows where the
    files tell them.  Each pass reads the rows anew, a little at a time.

    Parameters
    ----------
    path : str, path or list of those
        A file, a folder (all data files below it, sorted), a glob (its matches,
        sorted) or a list of these (in its order).  Formats go by suffix: Parquet
        (.parquet, .pq), CSV (.csv, .tsv, also .csv.gz) and Arrow IPC (.arrow,
        .feather, .ipc), else by the first bytes.  "-" is standard input, copied to a
        temporary file that goes with the source.
    target : str or list of str, optional
        Column to predict: numbers, or text as labels.  One name gives a 1-D
        target, a list a 2-D one.
    weight : str, optional
        Column of row weights, finite and not negative.
    features : list of str, optional
        Columns to learn from, in this order: numbers, dates (as days since 1970-01-01), or text
        that is encoded first (see `suffice.preprocessing`).  By default every column of the
        first file but the target, the weight, a pandas index, and columns without a name.
    sep, decimal, encoding : str, optional
        How CSV files are written: what separates their cells, "." or "," before a fraction,
        and a name such as "cp1252".  By default each is told from the first megabyte of a
        file; `dialect` of the source says what was found.
    missing : list of str, optional
        Cells of CSV files that mean a missing value, besides empty ones.  In columns of
        anything but text, NA, NaN, N/A, null, None, ? and - do so without being named.
    header : bool, optional
        Whether the first line of CSV files names the columns.  By default it does, and a line
        that looks like data is an error; without names, columns are column_1, column_2, ...
    thousands : str, optional
        What separates groups of three digits in the numbers of CSV files.  By default that is
        told column by column, and only where a cell such as 1,234,567 proves it.

    Returns
    -------
    FileSource

    Raises
    ------
    FileNotFoundError
        If no file matches.
    ValueError
        If a column is unknown, neither numbers nor text, or missing from some file, if a
        file is empty, damaged or unreadable, or if there are no rows at all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from suffice.sources import scan
    >>> _ = Path("monday.csv").write_text("miles,night,fare\\n2.5,0,11\\n1.0,1,7.5\\n")
    >>> _ = Path("tuesday.csv").write_text("miles,night,fare\\n4.0,1,19\\n")
    >>> rides = scan("*.csv", target="fare")
    >>> rides.feature_names, rides.count_rows()
    (('miles', 'night'), 3)
    >>> block = next(rides.pieces()).load()
    >>> block.X
    array([[2.5, 0. ],
           [1. , 1. ],
           [4. , 1. ]])
    >>> block.y
    array([11. ,  7.5, 19. ])
    """
    given = check_options(sep, decimal, encoding, missing, header, thousands)
    return scan_choosing(path, given, target, weight, lambda headers: features)


def scan_choosing(
    path: Path | Sequence[Path],
    given: Mapping[str, Any],
    target: str | Sequence[str] | None,
    weight: str | None,
    choose: Callable[[Sequence[FileHeader]], Sequence[str] | None],
) -> FileSource:
    """The same, where what the files hold decides which of their columns are features.

    Parameters
    ----------
    path, target, weight
        As for `scan`.
    given : mapping
        How CSV files are written, from `check_options`.
    choose : function
        Names of the features, or None for all, from the headers of the files.
    """
    path, copy = with_standard_input(path)
    paths = find_files(path)
    headers = _headers(paths, given)
    first = headers[paths[0]]
    selection = select_columns(first, target, weight, choose(list(headers.values())))
    for one in headers.values():
        check_present(one, selection, None if one is first else first)
    headers = _with_thousands(headers, selection)
    found: list[FoundColumn] = []
    targets: list[FoundColumn] = []
    for one in (headers[file_path] for file_path in paths):
        check_weight_column(one, selection)
        found += found_columns(one, selection, selection.features)
        targets += found_columns(one, selection, selection.target)
    if not any(one.has_rows for one in headers.values()):
        raise ValueError(
            f"There are no rows in {paths[0]!r}"
            + (f" nor in the {len(paths) - 1} other files." if len(paths) > 1 else ".")
        )
    kinds = _column_kinds(found, selection.features)
    selection = replace(selection, target_kind=common_kind(targets), column_kinds=kinds)
    files = [_data_file(headers[file_path], selection) for file_path in paths]
    first_text = next((column for column in found if column.kind == "text"), None)
    return FileSource(files, selection, first_text, copy)


def _headers(paths: Sequence[str], given: Mapping[str, Any]) -> dict[str, FileHeader]:
    """What each file says about itself."""
    formats = {file_path: format_of(file_path) for file_path in paths}
    dialects = detect(formats, given)
    thousands = given.get("thousands")
    return {
        file_path: read_header(file_path, dialects.get(file_path), thousands)
        for file_path in formats
    }


def _with_thousands(
    headers: Mapping[str, FileHeader], selection: Selection
) -> dict[str, FileHeader]:
    """Columns of numbers such as 1,234,567 are numbers in all files if one file proves it."""
    marks = {
        name: mark
        for one in headers.values()
        for name, (mark, is_proved) in one.thousands.items()
        if is_proved and name in selection.names
    }
    if not marks:
        return dict(headers)
    return {
        path: replace(one.with_numbers(marks), dialect=replace(one.dialect, thousands=marks))
        if one.dialect
        else one
        for path, one in headers.items()
    }


def _column_kinds(found: Sequence[FoundColumn], features: Sequence[str]) -> tuple[str, ...]:
    """What each feature is, "number", "bool", "date" or "text", as all files together say."""
    of_name: dict[str, list[FoundColumn]] = {name: [] for name in features}
    for column in found:
        of_name[column.name].append(column)
    kinds = (common_kind(columns) for columns in of_name.values())
    return tuple(kind if kind in {"text", "date", "bool"} else "number" for kind in kinds)


def _data_file(header: FileHeader, selection: Selection) -> DataFile:
    """A file as it will be read."""
    kinds = dict(zip(selection.features, selection.column_kinds, strict=True))
    types = {}
    for name in selection.names if header.dialect else ():
        kind = header.kind(name)
        if kind in {"bool", "date"} or (kind == "null" and kinds.get(name) in {"bool", "date"}):
            types[name] = read_as(header.schema.field(name).type, kinds.get(name, kind))
    return DataFile(header.path, header.format, header.n_rows, header.dialect, types)


class FileSource(Source):
    """Rows of files; `scan` makes one.

    `dialect` says how its CSV files are written, in one line as `str(source.dialect)`; it is None
    where there is nothing unusual.

    It holds no open file: every pass over `pieces` opens the files one by one
    and closes each when it is read or the pass is given up.  Passes may run at
    the same time, and the source can be pickled.

    Parameters
    ----------
    files : sequence of DataFile
        In the order of their rows.
    selection : Selection
        The columns to read.
    first_text : FoundColumn, optional
        A feature that holds text, for the message of a model that needs numbers.
    copy : StandardInputCopy, optional
        A copy of standard input that lives as long as this source.
    """

    def __init__(
        self,
        files: Sequence[DataFile],
        selection: Selection,
        first_text: FoundColumn | None = None,
        copy: StandardInputCopy | None = None,
    ) -> None:
        self.files = tuple(files)
        self.selection = selection
        self.kinds = selection.kinds
        self._first_text, self._copy = first_text, copy
        self.feature_names = selection.features
        self.n_columns = len(selection.features)
        self.target_names = selection.target or None
        self.has_target = bool(selection.target)
        self.has_weight = selection.weight is not None
        self._counts: list[int | None] = [None] * len(self.files)
        self.n_rows: int | None = None
        for i, file in enumerate(self.files):
            if file.n_rows is not None:
                self._learn_count(i, file.n_rows)

    @property
    def dialect(self) -> Dialect | None:
        """How the CSV files are written: the first of them with anything unusual, or None."""
        dialects = (file.dialect for file in self.files)
        return next((one for one in dialects if one is not None and one.unusual()), None)

    @property
    def column_kinds(self) -> tuple[str, ...]:
        """What each feature is: "number", "bool", "date" or "text"."""
        return self.selection.column_kinds

    @property
    def target_shape(self) -> tuple[int, ...]:
        """Shape of one row's target: () where `target` is one name, (targets,) for a list."""
        return () if self.selection.flat_target else (len(self.selection.target),)

    def _learn_count(self, i: int, count: int) -> None:
        """Keep the number of rows of file `i`, and of all files once all are known."""
        self._counts[i] = count
        if None not in self._counts:
            self.n_rows = sum(known for known in self._counts if known is not None)

    def count_rows(self) -> int:
        """Number of rows; files that do not tell it are read, one column of them."""
        for i in range(len(self.files)):
            self._count(i)
        return super().count_rows()

    def _count(self, i: int) -> int:
        """Number of rows of file `i`."""
        if self._counts[i] is None:
            for _ in self._read(i, self.selection.features[:1]):
                pass
        return self._counts[i] or 0

    def pieces(self) -> Iterator[FilePiece]:
        size = block_rows(self.n_columns)
        start, n_rows, slices = 0, 0, []
        for i, file in enumerate(self.files):
            with closing(self._read(i, self.selection.names)) as found:
                for row, batch in found:
                    offset = 0
                    while offset < batch.num_rows:
                        length = min(size - n_rows, batch.num_rows - offset)
                        slices.append(BatchSlice(batch, offset, length, file, row + offset))
                        offset += length
                        n_rows += length
                        if n_rows == size:
                            yield FilePiece(self.selection, self.row_label, start, n_rows, slices)
                            start, n_rows, slices = start + n_rows, 0, []
        if n_rows:
            yield FilePiece(self.selection, self.row_label, start, n_rows, slices)

    def _read(self, i: int, columns: Sequence[str]) -> Generator[tuple[int, Any], None, None]:
        """Record batches of one file, after the numbers of their first rows."""
        file, n_rows = self.files[i], 0
        for row, batch in batches(file, self.selection, columns):
            yield row, batch
            n_rows = row + batch.num_rows
        if self._counts[i] not in (None, n_rows):
            raise file.changed(f"it had {self._counts[i]} rows, now {n_rows}")
        self._learn_count(i, n_rows)

    def refuse_text(self) -> None:
        """Raise if a feature holds text: the message names the column, and the CSV row."""
        text = self._first_text
        if text is None:
            return
        if text.is_guess:
            try:
                raise_bad_value(text.path, text.dialect, text.name)
            except ValueError as error:
                raise ValueError(f"{error} {ENCODE}") from None
        raise ValueError(
            f"Column {text.name!r} (feature) of {text.path!r} has type {text.type_name}; accepted "
            f"are {ACCEPTED}. {ENCODE}"
        )

    def row_label(self, row: int) -> str:
        """Name of a row: its line in a CSV file, else its number, here and in its file."""
        before, last = 0, len(self.files) - 1
        for i, file in enumerate(self.files):
            try:
                if i == last or row < before + self._count(i):
                    return in_file(row, row - before, file)
            except ValueError:  # a damaged line between here and there
                break
            before += self._count(i)
        return super().row_label(row)

    def __repr__(self) -> str:
        first, more = self.files[0].path, len(self.files) - 1
        where = f"{first!r} and {more:,} more" if more else repr(first)
        rows = "unknown" if self.n_rows is None else f"{self.n_rows:,}"
        target = self.selection.target[0] if self.selection.flat_target else self.selection.target
        parts = [f"{rows} rows x {self.n_columns:,} features"]
        parts += [f"target={target!r}"] if self.has_target else []
        parts += [f"weight={self.selection.weight!r}"] if self.has_weight else []
        return f"FileSource({where}: {', '.join(parts)})"
