"""The memory layout of a case: the inputs of a call, and the right result.

Sizes of a case: tokens, heads, head_dim, and
    sliced      1: K and V are slices of one qkv tensor with as many q heads; 0: two tensors of their own
    shift       elements before K and V and between their rows: odd ones leave only 2-byte alignment
    padding     unused elements at the end of each page
    v_longer    elements by which pages of V, and rows of a V that is no slice, lie further apart than K's
    spare       pages that no index names
    first_page  pages below this one are not in memory, as in a window of a very large cache: the pointers
                have the address that page 0 would have
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.spec import STREAM, At, Buffers, Call, Case, Size, Words, cases_with, i32, i64
from grader.spec.random_inputs import Random

if TYPE_CHECKING:
    import torch

WORDS: Words = {
    "tokens": "tokens: {:,}",
    "heads": "heads: {}",
    "head_dim": "head_dim: {}",
    "sliced": {0: "K and V in tensors of their own"},
    "shift": "rows shifted by {} elements",
    "padding": "{} unused elements at the end of each page",
    "v_longer": "rows and pages of V {} elements longer",
    "first_page": "numbers of pages from {:,} on",
}


_store = cases_with(
    WORDS,
    tokens=0,
    heads=0,
    head_dim=0,
    sliced=1,
    shift=0,
    padding=0,
    v_longer=0,
    spare=0,
    first_page=0,
)


def store(tokens: int, heads: int, head_dim: int, *, name: str = "", **sizes: int) -> Case:
    """A case. Its default name states its sizes."""
    name = name or f"{tokens:,} {'token' if tokens == 1 else 'tokens'}, {heads} × {head_dim}"
    shape = {"tokens": tokens, "heads": heads, "head_dim": head_dim, "spare": tokens // 4 + 3}
    return _store(name, **{**shape, **sizes})


def row(size: Size) -> int:
    return size.heads * size.head_dim


def page_strides(size: Size) -> tuple[int, int]:
    """Of K's and of V's cache."""
    stride = row(size) + size.padding
    return stride, stride + size.v_longer


_BOTH = "k and v"  # the tensor of both, as findings name it: by the entry's parameters


def places(size: Size) -> tuple[At, At]:
    """Where K and V start."""
    if size.sliced:
        return At(_BOTH, row(size) + size.shift), At(_BOTH, 2 * row(size) + size.shift)
    return At("k", size.shift), At("v", size.shift)


def row_strides(size: Size) -> tuple[int, int]:
    """Of K's and of V's rows: slices of one tensor have one."""
    if size.sliced:
        return (3 * row(size) + size.shift,) * 2
    return row(size) + size.shift, row(size) + size.shift + size.v_longer


def inputs(size: Size, rng: Random) -> Call:
    """K and V arrive as slices of one projection: their rows are strided, the elements of a row are not."""
    pages = size.tokens + size.spare
    (k, v), strides, (k_pages, v_pages) = places(size), row_strides(size), page_strides(size)
    # At least one row: a call without tokens must leave it unchanged.
    inputs = {
        name: rng.half(max(size.tokens, 1), stride)
        for name, stride in dict(zip((k.buffer, v.buffer), strides, strict=True)).items()
    }
    return Call(
        buffers={
            "k_cache": rng.half(pages, k_pages),
            "v_cache": rng.half(pages, v_pages),
            "indices": rng.distinct(max(size.tokens, 1), below=pages) + size.first_page,
            **inputs,
        },
        outputs=("k_cache", "v_cache"),
        arguments=(
            At("k_cache", -size.first_page * k_pages),
            At("v_cache", -size.first_page * v_pages),
            *(At("indices"), k, v),
            *map(i64, (*strides, k_pages, v_pages)),
            *(i32(size.tokens), i32(size.heads), i32(size.head_dim), STREAM),
        ),
    )


def rows(size: Size, buffers: Buffers) -> tuple[torch.Tensor, torch.Tensor]:
    """K and V as [tokens, heads * head_dim]."""
    (k, v), (k_stride, v_stride) = places(size), row_strides(size)
    return strided(size, buffers, k, k_stride), strided(size, buffers, v, v_stride)


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
