"""A compiler's memory lies at the same addresses every time and everywhere: one file compiles to one code."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from common.build import walled
from common.build.cache import Cache
from common.build.compile import compile_units
from common.build.program import Target
from common.build.toolchain import find_host_compiler, find_nvcc
from common.build.unit import Unit
from common.build.walled import CompilerWalls, run_compiler
from common.core.addresses import can_fix_addresses
from common.core.process import Finished, run_contained
from common.machine_code.embedded_ptx import embedded_ptx
from grader.building.build import HEADERS, WALLS
from grader.spec import registry

MAPS = ["/bin/cat", "/proc/self/maps"]
allowed = pytest.mark.skipif(not can_fix_addresses(), reason="this system draws every process's addresses")


@allowed
def test_a_compiler_finds_its_memory_where_it_was(tmp_path):
    runs = [run_compiler(MAPS, cwd=tmp_path, scratch=tmp_path, timeout=30, walls=None) for _ in range(4)]
    assert len({run.output for run in runs}) == 1
    assert "[stack]" in runs[0].output


@allowed
def test_other_commands_keep_drawn_addresses(tmp_path):
    runs = [run_contained(MAPS, cwd=tmp_path, env={}, timeout=30) for _ in range(4)]
    assert len({run.output for run in runs}) > 1


@pytest.mark.parametrize("walls", [None, CompilerWalls()], ids=["in the open", "behind walls"])
def test_every_compiler_is_run_so(tmp_path, monkeypatch, walls):
    asked = []

    def contained(*_: object, env: dict[str, str], fixed_addresses: bool = False, **__: object) -> Finished:
        asked.append((fixed_addresses, "tcache:false" in env["MALLOC_CONF"]))
        return Finished(0, "", 0.0)

    monkeypatch.setattr(walled, "run_contained", contained)
    run_compiler(["true"], cwd=tmp_path, scratch=tmp_path, timeout=30, walls=walls)
    assert asked == [(True, True)]


# The lengths of the names of the folders for source, headers, builds and temporary files; and how many
# compilers run.
PLACES = [(1, 1, 1, 1, 2), (35, 146, 17, 66, 1), (7, 139, 3, 98, 1), (156, 1, 115, 69, 2)]


@pytest.mark.parametrize(("exercise", "places"), [("03", PLACES), ("01", PLACES[1:3])])
def test_one_file_compiles_to_one_code_wherever_it_lies(tmp_path, monkeypatch, exercise, places):
    made = {
        device_code(exercise, tmp_path / str(number), monkeypatch, place)
        for number, place in enumerate(places)
    }
    assert len(made) == 1
    assert ".entry" in made.pop()


def device_code(exercise: str, root: Path, monkeypatch: pytest.MonkeyPatch, place: tuple[int, ...]) -> str:
    """The PTX made from its solution, without the names of files."""
    *lengths, at_once = place
    sources, headers, builds, temporary = (
        root / letter / (letter * n) for letter, n in zip("shbt", lengths, strict=True)
    )
    shutil.copytree(HEADERS, headers)
    sources.mkdir(parents=True)
    temporary.mkdir(parents=True)
    shutil.copy(registry.find(exercise).solution, sources / "kernel.cu")
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("COURSE_JOBS", str(at_once))
    monkeypatch.setenv("UNUSED", "x" * sum(lengths))
    nvcc, cxx = find_nvcc(), find_host_compiler()
    command = (
        str(nvcc.path),
        "-ccbin",
        str(cxx.path),
        "-c",
        "-std=c++17",
        "-lineinfo",
        *Target.virtual("90").compile_flags(),
    )
    unit = Unit(sources / "kernel.cu", (*command, f"-I{headers}"), "fingerprint", toolchain_root=nvcc.root)
    (compiled,) = compile_units([unit], cache=Cache([builds]), label="building", walls=WALLS)
    ptx = embedded_ptx(compiled.path.read_bytes())
    assert ptx is not None
    assert str(sources).encode() in ptx  # findings point into the file as it lies here
    return re.sub(r"^\s*\.file\b.*$", "", ptx.decode(), flags=re.MULTILINE)
