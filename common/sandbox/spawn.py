"""Start processes from a thread that lives as long as this process does.

A process can ask to be killed when its parent dies, but the kernel takes the thread that started it for its
parent. Started from a short-lived thread of a pool, it would be killed in the midst of its work.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class _Spawner:
    def __init__(self) -> None:
        self.forget()
        os.register_at_fork(after_in_child=self.forget)  # a child has the object, but not its thread

    def forget(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawner")

    def start(self, command: Sequence[str], options: dict[str, Any]) -> subprocess.Popen[bytes]:
        return self._thread.submit(_popen, command, options).result()


def _popen(command: Sequence[str], options: dict[str, Any]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, **options)


_SPAWNER = _Spawner()


def spawn(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """subprocess.Popen(command, **options), in a thread that ends with this process."""
    return _SPAWNER.start(command, options)
