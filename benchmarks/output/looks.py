"""Colours and marks that the charts share: fit for colour-blind readers, with marks as a second cue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BLUE, ORANGE, GREEN, RED, PURPLE, SKY, GREY = (
    *("#0072B2", "#E69F00", "#009E73", "#C04F00", "#8E5C9E", "#56B4E9", "#777777"),
)


def per_cent_ticks(axis: Any) -> None:
    """Plain per cents on a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    axis.set_minor_formatter(NullFormatter())


def plain_ticks(axis: Any) -> None:
    """Plain numbers on a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def where(result: Mapping[str, Any]) -> str:
    """The device and driver on which the figures were measured."""
    driver = f", driver {result['driver']}" if result["driver"] else ""
    return f"{result['device']}{driver}"
