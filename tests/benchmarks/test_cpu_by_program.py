"""CPU time is split by the names of programs, whoever started them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.turnaround.cpu_by_program import CpuByProgram

BUSY = "import time\nwhile time.process_time() < 0.4: pass"


def test_a_compiler_below_a_command_is_the_compilers(tmp_path: Path):
    compiler = tmp_path / "ptxas"
    compiler.symlink_to(sys.executable)
    command = f"import subprocess; subprocess.run([{str(compiler)!r}, '-I', '-S', '-c', {BUSY!r}])"
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", command])
    watched = CpuByProgram(process.pid)
    assert process.wait() == 0
    found = watched.seconds(1.0)
    assert 0.3 < found["compilers"] < 0.6
    assert found["engine"] == 0
    assert found["Python"] == pytest.approx(1.0 - found["compilers"])
