"""Tables and charts of attention, from results that nobody measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.flash import plots, tables
from benchmarks.flash.plots.looks import whiskers
from benchmarks.flash.plots.roofs import roofs
from benchmarks.flash.ways import BACKENDS, V1, kernel_ways
from benchmarks.output import charts
from tests.benchmarks import planted_flash

LATENCY_CHARTS = {"times", "rates_64", "rates_128", "roofline", "ladder"}


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "latency_h200.json").write_text(json.dumps(planted_flash.latency()))
    (tmp_path / "decode_h200.json").write_text(json.dumps(planted_flash.decode()))
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    return tmp_path


def test_roofs_are_at_the_clock_of_busy_multiprocessors() -> None:
    found = roofs({**planted_flash.ABOUT, "clock_mhz_busy": 1830})
    assert found.dense == pytest.approx(989.4e12, rel=1e-3)  # NVIDIA's own figure is at this clock
    assert found.mma < found.dense
    assert found.allowed(1) == 4.26e12
    assert found.allowed(1e6) == found.dense


@pytest.mark.usefixtures("planted")
def test_the_ladder_has_a_row_for_every_way() -> None:
    header, _, *rows = tables.flash_ladder().splitlines()
    assert "as fast as V2" in header
    assert [row.split(" | ")[0].strip("| ") for row in rows] == [
        *(way.name for way in kernel_ways()),
        *BACKENDS,
    ]
    assert "| 1.00× (0.98 to 1.03) |" in rows[1]


@pytest.mark.usefixtures("planted")
def test_torchs_table_goes_from_few_heads_to_many() -> None:
    rows = tables.flash_torch("causal").splitlines()[2:]
    assert [row.split(" | ")[0].strip("| ") for row in rows] == ["16", "128", "512"]
    assert all(row.count("×") == 3 for row in rows)


@pytest.mark.usefixtures("planted")
def test_what_was_too_slow_is_a_dash() -> None:
    header, _, first, *_ = tables.flash_shapes().splitlines()
    assert header.split(" | ")[1:] == ["128", "256", "512", "1,024", "2,048", "4,096 |"]
    assert first.startswith(f"| {V1} |")
    assert first.endswith(f"| {tables.NOTHING} |")
    assert len(tables.flash_shapes("128").splitlines()) == 2 + 5  # V2, V3 and torch's


@pytest.mark.usefixtures("planted")
def test_decoding_has_a_row_for_every_context() -> None:
    rows = tables.flash_decode("8").splitlines()[2:]
    assert [row.split(" | ")[0].strip("| ") for row in rows][::6] == ["1,024", "65,536"]
    assert all(row.count("%") == 4 for row in rows)


def test_every_chart_can_be_drawn(planted: Path) -> None:
    drawn = {path.name for path in charts.draw_all(plots.CHARTS, planted, planted / "plots")}
    assert drawn == {f"latency_h200_{chart}.png" for chart in LATENCY_CHARTS} | {"decode_h200.png"}


def test_a_run_that_was_cut_can_be_drawn(tmp_path: Path) -> None:
    result = planted_flash.latency()
    cut = {**result, "shapes": result["shapes"][:3]}
    (tmp_path / "latency_h200.json").write_text(json.dumps(cut))
    drawn = list(charts.draw_all(plots.CHARTS, tmp_path, tmp_path / "plots"))
    assert len(drawn) == len(LATENCY_CHARTS)


def test_what_was_measured_can_be_drawn(tmp_path: Path) -> None:
    measured = list(tables.FOLDER.glob("latency_*.json")) + list(tables.FOLDER.glob("decode_*.json"))
    assert len(list(charts.draw_all(plots.CHARTS, tables.FOLDER, tmp_path))) >= len(measured)


def test_an_interval_that_rounding_has_moved_past_its_value_reaches_nowhere() -> None:
    assert whiskers([2.0, 5.0], [1.5, 5.01], [2.25, 5.0]) == [[0.5, 0.0], [0.25, 0.0]]
