"""Common mistakes: each function leaves the result of a kernel with that mistake. A name ends with the part
of the attention that is wrong: the scores, the weights or the output."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from grader.spec import Buffers, OnBuffers, Size

from .layout import TENSORS, heads_of
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
from .wrong_weights import (
    Divide,
    Weigh,
    by_a_lanes_sum,
    hidden_by_10000,
    last_tile_alone,
    maximum_from_zero,
    maximum_of_a_lane,
    no_rescale,
    not_divided,
    not_itself,
    not_itself_or_zero,
    own_maximum,
    past_the_end,
    sees_all,
    sees_one_more,
    sees_tile,
    softmax,
    without_tail,
)

_MOST_ELEMENTS = 1 << 18  # for larger cases each comparison takes seconds
_TILES = (16, 32, 64)  # keys that kernels take at a time
_KEY_BY_KEY_OR_TILES = ((1, "key by key"), *((tile, f"{tile} keys per tile") for tile in _TILES))


def _attention(
    weigh: Weigh = softmax,
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
        weights = weigh(size, scores)
        found = weights @ value[..., : weights.shape[-1], :]
        heads_of(size, buffers["out"]).copy_(divide(found, weights))

    return leave


def _lanes_apart(lanes: int) -> OnBuffers:
    """Lane i has the products of elements i, i + 32 and so on. Groups of so many lanes take their sum for the
    whole score."""

    def leave(size: Size, buffers: Buffers) -> None:
        if elements(size) > _MOST_ELEMENTS:
            return
        query, key, value = (right(size, buffers, name) for name in TENSORS[:3])
        for first in range(0, min(32, size.head_dim), lanes):
            mine = [i for i in range(size.head_dim) if first <= i % 32 < first + lanes]
            weights = softmax(size, query[..., mine] @ key[..., mine].transpose(-1, -2) * softmax_scale(size))
            heads_of(size, buffers["out"])[..., mine] = (weights @ value[..., mine]).to(buffers["out"].dtype)

    return leave


_NO_RESCALE = {
    f"{what} not rescaled when a higher score comes ({keys})": _attention(
        no_rescale(tile, output="output" in what, sum="sum" in what)
    )
    for tile, keys in _KEY_BY_KEY_OR_TILES
    for what in ("the output is", "the sum is", "output and sum are")
}
_OWN_MAXIMUM = {
    f"weights are relative to the highest score of their tile, not of all so far ({tile} keys per tile)": (
        _attention(own_maximum(tile))
    )
    for tile in _TILES
}
_TAILS = {
    f"keys past the end are seen, as zeros ({tile} keys per tile)": _attention(
        past_the_end, keys=changed(up_to(tile))
    )
    for tile in _TILES
} | {
    f"the last keys are missing, past the last multiple of {tile}": _attention(without_tail(tile))
    for tile in _TILES
}
_UNSEEN_TILES = {
    f"keys after the query are seen, up to the end of its tile of {rows} rows": _attention(sees_tile(rows))
    for rows in (16, 32, 64, 128)
}
_SWIZZLED = "a tile is swizzled where it is written and not where it is read, or the reverse"
_NEIGHBOURS = "read as if there were no gaps between their rows: their row stride is ignored"

SCORES: Mapping[str, OnBuffers] = {
    "keys after the query are seen: no causal mask": _attention(sees_all),
    **_UNSEEN_TILES,
    "the key after the query is seen": _attention(sees_one_more),
    "a query does not see its own key: hide key > row, not key >= row": _attention(not_itself),
    "a query does not see its own key, and rows that see none are 0": _attention(not_itself_or_zero),
    **{
        f"hidden keys get a score of -10000, and others are lower: use -infinity ({keys})": _attention(
            hidden_by_10000(tile)
        )
        for tile, keys in _KEY_BY_KEY_OR_TILES
    },
    "each lane takes its own products for the whole score: the shuffles are missing": _lanes_apart(1),
    **{
        f"a score has the products of {lanes} lanes, not of all 32: shuffle by 16, 8, 4, 2 and 1": (
            _lanes_apart(lanes)
        )
        for lanes in (16, 8, 4, 2)
    },
    "scores are not scaled": _attention(scale=lambda size: 1.0),
    "scores are not multiplied by job.scale": _attention(scale=lambda size: math.log(2)),
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
    "weights are not divided by their sum": _attention(not_divided),
    "the highest score so far begins with 0, not with -infinity": _attention(maximum_from_zero),
    "weights are powers of 2, not of e": _attention(scale=lambda size: softmax_scale(size) * math.log(2)),
    **_NO_RESCALE,
    **_OWN_MAXIMUM,
    "the four lanes of a row do not share its highest score: two shuffles are missing": _attention(
        maximum_of_a_lane
    ),
    "the four lanes of a row do not share its sum: two shuffles are missing": _attention(
        divide=by_a_lanes_sum
    ),
}
OUTPUT: Mapping[str, OnBuffers] = {
    **{
        f"the output has only the last tile of {tile} keys: a tile replaces what was added up before": (
            _attention(last_tile_alone(tile))
        )
        for tile in _TILES
    },
    "values are not transposed: use load_matrices_transposed() for them": _attention(
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
