"""Properties of exercise 01's inputs, for any sizes that its cases could have."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.spec import At, Call, Case, Scalar, registry
from grader.spec import case as make_case
from grader.spec.random_inputs import Random

EXERCISE = registry.find("01")
POINTERS = ("k_cache", "v_cache", "indices", "k", "v")
STRIDES = ("k", "v", "k_cache", "v_cache")

CASES = st.builds(
    lambda **sizes: make_case("drawn", **sizes),
    tokens=st.integers(0, 40),
    heads=st.sampled_from((1, 2, 3, 5, 8)),
    head_dim=st.sampled_from((2, 64, 98, 100)),
    sliced=st.integers(0, 1),
    shift=st.integers(0, 8),
    padding=st.integers(0, 9),
    v_longer=st.integers(0, 9),
    spare=st.integers(1, 9),
    first_page=st.sampled_from((0, 7, 5_000_000)),
)
quickly = settings(max_examples=60)


def made(case: Case, seed: str = "drawn") -> Call:
    return EXERCISE.inputs(case.size, Random(seed))


def pointers(call: Call) -> dict[str, At]:
    found = [argument for argument in call.arguments if isinstance(argument, At)]
    return dict(zip(POINTERS, found, strict=True))


def strides(call: Call) -> dict[str, int]:
    found = [a.value for a in call.arguments if isinstance(a, Scalar) and a.type == "i64"]
    return {name: int(value) for name, value in zip(STRIDES, found, strict=True)}


@given(CASES)
@quickly
def test_every_row_and_every_page_lies_inside_its_buffer(case: Case) -> None:
    call, size = made(case), case.size
    row = size.heads * size.head_dim
    pages = call.buffers["indices"][: size.tokens].long()
    for name, rows in (
        ("k", range(size.tokens)),
        ("v", range(size.tokens)),
        ("k_cache", pages.tolist()),
        ("v_cache", pages.tolist()),
    ):
        place, stride = pointers(call)[name], strides(call)[name]
        for number in rows:
            begin = place.offset + number * stride
            assert begin >= 0
            assert begin + row <= call.buffers[place.buffer].numel()


@given(CASES)
@quickly
def test_rows_do_not_overlap(case: Case) -> None:
    size = case.size
    row = size.heads * size.head_dim
    call = made(case)
    assert all(stride >= row for stride in strides(call).values())
    k, v = pointers(call)["k"], pointers(call)["v"]
    if k.buffer == v.buffer:
        assert k.offset + row <= v.offset
        assert v.offset + row - k.offset <= strides(call)["k"]


@given(CASES)
@quickly
def test_indices_are_distinct_and_leave_pages_out(case: Case) -> None:
    size = case.size
    indices = made(case).buffers["indices"][: size.tokens]
    assert len(set(indices.tolist())) == size.tokens
    assert size.tokens < len(made(case).buffers["k_cache"])


@given(CASES)
@quickly
def test_the_reference_changes_the_named_rows_and_nothing_else(case: Case) -> None:
    call, size = made(case), case.size
    after = {name: tensor.clone() for name, tensor in call.buffers.items()}
    EXERCISE.reference(size, after)
    row = size.heads * size.head_dim
    pages = call.buffers["indices"][: size.tokens].long() - size.first_page
    for name in call.buffers:
        unchanged = torch.ones(call.buffers[name].shape, dtype=torch.bool)
        if name in call.outputs:
            unchanged[pages, :row] = False
        assert torch.equal(after[name][unchanged], call.buffers[name][unchanged])  # all values are finite


@given(CASES, st.text(max_size=8))
@quickly
def test_inputs_follow_from_the_seed_alone(case: Case, seed: str) -> None:
    one, two, other = made(case, seed), made(case, seed), made(case, seed + "!")
    assert all(torch.equal(one.buffers[name], two.buffers[name]) for name in one.buffers)
    assert one.arguments == two.arguments == other.arguments
    assert not torch.equal(one.buffers["k_cache"], other.buffers["k_cache"])


@given(CASES)
@quickly
def test_values_are_finite_and_no_two_rows_alike(case: Case) -> None:
    if case.size.head_dim == 2:
        return  # rows of one word may be alike
    call = made(case)
    for name in ("k_cache", "v_cache"):
        assert bool(torch.isfinite(call.buffers[name]).all())
        assert len(torch.unique(call.buffers[name].view(torch.int16), dim=0)) == len(call.buffers[name])


@given(st.text(max_size=12))
@quickly
def test_hidden_cases_stay_within_what_the_statement_says(seed: str) -> None:
    for hidden in EXERCISE.hidden(Random(seed)):
        size = hidden.size
        assert 1 <= size.tokens <= 4097
        assert 1 <= size.heads <= 32
        assert size.head_dim % 2 == 0
        assert size.tokens * size.heads * size.head_dim <= 1 << 17
        assert not hidden.gpu_only


def test_every_alignment_is_among_the_public_cases() -> None:
    """16, 8, 4 and 2 bytes: the widest unit that K's start, strides and row length allow."""
    widths = set()
    for public in EXERCISE.cases:
        if public.gpu_only:
            continue
        call, size = made(public), public.size
        numbers = [pointers(call)["k"].offset, *strides(call).values(), size.heads * size.head_dim]
        widths.add(next(width for width in (16, 8, 4, 2) if all(2 * n % width == 0 for n in numbers)))
    assert widths == {16, 8, 4, 2}
