"""The compiler from NVIDIA's wheels does what the machine's does.

It is taken from where it already is (this interpreter, or the site-packages folder that COURSE_TEST_WHEELS
names), else fetched into the build cache by pip, once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from common.build import toolchain
from common.build.cache import default_cache
from common.build.compile import make_entry
from common.build.program import Target, build_program
from common.build.resources import resources
from common.build.toolchain import find_nvcc
from common.build.unit import digest, hash_file
from common.core.paths import REPOSITORY

REQUIREMENTS = REPOSITORY / "requirements/wheels.txt"
SOURCE = """
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda/std/atomic>
#include <cuda_fp16.h>
__global__ void halve(__half* data) { data[threadIdx.x] = __hmul(data[threadIdx.x], __float2half(0.5f)); }
int main() {
  std::printf("runs\\n");
}
"""


def installed_wheels() -> Path | None:
    chosen = os.environ.get("COURSE_TEST_WHEELS")
    places = [Path(chosen) / "nvidia"] if chosen else toolchain._nvidia_packages()
    return next((place for place in places if (place / "cu13" / "bin" / "nvcc").is_file()), None)


def fetch(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps"]
    command = [*pip, "--target", str(folder), "-r", str(REQUIREMENTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"NVIDIA's wheels could not be fetched: {done.stderr.strip().splitlines()[-1:]}")


@pytest.fixture(scope="module")
def nvidia_folder() -> Path:
    if (folder := installed_wheels()) is not None:
        return folder
    entry = make_entry(digest("test wheels", hash_file(REQUIREMENTS)), fetch, default_cache())
    return entry.path / "nvidia"


@pytest.fixture
def only_wheels(nvidia_folder, tmp_path, monkeypatch):
    """A machine whose only nvcc is the wheels', with a host compiler on PATH as everywhere."""
    for tool in ("g++", "gcc", "as", "ld", "sh", "mv", "rm", "cat", "env", "sed"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool) or "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("COURSE_NVCC", raising=False)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "no-cuda"))
    monkeypatch.setattr(toolchain, "_nvidia_packages", lambda: [nvidia_folder])


@pytest.mark.usefixtures("only_wheels")
def test_the_wheels_compile_link_and_report_resources(cache, tmp_path):
    nvcc = find_nvcc()
    assert (nvcc.origin, nvcc.version) == ("wheels", "13.0.88")
    source = tmp_path / "halve.cu"
    source.write_text(SOURCE)
    built = build_program([source], Target.gpu("90"), cache=cache)
    assert subprocess.run([built.path], capture_output=True, text=True, check=True).stdout == "runs\n"
    [kernel] = resources(source, arches=["sm_80"], cache=cache)["sm_80"]
    assert kernel.demangled == "halve(__half*)"
    assert kernel.registers > 0


@pytest.mark.usefixtures("only_wheels")
def test_the_wheels_have_every_header_that_the_virtual_gpu_is_made_from(tmp_path):
    runtime = REPOSITORY / "common" / "virtual_gpu" / "runtime"
    command = [sys.executable, str(runtime / "gen_stubs.py"), "--cuda-include", str(find_nvcc().include)]
    command += ["--sources", *map(str, runtime.glob("*.cpp")), "--output", str(tmp_path / "stubs.cpp")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
