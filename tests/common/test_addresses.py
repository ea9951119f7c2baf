"""A compiler's memory lies at the same addresses every time: one file compiles to one code."""

from __future__ import annotations

import re
import shutil

import pytest

from common.build import walled
from common.build.program import Target, build_program
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


def test_one_file_compiles_to_one_code(tmp_path):
    """Of 03's solution nvcc makes two kinds of code, by chance, where it manages its memory as it likes."""
    made = set()
    for number in range(6):
        folder = tmp_path / f"folder{number}"
        folder.mkdir()
        source = folder / "kernel.cu"
        shutil.copy(registry.find("03").solution, source)
        library = build_program(
            [source],
            Target.virtual("90"),
            kind="shared",
            include_dirs=[HEADERS],
            defines=[f"FOLDER_NUMBER={number}"],  # so that it is compiled
            walls=WALLS,
        ).path
        ptx = (embedded_ptx(library.read_bytes()) or b"").decode()
        made.add(re.sub(r"^\s*\.file\b.*$", "", ptx, flags=re.MULTILINE))
    assert len(made) == 1
    assert ".entry" in made.pop()
