"""Attention on a GPU goes to the kernel that is faster there, and heads may share keys and values."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from common.serving.attention import attention
from common.serving.device import gpu
from common.serving.hopper_attention import ARCH, hopper_attention

# batch, heads, heads of keys, rows, head_dim
SHAPES = ((2, 8, 8, 512, 64), (1, 8, 2, 777, 128), (4, 16, 4, 2100, 64), (3, 6, 2, 130, 128))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_attention(shape, causal, dtype) -> None:
    torch.manual_seed(1)
    batch, heads, key_heads, rows, head_dim = shape
    queries, keys, values = (
        torch.randn(batch, rows, count, head_dim, device="cuda", dtype=dtype).transpose(1, 2)
        for count in (heads, key_heads, key_heads)
    )
    shared = (tensor.float().repeat_interleave(heads // key_heads, dim=1) for tensor in (keys, values))
    key, value = shared
    wanted = F.scaled_dot_product_attention(queries.float(), key, value, is_causal=causal)
    out = attention(queries, keys, values, causal=causal).float()
    assert ((out - wanted).norm() / wanted.norm()).item() < 4 * torch.finfo(dtype).eps


def test_a_hopper_gpu_is_given_its_own_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [torch.randn(1, 2, 64, 64, device="cuda", dtype=torch.float16) for _ in range(3)]
    called = []

    def noted(*tensors: torch.Tensor, causal: bool, scale: float | None, out: torch.Tensor) -> torch.Tensor:
        called.append(1)
        return hopper_attention(*tensors, causal=causal, scale=scale, out=out)

    monkeypatch.setattr("common.serving.attention.hopper_attention", noted)
    attention(*given)
    assert len(called) == gpu().runs(ARCH)
