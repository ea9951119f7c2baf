"""Exercise 03 on hardware, beside its grading: the wrapper, a step of metadata, and its alternatives."""

from __future__ import annotations

import importlib

import pytest
import torch

from common.serving.batched_copy import Copy, batched_copy
from common.serving.nsa_metadata import Mode, NsaMetadata, Step, copy_metadata, step_fields
from grader.answers.compare import expected, same_buffers
from grader.spec import Case, registry
from grader.spec.random_inputs import Random

EXERCISE = registry.find("03")
batches = importlib.import_module("exercise_03_batched_copy.batches")
alternatives = importlib.import_module("exercise_03_batched_copy.alternatives")
ANSWERED = [
    case
    for case in (*EXERCISE.cases, *EXERCISE.bench)
    if not batches.batch_of(case.size).refused and EXERCISE.bytes_moved(case.size) < 1 << 30
]
STEP = Step(Mode.TARGET_VERIFY, batch=6, max_len=99, draft_tokens=3, real_page_columns=7, flashmla_parts=132)
CAPTURED = Step(Mode.DECODE, batch=64, max_len=128, real_page_columns=16, flashmla_parts=132)


def one_dtype(case: Case) -> bool:
    return len({copy.element_size for copy in batches.batch_of(case.size).copies}) == 1


@pytest.mark.parametrize("name", list(EXERCISE.alternatives))
def test_every_alternative_gives_the_answer(name: str) -> None:
    for case in ANSWERED:
        if name == alternatives.CAT and not one_dtype(case):
            continue
        call = EXERCISE.inputs(case.size, Random(f"the values of {case.name}", "cuda"))
        wanted = expected(EXERCISE, case.size, call)
        EXERCISE.alternatives[name](case.size, call.buffers)
        assert same_buffers(call.buffers, wanted), case.name


def tensors(step: Step, value: int) -> NsaMetadata:
    """All values different, beginning with `value`."""
    made = {}
    for field in step_fields(step):
        shape = (field.skip + field.columns,) if field.rows is None else (field.rows, field.columns)
        count = torch.Size(shape).numel()
        made[field.name] = torch.arange(value, value + count, dtype=torch.int32, device="cuda").view(shape)
        value += count
    return NsaMetadata(**made)


def assert_copied(source: NsaMetadata, captured: NsaMetadata) -> None:
    for field in step_fields(STEP):
        to, values = getattr(captured, field.name), getattr(source, field.name)
        if field.rows is None:
            assert torch.equal(to[field.skip : field.skip + field.columns], values[field.skip :]), field.name
            assert field.skip == 0 or int(to[0]) < 0, field.name
        else:
            assert torch.equal(to[: field.rows, : field.columns], values), field.name


def test_a_step_is_copied_into_three_sets() -> None:
    source = tensors(STEP, 1)
    captured = [tensors(CAPTURED, -100_000 * number) for number in (1, 2, 3)]
    copy_metadata(STEP, source, captured)
    for one in captured:
        assert_copied(source, one)


def test_a_captured_copy_brings_what_the_sources_hold_at_each_replay() -> None:
    source, captured = tensors(STEP, 1), tensors(CAPTURED, -100_000)
    copy_metadata(STEP, source, captured)  # built and loaded before the capture
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        copy_metadata(STEP, source, captured)
    for _ in range(3):
        for field in step_fields(STEP):
            getattr(source, field.name).add_(1000)
        graph.replay()
        torch.cuda.synchronize()
        assert_copied(source, captured)


def test_a_copy_may_be_larger_than_2_to_the_31_bytes() -> None:
    source = torch.randint(0, 256, (3, (1 << 30) + 5), dtype=torch.uint8, device="cuda")
    destination = torch.zeros(3, (1 << 30) + 64, dtype=torch.uint8, device="cuda")
    batched_copy([Copy("gigantic", source, destination[:, : source.shape[1]])])
    torch.cuda.synchronize()
    assert torch.equal(destination[:, : source.shape[1]], source)
    assert not bool(destination[:, source.shape[1] :].any())
