"""The tiny exercise in pooled/, its solution, and changes to the solution that make it misbehave."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from grader.spec import registry
from tests.made_source import made_source

FOLDER = Path(__file__).with_name("pooled")
SOLUTION = FOLDER / "solution" / "kernel.cu"
EXERCISE = dataclasses.replace(registry.load(FOLDER / "pooled_rows"), solution=SOLUTION)
STEP = EXERCISE.steps[0]

COUNTERS_LEFT = ("  if (lane == 0) counters[row] = 0;\n", "")
# The first part of a row is added to whatever scratch holds.
SCRATCH_READ_FIRST = ("  mine[lane] = sum;\n", "  mine[lane] = sum + 0 * mine[lane];\n")
HALF_FORGOTTEN = (" + __ldcg(&parts[kLanes + lane])", "")
STEP_WRONG_WHEN_LARGE = ("if (i < numbers.count)", "if (i < numbers.count && i < 10000)")
STEP_MISSING = ('extern "C" int double_all', "static int double_all")
STEP_ON_OTHER_STREAM = (
    "  double_them<<<(numbers->count + 255) / 256, 256, 0, stream>>>",
    """  static cudaStream_t own = nullptr;
  if (own == nullptr) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  double_them<<<(numbers->count + 255) / 256, 256, 0, own>>>""",
)


def changed(*changes: tuple[str, str]) -> Path:
    """The solution with some of its text replaced."""
    text = SOLUTION.read_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return made_source("kernel.cu", text)
