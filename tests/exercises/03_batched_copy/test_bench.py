"""What the committed bench of an H200 says about exercise 03's kernels, all in a graph."""

from __future__ import annotations

import json
import math

import pytest

from common.core.paths import MEASURED
from grader.spec import registry

EXERCISE = registry.find("03")
DECODE = {"decode, 1 × 1,024", "decode, 8 × 1,024", "decode, 32 × 2,048", "decode, 64 × 2,048"}
NOISE = 0.01  # two runs of one kernel differ by so much


def seconds() -> dict[str, dict[str, float]]:
    """By shape and kernel."""
    found = json.loads((MEASURED / "nvidia-h200.json").read_text())["exercises"].get(EXERCISE.id)
    if found is None:
        pytest.skip("exercise 03 has not been measured on an H200 yet")
    return {
        shape["case"]: {name: result["seconds"] for name, result in shape["results"].items()}
        for shape in found["shapes"]
    }


def test_decode_sizes_are_three_times_as_fast_as_individual_copies() -> None:
    for rival in ("baseline", "a .copy_ for each"):
        ratios = [times[rival] / times["solution"] for case, times in seconds().items() if case in DECODE]
        assert len(ratios) == len(DECODE)
        assert math.prod(ratios) ** (1 / len(ratios)) >= 3, rival


def test_no_shape_is_slower_than_individual_copies() -> None:
    for case, times in seconds().items():
        for rival in ("baseline", "a .copy_ for each"):
            assert times["solution"] <= times[rival] / (1 - NOISE), (case, rival)


def test_dense_data_is_within_a_tenth_of_the_contiguous_kernel() -> None:
    dense = {case: times for case, times in seconds().items() if "dense" in case}
    assert len(dense) >= 3
    for case, times in dense.items():
        assert times["solution"] <= 1.1 * times["contiguous"], case


def test_large_strided_tables_are_within_half_of_cuda_memcpy_2d() -> None:
    wide = {case: times for case, times in seconds().items() if "tables" in case}
    assert len(wide) == 2
    for case, times in wide.items():
        assert times["solution"] <= 1.5 * times["cudaMemcpy2DAsync for each"], case


def test_decode_sizes_are_no_slower_than_one_triton_launch() -> None:
    for case, times in seconds().items():
        if case in DECODE:
            assert times["solution"] <= times["Triton, one launch"] / (1 - NOISE), case
