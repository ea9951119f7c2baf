"""Compares two gradings of one submission with the same seed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from grader.records.record import Record
from grader.words import numbers


def with_current_names(record: Record, former: Mapping[str, str]) -> Record:
    """The record with the names that parts have now in place of `former` ones."""
    return dataclasses.replace(
        record,
        parts=[dataclasses.replace(part, name=former.get(part.name, part.name)) for part in record.parts],
        cases=[dataclasses.replace(case, step=former.get(case.step, case.step)) for case in record.cases],
    )


def differences(before: Record, after: Record) -> list[str]:
    """The differences as sentences. Measured times always differ and are left out."""
    return list(_differences(before, after))


def _differences(before: Record, after: Record) -> Iterator[str]:
    measured = not before.device.modelled
    if before.verdict != after.verdict and not (measured and _differs_by_speed_alone(before, after)):
        yield f"the verdict was {before.verdict!r} and is {after.verdict!r}"
    earned = {part.name: part.points for part in after.parts}
    for part in before.parts:
        if not (measured and part.name == "speed") and earned.get(part.name) != part.points:
            today = numbers.points(earned.get(part.name, 0.0))
            yield f"{part.name} earned {numbers.points(part.points)} and now earns {today}"
    if len(before.cases) != len(after.cases):
        yield f"{numbers.counted(len(before.cases), 'case')} before, and {len(after.cases)} now"
    for one, other in zip(before.cases, after.cases, strict=False):
        if (one.name, one.sizes) != (other.name, other.sizes):
            yield f"the case {one.name} {one.sizes} is now {other.name} {other.sizes}"
        elif (one.passed, one.reason) != (other.passed, other.reason):
            yield f"the case {one.name} was {_outcome(one.passed, one.reason)} and is " + (
                _outcome(other.passed, other.reason)
            )
    if (was := _kinds(before)) != (now := _kinds(after)):
        yield f"the findings were {', '.join(was) or 'none'} and are {', '.join(now) or 'none'}"


def _differs_by_speed_alone(before: Record, after: Record) -> bool:
    def rest(record: Record) -> list[tuple[str, float]]:
        return [(part.name, part.points) for part in record.parts if part.name != "speed"]

    return rest(before) == rest(after)


def _outcome(passed: bool, reason: str) -> str:
    return "passed" if passed else f"failed ({reason})"


def _kinds(record: Record) -> list[str]:
    """Kind and line of each finding; its folder is ignored."""
    return sorted(f"{item.get('kind')} at line {item.get('line', 0)}" for item in record.findings)
