"""03 Batched copy: up to sixteen strided copies, huge and tiny, in one launch."""

from __future__ import annotations

from collections.abc import Sequence

from common.serving.nsa_metadata import Mode
from grader.spec import Buffers, Call, Case, Exact, Exercise, Points, PythonTrack, Size, Speedup
from grader.spec.mechanisms import Launches, NoSpills, RoundTripsAtMost
from grader.spec.question import Sheet
from grader.spec.random_inputs import Random

from .alternatives import ALTERNATIVES, COPIES, MEMCPY, TRITON_ONE_LAUNCH, YARDSTICKS
from .answers import CONCLUSIONS
from .batches import LISTED, MODES, batch_of, dense, drawn, listed, metadata, wide
from .fault_trials import FAULTS
from .mechanisms import WideUnits
from .mistakes import KNOWN_MISTAKES
from .predictions import PREDICTIONS

GIGANTIC = ("gigantic rows", "a gigantic row between its edges")  # more than a virtual GPU copies in time
OPTIONS = {
    "": (0, 0),
    " with its own pages": (1, 0),
    " with FlashMLA": (0, 1),
    " with its own pages and FlashMLA": (1, 1),
}

CASES = (  # the smallest first: a student sees its result first
    *(listed(name) for name in LISTED if name not in GIGANTIC),
    *(
        metadata(mode, 5, 77, name=f"{mode.value}{words}", wider=51, real_pages=real_pages, flashmla=flashmla)
        for mode in MODES
        for words, (real_pages, flashmla) in OPTIONS.items()
    ),
    *(
        metadata(
            Mode.DECODE, 3, 40, name=f"three captured sets, {which} sixteen", sets=3, chunk=chunk, wider=24
        )
        for chunk, which in enumerate(("first", "last"))
    ),
    *(listed(name, gpu_only=True) for name in GIGANTIC),
)

DECODE_SIZES = ((1, 1024), (8, 1024), (32, 2048), (64, 2048))
DECODE = tuple(metadata(Mode.DECODE, batch, columns, real_pages=1) for batch, columns in DECODE_SIZES)
BENCH = (
    *DECODE,
    metadata(Mode.TARGET_VERIFY, 16, 2048, real_pages=1, flashmla=1),
    metadata(Mode.DRAFT_EXTEND, 16, 2047, real_pages=1),
    metadata(Mode.DECODE, 128, 8192, real_pages=1),
    metadata(Mode.DECODE, 256, 16_384, real_pages=1, gpu_only=True),
    dense(7, 32),
    dense(7, 65_536),
    dense(4, 1 << 22, gpu_only=True),
    wide(4, 1024, 4096, 128, gpu_only=True),
    wide(4, 1024, 4097, 127, gpu_only=True),
)
# None may be slower than individual copies; without a GPU the large ones are left out.
EVERYWHERE = tuple(case.name for case in BENCH)
HERE_TOO = tuple(case.name for case in BENCH if not case.gpu_only)
DECODE_SHAPES = tuple(case.name for case in DECODE)
LARGE_STRIDED = tuple(case.name for case in BENCH[-2:])


def inputs(size: Size, rng: Random) -> Call:
    return batch_of(size).call(rng)


def reference(size: Size, buffers: Buffers) -> None:
    batch_of(size).apply(buffers)


def hidden(rng: Random) -> Sequence[Case]:
    """Random batches for each grading, of any count, shape, alignment and element size; and steps."""
    batches = [drawn(f"hidden {number}", rng.number(0, 1 << 40)) for number in range(1, 9)]
    steps = [
        metadata(
            MODES[rng.number(0, 2)],
            rng.number(1, 24),
            rng.number(1, 700),
            name=f"hidden {number}",
            real_pages=rng.number(0, 1),
            flashmla=rng.number(0, 1),
            wider=rng.choice((0, 1, 4, 33, 256)),
            spare=rng.number(1, 5),
        )
        for number in range(9, 12)
    ]
    return [*batches, *steps]


def bytes_moved(size: Size) -> int:
    return 2 * sum(copy.bytes for copy in batch_of(size).copies)


exercise = Exercise(
    title="Batched copy: sixteen strided copies in one launch",
    entry="batched_copy",
    inputs=inputs,
    reference=reference,
    compare=Exact(),
    cases=CASES,
    hidden=hidden,
    bench=BENCH,
    bytes_moved=bytes_moved,
    mechanisms=(Launches(exactly=1), WideUnits(), NoSpills()),
    mechanism_case="huge and tiny in one batch",
    blocks_share="slices aligned alike beside very many units",
    targets=(
        Speedup(
            cases=DECODE_SHAPES,
            passing=1.5,
            full=3.0,
            protocol="graph",
            share=0.35,
            structure=(Launches(exactly=1), RoundTripsAtMost(1), WideUnits()),
        ),
        Speedup(
            cases=HERE_TOO, passing=1.0, full=1.0, protocol="graph", share=0.15, structure=(WideUnits(),)
        ),
        Speedup(cases=DECODE_SHAPES, passing=1.5, full=3.0, protocol="graph", against=COPIES, share=0.2),
        Speedup(cases=EVERYWHERE, passing=1.0, full=1.0, protocol="graph", against=COPIES, share=0.1),
        Speedup(
            cases=LARGE_STRIDED,
            passing=1 / 1.5,
            full=1 / 1.5,
            least_each=1 / 1.5,
            protocol="graph",
            against=MEMCPY,
            share=0.1,
        ),
        Speedup(
            cases=DECODE_SHAPES, passing=1.0, full=1.0, protocol="graph", against=TRITON_ONE_LAUNCH, share=0.1
        ),
    ),
    points=Points(correct=50, clean=15, mechanism=10, speed=25),
    known_mistakes=KNOWN_MISTAKES,
    hints=(
        "A kernel parameter may be a struct of up to 4 KB, passed by value: with `const __grid_constant__` "
        "before it, blocks read it in place, with any index. Let the host count the tiles of work of each "
        "copy and store the first tile of each; a block then finds its copy by comparing blockIdx.x with "
        "these sixteen numbers.",
        "Keep a thread inside one row. Then it computes its offset once: its row times the stride of that "
        "side, in 64 bits. A short row takes a power of two of threads, and the block's other threads take "
        "further rows; a long row takes the whole block, and several tiles. So a tiny copy takes one block, "
        "and a huge one as many as it needs.",
        "Units of 16 bytes need 16-byte addresses on both sides of every row: look at both starts, both "
        "strides and the length of a row. If only the start or the length prevents that, and both sides are "
        "off by the same few bytes, copy the edges as single elements. For a small copy that does not pay: "
        "one round trip to memory with narrow units takes less time than two with wide ones.",
    ),
    alternatives=ALTERNATIVES,
    yardsticks=YARDSTICKS,
    predictions=PREDICTIONS,
    sheets=(
        Sheet("answers.toml", CONCLUSIONS, measured_by="benchmarks/copies/reality_check.py"),
        Sheet("faults.py", FAULTS),
    ),
    python=PythonTrack(function="batched_copy", arguments=("descriptors", "count")),
)
