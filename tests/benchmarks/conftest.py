"""Charts in tests are small: nobody looks at them."""

from __future__ import annotations

import pytest

from benchmarks import charts


@pytest.fixture(autouse=True)
def coarse_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "DOTS_PER_INCH", 30)
