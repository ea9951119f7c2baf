"""Which findings follow from others, so that reports show the cause first.

One mistake makes several findings: a missing barrier makes races at every line that reads, uninitialised
reads and refilled stages. What follows from what is a table: by kind of mistake, and by what links the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from common.virtual_gpu.finding import BETWEEN, Finding

Mistakes = frozenset[str]
# Whether two findings that the table allows belong together: of (cause, effect).
Link = Callable[[Finding, Finding], bool]


@dataclass(frozen=True)
class Cause:
    """A finding, and those that follow from it."""

    finding: Finding
    effects: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Explains:
    """Findings of `causes` explain those of `effects` that `link` joins to them; with `later`, only those
    that were first seen after them."""

    causes: Mistakes
    effects: Mistakes
    link: Link
    later: bool = False


def anywhere(cause: Finding, effect: Finding) -> bool:
    """In the same kernel; or the host met what a kernel left."""
    return not effect.kernel or not cause.kernel or _function(cause) == _function(effect)


def share_a_line(cause: Finding, effect: Finding) -> bool:
    return bool(_lines(cause) & _lines(effect))


def same_lines(cause: Finding, effect: Finding) -> bool:
    """The same two accesses, which may have changed sides."""
    return _lines(cause) == _lines(effect)


def same_advice(cause: Finding, effect: Finding) -> bool:
    """One wait or commit that is missing shows at every line that uses what was copied."""
    return anywhere(cause, effect) and cause.advice != "" and cause.advice == effect.advice


def same_index(cause: Finding, effect: Finding) -> bool:
    """The same line, array or thread: most often one wrong index that is used several times."""
    same_memory = cause.allocation != "" and cause.allocation == effect.allocation
    same_thread = cause.block is not None and (cause.block, cause.thread) == (effect.block, effect.thread)
    return anywhere(cause, effect) and (share_a_line(cause, effect) or same_memory or same_thread)


def _set(*names: str) -> Mistakes:
    return frozenset(names)


WRAPPED = _set("WrappedOffset")
ADDRESSES = _set(
    "UseAfterFree",
    "GraphMemoryTooEarly",
    "NullPointer",
    "WildAddress",
    "OutOfBounds",
    "Misaligned",
    "SharedOutOfBounds",
    "LocalOutOfBounds",
)
REFUSED_COPY = _set("BulkOperand")
BARRIERS = _set("BarrierAfterExit", "DifferentBarriers", "BarrierOperands")
MASKS = _set("MaskLeavesCallerOut", "MaskNamesAbsentLanes", "ShuffleFromAbsentLane", "MatrixOnPartialWarp")
OWN_COPY = _set("UseOfOwnCopy")
OTHERS_COPY = _set("UseOfOtherCopy")
UNORDERED_COPY = _set("UseOfUnorderedCopy")
EARLY = OWN_COPY | OTHERS_COPY | UNORDERED_COPY
REFILLS = _set("CopyOverRead", "CopyOverWrite")
RACES = _set("RaceWithWrite", "RaceWithRead", "LanesCollide", "RaceBetweenBlocks")
UNWRITTEN = _set("UnwrittenShared", "UnwrittenLocal", "UnwrittenGlobal", "UnwrittenTransfer")
HANGS = _set("Hang", "TimeLimit")
OVER_NEIGHBOUR = _set("BulkOverNeighbour")
EARLY_BULK = _set("UseOfBulkLoad")
# The stronger come first: a finding is explained only by a stronger one, or by one as strong that is wider (a
# barrier for all warps orders the lanes of one, too) or earlier.
STRENGTH = (
    WRAPPED,
    ADDRESSES,
    REFUSED_COPY,
    BARRIERS,
    MASKS,
    OWN_COPY,
    OTHERS_COPY,
    UNORDERED_COPY,
    REFILLS,
    OVER_NEIGHBOUR,
    EARLY_BULK,
    RACES,
    UNWRITTEN,
    HANGS,
)
TABLE = (
    # An offset that wrapped lands anywhere, and nothing that is read there is right.
    Explains(WRAPPED, WRAPPED | ADDRESSES | UNWRITTEN, anywhere),
    Explains(ADDRESSES, ADDRESSES, same_index),
    # The access was left out: what it should have written stays unwritten.
    Explains(ADDRESSES, UNWRITTEN, anywhere, later=True),
    # The bytes of a copy that is not possible never arrive.
    Explains(REFUSED_COPY, UNWRITTEN | HANGS, anywhere, later=True),
    # A barrier that threads miss orders nothing, and lanes that are missing once are missing again.
    Explains(BARRIERS, BARRIERS | MASKS | EARLY | REFILLS | RACES | UNWRITTEN | HANGS, anywhere, later=True),
    Explains(MASKS, MASKS | HANGS, anywhere, later=True),
    # A thread that does not wait for its own copies does not wait for those of others.
    Explains(OWN_COPY, EARLY | REFILLS | RACES, share_a_line),
    Explains(OWN_COPY | OTHERS_COPY, OWN_COPY | OTHERS_COPY, same_advice),
    Explains(OTHERS_COPY, OTHERS_COPY | UNORDERED_COPY | REFILLS | RACES, share_a_line),
    # The barrier after a wait also keeps the next copies out of the stage that is read.
    Explains(UNORDERED_COPY, UNORDERED_COPY, share_a_line),
    Explains(UNORDERED_COPY, REFILLS, same_lines),
    Explains(REFILLS, REFILLS | RACES, share_a_line),
    Explains(RACES, RACES, share_a_line),
    # What another thread has not written yet is read too early.
    Explains(EARLY | REFILLS | RACES, UNWRITTEN, share_a_line),
    Explains(RACES, HANGS, anywhere, later=True),
    # A neighbour finds the copy of a later round in its stage, and misses the end of its own.
    Explains(OVER_NEIGHBOUR, EARLY_BULK, share_a_line),
    Explains(OVER_NEIGHBOUR, HANGS, anywhere, later=True),
)


def by_cause(findings: Sequence[Finding]) -> list[Cause]:
    """The causes, each with what follows from it, in the order in which one of these was first seen.
    `findings` are in that order, as a report has them."""
    effects: dict[int, list[int]] = {}
    for number, cause in enumerate(follows_from(findings)):
        found = effects.setdefault(number if cause is None else cause, [])
        if cause is not None:
            found.append(number)
    return [Cause(findings[one], tuple(findings[n] for n in found)) for one, found in effects.items()]


def follows_from(findings: Sequence[Finding]) -> list[int | None]:
    """For each finding the number of its cause; None for a cause."""
    order = sorted(range(len(findings)), key=lambda number: (*_strength(findings[number]), number))
    causes: list[int | None] = [None] * len(findings)
    for place, number in enumerate(order):
        found = (other for other in order[:place] if _explains(findings, other, number))
        if (cause := next(found, None)) is not None:
            first = causes[cause]
            causes[number] = cause if first is None else first
    return causes


def _explains(findings: Sequence[Finding], cause: int, effect: int) -> bool:
    one, other = findings[cause], findings[effect]
    return any(
        one.mistake in row.causes
        and other.mistake in row.effects
        and (cause < effect or not row.later)
        and row.link(one, other)
        for row in TABLE
    )


def _strength(finding: Finding) -> tuple[int, int]:
    """The lower, the stronger. What the table does not know is explained by nothing."""
    return next((place for place, group in enumerate(STRENGTH) if finding.mistake in group), 0), width(
        finding
    )


def width(finding: Finding) -> int:
    """0 is the widest race. What is no race is as wide as any."""
    return BETWEEN.index(finding.between) if finding.between in BETWEEN else 0


def _lines(finding: Finding) -> frozenset[tuple[str, int]]:
    sides = (side[0] for side in (finding.place, finding.other) if side)
    return frozenset((place.file, place.line) for place in sides)


def _function(finding: Finding) -> str:
    """The kernel's name without the arguments of its template and its parameters."""
    name = finding.kernel.replace("(anonymous namespace)::", "")
    return name.partition("(")[0].partition("<")[0]
