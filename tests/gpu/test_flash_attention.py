"""Exercise 05's launcher on a GPU: builds as they were tuned there give the same answers."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from common.gpu.devices import first_gpu
from common.serving import tuned
from common.serving.flash_attention import EXERCISE, _defines, flash_attention

SHAPES = ((2, 8, 512), (8, 16, 512), (1, 3, 77), (2, 8, 1024))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_attention_however_it_is_built(shape, causal) -> None:
    torch.manual_seed(1)
    batch, heads, rows = shape
    q, k, v = (torch.randn(batch, rows, heads, 64, device="cuda").half().transpose(1, 2) for _ in range(3))
    wanted = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal)
    out = flash_attention(q, k, v, causal=causal).float()
    assert ((out - wanted).norm() / wanted.norm()).item() < 2e-3


def test_what_was_searched_here_is_used() -> None:
    if not tuned.searched(EXERCISE, first_gpu().name):
        pytest.skip(f"nothing was searched on a {first_gpu().name} yet")
    assert _defines(first_gpu().name, 16, 512, 64, False)
