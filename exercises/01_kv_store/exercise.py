"""01 KV store: write new K and V rows into a paged cache in one launch, K and V in flight together."""

from __future__ import annotations

from collections.abc import Sequence

from grader.spec import Case, CopyBandwidth, Exact, Exercise, Points, Size, Speedup
from grader.spec.mechanisms import (
    AsyncCopies,
    Launches,
    NoSpills,
    RoundTripsAtMost,
    SectorsAtMost,
    StoresWhileCopying,
)
from grader.spec.random_inputs import Random

from .alternatives import ALTERNATIVES
from .layout import inputs, reference, row, store
from .mistakes import KNOWN_MISTAKES
from .predictions import PREDICTIONS

HEADS = (1, 2, 3, 4, 5, 8, 12, 16, 32)
HEAD_DIMS = (64, 80, 96, 98, 100, 128, 256)

CASES = (  # the smallest first: a student sees its result first
    store(1, 1, 64, name="one token, one head"),
    store(5, 2, 128, name="a few tokens"),
    store(64, 8, 128, name="64 tokens of 8 heads"),
    store(0, 8, 128, name="no tokens at all"),
    store(33, 8, 128, name="contiguous K and V", sliced=0),
    store(19, 4, 96, name="padded pages", padding=32),
    store(23, 4, 64, name="other strides for V", sliced=0, v_longer=40),
    store(37, 1, 98, name="rows of 196 bytes"),
    store(29, 3, 100, name="rows of 600 bytes"),
    store(21, 5, 80, name="slices shifted by 8 bytes", shift=4),
    store(21, 8, 128, name="slices shifted by 4 bytes", shift=2),
    store(21, 3, 98, name="misaligned slices", shift=1),
    store(9, 8, 64, name="misaligned pages", padding=3),
    store(5, 32, 256, name="rows of 16 KiB"),
    store(7, 8, 128, name="pages far beyond 2^31 elements", first_page=5_000_000),
    store(257, 8, 128, name="257 tokens"),
    store(4097, 1, 64, name="4,097 tokens of one head"),
    store(4, 8, 128, name="a cache past 2^31 elements", spare=2_200_000, gpu_only=True),
)

TARGET_TOKENS = (1, 4, 16, 64, 256, 1024, 4096)
BENCH = (
    *(store(tokens, 8, 128) for tokens in (*TARGET_TOKENS, 16_384)),
    *(store(tokens, 8, 128, gpu_only=True) for tokens in (65_536, 262_144)),
    *(store(tokens, 1, 128) for tokens in (64, 4096)),
    store(262_144, 1, 128, gpu_only=True),
)


def hidden(rng: Random) -> Sequence[Case]:
    """Random shapes for each grading, odd tails included, small enough to check in a moment."""

    def draw(number: int) -> Case:
        heads, head_dim = rng.choice(HEADS), rng.choice(HEAD_DIMS)
        most = min(4097, (1 << 17) // (heads * head_dim))
        return store(
            rng.number(1, most),
            heads,
            head_dim,
            name=f"hidden {number}",
            sliced=rng.number(0, 1),
            shift=rng.choice((0, 0, 0, 1, 2, 4, 7, 8)),
            padding=rng.choice((0, 0, 8, 2, 64, 5)),
            v_longer=rng.choice((0, 0, 8, 24, 3)),
            first_page=rng.choice((0, 0, 4_000_000)),
        )

    return [draw(number) for number in range(1, 11)]


def row_bytes(size: Size) -> int:
    """Bytes of all K and V rows, read or written once."""
    return 2 * size.tokens * row(size) * 2


def async_bytes(size: Size) -> int:
    """Bytes that cp.async must move: all rows, if both sides are aligned to 4 bytes."""
    aligned = all(elements % 2 == 0 for elements in (size.shift, size.padding, size.v_longer))
    return row_bytes(size) if aligned else 0


def overlapped_bytes(size: Size) -> int:
    """Bytes that must be in flight during a store: those of the second half, or nearly."""
    return async_bytes(size) * 2 // 5


def most_loaded(size: Size) -> int:
    """Bytes that plain loads may read: page numbers, both ends of each row, and whole rows where cp.async
    cannot copy them."""
    ends = 2 * size.tokens * 2 * 64
    return 4 * size.tokens + 32 + (ends if async_bytes(size) else 2 * row_bytes(size))


def bytes_moved(size: Size) -> int:
    return 2 * row_bytes(size) + 4 * size.tokens


# Plain loads may read page numbers, in every thread.
_CP_ASYNC = AsyncCopies(least_bytes=async_bytes, most_loaded=most_loaded)

exercise = Exercise(
    title="KV store: fused, asynchronous writes into a paged cache",
    entry="fused_store_kv_async",
    inputs=inputs,
    reference=reference,
    compare=Exact(),
    cases=CASES,
    hidden=hidden,
    bench=BENCH,
    bytes_moved=bytes_moved,
    mechanisms=(
        Launches(exactly=1),
        _CP_ASYNC,
        StoresWhileCopying(least_bytes=overlapped_bytes, name="K is stored while V is in flight"),
        NoSpills(),
    ),
    mechanism_case="64 tokens of 8 heads",
    targets=(
        Speedup(
            cases=tuple(case.name for case in BENCH[: len(TARGET_TOKENS)]),
            passing=1.15,
            full=1.40,
            share=0.8,
            structure=(
                Launches(exactly=1),
                _CP_ASYNC,
                RoundTripsAtMost(3),  # K, V and the page number, if the kernel waits for each separately
                # Rows in whole sectors on both sides, and a sector of indices for each of a token's 8 warps.
                SectorsAtMost(lambda size: 2 * row_bytes(size) // 32 + 8 * size.tokens),
            ),
        ),
        CopyBandwidth(case=BENCH[9].name, fraction=0.92, share=0.2),
    ),
    points=Points(correct=40, clean=10, mechanism=25, speed=25),
    known_mistakes=KNOWN_MISTAKES,
    hints=(
        "A cp.async starts a copy and lets the thread go on: `__pipeline_memcpy_async(shared, global, n)` "
        "from <cuda_pipeline.h> moves n = 4, 8 or 16 bytes, both sides aligned to n. `__pipeline_commit()` "
        "closes a group of copies; `__pipeline_wait_prior(n)` waits until at most the n newest groups are "
        "still in flight.",
        "Start everything before you wait for anything: K as one group, V as a second, then the load of the "
        "page number. Wait for the first group alone and store K while V is in flight; then wait for V. A "
        "thread that stores only what it copied itself needs no __syncthreads().",
        "Let threadIdx.x walk along a row and threadIdx.y along tokens, so that a short row does not leave "
        "most of the block idle. Two units of K and two of V for each thread keep enough bytes in flight. "
        "Compute `int64_t{page} * stride`: a product of two ints wraps at 2^31.",
    ),
    alternatives=ALTERNATIVES,
    predictions=PREDICTIONS,
)
