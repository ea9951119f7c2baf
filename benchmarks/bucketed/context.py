"""A context for attention: its tokens in FP16, their importance, a query and the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.bucketed.allocations import Reals
from benchmarks.bucketed.exact import exact_attention
from benchmarks.bucketed.worlds import SkewedWorld

if TYPE_CHECKING:
    import torch

_SEEN = 4  # queries whose weights make importance, before the measured one
_ONE_TOPIC = 1 << 60  # steps


class Context:
    """Sequences of the skewed world, [batch, kv_heads, tokens, head_dim] as torch's attention takes them.
    Each query head has its own key head."""

    def __init__(
        self, batch: int, heads: int, tokens: int, head_dim: int, device: str, seed: int = 1
    ) -> None:
        import torch

        self.batch, self.tokens, self.head_dim = batch, tokens, head_dim
        shape = (batch, heads, tokens, head_dim)
        self.keys, self.values = (torch.empty(shape, dtype=torch.float16, device=device) for _ in range(2))
        seen: list[list[torch.Tensor]] = [[] for _ in range(_SEEN + 1)]
        for sequence in range(batch):  # one at a time: a long context takes gigabytes in fp32
            world = SkewedWorld(1, heads, 1, head_dim, seed + sequence, device, _ONE_TOPIC)
            for whole, side in zip((self.keys, self.values), world.tokens(0, tokens), strict=True):
                whole[sequence] = side[0].transpose(0, 1)
            for step, queries in enumerate(seen):
                queries.append(world.queries(tokens + step))
        *before, self.queries = (torch.cat(queries) for queries in seen)
        by_token = (self.keys.transpose(1, 2), self.values.transpose(1, 2))
        weights = [exact_attention(queries, *by_token)[1] for queries in before]
        self.importance: Reals = torch.stack(weights).mean(0).double().cpu().numpy()
        self.wanted, _ = exact_attention(self.queries, *by_token)

    @property
    def half_bytes(self) -> int:
        return self.keys.nbytes + self.values.nbytes

    @property
    def query_bytes(self) -> int:
        return self.queries.nbytes

    @property
    def out_bytes(self) -> int:
        return self.queries.nbytes
