"""Build and run the programs of this folder, and look for what they leave behind."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from common.build.program import Target, build_program
from common.virtual_gpu.session import RunReport, run_program
from tests.waiting import wait_until

FOLDER = Path(__file__).resolve().parent
_MARK = "HOSTILE_RUN"
_SHARED_MEMORY = Path("/dev/shm")


@cache
def built(name: str) -> Path:
    return build_program([FOLDER / f"{name}.cu"], Target.virtual()).path


def run(name: str, *cases: str, timeout: float = 60.0, **options: object) -> RunReport:
    """Run one of the programs with the engine's options, such as threads=2."""
    return run_program(
        built(name),
        cases,
        options=options,
        timeout=timeout,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def line_of(name: str, text: str) -> int:
    """The number of the first line of the program that has this text."""
    lines = (FOLDER / f"{name}.cu").read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


def answers(ran: RunReport) -> dict[str, str]:
    """What the program's calls answered: {"malloc": "cudaSuccess", …}."""
    pairs = (line.rsplit(": ", 1) for line in ran.stdout.splitlines() if ": cuda" in line)
    return dict(pairs)


@contextmanager
def nothing_left_behind(scratch: Path) -> Iterator[None]:
    """Fails when a process that was started inside outlives it, or a file in shared or temporary memory."""
    mark = uuid.uuid4().hex
    before = _shared_names()
    saved = {key: os.environ.get(key) for key in (_MARK, "TMPDIR")}
    os.environ.update({_MARK: mark, "TMPDIR": str(scratch)})
    try:
        yield
    finally:
        for key, value in saved.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
    assert wait_until(lambda: not _marked_processes(mark)), f"still running: {_marked_processes(mark)}"
    assert _shared_names() - before == set()
    assert list(scratch.iterdir()) == []


def _shared_names() -> set[str]:
    return {entry.name for entry in _SHARED_MEMORY.iterdir() if "vgpu" in entry.name}


def _marked_processes(mark: str) -> list[str]:
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:  # gone, or not ours
            continue
    return found
