"""Common mistakes: each function leaves the result of a kernel with that mistake."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from grader.spec import Buffers, KnownMistake, OnBuffers, Size

from .layout import TENSORS, heads_of, operands
from .shapes import elements, softmax_scale

if TYPE_CHECKING:
    import torch

_TILE = 128  # keys
_MOST_ELEMENTS = 1 << 18  # of queries: for larger cases each comparison takes seconds


def _attend(size: Size, buffers: Buffers, hidden: torch.Tensor, keys: int, scale: float) -> None:
    """Attention over so many keys, those behind the end zeros, without those that are hidden."""
    import torch

    query, key, value = (tensor.double() for tensor in operands(size, buffers))
    more = keys - size.length
    key, value = (torch.nn.functional.pad(tensor, (0, 0, 0, max(more, 0))) for tensor in (key, value))
    scores = (query @ key.transpose(-1, -2) * scale).masked_fill(hidden, -torch.inf)
    found = torch.softmax(scores, dim=-1) @ value
    heads_of(size, buffers["out"]).copy_(found)


def _later(size: Size, keys: int, offset: int) -> torch.Tensor:
    """Whether a key is at least `offset` places behind the query."""
    import torch

    rows, columns = torch.arange(size.length)[:, None], torch.arange(keys)[None]
    return columns - rows >= offset if size.causal else columns < 0


def _scores(size: Size, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """Hidden ones are -infinity."""
    scores = query.double() @ key.double().transpose(-1, -2) * softmax_scale(size)
    return scores.masked_fill(_later(size, size.length, 1), -math.inf)


def no_rescale(*, output: bool = False, sum: bool = False) -> OnBuffers:
    """Tile by tile; what is not to be rescaled keeps weights relative to the highest score of their time."""

    def leave(size: Size, buffers: Buffers) -> None:
        import torch

        query, key, value = _small(size, buffers)
        shown = _scores(size, query, key)
        highest = torch.full_like(shown[..., :1], -math.inf)
        parts = []
        for part in shown.split(_TILE, -1):
            highest = torch.maximum(highest, part.amax(-1, keepdim=True))
            parts.append((part - highest).exp().nan_to_num())
        as_they_were, rescaled = torch.cat(parts, -1), (shown - highest).exp()
        out = (as_they_were if output else rescaled) @ value.double()
        total = (as_they_were if sum else rescaled).sum(-1, keepdim=True)
        heads_of(size, buffers["out"]).copy_(out / total)

    return leave


def scores_added_to_weights(size: Size, buffers: Buffers) -> None:
    """The registers of the scores hold the weights of the tile before, and the products are added to them."""
    import torch

    query, key, value = _small(size, buffers)
    hidden = _scores(size, query, key) == -math.inf
    products = (query.double() @ key.double().transpose(-1, -2)).split(_TILE, -1)
    highest = torch.full_like(products[0][..., :1], -math.inf)
    left: torch.Tensor | float = 0.0
    out, total = 0.0, 0.0
    for found, unseen, values in zip(
        products, hidden.split(_TILE, -1), value.double().split(_TILE, -2), strict=True
    ):
        before = left[..., : found.shape[-1]] if isinstance(left, torch.Tensor) else left
        shown = ((found + before) * softmax_scale(size)).masked_fill(unseen, -math.inf)
        now = torch.maximum(highest, shown.amax(-1, keepdim=True))
        factor, left = (highest - now).exp().nan_to_num(), (shown - now).exp().nan_to_num()
        out, total, highest = out * factor + left @ values, total * factor + left.sum(-1, keepdim=True), now
    heads_of(size, buffers["out"]).copy_(out / total)


def last_values_missing(size: Size, buffers: Buffers) -> None:
    """Of the last tile that a tile of 64 or 128 rows takes, where all rows take the same ones."""
    query, key, value = _small(size, buffers)
    weights = _scores(size, query, key).softmax(-1)
    weights[..., (size.length - 1) // _TILE * _TILE :] = 0
    heads_of(size, buffers["out"]).copy_(weights @ value.double())


def keys_for_values(size: Size, buffers: Buffers) -> None:
    query, key, _ = _small(size, buffers)
    heads_of(size, buffers["out"]).copy_(_scores(size, query, key).softmax(-1) @ key.double())


def heads_of_queries(size: Size, buffers: Buffers) -> None:
    """Query head h reads head h of keys and values; behind the last one the copy engine brings zeros."""
    import torch

    query, *_ = _small(size, buffers)
    shared = [heads_of(size, buffers[name]) for name in TENSORS[1:3]]
    if size.sharers == 1:
        raise LookupError
    zeros = query.new_zeros(query.shape)
    key, value = (torch.cat((tensor, zeros), 1)[:, : size.heads] for tensor in shared)
    heads_of(size, buffers["out"]).copy_(_scores(size, query, key).softmax(-1) @ value.double())


def _small(size: Size, buffers: Buffers) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if elements(size, size.heads) > _MOST_ELEMENTS:
        raise LookupError
    return operands(size, buffers)


def sees_zeros(size: Size, buffers: Buffers) -> None:
    keys = -(-size.length // _TILE) * _TILE
    _attend(size, buffers, _later(size, keys, 1), keys, softmax_scale(size))


def sees_all(size: Size, buffers: Buffers) -> None:
    _attend(size, buffers, _later(size, size.length, size.length), size.length, softmax_scale(size))


def sees_one_more(size: Size, buffers: Buffers) -> None:
    _attend(size, buffers, _later(size, size.length, 2), size.length, softmax_scale(size))


def not_scaled(size: Size, buffers: Buffers) -> None:
    _attend(size, buffers, _later(size, size.length, 1), size.length, 1.0)


MISTAKES: dict[str, KnownMistake] = {
    "zeros behind the last key get weights, too: the copy engine brings them": sees_zeros,
    "the causal mask is missing": sees_all,
    "a row sees one key more than the causal mask allows": sees_one_more,
    "the scores are not scaled": not_scaled,
    "the output is not rescaled when a higher score comes": no_rescale(output=True),
    "the sum is not rescaled when a higher score comes": no_rescale(sum=True),
    "output and sum are not rescaled when a higher score comes": no_rescale(output=True, sum=True),
    "scores are added to what their registers held: the first product of a tile begins anew": (
        scores_added_to_weights
    ),
    "the values of the last tile of keys are missing": last_values_missing,
    "the weights are multiplied with the keys, not with the values": keys_for_values,
    "head h of the queries reads head h of keys and values: that is Work's key_head": heads_of_queries,
}
