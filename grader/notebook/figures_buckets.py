"""Figures of a cache in buckets: which token has which width, how elements become bytes, what that saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from grader.notebook.views.display import Display
from grader.notebook.views.pictures import (
    EMPTY,
    INK,
    SEPARATOR,
    ink_on,
    label_logarithms,
    new_figure,
    picture,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Mix = Mapping[int, float]  # bits -> share of the tokens

_WIDTHS = {2: "#fdd49e", 3: "#fdae6b", 4: "#e6693e", 8: "#a63603"}
_EDGE, _SCALES, _HALF = "#555555", "#6b6ecf", "#b0b0b0"
_ELEMENTS = ("#9ecae1", "#fdd0a2")  # neighbours differ
_BYTE = 8


def sequence_in_buckets(
    bits_of_slots: Sequence[int], capacity: int, entries: Mapping[int, Sequence[int]]
) -> Display:
    """Slots of a sequence by width, and below them the buckets, whose entries name their slots."""
    with styled():
        figure = new_figure(9.0, 3.0)
        axes = figure.subplots()
        axes.axis("off")
        for slot, bits in enumerate(bits_of_slots):
            _box(axes, slot, 5.4, _WIDTHS[bits], f"slot {slot}\n{bits} bits")
        for row, (bits, slots) in enumerate(sorted(entries.items())):
            y = 3.3 - 1.1 * row
            axes.text(-0.15, y + 0.45, f"{bits} bits", ha="right", va="center", fontsize=9)
            for place in range(capacity):
                used = place < len(slots)
                _box(
                    axes, place, y, _WIDTHS[bits] if used else EMPTY, f"slot {slots[place]}" if used else "·"
                )
        axes.text(0, 6.5, "the sequence: slots that masks and positions refer to", fontsize=8)
        axes.text(0, 4.4, "buckets of one head: what a kernel streams", fontsize=8)
        axes.set(xlim=(-1.0, max(len(bits_of_slots), capacity)), ylim=(-0.1, 6.9))
    caption = (
        "Each token has one entry in one bucket. Entries are in no order, because a removed one is replaced "
        "by the last: the array of slots beside them names their tokens. Grey places are unused."
    )
    return _shown(figure, caption)


def packed_bits(stored: Sequence[int], bits: int) -> Display:
    """Elements of a few bits in a row of bytes, the lowest bit first."""
    total = bits * len(stored)
    with styled():
        figure = new_figure(9.0, 1.7)
        axes = figure.subplots()
        axes.axis("off")
        for element, value in enumerate(stored):
            for place in range(bits):
                bit = bits * element + place
                _box(axes, bit, 0, _ELEMENTS[element % 2], str(value >> place & 1), width=1.0)
            middle = bits * element + bits / 2
            axes.text(middle, 1.15, f"[{element}] = {value}", ha="center", va="bottom", fontsize=7)
        packed = sum(value << bits * element for element, value in enumerate(stored))
        for byte in range(-(-total // _BYTE)):
            axes.plot([_BYTE * byte] * 2, [-0.45, 1.1], color=INK, linewidth=1.5)
            value = packed >> _BYTE * byte & 0xFF
            axes.text(
                _BYTE * (byte + 0.5), -0.2, f"byte {byte} = 0x{value:02X}", ha="center", va="top", fontsize=8
            )
        axes.plot([total] * 2, [-0.45, 1.1], color=INK, linewidth=1.5)
        axes.set(xlim=(-0.3, total + 0.3), ylim=(-0.9, 1.7))
    straddling = [i for i in range(len(stored)) if bits * i // _BYTE != (bits * (i + 1) - 1) // _BYTE]
    caption = (
        f"elements {', '.join(map(str, straddling))} lie in two bytes"
        if straddling
        else "none lies in two bytes"
    )
    return _shown(
        figure, f"{len(stored)} elements of {bits} bits, each with its lowest bit at the left: {caption}."
    )


def bytes_of_mixes(mixes: Mapping[str, Mix], head_dim: int, scale_bytes: int) -> Display:
    """Bytes of a head's key and value, payload and scales, averaged over the tokens of each mix."""
    with styled():
        figure = new_figure(9.0, 1.2 + 0.42 * len(mixes))
        axes = figure.subplots()
        half = 2 * 2 * head_dim
        for row, mix in enumerate(mixes.values()):
            at = 0.0
            for bits, share in sorted(mix.items()):
                size = share * 2 * head_dim * bits / 8
                axes.barh(row, size, left=at, color=_WIDTHS[bits], edgecolor=SEPARATOR)
                at += size
            scales = 2 * scale_bytes * sum(mix.values())
            axes.barh(row, scales, left=at, color=_SCALES, edgecolor=SEPARATOR)
            at += scales
            axes.text(at + 4, row, f"{at:.0f} bytes, {at / half:.2f} of FP16", va="center", fontsize=8)
        axes.barh(len(mixes), half, color=_HALF, edgecolor=SEPARATOR)
        axes.set_yticks(range(len(mixes) + 1), [*mixes, "FP16"])
        for bits, colour in _WIDTHS.items():
            axes.barh([0], [0], color=colour, label=f"{bits} bits")
        axes.barh([0], [0], color=_SCALES, label="scales")
        axes.invert_yaxis()
        axes.set(xlabel="bytes of a head, key and value, for each token", xlim=(0, half * 1.02))
        figure.legend(loc="outside upper center", ncols=5, fontsize=8, frameon=False)
    return _shown(figure, f"Bytes per token, heads of {head_dim}, scales of {scale_bytes} bytes.")


def errors_by_width(errors: Mapping[str, Mapping[int, float]]) -> Display:
    """Relative errors of an output, in percent, by width, one group of bars for each kind of sequence."""
    with styled():
        figure = new_figure(9.0, 2.8)
        axes = figure.subplots()
        step = 1 / (len(_WIDTHS) + 1)
        for group, found in enumerate(errors.values()):
            for place, (bits, error) in enumerate(sorted(found.items())):
                x = group + step * (place - len(found) / 2)
                axes.bar(x, error, width=step * 0.92, color=_WIDTHS[bits])
                caption = f"{error:.0f} %" if error >= 10 else f"{error:.2g} %"
                axes.text(x, error * 1.08, caption, ha="center", va="bottom", fontsize=7)
        for bits, colour in _WIDTHS.items():
            axes.bar([0], [0], color=colour, label=f"all in {bits} bits")
        highest = max(max(found.values()) for found in errors.values())
        axes.set_xticks([group - step / 2 for group in range(len(errors))], list(errors))
        axes.set(yscale="log", ylabel="error of the output, %", ylim=(None, highest * 4))
        label_logarithms(axes.yaxis)
        axes.yaxis.set_major_formatter("{x:g}")
        figure.legend(loc="outside upper center", ncols=4, fontsize=8, frameon=False)
    return _shown(
        figure,
        "Norm of the error over the norm of the row, against the same attention over exact keys and values.",
    )


def _box(axes: Any, x: float, y: float, colour: str, words: str, width: float = 0.9) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), width, 0.9, facecolor=colour, edgecolor=_EDGE, linewidth=0.6))
    ink = "white" if colour == _WIDTHS[8] else ink_on(colour)
    axes.text(x + width / 2, y + 0.45, words, ha="center", va="center", fontsize=7, color=ink)


def _shown(figure: Figure, caption: str) -> Display:
    return Display(caption, picture(figure, caption))
