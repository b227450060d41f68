"""Arguments and options that commands share."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

import suffice
from suffice.cli.choices import column_names

Data = Annotated[
    list[str],
    typer.Argument(
        help="Files, globs or folders: CSV, Parquet, Arrow; - for standard input.", metavar="DATA"
    ),
]
ModelFile = Annotated[str, typer.Argument(help="A saved model.", metavar="MODEL")]
ModelName = Annotated[
    str, typer.Option("--model", help="A name from `suffice models`.", metavar="NAME")
]
Target = Annotated[
    list[str] | None,
    typer.Option(help="Column to predict; several times for several.", metavar="COLUMN"),
]
KnownTarget = Annotated[
    list[str] | None,
    typer.Option(help="The target's column; by default that of the fit.", metavar="COLUMN"),
]
Weight = Annotated[str | None, typer.Option(help="Column of row weights.", metavar="COLUMN")]
Features = Annotated[
    list[str] | None,
    typer.Option(help="Columns to use, with commas; by default all others.", metavar="A,B,…"),
]
Drop = Annotated[
    list[str] | None, typer.Option(help="Columns to leave out, with commas.", metavar="A,B,…")
]
Keep = Annotated[
    list[str] | None,
    typer.Option(help="Columns to copy to the output, with commas.", metavar="A,B,…"),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A parameter; several times for several.", metavar="NAME=VALUE"),
]
Save = Annotated[str, typer.Option(help="Where to save the model.", metavar="FILE")]
Output = Annotated[
    str, typer.Option(help="A file .csv, .parquet or .arrow; - for standard output.")
]
Threads = Annotated[int | None, typer.Option(help="Threads to use; by default all cores.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]

OF_CSV: dict[str, Any] = {
    "sep": Annotated[str | None, typer.Option(help="What separates the cells of CSV files.")],
    "decimal": Annotated[str | None, typer.Option(help="Decimal mark of CSV files: . or a comma.")],
    "encoding": Annotated[str | None, typer.Option(help="Encoding of CSV files, as cp1252.")],
    "missing": Annotated[
        list[str] | None,
        typer.Option(help="Cells of CSV files that mean no value, with commas.", metavar="A,B,…"),
    ],
    "thousands": Annotated[
        str | None, typer.Option(help="What groups the digits of numbers in CSV files.")
    ],
    "header": Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether CSV files begin with names."),
    ],
}
"""Options of every command that reads data: how files are written, where that is not detected."""

TABS = {"tab": "\t", "\\t": "\t"}


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of CSV files; its argument `dialect` gets them, for `scan`."""
    signature, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
    own = [p for p in signature.parameters.values() if p.name != "dialect"]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    more = [
        inspect.Parameter(n, kind, default=None, annotation=option) for n, option in OF_CSV.items()
    ]

    @functools.wraps(command)
    def reading(*args: Any, **given: Any) -> None:
        found = {name: given.pop(name) for name in OF_CSV}
        if found["sep"] is not None:
            found["sep"] = TABS.get(found["sep"], found["sep"])
        found["missing"] = column_names(found["missing"])
        dialect = {name: value for name, value in found.items() if value is not None}
        command(*args, dialect=dialect, **given)

    typed = [p.replace(annotation=hints[p.name]) for p in own]
    reading.__signature__ = signature.replace(parameters=[*typed, *more])  # type: ignore[attr-defined]
    reading.__annotations__ = {p.name: p.annotation for p in [*typed, *more]}
    del reading.__wrapped__
    return reading


def threads_of(number: int | None) -> contextlib.AbstractContextManager[Any]:
    """The number of threads that a command may use."""
    return contextlib.nullcontext() if number is None else suffice.config(threads=number)
