"""Mistakes with the fragments of the integer products, for heads of 128: what elements of the keys a score is
then made of. packed_rows.cuh says which word of a lane holds which element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_DIM = 128
KEYS = 16  # of a product
_UNITS = {2: 4, 3: 2, 4: 2, 8: 1}
# Word and byte of the 32 elements of a lane.
_PLACES: dict[int, Callable[[int], tuple[int, int]]] = {
    2: lambda x: (x % 4 * 2 + x // 16, x % 16 // 4),
    3: lambda x: (0x73261540 >> 4 * (x % 8) & 7, x // 8),
    4: lambda x: (x % 2 * 4 + x // 8, x % 8 // 2),
    8: lambda x: (x // 4, x % 4),
}


def _places(bits: int) -> list[tuple[int, int]]:
    return [_PLACES[bits](x) for x in range(32)]


def registers_exchanged(codes: torch.Tensor, bits: int) -> torch.Tensor:
    """a[1] and a[2] of A have changed places: of a key's elements half are those of the key eight further."""
    import torch

    if codes.shape[-1] != _DIM:
        return codes
    element_of = {place: x for x, place in enumerate(_places(bits))}
    partner = torch.tensor(
        [
            d // 32 * 32 + element_of[word ^ 1, byte]
            for d in range(_DIM)
            for word, byte in [_places(bits)[d % 32]]
        ]
    )
    odd = torch.tensor([_places(bits)[d % 32][0] % 2 == 1 for d in range(_DIM)])
    key = torch.arange(codes.shape[-2])
    other = codes[..., key ^ KEYS // 2, :][..., partner]
    taken = odd[None] == (key % KEYS < KEYS // 2)[:, None]
    return other.where(taken, codes)


def _unit_factors(bits: int, exponent: Callable[[int, int], int]) -> torch.Tensor:
    import torch

    units = _UNITS[bits]
    words = [_places(bits)[d % 32][0] for d in range(_DIM)]
    return torch.tensor([2.0 ** (bits * exponent(word * units // 8, units - 1)) for word in words])


def units_as_they_are(codes: torch.Tensor, bits: int) -> torch.Tensor:
    """Products of all units are added up, though elements of unit u are 2^(bits u) times too large."""
    return _weighted(codes, bits, lambda unit, last: unit - last)


def units_in_reverse(codes: torch.Tensor, bits: int) -> torch.Tensor:
    """The products of the last unit are shifted most, those of the first least."""
    return _weighted(codes, bits, lambda unit, last: 2 * unit - last)


def _weighted(codes: torch.Tensor, bits: int, exponent: Callable[[int, int], int]) -> torch.Tensor:
    if codes.shape[-1] != _DIM or _UNITS[bits] == 1:
        return codes
    return codes * _unit_factors(bits, exponent)
