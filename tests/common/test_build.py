"""One unchanged source, two targets: the GPU with NVIDIA's runtime, the virtual GPU with ours."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

import common.build.program
from common.build.engine.build import EnginePaths
from common.build.errors import BuildError
from common.build.program import Target, build_program
from common.build.toolchain import find_host_compiler
from common.core.errors import CourseError

SOURCE = """
#include "twice.cuh"
__global__ void scale(float* data) { data[threadIdx.x] = twice(data[threadIdx.x]) + OFFSET; }
extern "C" int entry(float* data) {
  scale<<<1, 32>>>(data);
  return static_cast<int>(cudaGetLastError());
}
int main() { return entry(nullptr) == 0 ? 0 : 7; }
"""
# Enough of a runtime for the dynamic linker to be satisfied; every call answers cudaErrorNotSupported.
FUNCTIONS = """
cudaGetLastError __cudaGetKernel __cudaLaunchKernel __cudaPushCallConfiguration __cudaPopCallConfiguration
__cudaRegisterFatBinary __cudaRegisterFatBinaryEnd __cudaRegisterFunction __cudaUnregisterFatBinary
""".split()


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "twice.cuh").write_text(
        "__device__ inline float twice(float x) { return 2 * x; }\n"
    )
    source = tmp_path / "scale.cu"
    source.write_text(SOURCE)
    return {"sources": [source], "include_dirs": [tmp_path / "include"], "defines": ["OFFSET=1"]}


@pytest.fixture
def stand_in_runtime(tmp_path, monkeypatch):
    """A library with the runtime's functions, in the place of the virtual GPU's."""
    library = tmp_path / "libstandin.so.1"
    text = "\n".join(f'extern "C" int {name}() {{ return 801; }}' for name in FUNCTIONS)
    command = [
        str(find_host_compiler().path),
        "-x",
        "c++",
        "-",
        "-shared",
        "-fPIC",
        "-Wl,-soname,libstandin.so.1",
    ]
    subprocess.run([*command, "-o", str(library)], input=text, text=True, check=True)
    paths = EnginePaths(engine=tmp_path / "none", runtime=library, cached=True)
    monkeypatch.setattr(common.build.program, "build_engine", lambda cache: paths)


def test_for_the_gpu_a_program_carries_machine_code_and_nvidias_runtime(sources, cache):
    built = build_program(**sources, target=Target.gpu("80"), cache=cache)
    needed = subprocess.run(["readelf", "-d", built.path], capture_output=True, text=True, check=True).stdout
    assert "libcudart" not in needed, "linked in, so that it runs wherever it is copied"
    # With a GPU the null pointer shows only at a synchronisation; without one the launch fails.
    assert subprocess.run([built.path], check=False).returncode in (0, 7)
    again = build_program(**sources, target=Target.gpu("80"), cache=cache)
    assert (built.cached, again.cached) == (False, True)
    assert again.path == built.path


@pytest.mark.usefixtures("stand_in_runtime")
def test_for_the_virtual_gpu_it_carries_ptx_as_text_and_finds_our_runtime(sources, cache):
    program = build_program(**sources, target=Target.virtual("80"), cache=cache)
    assert b".target sm_80" in program.path.read_bytes()
    assert b"scale.cu" in program.path.read_bytes(), "line marks name the source"
    assert subprocess.run([program.path], check=False).returncode == 7
    library = build_program(**sources, target=Target.virtual("90"), kind="shared", cache=cache)
    assert b".target sm_90" in library.path.read_bytes()
    assert ctypes.CDLL(str(library.path)).entry(None) == 801


def test_a_header_a_define_and_the_target_each_make_another_program(sources, cache):
    first = build_program(**sources, target=Target.gpu("80"), cache=cache)
    other_define = build_program(
        **{**sources, "defines": {"OFFSET": "2"}}, target=Target.gpu("80"), cache=cache
    )
    header = sources["include_dirs"][0] / "twice.cuh"
    header.write_text(header.read_text().replace("2 * x", "x + x + x"))
    other_header = build_program(**sources, target=Target.gpu("80"), cache=cache)
    assert len({first.path, other_define.path, other_header.path}) == 3


def test_what_cannot_be_built_is_a_sentence(cache, tmp_path):
    with pytest.raises(CourseError, match="no source file was given"):
        build_program([], Target.gpu("80"), cache=cache)
    with pytest.raises(CourseError, match="there is no source file nowhere.cu"):
        build_program([Path("nowhere.cu")], Target.gpu("80"), cache=cache)
    source = tmp_path / "empty.cu"
    source.write_text("")
    with pytest.raises(BuildError, match="Unsupported gpu architecture 'compute_12345'"):
        build_program([source], Target.gpu("12345"), cache=cache)
    with pytest.raises(BuildError, match="the file has no main"):
        build_program([source], Target.gpu("80"), cache=cache)
