"""Right answers count where kernels made them, and neither the runtime nor the host did."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from common.virtual_gpu.report import Counters, Report
from grader.answers.made_by import not_by_kernels

CHANGED = 1 << 20


@pytest.mark.parametrize(
    ("counters", "copied", "words"),
    [
        ({"global_store_bytes": CHANGED}, 0, ""),
        ({"global_store_bytes": CHANGED}, 4096, ""),
        ({"global_store_bytes": CHANGED}, CHANGED, "cudaMemcpy and cudaMemset moved 1,048,576"),
        ({"global_store_bytes": CHANGED // 2}, 4096, "kernels stored 524,288 bytes of the 1,048,576"),
        ({"global_store_bytes": CHANGED, "host_store_bytes": 4096}, 0, ""),
        (
            {"global_store_bytes": 4 * CHANGED, "host_store_bytes": 3 * CHANGED},
            0,
            "kernels stored 3,145,728 bytes in memory that the host sees as well",
        ),
    ],
)
def test_kernels_must_make_the_answer(counters: dict[str, Any], copied: int, words: str):
    kernels: Any = (SimpleNamespace(counters=Counters(**counters)),)
    report = Report(profile="h200", launches=kernels, kernels=kernels, totals={"copied_bytes": copied})
    message = not_by_kernels(report, CHANGED)
    assert bool(message) == bool(words)
    assert words in message
