"""The self-checking programs of this folder: how each is built, and which of its lines must be equal."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from benchmarks import DATA

FOLDER = Path(__file__).resolve().parent
RECORD = DATA / "virtual_gpu" / "programs_h200.json"

# Lines that are the same on every device: digests of exact values, error codes.
_COMPARED = re.compile(r"^(?:digest|answer) \S+ \S+$")


@dataclass(frozen=True)
class Program:
    """One `.cu` file. Its lines `// flags: …` add compiler flags; `// expect: …` is a line it must print.

    All are built for compute capability 90. A line `// also for: 80` marks a program for which nvcc makes
    different PTX there; for the others only the line `.target` differs, which the engine ignores.
    """

    source: Path

    @property
    def name(self) -> str:
        return self.source.stem

    @property
    def flags(self) -> tuple[str, ...]:
        return tuple(flag for line in self._comments("flags") for flag in shlex.split(line))

    @property
    def capabilities(self) -> list[str]:
        return [cc for line in self._comments("also for") for cc in line.split()] + ["90"]

    @property
    def expected_lines(self) -> list[str]:
        return self._comments("expect")

    def missing_lines(self, stdout: str) -> list[str]:
        printed = stdout.splitlines()
        return [line for line in self.expected_lines if line not in printed]

    def _comments(self, word: str) -> list[str]:
        return re.findall(rf"^// {word}: (.*)$", self.source.read_text(), re.MULTILINE)


def all_programs() -> list[Program]:
    return [Program(source) for source in sorted(FOLDER.glob("*.cu"))]


def compared_lines(stdout: str) -> list[str]:
    return [line for line in stdout.splitlines() if _COMPARED.match(line)]


def recorded_lines(program: Program) -> list[str]:
    """What the program printed on the GPU whose record is committed."""
    how = "record it on a GPU: python -m benchmarks.virtual_gpu.programs.record"
    if not RECORD.is_file():
        raise AssertionError(f"there is no {RECORD.name}: {how}")
    programs = json.loads(RECORD.read_text())["programs"]
    if program.name not in programs:
        raise AssertionError(f"{RECORD.name} has no {program.name}: {how}")
    lines: list[str] = programs[program.name]
    return lines
