"""The miniature decode engine on a GPU: a thousand replays of mixed sizes, the same on both paths."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch

from common.serving.arguments import ArgumentError
from common.serving.decode_engine import FLAG, DecodeEngine, captured_sizes
from common.serving.device import gpu
from common.serving.fused_copy import FIELDS
from tests.serving.decode_reference import decode
from tests.serving.requests import RequestPool

LARGEST = 64
MAX_SEQ_LEN = 512
VOCABULARY = 97
REPLAYS = 1000


def pool(seed: int) -> RequestPool:
    return RequestPool(LARGEST, MAX_SEQ_LEN, VOCABULARY, seed)


def engine() -> DecodeEngine:
    """With the path that the environment asks for."""
    made = DecodeEngine(gpu(), captured_sizes(LARGEST), MAX_SEQ_LEN, pool(0).slots, vocabulary=VOCABULARY)
    made.capture()
    return made


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> tuple[DecodeEngine, DecodeEngine]:
    monkeypatch.delenv(FLAG, raising=False)
    plain = engine()
    monkeypatch.setenv(FLAG, "1")
    fused = engine()
    assert (plain.fused, fused.fused) == (False, True)
    return plain, fused


def test_a_thousand_replays_of_mixed_sizes_are_the_same_on_both_paths(
    both: tuple[DecodeEngine, DecodeEngine],
) -> None:
    requests, sizes = pool(1), random.Random(7)
    for number in range(REPLAYS):
        step = requests.next_step(sizes.randint(1, LARGEST))
        plain, fused = (made.step(step.batch(made)) for made in both)
        assert torch.equal(plain, fused), f"replay {number}"
        assert bool(torch.isfinite(plain).all()), f"replay {number}"
    for one, other in zip(both[0].captured.tensors(), both[1].captured.tensors(), strict=True):
        assert torch.equal(one, other)
    assert torch.equal(both[0].k_cache, both[1].k_cache)
    assert torch.equal(both[0].v_cache, both[1].v_cache)


def test_replays_agree_with_torch(both: tuple[DecodeEngine, DecodeEngine]) -> None:
    for made in both:
        embedding = made._embedding.cpu()
        k_cache, v_cache = made.k_cache.cpu().double(), made.v_cache.cpu().double()
        requests = pool(2)
        for size in (3, 64, 1, 17):
            batch = requests.next_step(size).batch(made)
            expected = decode(batch, embedding, k_cache, v_cache)[:size]
            assert (made.step(batch).cpu().double() - expected).abs().max() < 1e-4


def test_tensors_elsewhere_are_refused(both: tuple[DecodeEngine, DecodeEngine]) -> None:
    made = both[1]
    batch = pool(3).next_step(4).batch(made)
    for field in FIELDS:
        elsewhere = replace(batch, **{field: getattr(batch, field).cpu()})
        with pytest.raises(ArgumentError, match=f"src_{field} is on cpu, but must be on cuda:0"):
            made.prepare_for_replay(elsewhere)
