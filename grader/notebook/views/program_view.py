"""A program's run as a notebook shows it: what it printed, findings at their lines, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from common.virtual_gpu.render import render_report
from common.virtual_gpu.report import Finding
from grader.notebook.seen import Seen
from grader.notebook.views.display import Display, cut, heading
from grader.notebook.views.findings_view import findings_by_cause
from grader.notebook.views.line_costs import MEASURES
from grader.notebook.views.profile_view import heat_map, launches_table, traffic_table
from grader.render.pages.markup import Child, tag
from grader.render.profile import launch_table, source_table
from grader.words import numbers
from grader.words.text import harmless

_MOST_PRINTED = 4000
_MOST_FINDINGS = 10


class ProgramView(Display):
    """The result of a program. `findings` are the engine's, `seen` its whole report, `printed` its output."""

    def __init__(self, found: Mapping[str, Any], show: str) -> None:
        self.seen = Seen.from_dict(
            {
                **{key: found[key] for key in ("file", "source", "report")},
                "case": "",
                "sizes": {},
                "seconds": 0.0,
                "seconds_in_a_graph": 0.0,
                "protocol": "cold",
            }
        )
        self.findings: Sequence[Finding] = self.seen.report.findings
        self.printed = cut(harmless(found["printed"]), _MOST_PRINTED)
        self.verdict = _verdict(found["ending"], len(self.findings))
        costs = (
            (launch_table(self.seen.launches), source_table(self.seen.source, self.seen.lines))
            if self.seen.launches
            else ()
        )
        text = (*found["warnings"], self.printed, harmless(render_report(self.seen.report)), *costs)
        super().__init__(
            "\n".join((f"{found['file']}: {self.verdict}", *filter(None, text))),
            *self._sections(found["file"], found["warnings"], show),
        )

    def _sections(self, file: str, warnings: Sequence[str], show: str) -> Iterable[Child]:
        kind = "good" if self.verdict == _CLEAN else "bad"
        yield tag("h3", f"{file}: ", tag("span", self.verdict, class_=kind))
        yield tag("p", "virtual GPU; times are modelled", class_="faint")
        yield tag("pre", cut("\n".join(warnings), _MOST_PRINTED), class_="doubt") if warnings else None
        yield tag("pre", self.printed) if self.printed.strip() else None
        yield findings_by_cause(self.findings, self.seen.source, _MOST_FINDINGS)
        if self.seen.launches:
            yield heading("Launches")
            yield launches_table(self.seen.launches)
            yield heading("Traffic of the longest launch")
            yield traffic_table(self.seen.longest)
            yield heading(f"Cost by line, coloured by {MEASURES[show].heading}")
            yield heat_map(self.seen, show)


_CLEAN = "no findings"


def _verdict(ending: str, findings: int) -> str:
    found = numbers.counted(findings, "finding") if findings else _CLEAN
    return f"{ending}; {found}" if ending else found
