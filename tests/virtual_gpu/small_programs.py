"""Small CUDA programs written inside tests: build one, run it, see what is left of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from common.build.program import Target, build_program
from common.virtual_gpu.session import RunReport, run_program
from tests.made_source import made_source
from tests.virtual_gpu.programs_together import ProgramsTogether, build_together

# What stands above the text of every program; its own first line is line 4.
PREAMBLE = "#include <cuda_runtime.h>\n#include <cstdio>\n#include <unistd.h>\n"
# A kernel that computes for many seconds without ever repeating itself, which would be called a hang.
LONG_KERNEL = """
__global__ void toil(unsigned* out) {
  unsigned x = threadIdx.x;
  for (unsigned i = 0; i < 4000000000u; ++i) x = x * 1664525u + i;
  out[threadIdx.x] = x;
}
"""


_WORKER = b"PYTEST_XDIST_WORKER="


def source_of(text: str, name: str = "program") -> Path:
    return made_source(f"{name}.cu", PREAMBLE + text)


def build_text(text: str, *flags: str) -> Path:
    return build_program([source_of(text)], Target.virtual(), extra_flags=flags).path


def build_texts(texts: Mapping[str, str]) -> ProgramsTogether:
    """Several programs by name, in one compile. Each is a file of its own; its main() ends in a return."""
    return build_together([source_of(text, name) for name, text in texts.items()])


def run(program: Path) -> RunReport:
    return run_program(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)


def engines() -> set[int]:
    """Living engine processes, but for those that tests running beside this one have started."""
    found = set()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and (folder / "exe").readlink().name.startswith("vgpu-engine"):
                workers = [v for v in (folder / "environ").read_bytes().split(b"\0") if v.startswith(_WORKER)]
                if not workers or workers == [_WORKER + os.environ.get("PYTEST_XDIST_WORKER", "").encode()]:
                    found.add(int(folder.name))
        except OSError:
            continue
    return found


def children_of(pid: int) -> set[int]:
    try:
        return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    except OSError:
        return set()


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}/exe").exists()
