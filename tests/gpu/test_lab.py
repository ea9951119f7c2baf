"""A notebook's lab on hardware: check() measures, and a predicted speedup is held against the clock."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.notebook import Lab
from grader.notebook.views.answers_view import Answers
from grader.notebook.views.check_view import Check
from grader.spec import registry

EXERCISE = registry.find("01")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    folder: Path = tmp_path_factory.mktemp("lab")
    shutil.copyfile(EXERCISE.solution, folder / "kernel.cu")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return Lab("01")


def test_check_measures(lab: Lab):
    shown = lab.check()
    assert isinstance(shown, Check), repr(shown)
    assert shown.passed
    assert "Measured." in shown._repr_html_()


def test_a_predicted_speedup_is_held_against_the_clock(lab: Lab):
    (asked,) = [one for one in EXERCISE.predictions if one.needs_gpu]
    shown = lab.compare({asked.name: 1.8, "launches": 1})
    assert isinstance(shown, Answers), repr(shown)
    graded = {one.name: one for one in shown.results.graded}
    assert graded["launches"].credit == 1
    assert graded[asked.name].credit == 1, graded[asked.name].reason
    assert not graded[asked.name].pending


def test_the_virtual_gpu_is_still_there_to_look_closer(lab: Lab):
    assert "modelled" in repr(lab.compare({"speedup_of_one": 1.5}))
    assert "sectors" in repr(lab.profile(case="1 token, 8 × 128"))
