"""The order of the tests, and which of them must run in one process: what is shared is made once.

By item: a worker takes the next one that is left. Tests that share something made for their whole file, a
fixture or what a cached function returns, stay together.
"""

from __future__ import annotations

from functools import _lru_cache_wrapper
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# What takes longest comes first: at the end it would keep a single core busy.
LONG = (
    "browser",
    "exercises/01_kv_store/test_cheats.py",
    "exercises/05_flash_attention",
    "exercises/04_bucketed_kv",
    "nbgrader",
    "notebooks",
    "grader/test_every_kind_of_submission.py",
    "exercises",
    "test_docs.py",
    "virtual_gpu/test_ops.py",
)


def order(items: list[pytest.Item]) -> None:
    places = {path: _place(path) for path in {item.path for item in items}}
    items.sort(key=lambda item: places[item.path])


def _place(path: Path) -> int:
    return next((at for at, name in enumerate(LONG) if path.is_relative_to(TESTS / name)), len(LONG))


def group(item: pytest.Item) -> str | None:
    """The name of the file whose tests run in one process with this one; None if it may run anywhere."""
    assert isinstance(item, pytest.Function)
    shares = any(isinstance(value, _lru_cache_wrapper) for value in vars(item.module).values())
    for definitions in item._fixtureinfo.name2fixturedefs.values():
        # The higher scopes of pytest's own fixtures belong to a process, and cost nothing.
        shares |= any(made.baseid and made.scope != "function" for made in definitions)
    return item.path.relative_to(TESTS).as_posix() if shares else None
