"""Machine code as ptxas writes it: which PTX line, which loop, what it does to memory."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.build.resources import resources, write_for_engine
from common.build.toolchain import find_nvcc
from common.machine_code.cubin import NotACubin, read
from common.machine_code.instructions import decode
from common.machine_code.listing import listing

SOURCE = """
extern "C" __global__ void one_load_a_round(const float* from, float* to, int count) {
  float sum = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < count; i += blockDim.x) sum += from[i];
  to[threadIdx.x] = sum;
}
extern "C" __global__ void four_loads_a_round(const float* from, float* to, int count) {
  float sum = 0;
#pragma unroll 4
  for (int i = 0; i < count; ++i) sum += from[i * 32 + threadIdx.x];
  to[threadIdx.x] = sum;
}
extern "C" __global__ void through_shared(const int* from, int* to, unsigned* counter) {
  __shared__ int tile[128];
  tile[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  to[threadIdx.x] = tile[127 - threadIdx.x];
  atomicAdd(counter, 1u);
}
extern "C" __global__ void divides(const float* from, float* to) {
  to[threadIdx.x] = 1.0f / from[threadIdx.x];
}
"""


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("cubin")
    (folder / "k.cu").write_text(SOURCE)
    command = [str(find_nvcc().path), "-cubin", "-lineinfo", "-O3", "-arch=sm_90", "k.cu", "-o", "k.cubin"]
    subprocess.run(command, cwd=folder, check=True)
    return (folder / "k.cubin").read_bytes()


@pytest.fixture(scope="module")
def ptx(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("ptx")
    (folder / "k.cu").write_text(SOURCE)
    command = [str(find_nvcc().path), "-ptx", "-lineinfo", "-O3", "-arch=compute_90", "k.cu", "-o", "k.ptx"]
    subprocess.run(command, cwd=folder, check=True)
    return (folder / "k.ptx").read_text().splitlines()


def test_every_memory_instruction_comes_from_a_ptx_line_that_does_the_same(cubin: bytes, ptx: list[str]):
    words = {
        "load": "ld.global",
        "store": "st.global",
        "shared load": "ld.shared",
        "shared store": "st.shared",
        "update": "red.global",
    }
    seen = set()
    for kernel in read(cubin):
        for instruction in decode(kernel.code, kernel.lines):
            if not instruction.memory:
                continue
            text = ptx[instruction.line - 1]
            same = words[instruction.memory]
            assert same in text or same.replace("red", "atom") in text, (instruction, text)
            seen.add(instruction.memory)
    assert seen == set(words)


def test_loops_hold_as_many_loads_as_rounds_were_unrolled(cubin: bytes):
    loads = {}
    for kernel in read(cubin):
        found = listing(kernel)
        assert found is not None
        loads[kernel.name] = [found.memory[first : last + 1].count("L") for first, last in found.loops]
    assert loads["one_load_a_round"] == [1]
    assert max(loads["four_loads_a_round"]) >= 4
    assert loads["through_shared"] == []


def test_a_branch_to_itself_behind_the_end_is_no_loop(cubin: bytes):
    for kernel in read(cubin):
        found = listing(kernel)
        assert found is not None
        assert all(first < last for first, last in found.loops)


def test_what_is_only_called_belongs_to_no_line(cubin: bytes):
    (kernel,) = (kernel for kernel in read(cubin) if kernel.name == "divides")
    calls = [i.target for i in decode(kernel.code, kernel.lines) if i.calls]
    assert calls
    found = listing(kernel)
    assert found is not None
    assert set(found.lines[min(calls) // 16 :]) == {0}
    assert 0 not in found.lines[: min(calls) // 16]


def test_the_engine_gets_registers_and_code(tmp_path: Path):
    source = tmp_path / "k.cu"
    source.write_text(SOURCE)
    kernels = resources(source, arches=["sm_90"])["sm_90"]
    assert all(kernel.machine is not None for kernel in kernels)
    text = write_for_engine(kernels, tmp_path).read_text()
    assert '"one_load_a_round"' in text
    assert '"machine"' in text


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02" + bytes(80), b"text"])
def test_anything_else_is_refused(data: bytes):
    with pytest.raises(NotACubin):
        read(data)


@given(at=st.integers(0, 1 << 16), byte=st.integers(0, 255))
def test_a_damaged_cubin_is_read_or_refused_and_never_more(cubin: bytes, at: int, byte: int):
    damaged = bytearray(cubin)
    damaged[at % len(damaged)] = byte
    try:
        for kernel in read(bytes(damaged)):
            listing(kernel)
    except NotACubin:
        pass
