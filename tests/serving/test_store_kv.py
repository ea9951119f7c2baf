"""The Python wrapper of exercise 01: it checks everything, then stores in one launch."""

from __future__ import annotations

import pytest
import torch

from common.core.paths import REPOSITORY
from common.serving.arguments import ArgumentError
from common.serving.device import VirtualDevice
from common.serving.store_kv import store_kv

KERNEL = REPOSITORY / "solutions" / "01_kv_store" / "kernel.cu"
KERNELS = [KERNEL]
TOKENS, PAGES, HEADS, DIM = 5, 12, 2, 16
Arguments = dict[str, torch.Tensor]


@pytest.fixture
def arguments(device: VirtualDevice) -> Arguments:
    random = torch.Generator().manual_seed(1)

    def halves(name: str, *shape: int) -> torch.Tensor:
        return device.put(name, torch.randn(shape, generator=random).half())

    qkv = halves("qkv", TOKENS, 3, HEADS, DIM)
    return {
        "k_cache": halves("k_cache", PAGES, HEADS, DIM),
        "v_cache": halves("v_cache", PAGES, HEADS, DIM),
        "indices": device.put("indices", torch.tensor([7, 0, 11, 3, 4], dtype=torch.int32)),
        "k": qkv[:, 1],
        "v": qkv[:, 2],
    }


def test_slices_of_one_tensor_are_stored_and_other_pages_stay(arguments: Arguments):
    pages = arguments["indices"].long()
    wanted = {}
    for side in "kv":
        wanted[side] = arguments[f"{side}_cache"].clone()
        wanted[side][pages] = arguments[side]
    store_kv(**arguments, kernel=KERNEL)
    for side in "kv":
        assert torch.equal(arguments[f"{side}_cache"], wanted[side])


def test_no_tokens_are_nothing_to_do(arguments: Arguments):
    before = arguments["k_cache"].clone()
    none = {name: arguments[name][:0] for name in ("indices", "k", "v")}
    store_kv(**{**arguments, **none}, kernel=KERNEL)
    assert torch.equal(arguments["k_cache"], before)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("indices", lambda t: t.long(), r"indices is torch.int64, but must be torch.int32"),
        ("k", lambda t: t.float(), r"k is torch.float32, but must be torch.float16"),
        ("v", lambda t: t[:3], r"v has 3 rows, but 5 are needed"),
        ("v_cache", lambda t: t[:, :1], r"v_cache has 1 heads of 16, but 2 heads of 16 are needed"),
        ("k", lambda t: t.flatten(1), r"k has shape \[5, 32\], but must be \[rows, heads, head_dim\]"),
        ("v", lambda t: t.transpose(1, 2).contiguous().transpose(1, 2), r"v has strides .* side by side"),
        ("k_cache", lambda t: t.mT.contiguous().mT, r"k_cache has strides .* side by side"),
        ("k_cache", lambda t: t[:4], r"k_cache has 4 rows, but 5 are needed"),
        ("indices", lambda t: t.tolist(), r"indices is of type list, but must be of type Tensor"),
        ("v_cache", lambda t: None, r"v_cache is None, but must be of type Tensor"),
        ("k", lambda t: t[0, 0, 0], r"k has shape \[\], but must be \[rows, heads, head_dim\]"),
        ("indices", lambda t: t[0], r"indices has shape \[\], but must have one dimension"),
        ("indices", lambda t: t.to("meta"), r"indices is on meta, but must be on cpu"),
        ("k_cache", lambda t: t.clone(), r"k_cache is on cpu, in memory that no kernel can reach"),
        ("indices", lambda t: t.view(5, 1), r"indices has shape \[5, 1\], but must have one dimension"),
    ],
)
def test_what_the_kernel_could_not_notice_is_refused(arguments: Arguments, name: str, change, words: str):
    with pytest.raises(ArgumentError, match=words):
        store_kv(**{**arguments, name: change(arguments[name])}, kernel=KERNEL)


@pytest.mark.parametrize("name", ["k_cache", "indices", "v"])
def test_a_tensor_of_another_virtual_gpu_is_the_one_that_is_named(arguments: Arguments, name: str):
    with VirtualDevice([KERNEL]) as other:
        foreign = {name: other.put(name, arguments[name])}
        with pytest.raises(ArgumentError, match=f"^{name} is in the memory of another virtual GPU"):
            store_kv(**{**arguments, **foreign}, kernel=KERNEL)


def test_tokens_without_elements_are_nothing_to_do(device: VirtualDevice, arguments: Arguments):
    device.gpu.reset()
    without = {name: t[..., :0].contiguous() for name, t in arguments.items() if name != "indices"}
    store_kv(**{**arguments, **without}, kernel=KERNEL)
    assert device.gpu.launches == ()


def test_memory_that_is_read_and_written_is_refused(arguments: Arguments):
    with pytest.raises(ArgumentError, match=r"v_cache \(bytes .*\) overlaps k_cache"):
        store_kv(**{**arguments, "v_cache": arguments["k_cache"]}, kernel=KERNEL)
    with pytest.raises(ArgumentError, match=r"k_cache \(bytes .*\) overlaps k "):
        store_kv(**{**arguments, "k_cache": arguments["k"]}, kernel=KERNEL)


def test_heads_of_an_odd_size_are_refused(device: VirtualDevice, arguments: Arguments):
    odd = {name: t[..., :15].contiguous() for name, t in arguments.items() if name != "indices"}
    with pytest.raises(ArgumentError, match="heads of 15 elements"):
        store_kv(**{**arguments, **odd}, kernel=KERNEL)
