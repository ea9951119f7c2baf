"""The bucketed cache at its ends on hardware: long contexts, lopsided buckets, many moves, and no leak."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from common.serving.bucketed.allocator import allocate
from common.serving.bucketed.layer import BucketedCacheLayer
from common.serving.bucketed.reference_attention import attention
from common.serving.bucketed.widths import WIDTHS
from common.serving.device import gpu

LONG = 65_536
HEAD_DIM = 128
SCALE = HEAD_DIM**-0.5


class Both:
    """The same calls to the kernels and to torch, both on the GPU."""

    def __init__(self, kv_heads: int, batch: int = 1) -> None:
        self.kv_heads, self.batch = kv_heads, batch
        self.kernels = BucketedCacheLayer(batch, kv_heads, HEAD_DIM, gpu())
        self.torch = BucketedCacheLayer(batch, kv_heads, HEAD_DIM, "cuda")
        self._random = torch.Generator("cuda").manual_seed(1)

    def halves(self, *shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=self._random, device="cuda").half()

    def store(self, widths: np.ndarray, sequence: int = 0) -> None:
        keys, values = (self.halves(len(widths), self.kv_heads, HEAD_DIM) for _ in range(2))
        for layer in (self.kernels, self.torch):
            layer.store(keys, values, sequence, range(len(widths)), widths)

    def move(self, slots: np.ndarray, widths: np.ndarray, sequence: int = 0) -> None:
        for layer in (self.kernels, self.torch):
            layer.move(np.full(len(slots), sequence), slots, widths)

    def assert_same_bytes(self) -> None:
        for ours, theirs in zip(self.kernels.views(), self.torch.views(), strict=True):
            assert ours.lengths == theirs.lengths
            for sequence, used in enumerate(ours.lengths):
                for name in ("keys", "values", "key_scales", "value_scales"):
                    one, other = (getattr(view, name)[sequence, :, :used] for view in (ours, theirs))
                    assert torch.equal(one, other), (name, ours.bits)
                assert torch.equal(ours.slots[sequence, :used], theirs.slots[sequence, :used])
        assert (self.kernels.precision_map() == self.torch.precision_map()).all()

    def assert_attends(self, group: int = 1) -> None:
        """As fp32 does over what the cache holds."""
        queries = self.halves(self.batch, self.kv_heads * group, HEAD_DIM)
        out = self.kernels.attend(queries, None, SCALE)
        wanted = attention(queries, self.kernels.views(), None, SCALE, torch.float32)
        assert not torch.isnan(out).any()
        assert (out.float() - wanted).norm() <= 1e-3 * wanted.norm()


@pytest.mark.parametrize("bits", WIDTHS)
def test_64k_tokens_in_one_bucket(bits: int):
    both = Both(kv_heads=4)
    both.store(np.full(LONG, bits))
    both.assert_same_bytes()
    both.assert_attends(group=4)


def test_64k_tokens_of_all_widths():
    both = Both(kv_heads=8)
    both.store(np.random.default_rng(1).choice(WIDTHS, LONG))
    both.assert_same_bytes()
    both.assert_attends(group=8)


@pytest.mark.parametrize("kv_heads", [1, 2, 64])
def test_one_token_in_each_bucket(kv_heads: int):
    both = Both(kv_heads)
    both.store(np.array(WIDTHS))
    both.assert_same_bytes()
    both.assert_attends()


@pytest.mark.parametrize("kv_heads", [1, 64])
@pytest.mark.parametrize("budget", [0.16, 0.25, 0.51])
def test_budgets_at_both_ends(kv_heads: int, budget: float):
    tokens = 8192
    importance = np.random.default_rng(2).pareto(1.2, (1, tokens))
    both = Both(kv_heads)
    both.store(allocate(importance, importance >= 0, budget, head_dim=HEAD_DIM)[0])
    both.assert_same_bytes()
    both.assert_attends()
    assert budget - 0.01 < both.kernels.memory_stats().budget <= budget


def test_thousands_of_moves_drift_nowhere_and_leak_nothing():
    tokens, rounds, moves = 4096, 40, 500
    both = Both(kv_heads=4, batch=2)
    random = np.random.default_rng(3)
    for sequence in range(2):
        both.store(random.choice(WIDTHS, tokens), sequence)
    allocated = 0
    for number in range(rounds):
        slots = random.choice(tokens, moves, replace=False)
        both.move(slots, random.choice(WIDTHS, moves), number % 2)
        both.assert_attends()
        if number == rounds // 2:  # buckets have grown as far as they will, or nearly
            torch.cuda.synchronize()
            allocated = torch.cuda.memory_allocated()
    both.assert_same_bytes()
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() <= 1.05 * allocated
