"""Build and run a file of random kernels: with nvcc on a GPU, or on the virtual GPU."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from benchmarks.virtual_gpu.random_kernels.kernels import SUPPORT
from benchmarks.virtual_gpu.random_kernels.records import KernelFile, printed_digests

# ptxas takes most of the time; nvcc warns of variables that a random kernel does not use.
NVCC_FLAGS = ("-std=c++17", "-O3", "-w", f"-I{SUPPORT.parent}")
LIMIT_SECONDS = 600.0


class RunFailed(Exception):
    """A file that did not build, did not run to its end, or had findings."""


def run_on_gpu(file: KernelFile) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="random_kernels_") as scratch:
        source, program = Path(scratch, "kernels.cu"), Path(scratch, "kernels")
        source.write_text(file.text)
        _checked(["nvcc", *NVCC_FLAGS, "-arch=native", str(source), "-o", str(program)])
        return printed_digests(file, _checked([str(program)]))


def run_on_virtual_gpu(file: KernelFile, options: str = "") -> list[str]:
    """`options` as in VGPU_OPTIONS, such as "threads=1"."""
    from common.build.program import Target, build_program  # a machine with a GPU needs none of it
    from common.virtual_gpu.session import run_program

    with tempfile.TemporaryDirectory(prefix="random_kernels_") as scratch:
        source = Path(scratch, "kernels.cu")
        source.write_text(file.text)
        built = build_program([source], Target.virtual(), extra_flags=NVCC_FLAGS, host_optimisation="-O0")
        ran = run_program(
            built.path,
            options=dict(option.split("=", 1) for option in options.split()),
            timeout=LIMIT_SECONDS,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    if ran.status != 0 or ran.report.findings:
        said = [f"{one.kind}: {one.message}" for one in ran.report.findings]
        raise RunFailed(f"{ran.ending}: {ran.stdout[-300:]}{ran.stderr[-300:]}{said}")
    return printed_digests(file, ran.stdout)


def _checked(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LIMIT_SECONDS)
    if done.returncode != 0:
        raise RunFailed(
            f"{command[0]} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.stdout
