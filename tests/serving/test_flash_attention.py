"""The Python wrapper of exercise 05: it checks everything, and takes tensors as models have them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
import torch.nn.functional as F

from common.core.paths import REPOSITORY
from common.serving.arguments import ArgumentError
from common.serving.device import VirtualDevice
from common.serving.flash_attention import flash_attention

KERNEL = REPOSITORY / "solutions" / "05_flash_attention" / "kernel.cu"
KERNELS = [KERNEL]
BATCH, HEADS, ROWS = 2, 3, 40


def tensors(
    device: VirtualDevice, *shape: int, dtype: torch.dtype = torch.float16
) -> tuple[torch.Tensor, ...]:
    random = torch.Generator().manual_seed(5)
    return tuple(
        device.put(name, torch.randn(shape, generator=random).to(dtype))
        for name in ("queries", "keys", "values")
    )


def reference(
    given: Sequence[torch.Tensor], *, causal: bool = False, scale: float | None = None
) -> torch.Tensor:
    queries, keys, values = (tensor.float() for tensor in given)
    return F.scaled_dot_product_attention(queries, keys, values, is_causal=causal, scale=scale)


def error(out: torch.Tensor, wanted: torch.Tensor) -> float:
    return ((out.float() - wanted).norm() / wanted.norm()).item()


@pytest.mark.parametrize(
    ("head_dim", "dtype", "causal", "scale"),
    [(64, torch.float16, False, None), (128, torch.bfloat16, True, None), (64, torch.float16, True, 0.7)],
)
def test_it_is_attention(device, head_dim, dtype, causal, scale) -> None:
    given = tensors(device, BATCH, HEADS, ROWS, head_dim, dtype=dtype)
    out = flash_attention(*given, causal=causal, scale=scale)
    wanted = reference(given, causal=causal, scale=scale)
    assert error(out, wanted) < 8 * torch.finfo(dtype).eps


def test_rows_may_lie_apart_and_the_result_goes_where_it_is_wanted(device) -> None:
    given = [x.transpose(1, 2) for x in tensors(device, BATCH, ROWS, HEADS, 64)]
    place = device.full("place", (BATCH, ROWS, HEADS, 64), torch.float16, 7.0).transpose(1, 2)
    assert flash_attention(*given, out=place) is place
    assert error(place, reference(given)) < 1e-2


def test_no_rows_are_no_call(device) -> None:
    given = tensors(device, BATCH, HEADS, 0, 64)
    assert flash_attention(*given).shape == (BATCH, HEADS, 0, 64)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda q, k, v: (q[0], k, v), "queries has shape"),
        (lambda q, k, v: (q.float(), k, v), "must be torch.float16 or torch.bfloat16"),
        (lambda q, k, v: (q, k.bfloat16(), v), "keys is torch.bfloat16"),
        (lambda q, k, v: (q, k, v[:, :, 1:]), "values has shape"),
        (lambda q, k, v: (q[..., :32], k, v), "queries has heads of 32"),
        (lambda q, k, v: (q, k.transpose(0, 1).transpose(2, 3), v), "keys has shape"),
        (lambda q, k, v: (q, [1.0], v), "keys is of type list"),
    ],
)
def test_what_cannot_be_meant_is_a_sentence(device, change, said) -> None:
    with pytest.raises(ArgumentError, match=said):
        flash_attention(*change(*tensors(device, BATCH, HEADS, ROWS, 64)))


def test_rows_that_begin_between_pieces_are_refused(device) -> None:
    wide = [device.put(name, torch.zeros(1, 1, ROWS, 65, dtype=torch.float16)) for name in "abc"]
    with pytest.raises(ArgumentError, match="multiples of 16 bytes"):
        flash_attention(*(x[..., :64] for x in wide))
    with pytest.raises(ArgumentError, match="must lie side by side"):
        flash_attention(*(x.expand(1, 1, ROWS, 64) for x in (y[..., :1] for y in wide)))


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), "1"])
def test_a_scale_is_a_finite_number(device, scale) -> None:
    with pytest.raises(ArgumentError, match="scale is"):
        flash_attention(*tensors(device, 1, 1, 16, 64), scale=scale)
