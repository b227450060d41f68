"""Which files a path stands for, and how each of them is written."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence

Path = str | os.PathLike[str]

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
ACCEPTED_FILES = (
    "Parquet (.parquet, .pq), CSV (.csv, .tsv, also compressed as .csv.gz) "
    "and Arrow IPC (.arrow, .feather, .ipc)"
)

MAGIC = {b"PAR1": "parquet", b"ARRO": "arrow", b"\xff\xff\xff\xff": "arrow"}


def find_files(path: Path | Sequence[Path]) -> list[str]:
    """Absolute paths of the data files that `path` stands for.

    A list keeps its order, a glob gives its matches sorted, a folder all the
    data files below it sorted; names that start with "_" or "." are skipped
    in folders.
    """
    if isinstance(path, (str, os.PathLike)):
        entries: Sequence[Path] = [path]
    elif isinstance(path, (list, tuple)):
        entries = path
    else:
        raise TypeError(
            f"path is of type {type(path).__name__}; give a file, a folder, a glob, or a list "
            "of those."
        )
    if not entries:
        raise ValueError("path is an empty list; give at least one file, folder or glob.")
    return [os.path.abspath(found) for entry in entries for found in _find(entry)]


def _find(entry: Path) -> list[str]:
    if not isinstance(entry, (str, os.PathLike)):
        raise TypeError(f"path holds {entry!r}; give files, folders and globs as text or Path.")
    pattern = os.path.expanduser(os.fspath(entry))
    if "://" in pattern:
        raise ValueError(f"{pattern!r} is an address; only files on this computer can be read.")
    if os.path.isdir(pattern):
        return _in_folder(pattern)
    if os.path.exists(pattern):
        return [pattern]
    found: list[str] = []
    for match in sorted(glob.glob(pattern, recursive=True)):
        if os.path.isdir(match):
            # "**" names every folder on the way, and the files in them as well
            found += [] if "**" in pattern else _in_folder(match)
        elif format_by_name(match) or not os.path.basename(match).startswith("_"):
            found.append(match)
    if not found:
        raise FileNotFoundError(f"No file matches {pattern!r} (looked in {os.getcwd()!r}).")
    return found


def _in_folder(folder: str) -> list[str]:
    found = sorted(_walk(folder))
    if not found:
        raise FileNotFoundError(
            f"Folder {folder!r} holds no data file; recognised are {ACCEPTED_FILES}."
        )
    return found


def _walk(folder: str) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]
        for name in files:
            if format_by_name(name) and not name.startswith(("_", ".")):
                yield os.path.join(parent, name)


def format_by_name(path: str) -> str | None:
    """Format that the suffix of `path` tells, or None."""
    stem, suffix = os.path.splitext(os.path.basename(path).lower())
    if suffix in COMPRESSED:
        inner = FORMATS.get(os.path.splitext(stem)[1])
        return inner if inner in {"csv", "tsv"} else None
    return FORMATS.get(suffix)


def format_of(path: str) -> str:
    """Format of a file: by its suffix, else by its first bytes.

    Raises
    ------
    ValueError
        If the file is empty, cannot be read, or is of no known format.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(8)
    except OSError as error:
        raise ValueError(f"{path!r} cannot be read: {error.strerror or error}.") from error
    if not head:
        raise ValueError(f"{path!r} is an empty file (0 bytes).")
    known = format_by_name(path) or MAGIC.get(head[:4])
    if known is None:
        raise ValueError(
            f"{path!r} is of no known format, by its suffix or its first bytes; accepted are "
            f"{ACCEPTED_FILES}."
        )
    return known
