"""Attention goes to exercise 06's kernel where the device runs it, and else to 05's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F

from common.core.paths import REPOSITORY
from common.serving.arguments import ArgumentError
from common.serving.attention import attention
from common.serving.device import VirtualDevice

SOLUTIONS = {
    arch: REPOSITORY / "solutions" / name / "kernel.cu"
    for arch, name in (("sm_90a", "06_hopper_attention"), (None, "05_flash_attention"))
}


@pytest.fixture(scope="module", params=SOLUTIONS, ids=("sm_90a", "any"))
def device(request: pytest.FixtureRequest) -> Iterator[VirtualDevice]:
    """With one kernel alone: a call of the other one fails."""
    with VirtualDevice([SOLUTIONS[request.param]], arch=request.param) as made:
        yield made


def tensors(device: VirtualDevice, heads: int, key_heads: int, head_dim: int) -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(6)
    return [
        device.put(name, torch.randn(2, count, 70, head_dim, generator=random).half())
        for name, count in (("queries", heads), ("keys", key_heads), ("values", key_heads))
    ]


@pytest.mark.parametrize(
    ("heads", "key_heads", "head_dim", "causal"), [(3, 3, 64, False), (4, 2, 64, True), (2, 1, 128, True)]
)
def test_it_is_attention_and_heads_may_share_keys(device, heads, key_heads, head_dim, causal) -> None:
    given = tensors(device, heads, key_heads, head_dim)
    queries, *shared = (tensor.float() for tensor in given)
    keys, values = (tensor.repeat_interleave(heads // key_heads, dim=1) for tensor in shared)
    wanted = F.scaled_dot_product_attention(queries, keys, values, is_causal=causal)
    out = attention(*given, causal=causal).float()
    assert ((out - wanted).norm() / wanted.norm()).item() < 4e-3


def test_heads_that_keys_do_not_divide_are_refused(device) -> None:
    queries, keys, values = tensors(device, 3, 2, 64)
    with pytest.raises(ArgumentError, match="its heads must divide the 3 of queries"):
        attention(queries, keys, values)


def test_nothing_is_no_call(device) -> None:
    queries, keys, values = (tensor[:, :, :0] for tensor in tensors(device, 2, 1, 64))
    assert attention(queries, keys, values).shape == (2, 2, 0, 64)
    queries, keys, values = (tensor[:, :0] for tensor in tensors(device, 2, 1, 64))
    assert attention(queries, keys, values).shape == (2, 0, 70, 64)


def test_keys_without_heads_are_refused_in_a_sentence(device) -> None:
    queries, keys, values = tensors(device, 2, 1, 64)
    with pytest.raises(ArgumentError, match="its heads must divide the 2 of queries"):
        attention(queries, keys[:, 0], values)
    with pytest.raises(ArgumentError, match="its heads must divide the 2 of queries"):
        attention(queries, keys[:, :0], values[:, :0])
