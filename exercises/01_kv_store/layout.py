"""The memory layout of a case: the inputs of a call, and the right result.

Sizes of a case: tokens, heads, head_dim, and
    sliced      1: K and V are slices of one qkv tensor with as many q heads; 0: two tensors of their own
    shift       elements before K and V and between their rows: odd ones leave only 2-byte alignment
    padding     unused elements at the end of each page
    spare       pages that no index names
    first_page  pages below this one are not in memory, as in a window of a very large cache: the pointers
                have the address that page 0 would have
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import STREAM, At, Call, Case, Size, case, i32, i64
from grader.spec.random_inputs import Random

if TYPE_CHECKING:
    import torch

Buffers = Mapping[str, "torch.Tensor"]


def store(
    tokens: int,
    heads: int,
    head_dim: int,
    *,
    name: str = "",
    sliced: int = 1,
    shift: int = 0,
    padding: int = 0,
    spare: int | None = None,
    first_page: int = 0,
    gpu_only: bool = False,
) -> Case:
    """A case. Its default name states its sizes."""
    return case(
        name or f"{tokens:,} {'token' if tokens == 1 else 'tokens'}, {heads} × {head_dim}",
        gpu_only=gpu_only,
        tokens=tokens,
        heads=heads,
        head_dim=head_dim,
        sliced=sliced,
        shift=shift,
        padding=padding,
        spare=tokens // 4 + 3 if spare is None else spare,
        first_page=first_page,
    )


def row(size: Size) -> int:
    return size.heads * size.head_dim


def page_stride(size: Size) -> int:
    return row(size) + size.padding


def places(size: Size) -> tuple[At, At, int]:
    """Where K and V start, and the stride of their rows."""
    if size.sliced:
        return (
            At("qkv", row(size) + size.shift),
            At("qkv", 2 * row(size) + size.shift),
            3 * row(size) + size.shift,
        )
    return At("k", size.shift), At("v", size.shift), row(size) + size.shift


def inputs(size: Size, rng: Random) -> Call:
    """K and V arrive as slices of one projection: their rows are strided, the elements of a row are not."""
    pages = size.tokens + size.spare
    k, v, stride = places(size)
    # At least one row: a call without tokens must leave it unchanged.
    inputs = {name: rng.half(max(size.tokens, 1), stride) for name in dict.fromkeys((k.buffer, v.buffer))}
    start = -size.first_page * page_stride(size)
    return Call(
        buffers={
            "k_cache": rng.half(pages, page_stride(size)),
            "v_cache": rng.half(pages, page_stride(size)),
            "indices": rng.distinct(max(size.tokens, 1), below=pages) + size.first_page,
            **inputs,
        },
        outputs=("k_cache", "v_cache"),
        arguments=(
            *(At("k_cache", start), At("v_cache", start), At("indices"), k, v),
            *(i64(stride), i64(stride), i64(page_stride(size)), i64(page_stride(size))),
            *(i32(size.tokens), i32(size.heads), i32(size.head_dim), STREAM),
        ),
    )


def rows(size: Size, buffers: Buffers) -> tuple[torch.Tensor, torch.Tensor]:
    """K and V as [tokens, heads * head_dim]."""
    k, v, stride = places(size)
    return strided(size, buffers, k, stride), strided(size, buffers, v, stride)


def pages(size: Size, buffers: Buffers) -> torch.Tensor:
    """The rows of the caches that the indices name."""
    return buffers["indices"][: size.tokens].long() - size.first_page


def reference(size: Size, buffers: Buffers) -> None:
    put(size, buffers, *rows(size, buffers), pages(size, buffers))


def put(size: Size, buffers: Buffers, k: torch.Tensor, v: torch.Tensor, at: torch.Tensor) -> None:
    buffers["k_cache"][at, : row(size)] = k
    buffers["v_cache"][at, : row(size)] = v


def strided(size: Size, buffers: Buffers, place: At, stride: int) -> torch.Tensor:
    return buffers[place.buffer].as_strided((size.tokens, row(size)), (stride, 1), place.offset)
