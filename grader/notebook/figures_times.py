"""Measured times of kernels beside those of a library, as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from common.virtual_gpu.profiles import DEFAULT_PROFILE, find_profile
from grader.notebook.views.display import Display
from grader.notebook.views.pictures import INK, new_figure, picture, styled
from grader.spec import registry
from grader.timing.modelled.baselines import measured_baseline

_COLOURS = ("#6baed6", "#e6693e", "#4bb8a9", "#c9a0dc", "#e6a817", "#9b30a6")


def times_beside(
    times: Mapping[str, Mapping[str, float]], exercise: str, yardstick: str, profile: str = DEFAULT_PROFILE
) -> Display:
    """Speed of kernels as a multiple of `yardstick`'s, from microseconds by kernel and bench case, measured
    on the card of a profile. The exercise's baseline is added where the course has its times on that card.
    """
    known = {name: dict(of) for name, of in times.items()}
    cases = list(known[yardstick])
    baseline = _baseline(exercise, cases, profile)
    if baseline:
        known["the baseline"] = baseline
    shown = [name for name in known if name != yardstick]
    with styled():
        figure = new_figure(9.0, 0.9 + 0.42 * len(cases))
        axes = figure.subplots()
        for number, name in enumerate(shown):
            found = [(row, case) for row, case in enumerate(cases) if case in known[name]]
            ratios = [known[yardstick][case] / known[name][case] for _, case in found]
            at = [row + 0.1 * (number - len(shown) / 2) for row, _ in found]
            axes.plot(ratios, at, "o", color=_COLOURS[number % len(_COLOURS)], markersize=5, label=name)
        axes.axvline(1.0, color=INK, linestyle="--", linewidth=1)
        axes.set_yticks(range(len(cases)), cases)
        axes.set(xlabel=f"speed, as a multiple of {yardstick}'s", xlim=(0, None))
        axes.invert_yaxis()
        axes.grid(axis="x", linewidth=0.4)
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    missing = len(cases) - len(baseline)
    note = f" The baseline was not measured at {missing} of {len(cases)} shapes." if missing else ""
    card = find_profile(profile).name
    caption = f"Measured on an {card}; to the right of the dashed line is faster than {yardstick}.{note}"
    return Display(caption, picture(figure, caption))


def _baseline(exercise: str, cases: Sequence[str], profile: str) -> dict[str, float]:
    """Microseconds, at those cases where it was measured."""
    found = registry.find(exercise)
    seconds = {
        name: measured_baseline(found, found.bench_case(name), found.protocol, profile) for name in cases
    }
    return {name: 1e6 * taken for name, taken in seconds.items() if taken is not None}
