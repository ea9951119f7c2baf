"""The keys and values of all layers, in buckets by width or, for comparison, all at eight bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from common.serving.arguments import ArgumentError, require_type
from common.serving.bucketed.allocator import NORMAL_ERRORS, allocate
from common.serving.bucketed.checks import array, whole
from common.serving.bucketed.importance import ImportanceAverage
from common.serving.bucketed.layer import CAPACITY_STEP, BucketedCacheLayer
from common.serving.bucketed.memory import MemoryStats
from common.serving.bucketed.placement import Integers, integers
from common.serving.bucketed.views import BucketView, QuantizedView
from common.serving.bucketed.widths import WIDTHS, require_width, require_widths

if TYPE_CHECKING:
    import torch

    from common.serving.device import Device

UNIFORM_WIDTH = 8


class BucketedKVCache:
    """`layers` of a BucketedCacheLayer; what the two have in common is described there.

    Without `use_bucketed_layout` every token takes eight bits, whatever width is asked for: the same calls
    drive the uniform INT8 cache that the bucketed one is measured against. With `importance_decay`, each
    attention pass feeds a moving average of the weight that every token gets.
    """

    def __init__(
        self,
        layers: int,
        batch: int,
        kv_heads: int,
        head_dim: int,
        device: str | torch.device | Device,
        widths: Sequence[int] = WIDTHS,
        scale_dtype: torch.dtype | None = None,
        capacity: int = CAPACITY_STEP,
        *,
        use_bucketed_layout: bool = True,
        importance_decay: float | None = None,
        most_entries: int | None = None,
    ) -> None:
        layers = whole("layers", layers, 1)
        require_type("use_bucketed_layout", use_bucketed_layout, bool)
        self.use_bucketed_layout = use_bucketed_layout
        self.widths = require_widths("widths", widths)
        stored = self.widths if use_bucketed_layout else (UNIFORM_WIDTH,)
        self.layers = [
            BucketedCacheLayer(
                batch,
                kv_heads,
                head_dim,
                device,
                stored,
                scale_dtype,
                capacity,
                most_entries=most_entries,
            )
            for _ in range(layers)
        ]
        self._importance: list[ImportanceAverage] = []
        if importance_decay is not None:
            self._importance = [
                ImportanceAverage(batch, layer.backend.torch_device, importance_decay)
                for layer in self.layers
            ]

    # Changes

    def quantize_and_store_batch(
        self,
        layer: int,
        keys: torch.Tensor,
        values: torch.Tensor,
        sequences: Any,
        slots: Any,
        widths: Any,
        token_ids: Any = None,
    ) -> None:
        """New tokens, fp16 [tokens, kv_heads, head_dim], each into the bucket of its width."""
        self._layer(layer).store(keys, values, sequences, slots, self._stored_widths(widths), token_ids)
        if self._importance:
            self._importance[layer].add(sequences, slots)

    def remove(self, layer: int, sequences: Any, slots: Any) -> None:
        self._layer(layer).remove(sequences, slots)
        if self._importance:
            self._importance[layer].remove(sequences, slots)

    def reallocate(self, layer: int, precision_map: Any) -> int:
        """Move tokens to the widths of a map [batch, slots]; where it says 0, or ends, they stay as they are.
        Returns how many moved."""
        wanted = array("precision_map", precision_map)
        batch = self._layer(layer).batch
        if wanted.ndim != 2 or wanted.shape[0] != batch:
            raise ArgumentError(
                f"precision_map has shape {list(wanted.shape)}, but must be [{batch}, slots]: a row for each "
                "sequence"
            )
        sequences, slots = np.nonzero(wanted)
        widths = self._stored_widths(wanted[sequences, slots])
        return self._layer(layer).move(sequences, slots, widths)

    def _requantize_single(self, layer: int, sequence: int, slot: int, width: int) -> None:
        """One token to another width: what `reallocate` does to many at once."""
        self._layer(layer).move([sequence], [slot], self._stored_widths(width))

    # Views

    def get_bucket_views(self, layer: int) -> dict[int, BucketView]:
        """The tensors of each width."""
        return {view.bits: view for view in self._layer(layer).views()}

    def retrieve_all_quantized(self, layer: int) -> QuantizedView:
        """All buckets and where each would begin if they lay end to end. Nothing is copied, and nothing
        waits for the device."""
        views = self._layer(layer).views()
        lengths = zip(*(view.lengths for view in views), strict=True)
        return QuantizedView(views, tuple(tuple(accumulate(row, initial=0)) for row in lengths))

    def precision_map(self, layer: int) -> Integers:
        """[batch, slots]: the width of each slot, 0 where there is no token."""
        return self._layer(layer).precision_map()

    def memory_stats(self) -> MemoryStats:
        """Of all layers together."""
        return MemoryStats.total(layer.memory_stats() for layer in self.layers)

    # Attention and importance

    def attend(
        self,
        layer: int,
        queries: torch.Tensor,
        mask: torch.Tensor | None = None,
        scale: float | None = None,
    ) -> torch.Tensor:
        """fp16 [batch, kv_heads · group, head_dim], see BucketedCacheLayer.attend."""
        if not self._importance:
            return self._layer(layer).attend(queries, mask, scale)
        out, weights = self._layer(layer).attend_and_weigh(queries, mask, scale)
        self._importance[layer].update(weights)
        return out

    def importance(self, layer: int) -> ImportanceAverage:
        self._layer(layer)
        if not self._importance:
            raise ArgumentError("importance is not kept: make the cache with importance_decay, as in 0.9")
        return self._importance[layer]

    def plan(self, layer: int, budget: float, errors: Mapping[int, float] = NORMAL_ERRORS) -> Integers:
        """A precision map for `reallocate`: the widths that importance suggests within a fraction of FP16."""
        average, owner = self.importance(layer), self._layer(layer)
        return allocate(
            average.values.cpu().numpy(),
            average.present.cpu().numpy(),
            budget,
            head_dim=owner.head_dim,
            scale_bytes=owner.scale_dtype.itemsize,
            widths=self.widths,
            errors=errors,
        )

    def _layer(self, number: int) -> BucketedCacheLayer:
        number = whole("layer", number, None)
        if not 0 <= number < len(self.layers):
            raise ArgumentError(f"layer is {number}, but this cache has layers 0 to {len(self.layers) - 1}")
        return self.layers[number]

    def _stored_widths(self, widths: Any) -> Any:
        """The widths themselves; all eight in a uniform cache, where they must still be ones it knows."""
        if self.use_bucketed_layout:
            return widths
        for bits in np.unique(integers("widths", widths)):
            require_width("a width", bits, self.widths)
        return np.full_like(array("widths", widths), UNIFORM_WIDTH)
