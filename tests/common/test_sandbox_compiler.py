"""Hostile sources against the compiler: each ends as a diagnostic for its author, and leaves nothing."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from common.build.cache import Cache, default_cache
from common.build.engine.build import build_engine
from common.build.errors import BuildError
from common.build.program import Target, build_program
from common.build.resources import resources
from common.build.walled import CompilerWalls, run_compiler
from common.core.paths import REPOSITORY
from common.sandbox.walls import landlock_abi, seccomp_problem
from tests.waiting import LONG

pytestmark = pytest.mark.skipif(
    landlock_abi() <= 0 or seccomp_problem() is not None, reason="this kernel lacks Landlock or seccomp"
)

SECRET = "the hidden case has 4097 tokens"
LIMITS = CompilerWalls(seconds=60, memory_bytes=1 << 30, written_bytes=64 << 20)
KERNEL = """
__global__ void fill(int* out) { out[threadIdx.x] = 1; }
extern "C" int entry(int* out) {
  fill<<<1, 32>>>(out);
  return 0;
}
"""
# 3 to the power of 22 instances, none of them deep enough for the compiler's own limit.
BOMB = """
template <unsigned long N, int D> struct Tree {
  static const unsigned long sum =
      Tree<N * 3, D - 1>::sum + Tree<N * 3 + 1, D - 1>::sum + Tree<N * 3 + 2, D - 1>::sum;
};
template <unsigned long N> struct Tree<N, 0> { static const unsigned long sum = N; };
unsigned long all = Tree<1, 22>::sum;
"""


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    path = tmp_path / "hidden" / "cases.h"
    path.parent.mkdir()
    path.write_text(f"#error {SECRET}\n")
    return path


def own_cache(tmp_path: Path) -> Cache:
    """A cache of the test's own for what it builds; the engine comes from the usual one."""
    build_engine()
    return Cache([tmp_path / "cache", default_cache().root])


def refused(
    tmp_path: Path, text: str, walls: CompilerWalls = LIMITS, *, names_file: bool = True
) -> BuildError:
    source = tmp_path / "submission" / "kernel.cu"
    source.parent.mkdir(exist_ok=True)
    source.write_text(text)
    with pytest.raises(BuildError) as caught:
        build_program([source], Target.virtual(), kind="shared", cache=own_cache(tmp_path), walls=walls)
    error = caught.value
    assert SECRET not in error.log
    assert error.diagnostics, error.log
    assert error.diagnostics[0].file == (str(source) if names_file else None)
    assert not list((tmp_path / "cache" / "work").iterdir())
    return error


def test_an_honest_kernel_compiles_links_and_is_measured_behind_walls(tmp_path):
    source = tmp_path / "kernel.cu"
    offered = tmp_path / "offered"
    offered.mkdir()
    (offered / "offered.cuh").write_text("constexpr int kOffered = 1;\n")
    (tmp_path / "listed.h").write_text("constexpr int kListed = 1;\n")
    source.write_text('#include <cuda_fp16.h>\n#include "offered.cuh"\n#include "listed.h"\n' + KERNEL)
    walls = CompilerWalls(files=(tmp_path / "listed.h",))
    where: dict[str, Any] = {"include_dirs": [offered], "cache": own_cache(tmp_path), "walls": walls}
    first = build_program([source], Target.virtual(), kind="shared", **where)
    again = build_program([source], Target.virtual(), kind="shared", **where)
    assert (first.cached, again.cached) == (False, True)
    assert os.access(first.path, os.X_OK)
    (kernel,) = resources(source, arches=["sm_90"], **where)["sm_90"]
    assert kernel.demangled == "fill(int*)"


@pytest.mark.parametrize(
    "text",
    [
        '#include "{path}"\n',
        '#include "../hidden/cases.h"\n',
        'asm(".incbin \\"{path}\\"");\n',
        '__asm__(".incbin \\"/proc/self/environ\\"");\n',
        '__asm__(".incbin \\"walls.json\\"");\n',
        '__asm__(".incbin \\"/proc/self/cmdline\\"");\n',
        '#include "/etc/passwd"\n',
        '#include "{repository}/grader/__main__.py"\n',
        '#include "/proc/self/cmdline"\n',
    ],
)
def test_a_hidden_file_cannot_be_read_into_a_build(tmp_path, hidden, text):
    error = refused(tmp_path, text.format(path=hidden, repository=REPOSITORY))
    assert "no other file can be read while it is compiled" in (error.diagnostics[0].hint or "")


@pytest.mark.parametrize("what", ["a file", "a folder"])
def test_has_include_tells_that_a_name_is_there_and_nothing_more(tmp_path, hidden, what):
    """One bit for each build, for a name that the author knows already: docs/security.md says so."""
    there = hidden if what == "a file" else hidden.parent
    ask = '#if __has_include("{}")\n#error it is there\n#else\n#error nothing is there\n#endif\n'
    error = refused(tmp_path, ask.format(there), names_file=False)
    assert f"{there}: Permission denied" in error.log
    assert "it is there" not in error.log
    assert "nothing is there" in refused(tmp_path, ask.format(hidden.with_name("other.h"))).log


def test_what_was_built_in_the_open_is_not_served_behind_walls(tmp_path):
    secret = tmp_path / "secret.h"
    secret.write_text("constexpr int kSecret = 7;\n")
    source = tmp_path / "kernel.cu"
    source.write_text(f'#include "{secret}"\n{KERNEL}')
    cache = own_cache(tmp_path)
    build_program([source], Target.virtual(), kind="shared", cache=cache)
    with pytest.raises(BuildError, match="secret.h: Permission denied"):
        build_program([source], Target.virtual(), kind="shared", cache=cache, walls=LIMITS)


def test_a_source_that_includes_itself_gets_an_error_that_says_so(tmp_path):
    assert "nested depth" in refused(tmp_path, '#include "kernel.cu"\n').diagnostics[0].message


def test_a_template_bomb_ends_at_the_limit_on_memory(tmp_path):
    error = refused(tmp_path, BOMB)
    assert error.diagnostics[0].message == "the compiler used more than 1024 MiB of memory and was ended"
    assert "fewer instances of templates" in (error.diagnostics[0].hint or "")


def test_a_slow_compile_ends_at_the_limit_on_time(tmp_path):
    started = time.monotonic()
    error = refused(tmp_path, BOMB, CompilerWalls(seconds=1))
    stated = "the compiler ran for more than 1 s of CPU time and sleep and was ended"
    assert error.diagnostics[0].message == stated
    assert time.monotonic() - started < LONG


def test_a_gigabyte_of_generated_code_ends_at_the_limit_on_what_is_written(tmp_path):
    error = refused(tmp_path, 'asm(".data\\n.fill 3000000000,1,7\\n");\n')
    assert error.diagnostics[0].message == "the compiler wrote a file of more than 64 MiB and was ended"


def test_a_complaint_without_end_is_cut_short(tmp_path):
    noise = "\n".join(f'#pragma message("{"x" * 300} {n}")' for n in range(1500))
    error = refused(tmp_path, f"int missing = ;\n{noise}\n")
    assert any("expected an expression" in diagnostic.message for diagnostic in error.diagnostics)
    assert len(error.log) < 300_000


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("cat {path}", "Permission denied"),
        ("echo text > {path}", "Permission denied"),
        ("setsid true", "setsid"),
        ("kill -9 {parent}", "not permitted"),
        ("chmod 777 .", "not permitted"),
    ],
)
def test_a_compiler_that_obeys_its_source_reaches_nothing(tmp_path, hidden, script, words):
    """As if a source had found a hole in the compiler: the shell stands for it."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    command = ["/bin/sh", "-c", f"{script.format(path=hidden, parent=os.getpid())} || exit 7"]
    finished = run_compiler(command, cwd=workspace, scratch=workspace, timeout=LONG, walls=LIMITS)
    assert (finished.status, words in finished.output) == (7, True), finished.output
    assert SECRET in hidden.read_text()


def test_walls_cost_a_command_little(tmp_path):
    def seconds(walls: CompilerWalls | None) -> float:
        workspace = tmp_path / "workspace"
        workspace.mkdir(exist_ok=True)
        run: dict[str, Any] = {"cwd": workspace, "scratch": workspace, "timeout": 30.0, "walls": walls}
        return min(run_compiler(["/bin/true"], **run).seconds for _ in range(5))

    assert seconds(LIMITS) - seconds(None) < 0.25  # some 0.05 s on an idle machine
