"""A wrong answer is described by its first wrong element, how many there are, and what it looks like."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.answers.compare import answer, difference, expected
from grader.spec import At, Call, Case, Exact, Exercise, Points, Relative, Size
from grader.spec.random_inputs import Random


def double(size: Size, buffers) -> None:
    buffers["out"][: size.n] = buffers["x"][: size.n] * 2


def swapped(size: Size, buffers) -> None:
    buffers["out"][: size.n] = buffers["x"][: size.n].flip(0) * 2


def exercise(compare=None) -> Exercise:
    return Exercise(
        title="double",
        entry="double_it",
        inputs=lambda size, rng: Call({}, (), ()),
        reference=double,
        compare=compare or Exact(),
        cases=(Case("one", {"n": 1}),),
        hidden=lambda rng: (),
        bench=(),
        bytes_moved=lambda size: 0,
        mechanisms=(),
        targets=(),
        points=Points(1, 1, 1, 1),
        known_mistakes={"the order is reversed": swapped},
    )


def problem(n: int = 8, spare: int = 3, dtype=torch.float32) -> tuple[Size, Call]:
    x = torch.arange(1, n + spare + 1, dtype=dtype)
    out = torch.full((n + spare,), 77.0, dtype=dtype)
    return Size(n=n), Call({"x": x, "out": out}, ("out",), (At("x"), At("out")))


def judge(change, compare=None, **kind):
    size, call = problem(**kind)
    task = exercise(compare)
    after = {name: tensor.clone() for name, tensor in call.buffers.items()}
    double(size, after)
    change(after)
    return difference(task, size, call, answer(task, size, call), after)


def test_the_right_answer_has_no_difference():
    assert judge(lambda after: None) is None


def test_the_first_wrong_element_is_named_with_what_was_expected():
    def wrong(after):
        after["out"][3] = 5
        after["out"][6] = 6

    found = judge(wrong)
    assert found.reason == "mismatch"
    assert found.message.startswith("out[3] is 5, expected 8; 2 of 11 elements are wrong")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a["out"].fill_(77), "Nothing was written"),
        (lambda a: a["out"][:8].zero_(), "Every element that had to be written is zero"),
        (lambda a: a["out"][:8].copy_(a["out"][:8].flip(0)), "the order is reversed"),
        (lambda a: a["out"][9].fill_(1), "had to stay as they were"),
        (lambda a: a["out"][7].fill_(77), "The wrong elements were never written"),
    ],
)
def test_a_mistake_is_recognised_by_what_it_leaves_behind(change, words):
    assert words in judge(change).message


def shifted(by: int):
    """Reads `by` elements too far. What lies behind x is not known."""

    def leave(size: Size, buffers):
        read = buffers["x"][by : by + size.n] * 2
        buffers["out"][: len(read)] = read
        unknown = torch.zeros(len(buffers["out"]), dtype=torch.bool)
        unknown[len(read) : size.n] = True
        return {"out": unknown}

    return leave


@pytest.mark.parametrize(
    ("by", "words"),
    [(4, "It looks like this: 4 too far"), (6, "It looks like this: 6 too far"), (20, "")],
    ids=["some known", "fewer known", "none known: any answer would be like it"],
)
def test_a_mistake_may_leave_elements_open_but_must_show_in_others(by, words):
    size, call = problem()
    shifts = {f"{by} too far": shifted(by) for by in (6, 20, 4)}
    task = dataclasses.replace(exercise(), known_mistakes=shifts)
    after = {name: tensor.clone() for name, tensor in call.buffers.items()}
    shifted(by)(size, after)
    after["out"][max(0, len(call.buffers["x"]) - by) : size.n] = 5
    found = difference(task, size, call, answer(task, size, call), after)
    assert found is not None
    assert found.message.endswith(words)
    assert ("looks like" in found.message) is bool(words)


def test_elements_that_must_not_change_are_not_reported_as_wrong():
    size, call = problem()
    call.buffers["out"][2] = 6  # what it will be
    task = exercise()
    after = {name: tensor.clone() for name, tensor in call.buffers.items()}
    double(size, after)
    after["out"][5] = 13  # written, and wrong
    found = difference(task, size, call, answer(task, size, call), after)
    assert found is not None
    assert "never written" not in found.message


def test_rows_that_were_never_written_are_reported_where_answers_are_rounded():
    assert "never written" in judge(lambda a: a["out"][7].fill_(77), Relative()).message


def test_elements_made_of_others_of_the_same_output_had_to_be_written():
    """In place: the first half of an output becomes the second, as where tokens move between buckets."""

    def move(size: Size, buffers) -> None:
        buffers["out"][size.n :] = buffers["out"][: size.n] * 2

    task = dataclasses.replace(exercise(), reference=move, known_mistakes={})
    call = Call({"out": torch.arange(1.0, 9.0)}, ("out",), (At("out"),))
    after = {"out": call.buffers["out"].clone()}
    move(Size(n=4), after)
    after["out"][6] = 5  # wrong, but its to write
    wrong = difference(task, Size(n=4), call, answer(task, Size(n=4), call), after)
    assert wrong is not None
    assert "had to stay" not in wrong.message
    after["out"][1] = 9  # and this one was not
    wrong = difference(task, Size(n=4), call, answer(task, Size(n=4), call), after)
    assert wrong is not None
    assert "had to stay as they were" in wrong.message


def test_changed_inputs_are_a_fault_even_if_the_output_is_right():
    found = judge(lambda after: after["x"][2].fill_(0))
    assert found.reason == "input changed"
    assert "x[2] was 3 and is 0" in found.message


def test_bits_count_not_values():
    assert judge(lambda after: after["out"].masked_fill_(after["out"] == 2, float("nan"))) is not None
    size, call = problem()
    minus_zero = {"x": call.buffers["x"] * 0, "out": call.buffers["out"]}
    call = Call(minus_zero, ("out",), ())
    after = expected(exercise(), size, call)
    after["out"][0] = -0.0
    assert difference(exercise(), size, call, answer(exercise(), size, call), after) is not None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0])
def test_a_relative_comparison_takes_neither_nan_nor_zeros(value):
    assert judge(lambda after: after["out"][:8].fill_(value), Relative(), dtype=torch.float16) is not None


def test_a_relative_comparison_takes_what_torch_itself_would_do():
    assert judge(lambda after: None, Relative(), dtype=torch.float16) is None


@given(st.integers(1, 40), st.integers(0, 5), st.data())
def test_any_single_changed_element_is_found_at_its_place(n, spare, data):
    at = data.draw(st.integers(0, n + spare - 1))

    def wrong(after):
        after["out"][at] += 1

    found = judge(wrong, n=n, spare=spare)
    assert f"out[{at}] is " in found.message


@given(st.binary(min_size=1, max_size=8), st.integers(1, 300))
def test_distinct_numbers_are_distinct_and_follow_from_the_seed(seed, count):
    first, again = (Random(seed).distinct(count, below=count + 7) for _ in range(2))
    assert torch.equal(first, again)
    assert len(set(first.tolist())) == count
    assert int(first.min()) >= 0
    assert int(first.max()) < count + 7


def test_halves_are_finite():
    assert bool(torch.isfinite(Random("seed").half(1 << 16)).all())


def test_a_known_mistake_that_cannot_be_made_here_does_not_cost_the_verdict():
    def impossible(size: Size, buffers) -> None:
        raise RuntimeError(
            "more than one element of the written-to tensor refers to a single memory location"
        )

    size, call = problem()
    task = dataclasses.replace(exercise(), known_mistakes={"impossible": impossible})
    after = {name: tensor.clone() for name, tensor in call.buffers.items()}
    found = difference(task, size, call, answer(task, size, call), after)
    assert found is not None
    assert "Nothing was written" in found.message or "out" in found.message
