"""The references and the kernels on a CUDA device: the bytes that the CPU makes, and its attention."""

from __future__ import annotations

import pytest
import torch

from common.core.paths import REPOSITORY
from common.gpu.devices import find_gpus
from common.serving.bucketed.kernel_backend import EXERCISE
from common.serving.bucketed.layer import BucketedCacheLayer
from common.serving.bucketed.quantizing import quantize_and_pack, requantize, split_query
from common.serving.bucketed.reference_attention import attention
from common.serving.bucketed.widths import WIDTHS
from common.serving.device import gpu
from tests.serving.bucketed.model import halves
from tests.serving.bucketed.pair import Pair

KERNEL = REPOSITORY / "solutions" / EXERCISE / "kernel.cu"
pytestmark = pytest.mark.skipif(not find_gpus(), reason="needs a CUDA GPU")
SCALE_DTYPES = [torch.float32, torch.float16]


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("scale_dtype", SCALE_DTYPES)
def test_torch_quantises_the_same_bits_as_on_the_cpu(bits: int, scale_dtype: torch.dtype):
    """A division by a Python number would not: see quantizing."""
    heads = halves(1, 5000, 2, 80)
    packed, scales = quantize_and_pack(heads, bits, scale_dtype)
    there = quantize_and_pack(heads.cuda(), bits, scale_dtype)
    assert torch.equal(there[0].cpu(), packed)
    assert torch.equal(there[1].cpu(), scales)
    for wanted, found in zip(requantize(packed, scales, bits, 4), requantize(*there, bits, 4), strict=True):
        assert torch.equal(found.cpu(), wanted)
    for wanted, found in zip(split_query(heads), split_query(heads.cuda()), strict=True):
        assert torch.equal(found.cpu(), wanted)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.float16, 5e-3)]
)
def test_reference_attention_is_the_cpus(dtype: torch.dtype, tolerance: float):
    mask = (torch.arange(30) % 4 != 0).to(torch.uint8).repeat(2, 1)
    queries = halves(9, 2, 6, 80)
    results = []
    for device in ("cpu", "cuda"):
        layer = BucketedCacheLayer(2, 2, 80, device)
        keys, values = halves(1, 2, 30, 2, 80).to(device)
        layer.store(keys, values, 0, range(30), [2, 3, 4, 8, 8] * 6)
        out = attention(queries.to(device), layer.views(), mask.to(device), 0.1, dtype)
        results.append(out.cpu().double())
    assert (results[1] - results[0]).norm() <= tolerance * results[0].norm()


@pytest.mark.skipif(not KERNEL.is_file(), reason=f"there is no solution of {EXERCISE}")
@pytest.mark.parametrize("head_dim", [80, 128])
@pytest.mark.parametrize("scale_dtype", SCALE_DTYPES)
def test_kernels_leave_the_bytes_of_torch_and_attend_alike(head_dim: int, scale_dtype: torch.dtype):
    pair = Pair(gpu(), head_dim, scale_dtype)
    pair.store(200, 0, seed=1)
    for seed in range(3):
        pair.move_all(seed)
    pair.remove_some()
    pair.assert_equal()
    for masked in (False, True):
        pair.assert_attends_alike(masked)
