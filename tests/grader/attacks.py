"""Attacks on the grader, each a whole file for the exercise in stepped/, and what it may earn at most: from
test_given_stream, test_seen_by_the_host, test_timed_calls, test_fresh_attacks and test_attacks_by_other_apis.

Those on the model of time are not among them: they mean nothing to a GPU, which has a clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.records.record import Record
from tests.grader import test_attacks_by_other_apis as other_apis
from tests.grader import test_fresh_attacks as fresh
from tests.grader import test_given_stream as given_stream
from tests.grader import test_seen_by_the_host as seen_by_the_host
from tests.grader import test_timed_calls as timed
from tests.grader.stepped_exercise import EXERCISE, SOLUTION

_HOST_FUNCTION = fresh.LAUNCH + " cudaLaunchHostFunc(stream, [](void*) {}, nullptr);"


def _with_launch(launch: str, before: str = "") -> str:
    return fresh.edited(before, launch)


def _for_each_row(work: str, before: str) -> str:
    return _with_launch(other_apis.EACH_ROW.format(work), before)


# What the exercise's parts are worth to an attack; a part that is not named must earn nothing.
NOTHING: dict[str, float] = {}
_ALL = vars(EXERCISE.points)
_BUT_CLEAN = {name: worth for name, worth in _ALL.items() if name != "clean"}
_BUT_SPEED = {name: worth for name, worth in _ALL.items() if name != "speed"}
# One of the cases is wrong, so at least one sixth of the points for right answers is lost, and all others.
_NOT_ALL_RIGHT = {"correct": _ALL["correct"] * 5 / 6}


@dataclass(frozen=True)
class Attack:
    """A whole file, and the points of each part that it may earn at most."""

    text: str
    may_earn: Mapping[str, float]


def _attacks() -> Iterator[tuple[str, str]]:
    for name, (launch, _) in given_stream.ELSEWHERE.items():
        yield name, _with_launch(launch)
    yield "a function of the host", _with_launch(_HOST_FUNCTION)
    for name, (launch, _, _) in seen_by_the_host.SEEN.items():
        yield f"seen {name}", _with_launch(launch, "#include <cstdio>\n" + seen_by_the_host.PRINTS)
    for name in ("hidden_copy", "copy_one"):
        yield f"smuggled as {name}", _with_launch(fresh.LAUNCH_HIDDEN, fresh.SMUGGLED.replace("NAME", name))
    for name, way in fresh.SEEN.items():
        mailbox = fresh.HOST_ANSWERS + "__device__ int mailbox[32768];\n"
        yield name, _for_each_row(way.replace("LAUNCH", fresh.LAUNCH), mailbox)
    for name, (before, launch, _) in fresh.STRANGE_ENDS.items():
        yield name, _with_launch(launch, before)
    for name, (_, by_the_driver) in other_apis.TWINS.items():
        yield f"{name}, by the driver API", _for_each_row(by_the_driver, other_apis.DRIVER)
    for name, made in other_apis.SHARED.items():
        work = made + other_apis.BY_THE_HOST
        yield f"memory that is {name}", _for_each_row(work, other_apis.BESIDE_THE_HOST)
    yield "data beside nvcc's device code", fresh.BESIDE
    yield "a module of the driver API", other_apis.MODULE
    yield "a graph of its own nodes", other_apis.OWN_NODES
    yield "rows kept in the heap of device code", other_apis.KEPT_IN_THE_HEAP
    yield "copies of many small pieces", other_apis.SMALL_PIECES


def _at_timed_sizes() -> Iterator[tuple[str, str, Mapping[str, float]]]:
    honest = SOLUTION.read_text()
    wait = f"{timed.LAUNCH}\n  if ({timed.TIMED_ONLY}) cudaStreamSynchronize(stream);"
    race, behind = (honest.replace(timed.COPY, wrong + timed.COPY) for wrong in (timed.RACE, timed.BEHIND))
    yield "a race at a timed size", race, _BUT_CLEAN
    yield "an access behind the end at a timed size", behind, _BUT_CLEAN
    by_host = honest.replace(timed.LAUNCH, timed.ON_THE_HOST + timed.LAUNCH)
    yield "the host at a timed size", by_host, _NOT_ALL_RIGHT
    yield "a wait at a timed size", honest.replace(timed.LAUNCH, wait), _BUT_SPEED


ATTACKS = {name: Attack(text, NOTHING) for name, text in _attacks()} | {
    name: Attack(text, may_earn) for name, text, may_earn in _at_timed_sizes()
}


def more_than(most: Mapping[str, float], record: Record) -> dict[str, tuple[float, str]]:
    """The parts that earned more than that, and why."""
    return {
        part.name: (part.points, part.message)
        for part in record.parts
        if part.points > most.get(part.name, 0.0)
    }
