"""The lab's task, which all of its kernels share, and the words for its answers."""

from __future__ import annotations

from common.serving.half_precision import product
from grader.lab.lab import FaultLab
from grader.spec import STREAM, At, Buffers, Call, Normwise, Size, case, i32
from grader.spec.random_inputs import Random

COLUMNS = 64


def inputs(size: Size, random: Random) -> Call:
    import torch

    buffers = {
        "a": random.normal(size.rows, size.depth).to(torch.float16),
        "b": random.normal(COLUMNS, size.depth).to(torch.float16),
        "out": torch.full((size.rows, COLUMNS), torch.nan, dtype=torch.float16),
    }
    tensors = tuple(At(name) for name in buffers)
    return Call(buffers, ("out",), (*tensors, i32(size.rows), i32(size.depth), STREAM))


def reference(_: Size, buffers: Buffers) -> None:
    buffers["out"].copy_(product(buffers["a"], buffers["b"].transpose(0, 1)))


lab = FaultLab(
    title="Seven faults of Hopper's units",
    kernels=("one", "two", "three", "four", "five", "six", "seven"),
    entry="multiply_matrices",
    inputs=inputs,
    reference=reference,
    compare=Normwise(),
    cases=(case("128 rows, depth 512", rows=128, depth=512),),
    faults={
        "arrivals": "a barrier expects more arrivals than come",
        "barrier-not-ready": "a barrier is used by warps that nothing lets wait for its init",
        "descriptor-step": "a descriptor moves by another distance than the 16 columns of a product",
        "early-release": "a stage is given back while a product may still read it",
        "expected-bytes": "a barrier expects another number of bytes than the copies bring",
        "no-async-fence": "stores of threads are not made visible to the copy engine",
        "no-product-fence": "a product begins on registers that were changed, and no fence is between",
        "parity": "a wait names the parity of another phase than the one that it is for",
        "result-in-flight": "a result is read before its product is complete",
        "stage-index": "producer and consumer use different stages for a tile",
        "store-not-awaited": "a block ends while the copy engine still reads its shared memory",
        "swizzle": "a thread writes or reads a piece where the swizzle has not put it",
        "too-few-warps": "a product is begun by fewer warps than a warpgroup has",
    },
)
