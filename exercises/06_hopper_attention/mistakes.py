"""Common mistakes: each function leaves the result of a kernel with that mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.spec import Buffers, KnownMistake, Size

from .layout import heads_of, operands
from .shapes import softmax_scale

if TYPE_CHECKING:
    import torch

_TILE = 128  # keys


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
}
