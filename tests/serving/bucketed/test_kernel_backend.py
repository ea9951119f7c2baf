"""The kernels of exercise 04 behind a layer, on a virtual GPU: the same bytes as torch, and its attention."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from common.serving.arguments import ArgumentError
from common.serving.bucketed import kernel_backend
from common.serving.bucketed.kernel_backend import EXERCISE
from common.serving.bucketed.layer import BucketedCacheLayer
from common.serving.device import VirtualDevice
from tests.serving.bucketed.model import halves
from tests.serving.bucketed.pair import Pair

KERNEL = REPOSITORY / "solutions" / EXERCISE / "kernel.cu"

pytestmark = pytest.mark.skipif(not KERNEL.is_file(), reason=f"there is no solution of {EXERCISE}")


@pytest.fixture(scope="module")
def device() -> Iterator[VirtualDevice]:
    with VirtualDevice([KERNEL]) as device:
        yield device


@pytest.fixture(
    scope="module", params=[(80, torch.float32), (128, torch.float16)], ids=["80, fp32", "128, fp16"]
)
def pair(device: VirtualDevice, request: pytest.FixtureRequest) -> Pair:
    pair = Pair(device, *request.param)
    pair.store(90, 0, seed=1)
    return pair


def test_stores_moves_growth_and_removals_leave_the_same_bytes(device: VirtualDevice, pair: Pair):
    pair.assert_equal()
    for seed in range(3):
        pair.move_all(seed)
        pair.assert_equal()
    pair.store(150, 90, seed=2)
    pair.assert_equal()
    pair.remove_some()
    pair.assert_equal()
    assert device.gpu.findings == ()


@pytest.mark.parametrize("masked", [False, True])
def test_attention_is_the_references(device: VirtualDevice, pair: Pair, masked: bool):
    pair.assert_attends_alike(masked)
    assert device.gpu.findings == ()


def test_an_empty_cache_attends_to_nothing(device: VirtualDevice):
    layer = BucketedCacheLayer(1, 1, 64, device)
    out = layer.attend(device.put("queries", halves(1, 1, 2, 64)))
    assert (out == 0).all()


def test_what_the_kernels_cannot_take_is_refused(device: VirtualDevice):
    layer = BucketedCacheLayer(1, 1, 64, device)
    keys = device.put("keys", halves(1, 2, 1, 64))
    apart = device.put("values", halves(1, 2, 3, 64))[:, 1:2]
    with pytest.raises(ArgumentError, match=r"keys has strides .*, but they must have the same"):
        layer.store(keys, apart, 0, [0, 1], 8)
    with pytest.raises(ArgumentError, match="values is on cpu, in memory that no kernel can reach"):
        layer.store(keys, halves(1, 2, 1, 64), 0, [0, 1], 8)
    assert layer.lengths.sum() == 0
    with pytest.raises(ArgumentError, match="queries is on cpu, in memory that no kernel can reach"):
        layer.attend(halves(1, 1, 1, 64))
    with pytest.raises(ArgumentError, match="queries has strides .*, but must be dense"):
        layer.attend(device.put("queries", halves(1, 1, 64, 2)).transpose(1, 2))


def test_too_little_scratch_memory_is_refused(device: VirtualDevice, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kernel_backend, "MOST_PARTS", 1)
    layer = BucketedCacheLayer(1, 1, 64, device)
    with pytest.raises(CourseError, match="cudaErrorInvalidValue"):
        layer.attend(device.put("queries", halves(1, 1, 2, 64)))
