"""The order of the tests, and which of them must run in one process: what is shared is made once.

By item: a worker takes the next one that is left. Tests of a file that makes something for all of them, a
fixture or what a cached function returns, stay together.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
_SHARED = re.compile(r"scope=|@(functools\.)?(lru_)?cache\b")
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


def together(test: str) -> str:
    """What runs in one process with this test, by its id: its whole file, or it alone."""
    path = test.partition("::")[0]
    return path if _shares(TESTS.parent / path) else test


@cache
def _shares(path: Path) -> bool:
    conftest = path.with_name("conftest.py")
    beside = [conftest] if conftest.exists() and conftest.parent != TESTS else []
    return any(_SHARED.search(file.read_text()) for file in (path, *beside))


def make_scheduler(config: pytest.Config, log: Any) -> Any:
    """xdist's scheduler of groups, with these; those that it takes from markers do nothing in pytest 9."""
    if config.getvalue("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByItem(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return together(nodeid)

    return ByItem(config, log)
