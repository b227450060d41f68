"""Models as files.

A model is one safetensors file.  Its metadata are texts:

    sha256            of the whole file, these 64 digits read as zeros
    format            "suffice-model"
    format_version    "2"
    library_version   the version of suffice that wrote the file
    model             the name of the model's class
    tree              parameters and fitted attributes, as JSON (see `encoding`)
    notes             what the user wrote beside the model, as JSON; only if there is any

and its tensors are the arrays, named by where they are in the model.  Loading runs
no code from the file and unpickles nothing; it builds objects of registered classes
only, and only after the whole file was found to be as it was written.

Saving is all or nothing: the file is written beside its destination and renamed.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, TypeVar

from numpy.typing import NDArray

from suffice.fitting.files.decoding import Decoder
from suffice.fitting.files.encoding import Encoder
from suffice.fitting.files.notes import parse_notes, write_notes
from suffice.fitting.files.registry import (
    FindModel,
    file_name,
    is_model_class,
    register,
    register_model,
    storable,
)
from suffice.fitting.files.tensorfile import Header, pack, parse_json, read_header, read_tensors

__all__ = [
    "check_writable",
    "load_model",
    "read_notes",
    "register",
    "register_model",
    "save_model",
    "storable",
    "written_whole",
]

FORMAT = "suffice-model"
FORMAT_VERSION = 2

StrPath = str | os.PathLike[str]
T = TypeVar("T")


def save_model(
    model: Any,
    path: StrPath,
    find_model: FindModel | None = None,
    notes: dict[str, Any] | None = None,
) -> None:
    """Write a model to a file.

    Stored are the model's parameters and its fitted attributes: whatever the
    instance holds that is no parameter and does not begin with an underscore,
    together with the names that its class lists in `_saved_private`. Values of
    `functools.cached_property` are left out.

    If anything fails, a file that was there before is still there, whole. A
    new file gets the usual permissions; an existing one keeps its own, and a
    symbolic link keeps pointing to the file.

    Parameters
    ----------
    model : estimator
        Of a class that `register_model` or `find_model` knows; without
        `find_model`, of any class of this library.
    path : str or path-like
        Where to write; used as `open` would use it.
    find_model : callable, default=None
        From a class's name to the class, or None if there is no such model. What
        it will say when the file is loaded.
    notes : dict, optional
        Strings, numbers, booleans, None, and lists and dicts of these, for `read_notes`.

    Raises
    ------
    TypeError
        If a parameter, an attribute or a note is of a type that cannot be stored; the
        message says which.
    OSError
        If the file cannot be written.
    """
    path = os.fsdecode(path)
    encoder = Encoder(find_model)
    if not is_model_class(type(model)):
        raise TypeError(f"cannot save {type(model).__name__}: it is not a model")
    tree = encoder.encode(model, "")
    metadata = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "library_version": _library_version(),
        "model": file_name(type(model)),
        "tree": json.dumps(tree, separators=(",", ":")),
    }
    if notes is not None:
        metadata["notes"] = write_notes(notes)
    _write_whole(path, pack(encoder.tensors, metadata))


def load_model(path: StrPath, find_model: FindModel | None = None) -> Any:
    """Read a model from a file that `save_model` wrote.

    Parameters
    ----------
    path : str or path-like
        The file; used as `open` would use it.
    find_model : callable, default=None
        From a class's name to the class, or None if there is no such model.

    Returns
    -------
    estimator
        A new model, equal to the saved one to the last bit.

    Raises
    ------
    ValueError
        If the file is damaged, cut short, of another format version, or
        something else than a saved model.
    OSError
        If the file is missing or cannot be read.
    """
    return _read(path, lambda metadata, tensors: _build(metadata, tensors, find_model))


def read_notes(path: StrPath) -> dict[str, Any]:
    """The notes in a file that `save_model` wrote, without building the model.

    Parameters
    ----------
    path : str or path-like
        The file; used as `open` would use it.

    Returns
    -------
    dict
        Equal to what was saved; empty if there were no notes.

    Raises
    ------
    ValueError
        As `load_model` does: notes of a file that was altered are not believed.
    OSError
        If the file is missing or cannot be read.
    """
    return _read(path, lambda metadata, _: parse_notes(metadata.get("notes", "{}")))


def _read(path: StrPath, answer: Callable[[dict[str, str], dict[str, NDArray[Any]]], T]) -> T:
    """What the metadata and tensors of a file give, after the whole file was checked."""
    path = os.fsdecode(path)
    kind = os.stat(path).st_mode
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    try:
        if not stat.S_ISREG(kind):  # opening a pipe would wait for a writer
            raise ValueError("it is not a regular file")
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            header = read_header(file, size)
            _check_format(header)
            tensors = read_tensors(file, header, size)
        return answer(header.metadata, tensors)
    except (ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"cannot load {path!r}: {error}") from error


def _check_format(header: Header) -> None:
    metadata = header.metadata
    if metadata.get("format") != FORMAT:
        raise ValueError("it is a safetensors file, but not a model saved by suffice")
    writer = metadata.get("library_version", "of an unknown version")
    version = metadata.get("format_version", "")
    if not (version.isascii() and version.isdecimal() and 0 < len(version) < 10):
        raise ValueError("its format version is damaged")
    if int(version) != FORMAT_VERSION:
        newer = int(version) > FORMAT_VERSION
        raise ValueError(
            f"it is of format version {int(version)}, written by suffice {writer}; "
            f"this suffice {_library_version()} reads format version {FORMAT_VERSION}. "
            + ("Upgrade suffice to load it." if newer else "Fit the model again, and save it anew.")
        )
    if "tree" not in metadata or "model" not in metadata:
        raise ValueError("its metadata is damaged")


def _build(
    metadata: dict[str, str], tensors: dict[str, NDArray[Any]], find_model: FindModel | None
) -> Any:
    tree = parse_json(metadata["tree"])
    if not isinstance(tree, dict) or set(tree) != {"model"}:
        raise ValueError("its content is not a model")
    decoder = Decoder(tensors, find_model)
    model = decoder.decode(tree)
    if file_name(type(model)) != metadata["model"]:
        raise ValueError("its metadata name another model than it holds")
    if decoder.unused:
        raise ValueError(f"nothing in it uses the tensors {sorted(decoder.unused)[:5]}")
    return model


def _library_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("suffice")
    except PackageNotFoundError:
        return "unknown"


def _write_whole(path: str, buffers: Sequence[bytes | memoryview]) -> None:
    with written_whole(path) as file:
        for buffer in buffers:
            file.write(buffer)


@contextlib.contextmanager
def written_whole(path: str) -> Iterator[BinaryIO]:
    """A file to be written completely or not at all, whatever interrupts it.

    It is written under another name beside its destination, and renamed once its content is on
    the disk.  A file that was there keeps its mode; a symbolic link keeps pointing to the file.

    Parameters
    ----------
    path : str
        Where to write; used as `open` would use it.
    """
    target, mode = _destination(path)
    folder = os.path.dirname(target)
    # The name is chosen first, so that there is no moment at which a file exists
    # whose name the clean-up does not know.
    temporary = os.path.join(folder, f".suffice-{secrets.token_hex(16)}.tmp")
    try:
        with open(temporary, "xb", opener=_private if mode is not None else None) as file:
            if mode is not None:
                os.chmod(temporary, mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        # A full disk names no file, and nobody knows the temporary one.
        if isinstance(error, OSError) and error.errno and error.filename in (None, temporary):
            error.filename = path
        raise
    with contextlib.suppress(OSError):  # the new name reaches the disk, where folders can sync
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def check_writable(path: StrPath) -> None:
    """Raise the OSError that writing to this path would, before there is anything to write."""
    path = os.fsdecode(path)
    folder = os.path.dirname(_destination(path)[0])
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def _private(name: str, flags: int) -> int:
    """Open a file that nobody else can read until it has the mode of the one it replaces."""
    return os.open(name, flags, 0o600)


def _destination(path: str) -> tuple[str, int | None]:
    """The real file behind a path, and its mode if it exists.

    Raises what `open` would, since renaming asks neither whether the old file may
    be written nor whether it is a file at all.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        while os.path.islink(path):  # a link to a file that is yet to be
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        folder, name = os.path.split(path)
        if not name:
            code = errno.EISDIR if path else errno.ENOENT
            raise OSError(code, os.strerror(code), path) from None
        return os.path.join(os.path.realpath(folder or ".", strict=True), name), None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "Not a regular file", path)
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    return os.path.realpath(path, strict=True), stat.S_IMODE(mode)
