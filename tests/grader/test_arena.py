"""The buffers of many calls in one piece of memory."""

from __future__ import annotations

import pytest
import torch

from common.core.errors import CourseError
from grader.devices.on_gpu import arena
from grader.spec import STREAM, At, Call, i32
from tests.grader.gpu_on_virtual import HostBuffer
from tests.grader.stepped_exercise import EXERCISE


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena, "WHERE", "cpu")
    monkeypatch.setattr(arena, "SharedBuffer", HostBuffer)


def call_of(first: int) -> Call:
    buffers = {
        "source": torch.arange(first, first + 6, dtype=torch.int32),
        "nothing": torch.empty(0, 3, dtype=torch.float16),
        "target": torch.zeros(2, 5, dtype=torch.int64),
    }
    return Call(buffers, ("target",), (At("source"), At("nothing"), At("target", 2), i32(6), STREAM))


def test_every_buffer_is_there_and_alone_in_its_storage():
    calls = [call_of(1), call_of(100)]
    place = arena.Arena(calls, 512)
    place.fill(place.image(calls))
    for number, call in enumerate(calls):
        views = place.views(place.now(), number)
        for name, tensor in call.buffers.items():
            assert torch.equal(views[name], tensor)
            assert views[name].dtype == tensor.dtype
        # What counts from the start of its storage finds itself there.
        assert torch.equal(views["source"].as_strided((2,), (1,), 1), call.buffers["source"][1:3])


def test_views_are_the_memory_itself():
    calls = [call_of(1), call_of(100)]
    place = arena.Arena(calls, 512)
    image = place.image(calls)
    place.fill(image)
    assert place.untouched(calls, image, 1)
    place.views(place.now(), 1)["target"][1, 4] = 7
    assert int(place.views(place.now(), 1)["target"][1, 4]) == 7
    assert not place.untouched(calls, image, 1)
    assert place.untouched(calls, image, 0)


def test_addresses_follow_each_other_and_what_is_empty_has_none():
    place = arena.Arena([call_of(1), call_of(2)], 512)
    assert place.address(1 << 20, 0, "source") == 1 << 20
    assert place.address(1 << 20, 0, "nothing") == 0
    assert place.address(1 << 20, 0, "target") == (1 << 20) + 512
    assert place.address(1 << 20, 1, "source") == (1 << 20) + place.starts[1]
    assert place.bytes % 512 == 0


def test_memory_between_buffers_must_stay_as_it_is():
    case = EXERCISE.bench[0]
    calls = [EXERCISE.inputs(case.size, arena.random_inputs("between"))]
    place = arena.Arena(calls, 512)
    image = place.image(calls)
    place.fill(image)
    wanted = place.wanted(EXERCISE, case.size, calls, image)
    assert place.first_wrong(EXERCISE, case.size, calls, wanted) is not None
    assert wanted.image is not None
    place.fill(wanted.image)
    assert place.first_wrong(EXERCISE, case.size, calls, wanted) is None
    place.now()[4005] = 0  # a buffer of 4,000 bytes ends before it, and the next begins at 4,096
    wrong = place.first_wrong(EXERCISE, case.size, calls, wanted)
    assert wrong is not None
    assert "between the buffers" in wrong[1].message


def test_arguments_that_change_from_call_to_call_are_refused():
    place = arena.Arena([call_of(1)], 512)
    other = call_of(1)
    changed = Call(other.buffers, other.outputs, (*other.arguments[:-2], i32(7), STREAM))
    with pytest.raises(CourseError, match="must follow from its sizes"):
        place.image([changed])
