"""Quantising and packing of heads, in torch: what the kernels of exercise 04 must equal bit for bit.

A head of a token, keys and values apart, has one scale. Codes are the quantised values with half the range
added, so that they are never negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.serving.arguments import ArgumentError, require_tensor
from common.serving.bucketed.checks import described, require_float_type, require_floats, whole
from common.serving.bucketed.widths import require_width

if TYPE_CHECKING:
    import torch

# Eight codes fill as many bytes as a code has bits, at every width: the unit of packing.
CODES_A_WORD = 8
# By width: a type with a byte for each code of the fewest bytes that hold whole codes, and their number.
_UNITS = {2: ("int32", 1), 3: ("int64", 3), 4: ("int16", 1)}
SMALLEST_HALF, LARGEST_HALF = 2.0**-24, 65504.0


def row_bytes(bits: int, head_dim: int) -> int:
    """Bytes of one packed head."""
    require_width("bits", bits)
    _require_whole_words("head_dim", head_dim)
    return head_dim // CODES_A_WORD * bits


def quantize(
    x: torch.Tensor, bits: int, scale_dtype: torch.dtype | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes (uint8, x's shape) and scales (float32 or float16, without the last dimension).

    The arithmetic is float32, and float64 when x is: the scale is rounded to its own type before it divides.
    """
    import torch

    require_floats("x", x)
    require_width("bits", bits)
    scale_dtype = require_scale_dtype(scale_dtype)
    half_range = 1 << (bits - 1)
    exact = x if x.dtype == torch.float64 else x.to(torch.float32)
    scales = _fractions_of_largest(exact, half_range - 1)
    if scale_dtype == torch.float16:  # neither 0 nor infinity, whatever comes
        scales = scales.clamp(SMALLEST_HALF, LARGEST_HALF)
    scales = scales.to(scale_dtype)
    quantized = torch.round(exact / scales.to(exact.dtype).unsqueeze(-1))
    codes = quantized.clamp_(-half_range, half_range - 1) + half_range
    return codes.to(torch.uint8), scales


def pack(codes: torch.Tensor, bits: int) -> torch.Tensor:
    """Codes [..., head_dim] as bytes [..., row_bytes], element 0 in the lowest bits."""
    import torch

    require_width("bits", bits)
    _require_bytes("codes", codes)
    _require_whole_words("the last dimension of codes", codes.shape[-1])
    if bits == 8:
        return codes
    grouped = codes.unflatten(-1, (-1, CODES_A_WORD))
    words = torch.zeros(grouped.shape[:-1], dtype=torch.int32, device=codes.device)  # for 4 bits at most
    for place in range(CODES_A_WORD):
        words |= grouped[..., place].to(torch.int32) << (bits * place)
    return torch.stack([(words >> (8 * byte) & 0xFF).to(torch.uint8) for byte in range(bits)], -1).flatten(-2)


def unpack(packed: torch.Tensor, bits: int) -> torch.Tensor:
    """Codes [..., head_dim] of bytes [..., row_bytes]."""
    import torch

    require_width("bits", bits)
    _require_bytes("packed", packed)
    if packed.shape[-1] % bits:
        raise ArgumentError(
            f"packed has rows of {packed.shape[-1]} bytes, but {bits}-bit rows are multiples of {bits} bytes"
        )
    if bits == 8:
        return packed
    name, together = _UNITS[bits]
    kind = getattr(torch, name)
    grouped = packed.unflatten(-1, (-1, together))
    words = grouped[..., 0].to(kind, memory_format=torch.contiguous_format)
    for byte in range(1, together):
        words |= grouped[..., byte].to(kind) << (8 * byte)
    # Eight codes side by side become two lanes of four, then four of two, then a byte for each.
    codes = kind.itemsize
    while codes > 1:
        codes //= 2
        lane = (1 << (codes * bits)) - 1
        words |= words << (codes * (8 - bits))
        words &= sum(lane << start for start in range(0, 8 * kind.itemsize, 8 * codes))
    return words.view(torch.uint8)


def quantize_and_pack(
    x: torch.Tensor, bits: int, scale_dtype: torch.dtype | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Packed rows and scales of heads [..., head_dim]."""
    codes, scales = quantize(x, bits, scale_dtype)
    return pack(codes, bits), scales


def dequantize(
    packed: torch.Tensor, scales: torch.Tensor, bits: int, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """Heads [..., head_dim] of packed rows: the product in float32 (in float64, exact), rounded to dtype."""
    import torch

    dtype = require_float_type("dtype", dtype)
    codes = unpack(packed, bits)
    require_tensor("scales", scales)
    if scales.shape != packed.shape[:-1]:
        raise ArgumentError(
            f"scales has shape {list(scales.shape)}, but packed {list(packed.shape)}: each row has one scale"
        )
    exact = torch.float64 if dtype == torch.float64 else torch.float32
    # In bytes, which wrap: as floats there would be four or eight times as much to subtract from.
    quantized = codes.sub(1 << (bits - 1)).view(torch.int8).to(exact)
    return quantized.mul_(scales.to(exact).unsqueeze(-1)).to(dtype)


def requantize(
    packed: torch.Tensor, scales: torch.Tensor, from_bits: int, to_bits: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Packed rows and scales at another width, by way of the float32 values."""
    return quantize_and_pack(dequantize(packed, scales, from_bits), to_bits, scales.dtype)


def require_scale_dtype(dtype: torch.dtype | None) -> torch.dtype:
    """The type scales are kept in; None is the usual one, float32."""
    import torch

    if dtype is None:
        return torch.float32
    if not isinstance(dtype, torch.dtype) or dtype not in (torch.float32, torch.float16):
        raise ArgumentError(f"scale_dtype is {described(dtype)}, but must be torch.float32 or torch.float16")
    return dtype


def split_query(queries: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Planes high and low (int8) and scales (float32) with q ≈ (256 · high + low) · scale, for each head."""
    import torch

    require_floats("queries", queries)
    exact = queries.to(torch.float32)
    scales = _fractions_of_largest(exact, 127 * 256)
    levels = torch.round(exact / scales.unsqueeze(-1)).to(torch.int32)
    high = (levels + 128) >> 8  # a shift rounds down, as is wanted
    low = levels - (high << 8)
    return high.to(torch.int8), low.to(torch.int8), scales


def joined_query(
    high: torch.Tensor, low: torch.Tensor | None, scales: torch.Tensor, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """The query that planes stand for. Without the low plane: what one plane alone keeps of it."""
    import torch

    dtype = require_float_type("dtype", dtype)
    exact = torch.float64 if dtype == torch.float64 else torch.float32
    joined = high.to(exact) * 256
    if low is not None:
        joined += low.to(exact)
    return (joined * scales.to(exact).unsqueeze(-1)).to(dtype)


def _fractions_of_largest(x: torch.Tensor, parts: int) -> torch.Tensor:
    """max|x| / parts over the last dimension, and 1 where that is 0."""
    import torch

    largest = x.abs().amax(-1)
    # On CUDA, torch divides by a Python number by multiplying with its reciprocal, which rounds differently:
    # the divisor must be a tensor of the device.
    fractions = largest / torch.full((), parts, dtype=x.dtype, device=x.device)
    return torch.where(fractions == 0, torch.ones_like(fractions), fractions)


def _require_whole_words(name: str, length: int) -> None:
    length = whole(name, length, None)
    if length <= 0 or length % CODES_A_WORD:
        raise ArgumentError(f"{name} is {length}, but must be a positive multiple of {CODES_A_WORD}")


def _require_bytes(name: str, tensor: torch.Tensor) -> None:
    import torch

    require_tensor(name, tensor)
    if tensor.dtype != torch.uint8:
        raise ArgumentError(f"{name} is {tensor.dtype}, but must be torch.uint8")
    if tensor.ndim == 0:
        raise ArgumentError(f"{name} has shape [], but must be [..., elements of a head]")
