"""Common mistakes in quantising and packing: each function leaves the result of a kernel with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from common.serving.bucketed.quantizing import SMALLEST_HALF, pack, quantize
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
    "a head of zeros has a scale of 0, not of 1": quantised_otherwise(zeros_as(_level_0, 0.0)),
    "a head of zeros has a scale of 0, not of 1, and 0 / 0 is no level": quantised_otherwise(
        zeros_as(lambda bits: 0, 0.0)
    ),
    "a head of zeros has the smallest scale there is, not 1": quantised_otherwise(
        zeros_as(_level_0, SMALLEST_HALF)
    ),
    **{f"{array} are not written": without(array) for array in ARRAYS},
}
MOVING: dict[str, Change] = {f"{array} are not written": without(array) for array in ARRAYS}
