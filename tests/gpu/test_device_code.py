"""The driver API, the heap of device code and launches from it: a GPU answers as the virtual GPU does."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from common.build.toolchain import find_host_compiler, find_nvcc
from common.gpu.devices import first_gpu
from tests.virtual_gpu import test_device_heap, test_device_launches, test_driver_api

LIMIT_SECONDS = 60.0
DRIVER_PROGRAMS = sorted(test_driver_api.SOURCES.glob("*.cu"))
LAUNCHES = {
    "one_each": [32 * 33 // 2] * 32,
    "in_order": [7] * 32,
    "deeper": test_device_launches.LEVELS,
    "tail": [*test_device_launches.LEVELS[:31], 8],
    "streams": [*[5] * 20, *[0] * 4, *[5] * 7, 0],
    "wrong": [1, 1, *[0] * 30],
    "quicksort": list(range(32)),
}


@cache
def built(source: Path, folder: Path) -> Path:
    """By NVIDIA's nvcc alone, which also links device code."""
    program = folder / source.stem
    command = [str(find_nvcc().path), "-ccbin", str(find_host_compiler().path), "-rdc=true"]
    command += [f"-arch=sm_{first_gpu().cc}", str(source), "-o", str(program), "-lcudadevrt", "-lcuda"]
    subprocess.run(command, check=True, timeout=600)
    return program


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("device_code")


def output(program: Path, *arguments: str) -> str:
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("source", DRIVER_PROGRAMS, ids=lambda source: source.stem)
def test_the_driver_api_answers_alike(source, folder):
    assert output(built(source, folder)) == "ok\n"


@pytest.mark.parametrize("what", ["right_uses", "limits", "host_copy"])
def test_the_heap_answers_alike(what, folder):
    output(built(test_device_heap.SOURCE, folder), what)


@pytest.mark.parametrize("what", LAUNCHES)
def test_launches_from_device_code_end_alike(what, folder):
    last = output(built(test_device_launches.SOURCE, folder), what).splitlines()[-1]
    status, _, values = last.partition(":")
    assert status == "0"
    assert [int(value) for value in values.split()] == LAUNCHES[what]
