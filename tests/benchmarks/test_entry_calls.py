"""Entry points that benchmarks call get what the exercises say, by a library that looks at its arguments."""

from __future__ import annotations

import ctypes
import subprocess
from types import SimpleNamespace

import pytest
import torch

from benchmarks.flash import decode
from benchmarks.flash.kernels import inputs_of, kernel_sides
from benchmarks.flash.shapes import Shape
from benchmarks.flash.ways import kernel_ways
from benchmarks.timing.entry_calls import entry_call
from common.build.toolchain import find_host_compiler
from common.core.errors import CourseError

# Every entry leaves numbers in its output: a stride of the keys, and a sum of what it was given.
ECHO = """
typedef const short* Half;
int decode_attention(Half q, Half k, Half v, short* out, const long* strides, int batch, int heads,
                     int length, int dim, float scale, long stream) {
  out[0] = strides[4], out[1] = q[1] + batch + heads + length + dim;
  return scale != 0.125f ? 1 : stream != 77 ? 2 : 0;
}
int attend_scalar(Half q, Half k, Half v, short* out, const long* strides, int batch, int heads,
                  int length, float scale, int causal, long stream) {
  out[0] = strides[4], out[1] = q[1] + batch + heads + length + causal;
  return scale != 0.125f ? 1 : stream != 77 ? 2 : 0;
}
int flash_attention(Half q, Half k, Half v, short* out, const long* strides, int batch, int heads,
                    int length, int dim, float scale, int causal, int bfloat16, long stream) {
  out[0] = strides[4], out[1] = q[1] + batch + heads + length + dim + causal + bfloat16;
  return scale != 0.125f ? 1 : stream != 77 ? 2 : 0;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("echo")
    (folder / "echo.c").write_text(ECHO)
    compiler = str(find_host_compiler().path)
    command = [compiler, "-x", "c", "-shared", "-fPIC", "-o", "echo.so", "echo.c"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "echo.so"))


def numbers(tensor: torch.Tensor) -> list[int]:
    return tensor.view(torch.int16).flatten()[:2].tolist()


def test_a_call_passes_addresses_numbers_tables_and_the_stream_of_the_moment(library: ctypes.CDLL) -> None:
    call = decode.inputs_of(1, 2, 5, 64, "cpu")
    entry_call(library, decode.ENTRY, call, lambda: 77)()
    assert numbers(call.buffers["out"]) == [5 * 64, numbers(call.buffers["queries"])[1] + 1 + 2 + 5 + 64]


def test_what_an_entry_returns_is_an_error(library: ctypes.CDLL) -> None:
    call = decode.inputs_of(1, 2, 5, 64, "cpu")
    with pytest.raises(CourseError, match="decode_attention failed with cudaError 2"):
        entry_call(library, decode.ENTRY, call, lambda: 78)()


def test_steps_and_the_whole_get_their_own_arguments_on_the_same_tensors(
    library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=77))
    shape = Shape(1, 2, 30, causal=True)
    sets = inputs_of(shape, "cpu")
    scalar, whole, *_ = kernel_ways()
    built = {(way.source, way.defines): library for way in (scalar, whole)}
    given = {"scalar": 1 + 2 + 30 + 1, "whole": 1 + 2 + 30 + 64 + 1}
    sides = kernel_sides([scalar, whole], shape, sets, built)
    for side, added in zip(sides, given.values(), strict=True):
        for call, inputs in zip(side.calls, sets, strict=True):
            assert numbers(call()) == [30 * 64, numbers(inputs.buffers["queries"])[1] + added]


def test_steps_take_no_heads_of_128() -> None:
    assert (
        kernel_sides(kernel_ways()[:1], Shape(1, 1, 8, 128), inputs_of(Shape(1, 1, 8, 128), "cpu"), {}) == []
    )
