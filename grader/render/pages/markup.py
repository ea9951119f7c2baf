"""Builds HTML and SVG; plain strings are always escaped."""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Iterable

from grader.words.text import harmless

_VOID = frozenset({"meta", "br", "hr", "img", "line", "rect", "circle", "path", "polyline"})
_NAME = re.compile(r"[a-z][a-z0-9]*")


class Markup(str):
    """Text that is markup already. Only `tag` and `joined` make it."""

    __slots__ = ()


Child = str | Markup | None


def escaped(text: str) -> Markup:
    return Markup(html.escape(harmless(text), quote=True))


def tag(element: str, *children: Child, **attributes: str | int | float) -> Markup:
    """An element. `class_` is for class, an underscore inside a name stands for a hyphen."""
    inside = joined(children)
    opening = _opening(element, *((name, str(value)) for name, value in attributes.items()))
    if element in _VOID and not inside:
        return Markup(opening + ("/>" if element not in ("meta", "br", "hr", "img") else ">"))
    return Markup(f"{opening}>{inside}</{element}>")


@functools.lru_cache(maxsize=1024)  # tables repeat the same few
def _opening(element: str, *attributes: tuple[str, str]) -> str:
    assert _NAME.fullmatch(element), element
    pairs = (
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(harmless(value), quote=True)}"'
        for name, value in attributes
    )
    return f"<{element}{''.join(pairs)}"


def joined(children: Iterable[Child]) -> Markup:
    return Markup(
        "".join(child if isinstance(child, Markup) else escaped(child) for child in children if child)
    )


def table(columns: Iterable[str], rows: Iterable[Iterable[Child]]) -> Markup:
    """A column named with ">" holds numbers."""
    names = list(columns)
    kinds = ["number" if name.startswith(">") else "words" for name in names]
    head = tag(
        "tr", *(tag("th", name.removeprefix(">"), class_=k) for name, k in zip(names, kinds, strict=True))
    )
    body = [
        tag("tr", *(tag("td", cell or "", class_=kind) for cell, kind in zip(row, kinds, strict=True)))
        for row in rows
    ]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="wide")


def page(title: str, *body: Child) -> Markup:
    """A whole page that loads nothing: the policy is a second defence behind escaping."""
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(_STYLE)),
    )
    return Markup("<!doctype html>\n" + tag("html", head, tag("body", tag("main", *body)), lang="en") + "\n")


_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1e; --paper: #ffffff; --soft: #f3f3f5; --line: #d5d5da;
  --faint: #6c6c72; --good: #1a7f37; --bad: #c62828; --doubt: #9a6700; --bar: #3b6fb6; --base: #9aa4b2;
  --heat: 214, 69, 34; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e9; --paper: #17181a; --soft: #212327;
  --line: #3a3d43; --faint: #9b9ba3; --good: #56c271; --bad: #ff7b72; --doubt: #d9a53a; --bar: #7aa7e8;
  --base: #6b7482; --heat: 240, 110, 70; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { font-weight: 600; color: var(--faint); }
.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: var(--soft); padding: .8rem; overflow-x: auto; font-size: 13px; line-height: 1.4;
  white-space: pre-wrap; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; } .doubt { color: var(--doubt); }
.faint { color: var(--faint); } a { color: var(--bar); }
.source { font: 13px/1.45 ui-monospace, monospace; } .source td { border: 0; padding: 0 .7rem 0 0; }
.source .code { white-space: pre; }
.source .note { white-space: normal; color: var(--faint); font-size: 12px; }
.source .found { color: var(--bad); } figure { margin: 1rem 0; } figcaption { color: var(--faint); }
svg { max-width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg .axis { stroke: var(--line); } svg .target { stroke: var(--doubt); stroke-dasharray: 5 4; }
svg .bar { fill: var(--bar); stroke: var(--bar); } svg .base { fill: var(--base); stroke: var(--base); }
svg .trace { fill: none; stroke-width: 2; }
"""
