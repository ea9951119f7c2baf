"""New K and V rows into a paged cache: exercise 01's kernel behind argument checks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from common.serving.arguments import (
    ArgumentError,
    require_disjoint,
    require_dtype,
    require_heads,
    require_one_device,
    require_tensor,
    require_vector,
    rows_region,
    vector_region,
)
from common.serving.device import device_of
from common.serving.kernels import chosen_kernel

if TYPE_CHECKING:
    import torch

EXERCISE = "01_kv_store"
ENTRY = "fused_store_kv_async"
VARIABLE = "MINISGL_STORE_KV_KERNEL"
_TYPES = (*["pointer"] * 5, *["i64"] * 4, *["i32"] * 3, "stream")


def store_kv(
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    indices: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    kernel: Path | None = None,
) -> None:
    """Write token t's heads, k[t] and v[t], to page indices[t] of both caches; other pages stay as they are.

    All but `indices` are fp16 of [tokens or pages, heads, head_dim]; a token's or a page's values lie side by
    side, tokens and pages may be apart. Indices are int32 and all different: what they say is for the kernel
    to read, and not checked here. Raises ArgumentError before anything is written.
    """
    import torch

    caches = {"k_cache": k_cache, "v_cache": v_cache}
    named = {"k": k, "v": v, **caches}
    everything = {**caches, "indices": indices, "k": k, "v": v}  # in the order of the kernel's parameters
    for name, tensor in everything.items():
        require_tensor(name, tensor)
        require_dtype(name, tensor, torch.int32 if name == "indices" else torch.float16)
    require_one_device(tuple(everything), tuple(everything.values()))
    tokens = indices.shape[0] if indices.ndim == 1 else 0
    require_vector("indices", indices, tokens)
    for name, tensor in named.items():
        # As different indices as there are tokens: no cache has fewer pages.
        require_heads(name, tensor, tokens, k.shape)
    heads, head_dim = k.shape[1:]
    if head_dim % 2:
        raise ArgumentError(f"k has heads of {head_dim} elements, but the kernel takes an even number")
    rows = {name: tensor.flatten(1) for name, tensor in named.items()}
    require_disjoint(
        [vector_region("indices", indices, tokens)]
        + [rows_region(name, rows[name], tokens, heads * head_dim) for name in ("k", "v")],
        [rows_region(name, rows[name], len(rows[name]), heads * head_dim) for name in ("k_cache", "v_cache")],
    )
    if k.numel() == 0 or tokens == 0:
        return
    device = device_of(tuple(everything), tuple(everything.values()))
    store = device.function(kernel or chosen_kernel(EXERCISE, VARIABLE), ENTRY, _TYPES)
    store(
        *(device.address(tensor, name) for name, tensor in everything.items()),
        *(tensor.stride(0) for tensor in (k, v, k_cache, v_cache)),
        tokens,
        heads,
        head_dim,
        device.stream(),
    )
