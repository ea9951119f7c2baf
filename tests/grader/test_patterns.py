"""Which elements of a row are wrong, in a few words."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
import torch

from grader.answers.compare import answer, difference
from grader.answers.patterns import pattern
from grader.spec import Buffers, Call, Normwise, Size
from tests.grader.pooled_exercise import EXERCISE

PLACES = torch.arange(96)
SAID = {
    "those from 64 on": PLACES >= 64,
    "the first 32": PLACES < 32,
    "those from 16 to 47": (PLACES >= 16) & (PLACES < 48),
    "the one at 5": PLACES == 5,
    "those whose index % 2 is 1": PLACES % 2 == 1,
    "those whose index % 16 is 8 to 15": PLACES % 16 >= 8,
    "those whose index % 32 is 1, 9": (PLACES % 32 == 1) | (PLACES % 32 == 9),
}


@pytest.mark.parametrize("words", SAID)
def test_a_simple_pattern_is_said(words: str) -> None:
    assert pattern(SAID[words]) == words


def test_some_wrong_elements_may_be_right_by_chance() -> None:
    assert pattern((PLACES % 16 >= 8) & (PLACES != 30)) == "those whose index % 16 is 8 to 15"
    assert pattern((PLACES >= 64) & (PLACES != 70)) == "those from 64 on"


@pytest.mark.parametrize(
    "wrong",
    [
        PLACES >= 0,
        PLACES < 0,
        torch.rand(96, generator=torch.Generator().manual_seed(3)) < 0.5,
        PLACES[:6] >= 3,
        PLACES >= 2,
    ],
    ids=["all", "none", "any", "too few elements", "nearly all"],
)
def test_nothing_is_said_where_nothing_is_simple(wrong: torch.Tensor) -> None:
    assert pattern(wrong) == ""


def message(change: Callable[[torch.Tensor], None], exact: torch.Tensor) -> str:
    def reference(size: Size, buffers: Buffers) -> None:
        buffers["out"].copy_(exact)

    call = Call({"out": torch.zeros(exact.shape)}, ("out",), ())
    task = dataclasses.replace(EXERCISE, compare=Normwise(), reference=reference, known_mistakes={})
    after = {"out": exact.clone()}
    change(after["out"])
    found = difference(task, Size(), call, answer(task, Size(), call), after)
    assert found is not None
    return found.message


def test_a_message_says_which_elements_of_the_worst_row_and_which_rows_are_wrong() -> None:
    exact = torch.randn(2, 32, 64, generator=torch.Generator().manual_seed(1))

    def fragment(out: torch.Tensor) -> None:
        out[:, 8:16] = out[:, 8:16].roll(1, -1)
        out[:, 24:] = out[:, 24:].roll(1, -1)

    assert "; of these 32 rows, those whose index % 16 is 8 to 15 are wrong" in message(fragment, exact)

    def half(out: torch.Tensor) -> None:
        out[1, 3, 32:] = 0

    assert "; of the 64 elements of this row, those from 32 on are wrong" in message(half, exact)


def test_elements_that_must_be_minus_infinity_do_not_count() -> None:
    exact = torch.randn(1, 2, 64, generator=torch.Generator().manual_seed(2))
    exact[..., 40:] = -torch.inf
    words = message(lambda out: out[0, 0, :20].zero_(), exact)
    assert "; of the 40 elements of this row, the first 20 are wrong" in words
