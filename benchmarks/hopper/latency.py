"""How long attention takes on a Hopper GPU: exercise 06 and its steps, exercise 05, and torch's own.

    python -m benchmarks.hopper.latency [--quick] [--out FOLDER]

At the twelve shapes of exercise 06's target. Calls on several sets of inputs make a CUDA graph, the graphs of
all kernels are interleaved, and every answer is checked against fp32. Ratios are to cuDNN, in the same run.
Writes latency_GPU.json after every shape.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from benchmarks.flash.command import Keep, command
from benchmarks.flash.comparison import GraphClock, SampleCount, Side, compare
from benchmarks.flash.exact import exact_attention
from benchmarks.flash.kernels import inputs_of, kernel_sides, libraries
from benchmarks.flash.shapes import Shape
from benchmarks.flash.torch_ways import torch_sides
from benchmarks.flash.ways import CUDNN, FLASH, KernelWay
from benchmarks.hopper.results import EXERCISE, FOLDER, IN_ORDER, LIKE_05, OURS, OVERLAPPED
from common.gpu.clocks import read_clocks
from grader.spec import registry

if TYPE_CHECKING:
    import torch

SAMPLES, QUICK_SAMPLES = SampleCount(40, 1.5), SampleCount(5, 0.2)
_BOTH = (64, 128)


def shapes() -> list[Shape]:
    """Those of the target, in its order."""
    return [
        Shape(size.batch, size.heads, size.length, size.head_dim, bool(size.causal))
        for size in (case.size for case in registry.find(EXERCISE).bench)
    ]


def kernel_ways() -> tuple[list[KernelWay], list[KernelWay]]:
    """Those of 06, which are built for its architecture, and 05's."""
    from grader.gate import find as gates

    hopper = registry.find(EXERCISE)
    before, gate = gates.find("05")
    steps = {IN_ORDER: "attend_in_order", OVERLAPPED: "attend_overlapped"}
    entries = {step.entry: step for step in hopper.steps}
    return [
        *(
            KernelWay(name, "level", hopper.solution, entries[entry], exercise=EXERCISE)
            for name, entry in steps.items()
        ),
        KernelWay(OURS, "free", hopper.solution, hopper, head_dims=_BOTH, exercise=EXERCISE),
    ], [KernelWay(LIKE_05, "gated", before.solution, before, gate.free, head_dims=_BOTH)]


def on_this_gpu(quick: bool, keep: Keep) -> None:
    """The whole measurement; `keep` gets all results so far after every shape."""
    import torch

    started = time.monotonic()
    ours, earlier = kernel_ways()
    built = {
        **libraries(((way.source, way.defines) for way in ours), registry.find(EXERCISE).arch),
        **libraries((way.source, way.defines) for way in earlier),
    }

    def sides(shape: Shape) -> tuple[list[Side], list[torch.Tensor]]:
        sets = inputs_of(shape)
        tensors = [(call.buffers["queries"], call.buffers["keys"], call.buffers["values"]) for call in sets]
        rivals = [side for side in torch_sides(tensors, causal=shape.causal) if side.name in (CUDNN, FLASH)]
        wanted = [exact_attention(*each, causal=shape.causal) for each in tensors]
        return [*kernel_sides([*ours, *earlier], shape, sets, built), *rivals], wanted

    result: dict[str, Any] = {
        "clock_mhz": [read_clocks().sm_mhz],
        "cudnn": torch.backends.cudnn.version(),
        "finished": False,
        "shapes": [],
    }
    all_shapes = shapes()
    for number, shape in enumerate(all_shapes):
        found = compare(*sides(shape), GraphClock(), QUICK_SAMPLES if quick else SAMPLES, CUDNN)
        for way in found["ways"]:
            way["tflops"] = round(shape.flops / way["microseconds"] * 1e-6, 2)
        result["shapes"].append({**shape.plain(), **found})
        keep(result)
        print(f"{shape.name} ({number + 1} of {len(all_shapes)}, {time.monotonic() - started:.0f} s)")
        for way in found["ways"]:
            print(
                f"  {way['name']:34} {way['microseconds']:9.2f} us   {way['ratio']:5.2f} x cuDNN", flush=True
            )
        torch.cuda.empty_cache()
    after = read_clocks()
    result["clock_mhz"].append(after.sm_mhz)
    keep({**result, "throttled": after.throttled or None, "finished": True})


if __name__ == "__main__":
    command(__doc__, "latency", on_this_gpu, FOLDER)
