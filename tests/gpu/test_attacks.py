"""The attacks on the grader and on exercise 01, graded on a GPU: none earns there what it must not earn."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path

import pytest

from grader.pipeline.grading import grade
from grader.records.record import Record
from grader.spec import CopyBandwidth, registry
from tests.grader.attacks import ATTACKS
from tests.grader.stepped_exercise import EXERCISE
from tests.made_source import made_source

WHOLE = dataclasses.replace(EXERCISE, steps=())
KV_STORE = registry.find("01")
cheats = importlib.import_module("tests.exercises.01_kv_store.cheats")
ON_THE_CLOCK = "t"  # how the names of those begin that tests/gpu/test_cheats.py grades
OF_THE_BASELINE = KV_STORE.points.speed * sum(
    target.share for target in KV_STORE.targets if isinstance(target, CopyBandwidth)
)


def more_than(most: dict[str, float], record: Record) -> dict[str, tuple[float, str]]:
    """The parts that earned more than that, and why."""
    return {
        part.name: (part.points, part.message)
        for part in record.parts
        if part.points > most.get(part.name, 0.0)
    }


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_earns_no_more_than_on_the_virtual_gpu(name: str):
    """Which says what it must not earn: see the tests that the attacks are from."""
    source = made_source("kernel.cu", ATTACKS[name])
    virtual, gpu = (
        grade(WHOLE, source, submission="x", device=device, seed="a seed") for device in ("virtual", "gpu")
    )
    assert more_than({part.name: part.points for part in virtual.parts}, gpu) == {}, gpu.verdict
    assert gpu.verdict != "could not be graded"


@pytest.mark.parametrize("name", [name for name in cheats.CHEATS if not name.startswith(ON_THE_CLOCK)])
def test_a_cheat_against_the_kv_store_earns_what_its_first_line_says(name: str, tmp_path: Path):
    source = tmp_path / f"{name}.cu"
    source.write_text(cheats.CHEATS[name])
    record = grade(KV_STORE, source, submission=name, device="gpu", seed="a seed")
    most = cheats.may_earn(name)
    if "correct" in most:  # below it is the baseline, which reaches the bandwidth target by itself
        most["speed"] = max(most.get("speed", 0.0), OF_THE_BASELINE)
    assert more_than(most, record) == {}, record.verdict
