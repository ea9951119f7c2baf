"""`bench` and `tune` with --on: what workers measure is what this machine would have measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from common.core.errors import CourseError
from common.gpu.devices import find_gpus
from grader.bench import elsewhere as bench_elsewhere
from grader.bench.elsewhere import _joined
from grader.classes.class_run import ClassRun
from grader.classes.executor import Graded, ungraded_record
from grader.classes.measuring import Measurement, record_of, results_of
from grader.cli.instructor import bench as bench_verb
from grader.cli.instructor import tune as tune_verb
from grader.course import student
from grader.records.device_info import DeviceInfo
from grader.records.record import Record
from grader.spec import registry
from tests.grader.cluster.dask_here import DaskHere, dask_here
from tests.grader.course_fixtures import FIRST, course
from tests.grader.fake_pipeline import make_record
from tests.grader.tuned_course import CASE, KERNEL, NAME, tuned_course

pytest.importorskip("distributed", reason="needs Dask: pip install -r requirements/cluster.txt")

__all__ = ["course", "tuned_course"]

SHAPES = (CASE, "8,192 numbers")
SPEC = f"""
from grader.spec import Exact, Exercise, Points, Speedup, case

from .tuning import inputs, reference

exercise = Exercise(
    title="Numbers times two",
    entry="scale",
    inputs=inputs,
    reference=reference,
    compare=Exact(),
    cases=(case("4,096 numbers", count=4096),),
    hidden=lambda rng: (),
    bench=(case("{SHAPES[0]}", count=4096), case("{SHAPES[1]}", count=8192)),
    bytes_moved=lambda size: 8 * size.count,
    mechanisms=(),
    targets=(Speedup(cases=("{SHAPES[0]}",), passing=1.15, full=1.4),),
    points=Points(correct=5, clean=0, mechanism=0, speed=5),
    hints=("Think.",),
)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with dask_here(tmp_path_factory.mktemp("cluster") / "dask", workers=2) as started:
        yield started


@pytest.fixture
def exercise(tuned_course):
    """A small kernel with two shapes and two tunables, in a course of its own, which nodes can read."""
    folder = tuned_course / "exercises" / NAME
    (folder / "exercise.py").write_text(SPEC)
    for file in ("baseline.cu", "kernel.cu"):
        (folder / file).write_text(KERNEL)
    return registry.find("09")


def test_a_bench_elsewhere_has_the_results_of_this_machine(exercise, cluster: DaskHere, capsys):
    virtual = ("09", "--device", "virtual", "--json", "--output")
    assert bench_verb.main([*virtual, "here"]) == 0
    here = json.loads(capsys.readouterr().out)
    assert bench_verb.main([*virtual, "there", "--on", str(cluster.file)]) == 0
    there = json.loads(capsys.readouterr().out)
    assert there == here
    assert [shape["case"] for shape in there["exercises"][exercise.id]["shapes"]] == list(SHAPES)
    assert not (student.WORK / "bench" / "virtual-h200").exists(), "the next bench measures again"


class Shapes:
    """An executor that measures nothing: every shape takes as long as its name has letters. It is interrupted
    after so many."""

    def __init__(self, interrupted_after: int = 99) -> None:
        self.asked: list[str] = []
        self._left = interrupted_after

    def graded(self, run, tasks, progress):
        for task in tasks:
            if not self._left:
                raise KeyboardInterrupt
            self._left -= 1
            shape = json.loads(task.data)["shape"]
            self.asked.append(shape)
            entry = {
                "shapes": [{"case": shape, "results": {}}],
                "copy_bandwidth": float(len(shape)),
                "clock_mhz": 1980,
            }
            result = {"entry": entry, "device": {"kind": "gpu", "name": "NVIDIA H200", "driver": "580"}}
            yield Graded(task, record_of(shape, FIRST, run.device, result))


def gpu_run(course: Path, executor) -> ClassRun:
    exercises = {exercise.id: exercise for exercise in registry.all_exercises()}
    device = DeviceInfo("gpu", "NVIDIA H200", driver="580")
    return ClassRun(device, exercises, course / "bench", seed="", executor=executor)


def benched(run: ClassRun) -> dict:
    return bench_elsewhere.bench_elsewhere(run, [registry.find("01")], large=False)[FIRST]


@pytest.fixture
def kernels(course, monkeypatch):
    (course / "exercises" / FIRST / "baseline.cu").write_text("// baseline")
    return course


def test_a_bench_on_gpus_names_them_and_its_shapes_are_in_order(kernels):
    executor = Shapes()
    found = benched(gpu_run(kernels, executor))
    assert executor.asked == ["64 tokens", "4096 tokens"]
    assert (found["device"], found["kind"], found["driver"]) == ("NVIDIA H200", "gpu", "580")
    entry = found["exercises"][FIRST]
    assert [shape["case"] for shape in entry["shapes"]] == executor.asked
    assert entry["copy_bandwidth"] == (len("64 tokens") + len("4096 tokens")) / 2


def test_a_bench_that_is_stopped_continues(kernels):
    with pytest.raises(KeyboardInterrupt):
        benched(gpu_run(kernels, Shapes(interrupted_after=1)))
    after = Shapes()
    benched(gpu_run(kernels, after))
    assert after.asked == ["4096 tokens"]


class Failing:
    """An executor on whose workers nothing can be measured."""

    def graded(self, run, tasks, progress):
        for task in tasks:
            yield Graded(task, ungraded_record(run, task, "no memory"))


def test_what_was_not_measured_is_named_with_its_reason_and_tried_again(kernels):
    with pytest.raises(CourseError, match="01_first, 64 tokens: could not be graded: no memory"):
        benched(gpu_run(kernels, Failing()))
    again = Shapes()
    benched(gpu_run(kernels, again))
    assert again.asked == ["64 tokens", "4096 tokens"]


def test_steps_and_left_out_shapes_are_joined():
    entries = [{"shapes": [1], "steps": [2]}, {"shapes": [], "steps": [3]}]
    assert _joined(entries, ["large"]) == {"shapes": [1], "steps": [2, 3], "left_out": ["large"]}


def test_a_grading_s_record_has_no_result_and_a_measurement_s_comes_back(tmp_path):
    assert "result" not in make_record().to_dict()
    measured = record_of("64 tokens", FIRST, DeviceInfo("virtual", "h200"), {"seconds": 1.0})
    measured.write(tmp_path / "record.json")
    assert Record.read(tmp_path / "record.json").result == {"seconds": 1.0}


@pytest.mark.usefixtures("exercise")
def test_a_search_elsewhere_finds_what_this_machine_finds_and_continues(cluster, capsys):
    def found(study: str, trials: int, *on: str) -> dict:
        options = ("--device", "virtual", "--json", "--output", "out", "--study", study)
        assert tune_verb.main(["09", *options, "--trials", str(trials), *on]) == 0
        return json.loads(capsys.readouterr().out)["cases"][CASE]["gated"]

    there = ("--on", str(cluster.file))
    assert found("there.sqlite", 3, *there) == found("here.sqlite", 3)
    assert found("there.sqlite", 4, *there)["tried"] == 4
    assert found("there.sqlite", 4)["tried"] == 4, "this machine continues from there"


@pytest.mark.usefixtures("exercise")
@pytest.mark.parametrize("verb", [bench_verb, tune_verb], ids=["bench", "tune"])
def test_a_cluster_without_gpus_says_so(verb, cluster: DaskHere):
    with pytest.raises(CourseError, match="no worker of the cluster announces a GPU"):
        verb.main(["09", "--device", "gpu", "--on", str(cluster.file)])


@pytest.mark.skipif(bool(find_gpus()), reason="this machine has a GPU")
@pytest.mark.usefixtures("exercise")
@pytest.mark.parametrize("verb", [bench_verb, tune_verb], ids=["bench", "tune"])
def test_a_machine_without_a_gpu_says_so(verb):
    with pytest.raises(CourseError, match="no CUDA GPU was found"):
        verb.main(["09", "--device", "gpu"])


def test_results_come_in_the_order_of_the_questions(kernels):
    class Backwards(Shapes):
        def graded(self, run, tasks, progress):
            yield from reversed(list(super().graded(run, tasks, progress)))

    wanted = [Measurement(name, FIRST, {"shape": name}) for name in ("a", "b", "c")]
    results = results_of(gpu_run(kernels, Backwards()), wanted)
    assert [result["entry"]["shapes"][0]["case"] for result in results] == ["a", "b", "c"]
