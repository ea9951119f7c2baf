"""Labs: small kernels with one fault each, which students find by running them on the virtual GPU.

A lab is a folder `lab/` of an exercise with a lab.py, which makes one `FaultLab`, and its kernels beside it.
Fixed kernels and the key are in the same folder of the solutions.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from common.core.errors import CourseError
from common.virtual_gpu.report import Report
from grader.answers.compare import answer, difference
from grader.building.scratch_folder import scratch_folder
from grader.devices.device import VirtualDevice
from grader.devices.time_budget import CALL_SECONDS
from grader.spec import Call, Case, Comparison, KnownMistake, OnBuffers, Size, registry, seeds
from grader.spec.names import is_named
from grader.spec.random_inputs import Random
from grader.timing.modelled.call_time import modelled_call
from grader.words import numbers

WRONG_ANSWER = "wrong answer"
ROUND_TRIPS = "round trips"
MODELLED_TIME = "modelled time"
BANK_CONFLICTS = "bank conflicts"
SECTORS = "sectors per request"
ACTIVE_LANES = "active lanes"

# How each figure of a run is written.
FIGURES: dict[str, Callable[[float], str]] = {
    MODELLED_TIME: numbers.seconds,
    ROUND_TRIPS: "{:,.0f}".format,
    BANK_CONFLICTS: "{:,.0f}".format,
    SECTORS: "{:.1f}".format,
    ACTIVE_LANES: "{:.1f}".format,
}
# Evidence of a fault: the checks' kinds of findings, the comparison, and figures of a run.
EVIDENCE = {
    "memory": "a finding: out of bounds, or misaligned",
    "race": "a finding: two threads, one word, and nothing that orders them",
    "init": "a finding: read before anything was written",
    "sync": "a finding: a barrier or a shuffle that not all reach, or a barrier that is not ready",
    "async": "a finding: an asynchronous copy or product, and an access that does not wait for it",
    "hang": "a finding: a launch that does not end, because warps wait for what never comes",
    WRONG_ANSWER: "the comparison with the reference, where there is no finding",
    MODELLED_TIME: "of a call, against that of a fixed copy",
    ROUND_TRIPS: "trips to memory that wait for each other",
    BANK_CONFLICTS: "in shared memory, loads and stores",
    SECTORS: "32-byte pieces that a load or copy of a warp touches",
    ACTIVE_LANES: "of 32, on average",
}


def _no_cases(_: Random) -> Sequence[Case]:
    return ()


@dataclass(frozen=True)
class FaultLab:
    """The task of all kernels of a lab, and the faults to choose from; some of these are in no kernel."""

    title: str
    kernels: tuple[str, ...]
    entry: str
    inputs: Callable[[Size, Random], Call]
    reference: OnBuffers
    compare: Comparison
    cases: tuple[Case]
    faults: Mapping[str, str]  # id -> description
    hidden: Callable[[Random], Sequence[Case]] = _no_cases
    known_mistakes: Mapping[str, KnownMistake] = field(default_factory=dict)
    folder: Path = Path()  # filled in by find_lab, as is
    arch: str | None = None  # that of its exercise

    @property
    def exercise(self) -> str:
        """The exercise's folder: "01_kv_store"."""
        return self.folder.parent.name

    @property
    def number(self) -> str:
        return self.exercise.partition("_")[0]

    @property
    def sheet(self) -> Path:
        """The answers to fill in."""
        return self.folder / "answers.toml"

    @property
    def solutions(self) -> Path:
        return registry.SOLUTIONS / self.exercise / self.folder.name

    @property
    def key(self) -> Path:
        """The right answers, which only instructors have."""
        return self.solutions / "key.toml"

    def source(self, kernel: str) -> Path:
        return self.folder / f"{kernel}.cu"


@dataclass(frozen=True)
class Seen:
    """One run of a kernel. `failed` and `wrong` are sentences, or empty."""

    source: Path
    failed: str
    wrong: str
    report: Report
    seconds: float  # modelled

    @property
    def verdict(self) -> str:
        return "failed" if self.failed else "wrong" if self.wrong else "right"

    @property
    def kinds_of_findings(self) -> str:
        return ", ".join(dict.fromkeys(finding.kind for finding in self.report.findings)) or "none"

    @property
    def figures(self) -> dict[str, float]:
        """Figures by their names in EVIDENCE."""
        launches = self.report.launches
        counts = [launch.counters for launch in launches]
        requests = sum(c.global_load_requests + c.async_requests + c.bulk_load_requests for c in counts)
        sectors = sum(c.global_load_sectors + c.async_sectors + c.bulk_load_sectors for c in counts)
        instructions = sum(c.warp_instructions for c in counts)
        return {
            MODELLED_TIME: self.seconds,
            ROUND_TRIPS: sum(launch.cost.round_trips for launch in launches),
            BANK_CONFLICTS: sum(c.shared_load_conflicts + c.shared_store_conflicts for c in counts),
            SECTORS: sectors / max(requests, 1),
            ACTIVE_LANES: sum(c.thread_instructions for c in counts) / max(instructions, 1),
        }


def find_lab(text: str) -> FaultLab:
    """Find a lab by its exercise's number ("01", "1"), name or folder."""
    folders = _folders()
    for folder in folders:
        if is_named(folder.parent.name, text):
            return _load(folder)
    known = ", ".join(folder.parent.name for folder in folders) or "none"
    raise CourseError(f"there is no lab in an exercise {text!r}; exercises with a lab: {known}")


def all_labs() -> list[FaultLab]:
    return [_load(folder) for folder in _folders()]


def _folders() -> list[Path]:
    return sorted(path.parent for path in registry.EXERCISES.glob("*/lab/lab.py"))


def _load(folder: Path) -> FaultLab:
    spec = importlib.util.spec_from_file_location(f"lab_of_{folder.parent.name}", folder / "lab.py")
    assert spec is not None  # the file was found just now
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lab: FaultLab = module.lab
    return dataclasses.replace(lab, folder=folder, arch=registry.load(folder.parent).arch)


def run_all(lab: FaultLab) -> Iterator[Seen]:
    """Every kernel of the lab, in order."""
    for kernel in lab.kernels:
        yield run_kernel(lab, lab.source(kernel))


def run_kernel(lab: FaultLab, source: Path) -> Seen:
    """One call with every check on. Raises CourseError when the file cannot be compiled."""
    if not source.is_file():
        raise CourseError(f"there is no file {source}: name your own copy of one of the lab's kernels")
    [case] = lab.cases
    call = lab.inputs(case.size, Random(seeds.derive("lab", case.name)))
    device = VirtualDevice()
    with (
        scratch_folder() as scratch,
        device.session(device.compile(source, scratch, arch=lab.arch)) as session,
    ):
        outcome = session.run(lab.entry, call, CALL_SECONDS)
    wrong = None
    if outcome.ok:
        wrong = difference(lab, case.size, call, answer(lab, case.size, call), outcome.after)
    return Seen(
        source,
        outcome.message,
        wrong.message if wrong is not None else "",
        outcome.report,
        modelled_call(outcome)[0] if outcome.report.launches else 0.0,
    )
