"""The engine parses what programs send, so it serves them behind walls: no file, no socket, no process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.sandbox.kernel_facilities import kernel_facilities
from common.sandbox.walls import prepare
from common.virtual_gpu.device import VirtualGpu
from common.virtual_gpu.engine import _ENGINE_POLICY, Engine, Options

MISSING = [one.name for one in kernel_facilities() if not one.present]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"this kernel lacks {', '.join(MISSING)}")

TWICE_FREED = """
#include <cuda_runtime.h>
extern "C" int free_twice() {
  void* room = nullptr;
  cudaMalloc(&room, 64);
  cudaFree(room);
  cudaFree(room);  // here
  return 0;
}
"""
# Puts up the engine's walls by their descriptors, as server/walls.cpp does, and tries what they forbid.
ATTEMPTS = """
    import ctypes, errno, os, socket, sys
    rules, filter = map(int, sys.argv[1:3])
    libc = ctypes.CDLL(None, use_errno=True)
    steps = os.pread(filter, 1 << 16, 0)
    text = ctypes.create_string_buffer(steps, len(steps))
    class Program(ctypes.Structure):
        _fields_ = [("count", ctypes.c_ushort), ("steps", ctypes.c_void_p)]
    program = Program(len(steps) // 8, ctypes.addressof(text))
    memory = os.memfd_create("before")
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.syscall(446, rules, 0) == 0
    assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
    def refused(attempt):
        try:
            attempt()
        except OSError as problem:
            return problem.errno in (errno.EPERM, errno.EACCES)
        return False
    attempts = {
        "read a file": lambda: os.open("/etc/passwd", os.O_RDONLY),
        "read its own memory map": lambda: os.open("/proc/self/maps", os.O_RDONLY),
        "make a file": lambda: os.open("/tmp/made-by-an-engine", os.O_WRONLY | os.O_CREAT),
        "list a folder": lambda: os.listdir("/"),
        "start a program": lambda: os.execv("/bin/true", ["true"]),
        "fork": os.fork,
        "make a socket": lambda: socket.socket(socket.AF_INET),
        "make a Unix socket": lambda: socket.socket(socket.AF_UNIX),
        "signal the parent": lambda: os.kill(os.getppid(), 0),
        "look into the parent": lambda: os.pidfd_open(os.getppid()),
    }
    print([name for name, attempt in attempts.items() if not refused(attempt)])
    os.ftruncate(memory, 1 << 20)  # what it needs it may do
    os.memfd_create("another")
"""


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def test_the_engine_and_its_helper_have_given_everything_up():
    with Engine() as engine:
        children = Path(f"/proc/{engine.pid}/task/{engine.pid}/children").read_text().split()
        assert len(children) == 1
        for pid in (engine.pid, int(children[0])):
            status = status_of(pid)
            assert (status["Seccomp"], status["NoNewPrivs"], int(status["CapEff"], 16)) == ("2", "1", 0)
    assert not Path(f"/proc/{children[0]}").exists(), "the helper ends with its engine"


def test_behind_the_engines_walls_there_is_nothing_to_reach():
    walls = prepare(_ENGINE_POLICY)
    try:
        ran = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(ATTEMPTS), *map(str, walls)],
            pass_fds=walls,
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        for descriptor in walls:
            os.close(descriptor)
    assert ran.stdout.strip() == "[]", "these were not refused"
    assert not Path("/tmp/made-by-an-engine").exists()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("twice") / "twice.cu"
    source.write_text(TWICE_FREED)
    return build_program([source], Target.virtual("90"), kind="shared").path


@pytest.mark.parametrize(("folder", "line"), [("", 7), ("elsewhere", 0)], ids=["its folder", "another"])
def test_lines_are_looked_up_in_the_programs_own_files_alone(
    library: Path, folder: str, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    allowed = tmp_path if folder else library.parent

    def engine(profile: str, options: Options | None, resources: Path | None) -> Engine:
        return Engine(profile, options, resources, [allowed])

    monkeypatch.setattr("common.virtual_gpu.device.Engine", engine)
    with VirtualGpu() as gpu:
        gpu.load(library).call("free_twice")
        (finding,) = gpu.findings
    assert finding.line == line
    assert "a second time" in finding.message
