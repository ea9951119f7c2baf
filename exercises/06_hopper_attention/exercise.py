"""06 Attention for Hopper: tiles by the copy engine, products of four warps, weights under products."""

from __future__ import annotations

from collections.abc import Sequence

from grader.spec import Case, Exercise, Points, Speedup
from grader.spec.mechanisms import Launches, NoSpills
from grader.spec.random_inputs import Random

from .alternatives import CUDNN, YARDSTICKS
from .layout import inputs, reference
from .mechanisms import NoScoresInSharedMemory, Persistent, ProductsOfFourWarps
from .mistakes import MISTAKES
from .predictions import PREDICTIONS
from .shapes import PAST_31_BITS, SIX, attention, bench, bytes_moved
from .steps import COMPARE, ENGINE, STEPS

CASES = (
    attention("a tile", length=64),
    attention("one row", length=1),
    attention("a tile, causal", length=64, causal=1),
    *(attention(f"{length} rows", length=length) for length in (15, 65, 129)),
    *(attention(f"{length} rows, causal", length=length, heads=2, causal=1) for length in (31, 65, 130, 333)),
    attention("heads of 128", length=100, head_dim=128),
    attention("300 rows, heads of 128", length=300, head_dim=128),
    attention("heads of 128, causal", length=270, head_dim=128, causal=1),
    attention("bfloat16", length=190, bfloat16=1),
    attention("bfloat16, heads of 128, causal", length=190, head_dim=128, bfloat16=1, causal=1),
    attention("rows apart", length=80, heads=3, batch=2, rows_apart=1),
    attention("gaps between rows", length=50, heads=2, gap=16),
    attention("rows past 2^31 elements", length=17, gap=PAST_31_BITS),
    attention("a row's stride past 2^31 elements", length=2, gap=1 << 31),
    attention("heads past 2^31 elements", length=2, heads=2, gap=1 << 30, head_dim=128, causal=1),
    attention("sequences past 2^31 elements", length=2, batch=2, gap=1 << 30),
    attention("another scale", length=160, scale=700),
    attention("large scores", length=200, size=80),
    attention("large scores, causal", length=200, size=80, causal=1, bfloat16=1),
    # The one key that a first row sees has a score far below 0, or below a finite stand-in for -infinity.
    attention("huge scores, causal", length=4, heads=16, size=500, causal=1),
    attention("heads share keys and values", heads=6, sharers=3, length=140),
    attention("heads share keys and values, causal", batch=2, heads=4, sharers=2, length=90, causal=1, gap=8),
    attention("one head of keys, rows apart", heads=4, sharers=4, length=70, head_dim=128, rows_apart=1),
    attention("no rows", length=0),
    attention("many heads", batch=7, heads=100, length=20),
    attention("many heads, causal", batch=3, heads=60, length=200, causal=1),
    attention("many heads of 128", heads=70, length=140, head_dim=128),
    attention("1,024 rows", length=1024, heads=4, gpu_only=True),
    attention("2,100 rows, many heads", length=2100, heads=40, gpu_only=True),
    attention("4,096 rows, causal", length=4096, heads=4, causal=1, gpu_only=True),
    attention(
        "4,100 rows, heads of 128, causal", length=4100, heads=40, head_dim=128, causal=1, gpu_only=True
    ),
)
BENCH = tuple(bench(*shape, head_dim) for head_dim in (64, 128) for shape in SIX)


def hidden(rng: Random) -> Sequence[Case]:
    def drawn(number: int) -> Case:
        sharers = rng.choice((1, 1, 2, 3))
        return attention(
            f"hidden {number}",
            batch=rng.number(1, 2),
            heads=sharers * rng.number(1, 2),
            sharers=sharers,
            length=rng.number(1, 400),
            head_dim=rng.choice((64, 64, 128)),
            causal=rng.number(0, 1),
            bfloat16=rng.choice((0, 0, 1)),
            rows_apart=rng.number(0, 1),
            gap=rng.choice((0, 0, 8)),
            scale=rng.choice((0, 0, 50, 400)),
            size=rng.choice((10, 10, 40)),
        )

    return [drawn(number) for number in range(1, 7)]


exercise = Exercise(
    title="Attention for Hopper: tiles by the copy engine, products of four warps",
    entry="hopper_attention",
    inputs=inputs,
    reference=reference,
    compare=COMPARE,
    cases=CASES,
    hidden=hidden,
    bench=BENCH,
    bytes_moved=bytes_moved,
    mechanisms=(
        Launches(exactly=1),
        NoSpills(),
        ENGINE,
        ProductsOfFourWarps(),
        NoScoresInSharedMemory(),
        Persistent(),
    ),
    mechanism_case="many heads, causal",
    more_mechanism_cases=("many heads of 128",),
    targets=(
        Speedup(
            cases=tuple(case.name for case in BENCH),
            passing=0.3,
            full=0.9,
            least_each=0.2,
            protocol="graph",
            against=CUDNN,
            share=0.8,
        ),
        Speedup(cases=(BENCH[0].name,), passing=4.0, full=5.5, protocol="graph", share=0.2),
    ),
    points=Points(correct=18, clean=7, mechanism=10, speed=25),
    steps=STEPS,
    predictions=PREDICTIONS,
    known_mistakes=MISTAKES,
    hints=(
        "Step 1: a barrier that expects one arrival and some bytes completes its phase when both have "
        "come. The thread that asks for the tile also arrives, and says how many bytes will come: 64 rows "
        "of 128 bytes, however many rows the tensor still has. All threads wait for parity 0, that of the "
        "first phase. In shared memory, piece p of row r lies at place p ^ (r % 8).",
        "Step 2: follow one stage on paper. Its `full` barrier completes phase 0 when tile 0 is there, "
        "phase 1 with tile kStepStages. Its `empty` barrier completes phase 0 when all four warps have "
        "read tile 0. The producer's first wait must not block: a wait for parity 1 returns at once while "
        "phase 0 is open. A warp arrives once, so all of its lanes must have read before: __syncwarp().",
        "Step 3: a descriptor holds an address in units of 16 bytes, so a step of 16 halves along a row "
        "adds 2. The swizzle does not change that: the hardware applies it to the whole address, and "
        "tiles begin at multiples of 1,024 bytes. For values, 16 keys are 16 rows, 2,048 bytes. Products "
        "of one warpgroup run in order; begin_products() is needed before the first one that reads or "
        "adds to registers that you changed.",
        "Step 4: there are two groups of products in flight, the scores of this tile and the output of "
        "the one before. wait_for_products<1>() leaves the newest group running: commit the scores first. "
        "The weights of the tile before are read by the running product, so pack_weights() has to wait "
        "for it, and rescale() too. For the turns: a meet() of 256 threads needs 128 that meet and 128 "
        "that pass. Who passes to the first warpgroup at the very beginning, and who takes the last pass?",
        "The whole: a block takes numbers blockIdx.x, blockIdx.x + gridDim.x, and so on. Producer and "
        "consumers walk through the same tiles, each with its own Schedule. The ring and its parities go "
        "on from tile to tile. With a causal mask, tile n of a head has about n + 1 times the work of tile "
        "0: which two tiles together have as much as any other such two?",
    ),
    yardsticks=YARDSTICKS,
    arch="sm_90a",
)
