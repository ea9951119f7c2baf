"""An exercise for sm_90a is built, run, profiled, benched and graded for that architecture. Devices that do
not run it are refused with a sentence, and other exercises are built as before."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from common.build.architecture import capability_of, is_architecture, runs
from common.build.program import Target
from common.core.errors import CourseError
from grader.actions import profile as profiling
from grader.bench.on_virtual import bench_virtual
from grader.cli.student.profile import _headline
from grader.devices.device import VirtualDevice, target_for
from grader.lab import lab as labs
from grader.mutants.same_code import code_of
from grader.pipeline.grading import grade
from grader.records.device_info import VIRTUAL, DeviceInfo
from grader.records.record import Record
from grader.spec import Speedup, registry

FOLDER = Path(__file__).with_name("hopper")
SOLUTION = FOLDER / "solution" / "kernel.cu"
EXERCISE = dataclasses.replace(registry.load(FOLDER / "doubled_tiles"), solution=SOLUTION)
SENTENCE = (
    "this exercise is for sm_90a: sm_90a runs on devices of compute capability 9.0 alone; this one has 8.0. "
    "Use the virtual GPU (--device virtual) with a profile that runs it (profile in course.toml): h100, h200"
)


@pytest.fixture(scope="module")
def record() -> Record:
    return grade(EXERCISE, SOLUTION, submission="one", device="virtual")


def test_a_kernel_for_sm_90a_is_right_and_clean(record):
    assert all(case.passed for case in record.cases)
    assert record.findings == []
    assert {part.name: part.points for part in record.parts} | {"speed": 0} == {
        "correct": 60,
        "clean": 10,
        "mechanism": 10,
        "speed": 0,
    }


def test_copies_and_barriers_of_the_architecture_have_a_modelled_time(record):
    (speed,) = [part for part in record.parts if part.name == "speed"]
    assert "not modelled" not in speed.message
    assert all(case.seconds > 0 for case in record.speed.cases)


@pytest.fixture
def unmodelled(tmp_path: Path) -> Path:
    """The solution, with an arrival of copies that there are none of beside the one that counts."""
    fence = 'asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");'
    arrival = 'asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");'
    path = tmp_path / "kernel.cu"
    path.write_text(SOLUTION.read_text().replace(fence, f"{fence} {arrival}"))
    return path


def test_instructions_without_a_modelled_time_earn_no_speed_points_and_are_named(unmodelled):
    record = grade(EXERCISE, unmodelled, submission="one", device="virtual")
    (speed,) = [part for part in record.parts if part.name == "speed"]
    assert speed.points == 0
    assert re.search(r"kernel\.cu:\d+ uses cp\.async\.mbarrier, whose time is not modelled", speed.message)


def test_where_only_a_gpu_can_time_a_target_the_reason_says_so():
    target = Speedup((EXERCISE.bench[0].name,), passing=0.5, full=0.6, against="torch")
    yardsticks = {"torch": EXERCISE.reference}
    timed = dataclasses.replace(EXERCISE, targets=(target,), yardsticks=yardsticks)
    record = grade(timed, SOLUTION, submission="one", device="virtual", stages=("speed",))
    (speed,) = [part for part in record.parts if part.name == "speed"]
    assert speed.message.startswith("on a GPU only: speedup over torch")
    assert speed.message.endswith("So there are no points for speed here")


def test_the_library_holds_code_for_the_architecture(tmp_path):
    built = VirtualDevice().compile(SOLUTION, tmp_path, arch=EXERCISE.arch)
    assert b".target sm_90a" in built.virtual_library.read_bytes()
    assert [kernel.arch for kernel in built.resources] == ["sm_90a"]


def test_without_the_architecture_the_same_kernel_s_error_says_what_it_needs(tmp_path):
    plain = dataclasses.replace(EXERCISE, arch=None)
    record = grade(plain, SOLUTION, submission="one", device="virtual", stages=())
    (error,) = [one for one in record.diagnostics if one["severity"] == "error"]
    assert "setmaxnreg" in error["message"]
    assert "sm_90a" in error["hint"]


def test_a_profile_runs_the_kernel_and_says_what_its_times_leave_out(unmodelled):
    found = profiling.profile(EXERCISE, unmodelled, EXERCISE.bench[0])
    assert found.wrong == ""
    (launch,) = found.report.launches
    assert launch.without_time.endswith("uses cp.async.mbarrier")
    doubt = f"{launch.without_time}, whose time is not modelled: the modelled times leave it out"
    assert doubt in _headline(EXERCISE, found).replace("\n", " ")
    for kernel in (EXERCISE.baseline, SOLUTION):
        modelled = profiling.profile(EXERCISE, kernel, EXERCISE.bench[0])
        assert "not modelled" not in _headline(EXERCISE, modelled)


def test_the_bench_runs_baseline_and_solution():
    shapes = bench_virtual(EXERCISE, lambda text: None)["shapes"]
    assert len(shapes) == len(EXERCISE.bench)


def test_a_device_that_does_not_run_it_is_refused_with_a_sentence(tmp_path):
    older = DeviceInfo(VIRTUAL, "a100")
    with pytest.raises(CourseError) as refused:
        grade(EXERCISE, SOLUTION, submission="one", device=older)
    assert str(refused.value) == SENTENCE
    with pytest.raises(CourseError) as refused:
        profiling.profile(EXERCISE, SOLUTION, EXERCISE.bench[0], card="a100")
    assert str(refused.value) == SENTENCE


@pytest.mark.parametrize("device", [Target.virtual("90"), Target.gpu("90")], ids=["virtual", "gpu"])
def test_only_the_architecture_of_the_flags_changes(device):
    plain, chosen = device.compile_flags(), target_for(device, "sm_90a").compile_flags()
    assert target_for(device, None) == device
    assert [new for new, old in zip(chosen, plain, strict=True) if new != old] == [
        plain[-1].replace("compute_90", "compute_90a").replace("sm_90", "sm_90a")
    ]


def test_exercises_that_ask_for_nothing_are_built_for_the_device():
    assert {exercise.arch for exercise in registry.all_exercises() if exercise.number <= "05"} == {None}


def test_mutants_are_compared_as_code_for_the_architecture():
    assert code_of(SOLUTION, Target.virtual("90")) is None
    assert code_of(SOLUTION, target_for(Target.virtual("90"), EXERCISE.arch)) is not None


def test_a_lab_is_built_as_its_exercise():
    assert {lab.arch for lab in labs.all_labs() if lab.exercise <= "05_zzz"} == {None}


@pytest.mark.parametrize(
    ("arch", "device", "can"),
    [
        ("sm_80", "90", True),
        ("sm_90", "90", True),
        ("sm_90", "100", True),
        ("sm_90a", "90", True),
        ("sm_90a", "100", False),
        ("sm_90a", "80", False),
        ("sm_90", "89", False),
    ],
)
def test_which_devices_run_an_architecture(arch, device, can):
    assert runs(arch, device) == can
    if can:
        assert capability_of(arch, device) == arch.removeprefix("sm_")
    else:
        with pytest.raises(CourseError):
            capability_of(arch, device)


def test_names_of_architectures():
    assert is_architecture("sm_90a")
    assert not any(map(is_architecture, ("90a", "sm_9", "sm_90b", "compute_90", 90, None)))
