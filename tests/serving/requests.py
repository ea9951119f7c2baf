"""Requests that come, grow by a token per step and go: where the batches of a decode engine come from."""

from __future__ import annotations

import random
from dataclasses import dataclass

from common.serving.batch import Batch, make_batch
from common.serving.decode_engine import DecodeEngine


@dataclass(frozen=True)
class Step:
    """The new tokens of some requests, and the slots of all their keys, the new ones last."""

    tokens: list[int]
    slots: list[list[int]]

    def batch(self, engine: DecodeEngine) -> Batch:
        """In the engine's memory, padded to a size that it has captured."""
        return make_batch(
            engine.device,
            self.tokens,
            self.slots,
            padded_to=engine.size_for(len(self.tokens)),
            padding_slot=engine.padding_slot,
        )


class RequestPool:
    """Running requests over the slots of a cache. What it does follows from `seed` alone."""

    def __init__(self, max_requests: int, max_seq_len: int, vocabulary: int, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._max_seq_len, self._vocabulary = max_seq_len, vocabulary
        self.slots = max_requests * max_seq_len  # enough for all to be full
        self._free = self._random.sample(range(self.slots), self.slots)
        self._running: list[list[int]] = []

    def next_step(self, size: int) -> Step:
        """`size` requests, each one key longer than before.

        Those that are full end, and new ones with prompts of some keys take their place.
        """
        for request in [request for request in self._running if len(request) == self._max_seq_len]:
            self._running.remove(request)
            self._free += request
        while len(self._running) < size:
            self._running.append(self._take(self._random.randint(0, self._max_seq_len // 2)))
        self._random.shuffle(self._running)
        chosen = self._running[:size]
        for request in chosen:
            request += self._take(1)
        tokens = [self._random.randrange(self._vocabulary) for _ in chosen]
        return Step(tokens, [list(request) for request in chosen])

    def _take(self, count: int) -> list[int]:
        taken = self._free[:count]
        del self._free[:count]
        return taken
