"""The lab: kernels show their faults where the key says, twins show nothing, every sheet gets an answer."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from common.virtual_gpu.report import Place
from grader import cli
from grader.lab.lab import EVIDENCE, MODELLED_TIME, ROUND_TRIPS, WRONG_ANSWER, Seen, find_lab, run_kernel
from grader.lab.sheet import FIELDS, grade_sheet, read_key, read_sheet
from tests.exercises.sections import write_sections

LAB = find_lab("05")
KEY = read_key(LAB)
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
    assert list(KEY) == list(read_sheet(LAB.sheet, LAB)) == list(LAB.kernels)


def test_every_kernel_has_a_fault_of_its_own_and_the_list_has_more():
    faults = [key.fault for key in KEY.values()]
    assert len(set(faults)) == len(faults)
    assert set(faults) < set(LAB.faults)
    assert all(set(key.evidence) <= set(EVIDENCE) for key in KEY.values())


@pytest.mark.parametrize("kernel", LAB.kernels)
def test_the_key_accepts_the_lines_that_the_twin_changes(kernel):
    before, after = lines_of(kernel), (LAB.solutions / f"{kernel}.cu").read_text().splitlines()
    changes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = {line + 1 for tag, low, high, _, _ in changes if tag != "equal" for line in range(low, high)}
    assert len(changed) == 1
    assert changed <= set(KEY[kernel].lines)


@pytest.mark.parametrize("kernel", SURFACES)
def test_a_finding_surfaces_at_its_line(kernel):
    kind, text = SURFACES[kernel]
    first = seen(kernel).report.findings[0]
    assert first.kind == kind
    assert KEY[kernel].evidence == (kind,)

    def shows(place: Place) -> bool:
        return Path(place.file).stem == kernel and text in lines_of(kernel)[place.line - 1]

    assert any(shows(place) for finding in seen(kernel).report.findings for place in finding.place)


@pytest.mark.parametrize("kernel", SILENT)
def test_the_others_have_no_finding(kernel):
    assert seen(kernel).report.findings == ()
    assert seen(kernel).verdict == ("wrong" if KEY[kernel].evidence == (WRONG_ANSWER,) else "right")


def test_waiting_too_long_shows_in_round_trips_and_in_time_only(seen_mended):
    [kernel] = [name for name, key in KEY.items() if key.fault == "wait-too-long"]
    faulty, mended = seen(kernel).figures, seen_mended(kernel).figures
    assert set(KEY[kernel].evidence) == {ROUND_TRIPS, MODELLED_TIME}
    assert faulty[ROUND_TRIPS] > mended[ROUND_TRIPS]
    assert faulty[MODELLED_TIME] > SLOWER * mended[MODELLED_TIME]
    others = set(faulty) - set(KEY[kernel].evidence)
    assert {name: faulty[name] for name in others} == pytest.approx({name: mended[name] for name in others})


@pytest.mark.parametrize("kernel", LAB.kernels)
def test_a_mended_twin_is_right_and_silent(kernel, seen_mended):
    mended = seen_mended(kernel)
    assert mended.report.findings == ()
    assert mended.verdict == "right", mended.failed or mended.wrong


@pytest.mark.parametrize(("kernel", "line"), OTHER_REMEDIES)
def test_other_lines_of_the_key_can_be_changed_to_mend_it_too(kernel, line, seen_mended):
    assert line in KEY[kernel].lines
    shown = seen_mended(f"{kernel}:{line}")
    assert (shown.verdict, shown.report.findings) == ("right", ())


def test_no_kernel_points_at_its_fault():
    telling = ("bug", "fault", "wrong", "mistake", "fixme", "todo", "xxx")
    for kernel in LAB.kernels:
        assert not any(word in LAB.source(kernel).read_text().lower() for word in telling)


def full_sheet() -> dict[str, dict[str, object]]:
    return {
        kernel: {"fault": key.fault, "line": key.lines[0], "evidence": key.evidence[0], "fix": "…"}
        for kernel, key in KEY.items()
    }


def test_the_key_earns_full_points_and_the_empty_sheet_none():
    best = grade_sheet(LAB, full_sheet(), KEY)
    assert best.points == best.max_points == len(FIELDS) * len(LAB.kernels)
    empty = grade_sheet(LAB, read_sheet(LAB.sheet, LAB), KEY)
    assert (empty.points, empty.max_points, empty.notes) == (0, best.max_points, ())


def test_every_line_and_every_evidence_of_the_key_counts():
    for kernel, key in KEY.items():
        for line in key.lines:
            for evidence in key.evidence:
                sheet = {kernel: {"fault": key.fault, "line": line, "evidence": evidence}}
                assert grade_sheet(LAB, sheet, KEY).points == len(FIELDS)


def test_ids_count_however_their_words_are_joined():
    sheet = {"four": {"evidence": " Wrong_Answer "}, "six": {"fault": "WAIT too long"}}
    assert grade_sheet(LAB, sheet, KEY).points == 2


def test_no_reason_gives_an_answer_away():
    wrong = {kernel: {"fault": "scale", "line": 1, "evidence": "sync"} for kernel in LAB.kernels}
    result = grade_sheet(LAB, wrong, KEY)
    assert result.points == 0
    for answer in result.graded:
        key = KEY[answer.kernel]
        assert not any(secret in answer.reason for secret in (key.fault, *key.evidence, *map(str, key.lines)))


@pytest.mark.parametrize(
    ("sheet", "reason"),
    [
        ("", "the sheet has no [one]"),
        ("one = 3", "one is 3, expected a table: [one]"),
        ("[[one]]\nline = 3", "expected a table: [one]"),
        ("[one]\nfault = 7", "7 is no text, expected an id of the list in quotes"),
        ("[one]\nfault = 'strides'", "'strides' is not on the list; did you mean 'stride'?"),
        ("[one]\nfault = '\\u001b[31mred'", "is not on the list"),
        ("[one]\nevidence = 'a feeling'", "'a feeling' is not on the list"),
        ("[one]\nevidence = ['memory']", "['memory'] is no text"),
        ("[one]\nline = 0", "not answered: lines count from 1"),
        ("[one]\nline = -3", "-3 is no line of one.cu, which has lines 1 to"),
        ("[one]\nline = 4000", "4000 is no line of one.cu"),
        (f"[one]\nline = {'9' * 4000}", "is no line of one.cu"),
        ("[one]\nline = '12'", "'12' is no whole number, expected one without quotes: line = 12"),
        ("[one]\nline = 12.0", "12.0 is no whole number"),
        ("[one]\nline = false", "False is no whole number"),
        ("[one]\nline = 2026-01-01", "is no whole number"),
    ],
)
def test_an_odd_answer_costs_its_point_and_is_told(sheet, reason, tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text(sheet)
    assert cli.main(["lab", "05", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["points"] == 0
    assert any(reason in answer["reason"] for answer in told["answers"] if answer["kernel"] == "one")
    assert all(len(answer["reason"]) < 200 and "\x1b" not in answer["reason"] for answer in told["answers"])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "there is no "),
        (b"[one\n", ":1:5: this is not TOML"),
        (b"[one]\nline = \n", ":2:8: this is not TOML"),
        (b"\xff\xfe[one]", ":1: this is not UTF-8 text"),
        (b"[one]\nline = " + b"9" * 5000, "longer than any answer can be"),
        (b"x = " + b"[" * 20000, "write answers as"),
        (b"# " + b"x" * (1 << 20), "has more than 1,048,576 bytes"),
    ],
)
def test_a_sheet_that_cannot_be_read_is_one_sentence_with_a_way_out(content, told, tmp_path, capsys):
    path = tmp_path / "mine.toml"
    if content is not None:
        path.write_bytes(content)
    assert cli.main(["lab", "05", str(path)]) == USAGE_ERROR
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("error: ")
    assert told in error
    assert "copy " in error or "write answers as" in error


def test_a_folder_is_no_sheet(tmp_path, capsys):
    assert cli.main(["lab", "05", str(tmp_path)]) == USAGE_ERROR
    assert "is a folder or a device and no text file" in capsys.readouterr().err


def test_names_that_belong_to_nothing_are_noted(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text("[eight]\nline = 3\n[one]\nlines = 3\n" + "".join(f"[x{i}]\n" for i in range(30)))
    assert cli.main(["lab", "05", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "note: 'eight' is no kernel of this lab" in shown
    assert "more names are not of this lab" in shown
    assert "0 of 21 points" in shown


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


def test_an_exercise_without_a_lab_is_told_which_have_one(capsys):
    assert cli.main(["lab", "01"]) == USAGE_ERROR
    assert f"exercises with a lab: {LAB.exercise}" in capsys.readouterr().err


def test_the_starter_sheet_is_toml_with_every_field_once():
    sheet = tomllib.loads(LAB.sheet.read_text())
    assert all(set(entry) == {*FIELDS, "fix"} for entry in sheet.values())
