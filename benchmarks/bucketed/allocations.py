"""Widths for tokens: the bench's mixes, and orders in which tokens get them."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from common.serving.bucketed.allocator import allocate
from common.serving.bucketed.placement import Integers
from common.serving.bucketed.widths import WIDTHS
from grader.spec import registry

BUDGETS = (0.20, 0.25, 0.35, 0.50)
Reals = np.ndarray[Any, np.dtype[np.float64]]


def bench_widths(tokens: int, budget: float) -> Integers:
    """The widths of exercise 04's bench at a budget, the highest first."""
    folder = registry.find("04").folder
    shapes = importlib.import_module(f"exercise_{folder.name}.shapes")
    of_each = shapes.mixed(tokens, round(100 * budget))  # in the order of WIDTHS
    return np.repeat(np.array(WIDTHS), of_each)[::-1]


def by_importance(widths: Integers, importance: Reals) -> Integers:
    """In each sequence, the most important tokens get the highest widths, which come first."""
    order = np.argsort(-importance, axis=-1, kind="stable")
    given = np.empty(importance.shape, dtype=np.int64)
    np.put_along_axis(given, order, np.broadcast_to(widths, importance.shape), -1)
    return given


def shuffled(widths: Integers, seed: int) -> Integers:
    """The same widths [batch, tokens], in a random order within each sequence."""
    return np.random.default_rng(seed).permuted(widths, axis=-1)


def planned(importance: Reals, budget: float, head_dim: int, scale_bytes: int = 4) -> Integers:
    """The widths that the cache's own allocator plans."""
    present = np.ones(importance.shape, dtype=bool)
    return allocate(importance, present, budget, head_dim=head_dim, scale_bytes=scale_bytes)


def counts(widths: Integers) -> dict[str, int]:
    """Tokens of each width."""
    return {str(bits): int((widths == bits).sum()) for bits in WIDTHS}
