"""A folder for as long as something is graded: when that is killed, the next run sweeps what it left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common.sandbox.folder import PrivateFolder


@contextmanager
def scratch_folder() -> Iterator[Path]:
    folder = PrivateFolder()
    try:
        yield folder.path
    finally:
        folder.close()
