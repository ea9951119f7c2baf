"""The tiny exercise in stepped/, its solution, and submissions that misbehave inside a CUDA graph."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from grader.spec import registry
from tests.made_source import made_source

FOLDER = Path(__file__).with_name("stepped")
SOLUTION = FOLDER / "solution" / "kernel.cu"
EXERCISE = dataclasses.replace(registry.load(FOLDER / "exercise"), solution=SOLUTION)
SMALL, LARGER = (case.name for case in EXERCISE.bench)

# Submissions of graph_cheats/ whose calls are right by themselves, and what must be said of them.
GRAPH_CHEATS = {
    "default_stream": "launch on the stream that was given",
    "own_stream": "the given stream is still blocked",
    "allocates": "no cudaMalloc",
    "t10_not_captured": "call 1 of 3 in a CUDA graph gives another answer",
    "t7_all_in_one_call": "call 2 of 3 in a CUDA graph gives another answer",
}


def graph_cheat(name: str) -> Path:
    """One of them with its header inside it: a submission is one file."""
    cheats = FOLDER / "graph_cheats"
    header = (cheats / "rows.h").read_text().replace("#pragma once\n", "")
    text = (cheats / f"{name}.cu").read_text().replace('#include "rows.h"\n', header)
    return made_source(f"{name}.cu", text)
