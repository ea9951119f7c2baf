"""Device memory for the buffers of many calls in one allocation, filled and compared at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from common.core.errors import CourseError
from common.gpu.support import SharedBuffer
from grader.answers.compare import Answer, Difference, answer, difference
from grader.devices.scratch import POISON
from grader.spec import Call, Exact, Size, Task
from grader.spec.random_inputs import Random

if TYPE_CHECKING:
    import torch

WHERE = "cuda"  # for inputs, images and expected outputs
_BETWEEN = 0xA5  # the value of bytes between buffers, which must not change


@dataclass(frozen=True)
class _Place:
    offset: int
    bytes: int
    dtype: torch.dtype
    shape: torch.Size


@dataclass(frozen=True)
class Wanted:
    """The right contents after all calls of an arena: call by call, and as an image if every bit is known."""

    answers: Sequence[Answer]
    image: torch.Tensor | None = None


def random_inputs(seed: str) -> Random:
    """A source of inputs on the arenas' device."""
    return Random(seed, WHERE)


def _view(image: torch.Tensor, place: _Place) -> torch.Tensor:
    import torch

    empty = torch.empty(place.shape if place.bytes == 0 else 0, dtype=place.dtype, device=image.device)
    if place.bytes == 0:
        return empty
    start = image.storage_offset() + place.offset
    storage = image.untyped_storage()[start : start + place.bytes]
    return empty.set_(storage, 0, place.shape)


class Arena:
    """The buffers of `calls`, call after call, in memory that workers can open, then the scratch of all
    calls.

    An image is a byte tensor on the device with the contents of all buffers but scratch.
    """

    def __init__(self, calls: Sequence[Call], alignment: int) -> None:
        import torch

        self._places: list[dict[str, _Place]] = []
        self.starts: list[int] = []
        self._arguments = [call.arguments for call in calls]
        self._alignment = alignment
        self.bytes = 0  # size of an image
        for call in calls:
            if call.apart:
                raise ValueError("a case whose rows lie far apart cannot be timed")
            self.starts.append(self.bytes)
            places, self.bytes = self._laid_out(call.kept.items(), self.bytes)
            self._places.append(places)
        self.starts.append(self.bytes)
        size = self.bytes
        self._scratch: list[dict[str, _Place]] = []
        for call in calls:
            places, size = self._laid_out(((name, call.buffers[name]) for name in call.scratch), size)
            self._scratch.append(places)
        self.buffer = SharedBuffer(torch.full((size,), _BETWEEN, dtype=torch.uint8, device=WHERE))

    def _laid_out(
        self, buffers: Iterable[tuple[str, torch.Tensor]], start: int
    ) -> tuple[dict[str, _Place], int]:
        """Consecutive places from `start` on, and the start of the next one."""
        places = {}
        for name, tensor in buffers:
            held = tensor.numel() * tensor.element_size()
            places[name] = _Place(start, held, tensor.dtype, tensor.shape)
            start = -(-(start + held) // self._alignment) * self._alignment
        return places, start

    def free(self) -> None:
        self.buffer.free()

    def address(self, base: int, number: int, name: str) -> int:
        """A buffer's address in a process that has the arena at `base`; 0 for one without elements."""
        place = (self._places[number] | self._scratch[number])[name]
        return base + place.offset if place.bytes else 0

    def buffer_bytes(self, number: int, name: str) -> int:
        return self._places[number][name].bytes

    def image(self, calls: Sequence[Call]) -> torch.Tensor:
        """All buffers as they must be before the calls."""
        import torch

        if [call.arguments for call in calls] != self._arguments:
            raise CourseError("the arguments of a bench case must follow from its sizes, and these do not")
        image = torch.full((self.bytes,), _BETWEEN, dtype=torch.uint8, device=WHERE)
        for number, call in enumerate(calls):
            for name, view in self.views(image, number).items():
                view.copy_(call.buffers[name])
        return image

    def views(self, image: torch.Tensor, number: int) -> dict[str, torch.Tensor]:
        """A call's buffers but scratch inside an image. Each has its own storage, like separate buffers: an
        exercise's functions may count from its start."""
        return {name: _view(image, place) for name, place in self._places[number].items()}

    def wanted(self, task: Task, size: Size, calls: Sequence[Call], image: torch.Tensor) -> Wanted:
        """`image` holds the calls' buffers before the calls."""
        if not isinstance(task.compare, Exact):
            return Wanted([answer(task, size, call) for call in calls])
        right = image.clone()
        answers = []
        for number in range(len(self._places)):
            views = self.views(right, number)
            task.reference(size, views)
            answers.append(Answer(views))
        return Wanted(answers, right)

    def fill(self, image: torch.Tensor) -> None:
        now = self.buffer.tensor()
        now[: self.bytes].copy_(image)
        now[self.bytes :].fill_(POISON)

    def now(self) -> torch.Tensor:
        """The memory itself, as an image."""
        return self.buffer.tensor()[: self.bytes]

    def first_wrong(
        self, task: Task, size: Size, calls: Sequence[Call], wanted: Wanted
    ) -> tuple[int, Difference] | None:
        """The number of the first call whose buffers differ from `wanted`, and the difference."""
        import torch

        now = self.now()
        if wanted.image is not None and torch.equal(now.view(torch.int64), wanted.image.view(torch.int64)):
            return None
        for number, call in enumerate(calls):
            found = difference(task, size, call, wanted.answers[number], self.views(now, number))
            if found is not None:
                return number, found
        if self._between_is_whole(now):
            return None
        return 0, Difference("mismatch", "memory between the buffers was written")

    def _between_is_whole(self, now: torch.Tensor) -> bool:
        places = [place for call in self._places for place in call.values()]
        ends = [*(place.offset for place in places), self.bytes][1:]
        return all(
            bool((now[place.offset + place.bytes : end] == _BETWEEN).all())
            for place, end in zip(places, ends, strict=True)
        )

    def untouched(self, calls: Sequence[Call], image: torch.Tensor, number: int) -> bool:
        """Whether a call's outputs did not change."""
        import torch

        before, now = self.views(image, number), self.views(self.now(), number)
        return all(
            torch.equal(before[name].view(torch.uint8), now[name].view(torch.uint8))
            for name in calls[number].outputs
        )
