"""The lab of 06: kernels show their faults where the key says, and fixed twins are right and show nothing."""

from __future__ import annotations

import dataclasses
import difflib
import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from common.virtual_gpu.report import Place
from grader import cli
from grader.lab.lab import EVIDENCE, Seen, find_lab, run_kernel
from grader.lab.sheet import questions, read_key
from grader.questions.answer_files import read_answers
from grader.questions.grading import Results, grade
from tests.exercises.sections import write_sections

LAB = find_lab("06")
FIELDS = ("fault", "line", "evidence")
# What stands in the line where a kernel's first finding surfaces, itself or by what is inlined there; and the
# answer that the kernel gives.
SURFACES = {
    "one": ("multiply_tiles(result", "wrong"),
    "two": ("shared.full[stage].wait", "failed"),
    "three": ("produce(job, shared)", "right"),
    "four": ("store_rows(result", "right"),
    "five": ("multiply_tiles(part", "right"),
    "six": ("store_tile(job.out", "right"),
    "seven": ("shared.full[stage].wait", "right"),
}
# Lines that the twins leave alone: what stands there, and what would mend the kernel as well.
OTHER_REMEDIES = {
    ("three", 86): ("if (lane == 0) shared.empty[stage]", "if (lane == 0 && i > 0) shared.empty[stage ^ 1]"),
    ("four", 73): ("wait_for_products<1>();", "wait_for_products<0>();"),
    ("five", 33): (") {", ") { begin_products();"),
    ("six", 80): ("__syncthreads();", "fence_async(); __syncthreads();"),
}
KEY = {  # what is right, by kernel and field
    kernel: {field: tuple(read_key(LAB)[f"{kernel}.{field}"].credits) for field in FIELDS}
    for kernel in LAB.kernels
}


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


def test_it_is_built_as_its_exercise():
    assert LAB.arch == "sm_90a"


def test_the_lab_has_seven_kernels_with_a_twin_and_an_entry_in_key_and_sheet():
    assert len(LAB.kernels) == 7
    assert sorted(LAB.kernels) == sorted(path.stem for path in LAB.folder.glob("*.cu"))
    assert sorted(LAB.kernels) == sorted(path.stem for path in LAB.solutions.glob("*.cu"))
    sheet = read_answers(LAB.sheet, LAB.sheet)
    asked = [f"{kernel}.{field}" for kernel, entry in sheet.items() for field in entry]
    assert asked == [question.name for question in questions(LAB)]


def test_every_kernel_has_a_fault_of_its_own_and_the_list_has_more():
    faults = [fault for key in KEY.values() for fault in key["fault"]]
    assert len(set(faults)) == len(faults)
    assert set(faults) < set(LAB.faults)
    assert all(set(key["evidence"]) <= set(EVIDENCE) for key in KEY.values())


@pytest.mark.parametrize("kernel", LAB.kernels)
def test_the_key_accepts_the_line_that_the_twin_changes_or_those_beside_a_line_that_it_adds(kernel: str):
    before, after = lines_of(kernel), (LAB.solutions / f"{kernel}.cu").read_text().splitlines()
    opcodes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    [(tag, low, high, first, last)] = [one for one in opcodes if one[0] != "equal"]
    assert last - first == 1
    beside = {low, low + 1} if tag == "insert" else set(range(low + 1, high + 1))
    assert len(beside) <= 2
    assert beside <= set(KEY[kernel]["line"])


@pytest.mark.parametrize("kernel", LAB.kernels)
def test_a_finding_surfaces_at_its_line(kernel: str):
    text, verdict = SURFACES[kernel]
    first = seen(kernel).report.findings[0]
    assert KEY[kernel]["evidence"] == (first.kind,)
    assert seen(kernel).verdict == verdict

    def shows(place: Place) -> bool:
        return Path(place.file).stem == kernel and text in lines_of(kernel)[place.line - 1]

    assert any(shows(place) for place in first.place)


@pytest.mark.parametrize("kernel", LAB.kernels)
def test_a_mended_twin_is_right_and_silent(kernel: str, seen_mended: Callable[[str], Seen]):
    mended = seen_mended(kernel)
    assert mended.report.findings == ()
    assert mended.verdict == "right", mended.failed or mended.wrong


@pytest.mark.parametrize(("kernel", "line"), OTHER_REMEDIES)
def test_other_lines_of_the_key_can_be_changed_to_mend_it_too(
    kernel: str, line: int, seen_mended: Callable[[str], Seen]
):
    assert line in KEY[kernel]["line"]
    shown = seen_mended(f"{kernel}:{line}")
    assert (shown.verdict, shown.report.findings) == ("right", ())


def test_no_kernel_points_at_its_fault():
    telling = ("bug", "fault", "wrong", "mistake", "fixme", "todo", "xxx")
    for kernel in LAB.kernels:
        assert not any(word in LAB.source(kernel).read_text().lower() for word in telling)


def test_the_statement_says_how_many_give_the_right_answer():
    right = sum(verdict == "right" for _, verdict in SURFACES.values())
    assert right == 5
    assert "Five of the seven give the\nright answer" in (LAB.folder / "README.md").read_text()


def graded(sheet: dict[str, dict[str, object]]) -> Results:
    return grade(questions(LAB), sheet, read_key(LAB))


def test_the_key_earns_full_points_and_the_empty_sheet_none():
    best = graded({kernel: {field: key[field][0] for field in FIELDS} for kernel, key in KEY.items()})
    assert best.earned == best.points == len(FIELDS) * len(LAB.kernels)
    empty = graded(read_answers(LAB.sheet, LAB.sheet))
    assert (empty.earned, empty.points, empty.unknown) == (0, best.points, ())


def test_a_hang_names_the_barrier_and_the_bytes_that_it_lacks(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["lab", "06", str(LAB.source("two"))]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "lacks 16384 of 32768 bytes" in shown
    assert "failed hang" in shown
