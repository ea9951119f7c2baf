"""The lab's task, which all of its kernels share, and the words for its answers."""

from __future__ import annotations

from common.serving.half_precision import product
from grader.lab.lab import FaultLab
from grader.spec import STREAM, At, Buffers, Call, Normwise, Size, case, f32, i32
from grader.spec.random_inputs import Random

HEAD_DIM = 64
SCALE = HEAD_DIM**-0.5


def inputs(size: Size, random: Random) -> Call:
    import torch

    shape = size.length, size.heads, HEAD_DIM
    buffers = {name: random.normal(*shape).to(torch.float16) for name in ("queries", "keys", "values")}
    buffers["out"] = torch.full(shape, torch.nan)
    tensors = tuple(At(name) for name in buffers)
    return Call(buffers, ("out",), (*tensors, i32(size.heads), i32(size.length), f32(SCALE), STREAM))


def reference(_: Size, buffers: Buffers) -> None:
    queries, keys, values = (buffers[name].transpose(0, 1) for name in ("queries", "keys", "values"))
    weights = (product(queries, keys.transpose(1, 2)) * SCALE).softmax(dim=-1)
    buffers["out"].copy_(product(weights, values).transpose(0, 1))


lab = FaultLab(
    title="The post-mortem of V3",
    kernels=("one", "two", "three", "four", "five", "six", "seven"),
    entry="attend",
    inputs=inputs,
    reference=reference,
    compare=Normwise(),
    cases=(case("two heads of 256", heads=2, length=256),),
    faults={
        "bank-conflicts": "lanes that read together read from the same banks",
        "buffer-reuse": "a buffer is overwritten while other threads still read it",
        "missing-barrier": "there is no barrier between one thread's write and another's read",
        "no-rescale": "sums are not rescaled when a higher score comes",
        "padding": "rows are padded so that copies of 16 bytes are no longer aligned to 16 bytes",
        "query-part": "a lane multiplies by the part of the query that it holds, where it needs other parts",
        "row-index": "an array for the rows of one warp is indexed by the row in the whole tile",
        "rows-over-warps": "the rows do not divide evenly among the warps, and nothing stops the last warp",
        "scale": "scores are not scaled, or more than once",
        "shuffle-mask": "a shuffle names lanes that do not take part in it",
        "stride": "a row's address is computed for another layout",
        "wait-too-early": "work on a tile begins while copies into it may be in flight",
        "wait-too-long": "a wait covers more copies than needed, so none overlap with work",
    },
)
