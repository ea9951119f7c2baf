"""nvcc's steps run side by side make what nvcc makes, and say what nvcc says."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from pathlib import Path

import pytest

import common.build.compile
from common.build.compile import compile_units
from common.build.errors import BuildError
from common.build.language import LAMBDA_FLAG, compile_cuda
from common.build.nvcc_steps import steps_of
from common.build.program import Target
from common.build.toolchain import find_host_compiler, find_nvcc
from common.build.unit import Compiled, Unit
from common.machine_code.embedded_ptx import embedded_ptx

KERNEL = """
namespace { __device__ int calls; __global__ void scaled(float* to) { to[threadIdx.x] *= 2; ++calls; } }
static __constant__ float table[4];
extern "C" void run(float* to) { int unused; scaled<<<1, 32>>>(to); }
"""
LAMBDA = """
template <class F> __global__ void each(F f) { f(threadIdx.x); }
void run(int* to) { each<<<1, 32>>>([=] MARK (int i) { to[i] = i; }); }
"""


def unit_of(source: Path, *flags: str, target: Target | None = None) -> Unit:
    nvcc, cxx = find_nvcc(), find_host_compiler()
    usual = (str(nvcc.path), "-ccbin", str(cxx.path), "-c", "-std=c++17", "-O1", "-Xcompiler", "-Wall")
    command = (*usual, *(target or Target.virtual()).compile_flags(), *flags)
    return Unit(source, command, "fingerprint", spelled=source.name, toolchain_root=nvcc.root)


def compiled(cache, unit: Unit) -> Compiled:
    return compile_units([unit], cache=cache, label="building", timeout=120)[0]


@pytest.fixture(autouse=True)
def two_at_once(monkeypatch):
    monkeypatch.setenv("COURSE_JOBS", "2")


@pytest.fixture
def kernel(tmp_path):
    (tmp_path / "scale.h").write_text(
        "#ifdef __CUDA_ARCH__\n#define SCALE 2\n#else\n#define SCALE 3\n#endif\n"
    )
    source = tmp_path / "my kernel.cu"
    source.write_text(KERNEL)
    return source


def symbols(path: Path) -> set[str]:
    """Without the names that the toolchain makes up for what is private to a file, and their lengths."""
    listed = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout
    names = {" ".join(line.split()[-2:]) for line in listed.splitlines()}
    plain = {re.sub(r"\d+|_GLOBAL__N_.*?(?=L?\d+(?:scaled|calls))", "", name) for name in names}
    return {name for name in plain if "fatbinData" not in name and "packed" not in name}


@pytest.mark.parametrize("target", [Target.virtual(), Target.gpu("90")], ids=["virtual", "gpu"])
def test_they_make_what_nvcc_makes(cache, kernel, monkeypatch, target):
    beside = compiled(cache, unit_of(kernel, target=target))
    monkeypatch.setattr(common.build.compile, "steps_of", lambda *arguments, **options: None)
    alone = compiled(cache, unit_of(kernel, "-DOTHER_KEY", target=target))
    assert symbols(beside.path) == symbols(alone.path)
    assert 'variable "unused" was declared' in beside.log
    assert beside.log == alone.log
    if target.on_virtual:
        codes = [(embedded_ptx(one.path.read_bytes()) or b"").decode() for one in (beside, alone)]
        assert "scaled" in codes[0]
        bodies = [re.sub(r"\w+(scaled|calls)\w*", r"\1", code) for code in codes]
        assert re.findall(r"^\t\w.*;$", bodies[0], re.M) == re.findall(r"^\t\w.*;$", bodies[1], re.M)


def test_a_header_that_only_the_device_reads_is_a_dependency(cache, tmp_path):
    (tmp_path / "only.h").write_text("#define VALUE 1\n")
    source = tmp_path / "kernel.cu"
    source.write_text(
        '#ifdef __CUDA_ARCH__\n#include "only.h"\n#else\n#define VALUE 0\n#endif\n'
        "__global__ void k(int* to) { *to = VALUE; }\n"
    )
    unit = unit_of(source)
    assert not compiled(cache, unit).cached
    assert compiled(cache, unit).cached
    (tmp_path / "only.h").write_text("#define VALUE 2\n")
    assert not compiled(cache, unit).cached


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__global__ void k(int* p) { *p = unknown; }", 'identifier "unknown" is undefined'),
        ("int host() { return unknown; }", 'identifier "unknown" is undefined'),
        ('#include "nowhere.h"\n', "nowhere.h: No such file"),
        ('__global__ void k() { asm("nosuch;"); }', "Not a name of any known instruction: 'nosuch'"),
        ("__host__ int two() { return 1 }", 'expected a ";"'),
    ],
)
def test_a_mistake_is_said_once_and_as_nvcc_says_it(cache, tmp_path, text, words):
    source = tmp_path / "kernel.cu"
    source.write_text(text)
    with pytest.raises(BuildError) as raised:
        compiled(cache, unit_of(source))
    errors = [one for one in raised.value.diagnostics if one.severity == "error"]
    assert sum(words in one.message for one in errors) == 1, raised.value.log
    assert raised.value.log.count(words) == 1


def test_commands_that_are_not_known_are_left_to_nvcc(cache, kernel, tmp_path):
    two = unit_of(kernel, "-gencode", "arch=compute_80,code=sm_80", target=Target.gpu("90"))
    assert steps_of(two, tmp_path, tmp_path / "out.o") is None
    assert compiled(cache, two).path.stat().st_size > 0


@pytest.mark.parametrize("mark", ["__device__", "MARKED"], ids=["seen", "behind a macro"])
def test_lambdas_for_the_device_are_compiled_wherever_they_hide(cache, tmp_path, mark):
    source = tmp_path / "kernel.cu"
    source.write_text(f"#define MARKED __device__\n{LAMBDA.replace('MARK', mark)}")
    (made,) = compile_cuda([unit_of(source)], cache=cache, label="building", timeout=120, walls=None)
    assert LAMBDA_FLAG in made.unit.command


def test_files_without_such_lambdas_do_without_the_flag(cache, kernel):
    (made,) = compile_cuda([unit_of(kernel)], cache=cache, label="building", timeout=120, walls=None)
    assert made.unit == dataclasses.replace(made.unit, command=unit_of(kernel).command)
