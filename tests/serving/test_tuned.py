"""Tuned configurations: what was searched, which is nearest, and that committed ones are of the solution."""

from __future__ import annotations

import dataclasses
import json

import pytest

from common.serving import flash_attention, tuned
from common.serving.tuned import Tuned
from grader.tuning.find import find

FEW = Tuned({"heads": 16, "length": 512, "kind": 0}, {"A": 1})
MANY = Tuned({"heads": 512, "length": 512, "kind": 0}, {"A": 2})
OTHER = Tuned({"heads": 16, "length": 512, "kind": 1}, {"A": 3})
COMMITTED = sorted(tuned.FOLDER.glob("*/configurations.json"))


def near(heads: int, length: int, kind: int) -> tuned.Defines:
    sizes = {"heads": heads, "length": length, "kind": kind}
    return tuned.nearest([FEW, MANY, OTHER], sizes, alike=("kind",), near=("heads", "length"))


def test_the_nearest_by_factors_is_taken_of_those_alike() -> None:
    assert near(16, 512, 0) == FEW.defines
    assert near(80, 512, 0) == FEW.defines  # 5 times, and 6.4 times the other way
    assert near(100, 512, 0) == MANY.defines
    assert near(512, 9, 1) == OTHER.defines
    assert near(0, 0, 0) == FEW.defines


def test_nothing_alike_is_nothing_tuned() -> None:
    assert near(16, 512, 2) == {}
    assert tuned.nearest([], {"heads": 1}, alike=(), near=("heads",)) == {}


def test_a_gpu_that_was_never_searched_runs_the_kernel_as_it_stands() -> None:
    assert tuned.searched("05_flash_attention", "no such GPU") == ()


def test_files_are_read_by_exercise_and_gpu_and_free_goes_before_gated(tmp_path, monkeypatch) -> None:
    def result(value: int) -> dict[str, object]:
        return {"sizes": {"heads": value}, "best": [{"defines": {"A": value}}, {"defines": {"A": 9}}]}

    held = {"exercise": "05", "device": "G", "cases": {"x": {"gated": result(1), "free": result(2)}}}
    (tmp_path / "g-05").mkdir()
    (tmp_path / "g-05" / "configurations.json").write_text(json.dumps(held))
    monkeypatch.setattr(tuned, "FOLDER", tmp_path)
    tuned.searched.cache_clear()
    try:
        assert tuned.searched("05", "G") == (Tuned({"heads": 2}, {"A": 2}),)
        assert tuned.searched("05", "H") == tuned.searched("06", "G") == ()
    finally:
        tuned.searched.cache_clear()


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.parent.name)
def test_committed_configurations_are_of_the_solution_as_it_is(path) -> None:
    held = json.loads(path.read_text())
    fingerprint = find(held["exercise"]).fingerprint()
    for case, searches in held["cases"].items():
        for search, result in searches.items():
            assert result["source"] == fingerprint, f"{case}, {search}: tune again"


def test_the_h200_has_configurations_for_few_heads_and_many() -> None:
    few = flash_attention._defines("NVIDIA H200", 16, 512, 64, False)
    many = flash_attention._defines("NVIDIA H200", 512, 512, 64, False)
    assert few
    assert many
    assert few != many


def test_a_comment_makes_no_other_kernel_and_a_number_does(tmp_path) -> None:
    tunable = find("05")
    text = tunable.source.read_text()

    def fingerprint(changed: str) -> str:
        source = tmp_path / "kernel.cu"
        source.write_text(changed)
        return dataclasses.replace(tunable, source=source).fingerprint()

    assert fingerprint(f"// another word\n\n{text}") == tunable.fingerprint()
    assert fingerprint(f"{text}\nint one = 1;\n") != tunable.fingerprint()
