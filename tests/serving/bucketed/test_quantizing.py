"""Quantising and packing in torch against a model that takes one element, and one bit, at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from common.serving.arguments import ArgumentError
from common.serving.bucketed.quantizing import (
    dequantize,
    joined_query,
    pack,
    quantize,
    quantize_and_pack,
    requantize,
    row_bytes,
    split_query,
    unpack,
)
from common.serving.bucketed.widths import WIDTHS

quickly = settings(max_examples=80)
widths = st.sampled_from(WIDTHS)
scale_dtypes = st.sampled_from([torch.float32, torch.float16])
head_dims = st.integers(1, 32).map(lambda eighths: 8 * eighths)


@st.composite
def heads(draw: st.DrawFn) -> np.ndarray:
    """Any finite fp16 values, all bit patterns alike: subnormals, both zeros and the extremes."""
    data = draw(st.binary(min_size=2 * (head_dim := draw(head_dims)), max_size=2 * head_dim))
    values = np.frombuffer(data, dtype=np.float16).copy()
    values[~np.isfinite(values)] = draw(st.sampled_from([0.0, -0.0, 65504.0, -65504.0, 2.0**-24]))
    return values


def slow_quantize(values: np.ndarray, bits: int, scale_dtype: torch.dtype) -> tuple[list[int], float]:
    """By the definition. A float64 quotient of float32 numbers, rounded to float32, is the right one."""
    half_range = 1 << (bits - 1)
    largest = max(abs(float(value)) for value in values)
    scale = float(np.float32(largest / (half_range - 1))) or 1.0
    if scale_dtype is torch.float16:
        scale = float(np.float16(np.float32(min(max(scale, 2.0**-24), 65504.0))))
    codes = []
    for value in values:
        quotient = float(np.float32(float(value) / scale))
        codes.append(min(max(round(quotient), -half_range), half_range - 1) + half_range)
    return codes, scale


def slow_pack(codes: list[int], bits: int) -> list[int]:
    """Bit j of code i is bit `bits` · i + j of the row."""
    row = [0] * ((len(codes) * bits + 7) // 8)
    for number, code in enumerate(codes):
        for bit in range(bits):
            place = bits * number + bit
            row[place // 8] |= (code >> bit & 1) << (place % 8)
    return row


@quickly
@given(heads(), widths, scale_dtypes)
def test_codes_and_scales_are_the_definitions(values: np.ndarray, bits: int, scale_dtype: torch.dtype):
    codes, scale = quantize(torch.from_numpy(values), bits, scale_dtype)
    wanted_codes, wanted_scale = slow_quantize(values, bits, scale_dtype)
    assert codes.dtype == torch.uint8
    assert scale.dtype == scale_dtype
    assert scale.item() == wanted_scale
    assert codes.tolist() == wanted_codes


@quickly
@given(st.data(), widths, head_dims)
def test_packing_keeps_every_code_and_puts_its_bits_in_order(data: st.DataObject, bits: int, head_dim: int):
    random = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    codes = torch.from_numpy(random.integers(0, 1 << bits, (3, 2, head_dim), dtype=np.uint8))
    packed = pack(codes, bits)
    assert packed.shape == (3, 2, row_bytes(bits, head_dim))
    assert packed[1, 1].tolist() == slow_pack(codes[1, 1].tolist(), bits)
    assert torch.equal(unpack(packed, bits), codes)


@pytest.mark.parametrize(("bits", "wanted"), [(2, 32), (3, 48), (4, 64), (8, 128)])
def test_bytes_of_a_row(bits: int, wanted: int):
    assert row_bytes(bits, 128) == wanted


@pytest.mark.parametrize("bits", WIDTHS)
def test_ties_go_to_the_even_neighbour(bits: int):
    """The largest value makes the scale 1, so that x.5 lies exactly between two levels."""
    highest = (1 << (bits - 1)) - 1
    ties = torch.arange(-highest, highest, dtype=torch.float64) + 0.5
    for start in range(0, len(ties), 7):
        part = ties[start : start + 7]
        x = torch.nn.functional.pad(torch.cat([torch.tensor([float(highest)]), part]), (0, 7 - len(part)))
        codes, scale = quantize(x.half(), bits)
        assert scale.item() == 1
        levels = codes.to(torch.int64) - (1 << (bits - 1))
        assert levels[1 : 1 + len(part)].tolist() == [round(tie) for tie in part.tolist()]


@pytest.mark.parametrize("place", range(16))
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_largest_element_counts_wherever_it_is(place: int, sign: int):
    x = torch.full((16,), 0.25)
    x[place] = sign * 127
    codes, scale = quantize(x.half(), 8)
    assert scale.item() == 1
    assert codes[place].item() == 128 + sign * 127
    assert (codes == 128).sum() == 15


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("scale_dtype", [torch.float32, torch.float16])
def test_zeros_of_either_sign_have_the_scale_one(bits: int, scale_dtype: torch.dtype):
    x = torch.tensor([0.0, -0.0] * 4).half()
    packed, scales = quantize_and_pack(x, bits, scale_dtype)
    assert scales.item() == 1
    assert dequantize(packed, scales, bits).eq(0).all()


def test_a_scale_too_small_for_fp16_becomes_the_smallest_there_is():
    codes, scale = quantize(torch.tensor([2.0**-24] + [0.0] * 7).half(), 8, torch.float16)
    assert scale.item() == 2.0**-24
    assert codes.tolist() == [129] + [128] * 7


def test_a_scale_too_large_for_fp16_becomes_the_largest_there_is():
    x = torch.tensor([98_256.0, -98_256.0] + [0.0] * 6)
    codes, scale = quantize(x, 2, torch.float16)
    assert scale.item() == 65504
    assert codes[:2].tolist() == [3, 0]


def test_a_coarse_fp16_scale_can_reach_the_lowest_level():
    """1.4 · 2^-24 rounds down to 2^-24: the extremes are cut off, and -128 has one more level than 127."""
    x = torch.tensor([178 * 2.0**-24, -178 * 2.0**-24] + [0.0] * 6).half()
    codes, _ = quantize(x, 8, torch.float16)
    assert codes[:2].tolist() == [255, 0]


def test_float64_is_divided_in_float64():
    x = torch.tensor([127.0, 0.5 + 2.0**-40] + [0.0] * 6, dtype=torch.float64)
    assert quantize(x, 8)[0][1].item() == 129
    assert quantize(x.float(), 8)[0][1].item() == 128


@quickly
@given(heads(), widths, widths, scale_dtypes)
def test_requantising_is_quantising_what_was_kept(
    values: np.ndarray, old: int, new: int, scale_dtype: torch.dtype
):
    packed, scales = quantize_and_pack(torch.from_numpy(values), old, scale_dtype)
    kept = dequantize(packed, scales, old)
    moved = requantize(packed, scales, old, new)
    wanted_codes, wanted_scale = slow_quantize(kept.numpy(), new, scale_dtype)
    assert moved[1].item() == wanted_scale
    assert moved[0].tolist() == slow_pack(wanted_codes, new)


@pytest.mark.parametrize("bits", WIDTHS)
def test_the_error_is_at_most_half_a_level(bits: int):
    x = torch.randn(64, 3, 80, generator=torch.Generator().manual_seed(1)).half()
    packed, scales = quantize_and_pack(x, bits)
    error = (dequantize(packed, scales, bits, torch.float64) - x.double()).abs()
    assert (error <= scales.double().unsqueeze(-1) * (0.5 + 1e-6)).all()
    assert dequantize(packed, scales, bits, torch.float16).dtype == torch.float16


@quickly
@given(heads())
def test_two_planes_hold_a_query_to_fifteen_bits(values: np.ndarray):
    queries = torch.from_numpy(values)
    high, low, scales = split_query(queries)
    assert (high.dtype, low.dtype) == (torch.int8, torch.int8)
    largest = queries.double().abs().max().item()
    # A float32 quotient near 32512 is itself rounded by up to 2^-10, which both bounds allow for.
    step = largest / 32512 * 1.01
    both = joined_query(high, low, scales, torch.float64)
    one = joined_query(high, None, scales, torch.float64)
    assert (both - queries).abs().max().item() <= step / 2
    assert (one - queries).abs().max().item() <= 256 * step / 2


def test_the_planes_of_a_known_query():
    queries = torch.tensor([32512.0, -32512.0, 128.0, 127.0, -128.0, -129.0, 0.0, 256.0])
    high, low, scales = split_query(queries)
    assert scales.item() == 1
    assert high.tolist() == [127, -127, 1, 0, 0, -1, 0, 1]
    assert low.tolist() == [0, 0, -128, 127, -128, 127, 0, 0]


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(ArgumentError, match="bits is 5, but must be one of 2, 3, 4, 8"):
        quantize(torch.zeros(8), 5)
    with pytest.raises(ArgumentError, match="head_dim is 12, but must be a positive multiple of 8"):
        row_bytes(4, 12)
    with pytest.raises(ArgumentError, match="last dimension of codes is 4"):
        pack(torch.zeros(4, dtype=torch.uint8), 2)
    with pytest.raises(ArgumentError, match="codes is torch.int32, but must be torch.uint8"):
        pack(torch.zeros(8, dtype=torch.int32), 2)
    with pytest.raises(ArgumentError, match="rows of 4 bytes, but 3-bit rows are multiples of 3"):
        unpack(torch.zeros(4, dtype=torch.uint8), 3)
    with pytest.raises(ArgumentError, match="scale_dtype is torch.bfloat16"):
        quantize(torch.zeros(8), 8, torch.bfloat16)
