"""Time and error of attention over the cache on a GPU, beside INT8 and torch's FP16.

    python -m benchmarks.bucketed.latency [--quick] [--out FOLDER]

For each batch and context, from a cold L2 and interleaved: the solution at each budget (the bench's mix of
widths and the allocator's own, with scales of fp32 and of fp16, with and without the weights that feed
importance), uniform INT8 by the solution and by baseline.cu, single widths, the buckets of one mix alone, and
torch's attention over FP16. Data is the skewed world of `worlds`, importance decides widths, and errors are
against FP16. Writes latency_GPU.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import DATA
from benchmarks.bucketed.allocations import BUDGETS, bench_widths, by_importance, counts, planned
from benchmarks.bucketed.context import Context
from benchmarks.bucketed.exact import error_summary, row_errors
from benchmarks.bucketed.stored import Buckets, cache_bytes, stored
from benchmarks.bucketed.torch_ways import usable_attentions
from benchmarks.output.files import described, device_stem, write
from benchmarks.output.options import described_parser
from benchmarks.timing.graphs import in_turns, summary
from common.gpu.clocks import exclusive, read_clocks
from common.serving.bucketed.backends import Backend
from common.serving.bucketed.memory import half_token_bytes
from common.serving.bucketed.placement import Integers
from common.serving.bucketed.widths import WIDTHS

if TYPE_CHECKING:
    import torch

Clock = Callable[[Callable[[], object]], float]
HEADS, HEAD_DIM = 32, 128
BATCHES, CONTEXTS = (1, 8), (1024, 4096, 16_384, 65_536)
TURNS = 30
BASELINE = "INT8, baseline.cu"
PARTED = 0.25  # the budget whose buckets are timed alone, too


@dataclass(frozen=True)
class Way:
    """Something to time. `kind` and the fields that are set decide where charts show it."""

    name: str
    kind: str
    call: Callable[[], torch.Tensor]
    bytes: int  # of the cache, that it reads
    budget_asked: float | None = None
    bits: int | None = None
    tokens: Mapping[str, int] | None = None


class Shape:
    """One context in all the caches that are compared."""

    def __init__(self, context: Context, ours: Backend, baseline: Backend) -> None:
        self._context, self._ours, self._baseline = context, ours, baseline
        self._scale = context.head_dim**-0.5

    def ways(self) -> Iterator[Way]:
        every = np.full(self._context.importance.shape, 8)
        int8 = self._stored(every)
        yield self._way(BASELINE, "baseline", int8, self._baseline)
        yield self._way("INT8", "int8", int8)
        yield self._way("INT8, with weights", "int8 with weights", int8, weighing=True)
        for budget in BUDGETS:
            yield from self._of_budget(budget)
        for bits in WIDTHS[:-1]:
            buckets = self._stored(np.full_like(every, bits))
            yield self._way(f"{bits} bits", "single", buckets, bits=bits)
        for name, call in usable_attentions(self._context):
            yield Way(name, "torch", call, self._context.half_bytes)

    def _of_budget(self, budget: float) -> Iterator[Way]:
        import torch

        importance, head_dim = self._context.importance, self._context.head_dim
        mix = by_importance(bench_widths(importance.shape[1], budget), importance)
        plan = np.concatenate([planned(row[None], budget, head_dim) for row in importance])
        about: dict[str, Any] = {"budget_asked": budget, "tokens": counts(mix)}
        name = f"budget {budget:.2f}"
        buckets = self._stored(mix)
        yield self._way(name, "mix", buckets, **about)
        yield self._way(f"{name}, with weights", "mix with weights", buckets, weighing=True, **about)
        if budget == PARTED:
            for bucket in buckets:
                alone = f"{name}, its {bucket.bits}-bit bucket"
                yield self._way(alone, "bucket", (bucket,), budget_asked=budget, bits=bucket.bits)
        yield self._way(f"{name}, fp16 scales", "fp16 scales", self._stored(mix, torch.float16), **about)
        about["tokens"] = counts(plan)
        yield self._way(f"{name}, planned", "planned", self._stored(plan), **about)

    def _stored(self, widths: Integers, scale_dtype: torch.dtype | None = None) -> Buckets:
        import torch

        context = self._context
        return stored(self._ours, context.keys, context.values, widths, scale_dtype or torch.float32)

    def _way(
        self,
        name: str,
        kind: str,
        buckets: Buckets,
        backend: Backend | None = None,
        *,
        weighing: bool = False,
        **about: Any,
    ) -> Way:
        context, scale, chosen = self._context, self._scale, backend or self._ours

        def attend() -> torch.Tensor:
            return chosen.attend(buckets, context.queries, None, scale)

        def attend_and_weigh() -> torch.Tensor:
            return chosen.attend_and_weigh(buckets, context.queries, None, scale, context.tokens)[0]

        return Way(name, kind, attend_and_weigh if weighing else attend, cache_bytes(buckets), **about)


def measure(
    context: Context, ours: Backend, baseline: Backend, clock: Clock, turns: int, bandwidth: float
) -> dict[str, Any]:
    """All ways at one shape. `bandwidth` is a copy's, in bytes per second, read and written."""
    ways = list(Shape(context, ours, baseline).ways())

    def timed(way: Way) -> Callable[[], float]:
        return lambda: clock(way.call)

    times = summary(in_turns({way.name: timed(way) for way in ways}, turns), BASELINE)
    int8_bytes = next(way.bytes for way in ways if way.kind == "int8")
    rows = []
    for way in ways:
        moved = way.bytes + context.query_bytes + context.out_bytes
        rate = moved / times[way.name]["microseconds"] * 1e6
        row: dict[str, Any] = {
            "name": way.name,
            "kind": way.kind,
            "budget_asked": way.budget_asked,
            "bits": way.bits,
            "tokens": way.tokens,
            "bytes": way.bytes,
            "budget": round(way.bytes / context.half_bytes, 4),
            "bound_over_int8": round(int8_bytes / way.bytes, 3),
            "share_of_copy_bandwidth": round(rate / bandwidth, 4),
            **times[way.name],
        }
        if way.kind != "bucket":  # a bucket alone is not the whole attention
            row |= error_summary(row_errors(way.call(), context.wanted))
        rows.append(row)
    return {"batch": context.batch, "context": context.tokens, "ways": rows}


def on_this_gpu(quick: bool) -> dict[str, Any]:
    """The whole measurement."""
    import torch

    from benchmarks.timing.cold import cold_seconds
    from common.serving.bucketed.kernel_backend import KernelBackend
    from common.serving.device import gpu
    from grader.spec import registry
    from grader.timing.measured.measure import copy_bandwidth

    ours = KernelBackend(gpu())
    baseline = KernelBackend(gpu(), registry.find("04").folder / "baseline.cu")
    bandwidth = copy_bandwidth()
    before = read_clocks()
    shapes = []
    for batch in BATCHES:
        for tokens in CONTEXTS[:2] if quick else CONTEXTS:
            context = Context(batch, HEADS, tokens, HEAD_DIM, "cuda")
            found = measure(context, ours, baseline, cold_seconds, 5 if quick else TURNS, bandwidth)
            shapes.append(found)
            _tell(found)
            del context
            torch.cuda.empty_cache()
    after = read_clocks()
    return {
        "clock_mhz": [before.sm_mhz, after.sm_mhz],
        "throttled": after.throttled or None,
        "copy_bytes_per_second": round(bandwidth),
        "half_token_bytes": half_token_bytes(HEADS, HEAD_DIM),
        "heads": HEADS,
        "head_dim": HEAD_DIM,
        "shapes": shapes,
    }


def _tell(shape: Mapping[str, Any]) -> None:
    print(f"batch {shape['batch']}, {shape['context']:,} tokens")
    for way in shape["ways"]:
        error = f"{100 * way['error_median']:7.2f} %" if "error_median" in way else " " * 9
        print(
            f"  {way['name']:32} {way['microseconds']:9.2f} us ({way['low']:.2f} to {way['high']:.2f})"
            f"   {way['ratio']:5.2f} x INT8, bytes allow {way['bound_over_int8']:5.2f}"
            f"   {100 * way['share_of_copy_bandwidth']:5.1f} % of a copy   error {error}",
            flush=True,
        )


def main() -> None:
    parser = described_parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="short contexts, few samples, and no file")
    parser.add_argument("--out", type=Path, default=DATA / "bucketed", help="the folder of the file")
    arguments = parser.parse_args()
    about = described(on_gpu=True)
    with exclusive():
        found = on_this_gpu(arguments.quick)
    if not arguments.quick:
        write(arguments.out / f"latency_{device_stem(on_gpu=True)}.json", {**about, **found})


if __name__ == "__main__":
    main()
