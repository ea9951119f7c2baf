"""A layer's buckets: what each call does, and what it refuses with nothing changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from common.serving.arguments import ArgumentError
from common.serving.bucketed.layer import BucketedCacheLayer
from tests.serving.bucketed.model import Model, halves

BATCH, KV_HEADS, DIM = 2, 3, 24


def tokens(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    keys, values = halves(1, 2, count, KV_HEADS, DIM)
    return keys, values


@pytest.fixture
def layer() -> BucketedCacheLayer:
    """Slots 0 to 5 of sequence 1, in widths 2, 3, 4, 8, 2, 2."""
    layer = BucketedCacheLayer(BATCH, KV_HEADS, DIM, "cpu")
    layer.store(*tokens(6), 1, range(6), [2, 3, 4, 8, 2, 2])
    return layer


def memory(layer: BucketedCacheLayer) -> list[bytes]:
    """Every byte, in use or not: as floats, what was never written may be NaN and differ from itself."""
    return [tensor.numpy().tobytes() for tensors in layer._tensors for tensor in tensors.values()]


def test_tensors_are_laid_out_as_the_kernels_expect(layer: BucketedCacheLayer):
    for view in layer.views():
        assert view.keys.shape == view.values.shape == (BATCH, KV_HEADS, 64, DIM // 8 * view.bits)
        assert view.key_scales.shape == view.value_scales.shape == (BATCH, KV_HEADS, 64)
        assert view.slots.shape == view.token_ids.shape == (BATCH, 64)
        assert (view.scale_bytes, view.capacity) == (4, 64)
        for tensor in (view.keys, view.values, view.key_scales, view.value_scales, view.slots):
            assert tensor.is_contiguous()
            assert tensor.data_ptr() % 16 == 0


def test_look_ups_go_both_ways(layer: BucketedCacheLayer):
    assert [layer.find(1, slot) for slot in range(6)] == [(2, 0), (3, 0), (4, 0), (8, 0), (2, 1), (2, 2)]
    assert [layer.slot(1, 2, entry) for entry in range(3)] == [0, 4, 5]
    assert layer.lengths.tolist() == [[0, 0, 0, 0], [3, 1, 1, 1]]
    assert layer.precision_map().tolist() == [[0] * 6, [2, 3, 4, 8, 2, 2]]


def test_the_last_entry_fills_the_hole_of_a_removed_one(layer: BucketedCacheLayer):
    kept = layer.read(1, 5)
    layer.remove(1, [0])
    assert layer.find(1, 5) == (2, 0)
    assert layer.find(1, 4) == (2, 1)
    assert all(map(torch.equal, layer.read(1, 5), kept))
    assert layer.precision_map().tolist()[1] == [0, 3, 4, 8, 2, 2]
    layer.remove([1, 1], [5, 4])
    assert layer.lengths.tolist()[1] == [0, 1, 1, 1]
    assert layer.precision_map().shape == (BATCH, 4)


def test_views_are_the_memory_itself(layer: BucketedCacheLayer):
    first, second = layer.views(), layer.views()
    for one, other in zip(first, second, strict=True):
        assert one.keys.data_ptr() == other.keys.data_ptr()
    assert first[0].lengths == (0, 3)
    layer.views()[3].values[1, :, 0] = 128  # the code of zero
    assert (layer.read(1, 3)[1] == 0).all()


def test_growth_doubles_one_bucket_and_keeps_its_contents(layer: BucketedCacheLayer):
    before = [layer.read(1, slot) for slot in range(6)]
    keys, values = tokens(70)
    layer.store(keys, values, 0, range(70), 2)
    assert [view.capacity for view in layer.views()] == [128, 64, 64, 64]
    for slot, kept in enumerate(before):
        assert all(map(torch.equal, layer.read(1, slot), kept))
    layer.store(*tokens(400), 0, range(100, 500), 8)
    assert [view.capacity for view in layer.views()] == [128, 64, 64, 512]


def test_no_tokens_are_nothing_to_do(layer: BucketedCacheLayer):
    layer.store(*tokens(0), [], [], [])
    layer.remove([], [])
    assert layer.move([], [], []) == 0
    assert layer.lengths.sum() == 6


def test_a_move_within_a_width_leaves_every_byte(layer: BucketedCacheLayer):
    before = memory(layer)
    assert layer.move(1, [0, 4], 2) == 0
    assert memory(layer) == before


def test_many_moves_between_full_buckets():
    """Each bucket gives and takes at once, and entries that have just come fill holes."""
    layer = BucketedCacheLayer(1, KV_HEADS, DIM, "cpu", scale_dtype=torch.float16)
    model = Model(torch.float16)
    keys, values = tokens(256)
    widths = np.repeat([2, 3, 4, 8], 64)
    layer.store(keys, values, 0, range(256), widths)
    for slot in range(256):
        model.store(keys[slot], values[slot], 0, slot, int(widths[slot]), slot)
    random = np.random.default_rng(3)
    for _ in range(6):
        targets = random.choice([2, 3, 4, 8], 256)
        layer.move(0, range(256), targets)
        for slot, width in enumerate(targets):
            model.tokens[0, slot] = model.tokens[0, slot].moved(int(width))
        model.assert_holds_what(layer)


def test_slices_of_one_tensor_can_be_stored(layer: BucketedCacheLayer):
    qkv = halves(5, 4, 3, KV_HEADS, DIM)
    layer.store(qkv[:, 1], qkv[:, 2], 0, range(4), 8)
    other = BucketedCacheLayer(BATCH, KV_HEADS, DIM, "cpu")
    other.store(qkv[:, 1].contiguous(), qkv[:, 2].contiguous(), 0, range(4), 8)
    for slot in range(4):
        assert all(map(torch.equal, layer.read(0, slot), other.read(0, slot)))


def test_slots_widths_and_sequences_may_be_tensors(layer: BucketedCacheLayer):
    layer.store(*tokens(2), torch.tensor([0, 1]), torch.tensor([7, 7]), torch.tensor([4, 8]))
    assert (layer.find(0, 7)[0], layer.find(1, 7)[0]) == (4, 8)


def queries(layer: BucketedCacheLayer) -> torch.Tensor:
    return halves(3, BATCH, 2 * KV_HEADS, DIM)


Call = Callable[[BucketedCacheLayer], Any]
REFUSED: dict[str, tuple[Call, str]] = {
    "a width it has no bucket for": (
        lambda layer: layer.store(*tokens(1), 0, 0, 5),
        "widths holds 5, but this cache has buckets of 2, 3, 4, 8 bits",
    ),
    "a slot that holds a token": (
        lambda layer: layer.store(*tokens(2), 1, [9, 3], 8),
        "slot 3 of sequence 1, which holds a token already",
    ),
    "a slot named twice": (
        lambda layer: layer.store(*tokens(2), 0, [9, 9], 8),
        "slots names slot 9 of sequence 0 twice",
    ),
    "a negative slot": (lambda layer: layer.store(*tokens(1), 0, -1, 8), "slots holds -1, but a slot is 0"),
    "no such sequence": (
        lambda layer: layer.store(*tokens(1), 2, 0, 8),
        "sequences holds 2, but this cache has sequences 0 to 1",
    ),
    "too few slots": (
        lambda layer: layer.store(*tokens(3), 0, [1, 2], 8),
        "slots has shape [2], but 3 tokens need [3]",
    ),
    "slots that are no numbers": (
        lambda layer: layer.store(*tokens(1), 0, [0.5], 8),
        "slots holds float64, but must hold whole numbers",
    ),
    "float32 keys": (
        lambda layer: layer.store(tokens(1)[0].float(), tokens(1)[1], 0, 0, 8),
        "keys is torch.float32, but must be torch.float16",
    ),
    "values of another shape": (
        lambda layer: layer.store(tokens(1)[0], halves(0, 1, KV_HEADS, 16), 0, 0, 8),
        "values has shape [1, 3, 16], but must be [tokens, 3, 24]",
    ),
    "more values than keys": (
        lambda layer: layer.store(tokens(1)[0], tokens(2)[1], 0, 0, 8),
        "values has 2 tokens, but keys has 1",
    ),
    "keys elsewhere": (
        lambda layer: layer.store(tokens(1)[0].to("meta"), tokens(1)[1], 0, 0, 8),
        "keys is on meta, but must be on cpu",
    ),
    "removing what is not there": (
        lambda layer: layer.remove(1, [0, 77]),
        "slot 77 of sequence 1, which holds no token",
    ),
    "removing a token twice": (lambda layer: layer.remove(1, [0, 0]), "slot 0 of sequence 1 twice"),
    "moving what is not there": (
        lambda layer: layer.move(0, [0], 8),
        "slot 0 of sequence 0, which holds no token",
    ),
    "moving a token twice": (lambda layer: layer.move(1, [0, 0], [8, 4]), "slot 0 of sequence 1 twice"),
    "moving to no width": (lambda layer: layer.move(1, [0], 6), "widths holds 6"),
    "an unknown entry": (
        lambda layer: layer.slot(1, 2, 3),
        "entry is 3, but sequence 1 has 3 entries of 2 bits",
    ),
    "queries of another batch": (
        lambda layer: layer.attend(queries(layer)[:1]),
        "queries has shape [1, 6, 24], but must be [2, 3 times 1 to 8, 24]",
    ),
    "heads that are no multiple": (
        lambda layer: layer.attend(queries(layer)[:, :4]),
        "queries has shape [2, 4, 24]",
    ),
    "a mask of bools": (
        lambda layer: layer.attend(queries(layer), torch.ones(2, 6, dtype=torch.bool)),
        "mask is torch.bool, but must be torch.uint8",
    ),
    "a slot that no table is long enough for": (
        lambda layer: layer.store(*tokens(1), 0, 1 << 24, 8),
        "slots holds 16777216, but a sequence has at most 16,777,216 of them",
    ),
    "a slot past 32 bits": (
        lambda layer: layer.store(*tokens(1), 0, 1 << 31, 8),
        "slots holds 2147483648, but must fit 32 bits",
    ),
    "a token id past 32 bits": (
        lambda layer: layer.store(*tokens(1), 0, 0, 8, token_ids=1 << 40),
        "token_ids holds 1099511627776, but must fit 32 bits",
    ),
    "a scale that is no number": (
        lambda layer: layer.attend(queries(layer), scale=float("nan")),
        "scale is nan, but must be finite",
    ),
    "a mask too narrow": (
        lambda layer: layer.attend(queries(layer), torch.ones(2, 5, dtype=torch.uint8)),
        "mask has shape [2, 5], but must be [2, 6 or more]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses_and_changes_nothing(layer: BucketedCacheLayer, name: str):
    call, message = REFUSED[name]
    before = memory(layer)
    lengths, widths = layer.lengths, layer.precision_map()
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call(layer)
    assert np.array_equal(layer.lengths, lengths)
    assert np.array_equal(layer.precision_map(), widths)
    assert memory(layer) == before


def test_a_full_bucket_is_refused_more():
    layer = BucketedCacheLayer(1, KV_HEADS, DIM, "cpu", most_entries=4)
    layer.store(*tokens(5), 0, range(5), [2, 2, 2, 2, 8])
    with pytest.raises(ArgumentError, match="2-bit bucket is full: sequence 0 would have 5 entries"):
        layer.store(*tokens(1), 0, 5, 2)
    with pytest.raises(ArgumentError, match="2-bit bucket is full"):
        layer.move(0, [4], 2)
    assert layer.precision_map().tolist() == [[2, 2, 2, 2, 8]]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"batch": 0}, "batch is 0"),
        ({"head_dim": 20}, "head_dim is 20, but must be a multiple of 8 from 8 to 256"),
        ({"head_dim": 264}, "head_dim is 264"),
        ({"widths": (2, 5)}, "a width is 5, but must be one of 2, 3, 4, 8"),
        ({"widths": (2, 2)}, "widths is (2, 2), but must name at least one width, and each once"),
        ({"capacity": 100}, "capacity is 100, but must be a positive multiple of 64"),
        ({"scale_dtype": torch.float64}, "scale_dtype is torch.float64"),
    ],
)
def test_sizes_that_cannot_be_are_refused(changed: dict[str, Any], message: str):
    sizes: dict[str, Any] = {"batch": 1, "kv_heads": 1, "head_dim": 8, "device": "cpu"}
    with pytest.raises(ArgumentError, match=re.escape(message)):
        BucketedCacheLayer(**sizes | changed)
