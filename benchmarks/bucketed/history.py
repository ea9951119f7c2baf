"""The largest error, in theory, of a token that was moved between widths any number of times.

A head's largest element is ±max. At b bits the levels are multiples of max / (2^(b-1) - 1) from -max to max,
so every move keeps max itself: the levels of each width are the same for all of a
token's life, and a move takes an element to the nearest level of the new width, at most half a step away.

    Return.            From a level of width a, up to finer widths and back to a: the steps in between
                       add up to less than half a step of a, so the nearest level is the one it came from.
    Up gains nothing.  After a move from 2 to 8 bits the error of 2 bits stays. A little may be added: from 3
                       to 4 bits a third of max becomes two sevenths, which raises the square error of evenly
                       spread elements by up to a quarter.

So the error depends on the lowest width a token ever had, and not on the number of its moves. The sums are in
`largest_errors`. (fp32 scales are rounded, too: by 1e-7 per move. FP16 scales shift the levels by up to
1/2000.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from common.serving.bucketed.placement import Integers
from common.serving.bucketed.widths import WIDTHS


def half_step(bits: int) -> float:
    """As a fraction of the head's largest element."""
    return 0.5 / (2 ** (bits - 1) - 1)


def largest_errors(widths: Sequence[int] = WIDTHS) -> dict[int, float]:
    """By the lowest width a token ever had: how far an element can be from its first value, as a fraction of
    its head's largest.

    A new lowest width adds half a step to the worst error of the one before. From there, each finer width
    adds at most half a step; only a return, which undoes them, lets them be added again.
    """
    found: dict[int, float] = {}
    before = 0.0
    for lowest in sorted(widths, reverse=True):
        arrived = before + half_step(lowest)
        # -max, 0 and max, the levels of two bits, are levels of every width: nothing is added to them.
        finer = 0.0 if lowest == 2 else sum(half_step(bits) for bits in widths if bits > lowest)
        before = found[lowest] = arrived + finer
    return found


class History:
    """For the token in each slot [batch, slots]: its width, the lowest it ever had, how often it moved."""

    def __init__(self, batch: int, slots: int) -> None:
        self.width: Integers = np.zeros((batch, slots), dtype=np.int64)
        self.lowest = self.width.copy()
        self.moves = self.width.copy()

    def store(self, slot: int | slice, bits: int) -> None:
        """New tokens of all sequences."""
        self.width[:, slot] = self.lowest[:, slot] = bits
        self.moves[:, slot] = 0

    def reallocate(self, wanted: Integers) -> int:
        """Sets the given widths; returns how many tokens move."""
        slots = wanted.shape[1]
        width, lowest = self.width[:, :slots], self.lowest[:, :slots]
        moved = (wanted != 0) & (wanted != width)
        width[moved] = wanted[moved]
        np.minimum(lowest, width, out=lowest)
        self.moves[:, :slots][moved] += 1
        return int(moved.sum())
