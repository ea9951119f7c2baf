"""Which CUDA devices this machine has, asked of the driver's own tool and without importing torch."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from dataclasses import dataclass

from common.core.errors import CourseError

_FIELDS = "name,compute_cap,driver_version"
_PLACES = ("/usr/lib/wsl/lib", "/usr/local/nvidia/bin")  # where nvidia-smi hides when it is not on PATH


@dataclass(frozen=True)
class Gpu:
    """One CUDA device. `cc` is its compute capability without the dot: "90"."""

    name: str
    cc: str
    driver: str


@functools.cache
def find_gpus() -> tuple[Gpu, ...]:
    """The devices a CUDA program would see, in nvidia-smi's order; none if CUDA_VISIBLE_DEVICES is empty."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "all").strip() in ("", "-1"):
        return ()
    search = os.pathsep.join((os.environ.get("PATH", ""), *_PLACES))
    tool = shutil.which("nvidia-smi", path=search)
    if tool is None:
        return ()
    try:
        answer = subprocess.run(
            [tool, f"--query-gpu={_FIELDS}", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return parse_gpus(answer.stdout) if answer.returncode == 0 else ()


def parse_gpus(table: str) -> tuple[Gpu, ...]:
    rows = [[cell.strip() for cell in line.split(",")] for line in table.splitlines()]
    return tuple(
        Gpu(name, cc.replace(".", ""), driver) for name, cc, driver in (row for row in rows if len(row) == 3)
    )


def first_gpu() -> Gpu:
    """The device programs use; a sentence if there is none."""
    if gpus := find_gpus():
        return gpus[0]
    raise CourseError(
        "no CUDA GPU was found (nvidia-smi names none). Leave out `--device gpu` or say `--device virtual` "
        "to use the virtual GPU; `./course doctor` shows what this machine has."
    )
