"""A temporary folder for one grading. The next run removes those of gradings that were killed."""

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
