"""How close to the reference an answer must be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Exact:
    """Every bit must be equal: for copies and integers."""


@dataclass(frozen=True)
class Relative:
    """The largest error against a higher-precision reference may be `times` that of the same computation
    done by torch in the output's own precision."""

    times: float = 2.0


@dataclass(frozen=True)
class Normwise:
    """By rows (the last dimension; of an output with one dimension, each element is a row): the norm of the
    error against the reference in float64, over the norm of the exact row.

    Every row may have at most `at_most`, and at most `times` the largest error of the same reference in the
    buffers' own types: over the rows of the call and, where these are few and do not allow enough, over those
    of further calls with other values. `least` is always allowed. A row of zeros must be zeros. Outputs that
    are not floating are compared bit by bit.

    An element of an output in `cancelling` is a sum of products that may come to nearly nothing, while its
    error does not. There the norm of a row is at least that of a row of elements of the output's usual size.
    """

    times: float = 2.0
    at_most: float = 1e-2
    least: float = 0.0
    cancelling: tuple[str, ...] = ()


Comparison = Exact | Relative | Normwise
