"""One profiled call, as the grader process answered it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.virtual_gpu.report import Launch, Report, Timeline, times_in_doubt
from grader.render import traffic
from grader.render.findings import counters_by_line
from grader.spec import TimingProtocol
from grader.words import numbers


@dataclass(frozen=True)
class Seen:
    file: str
    source: str
    case: str
    sizes: Mapping[str, int]
    report: Report
    seconds: float
    seconds_in_a_graph: float
    protocol: TimingProtocol
    wrong: str = ""

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Seen:
        return Seen(**{**data, "report": Report.from_dict(data["report"])})

    @property
    def launches(self) -> tuple[Launch, ...]:
        return self.report.launches

    @property
    def longest(self) -> Launch:
        return max(self.launches, key=lambda launch: launch.cost.body_seconds)

    @property
    def timeline(self) -> Timeline | None:
        """The timeline of the longest launch that was followed."""
        followed = [launch for launch in self.launches if launch.timeline is not None]
        return max(followed, key=lambda one: one.cost.body_seconds).timeline if followed else None

    @property
    def lines(self) -> dict[int, traffic.Counts]:
        every = [line for launch in self.launches for line in launch.lines]
        return dict(counters_by_line(every, Path(self.file)))

    @property
    def title(self) -> str:
        return f"{self.file} at {self.case} ({numbers.sizes(dict(self.sizes))})"

    @property
    def time_words(self) -> str:
        """Both modelled times, the one that `check` shows first."""
        ways = {
            "cold": f"{numbers.seconds(self.seconds)} alone from a cold L2",
            "graph": f"{numbers.seconds(self.seconds_in_a_graph)} in a graph of many calls",
        }
        shown = ways.pop(self.protocol)
        said = f"modelled: {shown}, the way check() times it; {next(iter(ways.values()))}"
        return ". ".join(filter(None, (said, times_in_doubt(self.launches))))
