"""Figures inside a notebook's answer: drawn by matplotlib without touching the notebook's own plots."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

from common.core.errors import CourseError
from grader.render.pages.markup import Markup, tag

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 144
# A dollar sign in a name must not start a formula.
STYLE = {"text.parse_math": False, "font.size": 9, "axes.titlesize": 10, "axes.spines.top": False}


def new_figure(width: float, height: float) -> Figure:
    """Inches. Not by pyplot: that would change the notebook's backend and keep every figure."""
    try:
        from matplotlib.figure import Figure as Made
    except ImportError as problem:
        raise CourseError(
            "a plot needs matplotlib, which is not installed here: pip install matplotlib"
        ) from problem
    return Made(figsize=(width, height), layout="constrained")


def styled() -> Any:
    """A context in which a figure is drawn in the course's style."""
    import matplotlib

    return matplotlib.rc_context({**STYLE, "axes.spines.right": False})


def picture(figure: Figure, caption: str) -> Markup:
    """On white in both themes."""
    drawn = io.BytesIO()
    with styled():
        figure.savefig(drawn, format="png", dpi=_DPI, facecolor="white")
    data = base64.b64encode(drawn.getvalue()).decode()
    width = int(figure.get_figwidth() * 96)
    image = tag("img", src=f"data:image/png;base64,{data}", alt=caption, width=width)
    return tag("figure", image, tag("figcaption", caption))
