"""Formulas in formgrader and in feedback, drawn here: pages fetch no program from elsewhere to show them.

matplotlib draws what it knows of TeX, which is what the notebooks use. Anything else stays as it was written.
"""

from __future__ import annotations

import base64
import functools
import importlib.util
import io

from grader.render.pages.markup import Markup, tag

# Replaces nbconvert's template of that name, which loads MathJax from a CDN.
NO_MATHJAX = {"mathjax.html.j2": '{%- macro mathjax(url="") -%}{%- endmacro -%}'}
_LONGEST = 400  # characters; the time to draw grows with them
_INCH_PIXELS = 96


def inline_formula(text: str) -> Markup:
    return _drawn(" ".join(text.split())) or tag("code", text)


def block_formula(text: str) -> Markup:
    drawn = _drawn(" ".join(text.split()))
    return tag("p", drawn, style="text-align: center") if drawn else tag("pre", text)


@functools.lru_cache(maxsize=1000)
def _drawn(text: str) -> Markup | None:
    """An image that carries its picture itself; None where matplotlib cannot draw it."""
    if not text or len(text) > _LONGEST or "$" in text or importlib.util.find_spec("matplotlib") is None:
        return None
    from matplotlib import mathtext

    picture = io.BytesIO()
    try:
        depth = mathtext.math_to_image(f"${text}$", picture, format="svg", dpi=72)
    except (ValueError, RuntimeError, RecursionError, ArithmeticError, LookupError):
        return None
    data = base64.b64encode(picture.getvalue()).decode()
    style = f"vertical-align: {-depth / 72 * _INCH_PIXELS:.1f}px; display: inline; margin: 0"
    return tag("img", src=f"data:image/svg+xml;base64,{data}", alt=text, style=style)
