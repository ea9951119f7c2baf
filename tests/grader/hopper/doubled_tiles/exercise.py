"""A tiny exercise for tests, for sm_90a: tiles that a bulk copy brings, doubled."""

from __future__ import annotations

from collections.abc import Sequence

from grader.spec import STREAM, At, Buffers, Call, Case, Exact, Exercise, Points, Size, Speedup, case, i32
from grader.spec.mechanisms import Launches
from grader.spec.random_inputs import Random

TILE = 128  # numbers


def inputs(size: Size, rng: Random) -> Call:
    buffers = {"source": rng.integers(0, 1 << 29, size.tiles * TILE)}
    buffers["target"] = rng.integers(0, 1 << 29, size.tiles * TILE)
    return Call(buffers, ("target",), (At("source"), At("target"), i32(size.tiles), STREAM))


def reference(size: Size, buffers: Buffers) -> None:
    buffers["target"].copy_(buffers["source"] * 2)


def hidden(rng: Random) -> Sequence[Case]:
    return [case("hidden 1", tiles=rng.number(2, 9))]


BENCH = case("64 tiles", tiles=64)

exercise = Exercise(
    title="Doubled tiles",
    entry="double_tiles",
    inputs=inputs,
    reference=reference,
    compare=Exact(),
    cases=(case("one tile", tiles=1), case("seven tiles", tiles=7)),
    hidden=hidden,
    bench=(BENCH,),
    bytes_moved=lambda size: 8 * TILE * size.tiles,
    mechanisms=(Launches(exactly=1),),
    targets=(Speedup((BENCH.name,), passing=0.5, full=0.6),),
    points=Points(correct=60, clean=10, mechanism=10, speed=20),
    arch="sm_90a",
)
