"""`./course lab NN [FILE]`: kernels with one fault each, to be found with the virtual GPU.

Without FILE every kernel of the lab runs; findings and figures are shown, with the words for answers. FILE is
a filled-in answers.toml, or a .cu, your fixed copy of a kernel, to be run alone. With the solutions the sheet
is graded, answer by answer; without them you learn for which kernels all three answers are right.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.virtual_gpu.render import render_findings
from grader.cli import options as shared
from grader.cli.parser import Parser
from grader.course import student
from grader.course.settings import Settings, choose_device
from grader.lab import sealed
from grader.lab.lab import (
    EVIDENCE,
    FIGURES,
    FaultLab,
    Seen,
    find_lab,
    run_all,
    run_kernel,
)
from grader.lab.sheet import questions, read_key
from grader.questions.answer_files import read_answers
from grader.questions.grading import grade
from grader.records.device_info import VIRTUAL
from grader.render.answers import answers_json, answers_text, unknown_text
from grader.words.text import harmless, table, wrapped


def main(arguments: list[str]) -> int:
    parser = Parser("./course lab", __doc__)
    shared.add_exercise(parser)
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path)
    shared.add_json(parser)
    options = parser.parse_args(arguments)
    lab = find_lab(options.exercise)
    if options.file is None or options.file.suffix == ".cu":
        return _run(lab, options.file, as_json=options.json)
    return _grade(lab, options.file, as_json=options.json)


def _run(lab: FaultLab, file: Path | None, *, as_json: bool) -> int:
    shared.announce(choose_device(VIRTUAL, Settings()), Settings(), to_stderr=as_json)
    seen = []
    for shown in run_all(lab) if file is None else [run_kernel(lab, file)]:
        seen.append(shown)
        if not as_json:
            print(_seen_text(shown), flush=True)
    if as_json:
        print(json.dumps([_plain(shown) for shown in seen], indent=1))
        return 0
    print(_figures_table(seen))
    if file is None:
        print(_words_text(lab))
    return 0


def _seen_text(seen: Seen) -> str:
    """The answer, then the findings of one kernel."""
    verdicts = {"failed": seen.failed, "wrong": f"wrong: {seen.wrong}", "right": "right"}
    lines = [student.shown(seen.source), wrapped(f"answer  {verdicts[seen.verdict]}", "  ")]
    found = harmless(render_findings(seen.report.findings)).rstrip()
    lines += [f"  {line}" for line in found.splitlines()] or ["  no finding"]
    return "\n".join(lines) + "\n"


def _figures_table(seen: list[Seen]) -> str:
    rows = [
        (
            shown.source.name,
            shown.verdict,
            shown.kinds_of_findings,
            *(write(shown.figures[name]) for name, write in FIGURES.items()),
        )
        for shown in seen
    ]
    return table(("kernel", "answer", "findings", *(f">{name}" for name in FIGURES)), rows)


def _words_text(lab: FaultLab) -> str:
    """The lists that answers are taken from, and how to hand them in."""

    def listed(words: Mapping[str, str]) -> str:
        widest = max(map(len, words))
        return "\n".join(f"  {word:<{widest}}  {meaning}" for word, meaning in words.items())

    folder = student.work_folder(lab.exercise)
    mine = student.shown(folder / lab.sheet.name) if folder.is_dir() else lab.sheet.name
    return "\n".join(
        (
            f"Faults, some of which are in no kernel:\n{listed(lab.faults)}\n",
            f"Evidence:\n{listed(EVIDENCE)}\n",
            "Copy the sheet, fill it in, and have it graded:",
            f"  cp {student.shown(lab.sheet)} {mine}",
            f"  ./course lab {lab.number} {mine}",
        )
    )


def _plain(seen: Seen) -> dict[str, Any]:
    return {
        "kernel": seen.source.name,
        "answer": seen.verdict,
        "message": seen.failed or seen.wrong,
        **seen.figures,
        "findings": seen.report.to_dict()["findings"],
    }


def _grade(lab: FaultLab, file: Path, *, as_json: bool) -> int:
    answers = read_answers(file, lab.sheet)
    if not lab.key.is_file():
        return _compare(lab, answers, as_json=as_json)
    results = grade(questions(lab), answers, read_key(lab))
    print(answers_json(results) if as_json else answers_text(lab.title, results))
    if results.earned < results.points and not as_json:
        print(f"`./course lab {lab.number}` shows the evidence again.")
    return 0


def _compare(lab: FaultLab, answers: Mapping[str, Any], *, as_json: bool) -> int:
    """Where there is no key: kernel by kernel, without saying which of the answers is wrong."""
    compared = sealed.compare(lab, answers)
    if as_json:
        print(json.dumps(compared, indent=1))
        return 0
    right = sum(state == "right" for state in compared.values())
    title = f"{lab.title}: {right} of {len(compared)} kernels"
    print(
        table(("kernel", "answers"), [(f"{kernel}.cu", state) for kernel, state in compared.items()], title)
    )
    odd = grade(questions(lab), answers, {})
    for one in odd.graded:
        if one.answered and not one.pending:
            print(wrapped(f"{one.name}: {one.reason}"))
    print(unknown_text(odd), end="\n" if odd.unknown else "")
    return 0
