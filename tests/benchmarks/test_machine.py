"""What a record says of the machine it was made on."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.virtual_gpu import machine
from common.gpu.devices import Gpu

SAID = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\n"


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(machine, "first_gpu", lambda: Gpu("NVIDIA H200", "90", "580.1"))
    return tmp_path


def install(folder: Path, name: str, said: str) -> None:
    tool = folder / name
    tool.write_text(f"#!/bin/sh\necho '{said}'\n")
    tool.chmod(0o755)


def test_a_record_names_the_gpu_and_the_version_of_each_tool(tools: Path) -> None:
    install(tools, "nvcc", SAID)
    install(tools, "compute-sanitizer", "NVIDIA (R) Compute Sanitizer\nVersion 2025.3.1")
    assert machine.machine("nvcc", "compute-sanitizer") == {
        "gpu": "NVIDIA H200",
        "driver": "580.1",
        "nvcc": "Cuda compilation tools, release 13.0, V13.0.88",
        "compute_sanitizer": "Version 2025.3.1",
    }


def test_tools_that_are_missing_are_named(tools: Path) -> None:
    install(tools, "nvcc", SAID)
    assert machine.missing_tools("nvcc", "ncu").startswith("recording needs ncu, nvidia-smi on PATH")
    install(tools, "ncu", "")
    install(tools, "nvidia-smi", "")
    assert machine.missing_tools("nvcc", "ncu") == ""
