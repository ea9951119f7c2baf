"""Figures inside a notebook's answer: drawn by matplotlib without touching the notebook's own plots."""

from __future__ import annotations

import base64
import io
import math
from typing import TYPE_CHECKING, Any

from common.core.errors import CourseError
from grader.render.pages.markup import Markup, tag

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 144
# A picture has no background, so these are readable on a light page and on a dark one.
INK = "#777777"  # what is not on a tile: a contrast over 4 on white and on JupyterLab's darkest
EMPTY = "#80808024"  # tiles that mean nothing: the page shows through
SEPARATOR = "#8080808c"  # between bars that touch
# A dollar sign in a name must not start a formula.
STYLE = {
    "text.parse_math": False,
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.facecolor": "none",
    "legend.labelcolor": INK,
    **dict.fromkeys(
        (
            "text.color",
            "axes.labelcolor",
            "axes.titlecolor",
            "axes.edgecolor",
            "xtick.color",
            "ytick.color",
            "grid.color",
        ),
        INK,
    ),
}


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


def ink_on(tile: str) -> str:
    """The colour of words on a tile of this colour."""
    return INK if tile == EMPTY else "black"


def label_logarithms(axis: Any) -> None:
    """On an axis with fewer than two powers of ten, 2 and 5 times these have labels too."""
    from matplotlib.ticker import LogLocator

    low, high = (math.log10(end) for end in sorted(axis.get_view_interval()))
    if math.floor(high) - math.ceil(low) < 1:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))


def picture(figure: Figure, caption: str) -> Markup:
    """Without a background: the page's own shows."""
    drawn = io.BytesIO()
    with styled():
        figure.savefig(drawn, format="png", dpi=_DPI, transparent=True)
    data = base64.b64encode(drawn.getvalue()).decode()
    width = int(figure.get_figwidth() * 96)
    image = tag("img", src=f"data:image/png;base64,{data}", alt=caption, width=width)
    return tag("figure", image, tag("figcaption", caption))
