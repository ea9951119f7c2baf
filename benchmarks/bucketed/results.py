"""Where the figures of this folder go, and on what they were taken."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.devices import first_gpu

FOLDER = Path(__file__).parent
PLOTS = FOLDER / "plots"


def described(on_gpu: bool) -> dict[str, Any]:
    """The device and the software that computed: its driver where it is a GPU."""
    import torch

    software = {"torch": torch.__version__}
    if not on_gpu:
        return {"device": f"CPU, {platform.machine()}", "driver": None, **software}
    gpu = first_gpu()
    return {"device": gpu.name, "driver": gpu.driver, **software}


def device_stem(on_gpu: bool) -> str:
    """What the names of its files end in: "cpu", "h200"."""
    return first_gpu().name.lower().removeprefix("nvidia ").replace(" ", "-") if on_gpu else "cpu"


def write(path: Path, result: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"written: {path}")
