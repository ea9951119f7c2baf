"""The types with which an exercise describes itself to the harness: data and small functions. May import the
core, grader.words, and the data that evidence is made of.

An `exercise.py` makes one `Exercise`. It declares the inputs, the reference, the mechanisms to look for, the
speed targets and the points; the pipeline checks them.
"""

from __future__ import annotations

from grader.spec.call import STREAM, Argument, At, Buffers, Call, HostTable, Scalar, f32, i32, i64
from grader.spec.case import Case, Size, Words, case, cases_with
from grader.spec.comparison import Comparison, Exact, Normwise, Relative
from grader.spec.exercise import Exercise, KnownMistake, OnBuffers, PythonTrack, Step, Task
from grader.spec.target import (
    BASELINE,
    CALLS_IN_A_GRAPH,
    CopyBandwidth,
    HostTime,
    Mechanism,
    Points,
    SeenInEveryCall,
    Speedup,
    Target,
    TimingProtocol,
)

__all__ = [
    "BASELINE",
    "CALLS_IN_A_GRAPH",
    "STREAM",
    "Argument",
    "At",
    "Buffers",
    "Call",
    "Case",
    "Comparison",
    "CopyBandwidth",
    "Exact",
    "Exercise",
    "HostTable",
    "HostTime",
    "KnownMistake",
    "Mechanism",
    "Normwise",
    "OnBuffers",
    "Points",
    "PythonTrack",
    "Relative",
    "Scalar",
    "SeenInEveryCall",
    "Size",
    "Speedup",
    "Step",
    "Target",
    "Task",
    "TimingProtocol",
    "Words",
    "case",
    "cases_with",
    "f32",
    "i32",
    "i64",
]
