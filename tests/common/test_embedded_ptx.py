"""The PTX inside a library is the compiler's own, and ptxas says of it what it says of the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.build.resources import resources, resources_in
from common.machine_code.embedded_ptx import embedded_ptx

SOURCE = """
template <int N>
__global__ void scaled(const float* from, float* to) {
  __shared__ float tile[32 * N];
  for (int i = 0; i < N; ++i) tile[threadIdx.x * N + i] = from[threadIdx.x + 32 * i];
  __syncthreads();
  for (int i = 0; i < N; ++i) to[threadIdx.x + 32 * i] = tile[(31 - threadIdx.x) * N + i] * N;
}
extern "C" void run(const float* from, float* to) {
  scaled<1><<<1, 32>>>(from, to);
  scaled<8><<<1, 32>>>(from, to);
}
"""
DECOY = '__attribute__((section(".nv_fatbin"), used)) static const char decoy[] = "device code of its own";\n'


def library(folder: Path, *texts: str) -> Path:
    sources = [folder / f"kernel_{number}.cu" for number in range(len(texts))]
    for source, text in zip(sources, texts, strict=True):
        source.write_text(text)
    return build_program(sources, Target.virtual(), kind="shared").path


def test_ptxas_says_the_same_of_a_library_as_of_its_source(tmp_path: Path) -> None:
    found = resources_in(library(tmp_path, SOURCE), "sm_90")
    wanted = resources(tmp_path / "kernel_0.cu", arches=["sm_90"])["sm_90"]
    assert found == wanted
    assert [kernel.machine for kernel in found] == [kernel.machine for kernel in wanted]
    assert {kernel.shared for kernel in found} == {32 * 4, 32 * 4 * 8}
    assert all(kernel.machine is not None for kernel in found)


@pytest.mark.parametrize(
    "texts", [(DECOY + SOURCE,), (SOURCE, "__global__ void other() {}\n")], ids=["a decoy", "two sources"]
)
def test_what_is_not_one_text_of_the_compilers_is_not_taken(tmp_path: Path, texts: tuple[str, ...]) -> None:
    path = library(tmp_path, *texts)
    assert embedded_ptx(path.read_bytes()) is None
    assert resources_in(path, "sm_90") is None


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02" + bytes(80), b"text"])
def test_what_is_no_library_has_none(data: bytes) -> None:
    assert embedded_ptx(data) is None
