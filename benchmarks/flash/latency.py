"""How long attention takes on a GPU: V1, V2, every step, V3 in both configurations, and torch's own.

    python -m benchmarks.flash.latency [--quick] [--out FOLDER]

fp16, heads of 64 and 128, causal and not: 2 × 8 heads at lengths from 128 to 4,096, and up to 512 heads of
512 rows. Calls on several sets of inputs make a CUDA graph, and the graphs of all kernels are interleaved.
Every answer is checked against fp32. A kernel whose call takes more than 20 ms is left out, and the file
says so. Writes latency_GPU.json after every shape, so that an interrupted run keeps its results.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from benchmarks.flash.command import Keep, command
from benchmarks.flash.comparison import MOST_SECONDS, Clock, GraphClock, SampleCount, Side, compare
from benchmarks.flash.exact import exact_attention
from benchmarks.flash.kernels import inputs_of, kernel_sides, libraries
from benchmarks.flash.shapes import MAIN_LENGTH, MANY_HEADS, Shape, all_shapes, quick_shapes
from benchmarks.flash.torch_ways import torch_sides
from benchmarks.flash.ways import FREE, V2, kernel_ways
from benchmarks.timing.graphs import captured
from common.gpu.clocks import read_clocks

if TYPE_CHECKING:
    import torch

SAMPLES, QUICK_SAMPLES = SampleCount(40, 1.2), SampleCount(5, 0.2)
_BUSY_SECONDS = 1.0  # nvidia-smi takes a moment to sample
_CALLS_AT_WORK = 20  # in a graph: more of it can be queued than of single calls
Sides = Callable[[Shape], tuple[list[Side], list["torch.Tensor"]]]


def measure(shape: Shape, sides: Sides, clock: Clock, samples: SampleCount) -> dict[str, Any]:
    """All kernels at one shape. `sides` gives them and the right answers."""
    found = compare(*sides(shape), clock, samples, V2)
    for way in found["ways"]:
        way["tflops"] = round(shape.flops / way["microseconds"] * 1e-6, 2)
    return {**shape.plain(), **found}


def gpu_sides() -> Sides:
    ways = kernel_ways()
    built = libraries((way.source, way.defines) for way in ways)

    def sides(shape: Shape) -> tuple[list[Side], list[torch.Tensor]]:
        sets = inputs_of(shape)
        tensors = [(call.buffers["queries"], call.buffers["keys"], call.buffers["values"]) for call in sets]
        wanted = [exact_attention(*each, causal=shape.causal) for each in tensors]
        kernels = kernel_sides(ways, shape, sets, built)
        return [*kernels, *torch_sides(tensors, causal=shape.causal)], wanted

    return sides


def busy_clock(sides: Sides) -> int:
    """MHz of the multiprocessors while the free V3 keeps all of them busy."""
    import torch

    shape = Shape(*MANY_HEADS[-1], MAIN_LENGTH)
    side = next(side for side in sides(shape)[0] if side.name == FREE)
    calls = [side.calls[0]] * _CALLS_AT_WORK
    graph = captured(calls)
    seconds = GraphClock().prepared(calls)() * len(calls)
    for _ in range(int(_BUSY_SECONDS / seconds)):
        graph.replay()
    clocks = read_clocks()
    torch.cuda.synchronize()
    return clocks.sm_mhz


def on_this_gpu(quick: bool, keep: Keep) -> None:
    """The whole measurement; `keep` gets all results so far after every shape."""
    import torch

    from grader.timing.measured.measure import copy_bandwidth

    started = time.monotonic()
    sides = gpu_sides()
    before = read_clocks()
    result: dict[str, Any] = {
        "clock_mhz": [before.sm_mhz],
        "clock_mhz_busy": busy_clock(sides),
        "multiprocessors": torch.cuda.get_device_properties(0).multi_processor_count,
        "copy_bytes_per_second": round(copy_bandwidth()),
        "most_milliseconds_of_a_call": MOST_SECONDS * 1e3,
        "finished": False,
        "shapes": [],
    }
    shapes = quick_shapes() if quick else all_shapes()
    for number, shape in enumerate(shapes):
        found = measure(shape, sides, GraphClock(), QUICK_SAMPLES if quick else SAMPLES)
        result["shapes"].append(found)
        keep(result)
        _tell(found, f"{number + 1} of {len(shapes)}, {time.monotonic() - started:.0f} s")
        torch.cuda.empty_cache()
    after = read_clocks()
    result["clock_mhz"].append(after.sm_mhz)
    keep({**result, "throttled": after.throttled or None, "finished": True})


def _tell(shape: Mapping[str, Any], progress: str) -> None:
    print(f"{shape['name']} ({progress})")
    for way in shape["ways"]:
        print(
            f"  {way['name']:24} {way['microseconds']:9.2f} us ({way['low']:.2f} to {way['high']:.2f})"
            f"   {way['ratio']:6.2f} x V2   {way['tflops']:6.1f} TFLOP/s   error {way['error']:.1e}"
        )
    for name, reason in shape["left_out"].items():
        print(f"  {name:24} left out: {reason}")
    print(end="", flush=True)


if __name__ == "__main__":
    command(__doc__, "latency", on_this_gpu)
