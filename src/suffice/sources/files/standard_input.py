"""Standard input as a file: passes read rows again and again, and a pipe can be read once."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Sequence
from typing import Any

from suffice.sources.files.paths import MAGIC, Path

_SUFFIXES = {"parquet": ".parquet", "arrow": ".arrow"}


class StandardInputCopy:
    """A copy of standard input in a temporary file, removed with this object or at exit."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="suffice-")
        weakref.finalize(self, shutil.rmtree, self.folder, True)
        stream = _stream()
        try:
            head = stream.read(1 << 16)
            if not head:
                raise ValueError("There is nothing on standard input: pipe a file into it.")
            self.path = os.path.join(self.folder, f"standard-input{_suffix(head)}")
            with open(self.path, "wb") as file:
                file.write(head)
                shutil.copyfileobj(stream, file, 1 << 20)
        except OSError as error:
            raise ValueError(
                f"Standard input cannot be copied to {self.folder!r}: {error.strerror or error}. "
                "Passes read it more than once; TMPDIR names another folder for the copy."
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process reads the copy, and does not own it."""
        return type(None), ()


def _stream() -> Any:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or sys.stdin.closed:
        raise ValueError("There is no standard input to read.")
    if sys.stdin.isatty():
        raise ValueError(
            "Standard input is a terminal: pipe a file into it, or give the name of one."
        )
    return stream


def _suffix(head: bytes) -> str:
    """The suffix that tells the format of a file with these first bytes."""
    if head.startswith(b"\x1f\x8b"):
        return ".csv.gz"
    return _SUFFIXES.get(MAGIC.get(head[:4], ""), ".csv")


def with_standard_input(
    path: Path | Sequence[Path],
) -> tuple[Path | Sequence[Path], StandardInputCopy | None]:
    """What to scan with a copy of standard input in the place of "-", and the copy."""
    entries: list[Any] = list(path) if isinstance(path, (list, tuple)) else [path]
    if entries.count("-") > 1:
        raise ValueError("path names standard input, '-', more than once; it can be read once.")
    if "-" not in entries:
        return path, None
    copy = StandardInputCopy()
    return [copy.path if entry == "-" else entry for entry in entries], copy
