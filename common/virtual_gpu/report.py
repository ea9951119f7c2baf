"""What the engine saw during a run, as data: launches with their figures, findings, leaks."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from common.virtual_gpu.causes import follows_from
from common.virtual_gpu.decode import ENGINE, DecodedLater, decode, listed_in
from common.virtual_gpu.finding import Dim3 as Dim3
from common.virtual_gpu.finding import Finding as Finding
from common.virtual_gpu.finding import Leak as Leak
from common.virtual_gpu.finding import Place as Place

SECTOR_BYTES = 32  # of device memory: what L2 and DRAM move


@listed_in(ENGINE / "exec" / "counters.def", {"COUNTER": int}, default=0)
class Counters:
    """Figures of a launch or of one source line: engine/exec/counters.def says what they count."""

    by_class: Mapping[str, int] = field(default_factory=dict)
    wgmma_by_shape: Mapping[str, int] = field(default_factory=dict)  # "m64n128k16.f32.f16"

    if TYPE_CHECKING:

        def __init__(
            self, *, by_class: Mapping[str, int] = ..., wgmma_by_shape: Mapping[str, int] = ..., **counts: int
        ) -> None: ...
        def __getattr__(self, name: str) -> int: ...

    derived: ClassVar = ("derived",)
    sometimes: ClassVar[tuple[str, ...]]  # the engine leaves zeros out

    @property
    def load_sectors_per_request(self) -> float:
        return _ratio(self.global_load_sectors, self.global_load_requests)

    @property
    def store_sectors_per_request(self) -> float:
        return _ratio(self.global_store_sectors, self.global_store_requests)

    @property
    def async_sectors_per_request(self) -> float:
        return _ratio(self.async_sectors, self.async_requests)

    @property
    def bulk_load_sectors_per_request(self) -> float:
        return _ratio(self.bulk_load_sectors, self.bulk_load_requests)

    @property
    def bulk_store_sectors_per_request(self) -> float:
        return _ratio(self.bulk_store_sectors, self.bulk_store_requests)

    @property
    def active_lanes(self) -> float:
        """Of 32, on average over the warp instructions."""
        return _ratio(self.thread_instructions, self.warp_instructions)


Counters.sometimes = tuple(each.name for each in fields(Counters) if each.name != "by_class")


@dataclass(frozen=True)
class LineCounters:
    """What one line of the student's source cost."""

    file: str
    line: int
    counters: Counters


@dataclass(frozen=True)
class Occupancy:
    """What fits on one multiprocessor of the profile, and the resource that allows no more."""

    blocks_per_sm: int = 0
    warps_per_sm: int = 0
    fraction: float = 0.0
    limiter: str = ""


@dataclass(frozen=True)
class Body:
    """A launch's modelled time without what launching costs. The fields are those of Cost."""

    body_seconds: float
    limiter: str
    sentence: str
    round_trips: int
    terms: Mapping[str, float]


@dataclass(frozen=True)
class Cost:
    """Where a launch's modelled time comes from. Each term is a bound by itself; the limiter is the longest.

    A launch takes `floor_seconds` and its body; each further launch of a sequence takes `gap_seconds` and its
    own. `round_trips` are trips to memory that wait for each other. All empty when nothing was modelled.
    """

    body_seconds: float = 0.0
    floor_seconds: float = 0.0
    gap_seconds: float = 0.0
    limiter: str = ""
    sentence: str = ""
    round_trips: int = 0
    terms: Mapping[str, float] = field(default_factory=dict)
    in_graph: Body | None = None  # as one of many calls in a graph, where an option asked for it

    sometimes: ClassVar = ("in_graph",)


@dataclass(frozen=True)
class Span:
    """One instruction of one warp, in cycles: when the warp was free for it, when it issued, and when its
    result was there, its bytes had landed or its barrier was open."""

    warp: int
    kind: str
    line: int
    wanted: float
    issued: float
    done: float


@dataclass(frozen=True)
class Timeline:
    """How the first warps of one block would go through the kernel, modelled, beside the `resident` blocks
    of their multiprocessor. `cut` when there was more than is kept."""

    resident: int = 0
    cut: bool = False
    cycles_per_second: float = 0.0
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Launch(DecodedLater):
    """One kernel launch. `modelled_seconds` is the cost model's, `wall_seconds` the engine's own time."""

    index: int
    kernel: str
    mangled: str
    grid: Dim3
    block: Dim3
    dynamic_shared: int
    static_shared: int
    stream: int
    graph: bool
    error: int
    error_name: str
    registers: int
    registers_estimated: bool
    occupancy: Occupancy
    counters: Counters
    waits_at: str  # "file:line" of a loop in which threads wait for others or for a clock, or nothing
    not_modelled: str  # an instruction that has no time in the cost model, or nothing
    not_modelled_at: str  # "file:line" of it
    unlike_replayed: float  # how much longer an instruction takes, on average, than in the part replayed
    distinct_load_sectors: int
    distinct_plain_load_sectors: int  # of them, those that not only cp.async read
    distinct_store_sectors: int
    lines: tuple[LineCounters, ...]
    modelled_seconds: float
    cost: Cost
    wall_seconds: float
    timeline: Timeline | None = None  # where the option of that name asked for it
    cluster: Dim3 | None = None  # blocks in one, of a launch with clusters
    # Of a launch that the option sample_blocks left in part: blocks that ran, and that ran to their end.
    blocks_begun: int | None = None
    blocks_finished: int | None = None

    sometimes: ClassVar = ("timeline", "cluster", "blocks_begun", "blocks_finished")
    later: ClassVar = ("lines",)  # most of a report, and most calls' are never looked at

    @property
    def without_time(self) -> str:
        """The instruction without a time in the cost model, and its place: "kernel.cu:27 uses mbarrier"."""
        if not self.not_modelled:
            return ""
        file, _, line = self.not_modelled_at.rpartition(":")
        return f"{Path(file).name}:{line} uses {self.not_modelled}"


def times_in_doubt(launches: Sequence[Launch]) -> str:
    """A sentence about modelled times that lack those of an instruction; "" where none is lacking."""
    found = next((launch.without_time for launch in launches if launch.not_modelled), "")
    return f"{found}, whose time is not modelled: the modelled times leave it out" if found else ""


@dataclass(frozen=True)
class KernelTotals(DecodedLater):
    """All launches of one kernel together."""

    kernel: str
    mangled: str
    launches: int
    failed: int
    modelled_seconds: float
    wall_seconds: float
    counters: Counters
    lines: tuple[LineCounters, ...]

    later: ClassVar = ("lines",)


@dataclass(frozen=True)
class BoundedCall:
    """What the engine saw of one call between the harness's two requests; engine/server/bounded_call.h says
    more. `began` and `ended` count the launches that had run by then, -1 where that was not reached."""

    began: int
    ended: int
    copies_outside: int
    late_requests: int
    captured: bool
    destroyed: bool
    waited: str
    waited_at: tuple[Place, ...]


@dataclass(frozen=True)
class Report:
    """Everything the engine knows about a run so far."""

    profile: str = ""
    device: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    launches: tuple[Launch, ...] = ()
    kernels: tuple[KernelTotals, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()  # worth knowing, but no mistake that shows
    findings_dropped: int = 0
    leaks: tuple[Leak, ...] = ()
    totals: Mapping[str, Any] = field(default_factory=dict)
    messages: tuple[str, ...] = ()
    sticky_error: int = 0
    program_exit: str = "running"
    call: BoundedCall | None = None  # where a harness bounded one

    derived: ClassVar = ("version",)
    sometimes: ClassVar = ("call",)

    @staticmethod
    def from_json(text: str) -> Report:
        """What the engine wrote: every name that it writes is known here, and the other way round."""
        return decode(Report, json.loads(text), complete=True)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Report:
        """What `to_dict` made, or a part of it."""
        return decode(Report, data)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON. Each finding, note and leak also names its own file and line, and a finding
        the number of the one that it follows from."""
        data = dataclasses.asdict(self)
        listed = data["findings"] + data["notes"] + data["leaks"]
        for plain, finding in zip(listed, self.findings + self.notes + self.leaks, strict=True):
            plain.update(file=finding.file, line=finding.line)
        for plain, cause in zip(data["findings"], follows_from(self.findings), strict=True):
            plain["follows_from"] = cause
        return data


def _ratio(above: int, below: int) -> float:
    return above / below if below else 0.0
