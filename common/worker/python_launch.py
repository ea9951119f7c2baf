"""How a worker for Python files is started, and what it may reach."""

from __future__ import annotations

import dataclasses
import os
import sys
import sysconfig
from pathlib import Path

from common.core.paths import REPOSITORY
from common.sandbox.policy import Walls
from common.worker.process import Script

# No site packages by themselves: the ones this process has are named, and the student's folder is not.
_FLAGS = ("-P", "-s", "-S")
SCRIPT = Script(_FLAGS, "python_script.py")
KERNELS = Script(_FLAGS, "kernel_script.py")
_MEMORY = 8 << 30  # torch alone takes one
# Triton compiles: its own assembler, and the host's compiler for what launches a kernel.
_COMPILERS = ("/usr", "/bin", "/sbin", "/etc/alternatives", "/etc/ld.so.conf", "/etc/ld.so.conf.d")
_CHILDREN = 16


def interpreted() -> Walls:
    """Without a GPU: Triton's interpreter on CPU tensors, in one process."""
    walls = Walls(memory_bytes=_MEMORY, output_bytes=16 << 20, more_threads=8, folders=True)
    return _with_python(walls, {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"})


def with_launches(walls: Walls, launches: int, tensors: int | None = None) -> Walls:
    """For the two workers of one file: the socket between them, and for the kernels' the tensors' memory."""
    named = {"LAUNCHES_FD": launches, **({} if tensors is None else {"TENSORS_FD": tensors})}
    return dataclasses.replace(
        walls, environment={**walls.environment, **{name: str(number) for name, number in named.items()}}
    )


def on_gpu() -> Walls:
    """On a CUDA device: as for native code, and compilers beside it, behind the same walls."""
    walls = dataclasses.replace(
        Walls.gpu(memory_bytes=2 * _MEMORY), children=_CHILDREN, folders=True, folder_files=4096
    )
    walls = dataclasses.replace(
        walls,
        read=(*walls.read, *_COMPILERS, sysconfig.get_paths()["include"]),
        folder_bytes=1 << 30,
        file_bytes=256 << 20,
    )
    return _with_python(walls, {})


def python_folders() -> list[str]:
    """Where this process finds modules, but for the course itself: tests and solutions are not for all."""
    found = (Path(entry or ".").absolute() for entry in sys.path)
    return [str(path) for path in found if path.exists() and not REPOSITORY.is_relative_to(path)]


def _with_python(walls: Walls, environment: dict[str, str]) -> Walls:
    folders = python_folders()
    paths = {"PYTHONPATH": os.pathsep.join(folders), "PYTHONDONTWRITEBYTECODE": "1"}
    return dataclasses.replace(
        walls,
        read=(*walls.read, *folders, sys.base_prefix + "/lib"),
        environment={**walls.environment, **paths, **environment},
    )
