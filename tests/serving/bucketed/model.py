"""What a layer should hold, kept in a plain dictionary; and random heads to fill it with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch

from common.serving.bucketed import quantizing
from common.serving.bucketed.layer import BucketedCacheLayer
from common.serving.bucketed.memory import half_token_bytes, token_bytes
from common.serving.bucketed.views import BucketView


def halves(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).half()


Side = tuple[torch.Tensor, torch.Tensor]  # packed rows and scales of a token's heads


@dataclass(frozen=True)
class Token:
    width: int
    token_id: int
    keys: Side
    values: Side

    def moved(self, width: int) -> Token:
        if width == self.width:
            return self
        return replace(
            self,
            width=width,
            keys=quantizing.requantize(*self.keys, self.width, width),
            values=quantizing.requantize(*self.values, self.width, width),
        )


@dataclass
class Model:
    """One layer: (sequence, slot) to token."""

    scale_dtype: torch.dtype
    tokens: dict[tuple[int, int], Token] = field(default_factory=dict)

    def store(
        self, keys: torch.Tensor, values: torch.Tensor, sequence: int, slot: int, width: int, token_id: int
    ) -> None:
        """Keys and values of one token, [kv_heads, head_dim]."""
        sides = (quantizing.quantize_and_pack(heads, width, self.scale_dtype) for heads in (keys, values))
        self.tokens[sequence, slot] = Token(width, token_id, *sides)

    def assert_holds_what(self, layer: BucketedCacheLayer) -> None:
        """Every token's bytes, look-ups both ways, counts, the precision map and memory statistics."""
        for view in layer.views():
            held = {place: token for place, token in self.tokens.items() if token.width == view.bits}
            self._assert_bucket(layer, view, held)
        for place, token in list(self.tokens.items())[:3]:
            keys, values = layer.read(*place)
            assert torch.equal(keys, quantizing.dequantize(*token.keys, token.width))
            assert torch.equal(values, quantizing.dequantize(*token.values, token.width))
        self._assert_counts(layer)
        self._assert_memory(layer)

    @staticmethod
    def _assert_bucket(
        layer: BucketedCacheLayer, view: BucketView, held: dict[tuple[int, int], Token]
    ) -> None:
        entries = []
        for sequence, slot in held:
            width, entry = layer.find(sequence, slot)
            assert width == view.bits
            assert layer.slot(sequence, width, entry) == slot
            entries.append(entry)
        if not held:
            return
        sequences = torch.tensor([sequence for sequence, _ in held])
        heads = (sequences, slice(None), torch.tensor(entries))
        sides = ((view.keys, view.key_scales, "keys"), (view.values, view.value_scales, "values"))
        for payload, scales, name in sides:
            rows, wanted = zip(*(getattr(token, name) for token in held.values()), strict=True)
            assert torch.equal(payload[heads], torch.stack(rows))
            assert torch.equal(scales[heads], torch.stack(wanted))
        assert view.slots[sequences, entries].tolist() == [slot for _, slot in held]
        assert view.token_ids[sequences, entries].tolist() == [token.token_id for token in held.values()]

    def _assert_counts(self, layer: BucketedCacheLayer) -> None:
        widths = layer.precision_map()
        assert {
            (sequence, slot): widths[sequence, slot]
            for sequence in range(layer.batch)
            for slot in range(widths.shape[1])
            if widths[sequence, slot]
        } == {place: token.width for place, token in self.tokens.items()}
        for view in layer.views():
            counts = [
                sum(
                    owner == sequence and token.width == view.bits
                    for (owner, _), token in self.tokens.items()
                )
                for sequence in range(layer.batch)
            ]
            assert list(view.lengths) == counts
            assert view.capacity % 64 == 0
            assert view.capacity >= max(counts)

    def _assert_memory(self, layer: BucketedCacheLayer) -> None:
        stats = layer.memory_stats()
        heads, dim, scale_bytes = layer.kv_heads, layer.head_dim, layer.scale_dtype.itemsize
        assert stats.tokens == len(self.tokens)
        bits = sum(token.width for token in self.tokens.values())
        assert stats.payload_bytes == 2 * heads * dim * bits // 8
        assert stats.scale_bytes == 2 * heads * scale_bytes * len(self.tokens)
        assert stats.metadata_bytes == 8 * len(self.tokens)
        assert stats.payload_bytes + stats.scale_bytes == sum(
            token_bytes(token.width, heads, dim, scale_bytes) for token in self.tokens.values()
        )
        room = sum(
            layer.batch * view.capacity * (token_bytes(view.bits, heads, dim, scale_bytes) + 8)
            for view in layer.views()
        )
        assert stats.capacity_bytes == room
        if self.tokens:
            assert stats.average_bits == bits / len(self.tokens)
            half = half_token_bytes(heads, dim) * len(self.tokens)
            assert stats.budget == (stats.payload_bytes + stats.scale_bytes) / half
        else:
            assert (stats.average_bits, stats.budget) == (0, 0)
