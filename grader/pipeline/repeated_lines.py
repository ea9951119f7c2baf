"""What a submission printed, without repeated lines: every call of every case prints the same again."""

from __future__ import annotations

from collections import Counter

from grader.words import numbers


def without_repeats(text: str) -> str:
    """Each line once, in order of first appearance, with its count; a last line counts what was left out."""
    lines = text.splitlines()
    times = Counter(lines)
    left_out = len(lines) - len(times)
    if left_out == 0:
        return text
    kept = [
        line if count == 1 or not line.strip() else f"{line}  [{count:,} times]"
        for line, count in times.items()
    ]
    again = numbers.counted(left_out, "line that repeats another is", "lines that repeat others are")
    return "\n".join([*kept, f"[{again} left out: the kernel is called several times for every case]"]) + "\n"
