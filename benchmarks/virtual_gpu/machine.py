"""The machine on which figures of a GPU are recorded: what it must have, and what a record says of it."""

from __future__ import annotations

import shutil
import subprocess

from common.gpu.devices import first_gpu


def missing_tools(*tools: str) -> str:
    """A sentence that names those of nvidia-smi and `tools` which are not on PATH; empty if all are."""
    missing = [tool for tool in (*tools, "nvidia-smi") if shutil.which(tool) is None]
    return f"recording needs {', '.join(missing)} on PATH: run it on a machine with a GPU" if missing else ""


def machine(*tools: str) -> dict[str, str]:
    """The GPU, its driver and the version of each tool."""
    gpu = first_gpu()
    return {
        "gpu": gpu.name,
        "driver": gpu.driver,
        **{tool.replace("-", "_"): version(tool) for tool in tools},
    }


def version(tool: str) -> str:
    said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout
    found = (line.strip() for line in said.splitlines() if "ersion" in line or "release" in line)
    return next(found, "unknown")
