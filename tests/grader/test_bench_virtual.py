"""The bench on the virtual GPU: which shapes it models, in which memory, and what it says meanwhile."""

from __future__ import annotations

import dataclasses

import pytest

from common.core.errors import CourseError
from grader.bench import on_virtual
from grader.spec import registry

SMALL, LARGE = "16 tokens, 8 × 128", "64 tokens, 8 × 128"


@pytest.fixture
def exercise(monkeypatch):
    """Exercise 01 with two shapes, one of them said to be for GPUs alone, and two kernels."""
    found = registry.find("01")
    small, large = found.bench_case(SMALL), found.bench_case(LARGE)
    kernels = {"baseline": found.baseline, "solution": found.solution}
    monkeypatch.setattr(on_virtual, "kernels_of", lambda _: kernels)
    return dataclasses.replace(found, bench=(small, dataclasses.replace(large, gpu_only=True)))


def test_shapes_meant_for_a_gpu_are_left_out_and_named(exercise):
    entry = on_virtual.bench_virtual(exercise, lambda text: None)
    assert [shape["case"] for shape in entry["shapes"]] == [SMALL]
    assert entry["left_out"] == [LARGE]


def test_large_shapes_are_modelled_on_request_with_an_estimate(exercise):
    progress: list[str] = []
    entry = on_virtual.bench_virtual(exercise, progress.append, large=True)
    assert "left_out" not in entry
    assert [shape["case"] for shape in entry["shapes"]] == [SMALL, LARGE]
    for shape in entry["shapes"]:
        assert shape["results"]["baseline"]["ratio"] == 1.0
        assert shape["results"]["solution"]["seconds"] > 0
    assert any(text.startswith(f"{LARGE}: modelling solution, about ") for text in progress)


def test_too_little_memory_is_an_error_before_it_is_allocated(exercise, monkeypatch):
    monkeypatch.setattr(on_virtual, "available_bytes", lambda: 100 << 10)
    with pytest.raises(CourseError, match=r"64 tokens, 8 × 128 needs about .* leave out --large"):
        on_virtual.bench_virtual(exercise, lambda text: None, large=True)
