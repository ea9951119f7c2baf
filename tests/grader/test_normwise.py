"""Rows compared by the norm of their error: what passes, what does not, and what is said of it."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.answers.compare import Difference, answer, difference
from grader.answers.tolerance import largest_row_error
from grader.spec import Call, Comparison, Normwise, Size
from grader.spec.random_inputs import Random
from tests.grader.pooled_exercise import EXERCISE

SIZE = Size(rows=4, groups=6)


def judged(change, rule: Comparison | None = None) -> Difference | None:
    """The exact answer after a change."""
    task = dataclasses.replace(EXERCISE, compare=rule or Normwise())
    call = task.inputs(SIZE, Random("rows"))
    right = answer(task, SIZE, call)
    after = {**call.kept, "out": right.exact["out"].float()}
    change(after["out"])
    return difference(task, SIZE, call, right, after)


def message(change, rule: Comparison | None = None) -> str:
    found = judged(change, rule)
    assert found is not None
    assert found.reason == "mismatch"
    return found.message


def scaled(row: int, by: float):
    def change(out: torch.Tensor) -> None:
        out[row] *= by

    return change


def test_the_exact_answer_passes():
    assert judged(lambda out: None) is None


def test_an_error_of_the_size_that_torch_makes_itself_passes():
    assert judged(scaled(2, 1 + 1e-4)) is None


def test_the_least_tolerance_is_always_allowed():
    """Torch's own error may be 0 by chance; a kernel need not be as lucky."""
    lucky = Normwise(times=0.0)
    assert judged(scaled(2, 1 + 1e-4), lucky) is not None
    assert judged(scaled(2, 1 + 1e-4), dataclasses.replace(lucky, least=2**-11)) is None
    assert judged(scaled(2, 1 + 1e-3), dataclasses.replace(lucky, least=2**-11)) is not None


def test_the_worst_row_is_named_with_its_error_and_what_was_allowed():
    def change(out: torch.Tensor) -> None:
        out[1] *= 1.005
        out[3] *= 1.02

    words = message(change)
    assert words.startswith("out[3,:] is off by 0.02 (the norm of the error over the norm of the row)")
    assert "2 of 4 rows are too far off" in words


def test_the_tolerance_has_a_maximum_however_coarse_torch_is():
    generous = Normwise(times=1e6, at_most=1e-2)
    assert judged(scaled(1, 1.009), generous) is None
    assert "allowed is 0.01" in message(scaled(1, 1.011), generous)


def test_a_row_of_zeros_must_be_zeros():
    def change(out: torch.Tensor) -> None:
        out[0, 5] = 1e-30

    assert "out[0,:] must be all zeros and is not; 1 of 4 rows" in message(change)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinity_never_pass(value: float):
    def change(out: torch.Tensor) -> None:
        out[2, 3] = value

    assert f"out[2,3] is {value}, but must be a finite number" in message(change)


def largest(size: Size, buffers) -> None:
    """One number per row, -inf for an empty row."""
    buffers["out"].copy_(buffers["x"].amax(1))


def judged_largest(change) -> Difference | None:
    task = dataclasses.replace(EXERCISE, compare=Normwise(), reference=largest, known_mistakes={})
    x = torch.tensor([[1.0, 2.0], [-torch.inf, -torch.inf], [-3.0, -4.0]])
    call = Call({"x": x, "out": torch.zeros(3)}, ("out",), ())
    after = {"x": x, "out": torch.tensor([2.0, -torch.inf, -3.0])}
    change(after["out"])
    return difference(task, Size(), call, answer(task, Size(), call), after)


def test_minus_infinity_is_right_for_an_empty_row():
    assert judged_largest(lambda out: None) is None

    def filled(out: torch.Tensor) -> None:
        out[1] = -1e30

    found = judged_largest(filled)
    assert found is not None
    assert found.message.startswith("out[1] is -1e+30, expected -inf")

    def wrong_sign(out: torch.Tensor) -> None:
        out[1] = torch.inf

    assert judged_largest(wrong_sign) is not None


def test_an_output_of_one_dimension_is_compared_element_by_element():
    def change(out: torch.Tensor) -> None:
        out[2] = -3.1

    found = judged_largest(change)
    assert found is not None
    assert found.message.startswith("out[2] is -3.1, expected -3: off by 0.0333 (relative to it)")
    assert "1 of 3 elements" in found.message


def test_whole_numbers_are_compared_bit_by_bit():
    def count(size: Size, buffers) -> None:
        buffers["out"].fill_(1_000_000)

    task = dataclasses.replace(EXERCISE, compare=Normwise(), reference=count, known_mistakes={})
    call = Call({"out": torch.zeros(2, 2, dtype=torch.int32)}, ("out",), ())
    after = {"out": torch.full((2, 2), 1_000_000, dtype=torch.int32)}
    assert difference(task, Size(), call, answer(task, Size(), call), after) is None
    after["out"][1, 0] += 1
    found = difference(task, Size(), call, answer(task, Size(), call), after)
    assert found is not None
    assert "out[1,0] is 1000001, expected 1000000" in found.message


@given(st.floats(1e-2, 1e2), st.integers(1, 3))
def test_one_row_far_off_is_always_found(by: float, row: int):
    found = judged(scaled(row, 1 + by))
    assert found is not None
    assert f"out[{row},:]" in found.message


def test_the_largest_error_of_a_row_is_a_number_or_has_no_bound():
    exact = torch.tensor([[3.0, 4.0], [0.0, 0.0], [0.0, 10.0]])
    assert largest_row_error(exact.half(), exact) == 0
    assert largest_row_error(exact + torch.tensor([[0.0, 0.5], [0.0, 0.0], [0.5, 0.0]]), exact) == 0.1
    for strange in (torch.nan, torch.inf, 1e-3):
        assert largest_row_error(exact + torch.tensor([[0.0], [strange], [0.0]]), exact) == torch.inf
    assert largest_row_error(torch.empty(0, 2), torch.empty(0, 2)) == 0


class Lucky:
    """A task whose reference is exact in the call at hand; in other calls it is off by 1e-4."""

    def __init__(self) -> None:
        self.calls = 0

    def inputs(self, size: Size, rng: Random) -> Call:
        self.calls += 1
        x = rng.normal(size.rows, 8)
        return Call({"x": x, "off": torch.tensor([1e-4]), "out": torch.zeros(size.rows, 8)}, ("out",), ())

    @staticmethod
    def reference(size: Size, buffers) -> None:
        exact = buffers["out"].dtype == torch.float64
        buffers["out"].copy_(buffers["x"] * (1 if exact else 1 + buffers["off"]))

    def judged(self, by: float, rows: int = 2) -> Difference | None:
        task = dataclasses.replace(
            EXERCISE, compare=Normwise(), inputs=self.inputs, reference=self.reference, known_mistakes={}
        )
        size = Size(rows=rows)
        call = task.inputs(size, Random("this one"))
        call.buffers["off"].zero_()
        self.calls = 0
        after = {**call.kept, "out": call.buffers["x"] * (1 + by)}
        return difference(task, size, call, answer(task, size, call), after)


def test_an_answer_need_not_be_as_lucky_as_torch_in_a_few_rows():
    assert Lucky().judged(1.9e-4) is None
    found = Lucky().judged(3e-4)
    assert found is not None
    assert "allowed is 0.000201" in found.message


def test_torchs_luck_is_asked_about_only_where_it_may_decide():
    for by, rows in ((0.0, 2), (1.0, 2), (1.9e-4, 2000)):
        task = Lucky()
        task.judged(by, rows)
        assert task.calls == 0, (by, rows)


def cancelled(got: float, rule: Normwise) -> Difference | None:
    """Four sums of which the first comes to nearly nothing."""
    exact = torch.tensor([[1e-4], [1.0], [-1.0], [2.0]])

    def reference(size: Size, buffers) -> None:
        buffers["out"].copy_(exact)

    task = dataclasses.replace(
        EXERCISE, compare=rule, reference=reference, inputs=lambda size, rng: call, known_mistakes={}
    )
    call = Call({"out": torch.zeros(4, 1)}, ("out",), ())
    after = {"out": exact.clone()}
    after["out"][0] = got
    return difference(task, Size(), call, answer(task, Size(), call), after)


def test_a_sum_that_cancels_is_compared_with_the_usual_size_of_a_sum():
    assert cancelled(2e-4, Normwise(least=2**-11)) is not None
    assert cancelled(2e-4, Normwise(least=2**-11, cancelling=("out",))) is None
    assert cancelled(2e-3, Normwise(least=2**-11, cancelling=("out",))) is not None
