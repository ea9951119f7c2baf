"""The lab of faulty kernels as a notebook shows it: runs, words, and a sheet that gives nothing away."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.lab.lab import find_lab
from grader.lab.sheet import read_key
from grader.notebook.post_mortem import SHEET, PostMortem
from grader.spec import registry
from tests.grader.notebook.html_reading import read

LAB = find_lab("05")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_faulty_copy_shows_its_finding_at_its_line_and_a_mended_one_none(folder: Path):
    shutil.copy(LAB.source("one"), folder / "faulty.cu")
    shutil.copy(registry.SOLUTIONS / LAB.exercise / "lab" / "one.cu", folder / "mended.cu")
    faulty, mended = (PostMortem("05").run(f"{name}.cu") for name in ("faulty", "mended"))
    assert "past the end of queries" in read(faulty).text
    assert "▶" in read(faulty).text
    assert "No finding." in read(mended).text
    assert "right" in repr(mended)


def test_a_file_that_is_missing_is_a_sentence(folder: Path):
    assert "there is no mine.cu" in repr(PostMortem("05").run("mine.cu"))


def test_the_words_are_those_that_answers_are_graded_by(folder: Path):
    shown = read(PostMortem("05").words()).text
    faults = [right.credits for name, right in read_key(LAB).items() if name.endswith(".fault")]
    assert all(str(word) in shown for words in faults for word in words)


def test_the_sheet_is_put_beside_the_notebook_once_and_never_overwritten(folder: Path):
    lab = PostMortem("05")
    assert "0 of 21 answers given" in repr(lab.sheet())
    path = folder / SHEET
    assert path.read_bytes() == LAB.sheet.read_bytes()
    path.write_text('[one]\nfault = "padding"\nline = 3\nevidence = "hunch"\n')
    shown = repr(lab.sheet())
    assert "3 of 21 answers given" in shown
    assert "'hunch' is not on the list" in shown


def test_a_file_that_is_not_a_sheet_is_one_error_line(folder: Path):
    (folder / SHEET).write_text("[one\n")
    assert "this is not TOML" in repr(PostMortem("05").sheet())
