"""How a command ends: with its output, or with one line that says what was wrong.

Bad input is exit code 2 and one line on standard error; with ``--json`` standard output then
holds ``{"error": …}``, so that it is one JSON document whatever happens.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from typing import Any

DONE, FAULT, BAD_INPUT, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141

AS_OPTIONS = (
    (r"\bheader=False", "--no-header"),
    (r"\bheader=True", "--header"),
    (r"\b(decimal|thousands|encoding)='(.+?)'", r"--\1 \2"),
    (r"^(sep|decimal|thousands|encoding) is '", r"--\1 is '"),
    (r"^(features|target) names column", r"--\1 names column"),
    (r"^thousands and decimal are", "--thousands and --decimal are"),
    (r"leave the column out of features\.", "leave the column out of the fit (--drop)."),
    (
        r"Fill gaps first \(.*?\), or drop those rows\.",
        "The fit saw no missing cell there, so none is filled: write a value into the file, leave "
        "out those rows, or fit to rows that have such gaps.",
    ),
    (
        r"Encode text as numbers first \(.*?\), or leave it out\.",
        "A model of `suffice fit` encodes text itself.",
    ),
)
"""What messages of the library say, as patterns, and what it is called here."""

GIVEN_WARNINGS: list[str] = []
"""What the running command has warned of so far."""

GIVEN_NOTES: list[str] = []
"""What a user should know about what the running command did to the rows."""


def note(line: str) -> None:
    """Say something in one line, if the command succeeds."""
    GIVEN_NOTES.append(one_line(line))


def write_notes() -> None:
    """Write the notes to standard error."""
    with suppress(BrokenPipeError):
        sys.stderr.writelines(f"note: {line}\n" for line in GIVEN_NOTES)


def run(arguments: Sequence[str]) -> int:
    """Run one command; return its exit code.

    Parameters
    ----------
    arguments : sequence of str
        What follows the program's name.
    """
    options = set(takewhile(lambda argument: argument != "--", arguments))
    debug, as_json = "--debug" in options, "--json" in options
    _write_any_character()
    try:
        with _warnings_on_one_line():
            code = _invoke(list(arguments) or ["--help"])
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _failed("interrupted", INTERRUPTED, as_json, debug)
    except BrokenPipeError:
        _discard_output()
        return NO_READER
    except (OSError, TypeError, ValueError) as error:
        return _failed(f"error: {describe(error)}", BAD_INPUT, as_json, debug)
    except MemoryError:
        return _failed("error: there is not enough memory", FAULT, as_json, debug)
    except Exception as error:  # noqa: BLE001 - whatever went wrong, one line says so
        if hasattr(error, "format_message"):  # what Typer raises for unknown options and the like
            return _failed(f"error: {one_line(error.format_message())}", BAD_INPUT, as_json, debug)
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        advice = "this is a fault in suffice; --debug shows where"
        return _failed(f"error: {one_line(text)} ({advice})", FAULT, as_json, debug)


def _invoke(arguments: list[str]) -> int:
    # Not Typer's own `main`, which has its own ideas of errors, interrupts and pipes.
    import typer

    from suffice.cli.app import command

    try:
        with command.make_context("suffice", arguments) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    return DONE


def describe(error: BaseException) -> str:
    """An exception in one line, for people."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return one_line(f"{os.fsdecode(error.filename)!r}: {error.strerror}")
    if isinstance(error, OSError) and error.strerror:
        return one_line(error.strerror)
    text = one_line(str(error) or type(error).__name__)
    for said, option in AS_OPTIONS:
        text = re.sub(said, option, text)
    return re.sub(r"""\bmissing=\[('.*?'|".*?")\]""", _missing_option, text)


def _missing_option(found: re.Match[str]) -> str:
    from suffice.cli.choices import as_option

    return as_option("missing", [ast.literal_eval(found[1])])


def one_line(text: str) -> str:
    """Text without line ends, nor anything else that would steer a terminal."""
    joined = " ".join(line.strip() for line in text.splitlines())
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode()
        for c in joined
    )


def _failed(line: str, code: int, as_json: bool, debug: bool) -> int:
    if debug:
        with suppress(OSError):
            traceback.print_exc()
    if as_json:
        from suffice.cli.show import print_json

        try:
            print_json({"error": line.removeprefix("error: ")})
            sys.stdout.flush()
        except OSError:  # no reader, or a full disk: standard error has to do
            _discard_output()
    with suppress(OSError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    return code


@contextmanager
def _warnings_on_one_line() -> Iterator[None]:
    """Warnings meant for users become ``warning: …`` on standard error."""

    def show(message: Warning | str, *details: Any, **more: Any) -> None:
        line = one_line(str(message))
        GIVEN_WARNINGS.append(line)
        with suppress(BrokenPipeError):
            sys.stderr.write(f"warning: {line}\n")

    GIVEN_WARNINGS.clear()
    GIVEN_NOTES.clear()
    with warnings.catch_warnings():
        warnings.filterwarnings("default", category=UserWarning)
        # Counted column by column instead, in a note.
        warnings.filterwarnings("ignore", message="Found unknown categories")
        warnings.showwarning = show
        yield


def _write_any_character() -> None:
    """Characters that the terminal's encoding lacks are escaped, never an error."""
    with suppress(AttributeError, ValueError):
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _discard_output() -> None:
    """Python flushes standard output once more when it ends: let that go nowhere."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
