"""Common mistakes: each function leaves the result of a kernel with that mistake. A name ends with the part
of the attention that is wrong: the scores, the weights or the output."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from grader.spec import OnBuffers, Size

from .layout import TENSORS, Buffers, heads_of
from .shapes import elements, softmax_scale
from .wrong_reads import (
    Read,
    as_neighbours,
    changed,
    first_head,
    next_row,
    read_for,
    right,
    swizzled,
    transposed,
    two_of_four_swapped,
    up_to,
)

if TYPE_CHECKING:
    import torch

_MOST_ELEMENTS = 1 << 18  # for larger cases each comparison takes seconds
_TILES = (16, 32, 64)  # keys that kernels take at a time
_KEY_BY_KEY_OR_TILES = ((1, "key by key"), *((tile, f"{tile} keys per tile") for tile in _TILES))
Weigh = Callable[[Size, "torch.Tensor"], "torch.Tensor"]
Divide = Callable[["torch.Tensor", "torch.Tensor"], "torch.Tensor"]  # of the output and the weights


def _attention(
    weigh: Weigh | None = None,
    scale: Callable[[Size], float] = softmax_scale,
    *,
    queries: Read = right,
    keys: Read = right,
    values: Read = right,
    divide: Divide = lambda out, weights: out,
) -> OnBuffers:
    """Attention with this softmax, over tensors that are read like this."""

    def leave(size: Size, buffers: Buffers) -> None:
        if elements(size) > _MOST_ELEMENTS:
            return
        reads = zip(TENSORS[:3], (queries, keys, values), strict=True)
        query, key, value = (read(size, buffers, name) for name, read in reads)
        scores = query @ key.transpose(-1, -2) * scale(size)
        weights = (weigh or _softmax)(size, scores)
        found = weights @ value[..., : weights.shape[-1], :]
        heads_of(size, buffers["out"]).copy_(divide(found, weights))

    return leave


def _hidden(size: Size, scores: torch.Tensor, later: int = 1, score: float = -math.inf) -> torch.Tensor:
    """Keys from `later` after the query on get this score."""
    import torch

    if not size.causal:
        return scores
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(later)
    return scores.masked_fill(mask, score)


def _hidden_by_10000(tile: int) -> Weigh:
    """A score of -10000 before it is scaled, for keys past the end too, up to a whole tile."""

    def weigh(size: Size, scores: torch.Tensor) -> torch.Tensor:
        import torch

        score = -10000 * softmax_scale(size)
        past_the_end = (0, -scores.shape[-1] % tile)
        shown = torch.nn.functional.pad(_hidden(size, scores, score=score), past_the_end, value=score)
        return shown.softmax(-1)[..., : size.length]

    return weigh


def _maximum_from_zero(size: Size, scores: torch.Tensor) -> torch.Tensor:
    """In single precision all weights of a row with low scores are 0, and so is their sum."""
    shown = _hidden(size, scores)
    weights = (shown - shown.amax(-1, keepdim=True).clamp_min(0)).float().exp().double()
    return weights / weights.sum(-1, keepdim=True)


def _each_lane_alone(size: Size, buffers: Buffers) -> None:
    """Lane i takes its own products, of elements i, i + 32 and so on, for the whole score."""
    if elements(size) > _MOST_ELEMENTS:
        return
    query, key, value = (right(size, buffers, name) for name in TENSORS[:3])
    for lane in range(min(32, size.head_dim)):
        mine = slice(lane, None, 32)
        weights = _softmax(size, query[..., mine] @ key[..., mine].transpose(-1, -2) * softmax_scale(size))
        heads_of(size, buffers["out"])[..., mine] = (weights @ value[..., mine]).to(buffers["out"].dtype)


def _softmax(size: Size, scores: torch.Tensor) -> torch.Tensor:
    return _hidden(size, scores).softmax(-1)


def _sees_all(size: Size, scores: torch.Tensor) -> torch.Tensor:
    return scores.softmax(-1)


def _sees_tile(rows: int) -> Weigh:
    """A tile of rows takes the keys up to its last row, and hides none of them."""

    def weigh(size: Size, scores: torch.Tensor) -> torch.Tensor:
        import torch

        if not size.causal:
            return scores.softmax(-1)
        row = torch.arange(scores.shape[-2], device=scores.device)[:, None]
        key = torch.arange(scores.shape[-1], device=scores.device)
        return scores.masked_fill(key >= (row // rows + 1) * rows, -torch.inf).softmax(-1)

    return weigh


def _sees_one_more(size: Size, scores: torch.Tensor) -> torch.Tensor:
    return _hidden(size, scores, 2).softmax(-1)


def _not_itself(size: Size, scores: torch.Tensor) -> torch.Tensor:
    return _hidden(size, scores, 0).softmax(-1)


def _not_itself_or_zero(size: Size, scores: torch.Tensor) -> torch.Tensor:
    return _not_itself(size, scores).nan_to_num()


def _not_divided(size: Size, scores: torch.Tensor) -> torch.Tensor:
    shown = _hidden(size, scores)
    return (shown - shown.amax(-1, keepdim=True)).exp()


def _no_rescale(tile: int, *, output: bool, sum: bool) -> Weigh:
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


def _own_maximum(tile: int) -> Weigh:
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


def _maximum_of_a_lane(size: Size, scores: torch.Tensor) -> torch.Tensor:
    """In one tile: each lane's weights are relative to the highest score that it holds itself."""
    import torch

    shown, lane = _hidden(size, scores), _lane_of(scores.shape[-1], scores)
    left = torch.zeros_like(shown)
    for each in range(4):
        mine = shown[..., lane == each]
        if mine.shape[-1]:
            left[..., lane == each] = (mine - mine.amax(-1, keepdim=True)).exp().nan_to_num()
    return left / left.sum(-1, keepdim=True)


def _by_a_lanes_sum(out: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Each lane divides what it holds of the output by the sum of the weights that it holds."""
    import torch

    lane = _lane_of(weights.shape[-1], weights)
    sums = torch.stack([weights[..., lane == each].sum(-1) for each in range(4)], -1)
    return out / sums[..., _lane_of(out.shape[-1], out)]


def _past_the_end(size: Size, scores: torch.Tensor) -> torch.Tensor:
    """Keys past the end take weight, with values of zero."""
    return _hidden(size, scores).softmax(-1)[..., : size.length]


def _without_tail(tile: int) -> Weigh:
    def weigh(size: Size, scores: torch.Tensor) -> torch.Tensor:
        return _hidden(size, scores)[..., : size.length // tile * tile].softmax(-1)

    return weigh


_NO_RESCALE = {
    f"{what} not rescaled when a higher score comes ({keys})": _attention(
        _no_rescale(tile, output="output" in what, sum="sum" in what)
    )
    for tile, keys in _KEY_BY_KEY_OR_TILES
    for what in ("the output is", "the sum is", "output and sum are")
}
_OWN_MAXIMUM = {
    f"weights are relative to the highest score of their tile, not of all so far ({tile} keys per tile)": (
        _attention(_own_maximum(tile))
    )
    for tile in _TILES
}
_TAILS = {
    f"keys past the end are seen, as zeros ({tile} keys per tile)": _attention(
        _past_the_end, keys=changed(up_to(tile))
    )
    for tile in _TILES
} | {
    f"the last keys are missing, past the last multiple of {tile}": _attention(_without_tail(tile))
    for tile in _TILES
}
_UNSEEN_TILES = {
    f"keys after the query are seen, up to the end of its tile of {rows} rows": _attention(_sees_tile(rows))
    for rows in (16, 32, 64, 128)
}
_SWIZZLED = "a tile is swizzled where it is written and not where it is read, or the reverse"
_NEIGHBOURS = "read as if there were no gaps between their rows: their row stride is ignored"

SCORES: Mapping[str, OnBuffers] = {
    "keys after the query are seen: no causal mask": _attention(_sees_all),
    **_UNSEEN_TILES,
    "the key after the query is seen": _attention(_sees_one_more),
    "a query does not see its own key: hide key > row, not key >= row": _attention(_not_itself),
    "a query does not see its own key, and rows that see none are 0": _attention(_not_itself_or_zero),
    **{
        f"hidden keys get a score of -10000, and others are lower: use -infinity ({keys})": _attention(
            _hidden_by_10000(tile)
        )
        for tile, keys in _KEY_BY_KEY_OR_TILES
    },
    "each lane takes its own products for the whole score: the shuffles are missing": _each_lane_alone,
    "scores are not scaled": _attention(scale=lambda size: 1.0),
    "scores are scaled twice": _attention(scale=lambda size: softmax_scale(size) ** 2),
    "scores are scaled by 1/√head_dim, not by the scale": _attention(scale=lambda size: size.head_dim**-0.5),
    "scores are all equal: every row is the mean of the values": _attention(scale=lambda size: 0.0),
    "keys are read as rows of the second matrix: load them as col_major": _attention(
        keys=changed(transposed(16))
    ),
    "keys are transposed: use load_matrices() for them": _attention(keys=changed(transposed(8))),
    "keys are loaded like the first matrix of a product: two of four 8 x 8 matrices change places": (
        _attention(keys=changed(two_of_four_swapped))
    ),
    f"{_SWIZZLED} (keys)": _attention(keys=changed(swizzled)),
    f"keys are {_NEIGHBOURS}": _attention(keys=as_neighbours),
    f"queries are {_NEIGHBOURS}": _attention(queries=as_neighbours),
    "queries and keys are swapped": _attention(queries=read_for("keys"), keys=read_for("queries")),
    "every head has the keys of head 0": _attention(keys=changed(first_head)),
    "keys are off by one row": _attention(keys=changed(next_row)),
    **_TAILS,
}
WEIGHTS: Mapping[str, OnBuffers] = {
    "weights are not divided by their sum": _attention(_not_divided),
    "the highest score so far begins with 0, not with -infinity": _attention(_maximum_from_zero),
    "weights are powers of 2, not of e": _attention(scale=lambda size: softmax_scale(size) * math.log(2)),
    **_NO_RESCALE,
    **_OWN_MAXIMUM,
    "the four lanes of a row do not share its highest score: two shuffles are missing": _attention(
        _maximum_of_a_lane
    ),
    "the four lanes of a row do not share its sum: two shuffles are missing": _attention(
        divide=_by_a_lanes_sum
    ),
}
OUTPUT: Mapping[str, OnBuffers] = {
    "values are not transposed: use load_matrices_turned() for them": _attention(
        values=changed(transposed(8))
    ),
    "values are loaded like keys: two of four 8 x 8 matrices change places": _attention(
        values=changed(two_of_four_swapped)
    ),
    "values are read as columns of the second matrix: load them as row_major": _attention(
        values=changed(transposed(16))
    ),
    f"{_SWIZZLED} (values)": _attention(values=changed(swizzled)),
    f"values are {_NEIGHBOURS}": _attention(values=as_neighbours),
    "the keys are taken for the values": _attention(values=read_for("keys")),
    "every head has the values of head 0": _attention(values=changed(first_head)),
    "values are off by one row": _attention(values=changed(next_row)),
}
BOTH: Mapping[str, OnBuffers] = {
    f"{_SWIZZLED} (keys and values)": _attention(keys=changed(swizzled), values=changed(swizzled)),
    f"keys and values are {_NEIGHBOURS}": _attention(keys=as_neighbours, values=as_neighbours),
    f"queries, keys and values are {_NEIGHBOURS}": _attention(
        queries=as_neighbours, keys=as_neighbours, values=as_neighbours
    ),
    "keys and values are swapped": _attention(keys=read_for("values"), values=read_for("keys")),
    "every head has the keys and values of head 0": _attention(
        keys=changed(first_head), values=changed(first_head)
    ),
}
_WRONG = {
    "the scores are wrong": SCORES,
    "the scores are right, the weights are wrong": WEIGHTS,
    "the weights are right, the output is wrong": OUTPUT,
    "the scores and the output are wrong": BOTH,
}
MISTAKES: Mapping[str, OnBuffers] = {
    f"{name} ({part})": leave for part, mistakes in _WRONG.items() for name, leave in mistakes.items()
}
