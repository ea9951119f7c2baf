"""Figures of buckets and of tiles say in their captions what they show, and each is a picture."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.notebook.figures_buckets import (
    bytes_of_mixes,
    errors_by_width,
    packed_bits,
    sequence_in_buckets,
)
from grader.notebook.figures_tiles import _schedule, piece_banks, pipelines, score_fragment, score_tiles
from grader.notebook.views.display import Display

pytest.importorskip("matplotlib")

# Drawn by the tests: whoever only collects them need not wait.
FIGURES: dict[str, tuple[Callable[[], Display], str]] = {
    "buckets": (lambda: sequence_in_buckets([8, 2, 2], 4, {2: [2, 1], 8: [0]}), "one entry in one bucket"),
    "3 bits": (lambda: packed_bits([7, 3, 4, 6, 1, 4, 5, 2], 3), "elements 2, 5 lie in two bytes"),
    "4 bits": (lambda: packed_bits([7, 3, 4, 6], 4), "none lies in two bytes"),
    "mixes": (lambda: bytes_of_mixes({"INT8": {8: 1.0}}, 128, 4), "scales of 4 bytes"),
    "errors": (lambda: errors_by_width({"flat": {2: 80.0, 8: 1.0}}), "norm of the row"),
    "tiles": (lambda: score_tiles(512, 64, 32, block=3, now=6), "8 × 16 tiles."),
    "causal": (lambda: score_tiles(512, 64, 32, block=3, now=6, causal=True), "72 of them are made"),
    "pipelines": (lambda: pipelines(8, 3, 4), "One buffer: 56 units"),
    "fragment": (lambda: score_fragment([0, 5]), "lane 4g + t"),
    "banks": (lambda: piece_banks(3), "piece 3"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_it_is_a_picture_with_a_caption(name: str):
    draw, words = FIGURES[name]
    figure = draw()
    assert words in repr(figure)
    assert "data:image/png;base64," in figure._repr_html_()


@pytest.mark.parametrize(("stages", "end"), [(1, 56), (2, 35), (3, 35)])
def test_with_a_second_place_only_the_first_copy_is_not_hidden(stages: int, end: float):
    _, works = _schedule(tiles=8, copy=3, work=4, stages=stages)
    assert works[-1] + 4 == end


def test_a_copy_that_takes_longer_than_the_work_sets_the_pace():
    copies, works = _schedule(tiles=4, copy=5, work=2, stages=2)
    assert copies == [0, 5, 10, 15]
    assert works == [5, 10, 15, 20]
