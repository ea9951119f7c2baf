"""Weights that kernels make of scores [batch, head, query, key] when they make a mistake there; and the
output divided by the wrong sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from grader.spec import Size

from .shapes import softmax_scale

if TYPE_CHECKING:
    import torch

Weigh = Callable[[Size, "torch.Tensor"], "torch.Tensor"]
Divide = Callable[["torch.Tensor", "torch.Tensor"], "torch.Tensor"]  # of the output and the weights


def _hidden(size: Size, scores: torch.Tensor, later: int = 1, score: float = -math.inf) -> torch.Tensor:
    """Keys from `later` after the query on get this score."""
    import torch

    if not size.causal:
        return scores
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(later)
    return scores.masked_fill(mask, score)


def hidden_by_10000(tile: int) -> Weigh:
    """A score of -10000 before it is scaled, for keys past the end too, up to a whole tile."""

    def weigh(size: Size, scores: torch.Tensor) -> torch.Tensor:
        import torch

        score = -10000 * softmax_scale(size)
        past_the_end = (0, -scores.shape[-1] % tile)
        shown = torch.nn.functional.pad(_hidden(size, scores, score=score), past_the_end, value=score)
        return shown.softmax(-1)[..., : size.length]

    return weigh


def maximum_from_zero(size: Size, scores: torch.Tensor) -> torch.Tensor:
    """In single precision all weights of a row with low scores are 0, and so is their sum. The GPU's
    exponential makes no subnormal numbers."""
    shown = _hidden(size, scores)
    weights = (shown - shown.amax(-1, keepdim=True).clamp_min(0)).float().exp().double()
    weights.masked_fill_(weights < 2.0**-126, 0)
    return weights / weights.sum(-1, keepdim=True)


def softmax(size: Size, scores: torch.Tensor) -> torch.Tensor:
    return _hidden(size, scores).softmax(-1)


def sees_all(size: Size, scores: torch.Tensor) -> torch.Tensor:
    return scores.softmax(-1)


def sees_tile(rows: int) -> Weigh:
    """A tile of rows takes the keys up to its last row, and hides none of them."""

    def weigh(size: Size, scores: torch.Tensor) -> torch.Tensor:
        import torch

        if not size.causal:
            return scores.softmax(-1)
        row = torch.arange(scores.shape[-2], device=scores.device)[:, None]
        key = torch.arange(scores.shape[-1], device=scores.device)
        return scores.masked_fill(key >= (row // rows + 1) * rows, -torch.inf).softmax(-1)

    return weigh


def last_tile_alone(tile: int) -> Weigh:
    """Of the weights, those of the last tile that a tile of as many rows takes; their sum is of all."""

    def weigh(size: Size, scores: torch.Tensor) -> torch.Tensor:
        import torch

        row = torch.arange(scores.shape[-2], device=scores.device)[:, None]
        key = torch.arange(scores.shape[-1], device=scores.device)
        last = row if size.causal else row * 0 + scores.shape[-1] - 1
        return softmax(size, scores).masked_fill(key < last // tile * tile, 0)

    return weigh


def sees_one_more(size: Size, scores: torch.Tensor) -> torch.Tensor:
    return _hidden(size, scores, 2).softmax(-1)


def not_itself(size: Size, scores: torch.Tensor) -> torch.Tensor:
    return _hidden(size, scores, 0).softmax(-1)


def not_itself_or_zero(size: Size, scores: torch.Tensor) -> torch.Tensor:
    return not_itself(size, scores).nan_to_num()


def not_divided(size: Size, scores: torch.Tensor) -> torch.Tensor:
    shown = _hidden(size, scores)
    return (shown - shown.amax(-1, keepdim=True)).exp()


def no_rescale(tile: int, *, output: bool, sum: bool) -> Weigh:
    """Sums are not rescaled when a higher score comes."""

    def weigh(size: Size, scores: torch.Tensor) -> torch.Tensor:
        import torch

        shown = _hidden(size, scores)
        highest = torch.full_like(shown[..., :1], -torch.inf)
        parts = []
        for part in shown.split(tile, -1):
            highest = torch.maximum(highest, part.amax(-1, keepdim=True))
            parts.append((part - highest).exp().nan_to_num())
        left, right = torch.cat(parts, -1), (shown - highest).exp()
        return (left if output else right) / (left if sum else right).sum(-1, keepdim=True)

    return weigh


def own_maximum(tile: int) -> Weigh:
    """Every tile has weights relative to its own highest score, and they are added up as they are."""

    def weigh(size: Size, scores: torch.Tensor) -> torch.Tensor:
        import torch

        parts = _hidden(size, scores).split(tile, -1)
        left = torch.cat([(part - part.amax(-1, keepdim=True)).exp().nan_to_num() for part in parts], -1)
        return left / left.sum(-1, keepdim=True)

    return weigh


def _lane_of(count: int, like: torch.Tensor) -> torch.Tensor:
    """Which of the four lanes of a row holds a key's score, or an element of the output."""
    import torch

    return torch.arange(count, device=like.device) % 8 // 2


def maximum_of_a_lane(size: Size, scores: torch.Tensor) -> torch.Tensor:
    """In one tile: each lane's weights are relative to the highest score that it holds itself."""
    import torch

    shown, lane = _hidden(size, scores), _lane_of(scores.shape[-1], scores)
    left = torch.zeros_like(shown)
    for each in range(4):
        mine = shown[..., lane == each]
        if mine.shape[-1]:
            left[..., lane == each] = (mine - mine.amax(-1, keepdim=True)).exp().nan_to_num()
    return left / left.sum(-1, keepdim=True)


def by_a_lanes_sum(out: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Each lane divides what it holds of the output by the sum of the weights that it holds."""
    import torch

    lane = _lane_of(weights.shape[-1], weights)
    sums = torch.stack([weights[..., lane == each].sum(-1) for each in range(4)], -1)
    return out / sums[..., _lane_of(out.shape[-1], out)]


def past_the_end(size: Size, scores: torch.Tensor) -> torch.Tensor:
    """Keys past the end take weight, with values of zero."""
    return _hidden(size, scores).softmax(-1)[..., : size.length]


def without_tail(tile: int) -> Weigh:
    def weigh(size: Size, scores: torch.Tensor) -> torch.Tensor:
        return _hidden(size, scores)[..., : size.length // tile * tile].softmax(-1)

    return weigh
