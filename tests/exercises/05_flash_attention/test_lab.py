"""The lab: kernels show their faults where the key says, twins show nothing, every sheet gets an answer."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from common.core.errors import CourseError
from common.virtual_gpu.report import Place
from grader import cli
from grader.cli.student import lab as cli_lab
from grader.lab import sealed
from grader.lab.lab import (
    EVIDENCE,
    MODELLED_TIME,
    ROUND_TRIPS,
    WRONG_ANSWER,
    FaultLab,
    Seen,
    find_lab,
    run_kernel,
)
from grader.lab.sheet import questions, read_key
from grader.questions.answer_files import read_answers
from grader.questions.grading import Results, grade
from grader.spec import registry
from tests.exercises.sections import write_sections

LAB = find_lab("05")
FIELDS = ("fault", "line", "evidence")
USAGE_ERROR = 2
# The line of a kernel where its finding surfaces, itself or by what is inlined there, and the finding's kind.
SURFACES = {
    "one": ("memory", "dot(query, key_tile[lane])"),
    "two": ("memory", "attend_to_tile(states[row]"),
    "three": ("memory", "copy_16_bytes_async(&tile[row][column]"),
    "five": ("async", "read_part(part, &here.keys[key][column])"),
}
# Lines that the twins leave alone: what stands there, and what would mend the kernel as well.
OTHER_REMEDIES = {
    ("one", 43): ("warp * kRowsPerWarp", "min(warp * kRowsPerWarp, kRows - kRowsPerWarp)"),
    ("three", 21): ("kDim + kPadding", "kDim + 8 * kPadding"),
    ("four", 58): ("value_row", "key_row"),
    ("five", 64): (
        "wait_for_copies<1>();",
        "tile + 1 < tiles ? wait_for_copies<1>() : wait_for_copies<0>();",
    ),
    ("seven", 57): ("q *", "__shfl_sync(kAllLanes, q, (column + i) / kPerLane) *"),
}
KEY = {  # what is right, by kernel and field
    kernel: {field: tuple(read_key(LAB)[f"{kernel}.{field}"].credits) for field in FIELDS}
    for kernel in LAB.kernels
}
SILENT = [kernel for kernel in LAB.kernels if kernel not in SURFACES]
SLOWER = 1.15  # the kernel that waits too long, at least, over its mended twin


@functools.cache
def seen(kernel: str) -> Seen:
    return run_kernel(LAB, LAB.source(kernel))


@pytest.fixture(scope="module")
def seen_mended(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Seen]:
    """By a kernel's name its twin, by name and line what another remedy makes of it. All are one file."""
    twins = {kernel: (LAB.solutions / f"{kernel}.cu").read_text() for kernel in LAB.kernels}
    others = {f"{kernel}:{line}": mended_otherwise(kernel, line) for kernel, line in OTHER_REMEDIES}
    sections = write_sections(twins | others, tmp_path_factory.mktemp("lab") / "mended.cu")

    @functools.cache
    def run(name: str) -> Seen:
        section = sections[name]
        return run_kernel(dataclasses.replace(LAB, entry=LAB.entry + section.suffix), section.file)

    return run


def mended_otherwise(kernel: str, line: int) -> str:
    before, after = OTHER_REMEDIES[kernel, line]
    lines = lines_of(kernel)
    assert before in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(before, after)
    return "\n".join(lines) + "\n"


def lines_of(kernel: str) -> list[str]:
    return LAB.source(kernel).read_text().splitlines()


def test_the_lab_has_seven_kernels_with_a_twin_and_an_entry_in_key_and_sheet():
    assert len(LAB.kernels) == 7
    assert sorted(LAB.kernels) == sorted(path.stem for path in LAB.folder.glob("*.cu"))
    assert sorted(LAB.kernels) == sorted(path.stem for path in LAB.solutions.glob("*.cu"))
    assert list(read_answers(LAB.sheet, LAB.sheet)) == list(LAB.kernels)


def test_every_kernel_has_a_fault_of_its_own_and_the_list_has_more():
    faults = [fault for key in KEY.values() for fault in key["fault"]]
    assert len(set(faults)) == len(faults)
    assert set(faults) < set(LAB.faults)
    assert all(set(key["evidence"]) <= set(EVIDENCE) for key in KEY.values())


@pytest.mark.parametrize("kernel", LAB.kernels)
def test_the_key_accepts_the_lines_that_the_twin_changes(kernel):
    before, after = lines_of(kernel), (LAB.solutions / f"{kernel}.cu").read_text().splitlines()
    changes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = {line + 1 for tag, low, high, _, _ in changes if tag != "equal" for line in range(low, high)}
    assert len(changed) == 1
    assert changed <= set(KEY[kernel]["line"])


@pytest.mark.parametrize("kernel", SURFACES)
def test_a_finding_surfaces_at_its_line(kernel):
    kind, text = SURFACES[kernel]
    first = seen(kernel).report.findings[0]
    assert first.kind == kind
    assert KEY[kernel]["evidence"] == (kind,)

    def shows(place: Place) -> bool:
        return Path(place.file).stem == kernel and text in lines_of(kernel)[place.line - 1]

    assert any(shows(place) for finding in seen(kernel).report.findings for place in finding.place)


@pytest.mark.parametrize("kernel", SILENT)
def test_the_others_have_no_finding(kernel):
    assert seen(kernel).report.findings == ()
    assert seen(kernel).verdict == ("wrong" if KEY[kernel]["evidence"] == (WRONG_ANSWER,) else "right")


def test_waiting_too_long_shows_in_round_trips_and_in_time_only(seen_mended):
    [kernel] = [name for name, key in KEY.items() if key["fault"] == ("wait-too-long",)]
    faulty, mended = seen(kernel).figures, seen_mended(kernel).figures
    assert set(KEY[kernel]["evidence"]) == {ROUND_TRIPS, MODELLED_TIME}
    assert faulty[ROUND_TRIPS] > mended[ROUND_TRIPS]
    assert faulty[MODELLED_TIME] > SLOWER * mended[MODELLED_TIME]
    others = set(faulty) - set(KEY[kernel]["evidence"])
    assert {name: faulty[name] for name in others} == pytest.approx({name: mended[name] for name in others})


@pytest.mark.parametrize("kernel", LAB.kernels)
def test_a_mended_twin_is_right_and_silent(kernel, seen_mended):
    mended = seen_mended(kernel)
    assert mended.report.findings == ()
    assert mended.verdict == "right", mended.failed or mended.wrong


@pytest.mark.parametrize(("kernel", "line"), OTHER_REMEDIES)
def test_other_lines_of_the_key_can_be_changed_to_mend_it_too(kernel, line, seen_mended):
    assert line in KEY[kernel]["line"]
    shown = seen_mended(f"{kernel}:{line}")
    assert (shown.verdict, shown.report.findings) == ("right", ())


def test_no_kernel_points_at_its_fault():
    telling = ("bug", "fault", "wrong", "mistake", "fixme", "todo", "xxx")
    for kernel in LAB.kernels:
        assert not any(word in LAB.source(kernel).read_text().lower() for word in telling)


def graded(sheet: dict[str, dict[str, object]]) -> Results:
    return grade(questions(LAB), sheet, read_key(LAB))


def test_the_key_earns_full_points_and_the_empty_sheet_none():
    best = graded({kernel: {field: key[field][0] for field in FIELDS} for kernel, key in KEY.items()})
    assert best.earned == best.points == len(FIELDS) * len(LAB.kernels)
    empty = graded(read_answers(LAB.sheet, LAB.sheet))
    assert (empty.earned, empty.points, empty.unknown) == (0, best.points, ())


def test_every_line_and_every_evidence_of_the_key_counts():
    for kernel, key in KEY.items():
        for field, answers in key.items():
            assert [graded({kernel: {field: answer}}).earned for answer in answers] == [1] * len(answers)


def test_no_reason_gives_an_answer_away():
    result = graded({kernel: {"fault": "scale", "line": 1, "evidence": "sync"} for kernel in LAB.kernels})
    assert result.earned == 0
    for answer in result.graded:
        secrets = KEY[answer.name.partition(".")[0]].values()
        assert not any(str(secret) in answer.reason for some in secrets for secret in some)
        assert answer.right == "–"


def test_a_sheet_is_graded_and_what_is_odd_in_it_is_reported(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text("[one]\nfault = 'strides'\nline = 4000\nlines = 3\n[eight]\nline = 3\n")
    assert cli.main(["lab", "05", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "0/21 points" in shown
    assert "'strides' is not on the list; did you mean 'stride'?" in shown
    assert "4000 is not a line of one.cu, which has lines 1 to" in shown
    assert "There is no question one.lines, eight.line." in shown
    assert cli.main(["lab", "05", str(path), "--json"]) == 0
    stated = json.loads(capsys.readouterr().out)
    assert (stated["points"], stated["max_points"], stated["unknown"]) == (0, 21, ["one.lines", "eight.line"])
    assert [answer["name"] for answer in stated["answers"]][:3] == ["one.fault", "one.line", "one.evidence"]


@pytest.fixture
def bundled(tmp_path, monkeypatch) -> FaultLab:
    """The lab as a student has it: without the key, and with the sealed one."""
    folder = tmp_path / LAB.exercise / "lab"
    shutil.copytree(LAB.folder, folder)
    lab = dataclasses.replace(LAB, folder=folder)
    sealed.sealed_key(lab).write_text(sealed.seal(LAB))
    monkeypatch.setattr(registry, "SOLUTIONS", tmp_path / "solutions")
    monkeypatch.setattr(cli_lab, "find_lab", lambda _: lab)
    return lab


def test_a_student_learns_for_which_kernels_all_answers_are_right(bundled, tmp_path, capsys):
    right = {kernel: {field: KEY[kernel][field][-1] for field in FIELDS} for kernel in ("one", "six")}
    two = {field: KEY["two"][field][0] for field in FIELDS}
    assert set(sealed.compare(bundled, right).values()) == {"right", "still to do: fault, line, evidence"}
    sheet = tmp_path / "mine.toml"
    entries: dict[str, dict[str, Any]] = {
        **right,
        "two": {**two, "line": 1},
        "three": {"fault": "x"},
        "eight": {"line": 3},
    }
    sheet.write_text(
        "\n".join(
            f"[{kernel}]\n" + "\n".join(f"{field} = {answer!r}" for field, answer in entry.items())
            for kernel, entry in entries.items()
        )
    )
    assert cli.main(["lab", "05", str(sheet)]) == 0
    shown = capsys.readouterr().out
    assert "2 of 7 kernels" in shown
    assert re.search(r"^two\.cu +not yet: fault, line or evidence is wrong$", shown, re.MULTILINE)
    assert re.search(r"^three\.cu +still to do: line, evidence$", shown, re.MULTILINE)
    assert "three.fault: 'x' is not on the list" in shown
    assert "There is no question eight.line." in shown
    assert cli.main(["lab", "05", str(sheet), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["one"] == "right"


def test_the_sealed_key_has_no_answer_in_it_and_no_salt_twice():
    text, again = sealed.seal(LAB), sealed.seal(LAB)
    assert not any(fault in text for fault in LAB.faults)
    salts = {entry["salt"] for made in (text, again) for entry in json.loads(made).values()}
    assert len(salts) == 2 * len(LAB.kernels)


def test_a_sealed_key_that_is_gone_is_a_sentence(bundled):
    sealed.sealed_key(bundled).unlink()
    with pytest.raises(CourseError, match=r"sealed\.json cannot be read"):
        sealed.compare(bundled, {})


def test_a_sheet_that_cannot_be_read_is_a_sentence(tmp_path, capsys):
    assert cli.main(["lab", "05", str(tmp_path / "mine.toml")]) == USAGE_ERROR
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("error: there is no ")
    assert f"copy {LAB.sheet}" in error


def test_a_kernel_of_ones_own_runs_alone(tmp_path, capsys):
    mine = tmp_path / "mine.cu"
    mine.write_text((LAB.solutions / "seven.cu").read_text())
    assert cli.main(["lab", "5", str(mine)]) == 0
    shown = capsys.readouterr().out
    assert "answer  right" in shown
    assert "no finding" in shown
    assert "Evidence" not in shown


def test_a_kernel_that_is_not_there_or_does_not_compile_is_a_sentence(tmp_path, capsys):
    mine = tmp_path / "mine.cu"
    assert cli.main(["lab", "05", str(mine)]) == USAGE_ERROR
    assert "there is no file" in capsys.readouterr().err
    mine.write_text("int attend( {\n")
    assert cli.main(["lab", "05", str(mine)]) == USAGE_ERROR
    assert "mine.cu" in capsys.readouterr().err


def test_without_a_file_all_kernels_run_and_the_words_are_listed(capsys):
    assert cli.main(["lab", "flash_attention"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{kernel}.cu" in shown for kernel in LAB.kernels)
    assert all(word in shown for word in (*LAB.faults, *EVIDENCE))
    assert "answers.toml" in shown


def test_for_an_exercise_without_a_lab_the_error_names_those_with_one(capsys):
    assert cli.main(["lab", "01"]) == USAGE_ERROR
    assert f"exercises with a lab: {LAB.exercise}" in capsys.readouterr().err


def test_the_starter_sheet_asks_all_questions_once():
    sheet = read_answers(LAB.sheet, LAB.sheet)
    asked = [f"{kernel}.{field}" for kernel, entry in sheet.items() for field in entry]
    assert asked == [question.name for question in questions(LAB)]
