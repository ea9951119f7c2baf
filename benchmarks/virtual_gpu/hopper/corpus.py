"""The self-checking programs of this folder, all built for sm_90a; some for others as well."""

from __future__ import annotations

from pathlib import Path

from benchmarks.virtual_gpu.programs.corpus import Program

FOLDER = Path(__file__).resolve().parent
CAPABILITY = "90a"


def hopper_programs() -> list[Program]:
    return [Program(source) for source in sorted(FOLDER.glob("*.cu"))]


def capabilities(program: Program) -> list[str]:
    """What it is built for: a line `// also for: 80` adds to this folder's own."""
    return [cc for cc in program.capabilities if cc != "90"] + [CAPABILITY]
