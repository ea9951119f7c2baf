"""Feedback on one part: points and reasons, cases, findings at their lines, counters, speed with
intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from grader.notebook.views.answers_view import Answers
from grader.notebook.views.display import Display, cut
from grader.notebook.views.findings_view import findings_by_cause
from grader.questions.grading import Results
from grader.records.record import PartResult, Record
from grader.render.answers import answers_title
from grader.render.findings import diagnostic_text, findings_of
from grader.render.gradescope import part_text
from grader.render.pages import html
from grader.render.pages.markup import Child, Markup, tag
from grader.words import numbers

_MOST_FINDINGS = 10
_MOST_WORDS = 2000


def part_feedback(record: Record, part: PartResult, points: float, most: float) -> Display:
    title = f"{part.name}: {numbers.points_of(points, most)} points"
    device = record.device
    text = f"{title} ({record.file} on {device})\n{part_text(record, part)}"
    kind = "good" if points >= most else "doubt" if points > 0 else "bad"
    return Display(
        text,
        tag("h4", title, class_=kind),
        tag("p", cut(part.message, _MOST_WORDS)) if part.message else None,
        *_details(record, part),
        tag("p", f"{record.file} on {device}", class_="faint"),
    )


def _details(record: Record, part: PartResult) -> Iterable[Child]:
    if part.name == "correct":
        yield _compiler(record)
        yield _folded("cases", html.cases_table([case for case in record.cases if not case.step]))
        yield _folded(
            "what it printed", tag("pre", cut(record.output, _MOST_WORDS)) if record.output else None
        )
    elif part.name == "clean":
        yield _findings(record)
    elif part.name == "mechanism":
        yield html.mechanisms_table(record)
        yield _folded("launches and counters", html.launches_table(record))
    elif part.name == "speed" and record.speed is not None and record.speed.cases:
        yield tag("p", html.speed_label(record.speed), class_="faint")
        yield html.targets_table(record.speed)
        yield html.speeds_table(record.speed)
    else:
        yield html.cases_table([case for case in record.cases if case.step == part.name])


def _compiler(record: Record) -> Markup | None:
    text = "\n".join(diagnostic_text(item) for item in record.diagnostics)
    return tag("pre", cut(text, _MOST_WORDS)) if text.strip() else None


def _findings(record: Record) -> Markup | None:
    return findings_by_cause(findings_of(record), record.source, _MOST_FINDINGS)


def _folded(title: str, body: Markup | None) -> Markup | None:
    return tag("details", tag("summary", title), body) if body else None


def predictions_feedback(results: Results, missing: Mapping[str, str], problem: str) -> Display:
    shown = Answers(answers_title("Predictions", results), results, missing)
    if not problem:
        return shown
    sentence = f"No answer could be read: {problem}."
    return Display(f"{sentence}\n{shown!r}", tag("p", sentence, class_="bad"), Markup(shown._repr_html_()))
