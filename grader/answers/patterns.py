"""Which elements of a row are wrong, in a few words: from one place on, or the same ones of every sixteen. A
fragment of a matrix product that is read in another order shows like this, and a tile that is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_FEWEST = 8  # elements: of fewer, nearly any mask has a pattern
_PERIODS = (2, 4, 8, 16, 32, 64, 128)
# A wrong element may be right by chance. None of the others may be wrong.
_WRONG_SHARE = 0.8
_MOST_LISTED = 4


def pattern(wrong: torch.Tensor) -> str:
    """Such as "those from 64 on" or "those whose index % 16 is 8 to 15"; empty where nothing is so simple, or
    everything is wrong."""
    count = wrong.numel()
    if count < _FEWEST or not bool(wrong.any()):
        return ""
    return _one_range(wrong) or next(
        (found for period in _PERIODS if 2 * period <= count if (found := _periodic(wrong, period))), ""
    )


def _one_range(wrong: torch.Tensor) -> str:
    places = wrong.nonzero().flatten()
    first, last, count = int(places[0]), int(places[-1]), wrong.numel()
    inside = last - first + 1
    # What is right by chance at an end looks like a range, too: an eighth must be right outside.
    if places.numel() < _WRONG_SHARE * inside or 8 * (count - inside) < count:
        return ""
    if first == last:
        return f"the one at {first}"
    if last == count - 1:
        return f"those from {first:,} on"
    return f"the first {last + 1:,}" if first == 0 else f"those from {first:,} to {last:,}"


def _periodic(wrong: torch.Tensor, period: int) -> str:
    whole = wrong.numel() // period * period
    shares = wrong[:whole].reshape(-1, period).double().mean(dim=0)
    bad = [place for place, share in enumerate(shares.tolist()) if share > 0]
    clear = all(shares[place] >= _WRONG_SHARE for place in bad)
    tail_fits = {place % period for place in range(whole, wrong.numel()) if bool(wrong[place])} <= {*bad}
    if not clear or not tail_fits or not 0 < len(bad) < period:
        return ""
    if bad == [*range(bad[0], bad[-1] + 1)]:
        return f"those whose index % {period} is {_range_text(bad)}"
    return f"those whose index % {period} is {', '.join(map(str, bad))}" if len(bad) <= _MOST_LISTED else ""


def _range_text(places: list[int]) -> str:
    return str(places[0]) if len(places) == 1 else f"{places[0]} to {places[-1]}"
