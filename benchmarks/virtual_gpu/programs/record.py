"""Runs the self-checking programs on a GPU and records the digests that the virtual GPU must match.

    python -m benchmarks.virtual_gpu.programs.record [--out FILE] [NAME…]

Needs a GPU and nvcc; no network. A program that does not build, or whose own checks fail, is named with its
output, gets no entry, and makes the exit status 1. With names, the others keep their entries.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.output.options import described_parser
from benchmarks.virtual_gpu.machine import machine, missing_tools
from benchmarks.virtual_gpu.programs.corpus import RECORD, Program, all_programs, compared_lines

NEEDED = ("nvcc",)
NVCC_FLAGS = ["-std=c++17", "-O3", "-lineinfo", "-arch=native"]
COMPILERS = 16
RUNNERS = 6  # enough to hide the start of a CUDA context, few enough not to slow each other
COMPILE_LIMIT_S, RUN_LIMIT_S = 300, 60


def outcome(program: Program, folder: Path) -> Path | str:
    """The binary, or why there is none."""
    binary = folder / program.name
    command = ["nvcc", *NVCC_FLAGS, *program.flags, str(program.source), "-o", str(binary)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"nvcc did not end within {COMPILE_LIMIT_S} s"
    return binary if done.returncode == 0 else f"nvcc could not build it:\n{done.stdout}{done.stderr}"


def run(program: Program, binary: Path) -> list[str] | str:
    """The lines to compare, or what went wrong."""
    try:
        done = subprocess.run([binary], capture_output=True, text=True, errors="replace", timeout=RUN_LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"it did not end within {RUN_LIMIT_S} s"
    said = f"\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    if done.returncode != 0:
        return f"it ended with status {done.returncode}:{said}"
    if missing := program.missing_lines(done.stdout):
        return f"it did not print {missing}:{said}"
    return compared_lines(done.stdout)


def build_and_run(programs: list[Program]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The lines of each program that passed, and the reason for each that failed."""
    with tempfile.TemporaryDirectory(prefix="programs_") as scratch:
        with ThreadPoolExecutor(min(COMPILERS, os.cpu_count() or 4)) as pool:
            built = list(pool.map(lambda program: outcome(program, Path(scratch)), programs))
        with ThreadPoolExecutor(RUNNERS) as pool:
            ran = list(
                pool.map(
                    lambda pair: pair[1] if isinstance(pair[1], str) else run(*pair),
                    zip(programs, built, strict=True),
                )
            )
    results = {program.name: result for program, result in zip(programs, ran, strict=True)}
    passed = {name: result for name, result in results.items() if not isinstance(result, str)}
    failed = {name: result for name, result in results.items() if isinstance(result, str)}
    return passed, failed


def record(out: Path, names: list[str]) -> int:
    started = time.monotonic()
    programs = [program for program in all_programs() if not names or program.name in names]
    passed, failed = build_and_run(programs)
    kept = json.loads(out.read_text())["programs"] if names and out.is_file() else {}
    for name in failed:
        kept.pop(name, None)
    document = {**machine(*NEEDED), "programs": dict(sorted({**kept, **passed}.items()))}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(document, indent=1) + "\n")
    for name, reason in failed.items():
        print(f"FAILED {name}: {reason}\n")
    print(
        f"{len(passed)} of {len(programs)} programs passed; wrote {out} ({time.monotonic() - started:.0f} s)"
    )
    return 1 if failed else 0


def main() -> int:
    parser = described_parser(__doc__)
    parser.add_argument("--out", type=Path, default=RECORD)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these programs")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - {program.name for program in all_programs()}:
        parser.error(f"there is no program {', '.join(sorted(unknown))}")
    if problem := missing_tools(*NEEDED):
        print(problem, file=sys.stderr)
        return 2
    return record(arguments.out, arguments.names)


if __name__ == "__main__":
    sys.exit(main())
