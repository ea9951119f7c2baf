"""Sends launches of Triton kernels to the process that runs them: for a worker without a GPU. A script's
part, loaded by its path."""

from __future__ import annotations

import base64
import json
import os
import socket
from typing import Any

import torch


class Launcher:
    """The other end of kernel_script.py. `mapped` gives the address and the size of the tensors' memory."""

    def __init__(self, descriptor: int, mapped: Any) -> None:
        self._stream = socket.socket(fileno=descriptor).makefile("rwb")
        self._mapped = mapped

    def install(self, interpreter: Any, autotuner: Any) -> None:
        """Launches by Triton's interpreter go through here from now on. Without a GPU nothing is tuned."""

        def run(function: Any, *arguments: Any, grid: Any, warmup: bool, **named: Any) -> None:
            if not warmup:
                sizes = (
                    grid({**dict(zip(function.arg_names, arguments, strict=False)), **named})
                    if callable(grid)
                    else grid
                )
                self._launch(function.__name__, sizes, arguments, named)

        interpreter.InterpretedFunction.run = run
        autotuner.Autotuner.run = _first_configuration

    def _launch(self, name: str, grid: Any, arguments: Any, named: dict[str, Any]) -> None:
        base, size = self._mapped()
        travelling: list[torch.Tensor] = []

        def described(item: Any) -> Any:
            if isinstance(item, torch.Tensor):
                shape = {"dtype": str(item.dtype).removeprefix("torch."), "shape": list(item.shape)}
                shape["strides"] = list(item.stride())
                last = sum(
                    (length - 1) * stride for length, stride in zip(item.shape, item.stride(), strict=True)
                )
                span = (last + 1) * item.element_size() if item.numel() else 0
                if base <= item.data_ptr() and item.data_ptr() + span <= base + size:
                    return {**shape, "offset": item.data_ptr() - base, "bytes": span}
                flat = item.as_strided((last + 1 if item.numel() else 0,), (1,))
                travelling.append(flat)
                data = base64.b64encode(flat.contiguous().view(torch.uint8).numpy().tobytes()).decode()
                return {**shape, "data": data, "number": len(travelling) - 1, "address": item.data_ptr()}
            if isinstance(item, tuple | list):
                return list(map(described, item))
            if item is None or isinstance(item, bool | int | float | str):
                return item
            return {"type": str(getattr(item, "value", item)).removeprefix("tl.")}

        asked = {
            "kernel": name,
            "base": base,
            "grid": [int(one) for one in grid],
            "arguments": list(map(described, arguments)),
            "named": {key: described(item) for key, item in named.items()},
        }
        self._stream.write(json.dumps(asked).encode() + b"\n")
        self._stream.flush()
        line = self._stream.readline()
        if not line:
            raise RuntimeError("the process that runs kernels has ended")
        answer = json.loads(line)
        if "problem" in answer:
            raise RuntimeError(answer["problem"])
        for number, data in answer["back"].items():
            flat = travelling[int(number)]
            flat.copy_(torch.frombuffer(bytearray(base64.b64decode(data)), dtype=flat.dtype)[: flat.numel()])


def _first_configuration(tuner: Any, *arguments: Any, **named: Any) -> Any:
    return tuner.fn.run(*arguments, **{**named, **tuner.configs[0].kwargs})


def descriptor() -> int | None:
    """Where launches go; None where they are run in this process, or by a GPU."""
    return int(os.environ["LAUNCHES_FD"]) if "LAUNCHES_FD" in os.environ else None
