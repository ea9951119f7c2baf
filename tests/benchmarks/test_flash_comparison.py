"""Ways to attention are checked before they are timed, and a file says what was found."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence

import pytest
import torch

from benchmarks.flash import decode, latency
from benchmarks.flash.comparison import Attend, SampleCount, Side, compare
from benchmarks.flash.exact import exact_attention, largest_error
from benchmarks.flash.kernels import inputs_of
from benchmarks.flash.shapes import Shape
from benchmarks.flash.ways import V2
from common.core.errors import CourseError
from grader.spec import Call
from tests.benchmarks import planted_flash

FEW = SampleCount(3, 1.0)


class SetClock:
    """Ten microseconds a call, but for those that are said to take longer."""

    def __init__(self, longer: dict[Attend, float] | None = None) -> None:
        self._longer = longer or {}

    def prepared(self, calls: Sequence[Attend]) -> Callable[[], float]:
        return lambda: self._longer.get(calls[0], 1e-5)


def tensors_of(call: Call) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return call.buffers["queries"], call.buffers["keys"], call.buffers["values"]


def torchs(call: Call, causal: bool = False) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(*tensors_of(call), is_causal=causal)


@pytest.mark.parametrize("causal", [False, True])
def test_exact_attention_is_torchs(causal: bool) -> None:
    (call, *_) = inputs_of(Shape(2, 3, 40, causal=causal), "cpu")
    wanted = exact_attention(*tensors_of(call), causal=causal)
    assert wanted.dtype == torch.float32
    in_double = [tensor.double() for tensor in tensors_of(call)]
    exact = torch.nn.functional.scaled_dot_product_attention(*in_double, is_causal=causal)
    assert largest_error(exact, wanted) < 1e-5
    assert 1e-5 < largest_error(torchs(call, causal), wanted) < 2e-3


def test_one_wrong_row_is_an_error() -> None:
    wanted = torch.ones(1, 2, 8, 64)
    off = wanted.clone()
    off[0, 1, 3] *= 1.5
    assert largest_error(off, wanted) == pytest.approx(0.5)


def test_wrong_failing_and_slow_ways_are_left_out_and_why_is_said() -> None:
    (call, *_) = inputs_of(Shape(1, 1, 16), "cpu")
    right = functools.partial(torchs, call)

    def fails() -> torch.Tensor:
        raise RuntimeError("No available kernel.\nAborting execution.")

    def slow() -> torch.Tensor:
        return right()

    stale = right()
    sides = [
        Side("right", "v2", [right]),
        Side("wrong", "level", [lambda: 1.1 * right()]),
        Side("fails", "torch", [fails]),
        Side("slow", "v1", [slow]),
        Side("does nothing", "level", [lambda: stale], [stale]),
    ]
    found = compare(sides, [exact_attention(*tensors_of(call))], SetClock({slow: 0.05}), FEW, "right")
    assert [way["name"] for way in found["ways"]] == ["right"]
    assert found["ways"][0]["ratio"] == 1
    assert list(found["left_out"]) == ["wrong", "fails", "slow", "does nothing"]
    assert found["left_out"]["fails"] == "does not run here: No available kernel."
    assert found["left_out"]["slow"] == "a call takes 50 ms"
    with pytest.raises(CourseError, match="wrong, the reference for all ratios, is left out"):
        compare(sides[1:2], [exact_attention(*tensors_of(call))], SetClock(), FEW, "wrong")


def test_long_rounds_have_fewer_samples_but_some() -> None:
    samples = SampleCount(40, 1.2)
    assert [samples.of(seconds) for seconds in (1e-4, 0.0599, 10.0)] == [40, 20, 12]


def test_a_measurement_says_what_its_shape_is_and_how_fast_each_way() -> None:
    shape = Shape(1, 2, 240, causal=True)

    def sides(of: Shape) -> tuple[list[Side], list[torch.Tensor]]:
        sets = inputs_of(of, "cpu")
        calls = [functools.partial(torchs, call, of.causal) for call in sets]
        return [Side(V2, "v2", calls)], [exact_attention(*tensors_of(call), causal=True) for call in sets]

    found = latency.measure(shape, sides, SetClock(), FEW)
    (way,) = found["ways"]
    assert found["flops"] == shape.flops
    assert way["microseconds"] == 10
    assert way["tflops"] == round(shape.flops / 10e-6 / 1e12, 2)
    assert way["error"] < 2e-3
    planted = planted_flash.latency()["shapes"][0]
    assert found.keys() == planted.keys()  # so that tests of tables and charts say something of real files
    assert way.keys() == planted["ways"][0].keys()
    json.dumps(found)


def test_decoding_is_measured_in_bytes() -> None:
    call = decode.inputs_of(2, 3, 50, 64, "cpu")
    side = Side(decode.OURS, "decode", [functools.partial(torchs, call)])
    found = decode.measure(call, lambda _: [side], SetClock(), FEW, bandwidth=1e9)
    assert found["bytes"] == 2 * 2 * 3 * 64 * (50 + 50 + 2)
    assert found["context"] == 50
    (way,) = found["ways"]
    assert way["share_of_copy_bandwidth"] == round(found["bytes"] / 10e-6 / 1e9, 4)
    planted = planted_flash.decode()["shapes"][0]
    assert found.keys() == planted.keys()
    assert way.keys() == planted["ways"][0].keys()
    json.dumps(found)
