"""What a decoding step needs to know of its batch, and where a captured graph reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from common.serving.arguments import ArgumentError, require_size
from common.serving.device import Device
from common.serving.fused_copy import FIELDS

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Batch:
    """One step of some requests, each with one new token; int32, in device memory."""

    input_ids: torch.Tensor  # [size], the new tokens
    out_loc: torch.Tensor  # [size], the slots of their keys and values
    positions: torch.Tensor  # [size], their places in the sequences
    seq_lens: torch.Tensor  # [size], keys of each request, the new one included
    cu_seqlens_k: torch.Tensor  # [size + 1], running sums of seq_lens from 0
    page_table: torch.Tensor  # [size, max_seqlen_k], the slots of each request's keys
    requests: int  # the rest of `size` is padding

    @property
    def size(self) -> int:
        return self.input_ids.shape[0]

    @property
    def max_seqlen_k(self) -> int:
        return self.page_table.shape[1]

    def tensors(self) -> tuple[torch.Tensor, ...]:
        """In the order of FIELDS."""
        return tuple(getattr(self, field) for field in FIELDS)


def make_batch(
    device: Device,
    tokens: list[int],
    slots: list[list[int]],
    *,
    padded_to: int,
    padding_slot: int,
) -> Batch:
    """A batch of requests whose keys lie in these slots, the newest last.

    Padding is requests of one token, each with a slot of its own from `padding_slot` on: what they store
    disturbs nobody, themselves included.
    """
    import torch

    missing = require_size("padded_to", padded_to) - len(tokens)
    if missing < 0:
        raise ArgumentError(f"{len(tokens)} requests do not fit a batch of {padded_to}")
    if len(slots) != len(tokens) or not all(slots):
        counts = ", ".join(str(len(row)) for row in slots) or "none"
        raise ArgumentError(
            f"slots has rows of these lengths: {counts}; but each of the {len(tokens)} requests needs a row, "
            "and in it the slot of its new token at least"
        )
    rows = [*slots, *([padding_slot + number] for number in range(missing))]
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.int32)
    table = torch.zeros(padded_to, max(map(len, rows), default=0), dtype=torch.int32)
    for number, row in enumerate(rows):
        table[number, : len(row)] = torch.tensor(row, dtype=torch.int32)
    sums = torch.zeros(padded_to + 1, dtype=torch.int32)
    sums[1:] = torch.cumsum(lengths, 0)
    values = {
        "input_ids": torch.tensor(tokens + [0] * missing, dtype=torch.int32),
        "out_loc": torch.tensor([row[-1] for row in rows], dtype=torch.int32),
        "positions": lengths - 1,
        "seq_lens": lengths,
        "cu_seqlens_k": sums,
        "page_table": table,
    }
    return Batch(**{name: device.put(name, value) for name, value in values.items()}, requests=len(tokens))


class CapturedBuffers:
    """The tensors that captured graphs read, as large as the largest batch and the longest sequence.

    A graph for a smaller batch reads the first elements and rows of the same tensors.
    """

    def __init__(self, device: Device, max_batch: int, max_seq_len: int) -> None:
        import torch

        def vector(field: str, length: int) -> torch.Tensor:
            return device.full(f"captured_{field}", (length,), torch.int32, 0)

        self.max_batch = max_batch
        self.max_seq_len = max_seq_len
        self.input_ids = vector("input_ids", max_batch)
        self.out_loc = vector("out_loc", max_batch)
        self.positions = vector("positions", max_batch)
        self.seq_lens = vector("seq_lens", max_batch)
        self.cu_seqlens_k = vector("cu_seqlens_k", max_batch + 1)
        self.page_table = device.full("captured_page_table", (max_batch, max_seq_len), torch.int32, 0)

    def tensors(self) -> tuple[torch.Tensor, ...]:
        """In the order of FIELDS."""
        return tuple(getattr(self, field) for field in FIELDS)
