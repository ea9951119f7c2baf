"""Make the record: on a GPU, `python -m benchmarks.virtual_gpu.tensor_maps.record` asks every case."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.virtual_gpu.machine import machine, missing_tools
from benchmarks.virtual_gpu.tensor_maps.cases import PROGRAM, RECORD, answers, cases
from common.build.program import Target, build_program

LIMIT_SECONDS = 120.0
NOTE = (
    "Each case of benchmarks/virtual_gpu/tensor_maps/cases.txt, whose first lines explain the words, and "
    "what came of it: a CUresult of the encode function, a cudaError_t of the launch, bytes that a load "
    "counted and, in pieces of 16 bytes, what shared memory then had (a piece of the tensor by number, z: "
    "zeros, .: untouched), or which pieces of the tensor got which of shared memory."
)


def main() -> int:
    if problem := missing_tools("nvcc"):
        print(problem, file=sys.stderr)
        return 2
    program = build_program([PROGRAM], Target.gpu("90a")).path

    def run(path: Path, first: int) -> str:
        command = [str(program), str(path), str(first)]
        return subprocess.run(
            command, stdout=subprocess.PIPE, text=True, timeout=LIMIT_SECONDS, check=False
        ).stdout

    asked = cases()
    with tempfile.TemporaryDirectory() as folder:
        said = dict(zip(asked, answers(run, asked, Path(folder)), strict=True))
    RECORD.write_text(
        json.dumps({**machine("nvcc"), "note": NOTE, "cases": said}, indent=1, ensure_ascii=False) + "\n"
    )
    print(f"{len(said)} cases in {RECORD}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
