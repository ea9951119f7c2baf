"""Half precision on a CPU has the errors of torch's own kernels, without taking their time."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from common.serving.half_precision import attention, product

HALVES = (torch.float16, torch.bfloat16)


def drawn(*shape: int, dtype: torch.dtype, size: float = 1.0) -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(7)
    return [(torch.randn(*shape, generator=random) * size).to(dtype) for _ in range(3)]


def errors(found: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    return (found.double() - exact).norm(dim=-1) / exact.norm(dim=-1)


@pytest.mark.parametrize("dtype", HALVES)
def test_a_product_is_rounded_once(dtype: torch.dtype) -> None:
    a, b, _ = drawn(40, 40, dtype=dtype)
    found, exact = product(a, b), a.double() @ b.double()
    assert found.dtype == dtype
    assert (found.double() - exact).abs().max() <= torch.finfo(dtype).eps / 2 * exact.abs().max() * 1.01


def test_a_product_of_other_types_is_torchs() -> None:
    a, b, _ = drawn(5, 5, dtype=torch.float64)
    assert torch.equal(product(a, b), a @ b)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", [1.0, 6.0])
@pytest.mark.parametrize("dtype", HALVES)
def test_attention_is_off_by_as_much_as_torchs(dtype: torch.dtype, size: float, causal: bool) -> None:
    inputs = drawn(2, 3, 90, 64, dtype=dtype, size=size)
    query, key, value = (one.double() for one in inputs)
    exact = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
    query, key, value = inputs
    by_torch = errors(F.scaled_dot_product_attention(query, key, value, is_causal=causal), exact)
    ours = errors(attention(query, key, value, causal=causal, scale=0.125), exact)
    assert float(ours.mean()) == pytest.approx(float(by_torch.mean()), rel=0.05)
    assert float(ours.max()) == pytest.approx(float(by_torch.max()), rel=0.3)


def test_rows_in_several_chunks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = drawn(1, 2, 50, 16, dtype=torch.float16)
    at_once = attention(*inputs, causal=True, scale=1.0)
    monkeypatch.setattr("common.serving.half_precision._MOST_SCORES", 700)
    torch.testing.assert_close(attention(*inputs, causal=True, scale=1.0), at_once)


def test_no_rows_are_no_attention() -> None:
    inputs = drawn(1, 2, 0, 16, dtype=torch.float16)
    assert attention(*inputs, causal=True, scale=1.0).shape == (1, 2, 0, 16)
