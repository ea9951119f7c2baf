"""The build cache: content-addressed folders that appear whole or not at all.

    entries/ab/abcd…/    one result: its files, and entry.json with their sizes and the maker's notes
    manifests/ab/abcd…   small JSON files that lead from what is known before a build to an entry
    locks/abcd…          one lock a build; the kernel drops it when its holder dies, however it dies
    work/XXXX/           where a build happens; held by a lock too, so what a killed build left is swept

Results are looked up in every cache folder that can be read and stored in the first that can be written.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.files import write_whole
from common.core.paths import REPOSITORY

# A first build of the engine leaves some tens of MB and needs as much again while it works.
NEEDED_BYTES = 256 << 20
_UNUSED_SECONDS = 30 * 86400
_FULL = (errno.ENOSPC, errno.EDQUOT)


class CacheError(CourseError):
    """The build cache cannot be used."""


@dataclass(frozen=True)
class Entry:
    """One stored result: a folder that is never changed again, and what its maker noted about it."""

    path: Path
    notes: dict[str, Any]


class Cache:
    """A list of cache folders, best first."""

    def __init__(self, roots: list[Path]) -> None:
        self._roots = roots
        self._readable = [root for root in roots if root.is_dir() and not _planted(root)]
        self._writable: Path | None = None

    @property
    def root(self) -> Path:
        """The folder new results go to, chosen at the first need and then kept."""
        if self._writable is None:
            self._writable = _first_usable(self._roots)
            if self._writable not in self._readable:
                self._readable.append(self._writable)
        return self._writable

    def find(self, key: str) -> Entry | None:
        """The entry stored under `key`, if it is there and whole."""
        for root in self._readable:
            path = _place(root, "entries", key)
            notes = _read_entry(path)
            if notes is not None:
                _touch(path)
                return Entry(path, notes)
        return None

    def store(self, key: str, built: Path, notes: dict[str, Any]) -> Entry:
        """Move the folder `built` into the cache under `key`. The first of two equal results wins."""
        sizes = {item.name: item.stat().st_size for item in built.iterdir() if item.is_file()}
        (built / "entry.json").write_text(json.dumps({"sizes": sizes, "notes": notes}))
        path = _place(self.root, "entries", key)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.rename(built, path)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            if (present := _read_entry(path)) is not None:
                return Entry(path, present)
            os.rename(path, built.with_name(built.name + ".damaged"))
            os.rename(built, path)
        return Entry(path, notes)

    def read_manifest(self, key: str) -> list[Any]:
        """The list stored under `key` in any readable folder; empty when there is none."""
        found: list[Any] = []
        for root in self._readable:
            path = _place(root, "manifests", key)
            try:
                listed = json.loads(path.read_bytes())
            except (OSError, ValueError):
                continue
            _touch(path)
            found += listed if isinstance(listed, list) else []
        return found

    def write_manifest(self, key: str, listed: list[Any]) -> None:
        write_whole(_place(self.root, "manifests", key), json.dumps(listed), private=True)

    @contextmanager
    def lock(self, key: str, on_wait: Callable[[float], None] = lambda seconds: None) -> Iterator[None]:
        """Hold the lock `key` against every other process and thread; `on_wait` hears how long it takes."""
        with translated_errors(self):
            path = self.root / "locks" / key
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = _acquire(path, on_wait)
        try:
            yield
        finally:
            os.close(handle)

    @contextmanager
    def workspace(self) -> Iterator[Path]:
        """A private folder inside the cache, gone afterwards; a killed process's is swept by the next."""
        with translated_errors(self):
            work = self.root / "work"
            work.mkdir(parents=True, exist_ok=True)
            # Creating and sweeping exclude each other, or a folder could be swept before its lock is taken.
            with self.lock("work"):
                _sweep_dead(work)
                _drop_unused(self.root)
                path = Path(tempfile.mkdtemp(dir=work))
                alive = _acquire(path / ".alive")
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
            os.close(alive)


def default_cache() -> Cache:
    """`COURSE_CACHE`, the repository's .cache, the user's cache folder, a private temporary folder."""
    chosen = os.environ.get("COURSE_CACHE")
    user = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    roots = [
        *([Path(chosen).absolute()] if chosen else []),
        REPOSITORY / ".cache",
        Path(user) / "serving-kernels",
        Path(tempfile.gettempdir()) / f"serving-kernels-{os.getuid()}",
    ]
    return Cache(roots)


@contextmanager
def translated_errors(cache: Cache) -> Iterator[None]:
    """Turn what the file system refuses into a sentence that names the folder and the way out."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise full_error(cache.root) from error
        raise CacheError(
            f"the build cache {cache.root} cannot be used: {error.strerror} ({error.filename}). "
            "Set COURSE_CACHE to a folder you can write."
        ) from error


def full_error(root: Path) -> CacheError:
    return CacheError(
        f"no space left on device while building in {root}. Free some space (removing that folder is "
        "safe), or set COURSE_CACHE to a folder on another disk."
    )


def _first_usable(roots: list[Path]) -> Path:
    refused: list[str] = []
    for root in roots:
        reason = _why_unusable(root)
        if reason is None:
            if refused:
                print(f"warning: build cache in {root}, because {'; '.join(refused)}", file=sys.stderr)
            return root
        refused.append(f"{root} is not usable ({reason})")
    raise CacheError(
        f"there is no folder to build in: {'; '.join(refused)}. Set COURSE_CACHE to a folder you can write "
        f"with {NEEDED_BYTES >> 20} MB free."
    )


def _why_unusable(root: Path) -> str | None:
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        if _planted(root):
            return "it belongs to another user"
        with tempfile.TemporaryFile(dir=root):
            pass
        free = shutil.disk_usage(root).free
    except OSError as error:
        return error.strerror or str(error)
    return None if free >= NEEDED_BYTES else f"only {free >> 20} MB free"


def _planted(root: Path) -> bool:
    """In the temporary folder anyone may have made a folder of our name, to feed us their binaries."""
    if root.parent != Path(tempfile.gettempdir()):
        return False
    try:
        details = root.lstat()
    except FileNotFoundError:
        return False
    return not stat.S_ISDIR(details.st_mode) or details.st_uid != os.getuid()


def _place(root: Path, kind: str, key: str) -> Path:
    return root / kind / key[:2] / key


def _read_entry(path: Path) -> dict[str, Any] | None:
    """The notes of a whole entry. A file cut short by a crash of the machine makes it not whole."""
    try:
        record = json.loads((path / "entry.json").read_bytes())
        for name, size in record["sizes"].items():
            if (path / name).stat().st_size != size:
                return None
        notes = record["notes"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return notes if isinstance(notes, dict) else None


def _touch(path: Path) -> None:
    """Note that an entry was used, for `_drop_unused`; in a read-only cache nobody needs to know."""
    try:
        os.utime(path)
    except OSError:
        pass


def _acquire(path: Path, on_wait: Callable[[float], None] = lambda seconds: None) -> int:
    started = time.monotonic()
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Old lock files are removed now and then: a lock on one that is gone locks nothing.
            if os.fstat(handle).st_nlink > 0:
                return handle
        except BlockingIOError:
            on_wait(time.monotonic() - started)
            time.sleep(0.02)
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _remove_unheld(lock: Path) -> bool:
    """Remove a lock file that nobody holds (a process that died holds none), and say whether it is gone."""
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.unlink()  # while holding it: whoever waits for this file sees that it has no name any more
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(handle)


def _sweep_dead(work: Path) -> None:
    for folder in work.iterdir():
        if _remove_unheld(folder / ".alive"):
            shutil.rmtree(folder, ignore_errors=True)


def _drop_unused(root: Path) -> None:
    """Once a day, remove what nobody has used for a month."""
    marker = root / "swept"
    now = time.time()
    if marker.exists() and now - marker.stat().st_mtime < 86400:
        return
    marker.touch()
    for pattern in ("entries/*/*", "manifests/*/*", "locks/*"):
        for path in root.glob(pattern):
            try:
                if now - path.stat().st_mtime < _UNUSED_SECONDS:
                    continue
                if path.is_dir():
                    shutil.rmtree(path)
                elif path.parent.name == "locks":
                    _remove_unheld(path)
                else:
                    path.unlink()
            except OSError:
                continue  # in use elsewhere, or gone already
