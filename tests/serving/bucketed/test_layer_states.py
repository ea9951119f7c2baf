"""Any sequence of stores, moves, removals and reallocations leaves a cache as a plain dictionary would be."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from common.serving.bucketed.cache import BucketedKVCache
from common.serving.bucketed.widths import WIDTHS
from tests.serving.bucketed.model import Model, halves

KV_HEADS, HEAD_DIM = 2, 16
widths = st.sampled_from(WIDTHS)
seeds = st.integers(0, 1 << 30)
slots = st.integers(0, 200)


class CacheAgainstModel(RuleBasedStateMachine):
    """Two sequences, since what happens to one must not touch the other."""

    batch = 2
    rounds = 0

    @initialize(scale_dtype=st.sampled_from([torch.float32, torch.float16]), order=st.permutations(WIDTHS))
    def begin(self, scale_dtype: torch.dtype, order: list[int]) -> None:
        self.cache = BucketedKVCache(
            1, self.batch, KV_HEADS, HEAD_DIM, "cpu", order, scale_dtype, importance_decay=0.5
        )
        self.model = Model(scale_dtype)

    @rule(
        places=st.lists(st.tuples(st.integers(0, 1), slots, widths), max_size=12, unique_by=lambda p: p[:2]),
        seed=seeds,
    )
    def store(self, places: list[tuple[int, int, int]], seed: int) -> None:
        self._store([place for place in places if place[:2] not in self.model.tokens], seed)

    @rule(sequence=st.integers(0, 1), width=widths, count=st.integers(60, 140), seed=seeds)
    def store_so_many_that_a_bucket_grows(self, sequence: int, width: int, count: int, seed: int) -> None:
        if len(self.model.tokens) < 300:
            begin = 201 + 140 * self.rounds
            self.rounds += 1
            self._store([(sequence, begin + number, width) for number in range(count)], seed)

    def _store(self, places: list[tuple[int, int, int]], seed: int) -> None:
        keys, values = halves(seed, 2, len(places), KV_HEADS, HEAD_DIM)
        sequences, slots, widths = np.array(places, dtype=np.int64).reshape(-1, 3).T
        ids = [seed % 1000 + number for number in range(len(places))]
        self.cache.quantize_and_store_batch(0, keys, values, sequences, slots, widths, ids)
        for number, (sequence, slot, width) in enumerate(places):
            self.model.store(keys[number], values[number], sequence, slot, width, ids[number])

    def _some(self, data: st.DataObject, most: int) -> list[tuple[int, int]]:
        there = st.sampled_from(sorted(self.model.tokens))
        return data.draw(st.lists(there, min_size=1, max_size=most, unique=True))

    @precondition(lambda self: self.model.tokens)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        chosen = self._some(data, 20)
        self.cache.remove(0, *map(list, zip(*chosen, strict=True)))
        for place in chosen:
            del self.model.tokens[place]

    @precondition(lambda self: self.model.tokens)
    @rule(data=st.data(), width=widths)
    def move_one(self, data: st.DataObject, width: int) -> None:
        (place,) = self._some(data, 1)
        self.cache._requantize_single(0, *place, width)
        self.model.tokens[place] = self.model.tokens[place].moved(width)

    @precondition(lambda self: self.model.tokens)
    @rule(seed=seeds, share=st.floats(0, 1))
    def reallocate_at_random(self, seed: int, share: float) -> None:
        random = np.random.default_rng(seed)
        there = self.cache.precision_map(0)
        wanted = random.choice(WIDTHS, there.shape) * (there > 0) * (random.random(there.shape) < share)
        moved = self.cache.reallocate(0, wanted)
        assert moved == int(((wanted > 0) & (wanted != there)).sum())
        self._follow(wanted)

    @precondition(lambda self: self.model.tokens)
    @rule(seed=seeds, budget=st.floats(0.4, 0.8))
    def attend_and_reallocate_by_importance(self, seed: int, budget: float) -> None:
        self.cache.attend(0, halves(seed, self.batch, KV_HEADS, HEAD_DIM))
        planned = self.cache.plan(0, budget)
        self.cache.reallocate(0, planned)
        self._follow(planned)
        assert self.cache.memory_stats().budget <= budget + 1e-9

    def _follow(self, wanted: Any) -> None:
        for (sequence, slot), token in self.model.tokens.items():
            if wanted[sequence, slot]:
                self.model.tokens[sequence, slot] = token.moved(int(wanted[sequence, slot]))

    @invariant()
    def the_cache_is_as_the_model(self) -> None:
        if hasattr(self, "model"):
            self.model.assert_holds_what(self.cache.layers[0])


TestCacheAgainstModel = CacheAgainstModel.TestCase
TestCacheAgainstModel.settings = settings(max_examples=15, stateful_step_count=20)
