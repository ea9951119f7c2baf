"""Attention over buckets against torch's own over the same dequantised keys and values."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from common.serving.bucketed import reference_attention
from common.serving.bucketed.layer import BucketedCacheLayer
from common.serving.bucketed.quantizing import joined_query, split_query
from common.serving.bucketed.reference_attention import (
    attend_bucket,
    attend_buckets,
    attention,
    merge_parts,
    score_bucket,
    slot_weights,
)
from tests.serving.bucketed.model import halves

BATCH, KV_HEADS, GROUP, DIM = 3, 2, 4, 80
LENGTHS = (50, 1, 0)
SCALE = DIM**-0.5


@pytest.fixture(scope="module")
def layer() -> BucketedCacheLayer:
    """A sequence of fifty tokens over all widths, one of a single token, and an empty one."""
    layer = BucketedCacheLayer(BATCH, KV_HEADS, DIM, "cpu")
    for tensors in layer._tensors:  # entries that are not in use hold anything, NaN among it
        for tensor in tensors.values():
            tensor.fill_(float("nan") if tensor.is_floating_point() else 255)
    random = np.random.default_rng(4)
    for sequence, length in enumerate(LENGTHS):
        keys, values = halves(sequence, 2, length, KV_HEADS, DIM)
        layer.store(keys, values, sequence, random.permutation(length), random.choice((2, 3, 4, 8), length))
    return layer


@pytest.fixture(scope="module")
def queries() -> torch.Tensor:
    return halves(9, BATCH, KV_HEADS * GROUP, DIM)


def plain_attention(
    layer: BucketedCacheLayer, queries: torch.Tensor, mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Slot by slot in float64, with a softmax over all of them at once."""
    out = torch.zeros(queries.shape, dtype=torch.float64)
    for sequence, widths in enumerate(layer.precision_map()):
        seen = [int(s) for s in np.flatnonzero(widths) if mask is None or mask[sequence, s]]
        if not seen:
            continue
        tokens = [layer.read(sequence, slot) for slot in seen]
        keys, values = (torch.stack(side).double() for side in zip(*tokens, strict=True))
        for head in range(KV_HEADS * GROUP):
            scores = keys[:, head // GROUP] @ queries[sequence, head].double() * SCALE
            out[sequence, head] = torch.softmax(scores, 0) @ values[:, head // GROUP]
    return out


def some_mask(hidden: float, seed: int = 2) -> torch.Tensor:
    return (torch.rand(BATCH, 64, generator=torch.Generator().manual_seed(seed)) >= hidden).to(torch.uint8)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.float32, 1e-5), (torch.float16, 5e-3)]
)
@pytest.mark.parametrize("hidden", [None, 0.5, 1.0])
def test_it_is_softmax_attention_over_the_visible_slots(
    layer: BucketedCacheLayer,
    queries: torch.Tensor,
    dtype: torch.dtype,
    tolerance: float,
    hidden: float | None,
):
    mask = None if hidden is None else some_mask(hidden)
    wanted = plain_attention(layer, queries, mask)
    out = attention(queries, layer.views(), mask, SCALE, dtype)
    assert out.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert (out - wanted).norm() <= tolerance * wanted.norm()
    assert (out[2] == 0).all()
    if hidden == 1.0:
        assert (out == 0).all()


def test_pieces_of_keys_change_nothing(
    layer: BucketedCacheLayer, queries: torch.Tensor, monkeypatch: pytest.MonkeyPatch
):
    whole = attention(queries, layer.views(), some_mask(0.3), SCALE, torch.float64)
    monkeypatch.setitem(reference_attention._PIECE_BYTES, "cpu", 5 * BATCH * KV_HEADS * DIM * 8)
    pieces = attention(queries, layer.views(), some_mask(0.3), SCALE, torch.float64)
    torch.testing.assert_close(pieces, whole, rtol=1e-12, atol=1e-12)


def test_a_part_is_unnormalised_with_its_own_maximum(layer: BucketedCacheLayer, queries: torch.Tensor):
    for bucket in layer.views():
        part = attend_bucket(queries, bucket, None, SCALE, torch.float64)
        used = bucket.lengths[0]
        entries = [layer.read(0, layer.slot(0, bucket.bits, entry)) for entry in range(used)]
        keys, values = (torch.stack(side).double() for side in zip(*entries, strict=True))
        for head in range(KV_HEADS * GROUP):
            scores = keys[:, head // GROUP] @ queries[0, head].double() * SCALE
            weights = torch.exp(scores - scores.max())
            torch.testing.assert_close(part.max[0, head], scores.max(), rtol=1e-6, atol=1e-6)
            torch.testing.assert_close(part.sum[0, head], weights.sum(), rtol=1e-6, atol=1e-6)
            torch.testing.assert_close(
                part.out[0, head], weights @ values[:, head // GROUP], rtol=1e-5, atol=1e-5
            )
        assert part.max[2].isneginf().all()
        assert (part.sum[2] == 0).all()
        assert (part.out[2] == 0).all()


def test_maxima_and_sums_are_the_same_without_the_output(layer: BucketedCacheLayer, queries: torch.Tensor):
    for bucket in layer.views():
        whole = attend_bucket(queries, bucket, None, SCALE, torch.float16)
        part = attend_bucket(queries, bucket, None, SCALE, torch.float16, sums_alone=True)
        assert torch.equal(part.max, whole.max)
        assert torch.equal(part.sum, whole.sum)


def test_the_scores_of_a_bucket_are_those_of_its_part(layer: BucketedCacheLayer, queries: torch.Tensor):
    for bucket in layer.views():
        scores = score_bucket(queries, bucket, None, SCALE, torch.float64)
        part = attend_bucket(queries, bucket, None, SCALE, torch.float64)
        assert scores.shape == (*queries.shape[:2], bucket.keys.shape[2])
        assert torch.equal(scores.amax(-1), part.max)
        for sequence, length in enumerate(bucket.lengths):
            assert scores[sequence, :, :length].isfinite().all()
            assert scores[sequence, :, length:].isneginf().all()
            if length:
                weights = torch.exp(scores[sequence] - part.max[sequence].unsqueeze(-1))
                torch.testing.assert_close(weights.sum(-1), part.sum[sequence])


def test_a_plain_sum_of_parts_would_be_wrong(layer: BucketedCacheLayer, queries: torch.Tensor):
    parts = attend_buckets(queries, layer.views(), None, SCALE, torch.float64)
    plain = sum(part.out for part in parts) / sum(part.sum for part in parts).unsqueeze(-1)
    merged = merge_parts(parts)
    assert (plain[0] - merged[0]).norm() > 0.01 * merged[0].norm()


@pytest.mark.parametrize("hidden", [0.0, 0.5, 1.0])
def test_weights_of_slots_add_up_to_the_heads_that_see_any(
    layer: BucketedCacheLayer, queries: torch.Tensor, hidden: float
):
    mask = some_mask(hidden)
    views = layer.views()
    parts = attend_buckets(queries, views, mask, SCALE)
    weights = slot_weights(queries, views, parts, mask, SCALE, 50)
    there = torch.from_numpy(layer.precision_map() > 0)
    visible = there & (mask[:, :50] != 0)
    assert (weights[~visible] == 0).all()
    assert (weights[visible] > 0).all()
    heads = KV_HEADS * GROUP * visible.any(1)
    torch.testing.assert_close(weights.sum(1), heads.float())


def test_a_known_weight():
    """Two keys with scores ln 3 and 0: three quarters and one quarter."""
    layer = BucketedCacheLayer(1, 1, 8, "cpu")
    keys = torch.zeros(2, 1, 8).half()
    keys[0, 0, 0] = 1
    layer.store(keys, keys, 0, [6, 2], [8, 2])
    queries = torch.zeros(1, 1, 8).half()
    queries[0, 0, 0] = 1
    parts = attend_buckets(queries, layer.views(), None, float(np.log(3)))
    weights = slot_weights(queries, layer.views(), parts, None, float(np.log(3)), 7)
    torch.testing.assert_close(weights, torch.tensor([[0, 0, 0.25, 0, 0, 0, 0.75]]))


def test_two_planes_of_the_query_are_far_closer_than_one(layer: BucketedCacheLayer, queries: torch.Tensor):
    wanted = plain_attention(layer, queries)
    high, low, scales = split_query(queries)

    def error(planes: torch.Tensor) -> float:
        out = attention(planes, layer.views(), None, SCALE, torch.float64)
        return float((out - wanted).norm() / wanted.norm())

    two = error(joined_query(high, low, scales, torch.float64))
    one = error(joined_query(high, None, scales, torch.float64))
    assert two < 1e-4
    assert 1e-3 < one < 5e-2
