"""Columns that go from the input to the output as they are.

They are read beside the rows that the model reads, and not as it reads them: whole numbers, dates
and flags of Parquet and Arrow files keep their types, cells of CSV files their text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from suffice.cli.show import shown
from suffice.sources import FileSource
from suffice.sources.files.reading import DataFile, cells_of, schema_of


class CopiedColumns:
    """Columns of files, to be taken from the first row to the last.

    Parameters
    ----------
    source : FileSource
        Its files are read; which columns it reads itself does not matter.
    names : sequence of str
        The columns to copy.

    Raises
    ------
    ValueError
        If a file has no such column, or files hold it as types that have nothing in common.
    """

    def __init__(self, source: FileSource, names: Sequence[str]) -> None:
        self.files, self.names = source.files, list(names)
        for name in self.names:
            if self.names.count(name) > 1:
                raise ValueError(f"--keep names column {name!r} more than once")
        self.schema = _common_schema(self.files, self.names)
        self._batches = self._read()
        self._waiting: list[Any] = []

    def beside(self, answers: Any) -> Any:
        """An Arrow table with the columns of its rows, which follow those of the last one."""
        import pyarrow as pa

        if not self.names:
            return answers
        while sum(map(len, self._waiting)) < len(answers):
            self._waiting.append(next(self._batches))
        rows = pa.concat_tables(self._waiting)
        self._waiting = [rows.slice(len(answers))]
        columns = [*rows.slice(0, len(answers)).columns, *answers.columns]
        return pa.Table.from_arrays(columns, [*self.names, *answers.column_names])

    def _read(self) -> Iterator[Any]:
        import pyarrow as pa

        for file in self.files:
            with closing(cells_of(file, self.names)) as batches:
                for batch in batches:
                    yield pa.Table.from_batches([batch]).cast(self.schema)
        raise self.files[-1].changed("some of its rows are gone")


def _common_schema(files: Sequence[DataFile], names: Sequence[str]) -> Any:
    """Types that hold the columns of all files; CSV files hold text."""
    import pyarrow as pa

    found = []
    for file in files if names else ():
        schema = schema_of(file)
        for name in names:
            if schema.names.count(name) != 1:
                number = "several columns" if name in schema.names else "no column"
                raise ValueError(
                    f"--keep {name!r}: {file.path!r} has {number} of that name; it has "
                    f"{shown([repr(one) for one in schema.names])}"
                )
        types = [pa.string() if file.dialect else schema.field(name).type for name in names]
        plain = [t.value_type if pa.types.is_dictionary(t) else t for t in types]
        found.append(pa.schema(list(zip(names, plain, strict=True))))
    try:
        return pa.unify_schemas(found, promote_options="permissive") if found else None
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(
            f"--keep {', '.join(names)}: not all files hold the same type of values ({error})"
        ) from error
