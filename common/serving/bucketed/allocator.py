"""A memory budget and the tokens' importance turned into widths: the precision map.

Every token begins at the lowest width. What is left of the budget buys steps to the next width, those first
that save the most error, weighted by importance, for a byte. Of two tokens the more important never gets
fewer bits, since it comes first at every step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from common.serving.arguments import ArgumentError, require_type
from common.serving.bucketed.checks import array, real, require_floats, whole
from common.serving.bucketed.memory import half_token_bytes, token_bytes
from common.serving.bucketed.placement import Integers
from common.serving.bucketed.quantizing import dequantize, quantize_and_pack
from common.serving.bucketed.widths import WIDTHS, require_widths

if TYPE_CHECKING:
    import torch

Reals = np.ndarray[Any, np.dtype[np.float64]]
# Of normal heads of 128 with variance 1, by `mean_squared_errors`: fit for a start; measure real ones.
NORMAL_ERRORS = {2: 0.588, 3: 0.0751, 4: 0.0138, 8: 4.19e-5}


def mean_squared_errors(heads: torch.Tensor, widths: Sequence[int] = WIDTHS) -> dict[int, float]:
    """What each width loses of heads [..., head_dim]: the mean squared difference."""
    require_floats("heads", heads)
    exact = heads.float()
    found = {}
    for bits in require_widths("widths", widths):
        difference = dequantize(*quantize_and_pack(exact, bits), bits) - exact
        found[bits] = float(difference.double().square().mean())
    return found


def allocate(
    importance: Reals,
    present: np.ndarray[Any, np.dtype[np.bool_]],
    budget: float,
    *,
    head_dim: int,
    scale_bytes: int = 4,
    widths: Sequence[int] = WIDTHS,
    errors: Mapping[int, float] = NORMAL_ERRORS,
) -> Integers:
    """A width for each token that is present, 0 elsewhere, in the shape of `importance`.

    Payload and scales together take at most `budget` times what FP16 would. Equal importance goes by place:
    the first in memory comes first.
    """
    importance, present = array("importance", importance, np.float64), array("present", present, bool)
    if importance.shape != present.shape:
        raise ArgumentError(
            f"importance has shape {list(importance.shape)}, but present {list(present.shape)}: "
            "they must be the same"
        )
    fraction = "a fraction of FP16's bytes, above 0"
    budget = real("budget", budget, fraction)
    if not np.isfinite(budget) or budget <= 0:
        raise ArgumentError(f"budget is {budget:g}, but must be {fraction}")
    widths = require_widths("widths", widths)
    head_dim, scale_bytes = whole("head_dim", head_dim, 1), whole("scale_bytes", scale_bytes, 1)
    require_type("errors", errors, Mapping, "the mean squared error of each width")
    errors = {bits: real(f"the error of {bits} bits", error) for bits, error in errors.items()}
    weights = importance[present]
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ArgumentError("importance of a token that is present is negative or not finite")
    levels = _worthwhile(widths, errors, head_dim, scale_bytes)
    bytes_of = np.array([token_bytes(bits, 1, head_dim, scale_bytes) for bits in levels])
    # A budget that came from dividing bytes by bytes may be off by its last bit: that shall cost no byte.
    allowed = int(np.floor(budget * half_token_bytes(1, head_dim) * weights.size + 1e-6))
    left = allowed - int(bytes_of[0]) * weights.size
    if left < 0:
        raise ArgumentError(
            f"budget is {budget:g}, but {levels[0]} bits for every token take "
            f"{bytes_of[0] / half_token_bytes(1, head_dim):.4f} of FP16: allow that much, or remove tokens"
        )
    gains = -np.diff([errors[bits] for bits in levels]) / np.diff(bytes_of)
    steps = _affordable(weights, gains, np.diff(bytes_of), left)
    chosen = np.zeros(importance.shape, dtype=np.int64)
    chosen[present] = np.array(levels)[steps]
    return chosen


def _worthwhile(
    widths: Sequence[int], errors: Mapping[int, float], head_dim: int, scale_bytes: int
) -> list[int]:
    """The widths, ascending, without those that a step past them beats: what a byte saves never grows from
    one step to the next, which is what makes the greedy choice the right one."""
    if missing := [bits for bits in widths if bits not in errors]:
        raise ArgumentError(f"errors lacks {missing[0]} bits, but must have each of {tuple(widths)}")

    def saved(low: int, high: int) -> float:
        more = token_bytes(high, 1, head_dim, scale_bytes) - token_bytes(low, 1, head_dim, scale_bytes)
        return (errors[low] - errors[high]) / more

    levels: list[int] = []
    for bits in sorted(widths):
        while len(levels) > 1 and saved(levels[-2], levels[-1]) < saved(levels[-1], bits):
            levels.pop()
        levels.append(bits)
    while len(levels) > 1 and saved(levels[-2], levels[-1]) < 0:
        levels.pop()
    return levels


def _affordable(weights: Reals, gains: Reals, costs: Integers, left: int) -> Integers:
    """How many steps each token takes up.

    Steps come by what a byte of them saves. One that no longer fits shuts its kind, as all later ones of the
    kind cost the same, and with it the further steps of the tokens that lack it; others may still fit.
    """
    taken = np.zeros(weights.size, dtype=np.int64)
    ranks = np.empty(weights.size, dtype=np.int64)
    ranks[np.argsort(-weights, kind="stable")] = np.arange(weights.size)
    tokens = np.tile(np.arange(weights.size), len(gains))
    kinds = np.repeat(np.arange(len(gains)), weights.size)
    order = np.lexsort((ranks[tokens], kinds, -(weights[tokens] * gains[kinds])))
    tokens, kinds = tokens[order], kinds[order]
    while tokens.size:
        fits = np.cumsum(costs[kinds]) <= left
        count = int(np.searchsorted(~fits, True))
        np.add.at(taken, tokens[:count], 1)
        left -= int(costs[kinds[:count]].sum())
        if count == tokens.size:
            break
        shut = kinds[count]
        tokens, kinds = tokens[count:], kinds[count:]
        open_still = (kinds < shut) | ((kinds > shut) & (taken[tokens] > shut))
        tokens, kinds = tokens[open_still], kinds[open_still]
    return taken
