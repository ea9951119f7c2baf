"""Properties of exercise 05's inputs and guesses, for any sizes that its cases could have."""

from __future__ import annotations

import sys

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from grader.answers.compare import answer, difference
from grader.spec import At, Call, Case, HostTable, Scalar, Size, Task, registry
from grader.spec.random_inputs import Random

EXERCISE = registry.find("05")
SHAPES = sys.modules["exercise_05_flash_attention.shapes"]
LAYOUT = sys.modules["exercise_05_flash_attention.layout"]
FLAG = st.integers(0, 1)
DRAWN = st.builds(
    SHAPES.attention,
    st.just("drawn"),
    batch=st.integers(1, 3),
    heads=st.integers(1, 3),
    length=st.integers(1, 70),
    head_dim=st.sampled_from((64, 128)),
    causal=FLAG,
    bfloat16=FLAG,
    rows_apart=FLAG,
    gap=st.sampled_from((0, 8, 24)),
    scale=st.sampled_from((0, 50, 700)),
    size=st.sampled_from((10, 80)),
)
TASKS: tuple[Task, ...] = (EXERCISE, *EXERCISE.steps)
quickly = settings(max_examples=25, deadline=None)


def made(task: Task, case: Case, seed: str = "drawn") -> Call:
    return task.inputs(case.size, Random(seed))


def strides_of(call: Call) -> dict[str, tuple[int, int, int]]:
    """From a batch, a head and a row to the next, as the call says it of each tensor."""
    (rows,) = (argument.rows for argument in call.arguments if isinstance(argument, HostTable))
    pointers = [argument for argument in call.arguments if isinstance(argument, At)]
    assert all(pointer.offset == 0 for pointer in pointers)
    named = {}
    for pointer, row in zip(pointers, rows, strict=True):
        batch, head, between_rows = (int(field.value) for field in row if isinstance(field, Scalar))
        named[pointer.buffer] = batch, head, between_rows
    return named


def addressed(size: Size, strides: tuple[int, int, int]) -> torch.Tensor:
    """Where every element lies by its strides, in elements: [batch, head, row, element]."""
    extents = (size.batch, size.heads, size.length, size.head_dim)
    places = torch.zeros(extents, dtype=torch.int64)
    for dimension, stride in enumerate((*strides, 1)):
        shape = [1] * 4
        shape[dimension] = extents[dimension]
        places += (torch.arange(extents[dimension]) * stride).view(shape)
    return places


@pytest.mark.parametrize("task", [EXERCISE, EXERCISE.steps[0]], ids=["the whole", "a step"])
def test_strides_lead_to_every_element_once_and_nowhere_else(task: Task) -> None:
    @given(DRAWN)
    @quickly
    def check(case: Case) -> None:
        call = made(task, case)
        for name, strides in strides_of(call).items():
            tensor, places = call.buffers[name], addressed(case.size, strides)
            assert tensor.is_contiguous()
            assert int(places.max()) < tensor.numel()
            assert places.unique().numel() == places.numel()
            found = tensor.flatten()[places]
            assert torch.equal(found, LAYOUT.heads_of(case.size, tensor))

    check()


@given(DRAWN)
@quickly
def test_every_row_begins_at_a_multiple_of_16_bytes(case: Case) -> None:
    call = made(EXERCISE, case)
    for name, strides in strides_of(call).items():
        bytes_each = call.buffers[name].element_size()
        assert all(stride * bytes_each % 16 == 0 for stride in strides)


@given(DRAWN)
@quickly
def test_rows_lie_as_the_case_says(case: Case) -> None:
    size = case.size
    for name, (batch, head, row) in strides_of(made(EXERCISE, case)).items():
        width = size.head_dim + (0 if name == "out" else size.gap)
        assert batch == size.heads * size.length * width
        assert (head, row) == (
            (width, size.heads * width) if size.rows_apart else (size.length * width, width)
        )


@given(DRAWN)
@quickly
def test_gaps_hold_numbers_that_change_nothing(case: Case) -> None:
    call = made(EXERCISE, case)
    before = answer(EXERCISE, case.size, call).exact["out"].clone()
    for name in ("queries", "keys", "values"):
        gap = call.buffers[name][..., case.size.head_dim :]
        assert torch.isfinite(gap).all()
        gap += 100
    assert torch.equal(before, answer(EXERCISE, case.size, call).exact["out"])


@given(DRAWN)
@quickly
def test_arguments_follow_from_the_sizes_alone_and_values_from_the_seed(case: Case) -> None:
    one, two, other = made(EXERCISE, case), made(EXERCISE, case), made(EXERCISE, case, "another")
    for name, tensor in one.kept.items():
        assert torch.equal(tensor, two.buffers[name])
    assert one.arguments == two.arguments == other.arguments
    assert not torch.equal(one.buffers["queries"], other.buffers["queries"])


@given(DRAWN)
@quickly
def test_the_reference_is_softmax_over_the_keys_that_a_query_sees(case: Case) -> None:
    """Row by row, in float64, by the definition."""
    call, size = made(EXERCISE, case), case.size
    got = LAYOUT.heads_of(size, answer(EXERCISE, size, call).exact["out"])
    query, key, value = (
        LAYOUT.heads_of(size, call.buffers[name]).double() for name in ("queries", "keys", "values")
    )
    scale = size.scale / 1000 or size.head_dim**-0.5
    for row in range(size.length):
        seen = row + 1 if size.causal else size.length
        scores = torch.einsum("bhd,bhkd->bhk", query[:, :, row], key[:, :, :seen]) * scale
        expected = torch.einsum("bhk,bhkd->bhd", scores.softmax(-1), value[:, :, :seen])
        assert torch.allclose(got[:, :, row], expected, rtol=1e-6, atol=1e-9)


def test_every_guess_can_be_made_for_every_case() -> None:
    """A guess runs on whatever sizes a failing case has: it must not fail itself."""

    @given(DRAWN)
    @settings(max_examples=6, deadline=None, phases=[Phase.generate])
    def guess(case: Case) -> None:
        for change in EXERCISE.known_mistakes.values():
            change(case.size, {name: tensor.clone() for name, tensor in made(EXERCISE, case).kept.items()})

    guess()


# By words of a mistake: lengths at which tiles of 16, 32 and 64 make a difference.
LENGTHS = {
    "past the last multiple": 120,
    "its tile of": 140,
    "only the last tile": 127,
    "tile": 70,
    "key by key": 70,
}


def shown_by(guess: str) -> Case:
    """Sizes that tell this mistake from a right answer, and from the other mistakes."""
    causal = int("the query" in guess or "its own key" in guess)
    scale = 300 if "1/√head_dim" in guess else 0
    length = next((length for words, length in LENGTHS.items() if words in guess), 20)
    heads, gap = 1 + ("head 0" in guess), 8 * ("no gaps" in guess)
    if "-infinity" in guess:  # scores must be far from 0
        return SHAPES.attention("shown", length=4, heads=16, causal=1, size=500)
    return SHAPES.attention("shown", length=length, heads=heads, causal=causal, gap=gap, scale=scale)


@pytest.mark.parametrize("name", EXERCISE.known_mistakes)
def test_what_a_mistake_leaves_is_wrong_and_looks_like_it_alone(name: str) -> None:
    case = shown_by(name)
    call = made(EXERCISE, case)
    left = {key: tensor.clone() for key, tensor in call.kept.items()}
    EXERCISE.known_mistakes[name](case.size, left)
    found = difference(EXERCISE, case.size, call, answer(EXERCISE, case.size, call), left)
    assert found is not None
    assert found.message.endswith(f"It looks like this: {name}")


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.entry)
def test_hidden_cases_stay_small_and_on_any_device(task: Task) -> None:
    @given(st.text(max_size=12))
    @quickly
    def check(seed: str) -> None:
        for case in task.hidden(Random(seed)):
            assert not case.gpu_only
            assert case.size.length <= 160
            assert case.size.batch * case.size.heads <= 6
            assert case.size.gap % 8 == 0

    check()


def test_the_cases_are_those_that_the_statement_names() -> None:
    sizes = [case.size for case in EXERCISE.cases]
    for batch, length, heads, head_dim in SHAPES.SEVEN:
        for causal in (0, 1):
            wanted = (batch, length, heads, head_dim, causal)
            assert wanted in {(s.batch, s.length, s.heads, s.head_dim, s.causal) for s in sizes}
    assert {64, 128} == {size.head_dim for size in sizes}
    assert {0, 1} == {size.bfloat16 for size in sizes} == {size.rows_apart for size in sizes}
    assert {128, 256, 512, 1024} <= {size.length for size in sizes}
    assert any(size.length % 16 for size in sizes)
    assert max(size.size for size in sizes) >= 80  # scores that overflow without their maximum


def test_the_steps_are_half_precision_with_heads_of_64() -> None:
    for step in EXERCISE.steps:
        cases = [*step.cases, *step.hidden(Random("drawn"))]
        assert all((case.size.head_dim, case.size.bfloat16) == (64, 0) for case in cases)


def test_bytes_moved_are_three_tensors_read_and_one_written() -> None:
    case = SHAPES.attention("small", batch=2, heads=3, length=5, head_dim=128, gap=8)
    assert EXERCISE.moved(case) == 4 * (2 * 3 * 5 * 128) * 2


def test_scalars_of_a_call_are_the_sizes_of_its_case() -> None:
    case = SHAPES.attention(
        "small", batch=2, heads=3, length=5, head_dim=128, causal=1, bfloat16=1, scale=250
    )
    numbers = [a.value for a in made(EXERCISE, case).arguments if isinstance(a, Scalar)]
    assert numbers[:-1] == [2, 3, 5, 128, 0.25, 1, 1]
    step = EXERCISE.steps[0]
    numbers = [a.value for a in made(step, case).arguments if isinstance(a, Scalar)]
    assert numbers[:-1] == [2, 3, 5, 0.25, 1]
