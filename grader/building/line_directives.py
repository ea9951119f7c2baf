"""Finds `#line` and `# 12 "file"` in a submission: they would move its findings to wrong places.

The preprocessor obeys a directive only at the start of a line, after its own translation: comments are
blanks, a backslash joins lines, `%:` is a `#`. The search does the same. Where it cannot separate text from
code (raw strings, lone carriage returns), whatever may be a directive counts as one.
"""

from __future__ import annotations

import re

from grader.building.comments import without_comments

_SPLICE = re.compile(r"\\[ \t\v\f]*(?:\r\n|\n|\r)")
_BLANK = r"[ \t\v\f\ufeff]*+"
# A comment may precede it or separate its two words: a # and a comment match, whatever follows.
_DIRECTIVE = re.compile(rf"(?:^|\*/){_BLANK}(?P<mark>#|%:){_BLANK}(?:line\b|\d|/\*)", re.MULTILINE)
_NEEDS_MORE_READING = re.compile(r'R"|\r(?!\n)')


def line_directive(text: str) -> int | None:
    """The number of the first line with such a directive."""
    spliced = _SPLICE.sub("", text)
    if not _DIRECTIVE.search(spliced.replace("\r", "\n")):
        return None  # nearly always: the slow search is not needed
    if not _NEEDS_MORE_READING.search(spliced):
        spliced = without_comments(spliced)
    found = _DIRECTIVE.search(spliced.replace("\r", "\n"))
    return None if found is None else _line_of(text, found.start("mark"))


def _line_of(text: str, place: int) -> int:
    """The line, in the file, of a place in the text without splices."""
    for splice in _SPLICE.finditer(text):
        if splice.start() > place:
            break
        place += len(splice[0])
    return len(re.findall(r"\r\n|\n|\r", text[:place])) + 1
