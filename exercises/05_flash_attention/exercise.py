"""05 FlashAttention: scores that never leave the registers, tiles that arrive before they are needed."""

from __future__ import annotations

from collections.abc import Sequence

from grader.spec import Case, Exercise, Points, Speedup
from grader.spec.mechanisms import NoSpills, SharedAtMost
from grader.spec.random_inputs import Random

from .alternatives import YARDSTICKS
from .layout import inputs, reference
from .mechanisms import NoBankConflicts, Persistent, ScoresInRegisters, TensorCores
from .mistakes import MISTAKES
from .predictions import PREDICTIONS
from .shapes import PAST_31_BITS, SEVEN, attention, bench, bytes_moved
from .steps import AHEAD, ASYNC, COMPARE, STEPS

_SMALL = 1 << 18  # scores of a case that runs on the virtual GPU
DOCUMENT = tuple(
    attention(
        f"{batch} × {heads} heads, {length} rows" + (", causal" if causal else ""),
        batch=batch,
        heads=heads,
        length=length,
        head_dim=head_dim,
        causal=causal,
        gpu_only=batch * heads * length * length > _SMALL,
    )
    for batch, length, heads, head_dim in SEVEN
    for causal in (0, 1)
)
CASES = (
    attention("one row", length=1),
    attention("16 rows", length=16),
    attention("a tile", length=64),
    attention("a tile, causal", length=64, causal=1),
    *(attention(f"{length} rows", length=length) for length in (15, 65, 77)),
    *(attention(f"{length} rows, causal", length=length, heads=2, causal=1) for length in (31, 65, 130)),
    attention("heads of 128", length=100, head_dim=128),
    attention("264 rows", length=264),
    attention("264 rows, heads of 128", length=264, head_dim=128),
    attention("heads of 128, causal", length=70, head_dim=128, causal=1),
    attention("bfloat16", length=90, bfloat16=1),
    attention("bfloat16, heads of 128, causal", length=90, head_dim=128, bfloat16=1, causal=1),
    attention("rows apart", length=80, heads=3, batch=2, rows_apart=1),
    attention("gaps between rows", length=50, heads=2, gap=16),
    attention("rows past 2^31 elements", length=17, gap=PAST_31_BITS),
    attention("a row's stride past 2^31 elements", length=2, gap=1 << 31),
    attention("heads past 2^31 elements", length=2, heads=2, gap=1 << 30),
    attention("sequences past 2^31 elements", length=2, batch=2, gap=1 << 30),
    attention("another scale", length=60, scale=700),
    attention("large scores", length=100, size=80),
    attention("large scores, causal", length=100, size=80, causal=1, bfloat16=1),
    # The one key that a first row sees has a score far below 0, or below a finite stand-in for -infinity.
    attention("huge scores, causal", length=4, heads=16, size=500, causal=1),
    attention("no rows", length=0),
    attention("many heads", batch=7, heads=100, length=20),
    attention("many heads of 128", batch=6, heads=100, length=5, head_dim=128),
    # An SM holds 32 blocks at most: on an H200 some block takes a second tile, however small blocks are.
    attention("more heads than blocks at once", batch=43, heads=100, length=3),
    *DOCUMENT,
    attention("1,024 rows", length=1024, heads=4, gpu_only=True),
    attention("4,096 rows, causal", length=4096, heads=4, causal=1, gpu_only=True),
)
MAIN = bench(2, 8, 512)
BENCH = (
    MAIN,
    bench(1, 8, 512, gpu_only=True),
    bench(8, 16, 512, gpu_only=True),
    bench(32, 16, 512, gpu_only=True),
    bench(2, 8, 512, causal=1, gpu_only=True),
    bench(32, 16, 512, causal=1, gpu_only=True),
    *(bench(2, 8, length, gpu_only=True) for length in (128, 256, 1024, 4096)),
)


def hidden(rng: Random) -> Sequence[Case]:
    return [
        attention(
            f"hidden {number}",
            batch=rng.number(1, 2),
            heads=rng.number(1, 3),
            length=rng.number(1, 160),
            head_dim=rng.choice((64, 64, 128)),
            causal=rng.number(0, 1),
            bfloat16=rng.choice((0, 0, 1)),
            rows_apart=rng.number(0, 1),
            gap=rng.choice((0, 0, 8)),
            scale=rng.choice((0, 0, 50, 400)),
            size=rng.choice((10, 10, 40)),
        )
        for number in range(1, 7)
    ]


exercise = Exercise(
    title="FlashAttention: scores in registers, tiles ahead of time",
    entry="flash_attention",
    inputs=inputs,
    reference=reference,
    compare=COMPARE,
    cases=CASES,
    hidden=hidden,
    bench=BENCH,
    bytes_moved=bytes_moved,
    mechanisms=(
        SharedAtMost(48 * 1024),
        NoSpills(),
        TensorCores(),
        ScoresInRegisters(),
        ASYNC,
        AHEAD,
        NoBankConflicts(),
        Persistent(),
    ),
    mechanism_case="many heads",
    more_mechanism_cases=("many heads of 128",),
    targets=(Speedup(cases=(MAIN.name,), passing=1.25, full=3.5, protocol="graph"),),
    points=Points(correct=20, clean=8, mechanism=10, speed=25),
    steps=STEPS,
    predictions=PREDICTIONS,
    known_mistakes=MISTAKES,
    hints=(
        "Step 1 is one row and one key at a time. Keep the highest score so far (m), the sum of the weights "
        "and the output, both relative to m. A new score s can only raise m: sums under the old maximum are "
        "too large by a factor that depends on the two maxima alone. Let m begin at -infinity: then the "
        "factor for the first key is 0, and the first key needs no special case. job.scale includes log2(e), "
        "so weights are powers of two and you need no e.",
        "In step 2, decide what is a row and what is a column. The first product is queries times keys "
        "transposed: a key is a row in memory and a column of the second matrix. The second product is "
        "weights times values, and a value is a row of the second matrix. WMMA has a layout for each. A "
        "fragment belongs to the whole warp: lanes must finish writing before any lane loads the fragment, "
        "and the fragment must be stored before any lane reads the result.",
        "Step 3: with mma the layout is known, and everything depends on it. With g = lane / 4 and "
        "t = lane % 4, a lane holds scores of rows g and g + 8, columns 2t and 2t + 1 of every tile of eight "
        "keys. For the next product it must hold weights of the same rows and the same columns, two tiles "
        "side by side. So nothing moves between lanes: round, pack, multiply. A row is spread over the four "
        "lanes with the same g: shuffles over 1 and 2 find its maximum, for every tile of keys. Its sum can "
        "stay in parts until the end, because all parts are relative to the same maximum.",
        "Steps 4 and 5: a thread's copies come in groups, and a wait allows so many of the newest groups to "
        "be still in flight. Count them on paper for the first tile, one in the middle and the last. A "
        "commit without copies makes an empty group, which keeps the count the same to the end. A wait "
        "covers only the thread's own copies: a barrier makes the copies of all threads visible. Put the "
        "barrier between the wait and the next fetch, and it closes a second hazard: all threads have read "
        "the stage that is about to be overwritten.",
        "Step 6: a row of 64 halves is 128 bytes, all 32 banks once. ldmatrix reads eight rows at the same "
        "column: 16 bytes each from the same four banks, eight wavefronts instead of one. If row r keeps its "
        "pieces in another order than row r + 1, the eight are in different banks. Padding would do that "
        "too, but copies of 16 bytes need addresses that are multiples of 16, and padding takes shared "
        "memory from the stages. All code that writes or reads a tile must use the same order: queries, "
        "keys, values, and the output before it is stored.",
        "The whole: tiles of queries are numbered over rows, heads and batch, and a block takes one in every "
        "gridDim.x. How many blocks run at once? Multiply the multiprocessors by what __launch_bounds__ "
        "promises. Between two tiles of a block the same shared memory gets new content: which threads may "
        "still read the old? With a causal mask, late tiles have more keys than early ones: begin with the "
        "long ones and end with the short ones.",
    ),
    yardsticks=YARDSTICKS,
)
