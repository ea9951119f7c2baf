"""The measured shapes, and what follows from a shape alone: arithmetic, bytes, sets of inputs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

LENGTHS = (128, 256, 512, 1024, 2048, 4096)
MAIN_LENGTH = 512  # of the exercise's target
FEW_HEADS = (2, 8)  # batch and heads of the target
MANY_HEADS = ((8, 16), (32, 16))
HEAD_DIMS = (64, 128)
_HALF = 2  # bytes
_L2_BYTES = 60 << 20  # of an H200
_MOST_SETS = 16


@dataclass(frozen=True)
class Shape:
    """Queries, keys and values of [batch, heads, length, head_dim] in fp16."""

    batch: int
    heads: int
    length: int
    head_dim: int = 64
    causal: bool = False

    @property
    def name(self) -> str:
        mask = ", causal" if self.causal else ""
        return f"{self.batch} × {self.heads} heads of {self.head_dim}, {self.length:,} rows{mask}"

    @property
    def heads_in_all(self) -> int:
        return self.batch * self.heads

    @property
    def pairs(self) -> int:
        """Pairs of a query and a key that it sees."""
        of_head = self.length * (self.length + 1) // 2 if self.causal else self.length**2
        return self.heads_in_all * of_head

    @property
    def flops(self) -> int:
        """Flops of both products: a multiplication and an addition per element. Softmax does not count."""
        return 4 * self.pairs * self.head_dim

    @property
    def bytes(self) -> int:
        """Queries, keys and values read once, the output written once."""
        return 4 * self.heads_in_all * self.length * self.head_dim * _HALF

    @property
    def intensity(self) -> float:
        """Flops per byte that has to move."""
        return self.flops / self.bytes

    @property
    def sets(self) -> int:
        """Calls in a graph, each on its own inputs: enough that L2 cannot hold them all between replays, but
        at most sixteen."""
        return min(_MOST_SETS, max(2, -(-2 * _L2_BYTES // self.bytes)))

    def plain(self) -> dict[str, int | float | bool | str]:
        """For a file."""
        return {
            "name": self.name,
            **vars(self),
            "heads_in_all": self.heads_in_all,
            "flops": self.flops,
            "bytes": self.bytes,
            "intensity": round(self.intensity, 2),
            "sets": self.sets,
        }


def all_shapes() -> list[Shape]:
    """The exercise's target comes first, so that an interrupted run has it."""
    return [
        Shape(*where, head_dim, causal)
        for head_dim, causal in itertools.product(HEAD_DIMS, (False, True))
        for where in (
            *((*FEW_HEADS, length) for length in LENGTHS),
            *((*heads, MAIN_LENGTH) for heads in MANY_HEADS),
        )
    ]


def quick_shapes() -> list[Shape]:
    return [shape for shape in all_shapes() if shape.length <= MAIN_LENGTH and shape.heads_in_all < 512]
