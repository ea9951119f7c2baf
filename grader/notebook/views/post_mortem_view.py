"""Faulty kernels as a notebook shows them: a row of figures for each, its findings folded at their lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from common.virtual_gpu.report import Report
from grader.lab.lab import EVIDENCE, FIGURES, FaultLab
from grader.notebook.views.display import Display, cut, heading
from grader.notebook.views.findings_view import findings_by_cause
from grader.render.pages.markup import Child, Markup, joined, table, tag
from grader.words.text import table as text_table

_MOST_FINDINGS = 6
_MOST_WORDS = 600
_VERDICTS = {"right": "good", "wrong": "bad", "failed": "bad"}


class Runs(Display):
    """Results of the kernels' runs, in order."""

    def __init__(self, runs: Sequence[Mapping[str, Any]]) -> None:
        self.runs = list(runs)
        columns = ("kernel", "answer", "findings", *(f">{name}" for name in FIGURES))
        rows = [
            (
                run["file"],
                run["answer"],
                run["kinds"],
                *(write(run["figures"][name]) for name, write in FIGURES.items()),
            )
            for run in runs
        ]
        coloured: list[tuple[Child, ...]] = [
            (row[0], tag("span", row[1], class_=_VERDICTS[row[1]]), *row[2:]) for row in rows
        ]
        super().__init__(text_table(columns, rows, plain=True), table(columns, coloured), *map(_run, runs))


def _run(run: Mapping[str, Any]) -> Markup:
    findings = Report.from_dict(run["report"]).findings
    message = run["message"] or "the answer is right"
    found = findings_by_cause(findings, run["source"], _MOST_FINDINGS)
    return tag(
        "details",
        tag("summary", f"{run['file']}: {run['answer']}; findings: {run['kinds']}"),
        tag("p", cut(message, _MOST_WORDS)),
        found or tag("p", "No finding.", class_="faint"),
    )


class Words(Display):
    """The lists that answers are taken from."""

    def __init__(self, lab: FaultLab) -> None:
        lists = (("Faults, some of which are in no kernel", lab.faults), ("Evidence", EVIDENCE))
        columns = ("word", "means")
        text = [f"{name}\n{text_table(columns, list(words.items()), plain=True)}" for name, words in lists]
        body = [joined((heading(name), table(columns, list(words.items())))) for name, words in lists]
        super().__init__("\n".join(text), *body)
