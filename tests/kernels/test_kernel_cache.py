"""The store of compiled kernels: what it keeps, what it refuses, what it survives."""

from __future__ import annotations

import os
import stat
import sys
import time
from pathlib import Path

import pytest

from suffice.kernels.compiler import cache
from suffice.kernels.compiler.cache import Store, cache_root, open_store, source_digest

NAME = "0123456789abcdef" * 2
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "suffice" / "kernels", NAME)


def test_what_is_written_is_read(store: Store) -> None:
    assert store.read("one") is None
    assert store.write("one", b"content")
    assert store.write("two", b"")
    assert store.read("one") == b"content"
    assert store.read("two") == b""
    assert store.write("one", b"newer")
    assert store.read("one") == b"newer"
    assert sorted(os.listdir(store.folder)) == ["one", "two"]


# Location ----------------------------------------------------------------------------------------


def test_root_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SUFFICE_CACHE_DIR", str(tmp_path))
    assert cache_root() == tmp_path / "kernels"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SUFFICE_CACHE_DIR", "here")
    assert cache_root() == tmp_path / "here" / "kernels"
    monkeypatch.setenv("SUFFICE_CACHE_DIR", "~/there")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert cache_root() == tmp_path / "there" / "kernels"


@pytest.mark.parametrize(
    ("platform", "variable", "usual"),
    [
        ("linux", "XDG_CACHE_HOME", ".cache"),
        ("darwin", None, "Library/Caches"),
        ("win32", "LOCALAPPDATA", "AppData/Local"),
    ],
)
def test_root_is_in_the_users_cache_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform: str, variable: str, usual: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    for name in ("SUFFICE_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert cache_root() == tmp_path / usual / "suffice" / "kernels"
    if variable is not None:
        monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
        assert cache_root() == tmp_path / "elsewhere" / "suffice" / "kernels"
        monkeypatch.setenv(variable, "relative")
        assert cache_root() == tmp_path / usual / "suffice" / "kernels"


def test_user_without_a_home_has_no_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("SUFFICE_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    (tmp_path / "a.py").write_text("a = 1")
    assert open_store(tmp_path, ()) is None


def test_folder_is_named_after_all_sources_and_versions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SUFFICE_CACHE_DIR", str(tmp_path / "cache"))
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    names = []

    def note(*versions: str) -> None:
        opened = open_store(package, versions)
        assert opened is not None
        names.append(opened.folder.name)

    assert open_store(package, ()) is None  # no source, no key
    (package / "a.py").write_text("a = 1")
    note("1")
    note("2")
    (package / "inner" / "b.py").write_text("b = 1")
    note("2")
    (package / "inner" / "b.py").write_text("b = 2")
    note("2")
    (package / "inner" / "b.py").rename(package / "b.py")
    note("2")
    assert len(set(names)) == len(names)
    (package / "notes.txt").write_text("not a source")
    note("2")
    assert names[-1] == names[-2]
    assert len(source_digest(package)) == 64


# Damage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["empty", "truncated", "garbage", "flipped bit", "longer"])
def test_damaged_entry_is_not_there_until_written_again(store: Store, damage: str) -> None:
    store.write("one", bytes(range(256)) * 4)
    file = store.folder / "one"
    whole = file.read_bytes()
    damaged = {
        "empty": b"",
        "truncated": whole[:-1],
        "garbage": b"\x80\x05" * 99,
        "flipped bit": whole[:-300] + bytes([whole[-300] ^ 4]) + whole[-299:],
        "longer": whole * 2,
    }
    file.write_bytes(damaged[damage])
    assert store.read("one") is None
    assert store.write("one", b"whole")
    assert store.read("one") == b"whole"


def test_entry_under_another_name_is_not_believed(store: Store) -> None:
    store.write("one", b"content")
    (store.folder / "one").rename(store.folder / "two")
    assert store.read("two") is None


@pytest.mark.parametrize("place", ["root", "folder", "entry", "parent"])
def test_file_or_folder_in_the_way(store: Store, place: str) -> None:
    if place == "entry":
        (store.folder / "one").mkdir(parents=True, mode=0o700)
    else:
        blocked = {"parent": store.root.parent, "root": store.root, "folder": store.folder}[place]
        blocked.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        blocked.write_text("in the way")
    assert store.read("one") is None
    assert not store.write("one", b"content")
    assert store.read("one") is None
    if place == "entry":
        assert os.listdir(store.folder) == ["one"]  # and no temporary file is left


@posix
def test_pipe_in_place_of_an_entry_does_not_block(store: Store) -> None:
    store.write("other", b"")
    os.mkfifo(store.folder / "one", 0o600)
    assert store.read("one") is None
    assert store.write("one", b"content")
    assert store.read("one") == b"content"


def test_full_disk_leaves_nothing_behind(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write("one", b"old")

    def no_space(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", no_space)
        assert not store.write("one", b"new")
    assert store.read("one") == b"old"
    assert os.listdir(store.folder) == ["one"]


# Trust -------------------------------------------------------------------------------------------


@posix
def test_folders_and_entries_are_private(store: Store) -> None:
    old = os.umask(0)
    try:
        store.write("one", b"content")
    finally:
        os.umask(old)
    for folder in (store.root.parent, store.root, store.folder):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((store.folder / "one").stat().st_mode) == 0o600


@posix
@pytest.mark.parametrize("place", ["root", "folder", "entry"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_what_others_may_write_is_refused(store: Store, place: str, mode: int) -> None:
    store.write("one", b"content")
    target = {"root": store.root, "folder": store.folder, "entry": store.folder / "one"}[place]
    target.chmod(stat.S_IMODE(target.stat().st_mode) | mode)
    assert store.read("one") is None
    written = store.write("one", b"mine")
    assert written == (place == "entry")  # a bad file is replaced, a bad folder left alone
    assert store.read("one") == (b"mine" if written else None)


@posix
def test_what_others_own_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write("one", b"content")
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert store.read("one") is None
    assert not store.write("one", b"mine")
    monkeypatch.undo()
    assert store.read("one") == b"content"


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs chown")
@pytest.mark.parametrize("place", ["root", "folder", "entry"])
def test_folder_or_file_given_to_another_user_is_refused(store: Store, place: str) -> None:
    store.write("one", b"content")
    target = {"root": store.root, "folder": store.folder, "entry": store.folder / "one"}[place]
    os.chown(target, 12345, -1)
    assert store.read("one") is None


# Old folders -------------------------------------------------------------------------------------


def age(folder: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(folder, (then, then))


def test_folders_unused_for_long_are_removed(store: Store) -> None:
    others = [Store(store.root, f"{i:032x}") for i in range(cache.FOLDERS_KEPT + 3)]
    for other in others:
        other.write("one", b"content")
    for i, other in enumerate(others):
        age(other.folder, 10 * cache.IDLE_SECONDS + i)
    (store.root / "notes").mkdir()
    age(store.root / "notes", 1e9)
    others[-1].read("one")  # used again
    store.write("one", b"content")
    kept = {folder.name for folder in store.root.iterdir()}
    expected = {one.folder.name for one in [*others[: cache.FOLDERS_KEPT - 2], others[-1], store]}
    assert kept == expected | {"notes"}


def test_folders_used_lately_stay(store: Store) -> None:
    for i in range(cache.FOLDERS_KEPT + 3):
        Store(store.root, f"{i:032x}").write("one", b"content")
    store.write("one", b"content")
    assert len(list(store.root.iterdir())) == cache.FOLDERS_KEPT + 4


def test_store_outlives_the_removal_of_its_folder(store: Store) -> None:
    store.write("one", b"content")
    (store.folder / "one").unlink()
    store.folder.rmdir()
    assert store.read("one") is None
    assert store.write("one", b"content")
    assert store.read("one") == b"content"
