"""Figures of rings, swizzles, overlap, causal work and times say in their captions what they show."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.notebook import figures_times
from grader.notebook.figures_hopper import (
    _dealt,
    _in_order,
    _in_turns,
    _key_tiles,
    _overlapped,
    _pairs,
    _ring,
    causal_work,
    overlaps,
    ring_phases,
    swizzled_pieces,
)
from grader.notebook.figures_times import times_beside
from grader.notebook.views.display import Display

pytest.importorskip("matplotlib")

CASE = "2 × 8 heads of 64, 512"
TIMES = {"cuDNN": {CASE: 9.6}, "mine": {CASE: 6.8}}
FIGURES: dict[str, tuple[Callable[[], Display], str]] = {
    "ring": (lambda: ring_phases(3, 8, 2, 3), "a ring of 3 stages"),
    "swizzle": (lambda: swizzled_pieces(3), "16-byte piece"),
    "overlap": (lambda: overlaps(4, 4, 3), "in order: 7.00; overlapped: 5.50; two, in turns: 4.38"),
    "causal": (lambda: causal_work(16, 4096, 64, 128, 264), "in order 62%, in pairs 97%"),
    "times": (lambda: times_beside(TIMES, "06", "cuDNN"), "faster than cuDNN"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_it_is_a_picture_with_a_caption(name: str):
    draw, words = FIGURES[name]
    figure = draw()
    assert words in repr(figure)
    assert "data:image/png;base64," in figure._repr_html_()


def test_a_copy_waits_for_its_stage_and_work_for_its_copy():
    ring = _ring(stages=2, tiles=5, copy=2, work=3)
    for tile, (copied, worked) in enumerate(ring):
        assert worked >= copied + 2
        assert tile < 2 or copied >= ring[tile - 2][1] + 3


def test_weights_hide_where_they_take_no_longer_than_products():
    """Beside a consumer that works in order, which takes both times for every tile."""
    assert sum(_in_order(10, 4, 3)[0][-1]) == 10 * 7
    assert sum(_overlapped(10, 4, 2)[0][-1]) == 2 + 2 + 9 * 4 + 2
    assert max(sum(bars[-1]) for bars, _ in _in_turns(10, 4, 3)) == 20 * 4
    assert max(sum(bars[-1]) for bars, _ in _in_turns(10, 3, 4)) > 20 * 3


def test_every_tile_is_dealt_once_and_pairs_are_as_much_work():
    assert sorted(tile for taken in _dealt(_pairs(7), 2, 3) for tile in taken) == sorted([*range(7)] * 2)
    assert _key_tiles(21, 4096, 192, 128) == 32  # the last tile of rows is not whole
    assert {sum(_key_tiles(tile, 512, 64, 64) for tile in pair) for pair in _pairs(8)} == {9}


def test_a_baseline_is_drawn_where_it_was_measured_and_named_as_missing_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(figures_times, "measured_baseline", lambda *_: None)
    assert "The baseline was not measured at 1 of 1 shapes." in repr(times_beside(TIMES, "06", "cuDNN"))
    monkeypatch.setattr(figures_times, "measured_baseline", lambda *_: 5e-5)
    assert "not measured" not in repr(times_beside(TIMES, "06", "cuDNN"))
