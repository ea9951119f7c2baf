"""What a build that failed says: the user's own lines first, and a full disk by its name."""

from __future__ import annotations

import shutil

from common.build.cache import Cache, full_error
from common.build.diagnostics import Diagnostic, errors_of
from common.core.errors import CourseError

_SHOWN_ERRORS = 20
_OUT_OF_SPACE = "No space left on device"
_NEARLY_FULL_BYTES = 64 << 20


class BuildError(CourseError):
    """The compiler or the linker refused. `diagnostics` point at the user's lines; `log` has every word."""

    def __init__(self, message: str, diagnostics: list[Diagnostic], log: str) -> None:
        self.diagnostics = diagnostics
        self.log = log
        shown = errors_of(diagnostics) or diagnostics
        details = "\n".join(map(str, shown[:_SHOWN_ERRORS])) if shown else _tail(log)
        super().__init__(f"{message}\n{details}" if details else message)


def raise_if_full(log: str, cache: Cache) -> None:
    """A full disk may swallow the message that it is full: silence on a nearly full one is taken for it."""
    if _OUT_OF_SPACE in log or (not log and shutil.disk_usage(cache.root).free < _NEARLY_FULL_BYTES):
        raise full_error(cache.root)


def _tail(log: str, lines: int = 15) -> str:
    return "\n".join(log.strip().splitlines()[-lines:])
