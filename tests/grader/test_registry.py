"""Exercises are found by folder; a folder of the same name elsewhere is another exercise."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.spec import registry

SPEC = """
from grader.spec import Exact, Exercise, Points, case
from .words import TITLE

exercise = Exercise(
    title=TITLE, entry="f", inputs=lambda size, rng: None, reference=lambda size, buffers: None,
    compare=Exact(), cases=(case("one", n=1),), hidden=lambda rng: (), bench=(),
    bytes_moved=lambda size: 0, mechanisms=(),
    targets=(), points=Points(correct=1, clean=0, mechanism=0, speed=0),
)
"""


def test_two_folders_of_one_name_are_two_exercises(tmp_path: Path) -> None:
    folders = [tmp_path / course / "01_same" for course in ("here", "there")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "exercise.py").write_text(SPEC)
        (folder / "words.py").write_text(f"TITLE = {folder.parent.name!r}\n")
    assert [registry.load(folder).title for folder in folders] == ["here", "there"]
    assert registry.load(folders[0]).title == "here"


def test_an_unknown_bench_case_is_reported_with_the_known_ones():
    with pytest.raises(LookupError, match="there is no case '2 tokens'; the cases are '1 token, 8 × 128', "):
        registry.find("01").bench_case("2 tokens")
