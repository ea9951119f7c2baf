"""The error of attention over the quantised cache against FP16, by memory and by how tokens get their widths.

    python -m benchmarks.bucketed.accuracy [--device cuda] [--quick]

Two worlds (see `worlds`): normal data, where no token matters more than another, and skewed data, where a
few tokens have most of the weight. For each budget the tokens get their widths in several ways. Importance is
the cache's own average over some steps; errors are those of later steps, relative to the norm
of each row. The error of queries as bytes is measured separately: over the same cache, against exact queries.
Torch computes. Writes benchmarks/data/bucketed/accuracy.json.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import DATA
from benchmarks.bucketed.allocations import (
    BUDGETS,
    Reals,
    bench_widths,
    by_importance,
    counts,
    planned,
    shuffled,
)
from benchmarks.bucketed.exact import error_summary, exact_attention, held_by, row_errors
from benchmarks.bucketed.worlds import NormalWorld, SkewedWorld
from benchmarks.output.files import described, write
from benchmarks.output.options import described_parser
from common.serving.bucketed.cache import BucketedKVCache
from common.serving.bucketed.placement import Integers
from common.serving.bucketed.quantizing import joined_query, split_query

if TYPE_CHECKING:
    import torch

RESULT = DATA / "bucketed" / "accuracy.json"
DECAY = 0.9
HEAVIEST = 0.05  # the share of tokens whose weight is reported
INT8 = "uniform INT8"
BENCH_SHUFFLED = "the bench's mix, shuffled"
BENCH_IMPORTANCE = "the bench's mix, by importance"
EQUAL = "planned, all tokens equal"
IMPORTANCE = "planned by importance"
IMPORTANCE_SHUFFLED = "the same widths, shuffled"
_PLANES_AT = (INT8, BENCH_SHUFFLED)  # where the queries' own error is reported


@dataclass(frozen=True)
class Sizes:
    context: int = 4096
    batch: int = 1
    kv_heads: int = 4
    group: int = 4
    head_dim: int = 128
    seen: int = 24  # steps that feed the average
    judged: int = 8  # steps after them whose error counts


class Trial:
    """One world's tokens, and their attention in FP16."""

    def __init__(self, world: NormalWorld, sizes: Sizes) -> None:
        self._world, self._sizes = world, sizes
        self.keys, self.values = world.tokens(0, sizes.context)
        self._seen = [world.queries(sizes.context + step) for step in range(sizes.seen)]
        later = sizes.context + sizes.seen
        self._judged = [world.queries(later + step) for step in range(sizes.judged)]
        self._wanted, weights = zip(
            *(exact_attention(queries, self.keys, self.values) for queries in self._judged), strict=True
        )
        shares = sum(weights) / (sizes.judged * sizes.kv_heads * sizes.group)
        heaviest = shares.sort(-1, descending=True).values[:, : int(sizes.context * HEAVIEST)]
        self.heaviest_weight = float(heaviest.sum(-1).mean())

    def cache(self, widths: Integers | int, importance_decay: float | None = None) -> BucketedKVCache:
        sizes = self._sizes
        cache = BucketedKVCache(
            1,
            sizes.batch,
            sizes.kv_heads,
            sizes.head_dim,
            self.keys.device,
            importance_decay=importance_decay,
        )
        sequences = np.repeat(np.arange(sizes.batch), sizes.context)
        slots = np.tile(np.arange(sizes.context), sizes.batch)
        cache.quantize_and_store_batch(
            0, self.keys.flatten(0, 1), self.values.flatten(0, 1), sequences, slots, np.ravel(widths)
        )
        return cache

    def importance(self) -> Reals:
        """The average after the steps that feed it, all tokens at eight bits."""
        cache = self.cache(np.full((self._sizes.batch, self._sizes.context), 8), DECAY)
        for queries in self._seen:
            cache.attend(0, queries)
        return cache.importance(0).values.double().cpu().numpy()

    def errors(self, cache: BucketedKVCache) -> torch.Tensor:
        import torch

        found = [
            row_errors(cache.attend(0, queries), wanted)
            for queries, wanted in zip(self._judged, self._wanted, strict=True)
        ]
        return torch.cat(found)

    def errors_by_planes(self, cache: BucketedKVCache) -> dict[str, dict[str, float]]:
        """The errors of queries as one plane of bytes and as two, over this cache's contents."""
        import torch

        held = held_by(tuple(cache.get_bucket_views(0).values()), self._sizes.context)
        errors: dict[str, list[torch.Tensor]] = {"one": [], "two": []}
        for queries in self._judged:
            wanted, _ = exact_attention(queries, *held)
            high, low, scales = split_query(queries)
            for name, second in (("one", None), ("two", low)):
                found, _ = exact_attention(joined_query(high, second, scales), *held)
                errors[name].append(row_errors(found, wanted))
        return {name: error_summary(torch.cat(rows)) for name, rows in errors.items()}


def allocations(importance: Reals, head_dim: int, skewed: bool) -> Iterator[tuple[str, float, Integers]]:
    """A name, a budget and a width for each token."""
    equal = np.ones_like(importance)
    yield INT8, 0.0, np.full(importance.shape, 8)
    for budget in BUDGETS:
        bench = bench_widths(importance.shape[1], budget)
        yield BENCH_SHUFFLED, budget, shuffled(np.broadcast_to(bench, importance.shape), seed=1)
        yield EQUAL, budget, planned(equal, budget, head_dim)
        if skewed:
            plan = planned(importance, budget, head_dim)
            yield BENCH_IMPORTANCE, budget, by_importance(bench, importance)
            yield IMPORTANCE, budget, plan
            yield IMPORTANCE_SHUFFLED, budget, shuffled(plan, seed=2)


def judge(world: NormalWorld, sizes: Sizes) -> dict[str, Any]:
    """All allocations in one world."""
    trial = Trial(world, sizes)
    points = []
    for name, budget, widths in allocations(
        trial.importance(), sizes.head_dim, isinstance(world, SkewedWorld)
    ):
        cache = trial.cache(widths)
        point: dict[str, Any] = {
            "allocation": name,
            "budget_asked": budget or None,
            "budget": round(cache.memory_stats().budget, 4),
            "tokens": counts(widths),
            **error_summary(trial.errors(cache)),
        }
        if name in _PLANES_AT:
            point["planes"] = trial.errors_by_planes(cache)
        points.append(point)
        print(
            f"  {point['budget']:.3f} of FP16   {name:32} error {100 * point['error_median']:7.2f} %"
            f"   95 % of rows under {100 * point['error_95']:7.2f} %"
            + "".join(
                f"   {planes} plane{'s' if planes == 'two' else ''} {100 * errors['error_median']:.4f} %"
                for planes, errors in point.get("planes", {}).items()
            ),
            flush=True,
        )
    return {
        "weight_of_the_heaviest_twentieth": round(trial.heaviest_weight, 3),
        "rows": sizes.judged * sizes.batch * sizes.kv_heads * sizes.group,
        "points": points,
    }


def main() -> None:
    parser = described_parser(__doc__)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--quick", action="store_true", help="a short context, and no file")
    arguments = parser.parse_args()
    sizes = Sizes(context=512, seen=8, judged=4) if arguments.quick else Sizes()
    shape = (sizes.batch, sizes.kv_heads, sizes.group, sizes.head_dim)
    never = 1 << 60  # one topic throughout: `drift` measures shifts
    worlds = {
        "normal": NormalWorld(*shape, seed=1, device=arguments.device),
        "skewed": SkewedWorld(*shape, seed=2, device=arguments.device, topic_steps=never),
    }
    found = {}
    for name, world in worlds.items():
        print(f"{name} world, {sizes.context:,} tokens", flush=True)
        found[name] = judge(world, sizes)
    if not arguments.quick:
        write(RESULT, {**described(arguments.device == "cuda"), "sizes": asdict(sizes), "worlds": found})


if __name__ == "__main__":
    main()
