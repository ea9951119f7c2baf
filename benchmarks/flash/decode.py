"""How long decoding takes on a GPU: one query row per head against a long cache, beside torch's attention.

    python -m benchmarks.flash.decode [--quick] [--out FOLDER]

solutions/05_flash_attention/decode.cu in fp16, 32 heads of 128, contexts from 1k to 64k, batch 1 and 8, from
a cold L2 and interleaved. Every answer is checked against fp32. Writes decode_GPU.json after every shape.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from benchmarks.flash.command import Keep, command
from benchmarks.flash.comparison import Clock, ColdClock, SampleCount, Side, compare
from benchmarks.flash.exact import exact_attention
from benchmarks.flash.kernels import libraries
from benchmarks.flash.torch_ways import torch_sides
from benchmarks.flash.ways import EXERCISE
from benchmarks.timing.entry_calls import entry_call
from common.gpu.clocks import read_clocks
from grader.spec import STREAM, At, Call, HostTable, f32, i32, i64, registry
from grader.spec.random_inputs import Random

if TYPE_CHECKING:
    import torch

OURS, ENTRY = "decode.cu", "decode_attention"
HEADS, HEAD_DIM = 32, 128
BATCHES, CONTEXTS = (1, 8), tuple(1024 << doubled for doubled in range(7))
SAMPLES, QUICK_SAMPLES = SampleCount(30, 1.5), SampleCount(5, 0.2)
TENSORS = ("queries", "keys", "values", "out")
_PIECE = 1 << 26  # elements drawn at once, in fp32: twice the size of the kept fp16
Sides = Callable[[Call], list[Side]]


def inputs_of(batch: int, heads: int, context: int, head_dim: int, device: str) -> Call:
    """Tensors of [batch, heads, rows, head_dim], where queries and out have one row."""
    rows = {"queries": 1, "keys": context, "values": context, "out": 1}
    random = Random(f"decode {batch} {context}", device)
    table = tuple((i64(heads * n * head_dim), i64(n * head_dim), i64(head_dim)) for n in rows.values())
    return Call(
        {name: _normal(random, batch, heads, rows[name], head_dim) for name in TENSORS},
        ("out",),
        (
            *(At(name) for name in TENSORS),
            HostTable(table),
            *(i32(size) for size in (batch, heads, context, head_dim)),
            f32(head_dim**-0.5),
            STREAM,
        ),
    )


def _normal(random: Random, *shape: int) -> torch.Tensor:
    import torch

    made = torch.empty(shape, dtype=torch.float16, device=random.device)
    for part in made.view(-1).split(_PIECE):
        part.copy_(random.normal(part.numel()))
    return made


def measure(call: Call, sides: Sides, clock: Clock, samples: SampleCount, bandwidth: float) -> dict[str, Any]:
    """All ways at one context. `bandwidth` is a copy's, in bytes per second, read and written."""
    queries, keys, values = (call.buffers[name] for name in TENSORS[:3])
    batch, heads, context, head_dim = keys.shape
    moved = sum(tensor.nbytes for tensor in call.buffers.values())
    found = compare(sides(call), [exact_attention(queries, keys, values)], clock, samples, OURS)
    for way in found["ways"]:
        way["share_of_copy_bandwidth"] = round(moved / way["microseconds"] * 1e6 / bandwidth, 4)
    about = {"batch": batch, "heads": heads, "context": context, "head_dim": head_dim, "bytes": moved}
    return {**about, **found}


def gpu_sides() -> Sides:
    source = registry.find(EXERCISE).solution.with_name(OURS)
    (library,) = libraries([(source, ())]).values()

    def sides(call: Call) -> list[Side]:
        queue = entry_call(library, ENTRY, call)

        def attend() -> torch.Tensor:
            queue()
            return call.buffers["out"]

        tensors = (call.buffers["queries"], call.buffers["keys"], call.buffers["values"])
        return [Side(OURS, "decode", [attend], [call.buffers["out"]]), *torch_sides([tensors])]

    return sides


def on_this_gpu(quick: bool, keep: Keep) -> None:
    """The whole measurement; `keep` gets all results so far after every shape."""
    import torch

    from grader.timing.measured.measure import copy_bandwidth

    started = time.monotonic()
    sides, bandwidth = gpu_sides(), copy_bandwidth()
    result: dict[str, Any] = {
        "clock_mhz": [read_clocks().sm_mhz],
        "copy_bytes_per_second": round(bandwidth),
        "finished": False,
        "shapes": [],
    }
    for batch in BATCHES:
        for context in CONTEXTS[:2] if quick else CONTEXTS:
            call = inputs_of(batch, HEADS, context, HEAD_DIM, "cuda")
            found = measure(call, sides, ColdClock(), QUICK_SAMPLES if quick else SAMPLES, bandwidth)
            result["shapes"].append(found)
            keep(result)
            _tell(found, f"{time.monotonic() - started:.0f} s")
            del call
            torch.cuda.empty_cache()
    after = read_clocks()
    result["clock_mhz"].append(after.sm_mhz)
    keep({**result, "throttled": after.throttled or None, "finished": True})


def _tell(shape: Mapping[str, Any], progress: str) -> None:
    print(f"batch {shape['batch']}, {shape['context']:,} keys ({progress})")
    for way in shape["ways"]:
        print(
            f"  {way['name']:24} {way['microseconds']:9.2f} us ({way['low']:.2f} to {way['high']:.2f})"
            f"   {1 / way['ratio']:6.2f} x {OURS}   {100 * way['share_of_copy_bandwidth']:5.1f} % of a copy"
            f"   error {way['error']:.1e}"
        )
    for name, reason in shape["left_out"].items():
        print(f"  {name:24} left out: {reason}")
    print(end="", flush=True)


if __name__ == "__main__":
    command(__doc__, "decode", on_this_gpu)
