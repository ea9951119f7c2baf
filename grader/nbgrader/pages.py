"""Markdown in formgrader and in feedback, without links that run something: nbconvert lets them pass."""

from __future__ import annotations

from typing import Any

from jinja2 import pass_context
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath


@pass_context
def markdown2html(context: Any, source: str) -> str:
    """As nbconvert's filter of that name. HTML of a student's is disarmed before, by RestoreCells."""
    attachments = context.get("cell", {}).get("attachments", {})
    renderer = IPythonRenderer(escape=False, allow_harmful_protocols=False, attachments=attachments)
    return str(MarkdownWithMath(renderer=renderer).render(source))
