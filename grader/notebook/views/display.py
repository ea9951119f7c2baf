"""The base of every result in a notebook: HTML there, text at a terminal, both limited in size.

Nothing is loaded and nothing is run: markup comes from grader.render.pages.markup, which escapes all text.
Colours follow JupyterLab's theme.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from grader.render.pages.markup import Child, Markup, joined, tag
from grader.words.text import harmless

T = TypeVar("T")

MOST_HTML = 1 << 20
MOST_TEXT = 1 << 16
_VALIDATING = "NBGRADER_VALIDATING"  # set by nbgrader
_MOST_CODE = 160  # characters of a line of source


class Display:
    """A result. It is shown when it is the last value of a cell, or by IPython's display()."""

    def __init__(self, text: str, *body: Child) -> None:
        self._text = cut(text.rstrip("\n"), MOST_TEXT)
        self._body = body

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        html = _framed(self._body)
        if len(html) <= MOST_HTML:
            return str(html)
        note = tag("p", "This is too large for a notebook; here is the short form.", class_="faint")
        return str(_framed((note, tag("pre", self._text))))


class Earning(Display):
    """A result that earns `points`. nbgrader's Validate reads a number as a cell's points and any other text
    as full marks: it gets the number, so that an untouched starter does not pass."""

    points = 0.0

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        plain = f"{self.points:g}" if _VALIDATING in os.environ else repr(self)
        return {"text/plain": plain, "text/html": self._repr_html_()}


def sentence(text: str, kind: type[Display] = Display) -> Display:
    """Shows an error as a sentence without a traceback."""
    text = cut(harmless(text), 8000)
    head, _, rest = text.partition("\n")
    return kind(text, tag("p", head, class_="bad"), tag("pre", rest) if rest.strip() else None)


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + " …"


def limited(items: Sequence[T], show: Callable[[T], Markup], most: int, noun: str) -> Markup | None:
    """The first `most` of them, and how many more there are; nothing for none."""
    rest = len(items) - most
    more = tag("p", f"and {rest:,} more {noun}", class_="faint") if rest > 0 else None
    return joined((*map(show, items[:most]), more)) or None


def heading(text: str) -> Markup:
    return tag("h4", text)


def excerpt(source: str, line: int, around: int = 2) -> Markup | None:
    """A few lines of source with one of them marked; nothing where there is no such line."""
    lines = source.split("\n")
    if not 1 <= line <= len(lines):
        return None
    rows = []
    for number in range(max(1, line - around), min(len(lines), line + around) + 1):
        marked = number == line
        code = f"{'▶' if marked else ' '}{number:>5}  {cut(lines[number - 1].expandtabs(4), _MOST_CODE)}\n"
        rows.append(tag("span", code, class_="marked" if marked else "code"))
    return tag("pre", *rows)


def code_cell(line: str) -> str:
    return cut(line.expandtabs(4), _MOST_CODE)


def _framed(body: Iterable[Child]) -> Markup:
    return tag("div", tag("style", Markup(_STYLE)), *body, class_="course-lab")


# JupyterLab aligns every table to the right and stripes its rows, by rules that outweigh a class; an id
# outweighs them, though nothing has it.
_OURS = ":is(.course-lab, #course-lab)"

# Jupyter's own variables where there are any; the marks of good and bad are readable on both themes.
_STYLE = """
.course-lab { --good: #1a7f37; --bad: #c62828; --doubt: #9a6700; --heat: 214, 69, 34;
  --line: var(--jp-border-color2, #d5d5da); --faint: var(--jp-content-font-color2, #6c6c72);
  --soft: var(--jp-layout-color2, #f3f3f5); color: var(--jp-content-font-color1, inherit);
  font-size: 13px; line-height: 1.45; }
[data-jp-theme-light="false"] .course-lab { --good: #56c271; --bad: #ff7b72; --doubt: #d9a53a;
  --heat: 240, 110, 70; }
.course-lab h3 { font-size: 1.25em; margin: .2em 0 .3em; }
.course-lab h4 { font-size: 1em; font-weight: 600; margin: 1em 0 .3em; }
.course-lab p { margin: .2em 0; } .course-lab .good { color: var(--good); }
.course-lab .bad { color: var(--bad); font-weight: 600; } .course-lab .doubt { color: var(--doubt); }
.course-lab .faint { color: var(--faint); } .course-lab .wide { overflow-x: auto; margin-bottom: .5em; }
.course-lab table { border-collapse: collapse; margin: 0; font-size: 1em; }
.course-lab th, .course-lab td { text-align: left; vertical-align: top;
  padding: .2em .9em .2em 0; border-bottom: 1px solid var(--line); background: none; max-width: 60em;
  white-space: normal; }
.course-lab th { color: var(--faint); font-weight: 600; }
.course-lab th.number, .course-lab td.number { text-align: right;
  font-variant-numeric: tabular-nums; }
.course-lab pre { background: var(--soft); padding: .5em .7em; margin: .3em 0; overflow-x: auto;
  font-size: 12px; line-height: 1.4; white-space: pre-wrap; }
.course-lab .marked { background: rgba(var(--heat), .28); font-weight: 600; }
.course-lab .source td { border: 0; padding: 0 .8em 0 0;
  font: 12px/1.4 var(--jp-code-font-family, monospace); }
.course-lab .source th { padding: 0 .8em .2em 0; }
.course-lab .source td.code { white-space: pre-wrap; overflow-wrap: anywhere; }
.course-lab .bar { background: rgba(var(--heat), .55); height: .8em; min-width: 1px; }
.course-lab figure { margin: .6em 0; } .course-lab figcaption { color: var(--faint); max-width: 70em; }
.course-lab img { max-width: 100%; }
.course-lab summary { cursor: pointer; display: list-item; }
.course-lab tr { background: none; }
""".replace(".course-lab ", f"{_OURS} ")
