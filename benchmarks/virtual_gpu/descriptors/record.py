"""Make the record: on a GPU, `python -m benchmarks.virtual_gpu.descriptors.record` asks every question."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from pathlib import Path

from benchmarks.virtual_gpu.machine import machine, missing_tools
from common.build.program import Target, build_program

FOLDER = Path(__file__).resolve().parent
PROGRAMS = [FOLDER / "bases.cu", FOLDER / "bits.cu"]
RECORD = FOLDER.parents[1] / "data" / "virtual_gpu" / "descriptors_h200.json"
LIMIT_SECONDS = 120.0
NOTE = (
    "Each question that the programs of benchmarks/virtual_gpu/descriptors print, and the CRC-32 of its "
    "answer. bases.cu: which pieces of 16 bytes wgmma reads, by start address, base offset and swizzle. "
    "bits.cu: products of bits, and how many sums differ from the host's."
)


def answers(printed: str) -> dict[str, str]:
    """By question, from a program's output."""
    lines = (line.partition(": ") for line in printed.splitlines())
    return {question: f"{zlib.crc32(answer.encode()):08x}" for question, _, answer in lines}


def recorded() -> dict[str, dict[str, str]]:
    """The answers of the GPU, by program and question."""
    found: dict[str, dict[str, str]] = json.loads(RECORD.read_text())["answers"]
    return found


def main() -> int:
    if problem := missing_tools("nvcc"):
        print(problem, file=sys.stderr)
        return 2
    said = {}
    for source in PROGRAMS:
        program = build_program([source], Target.gpu("90a")).path
        done = subprocess.run([program], stdout=subprocess.PIPE, text=True, timeout=LIMIT_SECONDS, check=True)
        said[source.stem] = answers(done.stdout)
    RECORD.write_text(json.dumps({**machine("nvcc"), "note": NOTE, "answers": said}, indent=1) + "\n")
    print(f"{sum(map(len, said.values()))} answers in {RECORD}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
