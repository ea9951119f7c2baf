"""Measure every case on a GPU: event times with a cold L2."""

from __future__ import annotations

import json
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.model.programs import PROGRAMS, Program
from common.build.program import Target, build_program
from common.core.errors import CourseError
from common.gpu.devices import first_gpu

_REPEATS = 60
_PROGRAM_SECONDS = 120.0


def measure(repeats: int = _REPEATS) -> dict[str, Any]:
    """The median of each case. Programs are built in parallel and run one after the other."""
    gpu = first_gpu()
    target = Target.gpu(gpu.cc)
    with ThreadPoolExecutor() as pool:
        built = list(pool.map(lambda program: _build(program, target), PROGRAMS))
    cases = [
        case for program, path in zip(PROGRAMS, built, strict=True) for case in _times(program, path, repeats)
    ]
    return {"gpu": gpu.name, "driver": gpu.driver, "repeats": repeats, "cases": cases}


def _build(program: Program, target: Target) -> Path:
    return build_program(
        [program.source], target, defines=program.defines, include_dirs=program.include_dirs
    ).path


def _times(program: Program, path: Path, repeats: int) -> list[dict[str, Any]]:
    done = subprocess.run(
        [path, "measure", str(repeats)], capture_output=True, text=True, timeout=_PROGRAM_SECONDS, check=False
    )
    if done.returncode != 0:
        raise CourseError(f"{program.source.name} ended with {done.returncode}:\n{done.stderr}")
    return [_summary(program, json.loads(line)) for line in done.stdout.splitlines()]


def _summary(program: Program, case: dict[str, Any]) -> dict[str, Any]:
    times = sorted(case["microseconds"])
    return {
        "family": case["family"],
        "name": program.name_of(case["name"]),
        "microseconds": round(statistics.median(times), 3),
        "low": round(times[len(times) // 10], 3),
        "high": round(times[-1 - len(times) // 10], 3),
    }
