"""Properties of exercise 02's inputs and guesses, for any sizes that its cases could have."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.spec import At, Call, Case, Scalar, registry
from grader.spec import case as make_case
from grader.spec.random_inputs import Random

EXERCISE = registry.find("02")
FIELDS = ("input_ids", "out_loc", "positions", "seq_lens", "cu_seqlens_k", "page_table")

CASES = st.builds(
    lambda **sizes: make_case("drawn", **sizes),
    batch=st.integers(0, 12),
    columns=st.integers(0, 40),
    source_gap=st.integers(0, 9),
    captured_gap=st.integers(0, 9),
    shift=st.integers(0, 3),
    captured_shift=st.integers(0, 3),
    spare=st.integers(0, 4),
    source_apart=st.just(0),
    captured_apart=st.just(0),
    refused=st.just(0),
)
quickly = settings(max_examples=60)


def made(case: Case, seed: str = "drawn") -> Call:
    return EXERCISE.inputs(case.size, Random(seed))


def places(call: Call) -> list[At]:
    return [argument for argument in call.arguments if isinstance(argument, At)]


def strides(call: Call) -> tuple[int, int]:
    source, captured = (int(a.value) for a in call.arguments if isinstance(a, Scalar) and a.type == "i64")
    return source, captured


def after(case: Case, call: Call) -> dict[str, torch.Tensor]:
    buffers = {name: tensor.clone() for name, tensor in call.buffers.items()}
    EXERCISE.reference(case.size, buffers)
    return buffers


@given(CASES)
@quickly
def test_sources_come_before_destinations_in_the_order_of_the_fields(case: Case) -> None:
    names = [place.buffer for place in places(made(case))]
    assert names == [*FIELDS, *(f"captured_{field}" for field in FIELDS)]


@given(CASES)
@quickly
def test_every_row_lies_inside_its_buffer(case: Case) -> None:
    call, size = made(case), case.size
    for place, stride in zip((places(call)[5], places(call)[11]), strides(call), strict=True):
        assert stride >= size.columns
        if size.batch and size.columns:
            end = place.offset + (size.batch - 1) * stride + size.columns
            assert end <= call.buffers[place.buffer].numel()


@given(CASES)
@quickly
def test_the_reference_is_six_copies_and_touches_nothing_else(case: Case) -> None:
    call, size = made(case), case.size
    got = after(case, call)
    for field in FIELDS[:5]:
        count = (size.batch + (field == "cu_seqlens_k")) if size.batch else 0
        name = f"captured_{field}"
        assert torch.equal(got[name][:count], call.buffers[field][:count])
        assert torch.equal(got[name][count:], call.buffers[name][count:])
    flat, was = got["captured_page_table"].flatten(), call.buffers["captured_page_table"].flatten()
    source = call.buffers["page_table"].flatten()
    mine = torch.zeros(len(flat), dtype=torch.bool)
    for row in range(size.batch):
        begin = size.captured_shift + row * strides(call)[1]
        read = size.shift + row * strides(call)[0]
        mine[begin : begin + size.columns] = True
        assert torch.equal(flat[begin : begin + size.columns], source[read : read + size.columns])
    assert torch.equal(flat[~mine], was[~mine])


@given(CASES)
@quickly
def test_a_call_that_must_be_refused_changes_nothing(case: Case) -> None:
    refused = Case("refused", {**case.sizes, "refused": 1})
    call = made(refused)
    assert call.returns == 1
    got = after(refused, call)
    assert all(torch.equal(got[name], tensor) for name, tensor in call.buffers.items())


@given(CASES)
@quickly
def test_every_guess_can_be_made_for_every_case(case: Case) -> None:
    """A guess runs on whatever sizes a failing case has: it must not fail itself."""
    for change in EXERCISE.known_mistakes.values():
        change(case.size, {name: tensor.clone() for name, tensor in made(case).buffers.items()})
    for step in EXERCISE.steps:
        for change in step.known_mistakes.values():
            change(case.size, dict(step.inputs(case.size, Random("drawn")).buffers))


@given(CASES, st.text(max_size=8))
@quickly
def test_inputs_follow_from_the_seed_alone(case: Case, seed: str) -> None:
    one, two, other = made(case, seed), made(case, seed), made(case, seed + "!")
    assert all(torch.equal(one.buffers[name], two.buffers[name]) for name in one.buffers)
    assert one.arguments == two.arguments == other.arguments
    assert any(not torch.equal(one.buffers[name], other.buffers[name]) for name in one.buffers)


@given(st.text(max_size=12))
@quickly
def test_hidden_cases_stay_small_and_on_any_device(seed: str) -> None:
    for hidden in EXERCISE.hidden(Random(seed)):
        size = hidden.size
        assert 1 <= size.batch <= 256
        assert 1 <= size.batch * size.columns <= 20_000
        assert not hidden.gpu_only


def test_the_cases_are_those_that_the_statement_names() -> None:
    sizes = [case.size for case in EXERCISE.cases]
    assert {1, 2, 4, 8, 16, 32, 64, 128, 160, 256, 257, 0} <= {size.batch for size in sizes}
    assert {0, 1, 257, 16_384} <= {size.columns for size in sizes}


def test_alternatives_leave_what_the_reference_leaves() -> None:
    case = EXERCISE.cases[0]
    call = made(case)
    wanted = after(case, call)
    for change in EXERCISE.alternatives.values():
        buffers = {name: tensor.clone() for name, tensor in call.buffers.items()}
        change(case.size, buffers)
        assert all(torch.equal(buffers[name], wanted[name]) for name in wanted)


def test_the_yardstick_moves_as_many_bytes_as_the_page_table_has() -> None:
    case = EXERCISE.bench[0]
    call = made(case)
    (change,) = EXERCISE.yardsticks.values()
    buffers = {name: tensor.clone() for name, tensor in call.buffers.items()}
    change(case.size, buffers)
    changed = buffers["captured_page_table"] != call.buffers["captured_page_table"]
    assert int(changed.sum()) == case.size.batch * case.size.columns
