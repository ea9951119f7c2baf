"""Bare roots take long and fetch hundreds of MB: they are made when asked for, by `./course test -m root`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bare_roots import debian

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = "root" in config.getoption("markexpr")
    reason = debian.missing() if asked else "made only when asked for: ./course test -m root"
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.root)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))
