"""Where compiled kernels are kept between processes.

    <user cache>/suffice/kernels/<sources and versions>/<kernel>-<code, types, processor>.nbc

The folder's name is a hash of every source file of this package and of the versions of Python,
numba, llvmlite and NumPy: compiled code holds copies of the kernels it calls, so an edit to any
of them retires all of it at once. Folders that nobody has used for a while are removed.

An entry is machine code, so three things are checked before one is believed:

* who wrote it: folders and files belong to this user and nobody else may write to them;
* that it is whole: a SHA-256 over its name and content comes first in the file;
* that it is complete: it is written under another name and moved into place in one step.

Nothing here raises. An entry that cannot be read, trusted or written is an entry that is not
there, and the kernel compiles again.

``SUFFICE_CACHE_DIR`` moves the cache; it then lies in ``$SUFFICE_CACHE_DIR/kernels``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from pathlib import Path

FOLDERS_KEPT = 8
"""How many versions of the sources (or of Python, numba, …) stay on disk, newest use first."""

IDLE_SECONDS = 3600.0
"""A folder used more recently than this is never removed, however many there are."""

_HEADER = b"suffice kernel 1\n"
_FOLDER_NAME = re.compile(r"[0-9a-f]{32}")


def cache_root() -> Path:
    """Return the folder that holds one folder per version of the kernels.

    Raises
    ------
    RuntimeError
        If this user has no home folder and no variable names another place.
    """
    chosen = os.environ.get("SUFFICE_CACHE_DIR")
    if chosen:
        return Path(os.path.abspath(Path(chosen).expanduser())) / "kernels"
    if sys.platform == "win32":
        given, usual = os.environ.get("LOCALAPPDATA", ""), "AppData/Local"
    elif sys.platform == "darwin":
        given, usual = "", "Library/Caches"
    else:
        given, usual = os.environ.get("XDG_CACHE_HOME", ""), ".cache"
    # The XDG standard asks to ignore a relative path.
    user_cache = Path(given) if os.path.isabs(given) else Path.home() / usual
    return user_cache / "suffice" / "kernels"


def source_digest(package: Path) -> str:
    """Return a SHA-256 over the names and contents of all Python files under `package`.

    Raises
    ------
    OSError
        If there is no such file, or one cannot be read (a package inside a zip archive).
    """
    digest = hashlib.sha256()
    files = sorted(package.rglob("*.py"))
    if not files:
        raise FileNotFoundError(f"no Python source under {package}")
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(package).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def is_private(status: os.stat_result) -> bool:
    """Tell whether only this user (and the superuser) can have written what `status` describes.

    Windows keeps the user's cache folder private by itself and has no such numbers: always true.
    """
    if sys.platform == "win32":
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


class Store:
    """The entries of one version of the kernels: a folder of checksummed files.

    Parameters
    ----------
    root : Path
        Folder of all versions; made, like `name` in it, with mode 0700 at the first write.
    name : str
        This version: 32 hexadecimal digits.
    """

    def __init__(self, root: Path, name: str) -> None:
        self.root = root
        self.folder = root / name
        self._marked_as_used = False

    def read(self, entry: str) -> bytes | None:
        """Return the content of `entry`, or None if it is missing, damaged or not ours."""
        try:
            if not self._is_trusted():
                return None
            self._mark_as_used()
            # Non-blocking, so that a pipe in place of the file cannot hold us up.
            descriptor = os.open(
                self.folder / entry,
                os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0),
            )
            with os.fdopen(descriptor, "rb") as file:
                # The open file is asked, not its path: the path may change under us.
                status = os.fstat(descriptor)
                if not (stat.S_ISREG(status.st_mode) and is_private(status)):
                    return None
                data = file.read()
        except OSError:
            return None
        start = len(_HEADER) + hashlib.sha256().digest_size
        content = data[start:]
        return content if data[:start] == _HEADER + _checksum(entry, content) else None

    def write(self, entry: str, content: bytes) -> bool:
        """Store `content` as `entry`, whole or not at all; return whether that succeeded."""
        try:
            self._create()
            if not self._is_trusted():
                return False
            descriptor, temporary = tempfile.mkstemp(prefix=entry, suffix=".tmp", dir=self.folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(_HEADER + _checksum(entry, content) + content)
                os.replace(temporary, self.folder / entry)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
        except OSError:
            return False
        return True

    def _is_trusted(self) -> bool:
        for folder in (self.root, self.folder):
            status = os.stat(folder)
            if not (stat.S_ISDIR(status.st_mode) and is_private(status)):
                return False
        return True

    def _mark_as_used(self) -> None:
        if not self._marked_as_used:
            self._marked_as_used = True
            with contextlib.suppress(OSError):  # a read-only cache still serves
                os.utime(self.folder)

    def _create(self) -> None:
        os.makedirs(self.root.parent, mode=0o700, exist_ok=True)
        os.makedirs(self.root, mode=0o700, exist_ok=True)
        try:
            os.mkdir(self.folder, mode=0o700)
        except FileExistsError:
            return
        if self._is_trusted():
            remove_old_folders(self.root)


def remove_old_folders(root: Path) -> None:
    """Remove the folders in `root` that are neither among the last used nor used lately.

    A process that still runs from a removed folder has its code in memory; what it compiles next
    it stores again.
    """
    last_use = {}
    for folder in root.iterdir():
        with contextlib.suppress(OSError):
            status = folder.lstat()
            if _FOLDER_NAME.fullmatch(folder.name) and stat.S_ISDIR(status.st_mode):
                last_use[folder] = status.st_mtime
    newest_first = sorted(last_use, key=last_use.__getitem__, reverse=True)
    for folder in newest_first[FOLDERS_KEPT:]:
        if time.time() - last_use[folder] > IDLE_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def open_store(package: Path, versions: tuple[str, ...]) -> Store | None:
    """Return the store for the sources under `package` and the given versions of everything else.

    None if there is no place for one.
    """
    try:
        key = "\n".join((source_digest(package), sys.version, *versions))
        return Store(cache_root(), hashlib.sha256(key.encode()).hexdigest()[:32])
    except (OSError, RuntimeError):
        return None


def _checksum(entry: str, content: bytes) -> bytes:
    return hashlib.sha256(entry.encode() + b"\0" + content).digest()
