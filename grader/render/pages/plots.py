"""Plots as inline SVG, without a library, so that a page is self-contained."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from grader.records.record import Speed, SpeedCase
from grader.render.pages.markup import Markup, joined, tag
from grader.words import numbers

_ROW = 26
_LEFT, _RIGHT, _TOP, _BOTTOM = 220, 90, 16, 40
_WIDTH, _HEIGHT = 760, 320
_SERIES = (("submission", "bar"), ("baseline", "base"))


@dataclass(frozen=True)
class _Axis:
    """From values to pixels, linear or by powers of ten."""

    low: float
    high: float
    start: float
    end: float
    powers: bool = False

    def at(self, value: float) -> float:
        low, high, here = self.low, self.high, value
        if self.powers:
            low, high, here = math.log10(low), math.log10(high), math.log10(value)
        share = (here - low) / (high - low) if high > low else 0.5
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)


def speedups(speed: Speed) -> Markup | None:
    """One bar per case with its interval, and the targets as lines."""
    cases = [case for case in speed.over_baseline if math.isfinite(case.ratio)]
    if not cases:
        return None
    targets = sorted({value for t in speed.targets[:1] for value in (t.passing, t.full)})
    most = max([1.0, *targets, *(max(case.ratio, case.high) for case in cases)]) * 1.05
    across = _Axis(0.0, most, _LEFT, _WIDTH - _RIGHT)
    bottom = _TOP + _ROW * len(cases)
    parts = [_guide(across.at(1.0), bottom, "1.00", "axis")]
    parts += [_guide(across.at(value), bottom, f"{value:.2f}", "target") for value in targets]
    parts += [_speedup_row(case, across, _TOP + _ROW * index) for index, case in enumerate(cases)]
    label = "modelled" if speed.modelled else "measured"
    what = "the model's margin" if speed.modelled else "the 95 % interval"
    caption = (
        f"Speedup over the baseline, {label}, with {what}; dashed: the target's pass mark and full marks."
    )
    return _figure(parts, _WIDTH, bottom + _BOTTOM, caption)


def _speedup_row(case: SpeedCase, across: _Axis, top: float) -> Markup:
    middle = top + _ROW / 2
    low, high = across.at(max(case.low, 0.0)), across.at(max(case.high, 0.0))
    return joined(
        (
            tag("text", case.name[:34], x=_LEFT - 8, y=_px(middle + 4), text_anchor="end"),
            tag(
                "rect",
                x=_LEFT,
                y=_px(top + 5),
                width=_px(across.at(max(case.ratio, 0.0)) - _LEFT),
                height=_ROW - 10,
                class_="bar",
                fill_opacity="0.55",
            ),
            tag(
                "line",
                x1=_px(low),
                x2=_px(high),
                y1=_px(middle),
                y2=_px(middle),
                class_="bar",
                stroke_width=2,
            ),
            tag("text", numbers.ratio(case.ratio), x=_WIDTH - _RIGHT + 8, y=_px(middle + 4)),
        )
    )


def bandwidths(speed: Speed) -> Markup | None:
    """Effective bandwidth over the bytes moved, submission and baseline, and what a plain copy reaches."""
    cases = sorted(
        (case for case in speed.over_baseline if case.bytes > 0 and case.seconds > 0), key=lambda c: c.bytes
    )
    if len(cases) < 2 or cases[0].bytes == cases[-1].bytes:
        return None
    rates = {
        "submission": [(case.bytes, case.bytes / case.seconds) for case in cases],
        "baseline": [(c.bytes, c.bytes / c.baseline_seconds) for c in cases if c.baseline_seconds > 0],
    }
    most = max([speed.copy_bandwidth, *(rate for line in rates.values() for _, rate in line)]) * 1.05
    across = _Axis(cases[0].bytes, cases[-1].bytes, 80, _WIDTH - 120, powers=True)
    upward = _Axis(0.0, most, _HEIGHT - _BOTTOM, _TOP)
    parts = _frame(across, upward, [case.bytes for case in cases], most)
    if speed.copy_bandwidth:
        parts.append(_level(upward.at(speed.copy_bandwidth), "plain copy"))
    for index, (name, kind) in enumerate(_SERIES):
        parts.append(_trace([(across.at(x), upward.at(y)) for x, y in rates[name]], kind))
        parts.append(_key(name, kind, _TOP + 10 + 18 * index))
    label = "modelled" if speed.modelled else "measured"
    return _figure(
        parts, _WIDTH, _HEIGHT, f"Effective bandwidth over bytes moved (read and written), {label}."
    )


def _frame(across: _Axis, upward: _Axis, marks: Sequence[int], most: float) -> list[Markup]:
    left, right, bottom = across.start, across.end, upward.start
    parts = [tag("line", x1=_px(left), x2=_px(right), y1=_px(bottom), y2=_px(bottom), class_="axis")]
    for step in range(5):
        rate = most * step / 4
        y = upward.at(rate)
        parts.append(tag("line", x1=_px(left), x2=_px(right), y1=_px(y), y2=_px(y), class_="axis"))
        text = numbers.bandwidth(rate) if rate else "0"
        parts.append(tag("text", text, x=_px(left - 6), y=_px(y + 4), text_anchor="end"))
    last = -math.inf
    for value in marks:
        x = across.at(value)
        if x - last >= 60:  # labels that would overlap are left out
            parts.append(tag("text", numbers.size(value), x=_px(x), y=_px(bottom + 18), text_anchor="middle"))
            last = x
    return parts


def _trace(points: Sequence[tuple[float, float]], kind: str) -> Markup:
    path = " ".join(f"{_px(x)},{_px(y)}" for x, y in points)
    dots = (tag("circle", cx=_px(x), cy=_px(y), r=3, class_=kind) for x, y in points)
    return joined((tag("polyline", points=path, class_=f"{kind} trace", fill="none"), *dots))


def _key(name: str, kind: str, y: float) -> Markup:
    x = _WIDTH - 105
    mark = tag("line", x1=x, x2=x + 18, y1=_px(y), y2=_px(y), class_=kind, stroke_width=2)
    return joined((mark, tag("text", name, x=x + 24, y=_px(y + 4))))


def _level(y: float, name: str) -> Markup:
    line = tag("line", x1=80, x2=_WIDTH - 120, y1=_px(y), y2=_px(y), class_="target")
    return joined((line, tag("text", name, x=_WIDTH - 116, y=_px(y + 4))))


def _guide(x: float, bottom: float, text: str, kind: str) -> Markup:
    line = tag("line", x1=_px(x), x2=_px(x), y1=_TOP, y2=_px(bottom), class_=kind)
    return joined((line, tag("text", text, x=_px(x), y=_px(bottom + 18), text_anchor="middle")))


def _figure(parts: Sequence[Markup], width: float, height: float, caption: str) -> Markup:
    drawing = tag("svg", *parts, viewBox=f"0 0 {width} {height}", width=width, height=height, role="img")
    return tag("figure", drawing, tag("figcaption", caption))


def _px(value: float) -> str:
    return f"{value:.1f}"
