"""The CPU time of a command by program: Python, compilers, the virtual GPU's engine."""

from __future__ import annotations

import os
import threading
from pathlib import Path

_LOOK_SECONDS = 0.005  # time after the last sample of a process counts as Python's
_TICKS = os.sysconf("SC_CLK_TCK")
_PYTHON, _COMPILERS, _ENGINE = "Python", "compilers", "engine"
KINDS = (_PYTHON, _COMPILERS, _ENGINE)
_PROGRAMS = {
    **dict.fromkeys(("nvcc", "cicc", "cudafe++", "ptxas", "fatbinary", "nvlink"), _COMPILERS),
    **dict.fromkeys(("cc1plus", "g++", "as", "ld", "collect2", "ninja"), _COMPILERS),
    # cicc is started through the dynamic loader (common/build/nvcc/fixed_names.py). Linux cuts names to 15.
    **dict.fromkeys(("ld-linux-x86-64", "ld-linux-aarch6"), _COMPILERS),
    "vgpu-engine": _ENGINE,
}


class CpuByProgram:
    """Samples a process and all its descendants until `seconds` is called."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._found: dict[tuple[int, str], tuple[str, float]] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def seconds(self, together: float) -> dict[str, float]:
        """By kind. `together` is the command's total: time not attributed to another kind is Python's."""
        self._done.set()
        self._thread.join()
        spent = dict.fromkeys(KINDS, 0.0)
        for name, seconds in self._found.values():
            if kind := _PROGRAMS.get(name):
                spent[kind] += seconds
        return {**spent, _PYTHON: together - sum(spent.values())}

    def _watch(self) -> None:
        below = {self._pid}
        while not self._done.wait(_LOOK_SECONDS):
            for pid, fields in sorted(_processes().items()):  # parents come before their children
                if pid in below or fields.parent in below:
                    below.add(pid)
                    self._found[pid, fields.started] = fields.name, fields.seconds


class _Fields:
    """A process as in /proc/PID/stat."""

    def __init__(self, text: str) -> None:
        head, _, rest = text.rpartition(")")
        fields = rest.split()
        self.name = head.partition("(")[2]
        self.parent = int(fields[1])
        self.seconds = (int(fields[11]) + int(fields[12])) / _TICKS
        self.started = fields[19]


def _processes() -> dict[int, _Fields]:
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                found[int(name)] = _Fields(Path(f"/proc/{name}/stat").read_text())
            except OSError:
                continue  # it ended meanwhile
    return found
