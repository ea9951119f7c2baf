"""The self-checking programs of this folder. Each compares what a kernel did with plain code on the host."""

from __future__ import annotations

from pathlib import Path

from benchmarks.virtual_gpu.programs.corpus import Program

FOLDER = Path(__file__).resolve().parent


def feature_programs() -> list[Program]:
    return [Program(source) for source in sorted(FOLDER.glob("*.cu"))]
