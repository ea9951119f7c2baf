"""A tiny exercise for tests: sums with rounding, scratch, counters to restore, and a step that is timed.

A row of `values` holds groups of LANES numbers; out[row] is their sum, lane by lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from grader.spec import (
    STREAM,
    At,
    Call,
    Case,
    CopyBandwidth,
    Exact,
    Exercise,
    HostTable,
    Normwise,
    Points,
    Size,
    Speedup,
    Step,
    case,
    i32,
    i64,
)
from grader.spec.random_inputs import Random

LANES = 8
PARTS = 2  # of a row that scratch has room for


def inputs(size: Size, rng: Random) -> Call:
    values = rng.normal(size.rows, size.groups, LANES).half()
    values[0] = 0  # a row whose sums must be zeros
    buffers = {
        "values": values,
        "out": rng.normal(size.rows, LANES),
        "scratch": torch.empty(size.rows, PARTS, LANES, device=rng.device),
        "counters": torch.zeros(size.rows, dtype=torch.int32, device=rng.device),
    }
    table = HostTable(((At("values"), At("out"), i64(size.groups)),))
    arguments = (table, At("scratch"), At("counters"), i32(size.rows), STREAM)
    return Call(buffers, ("out",), arguments, scratch=("scratch",))


def pool(size: Size, buffers: Mapping[str, torch.Tensor]) -> None:
    buffers["out"].copy_(buffers["values"].sum(1))


def pool_half(size: Size, buffers: Mapping[str, torch.Tensor]) -> None:
    """What is left when the second part is forgotten."""
    buffers["out"].copy_(buffers["values"][:, : (size.groups + 1) // 2].sum(1))


def twice(size: Size, rng: Random) -> Call:
    buffers = {"source": rng.integers(0, 1 << 29, size.n), "target": rng.integers(0, 1 << 29, size.n)}
    table = HostTable(((At("source"), At("target"), i64(size.n)),))
    return Call(buffers, ("target",), (table, STREAM))


def double(size: Size, buffers: Mapping[str, torch.Tensor]) -> None:
    buffers["target"].copy_(buffers["source"] * 2)


def wider(bench: Case) -> Case:
    """The baseline reads every number twice as wide, so to speak: twice the groups."""
    return case(f"{bench.name}, wide", rows=bench.size.rows, groups=2 * bench.size.groups)


def hidden(rng: Random) -> Sequence[Case]:
    return [case("hidden 1", rows=rng.number(2, 5), groups=rng.number(1, 40))]


def hidden_step(rng: Random) -> Sequence[Case]:
    return [case("hidden 1", n=rng.number(1, 300))]


BENCH = (case("64 groups", rows=8, groups=64), case("300 groups", rows=8, groups=300))
STEP_BENCH = (case("many", n=20_000), case("very many", n=1 << 26, gpu_only=True))

exercise = Exercise(
    title="Pooled rows",
    entry="pool_rows",
    inputs=inputs,
    reference=pool,
    compare=Normwise(),
    cases=(case("two rows", rows=2, groups=5), case("one group", rows=3, groups=1)),
    hidden=hidden,
    bench=BENCH,
    bytes_moved=lambda size: size.rows * (size.groups * LANES * 2 + LANES * 4),
    mechanisms=(),
    targets=(
        Speedup(tuple(one.name for one in BENCH), passing=0.5, full=0.6, least_each=0.1, share=0.5),
        CopyBandwidth(STEP_BENCH[0].name, fraction=1e-6, share=0.5, step="double_all"),
    ),
    points=Points(correct=60, clean=10, mechanism=0, speed=20),
    known_mistakes={"the second part of every row is missing": pool_half},
    baseline_case=wider,
    steps=(
        Step(
            name="doubled",
            entry="double_all",
            inputs=twice,
            reference=double,
            compare=Exact(),
            cases=(case("one", n=1), case("ninety", n=90)),
            hidden=hidden_step,
            points=10,
            bench=STEP_BENCH,
            bytes_moved=lambda size: 8 * size.n,
        ),
    ),
)
