"""Files of figures: where they were measured, their names, and how they are written."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.core.files import write_json
from common.gpu.devices import first_gpu


def described(on_gpu: bool) -> dict[str, Any]:
    """The device and the software that computed: its driver where it is a GPU."""
    import torch

    software = {"torch": torch.__version__}
    if not on_gpu:
        return {"device": f"CPU, {platform.machine()}", "driver": None, **software}
    gpu = first_gpu()
    return {"device": gpu.name, "driver": gpu.driver, **software}


def device_stem(on_gpu: bool) -> str:
    """The ending of its files' names: "cpu", "h200"."""
    return first_gpu().name.lower().removeprefix("nvidia ").replace(" ", "-") if on_gpu else "cpu"


def save(path: Path, result: Mapping[str, Any]) -> None:
    """All or nothing: an interrupted run leaves the file of its last save."""
    write_json(path, result)


def write(path: Path, result: Mapping[str, Any]) -> None:
    save(path, result)
    print(f"written: {path}")
