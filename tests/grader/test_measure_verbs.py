"""`./course bench` and `report`: files that keep what others measured, plots, and one page over it all."""

from __future__ import annotations

import json

import pytest

from common.core.errors import CourseError
from grader.cli.instructor import bench
from grader.cli.student import report
from grader.records.device_info import GPU, VIRTUAL, DeviceInfo
from tests.grader.course_fixtures import FIRST, SECOND, course
from tests.grader.fake_pipeline import SEED, make_record

__all__ = ["course"]


def result_of(exercise, device, progress, *, large):
    shapes = [
        {
            "case": case.name,
            "sizes": dict(case.sizes),
            "bytes": exercise.bytes_moved(case.size),
            "results": {
                "baseline": {"seconds": 4e-6, "low": 3.9e-6, "high": 4.1e-6, "ratio": 1.0},
                "solution": {"seconds": 2e-6, "ratio": 2.0, "ratio_low": 1.9, "ratio_high": 2.1},
                "torch <index_copy_>": {"seconds": 8e-6, "ratio": 0.5},
            },
        }
        for case in exercise.bench
    ]
    entry = {"shapes": shapes, "copy_bandwidth": 4e12}
    return {"device": "h200", "driver": "580", "date": "2026-01-01", "exercises": {exercise.id: entry}}


@pytest.fixture
def _measured(monkeypatch):
    monkeypatch.setattr(bench, "_benched", result_of)


@pytest.mark.usefixtures("_measured")
def test_bench_writes_results_and_plots_and_keeps_other_exercises(course, capsys):
    assert bench.main(["01", "--device", "virtual", "--output", "out"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("device: virtual GPU (h200)")
    assert "01_first, modelled" in shown
    assert "2 us (2.00 x)" in shown
    bench.main(["02", "--device", "virtual", "--output", "out", "--json"])
    printed = json.loads(capsys.readouterr().out)
    kept = json.loads((course / "out" / "virtual-h200.json").read_text())
    assert printed == kept
    assert list(kept["exercises"]) == [FIRST, SECOND]
    assert kept["exercises"][FIRST]["date"] == "2026-01-01"
    assert (course / "out" / "plots" / "virtual-h200-01.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("course")
def test_bench_names_what_it_left_out_and_the_option_for_it(monkeypatch, capsys):
    def benched(exercise, device, progress, *, large):
        result = result_of(exercise, device, progress, large=large)
        result["exercises"][exercise.id]["left_out"] = [] if large else ["262,144 tokens"]
        return result

    monkeypatch.setattr(bench, "_benched", benched)
    bench.main(["01", "--device", "virtual", "--output", "out"])
    assert "left out: 262,144 tokens (--large models them too" in capsys.readouterr().out
    bench.main(["01", "--device", "virtual", "--output", "out", "--large"])
    assert "left out" not in capsys.readouterr().out


def test_a_device_has_a_file_of_its_own():
    assert DeviceInfo(GPU, "NVIDIA H200").file_stem == "nvidia-h200"
    assert DeviceInfo(GPU, "NVIDIA GeForce RTX 4090 (Laptop)").file_stem == "nvidia-geforce-rtx-4090-laptop"
    assert DeviceInfo(VIRTUAL, "h200").file_stem == "virtual-h200"


@pytest.mark.usefixtures("_measured")
def test_a_results_file_that_is_none_is_not_overwritten(course):
    (course / "out").mkdir()
    (course / "out" / "virtual-h200.json").write_text("[")
    with pytest.raises(CourseError, match="virtual-h200.json cannot be written"):
        bench.main(["01", "--device", "virtual", "--output", "out"])
    assert (course / "out" / "virtual-h200.json").read_text() == "["


@pytest.mark.usefixtures("_measured")
def test_report_is_one_page_from_records_and_benchmarks(course, capsys):
    bench.main(["01", "--device", "virtual", "--output", "out"])
    (course / "out" / "other.json").write_text("[1, 2]")
    make_record("alice <b>").write(course / "grades" / "records" / FIRST / "alice.json")
    make_record("bob", right=False).write(course / "grades" / "records" / FIRST / "bob.json")
    (course / "grades" / "records" / FIRST / "half.json").write_text("{")
    assert report.main(["--benchmarks", "out"]) == 0
    streams = capsys.readouterr()
    assert "report.html: 2 records, 1 device" in streams.out
    assert "half.json is not a grading record" in streams.err
    page = (course / "report.html").read_text()
    for words in (
        "alice &lt;b&gt;",
        "1 full marks, 1 wrong answer",
        "Modelled for h200",
        "torch &lt;index_copy_&gt;",
        "<svg",
    ):
        assert words in page
    assert SEED not in page


def test_nothing_to_report_is_a_sentence(course):
    with pytest.raises(CourseError, match="there is nothing to report"):
        report.main(["--benchmarks", "out"])
