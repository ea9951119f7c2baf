"""The moving average of what each token's weight in attention is."""

from __future__ import annotations

import pytest
import torch

from common.serving.arguments import ArgumentError
from common.serving.bucketed.importance import ImportanceAverage


def test_it_is_the_exponential_average_from_the_first_pass_on():
    average = ImportanceAverage(1, "cpu", decay=0.75)
    average.add(0, [0, 1])
    passes = [torch.tensor([[0.8, 0.2]]), torch.tensor([[0.4, 0.6]]), torch.tensor([[0.0, 1.0]])]
    wanted = passes[0]
    average.update(passes[0])
    for weights in passes[1:]:
        average.update(weights)
        wanted = 0.75 * wanted + 0.25 * weights
    torch.testing.assert_close(average.values, wanted)


def test_tokens_come_and_go():
    average = ImportanceAverage(2, "cpu", decay=0.5)
    average.add([0, 1], [0, 3], initial=0.7)
    assert average.values.tolist() == [[pytest.approx(0.7), 0, 0, 0], [0, 0, 0, pytest.approx(0.7)]]
    average.update(torch.full((2, 4), 0.25))
    assert average.values.tolist() == [[0.25, 0, 0, 0], [0, 0, 0, 0.25]]
    average.add(0, [2])
    average.remove(1, [3])
    average.update(torch.full((2, 4), 0.75))
    assert average.values.tolist() == [[0.5, 0, 0.75, 0], [0, 0, 0, 0]]
    assert average.present.tolist() == [[True, False, True, False], [False] * 4]
    average.add(1, [3])  # begins anew
    average.update(torch.full((2, 4), 0.1))
    assert average.values[1, 3].item() == pytest.approx(0.1)


def test_slots_beyond_the_pass_got_no_weight():
    average = ImportanceAverage(1, "cpu", decay=0.5)
    average.add(0, [0, 1, 2])
    average.update(torch.ones(1, 3))
    average.update(torch.ones(1, 1))
    assert average.values.tolist() == [[1, 0.5, 0.5]]


def test_growth_by_one_token_at_a_time():
    average = ImportanceAverage(1, "cpu", decay=0.0)
    for slot in range(100):
        average.add(0, slot)
        weights = torch.arange(slot + 1, dtype=torch.float32).unsqueeze(0)
        average.update(weights)
        assert torch.equal(average.values, weights)


def test_strange_arguments_are_refused():
    with pytest.raises(ArgumentError, match="decay is 1, but must be"):
        ImportanceAverage(1, "cpu", decay=1)
    average = ImportanceAverage(2, "cpu")
    average.add(0, [4])
    with pytest.raises(ArgumentError, match=r"weights has shape \[3, 5\], but must be \[2, slots\]"):
        average.update(torch.ones(3, 5))
    with pytest.raises(ArgumentError, match="slots holds 9, but must be 0 to 4"):
        average.remove(0, [9])
    with pytest.raises(ArgumentError, match="sequences holds 2, but must be 0 to 1"):
        average.add(2, [0])
