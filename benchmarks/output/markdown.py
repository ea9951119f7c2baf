"""Tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]], right_from: int = 1) -> str:
    """Columns from `right_from` on hold numbers and are aligned to the right."""
    rule = ["---" if column < right_from else "--:" for column in range(len(header))]
    return "".join("| " + " | ".join(row) + " |\n" for row in [header, rule, *rows])
