"""Arrays, textures and surfaces: right values, and findings where a kernel uses them wrongly."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from common.virtual_gpu.session import RunReport
from tests.virtual_gpu.programs_together import ProgramsTogether, build_together
from tests.virtual_gpu.small_programs import build_text, run

SOURCES = sorted((Path(__file__).parent / "textures").glob("*.cu"))
KERNELS = """
__global__ void fetch(cudaTextureObject_t t, float* x) { x[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); }
__global__ void store(cudaSurfaceObject_t s) { surf2Dwrite(1.0f, s, threadIdx.x * 4, 1); }
int main() {
  float *memory, *out;
  cudaMalloc(&memory, 128);
  cudaMalloc(&out, 128);
  cudaResourceDesc resource{};
  cudaTextureDesc how{};
  cudaTextureObject_t object = 0;
"""
LINEAR = """
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {memory, cudaCreateChannelDesc<float>(), 128};
  cudaCreateTextureObject(&object, &resource, &how, nullptr);
"""
END = '  std::printf("%s", cudaGetErrorName(cudaDeviceSynchronize()));\n}\n'


@cache
def programs() -> ProgramsTogether:
    return build_together(SOURCES, flags=(), host_optimisation="-O1")


@pytest.mark.parametrize("name", [path.stem for path in SOURCES])
def test_values_are_those_of_the_programming_guide(name):
    result = programs().run(name, timeout=120)
    assert (result.status, result.stdout) == (0, "ok\n"), result.stdout + result.stderr
    assert not result.report.findings
    assert not result.report.leaks


def run_text(*parts: str) -> RunReport:
    return run(build_text("".join(parts)))


def test_a_texel_that_nothing_has_written_is_found():
    [finding] = run_text(KERNELS, LINEAR, "  fetch<<<1, 32>>>(object, out);\n", END).report.findings
    assert (finding.kind, finding.place[0].line) == ("init", 5)
    assert "cudaMalloc #1" in finding.message


def test_memory_that_was_freed_under_its_texture_is_found():
    freed = "  cudaMemset(memory, 0, 128);\n  cudaFree(memory);\n"
    [finding] = run_text(KERNELS, LINEAR, freed, "  fetch<<<1, 32>>>(object, out);\n", END).report.findings
    assert finding.kind == "memory"
    assert "which has been freed" in finding.message


def test_what_is_no_object_is_found():
    result = run_text(KERNELS, "  fetch<<<1, 32>>>(object, out);\n", END)
    [finding] = result.report.findings
    assert "uses 0x0, which is no texture or surface object" in finding.message
    assert result.stdout == "cudaErrorIllegalAddress"


def test_a_store_outside_of_a_surface_is_found_with_its_place():
    surface = """
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMallocArray(&array, &format, 16, 4);
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaCreateSurfaceObject(&object, &resource);
  store<<<1, 32>>>(object);
"""
    [finding] = run_text(KERNELS, surface, END).report.findings
    assert (finding.kind, finding.count) == ("memory", 16)
    assert "writes 4 bytes at byte 64 of row 1 of a surface of 16 x 4 elements" in finding.message


def test_arrays_that_are_never_freed_are_leaks_by_name():
    leak = """
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMallocArray(&array, &format, 16, 4);
  cudaFree(memory);
  cudaFree(out);
"""
    [left] = run_text(KERNELS, leak, END).report.leaks
    assert "cudaMallocArray #3" in left.message


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "  cudaArray_t a;\n  const cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();\n"
            "  cudaMalloc3DArray(&a, &f, make_cudaExtent(4, 4, 6), cudaArrayCubemap);\n",
            "cudaMalloc3DArray with cudaArrayCubemap",
        ),
        (
            "  cudaMipmappedArray_t a;\n  const cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();\n"
            "  cudaMallocMipmappedArray(&a, &f, make_cudaExtent(4, 4, 0), 2);\n",
            "cudaMallocMipmappedArray",
        ),
    ],
    ids=["cubemap", "mipmaps"],
)
def test_what_is_missing_is_refused_by_name(text, name):
    assert f"{name} is not supported here" in run_text(KERNELS, text, END).stderr
