"""A private folder for foreign code: gone when it is closed, or swept by the next process after a kill."""

from __future__ import annotations

import fcntl
import functools
import os
import secrets
import tempfile
import time
from pathlib import Path

_PREFIX = "course-worker-"
_NEW_PREFIX = "course-new-"  # until its owner has locked it
_SETTLED_SECONDS = 60.0  # what is still new after these has an owner that was killed before it could lock it


class PrivateFolder:
    """A new folder under the system's temporary one, locked for as long as its owner lives.

    It gets its name when it is locked, so that a folder of that name without a lock has no owner any more.
    """

    def __init__(self) -> None:
        sweep_once()
        new = Path(tempfile.mkdtemp(prefix=_NEW_PREFIX))
        self._lock = os.open(new, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.path = new.rename(new.with_name(_PREFIX + new.name.removeprefix(_NEW_PREFIX)))

    def close(self) -> None:
        remove_tree(self.path)
        os.close(self._lock)


@functools.cache
def sweep_once() -> None:
    """Remove the folders of processes that were killed before they could."""
    sweep()


def sweep() -> None:
    folder = Path(tempfile.gettempdir())
    for path in folder.glob(f"{_PREFIX}*"):
        _remove_without_owner(path, 0)
    for path in folder.glob(f"{_NEW_PREFIX}*"):
        _remove_without_owner(path, _SETTLED_SECONDS)


def _remove_without_owner(path: Path, older_than: float) -> None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # not ours, or gone already
    try:
        about = os.fstat(handle)
        if about.st_uid == os.getuid() and time.time() - about.st_mtime >= older_than:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(path)
    except OSError:
        return  # its owner lives
    finally:
        os.close(handle)


def remove_tree(root: Path) -> None:
    """Remove a folder that foreign code filled, however deep it goes and whatever its modes say.

    Folders are brought up to the top before they are emptied: depth costs neither recursion nor long paths.
    """
    brought_up = 0
    unguessed = secrets.token_hex(8)
    waiting = [root]
    while waiting:
        folder = waiting[-1]
        try:
            os.chmod(folder, 0o700)
            inner = []
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        inner.append(entry.path)
                    else:
                        os.unlink(entry.path)
            if not inner:
                os.rmdir(folder)
                waiting.pop()
            elif folder == root:
                waiting += [Path(path) for path in inner]
            else:
                for path in inner:
                    brought_up += 1
                    os.chmod(path, 0o700)  # a folder that cannot be written cannot be moved either
                    os.rename(path, root / f"{unguessed}-{brought_up}")
        except FileNotFoundError:
            waiting.pop()
