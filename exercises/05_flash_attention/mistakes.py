"""Common mistakes: each function leaves the result of a kernel with that mistake."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from grader.spec import OnBuffers, Size

from .layout import TENSORS, Buffers, heads_of
from .shapes import elements, softmax_scale

if TYPE_CHECKING:
    import torch

_MOST_ELEMENTS = 1 << 18  # for larger cases each comparison takes seconds
_PIECE = 8  # elements of 16 bytes, which change places in a swizzle
_TILES = (16, 32, 64)  # keys that kernels take at a time
Weigh = Callable[[Size, "torch.Tensor"], "torch.Tensor"]
Change = Callable[["torch.Tensor"], "torch.Tensor"]


def _as_it_is(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _attention(
    weigh: Weigh,
    scale: Callable[[Size], float] = softmax_scale,
    *,
    keys: Change = _as_it_is,
    values: Change = _as_it_is,
) -> OnBuffers:
    """Attention with this softmax, over keys and values changed like this."""

    def leave(size: Size, buffers: Buffers) -> None:
        import torch

        if elements(size) > _MOST_ELEMENTS:
            return
        query, key, value = (heads_of(size, buffers[name]).double() for name in TENSORS[:3])
        key, value = keys(key), values(value)
        scores = query @ key.transpose(-1, -2) * scale(size)
        weights = weigh(size, scores)
        found = weights @ value[..., : weights.shape[-1], :]
        heads_of(size, buffers["out"]).copy_(torch.nan_to_num(found))

    return leave


def _filled_up(tensor: torch.Tensor, tile: int) -> torch.Tensor:
    """With rows of zeros, to a multiple of a tile's."""
    import torch

    return torch.nn.functional.pad(tensor, (0, 0, 0, -tensor.shape[-2] % tile))


def _up_to(tile: int) -> Change:
    return lambda tensor: _filled_up(tensor, tile)


def _swizzled(tensor: torch.Tensor) -> torch.Tensor:
    """Piece p of row r where piece p ^ r % 8 belongs."""
    import torch

    rows, columns = tensor.shape[-2:]
    row = torch.arange(rows, device=tensor.device)[:, None]
    column = torch.arange(columns, device=tensor.device)
    places = (column // _PIECE ^ row % 8) * _PIECE + column % _PIECE
    return tensor.gather(-1, places.expand(tensor.shape))


def _not_turned(tensor: torch.Tensor) -> torch.Tensor:
    """Every 8 x 8 matrix of a tile, transposed."""
    full = _filled_up(tensor, 8)
    rows, columns = full.shape[-2:]
    matrices = full.unflatten(-1, (columns // 8, 8)).unflatten(-3, (rows // 8, 8))
    return matrices.transpose(-1, -3).flatten(-4, -3).flatten(-2, -1)


def _hidden(size: Size, scores: torch.Tensor, later: int = 1) -> torch.Tensor:
    import torch

    if not size.causal:
        return scores
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(later)
    return scores.masked_fill(mask, -torch.inf)


def _softmax(size: Size, scores: torch.Tensor) -> torch.Tensor:
    return _hidden(size, scores).softmax(-1)


def _sees_all(size: Size, scores: torch.Tensor) -> torch.Tensor:
    return scores.softmax(-1)


def _sees_one_more(size: Size, scores: torch.Tensor) -> torch.Tensor:
    return _hidden(size, scores, 2).softmax(-1)


def _not_itself(size: Size, scores: torch.Tensor) -> torch.Tensor:
    return _hidden(size, scores, 0).softmax(-1)


def _not_normalised(size: Size, scores: torch.Tensor) -> torch.Tensor:
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


def _past_the_end(size: Size, scores: torch.Tensor) -> torch.Tensor:
    """Keys past the end take weight, with values of zero."""
    return _hidden(size, scores).softmax(-1)[..., : size.length]


_NO_RESCALE = {
    f"{what} not rescaled when a higher score comes ({keys})": _attention(
        _no_rescale(tile, output="output" in what, sum="sum" in what)
    )
    for tile, keys in ((1, "key by key"), *((tile, f"{tile} keys a tile") for tile in _TILES))
    for what in ("the output is", "the sum is", "output and sum are")
}
_TAILS = {
    f"keys past the end are seen, as zeros ({tile} keys a tile)": _attention(_past_the_end, keys=_up_to(tile))
    for tile in _TILES
}
MISTAKES: Mapping[str, OnBuffers] = {
    "keys after the query are seen": _attention(_sees_all),
    "the key after the query is seen": _attention(_sees_one_more),
    "a query does not see its own key": _attention(_not_itself),
    "weights are not divided by their sum": _attention(_not_normalised),
    "scores are not scaled": _attention(_softmax, lambda size: 1.0),
    "scores are scaled twice": _attention(_softmax, lambda size: softmax_scale(size) ** 2),
    "scores are scaled by 1/√head_dim, not by the scale": _attention(
        _softmax, lambda size: size.head_dim**-0.5
    ),
    "weights are powers of 2, not of e": _attention(_softmax, lambda size: softmax_scale(size) * math.log(2)),
    "values are not transposed: use load_matrices_transposed() for them": _attention(
        _softmax, values=_not_turned
    ),
    **{
        f"a tile is swizzled where it is written and not where it is read, or the reverse ({name})": deed
        for name, deed in (
            ("keys", _attention(_softmax, keys=_swizzled)),
            ("values", _attention(_softmax, values=_swizzled)),
            ("keys and values", _attention(_softmax, keys=_swizzled, values=_swizzled)),
        )
    },
    **_NO_RESCALE,
    **_TAILS,
}
