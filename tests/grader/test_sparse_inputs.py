"""Which of a large size's tensors take no memory on the virtual GPU."""

from __future__ import annotations

import torch

from grader.devices.on_virtual.sparse_inputs import SparseRandom

MANY = 4 << 20


def test_large_tensors_of_zeros_are_empty():
    rng = SparseRandom("seed")
    assert rng.is_empty(rng.half(MANY))
    assert rng.is_empty(rng.bytes(MANY))
    assert rng.is_empty(rng.normal(MANY).to(torch.float16))
    assert rng.is_empty(-torch.zeros(MANY))
    assert rng.is_empty(torch.zeros(2, MANY)[:, 1:])


def test_small_tensors_and_those_with_values_are_not():
    rng = SparseRandom("seed")
    assert not rng.is_empty(rng.half(8))
    assert not rng.is_empty(torch.zeros(8))
    for last in (1.0, float("nan"), 2.0**-149):
        values = torch.zeros(MANY + 1)
        values[-1] = last
        assert not rng.is_empty(values)
        assert not rng.is_empty(values[1:])


def test_an_answer_is_for_one_tensor():
    rng = SparseRandom("seed")
    for _ in range(3):  # whose memory the next one may get
        assert not rng.is_empty(torch.ones(MANY))
        assert rng.is_empty(torch.zeros(MANY))
