"""The cache over layers: buckets or uniform INT8 behind the same calls, and widths by importance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from common.serving.arguments import ArgumentError
from common.serving.bucketed.cache import BucketedKVCache
from common.serving.bucketed.memory import half_token_bytes, token_bytes
from tests.serving.bucketed.model import halves

LAYERS, BATCH, KV_HEADS, DIM, TOKENS = 2, 2, 2, 128, 40
WIDTHS = [2, 3, 4, 8] * (TOKENS // 4)


def filled(**options: Any) -> BucketedKVCache:
    cache = BucketedKVCache(LAYERS, BATCH, KV_HEADS, DIM, "cpu", **options)
    for layer in range(LAYERS):
        for sequence in range(BATCH):
            keys, values = halves(10 * layer + sequence, 2, TOKENS, KV_HEADS, DIM)
            cache.quantize_and_store_batch(layer, keys, values, sequence, range(TOKENS), WIDTHS)
    return cache


def test_counts_of_buckets_equal_the_precision_map():
    cache = filled()
    for layer in range(LAYERS):
        widths = cache.precision_map(layer)
        assert widths.tolist() == [WIDTHS] * BATCH
        for bits, view in cache.get_bucket_views(layer).items():
            assert view.lengths == tuple((widths == bits).sum(1))


def test_memory_is_what_theory_says():
    stats = filled().memory_stats()
    assert stats.tokens == LAYERS * BATCH * TOKENS
    assert stats.average_bits == 4.25
    each = sum(token_bytes(bits, KV_HEADS, DIM, 4) for bits in (2, 3, 4, 8)) / 4
    assert stats.payload_bytes + stats.scale_bytes == each * stats.tokens
    assert stats.budget == each / half_token_bytes(KV_HEADS, DIM)


def test_uniform_eight_bits_take_the_budget_that_mixes_are_measured_against():
    stats = filled(use_bucketed_layout=False).memory_stats()
    assert stats.average_bits == 8
    assert stats.budget == pytest.approx(0.516, abs=5e-4)


def test_the_uniform_cache_takes_the_same_calls():
    cache = filled(use_bucketed_layout=False)
    assert list(cache.get_bucket_views(0)) == [8]
    assert cache.reallocate(0, np.full((BATCH, TOKENS), 2)) == 0
    cache._requantize_single(0, 1, 3, 4)
    assert (cache.precision_map(0) == 8).all()
    cache.remove(0, 0, [5])
    assert cache.memory_stats().tokens == LAYERS * BATCH * TOKENS - 1
    with pytest.raises(ArgumentError, match="a width is 5"):
        cache._requantize_single(0, 1, 3, 5)


def test_all_of_a_layer_is_retrieved_by_offsets_without_a_copy():
    cache = filled()
    cache.remove(1, 1, range(8))
    found = cache.retrieve_all_quantized(1)
    assert [view.bits for view in found.buckets] == [2, 3, 4, 8]
    assert found.offsets == ((0, 10, 20, 30, 40), (0, 8, 16, 24, 32))
    for view, other in zip(found.buckets, cache.get_bucket_views(1).values(), strict=True):
        assert view.keys.data_ptr() == other.keys.data_ptr()


def test_reallocation_moves_what_the_map_names_and_leaves_the_rest():
    cache = filled()
    wanted = np.zeros((BATCH, TOKENS // 2), dtype=np.int64)
    wanted[1, :4] = 8
    assert cache.reallocate(0, wanted) == 3
    assert cache.precision_map(0)[1].tolist() == [8, 8, 8, 8, *WIDTHS[4:]]
    assert cache.precision_map(0)[0].tolist() == WIDTHS
    assert cache.precision_map(1).tolist() == [WIDTHS] * BATCH


def test_one_token_is_requantised():
    cache = filled()
    cache._requantize_single(1, 0, 3, 2)
    assert cache.precision_map(1)[0, 3] == 2
    assert cache.precision_map(1)[1, 3] == 8


def test_attention_finds_the_key_that_answers_the_query():
    cache = filled()
    keys, _ = cache.layers[0].read(0, 7)
    queries = halves(1, BATCH, KV_HEADS, DIM)
    queries[0] = keys.half() * 4
    out = cache.attend(0, queries)
    assert out.dtype == torch.float16
    _, values = cache.layers[0].read(0, 7)
    torch.testing.assert_close(out[0].float(), values, rtol=0.01, atol=0.01)
    mask = torch.ones(BATCH, TOKENS, dtype=torch.uint8)
    mask[0, 7] = 0
    assert (cache.attend(0, queries, mask)[0].float() - values).norm() > 0.5 * values.norm()


def test_what_attention_looks_at_gets_the_bits():
    """A budget spent by importance loses less of the answer than the same budget spent at random."""
    cache = filled(importance_decay=0.5)
    keys, _ = halves(0, 2, TOKENS, KV_HEADS, DIM)
    looked_at = [3, 11, 19]  # of eight bits, so that what they are worth is still known
    queries = torch.zeros(BATCH, KV_HEADS, DIM).half()
    queries[0] = sum(keys[slot] for slot in looked_at) / 2
    exact = cache.attend(0, queries)
    for _ in range(3):
        cache.attend(0, queries)
    assert set(cache.importance(0).values[0].topk(3).indices.tolist()) == set(looked_at)
    planned = cache.plan(0, 0.2)
    assert (planned[0, looked_at] >= planned[0].max()).all()
    random = np.random.default_rng(0).permutation(planned.ravel()).reshape(planned.shape)
    errors = []
    for widths in (planned, random):
        other = filled(importance_decay=0.5)
        other.reallocate(0, widths)
        assert other.layers[0].memory_stats().budget <= 0.2
        errors.append((other.attend(0, queries)[0] - exact[0]).float().norm())
    assert errors[0] < 0.5 * errors[1]


def test_importance_follows_stores_and_removals():
    cache = filled(importance_decay=0.9)
    cache.remove(0, 0, [0, 1])
    keys, values = halves(5, 2, 1, KV_HEADS, DIM)
    cache.quantize_and_store_batch(0, keys, values, 1, TOKENS, 8)
    assert np.array_equal(cache.importance(0).present.numpy(), cache.precision_map(0) > 0)


def test_strange_arguments_are_refused():
    cache = filled()
    with pytest.raises(ArgumentError, match="layer is 2, but this cache has layers 0 to 1"):
        cache.get_bucket_views(2)
    with pytest.raises(ArgumentError, match=r"precision_map has shape \[40\], but must be \[2, slots\]"):
        cache.reallocate(0, np.ones(TOKENS))
    with pytest.raises(ArgumentError, match="slot 40 of sequence 0, which holds no token"):
        cache.reallocate(0, np.full((BATCH, TOKENS + 1), 8))
    with pytest.raises(ArgumentError, match="importance is not kept: make the cache with importance_decay"):
        cache.plan(0, 0.3)
    with pytest.raises(ArgumentError, match="layers is 0"):
        BucketedKVCache(0, 1, 1, 8, "cpu")
