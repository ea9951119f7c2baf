"""Asks a GPU what starts on it, and records its answers.

    python -m benchmarks.virtual_gpu.limits.record [--out FILE]

Needs a GPU of compute capability 9.0 and nvcc; no network.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.virtual_gpu.limits.answers import PROGRAM, RECORD, parse
from benchmarks.virtual_gpu.machine import machine, missing_tools

_NEEDED = ("nvcc",)
_LIMIT_S = 300


def written(out: Path, about: Mapping[str, object], printed: str) -> None:
    """One row per answer."""
    rows = [
        f'  "{name}": [\n' + ",\n".join(f"   {json.dumps(answer)}" for answer in answers) + "\n  ]"
        for name, answers in parse(printed).items()
    ]
    head = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in about.items())
    out.write_text("{\n" + head + ' "groups": {\n' + ",\n".join(rows) + "\n }\n}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=RECORD, metavar="FILE")
    out = parser.parse_args().out
    if missing := missing_tools(*_NEEDED):
        print(f"not found: {missing}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="limits_") as scratch:
        binary = Path(scratch) / "what_starts"
        build = ["nvcc", "-std=c++17", "-arch=sm_90a", str(PROGRAM), "-o", str(binary)]
        subprocess.run(build, check=True, timeout=_LIMIT_S)
        done = subprocess.run([binary], capture_output=True, text=True, timeout=_LIMIT_S, check=True)
    written(out, machine(*_NEEDED), done.stdout)
    print(f"{sum(map(len, parse(done.stdout).values()))} answers in {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
