"""Common mistakes in quantising and packing: each function leaves the result of a kernel with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from common.serving.bucketed.quantizing import (
    LARGEST_HALF,
    SMALLEST_HALF,
    pack,
    quantize,
    quantize_and_pack,
    unpack,
)
from grader.spec import Buffers, Size

from .layout import ARRAYS, name_of, scale_type
from .shapes import widths
from .tokens import move, source_heads, store

if TYPE_CHECKING:
    import torch

Change = Callable[[Size, Buffers], None]
# Heads [..., head_dim], their codes and scales, and the bits of a code: other codes and scales.
Quantising = Callable[
    ["torch.Tensor", "torch.Tensor", "torch.Tensor", int], "tuple[torch.Tensor, torch.Tensor]"
]
# Packed rows, their scales and the bits of an element: the elements, as a kernel reads them.
Reading = Callable[["torch.Tensor", "torch.Tensor", int], "torch.Tensor"]


def quantised_otherwise(change: Quantising) -> Change:
    def mistake(size: Size, buffers: Buffers) -> None:
        placed = buffers["places"].long()
        store(size, buffers)
        for number, bits in enumerate(widths(size)):
            mine = (placed[:, 0] == number).nonzero().flatten()
            sequence, entry = placed[mine, 1], placed[mine, 2]
            for what, of_scales in (("keys", "key_scales"), ("values", "value_scales")):
                heads = source_heads(size, buffers[what])[mine].float()
                codes, scales = change(heads, *quantize(heads, bits, scale_type(size)), bits)
                buffers[name_of(what, bits)][sequence, :, entry] = pack(codes, bits)
                buffers[name_of(of_scales, bits)][sequence, :, entry] = scales

    return mistake


def levels_by(rounded: Callable[[torch.Tensor], torch.Tensor]) -> Quantising:
    def change(
        heads: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor, bits: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        half_range = 1 << (bits - 1)
        levels = rounded(heads / scales.float().unsqueeze(-1)).clamp(-half_range, half_range - 1)
        return (levels + half_range).to(codes.dtype), scales

    return change


def by_the_inverse(
    heads: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor, bits: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Elements are multiplied by 1 / scale, which is rounded, instead of divided by the scale."""
    half_range = 1 << (bits - 1)
    levels = (heads * (1 / scales.float()).unsqueeze(-1)).round().clamp(-half_range, half_range - 1)
    return (levels + half_range).to(codes.dtype), scales


def away_from_zero(x: torch.Tensor) -> torch.Tensor:
    return x.sign() * (x.abs() + 0.5).floor()


def range_of_all_codes(
    heads: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor, bits: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """max / 2^(bits - 1), so that the largest element has no level."""
    half_range = 1 << (bits - 1)
    largest = heads.abs().amax(-1) / half_range
    other = largest.where(largest > 0, 1.0).to(scales.dtype)
    return levels_by(lambda x: x.round())(heads, codes, other, bits)[0], other


def reversed_in_bytes(
    heads: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor, bits: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Element 0 in the highest bits of its byte, or of its three."""
    together = 8 if bits == 3 else 8 // bits
    return codes.unflatten(-1, (-1, together)).flip(-1).flatten(-2), scales


def without_offset(
    heads: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor, bits: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The lowest bits of the level as it is, in two's complement."""
    return codes ^ (1 << (bits - 1)), scales


def four_bits_apart(
    heads: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor, bits: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Of eight elements of 3 bits, what is left in 3 bytes."""
    import torch

    if bits != 3:
        return codes, scales
    eights = codes.unflatten(-1, (-1, 8)).long()
    words = sum(eights[..., i] << (4 * i) for i in range(8))
    found = [(words >> (3 * i) & 7).to(codes.dtype) for i in range(8)]
    return torch.stack(found, -1).flatten(-2), scales


def largest_among(group_of: Callable[[torch.Tensor], torch.Tensor]) -> Quantising:
    """Shuffles among too few lanes: each group of elements has its own scale. Group 0's is stored."""

    def change(
        heads: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor, bits: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        groups = group_of(torch.arange(heads.shape[-1], device=heads.device))
        found, stored = codes.clone(), scales
        for group in groups.unique().tolist():
            mine = groups == group
            found[..., mine], own = quantize(heads[..., mine], bits, scales.dtype)
            stored = own if group == 0 else stored
        return found, stored

    return change


def largest_of_some(taken: Callable[[torch.Tensor], torch.Tensor]) -> Quantising:
    """The largest of these elements gives the scale of all."""

    def change(
        heads: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor, bits: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        mine = taken(torch.arange(heads.shape[-1], device=heads.device))
        other = quantize(heads[..., mine], bits, scales.dtype)[1]
        return levels_by(lambda x: x.round())(heads, codes, other, bits)[0], other

    return change


def not_clamped(
    heads: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor, bits: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """A code of 2^bits is 0, and sets the lowest bit of the next of eight elements."""
    import torch

    half_range = 1 << (bits - 1)
    levels = torch.round(heads / scales.float().unsqueeze(-1)).clamp(-half_range, half_range)
    eights = (levels + half_range).long().unflatten(-1, (-1, 8))
    over = eights >> bits
    eights = eights & ((1 << bits) - 1)
    eights[..., 1:] |= over[..., :-1]
    return eights.flatten(-2).to(codes.dtype), scales


def shifted_in_32_bits(
    heads: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor, bits: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """At 8 bits the last four of eight elements are copies of the sign of the first four, as one word."""
    if bits != 8:
        return codes, scales
    eights = codes.unflatten(-1, (-1, 8)).clone()
    eights[..., 4:] = (eights[..., 3:4] >= 128) * 255
    return eights.flatten(-2), scales


def largest_of_two_heads(
    heads: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor, bits: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Shuffles among twice the lanes: neighbouring heads have one scale."""
    if heads.shape[1] % 2:
        return codes, scales
    pairs = heads.unflatten(1, (-1, 2)).transpose(2, 3).flatten(3)
    found, shared = quantize(pairs.flatten(2), bits, scales.dtype)
    found = found.unflatten(-1, (heads.shape[-1], 2)).transpose(2, 3).flatten(1, 2)
    return found, shared.repeat_interleave(2, 1)


def rounded_after_the_division(least: float) -> Quantising:
    """Elements are divided by the scale in fp32, `least` or more, and only what is stored is rounded."""

    def change(
        heads: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor, bits: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        exact = quantize(heads, bits, torch.float32)[1].clamp(least, LARGEST_HALF)
        half_range = 1 << (bits - 1)
        levels = torch.round(heads / exact.unsqueeze(-1)).clamp(-half_range, half_range - 1)
        return (levels + half_range).to(codes.dtype), exact.to(scales.dtype)

    return change


def zeros_as(code: Callable[[int], int], scale: float) -> Quantising:
    """Heads of zeros, which others have a scale of 1 for, come out like this."""

    def change(
        heads: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor, bits: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        zeros = (heads == 0).all(-1)
        return codes.masked_fill(zeros.unsqueeze(-1), code(bits)), scales.masked_fill(zeros, scale)

    return change


def without(*arrays: str) -> Change:
    """These arrays of all buckets are left as they were."""

    def mistake(size: Size, buffers: Buffers) -> None:
        kept = [name_of(array, bits) for array in arrays for bits in widths(size)]
        before = {name: buffers[name].clone() for name in kept}
        (store if "places" in buffers else move)(size, buffers)
        for name, values in before.items():
            buffers[name].copy_(values)

    return mistake


def read_otherwise(values: Reading) -> Change:
    """Moves of elements that are read like this."""

    def mistake(size: Size, buffers: Buffers) -> None:
        moved = buffers["moves"].long()
        arrays = (("keys", "key_scales"), ("values", "value_scales"))
        names = [name_of(array, bits) for pair in arrays for array in pair for bits in widths(size)]
        before = {name: buffers[name].clone() for name in names}
        move(size, buffers)
        for source, from_bits in enumerate(widths(size)):
            for target, to_bits in enumerate(widths(size)):
                mine = moved[(moved[:, 1] == source) & (moved[:, 3] == target)]
                at, to = (mine[:, 0], slice(None), mine[:, 2]), (mine[:, 0], slice(None), mine[:, 4])
                for what, of_scales in arrays:
                    scales = before[name_of(of_scales, from_bits)][at].float().unsqueeze(-1)
                    heads = values(before[name_of(what, from_bits)][at], scales, from_bits)
                    packed, new = quantize_and_pack(heads, to_bits, scale_type(size))
                    buffers[name_of(what, to_bits)][to] = packed
                    buffers[name_of(of_scales, to_bits)][to] = new

    return mistake


def _levels(packed: torch.Tensor, bits: int) -> torch.Tensor:
    return unpack(packed, bits).float() - (1 << (bits - 1))


def _flipped(row: torch.Tensor, count: int) -> torch.Tensor:
    """Every `count` neighbours in reverse order."""
    return row.unflatten(-1, (-1, count)).flip(-1).flatten(-2)


def _signed(packed: torch.Tensor, scales: torch.Tensor, bits: int) -> torch.Tensor:
    codes, half_range = unpack(packed, bits).float(), 1 << (bits - 1)
    return (codes - 2 * half_range * (codes >= half_range) - half_range) * scales


def _level_0(bits: int) -> int:
    return 1 << (bits - 1)


def neighbours(count: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Groups of so many elements that lie together."""
    return lambda place: place // count


def every_other(count: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Two groups: lanes of so many elements, the even and the odd ones."""
    return lambda place: place // count % 2


STORING: dict[str, Change] = {
    "halves are rounded away from zero, not to the even level": quantised_otherwise(
        levels_by(away_from_zero)
    ),
    "elements are multiplied by 1 / scale, which is rounded: divide by the scale": quantised_otherwise(
        by_the_inverse
    ),
    "levels are cut off, not rounded": quantised_otherwise(levels_by(lambda x: x.trunc())),
    "levels are rounded down": quantised_otherwise(levels_by(lambda x: x.floor())),
    "the scale is max / 2^(bits - 1), not max / (2^(bits - 1) - 1)": quantised_otherwise(range_of_all_codes),
    "element 0 is in the highest bits of its byte, not in the lowest": quantised_otherwise(reversed_in_bytes),
    "the offset 2^(bits - 1) is not added to the levels": quantised_otherwise(without_offset),
    "elements of 3 bits are packed 4 bits apart: eight of them are 3 bytes": quantised_otherwise(
        four_bits_apart
    ),
    **{
        f"the largest element is looked for among {count} neighbours, not in the whole head: shuffle among "
        "all lanes that share it": quantised_otherwise(largest_among(neighbours(count)))
        for count in (4, 8, 16, 32, 64, 128)
    },
    **{
        f"the largest element is looked for in every other lane, of {count} elements each: the shuffle with "
        "the next lane is missing": quantised_otherwise(largest_among(every_other(count)))
        for count in (4, 8, 16)
    },
    "the second eight of a lane's elements are left out of the largest": quantised_otherwise(
        largest_of_some(lambda place: place % 16 < 8)
    ),
    "a head of zeros has a scale of 0, not of 1": quantised_otherwise(zeros_as(_level_0, 0.0)),
    "a head of zeros has a scale of 0, not of 1, and 0 / 0 is no level": quantised_otherwise(
        zeros_as(lambda bits: 0, 0.0)
    ),
    "a head of zeros has the smallest scale there is, not 1": quantised_otherwise(
        zeros_as(_level_0, SMALLEST_HALF)
    ),
    "levels are not kept below 2^(bits - 1): one more, and the next element changes": quantised_otherwise(
        not_clamped
    ),
    "the shift of an element has 32 bits: eight elements of 8 bits need 64": quantised_otherwise(
        shifted_in_32_bits
    ),
    "the largest element is looked for in two heads: shuffle only among the lanes of one": (
        quantised_otherwise(largest_of_two_heads)
    ),
    **{
        f"elements are divided by a scale that is not rounded to half precision yet{more}": (
            quantised_otherwise(rounded_after_the_division(least))
        )
        for more, least in {"": SMALLEST_HALF, ", and may be rounded to 0": 0.0}.items()
    },
    **{f"{array} are not written": without(array) for array in ARRAYS},
}
MOVING: dict[str, Change] = {
    "the offset 2^(bits - 1) of stored elements is not subtracted": read_otherwise(
        lambda packed, scales, bits: unpack(packed, bits).float() * scales
    ),
    "stored elements are read as signed numbers, but are never negative": read_otherwise(_signed),
    "the scales are not multiplied with": read_otherwise(lambda packed, scales, bits: _levels(packed, bits)),
    "the bytes of eight elements are read in reverse order: the first has the lowest bits": read_otherwise(
        lambda packed, scales, bits: _levels(_flipped(packed, bits), bits) * scales
    ),
    "eight elements are read in reverse order: the first is in the lowest bits": read_otherwise(
        lambda packed, scales, bits: _flipped(_levels(packed, bits), 8) * scales
    ),
    "elements are rounded to FP16 before they are quantised again": read_otherwise(
        lambda packed, scales, bits: (_levels(packed, bits) * scales).half().float()
    ),
    **{f"{array} are not written": without(array) for array in ARRAYS},
}
