"""Decoding, the solution's variant for one row of queries and a long cache, against torch's attention."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import pytest
import torch

from common.build.program import Target
from grader.answers.compare import answer, difference
from grader.building.build import build
from grader.devices.on_virtual.session import VirtualSession
from grader.spec import STREAM, At, Call, Case, HostTable, Normwise, Size, Step, f32, i32, i64, registry
from grader.spec.random_inputs import Random

SOURCE = registry.find("05").solution.with_name("decode.cu")
SECONDS = 60.0
INVALID_VALUE = 1
TENSORS = ("queries", "keys", "values", "out")


def decode(
    name: str,
    length: int,
    *,
    batch: int = 1,
    heads: int = 1,
    head_dim: int = 64,
    apart: int = 0,
    size: int = 10,
) -> Case:
    """`apart`: [batch, row, head, element]; `size`: magnitude of queries and keys, in tenths."""
    sizes = {"length": length, "batch": batch, "heads": heads, "head_dim": head_dim}
    return Case(name, {**sizes, "apart": apart, "size": size})


CASES = (
    decode("one key", 1),
    decode("fewer keys than lanes at once", 13, heads=2),
    decode("a split that is full", 128),
    decode("a split and one key", 129, heads=3, batch=2),
    decode("many splits", 5000),
    decode("heads of 128", 1000, head_dim=128, batch=2, heads=3),
    decode("heads of 128, many splits", 3001, head_dim=128),
    decode("more rows than the GPU has blocks", 40, batch=40, heads=30),
    decode("rows apart", 700, batch=2, heads=4, apart=1),
    decode("large scores", 900, heads=2, size=80),
)


def rows_of(size: Size, name: str) -> int:
    return size.length if name in ("keys", "values") else 1


def strides(size: Size, rows: int) -> tuple[int, int, int]:
    row = size.head_dim
    if size.apart:
        return rows * size.heads * row, row, size.heads * row
    return size.heads * rows * row, rows * row, row


def inputs(size: Size, rng: Random) -> Call:
    def tensor(name: str) -> torch.Tensor:
        outer = (rows_of(size, name), size.heads) if size.apart else (size.heads, rows_of(size, name))
        large = size.size / 10 if name in ("queries", "keys") else 1.0
        return rng.normal(size.batch, *outer, size.head_dim, scale=large).half()

    table = tuple(tuple(i64(n) for n in strides(size, rows_of(size, name))) for name in TENSORS)
    numbers = (i32(getattr(size, name)) for name in ("batch", "heads", "length", "head_dim"))
    return Call(
        {name: tensor(name) for name in TENSORS},
        ("out",),
        (*(At(name) for name in TENSORS), HostTable(table), *numbers, f32(size.head_dim**-0.5), STREAM),
    )


def reference(size: Size, buffers: Mapping[str, torch.Tensor]) -> None:
    def heads(name: str) -> torch.Tensor:
        return buffers[name].transpose(1, 2) if size.apart else buffers[name]

    found = torch.nn.functional.scaled_dot_product_attention(*(heads(name) for name in TENSORS[:3]))
    heads("out").copy_(found)


DECODE = Step("decode", "decode_attention", inputs, reference, Normwise(), CASES, lambda rng: (), points=0)


@pytest.fixture(scope="module")
def session() -> Iterator[VirtualSession]:
    built = build(SOURCE, Target.virtual())
    assert built.library is not None, built.message
    with VirtualSession(built.library) as opened:
        yield opened


@pytest.mark.parametrize("at", CASES, ids=lambda at: at.name)
def test_it_is_as_near_to_exact_attention_as_torch_is(at: Case, session: VirtualSession) -> None:
    call = inputs(at.size, Random(at.name))
    outcome = session.run(DECODE.entry, call, SECONDS)
    assert outcome.ok, outcome.message
    assert outcome.report.findings == ()
    assert len(outcome.report.launches) == 2  # splits, and their merge
    assert difference(DECODE, at.size, call, answer(DECODE, at.size, call), outcome.after) is None


def test_without_keys_the_answer_is_zero(session: VirtualSession) -> None:
    call = inputs(decode("no keys", 0, heads=2).size, Random("no keys"))
    outcome = session.run(DECODE.entry, call, SECONDS)
    assert outcome.ok, outcome.message
    assert not outcome.after["out"].any()


def test_without_rows_nothing_is_launched(session: VirtualSession) -> None:
    outcome = session.run(DECODE.entry, inputs(decode("none", 9, heads=0).size, Random("none")), SECONDS)
    assert outcome.ok, outcome.message
    assert outcome.report.launches == ()


@pytest.mark.parametrize("wrong", [{"head_dim": 96}, {"length": -1}, {"batch": -1}, {"heads": -1}])
def test_other_sizes_are_refused(wrong: dict[str, int], session: VirtualSession) -> None:
    good = decode("good", 20)
    call = inputs(good.size, Random("good"))
    places = {"batch": 5, "heads": 6, "length": 7, "head_dim": 8}
    arguments = list(call.arguments)
    for name, value in wrong.items():
        arguments[places[name]] = i32(value)
    refused = dataclasses.replace(call, arguments=tuple(arguments), returns=INVALID_VALUE)
    outcome = session.run(DECODE.entry, refused, SECONDS)
    assert outcome.ok, outcome.message
    assert difference(DECODE, good.size, refused, answer(DECODE, good.size, refused), outcome.after) is None
