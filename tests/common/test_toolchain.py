"""The compilers are found in the promised order, and a missing one is a sentence with the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.build import toolchain
from common.build.toolchain import (
    ToolchainError,
    compiler_variables,
    find_host_compiler,
    find_ninja,
    find_nvcc,
)

FAKE_NVCC = """#!/bin/sh
echo "nvcc: NVIDIA (R) Cuda compiler driver"
echo "Cuda compilation tools, release {release}, V{release}.88"
"""


@pytest.fixture
def bare_machine(tmp_path, monkeypatch):
    """No nvcc anywhere: none on PATH, no /usr/local/cuda, no wheels. Yields the folder that is PATH."""
    path = tmp_path / "bin"
    path.mkdir()
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.delenv("COURSE_NVCC", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "no-cuda"))
    monkeypatch.setattr(toolchain, "_nvidia_packages", list)
    return path


def fake_toolkit(root: Path, release: str = "13.0") -> Path:
    """A folder that looks like a CUDA toolkit; returns its nvcc."""
    for part in (*toolchain._PARTS, "nvvm/bin/cicc", "lib64/libcudart_static.a"):
        (root / part).parent.mkdir(parents=True, exist_ok=True)
        (root / part).touch()
    nvcc = root / "bin" / "nvcc"
    nvcc.write_text(FAKE_NVCC.format(release=release))
    nvcc.chmod(0o755)
    return nvcc


def test_no_nvcc_is_a_sentence_with_the_way_out(bare_machine):
    with pytest.raises(ToolchainError, match="no nvcc of CUDA 13 was found.*COURSE_WHEELS=1 ./course doctor"):
        find_nvcc()


def test_an_older_cuda_is_passed_over_and_named(bare_machine, tmp_path):
    old = fake_toolkit(tmp_path / "cuda-12", "12.9")
    (bare_machine / "nvcc").symlink_to(old)
    with pytest.raises(ToolchainError, match="it is CUDA 12.9, and CUDA 13 is needed"):
        find_nvcc()


def test_path_comes_before_the_usual_folder_and_that_before_the_wheels(bare_machine, tmp_path, monkeypatch):
    wheels = tmp_path / "site-packages" / "nvidia"
    fake_toolkit(wheels / "cu13")
    monkeypatch.setattr(toolchain, "_nvidia_packages", lambda: [wheels])
    assert find_nvcc().origin == "wheels"
    usual = fake_toolkit(tmp_path / "no-cuda")
    assert (find_nvcc().origin, find_nvcc().path) == ("machine", usual)
    on_path = fake_toolkit(tmp_path / "elsewhere")
    (bare_machine / "nvcc").symlink_to(on_path)
    assert find_nvcc().root == tmp_path / "elsewhere"
    chosen = fake_toolkit(tmp_path / "chosen", "13.1")
    monkeypatch.setenv("COURSE_NVCC", str(chosen))
    assert (find_nvcc().origin, find_nvcc().version) == ("COURSE_NVCC", "13.1.88")


@pytest.mark.parametrize(
    ("release", "reason"),
    [("12.4", "it is CUDA 12.4"), (None, "there is no such file"), ("x", "does not answer")],
)
def test_a_wrong_course_nvcc_is_an_error_and_nothing_else_is_tried(tmp_path, monkeypatch, release, reason):
    nvcc = tmp_path / "bin" / "nvcc" if release is None else fake_toolkit(tmp_path, release)
    monkeypatch.setenv("COURSE_NVCC", str(nvcc))
    with pytest.raises(ToolchainError, match=f"COURSE_NVCC=.*{reason}"):
        find_nvcc()


def test_an_incomplete_set_of_wheels_says_which_wheel_is_missing(bare_machine, tmp_path, monkeypatch):
    nvcc = fake_toolkit(tmp_path / "nvidia" / "cu13")
    (nvcc.parent.parent / "nvvm" / "bin" / "cicc").unlink()
    monkeypatch.setattr(toolchain, "_nvidia_packages", lambda: [tmp_path / "nvidia"])
    with pytest.raises(ToolchainError, match=r"lacks nvvm/bin/cicc \(nvidia-nvvm\)"):
        find_nvcc()


def test_a_compiler_replaced_in_place_has_another_fingerprint(tmp_path, monkeypatch):
    nvcc = fake_toolkit(tmp_path)
    monkeypatch.setenv("COURSE_NVCC", str(nvcc))
    before = find_nvcc().fingerprint
    assert find_nvcc().fingerprint == before
    (tmp_path / "bin" / "ptxas").write_text("patched")
    nvcc.write_text(nvcc.read_text() + "# patched\n")
    assert find_nvcc().fingerprint != before


def test_a_missing_host_compiler_and_a_missing_ninja_are_sentences(bare_machine, monkeypatch):
    with pytest.raises(ToolchainError, match="the C\\+\\+ compiler 'g\\+\\+' was not found.*install g\\+\\+"):
        find_host_compiler()
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(ToolchainError, match="'no-such-compiler' was not found"):
        find_host_compiler()
    monkeypatch.setattr(toolchain.sysconfig, "get_path", lambda name: "/nonexistent")
    with pytest.raises(ToolchainError, match="ninja was not found"):
        find_ninja()


def test_this_machine_has_what_the_course_needs():
    nvcc = find_nvcc()
    assert (nvcc.include / "cuda_runtime.h").is_file()
    assert (nvcc.library / "libcudart_static.a").is_file()
    assert find_host_compiler().version
    assert find_ninja().version


def test_flags_for_nvcc_in_the_environment_concern_nvcc_alone(monkeypatch):
    compiler = str(find_host_compiler().path)
    before = {name: compiler_variables(name) for name in (compiler, "nvcc")}
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-DX")
    assert compiler_variables(compiler) == before[compiler], "the virtual GPU would be built again"
    assert compiler_variables("nvcc") != before["nvcc"]
