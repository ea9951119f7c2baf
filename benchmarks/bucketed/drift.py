"""Thousands of decoding steps through one cache while importance shifts: do error and memory stay constant?

    python -m benchmarks.bucketed.drift [--device cpu|cuda|kernels] [--steps N] [--quick]

Each step stores a token at eight bits in the slot of the oldest (the sinks stay) and attends, which updates
the average importance; at intervals the cache plans for its budget and moves tokens. The topic that
queries look for shifts and returns (see `worlds`), so tokens go down and up again. Checkpoints compare the
cache with FP16, with the bytes in theory, and with tokens quantised once at the lowest width they ever
had, which is the error that `history` predicts. `cpu` and `cuda` compute with torch, `kernels` with
exercise 04's on a GPU, where attention is also timed from a cold cache. Writes drift_DEVICE.json.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import DATA
from benchmarks.bucketed.allocations import BUDGETS, counts
from benchmarks.bucketed.exact import (
    error_summary,
    exact_attention,
    held_by,
    quantized_at,
    row_errors,
)
from benchmarks.bucketed.history import History, largest_errors
from benchmarks.bucketed.worlds import SINKS, SkewedWorld
from benchmarks.output.files import described, device_stem, write
from benchmarks.output.options import described_parser
from common.gpu.clocks import exclusive
from common.serving.bucketed.cache import BucketedKVCache
from common.serving.bucketed.memory import token_bytes
from common.serving.bucketed.placement import Integers
from common.serving.bucketed.widths import WIDTHS

if TYPE_CHECKING:
    import torch

    from common.serving.device import Device

Clock = Callable[[Callable[[], object]], float]  # seconds of some work on the device
NEW_WIDTH = 8
_SAMPLES = 9  # of a time, at a checkpoint
OFTEN = 6  # moves


@dataclass(frozen=True)
class Sizes:
    batch: int = 1
    kv_heads: int = 4
    group: int = 4
    head_dim: int = 64
    window: int = 256  # tokens that the cache keeps of each sequence
    steps: int = 3000
    plan_every: int = 16
    check_every: int = 100  # not a multiple of plan_every: checkpoints also fall between two plans
    topic_steps: int = 60
    decay: float = 0.9
    judged: int = 8  # draws of queries at a checkpoint


CPU = Sizes()
GPU = Sizes(batch=4, kv_heads=32, group=1, head_dim=128, window=2048, steps=4000, topic_steps=150, judged=1)


class Drift:
    """One run. `device` is torch's or a Device of common/serving; torch's own tensors are on `data`."""

    def __init__(
        self,
        sizes: Sizes,
        budget: float,
        device: str | Device,
        data: str,
        *,
        scale_dtype: torch.dtype | None = None,
        seed: int = 1,
    ) -> None:
        self.sizes, self.budget, self.step = sizes, budget, sizes.window
        self._world = SkewedWorld(
            sizes.batch, sizes.kv_heads, sizes.group, sizes.head_dim, seed, data, sizes.topic_steps
        )
        self.cache = BucketedKVCache(
            1,
            sizes.batch,
            sizes.kv_heads,
            sizes.head_dim,
            device,
            scale_dtype=scale_dtype,
            importance_decay=sizes.decay,
            most_entries=sizes.window,
        )
        self.history = History(sizes.batch, sizes.window)
        self.moved = 0  # since the last checkpoint
        self.budgets_after_plans: list[float] = []  # what each plan left in memory, as a fraction of FP16
        self._sequences = np.arange(sizes.batch)
        self.keys, self.values = self._world.tokens(0, sizes.window)
        slots = np.tile(np.arange(sizes.window), sizes.batch)
        owners = np.repeat(self._sequences, sizes.window)
        self.cache.quantize_and_store_batch(
            0, self.keys.flatten(0, 1), self.values.flatten(0, 1), owners, slots, NEW_WIDTH
        )
        self.history.store(slice(None), NEW_WIDTH)
        for _ in range(sizes.plan_every):
            self._attend()
        self.plan()

    def advance(self) -> None:
        """One step: a new token replaces the oldest one after the sinks, and attends to all."""
        sizes = self.sizes
        slot = SINKS + (self.step - sizes.window) % (sizes.window - SINKS)
        slots = np.full(sizes.batch, slot)
        keys, values = (side[:, 0].contiguous() for side in self._world.tokens(self.step, 1))
        self.cache.remove(0, self._sequences, slots)
        self.cache.quantize_and_store_batch(0, keys, values, self._sequences, slots, NEW_WIDTH)
        self.keys[:, slot], self.values[:, slot] = keys, values
        self.history.store(slot, NEW_WIDTH)
        self._attend()
        self.step += 1
        if self.step % sizes.plan_every == 0:
            self.plan()

    def plan(self) -> None:
        wanted = self.cache.plan(0, self.budget)
        moved = self.cache.reallocate(0, wanted)
        expected = self.history.reallocate(wanted)
        if moved != expected:
            raise AssertionError(f"step {self.step}: {moved} tokens moved, but the plan asks for {expected}")
        self.moved += moved
        self.budgets_after_plans.append(self.cache.memory_stats().budget)

    def _attend(self) -> None:
        self.cache.attend(0, self._world.queries(self.step))

    def check(self, clock: Clock | None = None) -> dict[str, Any]:
        """All figures at this step, for queries that the average has not seen. The cache stays unchanged."""
        sizes, layer = self.sizes, self.cache.layers[0]
        queries = [self._world.queries(self.step) for _ in range(sizes.judged)]
        stats, views = self.cache.memory_stats(), layer.views()
        found: dict[str, Any] = {
            "step": self.step - sizes.window,
            "budget": round(stats.budget, 4),
            "bytes": stats.payload_bytes + stats.scale_bytes,
            "bytes_by_theory": self._bytes_by_theory(),
            "capacity_bytes": stats.capacity_bytes,
            "tokens": counts(self.history.width),
            "tokens_in_buckets": {str(view.bits): sum(view.lengths) for view in views},
            "map_agrees": bool(np.array_equal(self.cache.precision_map(0), self.history.width)),
            "moved": self.moved,
            **self._attention_errors(queries),
            **self._element_errors(),
        }
        self.moved = 0
        if clock is not None:
            found["microseconds"] = _microseconds(clock, lambda: layer.attend(queries[0]))
            weighing = _microseconds(clock, lambda: layer.attend_and_weigh(queries[0]))
            found["microseconds_with_weights"] = weighing
        return found

    def _bytes_by_theory(self) -> int:
        """Payload bits and scales of the widths that the plans asked for."""
        sizes, scale_bytes = self.sizes, self.cache.layers[0].scale_dtype.itemsize
        return sum(
            count * token_bytes(int(bits), sizes.kv_heads, sizes.head_dim, scale_bytes)
            for bits, count in counts(self.history.width).items()
        )

    def _attention_errors(self, queries: Sequence[torch.Tensor]) -> dict[str, float]:
        """Errors against FP16 over the rows of all queries: of the cache, and of tokens quantised once."""
        import torch

        def errors(attend: Callable[[torch.Tensor], torch.Tensor]) -> dict[str, float]:
            pairs = zip(queries, wanted, strict=True)
            return error_summary(torch.cat([row_errors(attend(rows), right) for rows, right in pairs]))

        def once(widths: Integers) -> float:
            chosen = torch.from_numpy(widths).to(self.keys.device)
            kept = quantized_at(self.keys, chosen), quantized_at(self.values, chosen)
            return errors(lambda rows: exact_attention(rows, *kept)[0])["error_median"]

        wanted = [exact_attention(rows, self.keys, self.values)[0] for rows in queries]
        return {
            **errors(self.cache.layers[0].attend),
            "error_once_at_lowest": once(self.history.lowest),
            "error_once_at_width": once(self.history.width),
        }

    def _element_errors(self) -> dict[str, Any]:
        """By the lowest width that tokens ever had: the largest error of an element over the limit in theory,
        and the mean square error over that of quantising once, of all and of those that moved often."""
        import torch

        limits = largest_errors()
        held = torch.stack(held_by(self.cache.layers[0].views(), self.sizes.window))
        first = torch.stack([self.keys, self.values]).float()
        lowest = torch.from_numpy(self.history.lowest).to(first.device)
        moved_often = torch.from_numpy(self.history.moves >= OFTEN).to(first.device)
        once = torch.stack([quantized_at(self.keys, lowest), quantized_at(self.values, lowest)]) - first
        error = held - first
        relative = error.abs() / first.abs().amax(-1, keepdim=True)
        of_limit, over_once, often = {}, {}, {}
        for bits in WIDTHS:
            chosen = lowest == bits
            if bool(chosen.any()):
                of_limit[str(bits)] = round(float(relative[:, chosen].amax()) / limits[bits], 4)
                over_once[str(bits)] = _square_ratio(error[:, chosen], once[:, chosen])
            if bool((chosen & moved_often).any()):
                often[str(bits)] = _square_ratio(
                    error[:, chosen & moved_often], once[:, chosen & moved_often]
                )
        return {
            "largest_error_over_limit": of_limit,
            "square_error_over_once": over_once,
            "square_error_over_once_if_moved_often": often,
            "most_moves": int(self.history.moves.max()),
        }


def run(drift: Drift, clock: Clock | None = None) -> list[dict[str, Any]]:
    """Runs all steps; returns the figures of every checkpoint, the first before any step."""
    found = [drift.check(clock)]
    for step in range(1, drift.sizes.steps + 1):
        drift.advance()
        if step % drift.sizes.check_every == 0:
            found.append(drift.check(clock))
    return found


def _square_ratio(error: torch.Tensor, once: torch.Tensor) -> float:
    return round(float(error.square().mean() / once.square().mean()), 3)


def _microseconds(clock: Clock, work: Callable[[], object]) -> float:
    work()
    return round(1e6 * statistics.median(clock(work) for _ in range(_SAMPLES)), 2)


def main() -> None:
    parser = described_parser(__doc__)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda", "kernels"))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--quick", action="store_true", help="the smallest budget alone, and no file")
    arguments = parser.parse_args()
    on_gpu = arguments.device != "cpu"
    sizes = GPU if on_gpu else CPU
    if arguments.steps is not None:
        sizes = Sizes(**{**asdict(sizes), "steps": arguments.steps})
    device: str | Device = arguments.device
    clock = None
    if arguments.device == "kernels":
        from benchmarks.timing.cold import cold_seconds
        from common.serving.device import gpu

        device, clock = gpu(), cold_seconds
    runs = []
    with exclusive():
        for budget in BUDGETS[:1] if arguments.quick else BUDGETS:
            begin = time.perf_counter()
            drift = Drift(sizes, budget, device, "cuda" if on_gpu else "cpu")
            checkpoints = run(drift, clock)
            runs.append({"budget": budget, "checkpoints": checkpoints})
            _tell(budget, checkpoints, time.perf_counter() - begin)
    if not arguments.quick:
        result = {**described(on_gpu), "computed_by": arguments.device, "sizes": asdict(sizes), "runs": runs}
        write(DATA / "bucketed" / f"drift_{device_stem(on_gpu)}.json", result)


def _tell(budget: float, checkpoints: list[dict[str, Any]], seconds: float) -> None:
    steps = checkpoints[-1]["step"]
    moved = sum(point["moved"] for point in checkpoints)
    print(f"budget {budget:.2f}: {steps:,} steps and {moved:,} moves in {seconds:.0f} s")
    for point in (checkpoints[0], checkpoints[len(checkpoints) // 2], checkpoints[-1]):
        print(
            f"  step {point['step']:6,}   {point['budget']:.3f} of FP16   "
            f"error {100 * point['error_median']:6.2f} %, once at the lowest width "
            f"{100 * point['error_once_at_lowest']:6.2f} %   most moves {point['most_moves']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
