"""The six copies before a CUDA-graph replay, as one launch: exercise 02's kernel behind argument checks."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from common.serving.arguments import (
    ArgumentError,
    require_disjoint,
    require_dtype,
    require_one_device,
    require_rows,
    require_size,
    require_tensor,
    require_vector,
    rows_region,
    vector_region,
)
from common.serving.device import device_of
from common.serving.kernels import chosen_kernel

if TYPE_CHECKING:
    import torch

EXERCISE = "02_fused_copy"
ENTRY = "fused_copy_replay_data"
VARIABLE = "MINISGL_FUSED_COPY_KERNEL"
FIELDS = ("input_ids", "out_loc", "positions", "seq_lens", "cu_seqlens_k", "page_table")
# As they are checked: destinations first, for they were there first, and sources should fit them.
_NAMES = (*(f"dst_{field}" for field in FIELDS), *(f"src_{field}" for field in FIELDS))
_TYPES = (*["pointer"] * 12, "i32", "i32", "i64", "i64", "stream")


def fused_copy_replay_data(
    src_input_ids: torch.Tensor,
    src_out_loc: torch.Tensor,
    src_positions: torch.Tensor,
    src_seq_lens: torch.Tensor,
    src_cu_seqlens_k: torch.Tensor,
    src_page_table: torch.Tensor,
    dst_input_ids: torch.Tensor,
    dst_out_loc: torch.Tensor,
    dst_positions: torch.Tensor,
    dst_seq_lens: torch.Tensor,
    dst_cu_seqlens_k: torch.Tensor,
    dst_page_table: torch.Tensor,
    batch_size: int,
    max_seqlen_k: int,
    *,
    kernel: Path | None = None,
) -> None:
    """Copy the first `batch_size` elements of each vector (one more of cu_seqlens_k) and `batch_size` rows of
    `max_seqlen_k` columns of the page table. Everything else in the destinations stays as it is.

    An empty batch copies nothing; without columns, nothing of the page table is copied. Rows of the page
    tables may be apart. `kernel` is the CUDA file to run, see `chosen_kernel`. Raises ArgumentError before
    anything is written.
    """
    sources = (
        src_input_ids,
        src_out_loc,
        src_positions,
        src_seq_lens,
        src_cu_seqlens_k,
        src_page_table,
    )
    destinations = (
        dst_input_ids,
        dst_out_loc,
        dst_positions,
        dst_seq_lens,
        dst_cu_seqlens_k,
        dst_page_table,
    )
    batch_size = require_size("batch_size", batch_size)
    max_seqlen_k = require_size("max_seqlen_k", max_seqlen_k)
    tensors = (*destinations, *sources)
    try:
        right = _is_plainly_right(sources, destinations, batch_size, max_seqlen_k)
    except (AttributeError, IndexError, RuntimeError):
        right = False  # no tensor, or one without a stride: what follows says so
    if not right:
        _check(tensors, batch_size, max_seqlen_k)
    if batch_size == 0:
        return
    device = device_of(_NAMES, tensors)
    copy = device.function(kernel or chosen_kernel(EXERCISE, VARIABLE), ENTRY, _TYPES)
    addresses = tuple(map(device.address, tensors, _NAMES))
    copy(
        *addresses[6:],
        *addresses[:6],
        batch_size,
        max_seqlen_k,
        src_page_table.stride(0),
        dst_page_table.stride(0),
        device.stream(),
    )


def _is_plainly_right(
    sources: tuple[torch.Tensor, ...],
    destinations: tuple[torch.Tensor, ...],
    batch_size: int,
    max_seqlen_k: int,
) -> bool:
    """A quick yes to the usual call: int32 tensors of one device that lie apart, each in one piece.

    This runs once a decoding step, where the checks that can explain themselves would cost as much as the
    copies. They are asked when the answer is no.
    """
    if batch_size == 0 or max_seqlen_k == 0:
        return False
    int32, device = _int32(), destinations[0].device
    spans = []
    for tensors in (sources, destinations):
        for tensor in tensors:
            if tensor.dtype is not int32 or tensor.device != device or tensor.stride(-1) != 1:
                return False
        for tensor, length in zip(tensors, (batch_size,) * 4 + (batch_size + 1,), strict=False):
            if tensor.ndim != 1 or tensor.numel() < length:
                return False
            start = tensor.data_ptr()
            spans.append((start, start + 4 * length))
        table = tensors[5]
        if table.ndim != 2:
            return False
        rows, columns = table.shape
        start, stride = table.data_ptr(), table.stride(0)
        if rows < batch_size or columns < max_seqlen_k or stride < max_seqlen_k:
            return False
        spans.append((start, start + 4 * ((batch_size - 1) * stride + max_seqlen_k)))
    spans.sort()
    return all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


def _check(tensors: tuple[torch.Tensor, ...], batch_size: int, max_seqlen_k: int) -> None:
    """An ArgumentError if one of the tensors, in the order of _NAMES, cannot be meant."""
    int32 = _int32()
    for name, tensor in zip(_NAMES, tensors, strict=True):
        require_tensor(name, tensor)
        require_dtype(name, tensor, int32)
    require_one_device(_NAMES, tensors)
    _check_captured(batch_size, tensors[0])
    regions = []
    for number, (name, tensor) in enumerate(zip(_NAMES, tensors, strict=True)):
        field = FIELDS[number % len(FIELDS)]
        if field == "page_table":
            require_rows(name, tensor, batch_size, max_seqlen_k)
            regions.append(rows_region(name, tensor, batch_size, max_seqlen_k))
        else:
            length = batch_size + (field == "cu_seqlens_k")  # an element more than there are requests
            require_vector(name, tensor, length)
            regions.append(vector_region(name, tensor, length))
    require_disjoint(regions[6:], regions[:6])


def _check_captured(batch_size: int, dst_input_ids: torch.Tensor) -> None:
    """The usual way to a batch that does not fit has a message of its own."""
    require_vector("dst_input_ids", dst_input_ids, 0)
    captured = dst_input_ids.shape[0]
    if batch_size > captured:
        raise ArgumentError(
            f"batch_size is {batch_size:,}, but dst_input_ids was captured for at most {captured:,}: "
            "run a batch of that size without a graph, or capture a larger one"
        )


@functools.cache
def _int32() -> torch.dtype:
    import torch

    return torch.int32
