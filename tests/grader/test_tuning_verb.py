"""`./course tune`: a small kernel searched on the virtual GPU, and what is said and written about it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from concurrent.futures.process import BrokenProcessPool
from io import FileIO
from pathlib import Path

import pytest

from common.core.errors import CourseError
from grader.cli.instructor import tune
from grader.devices.device import VirtualDevice
from grader.records.device_info import DeviceInfo
from grader.tuning import ncu, run
from grader.tuning.benches import gpu as bench_gpu
from grader.tuning.benches.virtual import VirtualBench
from grader.tuning.builds import Builder, build
from grader.tuning.find import find
from grader.tuning.report import profile_summary
from grader.tuning.search import Search
from grader.tuning.trial import TrialFailed
from tests.grader.gpu_on_virtual import EngineSession, gpu_on_virtual
from tests.grader.tuned_course import CASE, KERNEL, NAME, setting_of, tuned_course
from tests.waiting import LONG, wait_until

__all__ = ["gpu_on_virtual", "tuned_course"]

VIRTUAL = ("09", "--device", "virtual", "--output", "out", "--study", "study.sqlite")
RESULTS = Path("out/virtual-h200-09/configurations.json")


def test_a_search_is_labelled_modelled_and_continues(tuned_course, capsys):
    assert tune.main([*VIRTUAL, "--trials", "3"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("device: virtual GPU (h200)")
    assert f"{CASE}, gated search: modelled by the virtual GPU, not measured" in shown
    assert "built: 3;" in shown
    assert "study: study.sqlite" in shown
    assert f"configurations: {RESULTS}" in shown
    found = json.loads(RESULTS.read_text())
    assert found["modelled"] is True
    assert (found["exercise"], found["device"]) == (NAME, "h200")
    result = found["cases"][CASE]["gated"]
    assert result["tried"] == 3
    assert result["best"][0]["state"] == "promoted"
    assert set(result["best"][0]["defines"]) == {"THREADS", "EACH"}
    assert result["best"][0]["seconds"] > 0
    assert result["best"][0]["registers"] > 0
    summary = RESULTS.with_name("profile_summary.md").read_text()
    assert "modelled by the virtual GPU, not measured" in summary
    assert "L2 sectors" in summary

    assert tune.main([*VIRTUAL, "--trials", "4", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["cases"][CASE]["gated"]
    assert again["tried"] == 4
    assert tune.main([*VIRTUAL, "--trials", "2", "--free"]) == 0
    assert list(json.loads(RESULTS.read_text())["cases"][CASE]) == ["gated", "free"]


@pytest.mark.usefixtures("tuned_course")
def test_a_bench_models_the_card_of_its_profile():
    def modelled(profile: str) -> float:
        device = VirtualDevice(profile)
        ground = dataclasses.replace(setting_of(), target=device.target)
        bench = VirtualBench(ground.tunable.tuning, ground.case, device)
        return bench.enter(build(ground.order({"THREADS": 32, "EACH": 1}))).seconds()

    assert modelled("l4") > modelled("h200")


def test_a_file_of_ones_own_can_be_tuned_and_stays_out_of_the_course_s_configurations(tuned_course, capsys):
    own = Path("mine.cu")
    own.write_text(f"{find('09').source.read_text()}static int mine;\n")
    assert find("09", own).fingerprint() != find("09").fingerprint()
    assert tune.main(["09", str(own), "--device", "virtual", "--trials", "1"]) == 0
    assert "configurations: work/tuning/virtual-h200-09/" in capsys.readouterr().out
    with pytest.raises(CourseError, match="there is no file none.cu: name your own"):
        find("09", Path("none.cu"))
    own.write_bytes(b"\xff")
    with pytest.raises(CourseError, match=r"mine\.cu cannot be tuned: .*UTF-8"):
        find("09", own)
    find("09").source.unlink()
    with pytest.raises(CourseError, match="there are no reference solutions here: name your own kernel"):
        find("09")


@pytest.mark.usefixtures("tuned_course")
def test_after_ctrl_c_a_study_continues(monkeypatch, capsys):
    real = Search._try
    calls = []

    def interrupted(self, config, built):
        calls.append(config)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(self, config, built)

    monkeypatch.setattr(Search, "_try", interrupted)
    assert tune.main([*VIRTUAL, "--trials", "3"]) == 130
    streams = capsys.readouterr()
    assert "stopped: the same command continues from here" in streams.err
    assert "built: 1;" in streams.out
    monkeypatch.setattr(Search, "_try", real)
    assert tune.main([*VIRTUAL, "--trials", "3"]) == 0
    assert "built: 3;" in capsys.readouterr().out


@pytest.mark.usefixtures("tuned_course")
def test_a_budget_ends_a_search(capsys):
    assert tune.main([*VIRTUAL, "--budget-seconds", "0.001"]) == 0
    assert "study: study.sqlite" in capsys.readouterr().out
    assert not RESULTS.exists()


@pytest.mark.usefixtures("tuned_course")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["01"], "there is nothing to tune in an exercise '01'; exercises with tunables: 09_scaled"),
        (["09", "--case", "huge"], "is not tuned at a case 'huge'; its cases are: 4,096 numbers; many"),
        (["09", "--study", "."], "cannot be used: .*Name another file with --study"),
    ],
)
def test_what_cannot_be_searched_is_a_sentence(arguments, sentence):
    with pytest.raises(CourseError, match=sentence):
        tune.main([*arguments, "--device", "virtual", "--output", "out"])


@pytest.mark.parametrize("odd", [["--trials", "0"], ["--budget-seconds", "-1"], ["--gated", "--free"]])
def test_invalid_options_are_reported(odd, capsys):
    with pytest.raises(SystemExit):
        tune.main(["09", *odd])
    assert "--help" in capsys.readouterr().err


def test_a_result_file_that_is_none_is_not_overwritten(tuned_course):
    RESULTS.parent.mkdir(parents=True)
    RESULTS.write_text("[")
    with pytest.raises(CourseError, match=r"configurations.json cannot be written"):
        tune.main([*VIRTUAL, "--trials", "1"])
    assert RESULTS.read_text() == "["


def test_a_new_kernel_begins_a_new_study(tuned_course):
    before = setting_of().tunable.fingerprint()
    (tuned_course / "solutions" / NAME / "kernel.cu").write_text(KERNEL + "static int faster;\n")
    assert setting_of().tunable.fingerprint() != before


@pytest.mark.usefixtures("tuned_course")
def test_what_the_compiler_refuses_comes_back_in_words():
    order = setting_of().order({"THREADS": 96, "EACH": 1})
    with Builder(modelled=True) as builder:
        built = builder.start(order).result()
    assert built.library is None
    assert "static assertion" in built.problem


def test_builds_in_progress_are_dropped_when_the_search_ends(tuned_course):
    endless = tuned_course / "endless.h"
    os.mkfifo(endless)
    (tuned_course / "solutions" / NAME / "kernel.cu").write_text(f'#include "{endless}"\n')
    with Builder(modelled=True) as builder:
        given_up = builder.start(setting_of().order({"THREADS": 32, "EACH": 1}))
        compiler = wait_for_a_reader(endless)
    assert isinstance(given_up.exception(timeout=LONG), BrokenProcessPool)
    with compiler:
        assert wait_until(lambda: not is_read(compiler))


def wait_for_a_reader(fifo: Path) -> FileIO:
    """Open for writing, so that who reads waits for more."""
    opened: list[int] = []

    def is_open() -> bool:
        with contextlib.suppress(OSError):  # nobody reads yet
            opened.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened)

    assert wait_until(is_open), "nothing was compiled"
    return FileIO(opened[0], "w")


def is_read(fifo: FileIO) -> bool:
    try:
        return fifo.write(b"//") is not None
    except BrokenPipeError:
        return False


@pytest.mark.usefixtures("tuned_course", "gpu_on_virtual")
def test_the_gpu_s_bench_times_in_turns_and_refuses_wrong_answers(tuned_course, monkeypatch):
    monkeypatch.setattr(bench_gpu, "GpuSession", EngineSession)
    ground = setting_of()
    bench = bench_gpu.GpuBench(
        ground.tunable.tuning, ground.case, lambda library: {"path": len(str(library))}
    )
    one = bench.enter(build(ground.order({"THREADS": 32, "EACH": 1})))
    two = bench.enter(build(ground.order({"THREADS": 128, "EACH": 2})))
    assert all(0 < side.seconds() < 1e-3 for side in (one, two, one))
    assert one.counters()
    for side in (one, two):
        side.close()
    source = tuned_course / "solutions" / NAME / "kernel.cu"
    source.write_text(KERNEL.replace("2 * mine", "3 * mine"))
    with pytest.raises(TrialFailed, match="its answer is wrong: "):
        bench.enter(build(setting_of().order({"THREADS": 32, "EACH": 1})))
    bench.close()


NCU = """==PROF== Connected to process 1
"ID","Kernel Name","dram__bytes.sum","lts__t_sectors_srcunit_tex_lookup_hit.sum",\
"lts__t_sectors_srcunit_tex_lookup_miss.sum","other"
"","","byte","sector","sector",""
"0","flash","2,000,000","7,000","1,000","n/a"
"""


def test_ncu_s_table_is_read_and_what_it_lacks_is_left_out():
    assert ncu.parse(NCU) == {"DRAM traffic, MB": 2.0, "L2 hit rate, %": 87.5}
    assert ncu.parse("==ERROR== ERR_NVGPUCTRPERM") == {}


@pytest.mark.usefixtures("tuned_course")
def test_without_ncu_nothing_is_counted_and_the_summary_says_so(monkeypatch):
    monkeypatch.setattr(ncu.shutil, "which", lambda name: None)
    assert ncu.profiled("09", setting_of().case, Path("library.so")) == {}
    entry = {"defines": {"EACH": 1}, "seconds": 1e-6, "registers": 9, "occupancy": 0.5, "counters": {}}
    merged = {"exercise": NAME, "device": "NVIDIA H200", "modelled": False}
    text = profile_summary({**merged, "cases": {CASE: {"free": {"promoted": [entry]}}}})
    assert "Times are measured" in text
    assert "ncu is not installed" in text


def test_the_document_s_gates_make_a_search_of_their_own(tuned_course):
    tunable = setting_of().tunable
    asked = run.Request(tunable, DeviceInfo("virtual", "h200"), (), False, True, 1, 1.0, Path("s"))
    assert asked.search == "gated, document's gates"
    assert (asked.limits.occupancy, asked.limits.registers) == (0.5, 96)
