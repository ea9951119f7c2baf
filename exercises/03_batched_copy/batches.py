"""The batches of the cases, by family:

METADATA  what a step of sparse attention copies: mode, batch, columns, and the options
LISTED    a batch written out below: number
DRAWN     drawn from a seed: draw
DENSE     copies without gaps: copies, elements of each
WIDE      large tables into wider ones: copies, rows, columns, gap
"""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Callable
from enum import IntEnum

from common.serving.nsa_metadata import Field, Mode, Step, step_fields
from grader.spec import Case, Size, Words, case, cases_with

from .layout import Batch, OneCopy, Side

MOST_COPIES = 16
MODES = (Mode.DECODE, Mode.TARGET_VERIFY, Mode.DRAFT_EXTEND)
DRAFT_TOKENS = 4
FLASHMLA_PARTS = 132  # one for each multiprocessor
PAGE = 64  # tokens
_SAID = 4  # copies of a batch that are said in words
_WORDS: Words = {
    "batch": "requests: {:,}",
    "columns": "columns: {:,}",
    "real_pages": {1: "with its own pages"},
    "flashmla": {1: "with FlashMLA"},
    "wider": "captured rows {:,} wider",
}


class Family(IntEnum):
    METADATA = 0
    LISTED = 1
    DRAWN = 2
    DENSE = 3
    WIDE = 4


def own(number: int, rows: int, columns: int, element_size: int = 4, **more: int) -> Batch:
    """One copy between two buffers of its own. Their rows may be wider than the copy, by source_gap and
    destination_gap elements; source_shift and destination_shift of these come before the copy. On the device
    they lie source_apart and destination_apart elements further apart."""

    def side(name: str, which: str) -> tuple[Side, tuple[tuple[int, ...], int]]:
        gap, shift = more.get(f"{which}_gap", 0), more.get(f"{which}_shift", 0)
        stride = columns + max(gap, shift)
        # At least one row and one element: an empty copy must leave them unchanged.
        further = more.get(f"{which}_apart", 0)
        return Side(name, shift, stride, further), ((max(rows, 1), max(stride, 1)), element_size)

    source, read = side(f"source_{number}", "source")
    destination, written = side(f"destination_{number}", "destination")
    copy = OneCopy(source, destination, rows, columns, element_size)
    return Batch((copy,), {source.buffer: read, destination.buffer: written})


def together(*batches: Batch, refused: bool = False) -> Batch:
    """One batch of all their copies."""
    return Batch(
        tuple(copy for batch in batches for copy in batch.copies),
        {name: spec for batch in batches for name, spec in batch.buffers.items()},
        refused,
    )


def _in_one_table(*copies: OneCopy) -> Batch:
    """Copies within `table`, 16 × 32, and from `other`, of the same size."""
    return Batch(copies, {"table": ((16, 32), 4), "other": ((16, 32), 4)}, refused=True)


# Name -> the batch, in the order of the cases. Functions, so that a case builds only its own.
LISTED: dict[str, Callable[[], Batch]] = {
    "one copy of a few elements": lambda: own(0, 1, 39),
    "three small copies": lambda: together(own(0, 1, 5), own(1, 1, 64), own(2, 1, 33)),
    "one element": lambda: own(0, 1, 1, source_shift=1, destination_shift=3),
    "a table into a wider one": lambda: own(0, 9, 40, destination_gap=24),
    "gaps on both sides": lambda: own(0, 7, 24, source_gap=8, destination_gap=40),
    "odd columns": lambda: together(own(0, 11, 57, destination_gap=71), own(1, 5, 129, destination_gap=3)),
    "no rows, no columns, nothing at all": lambda: together(own(0, 0, 8), own(1, 8, 0), own(2, 0, 0)),
    "nothing between two copies": lambda: together(own(0, 3, 17), own(1, 0, 8), own(2, 4, 9), own(3, 5, 0)),
    "every element size": lambda: together(
        *(own(i, 6, 45, size, source_gap=3, destination_gap=19) for i, size in enumerate((1, 2, 4, 8)))
    ),
    "every element size, misaligned": lambda: together(
        *(
            own(i, 5, 67, size, source_gap=9, source_shift=3, destination_gap=30, destination_shift=1)
            for i, size in enumerate((1, 2, 4, 8))
        )
    ),
    "slices aligned alike, but not to 16 bytes": lambda: together(
        own(0, 33, 515, source_gap=5, source_shift=1, destination_gap=29, destination_shift=5),
        own(1, 40, 1025, 2, source_gap=7, source_shift=3, destination_gap=15, destination_shift=11),
        own(2, 1, 70_001, 1, source_shift=7, destination_shift=7),
        own(3, 33, 515, 8, source_gap=5, source_shift=1, destination_gap=29, destination_shift=3),
    ),
    "one side's stride limits the unit": lambda: together(
        own(0, 5, 48, source_gap=1, destination_gap=16),
        own(1, 5, 48, source_gap=16, destination_gap=1),
        own(2, 6, 64, 2, source_gap=2, destination_gap=8),
        own(3, 6, 64, 1, source_gap=16, destination_gap=8),
        own(4, 40, 513, source_gap=1, destination_gap=15),  # large enough to have edges
        own(5, 40, 513, source_gap=15, destination_gap=1),
    ),
    "slices aligned differently": lambda: together(
        own(0, 21, 515, source_gap=5, source_shift=1, destination_gap=29, destination_shift=2),
        own(1, 9, 2050, 2, source_gap=6, source_shift=2, destination_gap=14, destination_shift=4),
    ),
    "long slices, each pair of sides aligned differently": lambda: together(
        own(0, 1, 9001, destination_shift=1),
        own(1, 1, 9001, source_shift=1),
        own(2, 1, 9001, source_shift=1, destination_shift=3),
        own(3, 1, 18_001, 2, source_shift=3, destination_shift=5),
    ),
    "slices aligned alike beside very many units": lambda: together(
        own(0, 3, 40_001, 1, source_shift=1, destination_shift=2),
        own(1, 1, 70_001, 1, source_shift=7, destination_shift=7),
        own(2, 33, 515, source_gap=5, source_shift=1, destination_gap=29, destination_shift=5),
    ),
    "short rows, many of them": lambda: together(
        own(0, 3001, 3, source_gap=1, destination_gap=5), own(1, 4100, 1, 8, destination_gap=1)
    ),
    "huge and tiny in one batch": lambda: together(
        own(0, 1, 1),
        own(1, 96, 4096, destination_gap=64),
        own(2, 1, 3, 8),
        own(3, 2, 2, 1, destination_gap=2),
        own(4, 1, 100_001),
    ),
    "sixteen copies": lambda: together(*(own(i, i % 4 + 1, 8 * i + 3, destination_gap=i) for i in range(16))),
    "one row to many": lambda: Batch(
        (OneCopy(Side("row", 0, 0), Side("table", 0, 40), 12, 33),),
        {"row": ((1, 33), 4), "table": ((12, 40), 4)},
    ),
    "slices side by side": lambda: Batch(
        tuple(OneCopy(Side("other", c, 32), Side("table", 16 - c, 32), 16, 16) for c in (0, 16)),
        {"table": ((16, 32), 4), "other": ((16, 32), 4)},
    ),
    "seventeen copies": lambda: together(*(own(i, 1, i + 1) for i in range(17)), refused=True),
    "an element size of 3": lambda: Batch(
        (OneCopy(Side("source", 0, 6), Side("destination", 0, 6), 2, 6, 3),),
        {"source": ((2, 24), 1), "destination": ((2, 24), 1)},
        refused=True,
    ),
    "two destinations that overlap": lambda: _in_one_table(
        OneCopy(Side("other", 0, 32), Side("table", 0, 32), 4, 20),
        OneCopy(Side("other", 128, 32), Side("table", 3 * 32 + 19, 32), 4, 12),
    ),
    "a destination that overlaps a source": lambda: _in_one_table(
        OneCopy(Side("table", 0, 32), Side("other", 0, 32), 8, 32),
        OneCopy(Side("other", 300, 32), Side("table", 7 * 32 + 31, 32), 2, 1),
    ),
    "a copy onto itself, shifted": lambda: _in_one_table(
        OneCopy(Side("table", 0, 32), Side("table", 4, 32), 16, 28)
    ),
    "rows written over each other": lambda: _in_one_table(
        OneCopy(Side("other", 0, 32), Side("table", 0, 16), 4, 20)
    ),
    "source rows past 2^32 bytes": lambda: own(0, 3, 4099, 1, source_gap=13, source_apart=2 << 30),
    "destination rows past 2^32 bytes": lambda: own(
        0, 3, 2051, 2, destination_gap=5, destination_apart=1 << 30
    ),
    "gigantic rows": lambda: own(0, 2, (1 << 31) + 5, 1, source_gap=12, destination_gap=27),
    "a gigantic row between its edges": lambda: own(
        0, 1, (9 << 28) + 41, 1, source_shift=3, destination_shift=3
    ),
}


def step_of(size: Size) -> Step:
    """The step whose metadata a case copies."""
    accepted = tuple(1 + (request * 7 + size.batch) % DRAFT_TOKENS for request in range(size.batch))
    return Step(
        MODES[size.mode],
        size.batch,
        size.columns,
        draft_tokens=DRAFT_TOKENS,
        accepted=accepted,
        real_page_columns=-(-size.columns // PAGE) if size.real_pages else None,
        flashmla_parts=FLASHMLA_PARTS if size.flashmla else None,
    )


def _metadata(size: Size) -> Batch:
    """Sources have the step's sizes. Captured tensors are larger: more requests, wider tables."""

    def field_batch(field: Field, captured: str) -> Batch:
        source = f"step_{field.name}"
        columns, rows, skip = field.columns, field.rows, field.skip
        if rows is None:
            length = skip + columns
            copy = OneCopy(Side(source, skip, columns), Side(captured, skip, columns), 1, columns)
            shapes: tuple[tuple[int, ...], ...] = ((max(length, 1),), (length + size.spare,))
        else:
            width = columns + (size.wider if field.name != "flashmla_tiles" else 0)
            copy = OneCopy(Side(source, 0, columns), Side(captured, 0, width), rows, columns)
            shapes = ((max(rows, 1), max(columns, 1)), (rows + size.spare, max(width, 1)))
        return Batch((copy,), {source: (shapes[0], 4), captured: (shapes[1], 4)})

    sets = [""] if size.sets == 1 else [f"_{number}" for number in range(size.sets)]
    fields = step_fields(step_of(size))
    whole = together(*(field_batch(field, field.name + which) for which in sets for field in fields))
    first = size.chunk * MOST_COPIES
    copies = whole.copies[first : first + MOST_COPIES]
    named = {side.buffer for copy in copies for side in (copy.source, copy.destination)}
    return Batch(copies, {name: spec for name, spec in whole.buffers.items() if name in named})


def _drawn(size: Size) -> Batch:
    draw = random.Random(size.draw)
    parts = []
    most = draw.choice((8000, 8000, 8000, 40_000))
    for number in range(draw.randint(1, MOST_COPIES)):
        rows = draw.choice((1, 1, 1, 2, 3, 17, 64, 130))
        gap = draw.choice((0, 4, 7, 32, 61))
        parts.append(
            own(
                number,
                rows,
                draw.randint(1, most // rows),
                draw.choice((1, 2, 4, 4, 4, 8)),
                source_gap=draw.choice((0, 0, 1, 4, 16)),
                source_shift=draw.choice((0, 0, 0, 1, 2, 4)),
                destination_gap=gap,
                destination_shift=min(gap, draw.choice((0, 0, 0, 1, 3, 4))),
            )
        )
    return together(*parts)


def _dense(size: Size) -> Batch:
    return together(*(own(number, 1, size.elements) for number in range(size.copies)))


def _wide(size: Size) -> Batch:
    return together(
        *(own(number, size.rows, size.columns, destination_gap=size.gap) for number in range(size.copies))
    )


_BUILD: dict[int, Callable[[Size], Batch]] = {
    Family.METADATA: _metadata,
    Family.LISTED: lambda size: LISTED[tuple(LISTED)[size.number]](),
    Family.DRAWN: _drawn,
    Family.DENSE: _dense,
    Family.WIDE: _wide,
}


def batch_of(size: Size) -> Batch:
    return _built(tuple(sorted(vars(size).items())))


@functools.lru_cache(maxsize=64)
def _built(sizes: tuple[tuple[str, int], ...]) -> Batch:
    size = Size(**dict(sizes))
    return _BUILD[size.family](size)


def _in_words(batch: Batch) -> str:
    """What is copied, of a few copies."""
    said = [f"{copy.rows:,} × {copy.columns:,} elements of {copy.element_size} B" for copy in batch.copies]
    more = f", and {len(said) - _SAID} more" if len(said) > _SAID else ""
    return f"copies: {', '.join(said[:_SAID])}{more}"


_metadata_case = cases_with(
    _WORDS,
    family=Family.METADATA,
    mode=0,
    batch=0,
    columns=0,
    real_pages=0,
    flashmla=0,
    wider=1024,
    spare=3,
    sets=1,
    chunk=0,
)


def metadata(mode: Mode, batch: int, columns: int, *, name: str = "", **sizes: int) -> Case:
    """The copies of a step into tensors captured for `spare` more requests, with tables `wider` by so many
    columns. With three `sets`, `chunk` selects the first or the second sixteen copies."""
    name = name or f"{mode.value}, {batch:,} × {columns:,}"
    return _metadata_case(name, mode=MODES.index(mode), batch=batch, columns=columns, **sizes)


def _with_words(made: Case) -> Case:
    return dataclasses.replace(made, shape=_in_words(batch_of(made.size)))


def listed(name: str, gpu_only: bool = False) -> Case:
    return _with_words(case(name, gpu_only=gpu_only, family=Family.LISTED, number=tuple(LISTED).index(name)))


def drawn(name: str, draw: int) -> Case:
    return _with_words(case(name, family=Family.DRAWN, draw=draw))


def dense(copies: int, elements: int, gpu_only: bool = False) -> Case:
    made = case(
        f"{copies} dense copies of {elements:,}",
        gpu_only=gpu_only,
        family=Family.DENSE,
        copies=copies,
        elements=elements,
    )
    return _with_words(made)


def wide(copies: int, rows: int, columns: int, gap: int, gpu_only: bool = False) -> Case:
    made = case(
        f"{copies} tables, {rows:,} × {columns:,} into rows of {columns + gap:,}",
        gpu_only=gpu_only,
        family=Family.WIDE,
        copies=copies,
        rows=rows,
        columns=columns,
        gap=gap,
    )
    return _with_words(made)
