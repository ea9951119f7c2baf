"""CPUs and GPUs of a node, each for one grading at a time: locks that end with the holder's process."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from common.core.errors import CourseError

_TICK_SECONDS = 0.2


@contextmanager
def leased(kind: str, numbers: Sequence[int], *, wait: bool) -> Iterator[int | None]:
    """The first of these devices that nobody holds. Where all are held: wait, or None."""
    folder = _folder()
    while True:
        for number in numbers:
            handle = os.open(folder / f"{kind}-{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                continue
            try:
                yield number
            finally:
                os.close(handle)
            return
        if not wait:
            yield None
            return
        time.sleep(_TICK_SECONDS)


def _folder() -> Path:
    """A folder on this machine that is ours alone. Its name is known: somebody else may have made it."""
    path = Path(tempfile.gettempdir()) / f"serving-kernels-leases-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    facts = path.lstat()
    if path.is_symlink() or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
        raise CourseError(f"{path} belongs to somebody else, or others may write there: remove it")
    return path
