"""A miniature decode engine: captured graphs for several batch sizes, and the copies before each replay.

engine = DecodeEngine(device, batch_sizes=(1, 2, 4, 8), max_seq_len=64, slots=256)
engine.capture()
size = engine.prepare_for_replay(batch)   # copies, in one launch if MINISGL_USE_FUSED_COPY is 1
output = engine.replay(size)[: batch.requests]
"""

from __future__ import annotations

import bisect
import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from common.core.errors import CourseError
from common.serving.arguments import ArgumentError, require_size, require_type
from common.serving.batch import Batch, CapturedBuffers
from common.serving.device import Device
from common.serving.fused_copy import fused_copy_replay_data

if TYPE_CHECKING:
    import torch

FLAG = "MINISGL_USE_FUSED_COPY"
_FLAG_VALUES = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off", ""), False),
}
STEP_SOURCE = Path(__file__).with_name("decode_step.cu")
ROW = 128  # elements of a token's query, key or value, as in decode_step.cu
HEADS = 4
_NOT_CAPTURED = -1
_STEP_TYPES = (*["pointer"] * 6, "i64", *["pointer"] * 6, "i32", "i32", "i32", "stream")
_graph_numbers = itertools.count()  # the library's graphs belong to all engines of a process


def captured_sizes(largest: int) -> tuple[int, ...]:
    """1, 2, 4, 8 and then every multiple of 8 up to `largest`, as servers capture them."""
    largest = require_size("largest", largest, least=1)
    return tuple(size for size in (1, 2, 4, *range(8, largest + 1, 8)) if size <= largest)


def use_fused_copy() -> bool:
    """Whether the environment asks for the fused path; it is off unless it does."""
    value = os.environ.get(FLAG, "")
    fused = _FLAG_VALUES.get(value.strip().lower())
    if fused is None:
        raise CourseError(
            f"{FLAG} is {value!r}, which says neither yes nor no: set it to 1, true, yes or on for the fused "
            "copy, to 0, false, no or off for one copy after the other"
        )
    return fused


def _sizes_to_capture(batch_sizes: Sequence[int]) -> list[int]:
    """Each once, the smallest first."""
    require_type("batch_sizes", batch_sizes, Sequence, "pass a tuple such as (1, 2, 4, 8)")
    if not batch_sizes:
        raise ArgumentError("batch_sizes is empty, but a graph must be captured for one size at least")
    return sorted({require_size("a size in batch_sizes", size, least=1) for size in batch_sizes})


class DecodeEngine:
    """A model of one layer with a paged K/V cache. Its weights follow from `seed`."""

    def __init__(
        self,
        device: Device,
        batch_sizes: Sequence[int],
        max_seq_len: int,
        slots: int,
        *,
        vocabulary: int = 97,
        seed: int = 0,
        fused: bool | None = None,
        kernel: Path | None = None,
    ) -> None:
        """`fused` decides the path of the copies; without it the environment does. `kernel` is the CUDA file
        of the fused path."""
        import torch

        self.device = device
        self.batch_sizes = _sizes_to_capture(batch_sizes)
        self.slots = require_size("slots", slots)
        self.vocabulary = require_size("vocabulary", vocabulary, least=1)
        max_seq_len = require_size("max_seq_len", max_seq_len, least=1)
        self.fused = use_fused_copy() if fused is None else fused
        self._kernel = kernel
        largest = self.batch_sizes[-1]
        self.captured = CapturedBuffers(device, largest, max_seq_len)
        random = torch.Generator().manual_seed(seed)
        weights = torch.randn(vocabulary, 3, ROW, generator=random)
        # The last slots are for padding: one for each row that a batch may be short of.
        cache = torch.randn(2, slots + largest, ROW, generator=random)
        self._embedding = device.put("embedding", weights)
        self.k_cache = device.put("k_cache", cache[0])
        self.v_cache = device.put("v_cache", cache[1])
        self._queries = device.full("queries", (largest, ROW), torch.float32, 0)
        self._scores = device.full("scores", (largest * max_seq_len, HEADS), torch.float32, 0)
        self.output = device.full("output", (largest, ROW), torch.float32, 0)
        self._graphs: dict[int, int] = {}
        self._step = device.function(STEP_SOURCE, "decode_step", _STEP_TYPES)
        self._replay = device.function(STEP_SOURCE, "replay_graph", ("i32", "stream"))
        self._forget = device.function(STEP_SOURCE, "forget_graph", ("i32",))

    @property
    def padding_slot(self) -> int:
        """The first of the slots that padding may use."""
        return self.slots

    def size_for(self, requests: int) -> int:
        """The smallest captured size that holds so many requests."""
        requests = require_size("requests", requests)
        at = bisect.bisect_left(self.batch_sizes, requests)
        if at == len(self.batch_sizes):
            raise ArgumentError(
                f"a batch of {requests:,} requests is larger than the largest captured one, "
                f"{self.batch_sizes[-1]:,}: run it without a graph, or capture more"
            )
        return self.batch_sizes[at]

    def capture(self) -> None:
        """A graph for every batch size, the largest first, as its memory serves all."""
        for size in reversed(self.batch_sizes):
            self.prepare_for_capture(size)
            number = next(_graph_numbers)
            self._call_step(size, number)
            self._graphs[size] = number

    def prepare_for_capture(self, size: int) -> None:
        """Fill the captured tensors with a batch of padding and run it once: modules are loaded before a
        capture begins, and what a graph reads is sound from the start."""
        import torch

        size = require_size("size", size, least=1)
        self.size_for(size)  # it refuses what no captured tensor can hold
        rows = torch.arange(size, dtype=torch.int32)
        slots = (rows + self.padding_slot).to(self.output.device)
        self.captured.input_ids[:size].zero_()
        self.captured.positions[:size].zero_()
        self.captured.seq_lens[:size].fill_(1)
        self.captured.cu_seqlens_k[: size + 1].copy_(torch.arange(size + 1, dtype=torch.int32))
        self.captured.out_loc[:size].copy_(slots)
        self.captured.page_table[:size, 0].copy_(slots)
        self._call_step(size, _NOT_CAPTURED)
        self.device.synchronise()

    def prepare_for_replay(self, batch: Batch) -> int:
        """Bring the captured tensors up to date with a batch, padded to a captured size; that size."""
        size = batch.size
        self._graph_of(size)
        if batch.max_seqlen_k > self.captured.max_seq_len:
            raise ArgumentError(
                f"the batch's page table has {batch.max_seqlen_k:,} columns, but the captured one has "
                f"{self.captured.max_seq_len:,}: end requests that are this long, or capture a longer one"
            )
        copy = self._copy_fused if self.fused else self._copy_one_by_one
        copy(batch)
        return size

    def _copy_one_by_one(self, batch: Batch) -> None:
        captured, size = self.captured, batch.size
        captured.input_ids[:size].copy_(batch.input_ids)
        captured.out_loc[:size].copy_(batch.out_loc)
        captured.positions[:size].copy_(batch.positions)
        captured.seq_lens[:size].copy_(batch.seq_lens)
        captured.cu_seqlens_k[: size + 1].copy_(batch.cu_seqlens_k)
        captured.page_table[:size, : batch.max_seqlen_k].copy_(batch.page_table)

    def _copy_fused(self, batch: Batch) -> None:
        captured = self.captured
        fused_copy_replay_data(
            src_input_ids=batch.input_ids,
            src_out_loc=batch.out_loc,
            src_positions=batch.positions,
            src_seq_lens=batch.seq_lens,
            src_cu_seqlens_k=batch.cu_seqlens_k,
            src_page_table=batch.page_table,
            dst_input_ids=captured.input_ids,
            dst_out_loc=captured.out_loc,
            dst_positions=captured.positions,
            dst_seq_lens=captured.seq_lens,
            dst_cu_seqlens_k=captured.cu_seqlens_k,
            dst_page_table=captured.page_table,
            batch_size=batch.size,
            max_seqlen_k=batch.max_seqlen_k,
            kernel=self._kernel,
        )

    def replay(self, size: int) -> torch.Tensor:
        """Run the graph of a captured size; the output of its rows, padding included."""
        size = require_size("size", size)
        self._replay(self._graph_of(size), self.device.stream())
        return self.output[:size]

    def _graph_of(self, size: int) -> int:
        if not self._graphs:
            raise ArgumentError(
                f"there is no graph for a batch of {size}: none is captured yet, or the engine was closed, "
                "so call capture() first"
            )
        if size not in self._graphs:
            raise ArgumentError(
                f"no graph was captured for a batch of {size}: pad it to {self.size_for(size)} (the captured "
                f"sizes are {', '.join(map(str, self.batch_sizes))})"
            )
        return self._graphs[size]

    def step(self, batch: Batch) -> torch.Tensor:
        """Copies and replay; the output of the batch's requests."""
        return self.replay(self.prepare_for_replay(batch))[: batch.requests]

    def close(self) -> None:
        """Give the graphs back."""
        self.device.synchronise()
        while self._graphs:
            self._forget(self._graphs.popitem()[1])

    def _call_step(self, size: int, number: int) -> None:
        address = self.device.address
        captured, page_table = self.captured, self.captured.page_table
        state = (self._embedding, self.k_cache, self.v_cache, self._queries, self._scores, self.output)
        self._step(
            *(address(tensor, "a captured tensor") for tensor in captured.tensors()),
            page_table.stride(0),
            *(address(tensor, "a tensor of the engine") for tensor in state),
            size,
            captured.max_seq_len,
            number,
            self.device.stream(),
        )
