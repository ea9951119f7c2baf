"""Renders students' Markdown in formgrader and in feedback: without links that run code, complete if a
picture is missing, and in limited time. nbconvert itself guarantees none of the three."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import unquote

from jinja2 import pass_context
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from grader.nbgrader.showing.maths import block_formula, inline_formula
from grader.render.pages.markup import tag

_ELSEWHERE = re.compile(r"https?://|mailto:|#", re.IGNORECASE)
_NOWHERE = "#harmful-link"
_ATTACHMENT = "attachment:"
_INSIDE = "data:image/"  # of the page itself
# For each of these, the renderer searches the rest of the text for an end.
_MATH_BEGINS = re.compile(r"\\begin\{|\\\\[(\[]|\$")
_DRAWN, _MOST_FORMULAS = "drawn_formulas", 500
_MOST_LOOKS = 20_000_000  # characters searched: about half a second


@pass_context
def markdown2html(context: Any, source: str) -> str:
    """Replaces nbconvert's filter of that name. RestoreCells has disarmed a student's HTML before."""
    if len(source) * len(_MATH_BEGINS.findall(source)) > _MOST_LOOKS:
        return tag("pre", source)
    attachments = context.get("cell", {}).get("attachments", {})
    renderer = _Renderer(escape=False, allow_harmful_protocols=False, attachments=attachments)
    renderer.page = context.get("resources") or {}
    return str(MarkdownWithMath(renderer=renderer).render(source))


class _Renderer(IPythonRenderer):
    page: MutableMapping[str, Any]

    def inline_math(self, body: str) -> str:
        return inline_formula(body) if self._may_draw() else tag("code", body)

    def block_math(self, body: str) -> str:
        return block_formula(body) if self._may_draw() else tag("pre", body)

    def _may_draw(self) -> bool:
        """The first formulas of a page: each takes some milliseconds."""
        self.page[_DRAWN] = self.page.get(_DRAWN, 0) + 1
        return bool(self.page[_DRAWN] <= _MOST_FORMULAS)

    def latex_environment(self, name: str, body: str) -> str:
        return tag("pre", f"\\begin{{{name}}}{body}\\end{{{name}}}")

    def multiline_math(self, text: str) -> str:
        return tag("pre", text)

    def link(self, text: str, url: str, title: str | None = None) -> str:
        """formgrader would open a file beside the notebook as its own page, with its reader's rights."""
        return str(super().link(text, url if _ELSEWHERE.match(url) else _NOWHERE, title))

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """nbconvert stops at a missing picture, and the student would get no feedback. One on another machine
        would tell its owner who reads the page, and when."""
        if url.startswith(_ATTACHMENT):
            name = url.removeprefix(_ATTACHMENT)
            name = name if name in self.attachments else unquote(name)
            if name not in self.attachments:
                return tag("em", f"(the picture {name} was not handed in, or is of a kind that is not shown)")
            url = _ATTACHMENT + name
        elif not url.startswith(_INSIDE):
            return tag("em", f"(a picture elsewhere is not shown: {url})")
        return str(super().image(text, url, title))
