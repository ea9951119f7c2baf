"""Programs with a main() of their own on the virtual GPU: which checks are on, and what to build for."""

from __future__ import annotations

from common.core.errors import CourseError

DEFAULT_CHECKS = ("memory", "race", "init", "sync", "async")
CHECKS = (*DEFAULT_CHECKS, "global_race")


def selected_checks(only: str | None, without: list[str]) -> dict[str, bool]:
    """A switch for every check: on for the default five or those named, less those left out."""
    named = DEFAULT_CHECKS if only is None else tuple(name for name in only.split(",") if name != "none")
    if unknown := [name for name in named if name not in CHECKS]:
        raise CourseError(f"there is no check {unknown[0]!r}; the checks are {', '.join(CHECKS)}")
    return {name: name in named and name not in without for name in CHECKS}
