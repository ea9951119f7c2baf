"""The same calls to a layer of torch's on the CPU and to one of the kernels' on a device."""

from __future__ import annotations

import numpy as np
import torch

from common.serving.bucketed.kernel_backend import KernelBackend
from common.serving.bucketed.layer import BucketedCacheLayer
from common.serving.device import Device
from tests.serving.bucketed.model import halves

BATCH, KV_HEADS, GROUP = 2, 2, 3


class Pair:
    def __init__(self, device: Device, head_dim: int, scale_dtype: torch.dtype) -> None:
        self.device = device
        self.head_dim = head_dim
        self.torch = BucketedCacheLayer(BATCH, KV_HEADS, head_dim, "cpu", scale_dtype=scale_dtype)
        self.kernels = BucketedCacheLayer(BATCH, KV_HEADS, head_dim, device, scale_dtype=scale_dtype)
        assert isinstance(self.kernels.backend, KernelBackend)

    def store(self, tokens: int, first_slot: int, seed: int) -> None:
        qkv = halves(seed, tokens, 3, KV_HEADS, self.head_dim)
        here = self.device.put("qkv", qkv)
        random = np.random.default_rng(seed)
        sequences = random.integers(0, BATCH, tokens)
        widths = random.choice((2, 3, 4, 8), tokens)
        slots = range(first_slot, first_slot + tokens)
        self.torch.store(qkv[:, 1], qkv[:, 2], sequences, slots, widths)
        self.kernels.store(here[:, 1], here[:, 2], sequences, slots, widths)

    def move_all(self, seed: int) -> None:
        sequences, slots = np.nonzero(self.torch.precision_map())
        widths = np.random.default_rng(seed).choice((2, 3, 4, 8), len(slots))
        self.torch.move(sequences, slots, widths)
        self.kernels.move(sequences, slots, widths)

    def remove_some(self) -> None:
        sequences, slots = np.nonzero(self.torch.precision_map())
        for layer in (self.torch, self.kernels):
            layer.remove(sequences[::3], slots[::3])

    def assert_equal(self) -> None:
        """All entries in use, byte for byte."""
        for one, other in zip(self.torch.views(), self.kernels.views(), strict=True):
            assert one.lengths == other.lengths
            for sequence, used in enumerate(one.lengths):
                for name in ("keys", "values", "key_scales", "value_scales"):
                    left, right = (getattr(view, name)[sequence, :, :used].cpu() for view in (one, other))
                    assert torch.equal(left, right), (name, one.bits)
                for name in ("slots", "token_ids"):
                    left, right = (getattr(view, name)[sequence, :used].cpu() for view in (one, other))
                    assert torch.equal(left, right), (name, one.bits)

    def assert_attends_alike(self, masked: bool) -> None:
        queries = halves(6, BATCH, KV_HEADS * GROUP, self.head_dim)
        mask = (torch.arange(300) % 3 != 0).to(torch.uint8).repeat(BATCH, 1) if masked else None
        wanted, wanted_weights = self.torch.attend_and_weigh(queries, mask)
        given = self.device.put("queries", queries), None if mask is None else self.device.put("mask", mask)
        out, weights = self.kernels.attend_and_weigh(*given)
        assert torch.equal(out.cpu(), self.kernels.attend(*given).cpu())
        assert (out.cpu().float() - wanted.float()).norm() <= 1e-2 * wanted.float().norm()
        assert (weights.cpu() - wanted_weights).norm() <= 1e-2 * wanted_weights.norm()
        rows = KV_HEADS * GROUP  # each of which deals out a weight of 1
        assert torch.allclose(weights.cpu().sum(1), torch.full((BATCH,), float(rows)), rtol=1e-3)
