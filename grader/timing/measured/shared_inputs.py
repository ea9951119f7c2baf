"""A case's inputs in memory, redrawn many times, and their right answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from grader.answers.compare import Difference
from grader.devices.on_gpu.arena import Arena, Wanted, random_inputs
from grader.devices.on_gpu.session import GpuSession
from grader.spec import Call, Case, Task

if TYPE_CHECKING:
    import torch


class SharedInputs:
    """Sides of a comparison that share these get the same inputs in the same memory."""

    def __init__(self, task: Task, case: Case, alignment: int) -> None:
        self._task, self._alignment = task, alignment
        self.case, self.size = case, case.size
        self.calls: list[Call] = []
        self._arena: Arena | None = None
        self._image: torch.Tensor | None = None
        self._wanted: Wanted | None = None

    @property
    def arena(self) -> Arena:
        assert self._arena is not None, "no inputs were drawn yet"
        return self._arena

    @property
    def _before(self) -> torch.Tensor:
        assert self._image is not None, "no inputs were drawn yet"
        return self._image

    def draw(self, seed: str) -> Call:
        """Drop the old inputs, and make those of the first call."""
        self.calls, self._image, self._wanted = [], None, None  # memory has no room for both in a large case
        self._rng = random_inputs(seed)
        self.calls = [self._task.inputs(self.size, self._rng)]
        return self.calls[0]

    def place(self, count: int) -> None:
        """Make the inputs of the other calls and the image to fill in."""
        self.calls += [self._task.inputs(self.size, self._rng) for _ in range(count - 1)]
        self._arena = self._arena or Arena(self.calls, self._alignment)
        self._image = self._arena.image(self.calls)

    def fill(self) -> None:
        self.arena.fill(self._before)

    def first_wrong(self) -> tuple[int, Difference] | None:
        """The first call whose answer in memory is wrong, and the difference. The right answers are computed
        once for all sides, and not before one has run."""
        if self._wanted is None:
            self._wanted = self.arena.wanted(self._task, self.size, self.calls, self._before)
        return self.arena.first_wrong(self._task, self.size, self.calls, self._wanted)

    def untouched(self, number: int) -> bool:
        return self.arena.untouched(self.calls, self._before, number)

    def close(self, sessions: Iterable[GpuSession]) -> None:
        """Free the memory, after every session that may have opened it has closed it."""
        if self._arena is None:
            return
        for session in sessions:
            session.forget(self._arena.buffer)
        self._arena.free()
