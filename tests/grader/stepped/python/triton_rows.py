"""Right, in Triton: one launch for each row."""

import triton
import triton.language as tl

MOST = 4
TILE = 256


@triton.jit
def copy_row(source, target, length, TILE: tl.constexpr):
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = at < length
    tl.store(target + at, tl.load(source + at, mask=inside), mask=inside)


def copy_many(rows, count):
    if count > MOST:
        return 1
    for source, target, length in rows[:count]:
        copy_row[(triton.cdiv(length, TILE),)](source, target, length, TILE=TILE)
    return 0
