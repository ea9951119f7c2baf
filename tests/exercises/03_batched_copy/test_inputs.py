"""Properties of exercise 03's batches: what its cases, its hidden cases and its mistakes have in common."""

from __future__ import annotations

import importlib
from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from common.serving.nsa_metadata import Mode, step_fields
from grader.answers.compare import expected, same_buffers
from grader.spec import Call, Case, HostTable, registry
from grader.spec.random_inputs import Random

EXERCISE = registry.find("03")
batches = importlib.import_module("exercise_03_batched_copy.batches")
HERE_TOO = [case for case in (*EXERCISE.cases, *EXERCISE.bench) if not case.gpu_only]
ANSWERED = [case for case in HERE_TOO if not batches.batch_of(case.size).refused]
quickly = settings(max_examples=40)

DRAWN = st.integers(0, 1 << 40).map(lambda draw: batches.drawn("drawn", draw))
STEPS = st.builds(
    batches.metadata,
    st.sampled_from(list(Mode)),
    st.integers(0, 9),
    st.integers(0, 70),
    real_pages=st.integers(0, 1),
    flashmla=st.integers(0, 1),
    wider=st.integers(0, 40),
    spare=st.integers(1, 5),
)


def made(case: Case, seed: str = "drawn") -> Call:
    return EXERCISE.inputs(case.size, Random(seed))


def touched(case: Case, which: str) -> list[dict[str, torch.Tensor]]:
    """For each copy, which elements of which buffer it reads ("source") or writes ("destination")."""
    batch = batches.batch_of(case.size)
    found = []
    for copy in batch.copies:
        side = getattr(copy, which)
        shape, _ = batch.buffers[side.buffer]
        marks = torch.zeros(shape, dtype=torch.bool)
        marks.as_strided((copy.rows, copy.columns), (side.stride, 1), side.offset).fill_(True)
        found.append({side.buffer: marks})
    return found


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case.name)
def test_no_case_that_is_answered_has_an_overlap(case: Case) -> None:
    _assert_apart(case)


@given(DRAWN | STEPS)
@quickly
def test_no_drawn_batch_has_an_overlap(case: Case) -> None:
    _assert_apart(case)


def _assert_apart(case: Case) -> None:
    written, read = touched(case, "destination"), touched(case, "source")
    pairs = [*combinations(written, 2), *((w, r) for w in written for r in read)]
    for one, other in pairs:
        for name in one.keys() & other.keys():
            assert not bool((one[name] & other[name]).any())


@given(DRAWN | STEPS)
@quickly
def test_the_reference_writes_the_destinations_and_nothing_else(case: Case) -> None:
    call = made(case)
    after = expected(EXERCISE, case.size, call)
    stays = {name: torch.ones(values.shape, dtype=torch.bool) for name, values in call.buffers.items()}
    for copy in touched(case, "destination"):
        for name, marks in copy.items():
            stays[name] &= ~marks
    for name, values in call.buffers.items():
        assert torch.equal(after[name][stays[name]], values[stays[name]])


@given(STEPS)
@quickly
def test_element_0_of_cumulative_arrays_stays(case: Case) -> None:
    call = made(case)
    after = expected(EXERCISE, case.size, call)
    for name in ("cu_seqlens_k", "nsa_cu_seqlens_k"):
        assert after[name][0] == call.buffers[name][0]


@given(STEPS)
@quickly
def test_a_step_is_copied_field_by_field(case: Case) -> None:
    fields = step_fields(batches.step_of(case.size))
    (table, _, _) = made(case).arguments
    assert isinstance(table, HostTable)
    assert len(table.rows) == len(fields) <= batches.MOST_COPIES


@given(DRAWN | STEPS, st.text(max_size=8))
@quickly
def test_inputs_follow_from_the_seed_alone(case: Case, seed: str) -> None:
    one, two, other = made(case, seed), made(case, seed), made(case, seed + "!")
    assert same_buffers(one.buffers, two.buffers)
    assert one.arguments == two.arguments == other.arguments
    assert not same_buffers(one.buffers, other.buffers)


def test_every_unit_and_every_element_size_is_among_the_public_cases() -> None:
    copies = [copy for case in ANSWERED for copy in batches.batch_of(case.size).copies if copy.elements]
    assert {copy.unit for copy in copies} == {16, 8, 4, 2, 1}
    assert {copy.element_size for copy in copies} == {8, 4, 2, 1}


def test_every_mode_comes_with_every_option() -> None:
    sizes = [case.size for case in EXERCISE.cases if case.sizes["family"] == batches.Family.METADATA]
    alone = {(size.mode, size.real_pages, size.flashmla) for size in sizes if size.sets == 1}
    assert len(alone) == 3 * 2 * 2
    assert {(size.sets, size.chunk) for size in sizes} == {(1, 0), (3, 0), (3, 1)}


def test_refused_batches_are_refused_for_six_reasons() -> None:
    refused = [name for name, make in batches.LISTED.items() if make().refused]
    assert len(refused) == 6
    for name in refused:
        call = made(batches.listed(name))
        assert call.returns == 1
        assert same_buffers(expected(EXERCISE, batches.listed(name).size, call), call.buffers)


@given(st.text(max_size=12))
@settings(max_examples=15)
def test_hidden_cases_stay_small(seed: str) -> None:
    for hidden in EXERCISE.hidden(Random(seed)):
        assert not hidden.gpu_only
        assert EXERCISE.bytes_moved(hidden.size) < 4 << 20


@pytest.mark.parametrize("case", ANSWERED[:6], ids=lambda case: case.name)
def test_a_mistake_changes_the_answer_or_leaves_it_and_never_faults(case: Case) -> None:
    """Each runs on any batch, whether or not the mistake shows there."""
    for mistake in EXERCISE.known_mistakes.values():
        call = made(case)
        mistake(case.size, call.buffers)
