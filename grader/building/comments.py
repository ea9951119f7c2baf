"""Comments in C++, distinguished from text that only looks like one."""

from __future__ import annotations

import re

# Comments, and what a comment may be mistaken for. Linear in the text: nothing is tried twice.
TOKEN = re.compile(
    r"""
      (?P<comment> /\*.*?(?:\*/|\Z) | //[^\n]* )
    | (?P<text> "(?:\\[^\n]|[^"\\\n])*+"? | '(?:\\[^\n]|[^'\\\n])*+'? )
    | \.?[0-9](?:'?[\w.]|[eEpP][+-])*  # 1'000'000 holds no character literal
    | \w+
    | .
    """,
    re.DOTALL | re.VERBOSE,
)


def without_comments(text: str) -> str:
    """The text with blanks in place of comments, even of those that span lines. Positions do not change."""
    return TOKEN.sub(lambda token: " " * len(token[0]) if token["comment"] else token[0], text)
