"""A lab's sheet that is handed in beside a notebook is graded by its key."""

from __future__ import annotations

import tomllib

import pytest

from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.marks.cell_marks import CellMark
from grader.nbgrader.marks.lab_sheet import lab_of, mark_sheet, shown_at_the_end

NAME = "05_flash_attention"


@pytest.fixture
def folder(tmp_path) -> ClassFolder:
    made = ClassFolder(tmp_path)
    made.handed_in("ada", NAME).mkdir(parents=True)
    return made


def sheet(**changed: str) -> str:
    """All answers right, but for those of the kernels in `changed`."""
    lab = lab_of(NAME)
    assert lab is not None
    lines = []
    for kernel, key in tomllib.loads(lab.key.read_text()).items():
        fault = changed.get(kernel, key["fault"])
        lines.append(
            f'[{kernel}]\nfault = "{fault}"\nline = {key["lines"][0]}\nevidence = "{key["evidence"][0]}"\n'
        )
    return "\n".join(lines)


def marked(folder: ClassFolder, most: float | None) -> CellMark:
    mark = mark_sheet(folder, "ada", NAME, most)
    assert mark is not None
    return mark


def test_a_right_sheet_has_all_points_scaled_to_the_cell(folder):
    (folder.handed_in("ada", NAME) / "answers.toml").write_text(sheet())
    assert marked(folder, 10.0).points == 10


def test_a_wrong_answer_costs_its_share_and_is_shown(folder):
    place = folder.handed_in("ada", NAME) / "lab"
    place.mkdir()
    (place / "answers.toml").write_text(sheet(one="row-index"))
    right = 3 * sheet().count("[")
    mark = marked(folder, None)
    assert mark.points == right - 1
    [output] = shown_at_the_end(mark).outputs
    assert f"{right - 1}/{right} points" in output["data"]["text/plain"]


def test_a_damaged_sheet_has_none_with_the_reason(folder):
    (folder.handed_in("ada", NAME) / "answers.toml").write_text("[one\n")
    mark = marked(folder, 10.0)
    assert mark.points == 0
    assert repr(mark.reasons).startswith("answers.toml:1")
    assert str(folder.root) not in repr(mark.reasons)


def test_without_a_sheet_only_a_cell_that_asks_for_it_is_marked(folder):
    assert mark_sheet(folder, "ada", NAME, None) is None
    assert marked(folder, 10.0).points == 0
    assert mark_sheet(folder, "ada", "01_kv_store", None) is None
