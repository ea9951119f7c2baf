"""The virtual GPU's own binaries: built from the sources that are there, cached, under their own names."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from common.build.engine.build import EngineError, build_engine, isa_flags
from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from tests.common.engine_tree import write_engine_tree
from tests.waiting import LONG


@pytest.fixture
def tree(tmp_path):
    return write_engine_tree(tmp_path / "virtual_gpu")


def readelf(option: str, path: Path) -> str:
    return subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, check=True).stdout


def test_both_binaries_are_built_once_and_work(tree, cache):
    built = build_engine(tree, cache=cache)
    assert subprocess.run([built.engine], check=False).returncode == 0
    assert "Library soname: [libvgpu_runtime.so.1]" in readelf("-d", built.runtime)
    symbols = readelf("--dyn-syms", built.runtime)
    assert "cudaFree@@libvgpu_runtime.so.1" in symbols
    assert "cudaStub@@libvgpu_runtime.so.1" in symbols
    assert "hidden" not in symbols
    assert built.engine.parent == built.runtime.parent  # where a program looks for its engine
    assert not built.cached
    again = build_engine(tree, cache=cache)
    assert again.cached
    assert (again.engine, again.runtime) == (built.engine, built.runtime)


def test_another_copy_of_the_sources_is_the_same_build(tree, cache, tmp_path):
    built = build_engine(tree, cache=cache)
    copy = shutil.copytree(tree, tmp_path / "elsewhere" / "virtual_gpu")
    again = build_engine(copy, cache=cache)
    assert again.cached
    assert (again.engine, again.runtime) == (built.engine, built.runtime)
    (copy / "wire.h").rename(copy / "engine" / "wire.h")
    with pytest.raises(EngineError):  # the runtime does not find it there: where a file lies does count
        build_engine(copy, cache=cache)


def test_a_change_in_a_shared_header_rebuilds_both(tree, cache):
    before = build_engine(tree, cache=cache)
    (tree / "wire.h").write_text("constexpr int kAnswer = 41;\n")
    after = build_engine(tree, cache=cache)
    assert after.engine != before.engine
    assert after.runtime != before.runtime
    assert subprocess.run([after.engine], check=False).returncode == 1


def test_the_portable_build_is_another_build(tree, cache, monkeypatch):
    fast = build_engine(tree, cache=cache)
    monkeypatch.setenv("VGPU_ISA", "portable")
    assert isa_flags() == ()
    portable = build_engine(tree, cache=cache)
    assert subprocess.run([portable.engine], check=False).returncode == 0
    monkeypatch.delenv("VGPU_ISA")
    if isa_flags():
        assert portable.engine != fast.engine


def test_other_processors_get_no_x86_flags(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert isa_flags() == ()


def test_a_broken_source_and_an_empty_folder_are_sentences(tree, cache):
    (tree / "engine" / "main.cpp").write_text("int main() { return 0 }\n")
    with pytest.raises(EngineError, match=r"main.cpp:1:22: error: expected ';'"):
        build_engine(tree, cache=cache)
    (tree / "runtime" / "api.cpp").unlink()
    with pytest.raises(CourseError, match=r"there are no .cpp files in .*runtime"):
        build_engine(tree, cache=cache)


def test_a_failing_stub_generator_is_quoted(tree, cache):
    (tree / "runtime" / "gen_stubs.py").write_text("raise SystemExit('cannot read the header')")
    with pytest.raises(
        EngineError, match="cannot be built here: gen_stubs.py failed\ncannot read the header"
    ):
        build_engine(tree, cache=cache)


# Builds when all are ready, and leaves a line for each time that compilers or the linker were run.
WORKER = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from common.build import compile, link
    from common.build.cache import Cache
    from common.build.engine.build import build_engine

    tree, cache, marks, ready = map(Path, sys.argv[1:5])
    really = compile.run_compiler

    def leave(line, file):
        with file.open("a") as opened:
            opened.write(line)

    def run_compiler(*arguments, **options):
        leave("run\\n", marks)
        time.sleep(0.5)  # so that the other one asks meanwhile
        return really(*arguments, **options)

    compile.run_compiler = link.run_compiler = run_compiler
    leave("x", ready)
    while len(ready.read_text()) < int(sys.argv[5]):
        time.sleep(0.01)
    print(build_engine(tree, cache=Cache([cache])).engine)
    """
)


def build_in_processes(count: int, tree: Path, cache: Path) -> tuple[set[str], int]:
    """All at once: the engines that they got, and how often something was compiled or linked so far."""
    marks, ready = cache.with_suffix(".marks"), cache.with_suffix(".ready")
    ready.unlink(missing_ok=True)
    command = [sys.executable, "-c", WORKER, *map(str, (tree, cache, marks, ready, count))]
    workers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) for _ in range(count)
    ]
    try:
        engines = {worker.communicate(timeout=LONG)[0].strip() for worker in workers}
        assert [worker.returncode for worker in workers] == [0] * count
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    return engines, len(marks.read_text().splitlines())


def test_two_processes_that_ask_at_once_build_once_per_cache(tree, tmp_path):
    """As the workers of a node do, which share its cache; another node has a cache of its own."""
    one, two = tmp_path / "node1", tmp_path / "node2"
    [alone], steps = build_in_processes(1, tree, one)
    [shared], together = build_in_processes(2, tree, two)
    assert together == steps > 0
    assert (Path(alone).is_relative_to(one), Path(shared).is_relative_to(two)) == (True, True)
    assert subprocess.run([shared], check=False).returncode == 0
    _, again = build_in_processes(2, tree, two)
    assert again == together, "the cache has it now"
