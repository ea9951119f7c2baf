"""One submission from source to record. Whatever a submission does, a record comes of it."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import tempfile
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from common.build import KernelResources, Target
from common.devices import first_gpu
from common.errors import CourseError
from common.toolchain import find_nvcc
from common.virtual_gpu.engine import DEFAULT_PROFILE
from common.virtual_gpu.report import Report
from grader import seeds
from grader.device import Session
from grader.device.virtual import VirtualSession
from grader.random_inputs import Random
from grader.record import CaseResult, DeviceInfo, PartResult, Record
from grader.spec import Exercise
from grader.stages import checks, points
from grader.stages.build import ARCHITECTURE, Built, build, kernel_resources, write_registers
from grader.stages.correctness import CALL_SECONDS, FATAL, NOT_IN_A_KERNEL, CaseRun, all_cases, run_cases
from grader.stages.mechanism import look, mechanism_case
from grader.suspicion import flags_of

STAGES = ("build", "correctness", "checks", "mechanism", "speed")
_MOST_SOURCE = 1 << 20
_HIDDEN_LOOKS = 3
Tell = Callable[[str], None]


@dataclass
class Libraries:
    """What the compiler made of a file."""

    built: dict[str, Built]  # by device
    resources: tuple[KernelResources, ...]
    registers: Path

    def path(self, device: str) -> Path:
        library = self.built[device].library
        if library is None:
            raise CourseError(self.built[device].message)
        return library

    @property
    def failed(self) -> Built | None:
        return next((built for built in self.built.values() if built.library is None), None)


def grade(
    exercise: Exercise,
    source: Path,
    *,
    submission: str,
    device: str,
    seed: str | None = None,
    stages: Collection[str] | None = None,
    quick: bool = False,
    tell: Tell = lambda text: None,
) -> Record:
    """Grade one file on `device` ("virtual" or "gpu"). With `quick`, the first failing case is the last."""
    import torch

    started = time.monotonic()
    # Tensors here are small: threads would wait for each other, and for whoever else grades on this machine.
    torch.set_num_threads(1)
    text = source.read_bytes()[:_MOST_SOURCE]
    record = Record(
        submission=submission,
        exercise=exercise.id,
        device=device_info(device),
        source=text.decode(errors="replace"),
        source_sha256=hashlib.sha256(text).hexdigest(),
        seed=seed or seeds.fresh(),
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    with tempfile.TemporaryDirectory(prefix="grade-") as scratch:
        _grade(exercise, source, record, set(stages or STAGES), quick, Path(scratch), tell)
    points.settle(record)
    record.seconds = time.monotonic() - started
    return record


def device_info(device: str) -> DeviceInfo:
    compiler = f"nvcc {find_nvcc().version}"
    if device == "virtual":
        return DeviceInfo("virtual", DEFAULT_PROFILE, compiler=compiler)
    gpu = first_gpu()
    return DeviceInfo("gpu", gpu.name, gpu.driver, compiler)


def compile_submission(source: Path, device: str, scratch: Path) -> Libraries:
    """The file for every device it will run on, and its ptxas figures, all at once."""
    targets = {"virtual": Target.virtual(ARCHITECTURE)}
    if device == "gpu":
        targets["gpu"] = Target.gpu(first_gpu().cc)
    with ThreadPoolExecutor() as pool:
        building = {name: pool.submit(build, source, target) for name, target in targets.items()}
        kernels = pool.submit(kernel_resources, source).result()
        scratch.mkdir(exist_ok=True)
        built = {name: future.result() for name, future in building.items()}
    return Libraries(built, kernels, write_registers(kernels, scratch))


def _grade(
    exercise: Exercise, source: Path, record: Record, stages: set[str], quick: bool, scratch: Path, tell: Tell
) -> None:
    tell("building")
    device = record.device.kind
    built = compile_submission(source, device, scratch / "submission")
    record.diagnostics = (built.failed or built.built["virtual"]).plain()
    if (failed := built.failed) is not None:
        record.verdict = "does not compile"
        rubric = exercise.points
        for part in ("correct", "clean", "mechanism", "speed"):
            message = failed.message if part == "correct" else "needs a kernel that compiles"
            record.parts.append(PartResult(part, 0.0, getattr(rubric, part), message))
        return
    # The baseline is needed later, and may be built meanwhile; but no compiler's message waits for it.
    with ThreadPoolExecutor() as pool:
        baseline = None
        if "speed" in stages:
            baseline = pool.submit(compile_submission, exercise.baseline, device, scratch / "baseline")
        record.flags += flags_of(built.path("virtual"))
        runs = _correctness(exercise, built, record, quick, tell)
        correct = bool(runs) and all(run.result.passed for run in runs)
        record.parts.append(points.correct_part(exercise, runs))
        if "checks" in stages:
            correct = _checks(exercise, built, record, runs, correct, tell)
        if "mechanism" in stages and not any(run.result.reason in FATAL for run in runs):
            _mechanism(exercise, built, record, correct, tell)
        elif "mechanism" in stages:
            record.parts.append(points.mechanism_part(exercise, False, ()))
        if baseline is not None:
            if correct:
                _speed(exercise, baseline.result(), built, record, tell)
            record.parts.append(points.speed_part(exercise, correct, record.speed))
            _count_wrong_while_timed(exercise, record, runs)


def _correctness(
    exercise: Exercise, built: Libraries, record: Record, quick: bool, tell: Tell
) -> list[CaseRun]:
    on_gpu = record.device.kind == "gpu"
    cases = all_cases(exercise, record.seed, gpu=on_gpu)
    runs = []
    where = "cuda" if on_gpu else "cpu"
    with open_session(record.device.kind, built) as session:
        for run in run_cases(exercise, session, cases, record.seed, where=where, tell=tell):
            runs.append(run)
            record.cases.append(run.result)
            if quick and not run.result.passed:
                break
        record.output = session.output
    return runs


def _count_wrong_while_timed(exercise: Exercise, record: Record, runs: list[CaseRun]) -> None:
    """A case that is wrong only where it is timed is as wrong as any other."""
    if record.speed is None or not record.speed.wrong:
        return
    for name, message in record.speed.wrong.items():
        sizes = dict(exercise.bench_case(name).sizes)
        record.cases.append(CaseResult(name, True, sizes, False, "mismatch", message))
        runs = [*runs, CaseRun(record.cases[-1], Report(), counts=True)]
    later = [
        PartResult(part.name, 0.0, part.max_points, points.NEEDS_CORRECT)
        for part in record.parts
        if part.name != "correct"
    ]
    record.parts = [points.correct_part(exercise, runs), *later]


def open_session(device: str, built: Libraries) -> Session:
    """A worker with the library for this device."""
    if device == "virtual":
        return VirtualSession(built.path("virtual"), resources=built.registers)
    from grader.device.gpu import GpuSession

    return GpuSession(built.path("gpu"))


def _checks(
    exercise: Exercise, built: Libraries, record: Record, runs: list[CaseRun], correct: bool, tell: Tell
) -> bool:
    """Findings come from the virtual GPU: of the cases just run there, or of the public ones run again.

    Whether the answers still count as correct: that they came from kernels only shows there.
    """
    reports: list[Report] = [run.report for run in runs]
    if record.device.kind == "gpu":
        public = [(case, public) for case, public in all_cases(exercise, record.seed, gpu=False) if public]
        with open_session("virtual", built) as session:
            again = list(run_cases(exercise, session, public, record.seed, phase="checks", tell=tell))
            reports = [run.report for run in again]
        if elsewhere := [run.result for run in again if run.result.reason == NOT_IN_A_KERNEL]:
            correct = False
            record.cases += elsewhere
            record.parts = [points.correct_part(exercise, [run for run in again if run.counts])]
    findings = checks.merge(reports)
    unsupported = next((f for f in findings if f.kind == "unsupported"), None)
    plain = Report(findings=tuple(findings)).to_dict()["findings"]
    record.findings = plain
    record.parts.append(
        points.clean_part(
            exercise,
            correct,
            len(findings),
            f"the virtual GPU cannot check this kernel: {unsupported.message}" if unsupported else "",
        )
    )
    return correct


def _mechanism(exercise: Exercise, built: Libraries, record: Record, correct: bool, tell: Tell) -> None:
    """At the exercise's case for it, and at hidden ones: a kernel cannot know where it will be looked at."""
    tell("looking at how it works")
    hidden = [case for case, public in all_cases(exercise, record.seed, gpu=False) if not public]
    results = []
    with open_session("virtual", built) as session:
        for number, case in enumerate((*hidden[:_HIDDEN_LOOKS], mechanism_case(exercise))):
            call = exercise.inputs(case.size, Random(seeds.derive(record.seed, "mechanism", number)))
            outcome = session.run(exercise.entry, call, CALL_SECONDS)
            results.append(look(exercise.mechanisms, case, outcome, built.resources))
    # The public case last: of several that lack something, it is the one a student can repeat.
    record.mechanisms = [
        next((one for one in reversed(ones) if not one.passed), ones[-1])
        for ones in zip(*results, strict=True)
    ]
    record.launches = [dataclasses.asdict(launch) for launch in outcome.report.launches]
    record.lines = [line for launch in record.launches for line in launch.pop("lines")]
    record.parts.append(points.mechanism_part(exercise, correct, record.mechanisms))


def _speed(exercise: Exercise, baseline: Libraries, built: Libraries, record: Record, tell: Tell) -> None:
    if record.device.kind == "gpu":
        from grader.stages.speed_gpu import measure

        record.speed = measure(exercise, baseline.path("gpu"), built.path("gpu"), record.seed, tell)
        return
    from grader.stages.speed_virtual import model

    record.speed = model(
        exercise,
        (baseline.path("virtual"), baseline.registers),
        (built.path("virtual"), built.registers),
        built.resources,
        record.seed,
        tell,
    )
