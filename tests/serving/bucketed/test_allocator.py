"""A budget and importance become widths: within the budget, fair to the important, and worth it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from common.serving.arguments import ArgumentError
from common.serving.bucketed.allocator import NORMAL_ERRORS, allocate, mean_squared_errors
from common.serving.bucketed.memory import half_token_bytes, token_bytes

quickly = settings(max_examples=80)
importances = st.lists(
    st.one_of(st.floats(0, 1e6), st.floats(1e-300, 1e-290), st.sampled_from([0.0, 0.25, 1.0])),  # with ties
    min_size=1,
    max_size=60,
)
errors_of_levels = st.lists(st.floats(0, 1), min_size=4, max_size=4).map(
    lambda found: dict(zip((2, 3, 4, 8), sorted(found, reverse=True), strict=True))
)


def bytes_of(widths: np.ndarray, head_dim: int, scale_bytes: int) -> int:
    return sum(token_bytes(int(bits), 1, head_dim, scale_bytes) for bits in widths.flat if bits)


@quickly
@given(
    importances,
    st.floats(0.14, 0.6),
    st.sampled_from([64, 80, 128]),
    st.sampled_from([2, 4]),
    errors_of_levels,
)
def test_never_over_the_budget_and_never_fewer_bits_for_the_more_important(
    importance: list[float], budget: float, head_dim: int, scale_bytes: int, errors: dict[int, float]
):
    weights = np.array(importance)
    lowest = token_bytes(2, 1, head_dim, scale_bytes) / half_token_bytes(1, head_dim)
    if budget < lowest:
        return
    sizes: dict[str, Any] = {"head_dim": head_dim, "scale_bytes": scale_bytes, "errors": errors}
    present = np.ones(len(weights), dtype=bool)
    widths = allocate(weights, present, budget, **sizes)
    assert set(widths) <= {2, 3, 4, 8}
    assert (
        bytes_of(widths, head_dim, scale_bytes)
        <= budget * half_token_bytes(1, head_dim) * len(weights) + 1e-6
    )
    order = np.argsort(-weights, kind="stable")
    assert (np.diff(widths[order]) <= 0).all()  # equal importance: by place
    assert np.array_equal(widths, allocate(weights, present, budget, **sizes))


@quickly
@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=5), st.floats(0.15, 0.52))
def test_what_it_saves_is_within_a_step_of_the_best_there_is(importance: list[float], budget: float):
    """Every way to spend the budget, tried out. What greed can miss is one step that did not fit."""
    weights = np.array(importance)
    levels = (2, 3, 4, 8)
    allowed = budget * half_token_bytes(1, 128) * len(weights)

    def lost(widths: tuple[int, ...]) -> float:
        return float(sum(weight * NORMAL_ERRORS[bits] for weight, bits in zip(weights, widths, strict=True)))

    best = min(
        lost(widths)
        for widths in itertools.product(levels, repeat=len(weights))
        if bytes_of(np.array(widths), 128, 4) <= allowed
    )
    chosen = allocate(weights, np.ones(len(weights), dtype=bool), budget, head_dim=128)
    step = weights.max() * max(
        NORMAL_ERRORS[low] - NORMAL_ERRORS[high] for low, high in ((2, 3), (3, 4), (4, 8))
    )
    assert best - 1e-12 <= lost(tuple(chosen)) <= best + step + 1e-12


def test_a_budget_for_one_width_gives_every_token_that_width():
    importance = np.random.default_rng(0).random((3, 50))
    present = np.ones((3, 50), dtype=bool)
    for bits in (2, 3, 4, 8):
        budget = token_bytes(bits, 1, 128, 4) / half_token_bytes(1, 128)
        widths = allocate(np.ones((3, 50)), present, budget, head_dim=128)
        assert (widths == bits).all()
        assert bytes_of(widths, 128, 4) == 150 * token_bytes(bits, 1, 128, 4)
    assert (allocate(importance, present, 0.52, head_dim=128) == 8).all()


def test_slots_without_a_token_take_nothing():
    importance = np.array([[5.0, np.nan, 1.0], [7.0, 0.5, -1.0]])
    present = np.array([[True, False, True], [True, True, False]])
    widths = allocate(importance, present, 0.3, head_dim=128)
    assert ((widths > 0) == present).all()
    assert widths[1, 0] >= widths[0, 0] >= widths[0, 2] >= widths[1, 1]


def test_no_tokens_need_no_budget():
    assert allocate(np.zeros((2, 0)), np.zeros((2, 0), dtype=bool), 0.3, head_dim=64).shape == (2, 0)


def test_a_level_that_a_step_past_it_beats_is_passed_over():
    """Three bits save nothing here, and four save all: nobody stops at three."""
    errors = {2: 1.0, 3: 0.99, 4: 0.0, 8: 0.0}
    widths = allocate(np.arange(40.0), np.ones(40, dtype=bool), 0.2, head_dim=128, errors=errors)
    assert set(widths) <= {2, 4}


def test_what_is_left_after_a_step_that_does_not_fit_buys_smaller_ones():
    errors = {2: 1.0, 3: 0.9, 4: 0.81, 8: 0.5}
    two = np.array([1000.0, 1.0])
    # Room for the first to reach four bits and not eight: the second goes on with what is left.
    room = 2 * token_bytes(4, 1, 128, 4)
    budget = room / (2 * half_token_bytes(1, 128))
    assert allocate(two, np.ones(2, dtype=bool), budget, head_dim=128, errors=errors).tolist() == [4, 4]


def test_a_budget_that_even_the_lowest_width_exceeds_is_refused():
    with pytest.raises(ArgumentError, match="budget is 0.1, but 2 bits for every token take 0.1406 of FP16"):
        allocate(np.ones(4), np.ones(4, dtype=bool), 0.1, head_dim=128)


def test_strange_arguments_are_refused():
    with pytest.raises(ArgumentError, match=r"importance has shape \[3\], but present \[2\]"):
        allocate(np.ones(3), np.ones(2, dtype=bool), 0.3, head_dim=128)
    with pytest.raises(ArgumentError, match="negative or not finite"):
        allocate(np.array([np.nan]), np.ones(1, dtype=bool), 0.3, head_dim=128)
    for budget in (float("nan"), float("inf"), -1.0):
        with pytest.raises(ArgumentError, match=f"budget is {budget:g}, but must be a fraction"):
            allocate(np.ones(1), np.ones(1, dtype=bool), budget, head_dim=128)
    for widths, stated in (((), "each once"), ((2, 2, 8), "each once"), ((2, 5), "a width is 5")):
        with pytest.raises(ArgumentError, match=stated):
            allocate(np.ones(1), np.ones(1, dtype=bool), 0.3, head_dim=128, widths=widths)
    with pytest.raises(ArgumentError, match="errors lacks 3 bits"):
        allocate(np.ones(1), np.ones(1, dtype=bool), 0.3, head_dim=128, errors={2: 1.0, 4: 0.1, 8: 0.0})


def test_the_errors_taken_for_granted_are_those_of_normal_heads():
    heads = torch.randn(4096, 128, generator=torch.Generator().manual_seed(7))
    for bits, error in mean_squared_errors(heads).items():
        assert error == pytest.approx(NORMAL_ERRORS[bits], rel=0.02)


def test_sixty_four_thousand_tokens_take_no_loop():
    importance = np.random.default_rng(1).pareto(1.0, (8, 65536))
    widths = allocate(importance, np.ones_like(importance, dtype=bool), 0.25, head_dim=128)
    assert 0.2499 < bytes_of_many(widths) / (widths.size * half_token_bytes(1, 128)) <= 0.25


def bytes_of_many(widths: np.ndarray) -> int:
    return sum(int((widths == bits).sum()) * token_bytes(bits, 1, 128, 4) for bits in (2, 3, 4, 8))
