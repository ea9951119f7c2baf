"""Plain text for terminals: tables, and untrusted text made harmless."""

from __future__ import annotations

import importlib.util
import io
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import Any

_TABS = 4
_WIDEST = 140
_RIGHT = ">"
_WHOLE = "~"  # a column of sentences: wrapped, never cut
_NARROWEST = 40
_LONGEST = 4000
_MOST_NAMES = 12


def harmless(text: str) -> str:
    """Text without control sequences: a submission's output must not control the terminal."""
    if text.replace("\n", " ").isprintable():  # nearly all text is: much faster than character by character
        return text
    kept = (char if char == "\n" or unicodedata.category(char)[0] != "C" else "�" for char in _untabbed(text))
    return "".join(kept)


def one_line(text: str, most: int = 200) -> str:
    """Harmless and short enough for a cell."""
    flat = " ".join(harmless(text).split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def cell(text: str) -> str:
    """For a spreadsheet: escaped where it would be read as a formula."""
    plain = one_line(text, 1000)
    return f"'{plain}" if plain[:1] in ("=", "+", "-", "@", "|", "%") else plain


def listed(names: Sequence[str]) -> str:
    """ "one", "one and two", "one, two and three"."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def first_of(names: Sequence[str]) -> str:
    """All of them, or a dozen and how many more there are."""
    if len(names) <= _MOST_NAMES:
        return listed(names)
    return listed([*names[:_MOST_NAMES], f"{len(names) - _MOST_NAMES:,} more"])


def _untabbed(text: str) -> str:
    return text.replace("\r\n", "\n").expandtabs(_TABS)


def width() -> int:
    return min(shutil.get_terminal_size((110, 24)).columns, _WIDEST)


def wrapped(text: str, indent: str = "") -> str:
    """Paragraphs at the terminal's width; lines that are broken on purpose stay broken."""
    lines = (
        textwrap.fill(line, width(), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        for line in harmless(text).splitlines()
    )
    return "\n".join(lines)


def table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", *, plain: bool = False
) -> str:
    """Aligned columns, drawn by rich on a terminal if it is installed. A column named with ">" is
    right-aligned; the last one, if named with "~", holds sentences, which are wrapped. `plain` is for text
    that does not go to a terminal."""
    most = [_LONGEST if column.startswith(_WHOLE) else 200 for column in columns]
    cells = [[one_line(cell, limit) for cell, limit in zip(row, most, strict=True)] for row in rows]
    if (
        not plain
        and sys.stdout.isatty()
        and "NO_COLOR" not in os.environ
        and importlib.util.find_spec("rich")
    ):
        return _rich_table(columns, cells, title)
    return _plain_table(columns, cells, title)


def _plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str) -> str:
    names = [column.lstrip(_RIGHT + _WHOLE) for column in columns]
    if columns[-1].startswith(_WHOLE):
        rows = _wrapped_rows(names, rows)
    widths = [max(len(row[index]) for row in [names, *rows]) for index in range(len(names))]

    def line(cells: Sequence[str]) -> str:
        aligned = (
            cell.rjust(wide) if column.startswith(_RIGHT) else cell.ljust(wide)
            for cell, wide, column in zip(cells, widths, columns, strict=True)
        )
        return "  ".join(aligned).rstrip()

    ruled = "  ".join("-" * wide for wide in widths)
    return "\n".join([*([title] if title else []), line(names), ruled, *(line(row) for row in rows)]) + "\n"


def _wrapped_rows(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Further lines of a last cell are rows without other cells."""
    before = sum(max(len(row[index]) for row in [names, *rows]) + 2 for index in range(len(names) - 1))
    room = max(_NARROWEST, width() - before)
    made: list[Sequence[str]] = []
    for *others, last in rows:
        first, *more = textwrap.wrap(last, room, break_on_hyphens=False) or [""]
        made.append([*others, first])
        made += [[*("" for _ in others), line] for line in more]
    return made


def _rich_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn: Any = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        right = column.startswith(_RIGHT)
        drawn.add_column(
            column.lstrip(_RIGHT + _WHOLE), justify="right" if right else "left", overflow="fold"
        )
    for row in rows:
        drawn.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))  # Text: no markup is read
    made = io.StringIO()
    Console(file=made, force_terminal=True, width=width()).print(drawn)
    return made.getvalue()


_STYLES = {
    "passed": "green",
    "met": "green",
    "full marks": "green",
    "failed": "bold red",
    "missed": "red",
    "undecided": "yellow",
}
