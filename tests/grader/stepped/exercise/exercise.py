"""A tiny exercise for tests: two steps, a call to refuse, and a table in host memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from grader.spec import (
    STREAM,
    At,
    Call,
    Case,
    Exact,
    Exercise,
    HostTable,
    Points,
    PythonTrack,
    Size,
    Speedup,
    Step,
    case,
    i32,
    i64,
)
from grader.spec.mechanisms import Launches
from grader.spec.random_inputs import Random

MOST = 4  # rows of a table
INVALID_VALUE = 1


def one_copy(size: Size, rng: Random) -> Call:
    buffers = {"source": rng.integers(0, 1 << 30, size.n), "target": rng.integers(0, 1 << 30, size.n)}
    return Call(buffers, ("target",), (At("source"), At("target"), i32(size.n), STREAM))


def copy_one(size: Size, buffers: Mapping[str, torch.Tensor]) -> None:
    buffers["target"].copy_(buffers["source"])


def copy_nothing(size: Size, buffers: Mapping[str, torch.Tensor]) -> None:
    """What a kernel that does nothing leaves behind."""


def many_copies(size: Size, rng: Random) -> Call:
    """`copies` rows of (source, target, elements); more than MOST must be refused."""
    buffers = {}
    for number in range(size.copies):
        buffers[f"source{number}"] = rng.integers(0, 1 << 30, size.n)
        buffers[f"target{number}"] = rng.integers(0, 1 << 30, size.n)
    table = HostTable(
        tuple((At(f"source{k}"), At(f"target{k}", 1), i64(size.n - 1)) for k in range(size.copies))
    )
    outputs = tuple(name for name in buffers if name.startswith("target"))
    refused = INVALID_VALUE if size.copies > MOST else 0
    return Call(buffers, outputs, (table, i32(size.copies), STREAM), returns=refused)


def copy_many(size: Size, buffers: Mapping[str, torch.Tensor]) -> None:
    for number in range(size.copies):
        buffers[f"target{number}"][1:] = buffers[f"source{number}"][: size.n - 1]


def hidden_ones(rng: Random) -> Sequence[Case]:
    return [case("hidden 1", n=rng.number(1, 300))]


def hidden(rng: Random) -> Sequence[Case]:
    return [case("hidden 1", n=rng.number(2, 300), copies=rng.number(1, MOST))]


def step(name: str, entry: str, points: float) -> Step:
    cases = (case("one element", n=1), case("seventy", n=70))
    return Step(
        name=name,
        entry=entry,
        inputs=one_copy,
        reference=copy_one,
        compare=Exact(),
        cases=cases,
        hidden=hidden_ones,
        points=points,
        known_mistakes={"nothing at all": copy_nothing},
        mechanisms=(Launches(exactly=1),),
    )


BENCH = (case("small", n=1000, copies=4), case("larger", n=20_000, copies=3))

exercise = Exercise(
    title="Steps",
    entry="copy_many",
    inputs=many_copies,
    reference=copy_many,
    compare=Exact(),
    cases=(
        case("one", n=9, copies=1),
        case("four", n=50, copies=4),
        case("none", n=5, copies=0),
        case("too many", n=5, copies=MOST + 1),
    ),
    hidden=hidden,
    bench=BENCH,
    bytes_moved=lambda size: 8 * (size.n - 1) * size.copies,
    mechanisms=(Launches(exactly=1),),
    mechanism_case="four",
    targets=(
        Speedup(tuple(one.name for one in BENCH), passing=1.2, full=1.5, protocol="graph", share=0.5),
        Speedup((BENCH[0].name,), 1.2, 1.5, protocol="graph", share=0.5, against="copy_ for each"),
    ),
    points=Points(correct=40, clean=10, mechanism=10, speed=20),
    alternatives={"copy_ for each": copy_many},
    python=PythonTrack(function="copy_many", arguments=("rows", "count")),
    steps=(step("one copy", "copy_one", 5), step("one copy again", "copy_again", 15)),
)
