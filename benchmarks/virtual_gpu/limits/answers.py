"""The answers that what_starts.cu prints, and those of an H200 that the virtual GPU must give, too."""

from __future__ import annotations

import json
from pathlib import Path

PROGRAM = Path(__file__).parent / "what_starts.cu"
RECORD = Path(__file__).parents[2] / "data" / "virtual_gpu" / "what_starts_h200.json"

Answers = dict[str, list[tuple[str, str]]]  # by group: questions in their order; some are asked again later


def parse(printed: str) -> Answers:
    """What the program printed. An error that ends a context makes all later answers of its group worthless:
    they are left out."""
    groups: Answers = {}
    group: list[tuple[str, str]] = []
    for line in printed.splitlines():
        if line.startswith("["):
            group = groups.setdefault(line.strip("[]"), [])
        elif not (group and group[-1][1].startswith("fails with")):
            question, _, answer = line.rpartition(": ")
            group.append((question, answer))
    return groups


def recorded() -> Answers:
    """Those of the GPU that the record names."""
    groups = json.loads(RECORD.read_text())["groups"]
    return {name: [(question, answer) for question, answer in answers] for name, answers in groups.items()}


def differences(theirs: list[tuple[str, str]], ours: list[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """By question, what they and we answered. A question that we do not come to has no answer of ours."""
    found: dict[str, tuple[str, str]] = {}
    left = list(ours)
    for question, answer in theirs:
        at = next((number for number, (own, _) in enumerate(left) if own == question), None)
        own = "" if at is None else left.pop(at)[1]
        if own != answer:
            found.setdefault(question, (answer, own))
    return found
