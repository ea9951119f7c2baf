"""The table and the chart of exercise 06's times, from results that nobody measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.flash.ways import CUDNN, FLASH
from benchmarks.hopper import plots, results, tables
from benchmarks.hopper.latency import kernel_ways, shapes
from benchmarks.output import charts
from tests.benchmarks.planted_flash import ABOUT

# Microseconds at every shape.
TIMES = {results.IN_ORDER: 30.0, results.OVERLAPPED: 25.0, results.OURS: 10.0, results.LIKE_05: 20.0}
RIVALS = {CUDNN: 11.0, FLASH: 19.0}


def way(name: str, took: float) -> dict[str, Any]:
    ratio = RIVALS[CUDNN] / took
    ends = {"ratio": ratio, "ratio_low": 0.98 * ratio, "ratio_high": 1.03 * ratio}
    return {"name": name, "kind": "free", "microseconds": took, **ends}


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found: list[dict[str, Any]] = [
        {**shape.plain(), "ways": [way(*pair) for pair in (TIMES | RIVALS).items()], "left_out": {}}
        for shape in shapes()
    ]
    (tmp_path / "latency_h200.json").write_text(json.dumps({**ABOUT, "shapes": found}))
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    return tmp_path


def test_the_ways_are_06_its_steps_and_05() -> None:
    ours, earlier = kernel_ways()
    assert [one.name for one in (*ours, *earlier)] == list(TIMES)


@pytest.mark.usefixtures("planted")
def test_the_table_has_a_row_for_every_shape_and_the_means() -> None:
    _, _, *rows = tables.hopper_latency().splitlines()
    assert [row.split(" | ")[0].strip("| ") for row in rows] == [
        *(shape.name for shape in shapes()),
        "geometric mean",
    ]
    assert "| 1.10× (1.08 to 1.13) | 1.90× |" in rows[0]
    assert rows[-1].endswith("| 1.10× | 1.90× |")


def test_a_kernel_that_was_left_out_is_a_dash(planted: Path) -> None:
    path = planted / "latency_h200.json"
    result = json.loads(path.read_text())
    result["shapes"][0]["ways"] = result["shapes"][0]["ways"][:2]
    path.write_text(json.dumps(result))
    assert "| – | – | – | – | – | – |" in tables.hopper_latency().splitlines()[2]


def test_the_chart_is_drawn(planted: Path) -> None:
    assert [path.name for path in charts.draw_all(plots.CHARTS, planted, planted / "plots")] == [
        "latency_h200.png"
    ]
