"""Pictures are for light pages and for dark ones: the page shows through, and words on it can be read."""

from __future__ import annotations

import base64
import io
import re

import pytest

from grader.notebook.figures import (
    copies_by_size,
    launches_in_time,
    scattered_pages,
    warp_banks,
    warp_sectors,
    wide_table,
)
from grader.notebook.views.display import Display
from grader.notebook.views.pictures import INK, label_logarithms, new_figure, styled
from tests.grader.notebook.test_figures_of_tiles_and_buckets import FIGURES

pytest.importorskip("matplotlib")

OTHERS = {
    "pages": lambda: scattered_pages([2, 0], 4),
    "table": lambda: wide_table(2, 3, 3, 5),
    "copies": lambda: copies_by_size({"one": 4, "other": 4096}),
    "sectors": lambda: warp_sectors([1, 8]),
    "banks of a warp": lambda: warp_banks([1, 32]),
    "nothing ran": lambda: launches_in_time({"yours": Display("could not run")}),
}
EVERY = {name: draw for name, (draw, _) in FIGURES.items()} | OTHERS
LIGHT_PAGE, DARK_PAGE = 1.0, 0x11 / 255
LEAST_CONTRAST = 4.0


def pixels(figure: Display):
    """RGBA of the picture, [height, width, 4], from 0 to 1."""
    from matplotlib.image import imread

    found = re.search(r'data:image/png;base64,([^"]+)', figure._repr_html_())
    assert found is not None
    return imread(io.BytesIO(base64.b64decode(found[1])), format="png")


@pytest.mark.parametrize("name", EVERY)
def test_a_picture_has_no_background_and_no_white_panel(name: str):
    shown = pixels(EVERY[name]())
    assert all(shown[y, x, 3] == 0 for y in (0, -1) for x in (0, -1))
    opaque = shown[..., 3] > 0.9
    assert (opaque & (shown[..., :3] > 0.97).all(axis=-1)).mean() < 0.01
    assert opaque.mean() < 0.9


def luminance(grey: float) -> float:
    return grey / 12.92 if grey <= 0.04045 else ((grey + 0.055) / 1.055) ** 2.4


@pytest.mark.parametrize("page", [LIGHT_PAGE, DARK_PAGE])
def test_the_ink_can_be_read_on_both_themes(page: float):
    ink = int(INK[1:3], 16) / 255
    low, high = sorted((luminance(ink), luminance(page)))
    assert (high + 0.05) / (low + 0.05) > LEAST_CONTRAST


@pytest.mark.parametrize("limits", [(3, 8), (0.4, 30), (1, 2.2)])
def test_a_logarithmic_axis_has_more_than_one_label(limits: tuple[float, float]):
    with styled():
        axes = new_figure(4, 2).subplots()
        axes.set(xscale="log", xlim=limits)
        label_logarithms(axes.xaxis)
        inside = [tick for tick in axes.get_xticks() if limits[0] <= tick <= limits[1]]
    assert len(inside) > 1
