"""The attacks on the grader and on exercise 01, graded on a GPU: none earns there what it must not earn."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path

import pytest

from grader.pipeline.grading import grade
from grader.spec import CopyBandwidth, registry
from tests.grader.attacks import ATTACKS, more_than
from tests.grader.stepped_exercise import EXERCISE
from tests.made_source import made_source

WHOLE = dataclasses.replace(EXERCISE, steps=())
KV_STORE = registry.find("01")
cheats = importlib.import_module("tests.exercises.01_kv_store.cheats")
ON_THE_CLOCK = "t"  # how the names of those begin that tests/gpu/test_cheats.py grades
# Calls that the virtual GPU ends, and that a GPU gets through: right answers, far too late.
ONLY_SLOW = {"h2_endless_grid": {"correct": KV_STORE.points.correct, "clean": KV_STORE.points.clean}}
OF_THE_BASELINE = KV_STORE.points.speed * sum(
    target.share for target in KV_STORE.targets if isinstance(target, CopyBandwidth)
)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_earns_no_more_than_its_bound(name: str):
    attack = ATTACKS[name]
    source = made_source("kernel.cu", attack.text)
    record = grade(WHOLE, source, submission="x", device="gpu", seed="a seed")
    assert more_than(attack.may_earn, record) == {}, record.verdict


@pytest.mark.parametrize("name", [name for name in cheats.CHEATS if not name.startswith(ON_THE_CLOCK)])
def test_a_cheat_against_the_kv_store_earns_what_its_first_line_says(name: str, tmp_path: Path):
    source = tmp_path / f"{name}.cu"
    source.write_text(cheats.CHEATS[name])
    record = grade(KV_STORE, source, submission=name, device="gpu", seed="a seed")
    most = cheats.may_earn(name)
    # What is correct contains the baseline, which reaches the bandwidth target by itself.
    if "correct" in most:
        most["speed"] = max(most.get("speed", 0.0), OF_THE_BASELINE)
    assert more_than(most | ONLY_SLOW.get(name, {}), record) == {}, record.verdict
