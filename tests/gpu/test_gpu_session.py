"""A worker on a GPU, behind its walls: whether memory is shared or copied, the parent sees what it holds."""

from __future__ import annotations

import pytest

from common.build.program import Target
from common.gpu.devices import first_gpu
from grader.answers.compare import answer, difference
from grader.building.build import build
from grader.devices.on_gpu.memory import Copied, Shared
from grader.devices.on_gpu.session import GpuSession
from grader.spec.random_inputs import Random
from grader.spec.registry import find

EXERCISE = find("01")


@pytest.fixture(scope="module")
def library():
    built = build(EXERCISE.solution, Target.gpu(first_gpu().cc))
    assert built.library is not None, built.message
    return built.library


@pytest.mark.parametrize("memory", [Shared, Copied])
def test_a_call_leaves_what_it_should_in_our_memory(library, memory):
    size = EXERCISE.cases[2].size
    call = EXERCISE.inputs(size, Random("session", "cuda"))
    with GpuSession(library) as session:
        session._memory = memory()
        outcome = session.run(EXERCISE.entry, call, 60.0)
        assert outcome.ok, outcome.message
        assert isinstance(session._memory, memory)  # sharing was not given up
    assert difference(EXERCISE, size, call, answer(EXERCISE, size, call), outcome.after) is None


def test_every_wall_stands_on_this_machine(library):
    call = EXERCISE.inputs(EXERCISE.cases[0].size, Random("walls", "cuda"))
    with GpuSession(library) as session:
        assert session.run(EXERCISE.entry, call, 60.0).ok
        assert session._worker is not None
        assert session._worker.missing_walls == []
