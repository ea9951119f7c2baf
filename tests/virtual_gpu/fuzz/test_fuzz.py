"""Whatever bytes the engine, its sockets and the runtime library are given, they survive.

A few seconds of CPU time for each target; VGPU_FUZZ_SECONDS=1440 gives them more, and VGPU_FUZZ_SEED others.
With VGPU_SANITIZER=address the code checks itself. Where CXX is clang++, libFuzzer finds the way by coverage.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from common.build.cache import default_cache
from common.build.compile import compile_units
from common.build.engine.build import SOURCE_DIR, _sanitizer_flags
from common.build.link import link
from common.build.toolchain import find_host_compiler, find_nvcc
from common.build.unit import Unit
from tests.virtual_gpu.engine_client import EngineProcess, Harness, Program
from tests.virtual_gpu.engine_units import all_but_main, engine_units, linker
from tests.virtual_gpu.fuzz import seeds
from tests.waiting import LONG

HERE = Path(__file__).parent
SECONDS = int(os.environ.get("VGPU_FUZZ_SECONDS", "4"))
SEED = int(os.environ.get("VGPU_FUZZ_SEED", "1"))
# What an input may take: an engine beside a sanitizer is slow, and the machine may be busy.
MOST_SECONDS, MOST_MEBIBYTES = 60, 4096
RUNTIME = SOURCE_DIR / "runtime"


@dataclass(frozen=True)
class Target:
    """What is fed with bytes: what it begins with, and whether it belongs to the runtime library."""

    seeds: Callable[[], Iterable[bytes]]
    in_runtime: bool = False


TARGETS = {
    "ptx": Target(seeds.ptx),
    "requests": Target(seeds.requests),
    "connection": Target(seeds.connection),
    "fatbin": Target(seeds.fatbin, in_runtime=True),
}


def is_clang() -> bool:
    return "clang" in find_host_compiler().version


def built(name: str) -> Path:
    compiler, cache = find_host_compiler(), default_cache()
    driver = [] if is_clang() else [HERE / "standalone.cpp"]
    coverage = ["-fsanitize=fuzzer-no-link"] if is_clang() else []
    if TARGETS[name].in_runtime:
        flags = ("-std=c++20", "-O1", "-g1", f"-I{RUNTIME}", f"-I{find_nvcc().include}")
        sources = [HERE / f"{name}.cpp", RUNTIME / "fatbin.cpp", *driver]
        command = (str(compiler.path), "-c", *flags, *_sanitizer_flags(), *coverage)
        units = [Unit(source, command, compiler.fingerprint) for source in sources]
    else:
        own = [f"-I{HERE}", *coverage]
        units = engine_units(all_but_main(), coverage) + engine_units([HERE / f"{name}.cpp", *driver], own)
    made, _ = link(
        [*linker(), *(["-fsanitize=fuzzer"] if is_clang() else [])],
        compile_units(units, cache=cache, label=f"building the fuzzer of {name}"),
        output=name,
        libraries=["-ldl", "-lrt"],
        fingerprint=compiler.fingerprint,
        cache=cache,
    )
    return made.path / name


def tried(name: str, folder: Path) -> int:
    """How many inputs the target has survived."""
    corpus, current = folder / "corpus", folder / "current"
    corpus.mkdir()
    for number, seed in enumerate(TARGETS[name].seeds()):
        (corpus / f"seed{number}").write_bytes(seeds.moved(seed) if _sanitizer_flags() else seed)
    command = [str(corpus), str(SECONDS), str(SEED), str(current)]
    if is_clang():
        limits = [f"-timeout={MOST_SECONDS}", f"-rss_limit_mb={MOST_MEBIBYTES}", "-max_len=16384"]
        command = [
            f"-max_total_time={SECONDS}",
            f"-seed={SEED}",
            *limits,
            f"-artifact_prefix={folder}/",
            str(corpus),
        ]
    done = subprocess.run(
        [built(name), *command],
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=LONG + 20 * SECONDS,
    )
    said = (done.stdout + done.stderr)[-4000:]
    assert done.returncode == 0, f"the input is in {folder}: status {done.returncode}\n{said}"
    return int(re.findall(r"^(?:Done )?(\d+)(?: runs.*)?$", said, re.MULTILINE)[-1])


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_input_ends_nothing(name: str, tmp_path: Path):
    inputs = tried(name, tmp_path)
    print(f"{name}: {inputs:,} inputs in {SECONDS} s of CPU time")
    assert inputs > 10 * SECONDS


def test_every_target_has_a_file_and_every_file_a_target():
    files = {path.stem for path in HERE.glob("*.cpp")} - {"standalone"}
    assert files == set(TARGETS)


@pytest.mark.parametrize("dialogue", [seeds._textures, seeds._blas, seeds._hopper])
def test_a_dialogue_that_fuzzing_begins_with_is_honest(dialogue: Callable[[Program, Harness], None]):
    """Where the engine refused the first request, no damage would get any further."""
    engine = EngineProcess()
    try:
        program = engine.ready()
        dialogue(program, engine.harness)
        assert program.ask("DeviceSync").error == 0
        report = engine.harness.report()
        assert (report["findings"], report["sticky_error"]) == ([], 0)
    finally:
        engine.stop()
