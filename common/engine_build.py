"""Build the virtual GPU itself: the engine process and the runtime library that programs link."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from common.build_errors import BuildError
from common.cache import REPOSITORY, Cache, default_cache
from common.compile import compile_units, make_entry
from common.engine_groups import GROUPS, grouped
from common.errors import CourseError
from common.link import link
from common.source_tree import hashed_sources
from common.toolchain import HostCompiler, Nvcc, compiler_variables, find_host_compiler, find_nvcc
from common.unit import Unit, digest, hash_file

SOURCE_DIR = REPOSITORY / "common" / "virtual_gpu"
ENGINE_NAME = "vgpu-engine"
RUNTIME_NAME = "libvgpu_runtime.so.1"

_FLAGS = ("-O3", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra", "-pthread")
_ENGINE_FLAGS = ("-std=c++20", *_FLAGS)
_RUNTIME_FLAGS = ("-std=c++17", *_FLAGS, "-fPIC", "-fvisibility=hidden")
# With a symbol version of its own, a program bound to this runtime can never be given the functions of an
# NVIDIA runtime that the same process loaded first, as a CUDA build of torch does; nor the other way round.
_RUNTIME_LINK = ("-shared", f"-Wl,-soname,{RUNTIME_NAME}", "-Wl,--default-symver")
# What the fast path needs, as /proc/cpuinfo spells it, and the flag that lets the compiler use it.
_FAST_ISA = {"avx2": "-mavx2", "fma": "-mfma", "f16c": "-mf16c", "bmi2": "-mbmi2"}
_STANDARD_HEADERS = "standard_headers.h"
_STUBS_SCRIPT = "gen_stubs.py"
_TIMEOUT_SECONDS = 3600.0  # some minutes on a laptop; a single slow core may take much longer


@dataclass(frozen=True)
class EnginePaths:
    """The two binaries of the virtual GPU; `cached` when nothing had to be built."""

    engine: Path
    runtime: Path
    cached: bool


class EngineError(CourseError):
    """The virtual GPU itself cannot be built. That is no submission's fault: it is no BuildError."""


def build_engine(source_dir: Path = SOURCE_DIR, *, cache: Cache | None = None) -> EnginePaths:
    """Build `source_dir`/engine into the engine and `source_dir`/runtime into the runtime library.

    VGPU_ISA=portable builds without AVX2, as on machines that have none.
    """
    try:
        return _build(source_dir, cache or default_cache())
    except BuildError as problem:
        raise EngineError(f"the virtual GPU cannot be built here: {problem}") from problem


def _build(source_dir: Path, cache: Cache) -> EnginePaths:
    cxx, nvcc = find_host_compiler(), find_nvcc()
    key = _key(source_dir, cxx, nvcc)
    if (found := cache.find(key)) is not None:
        return _paths(found.path, cached=True)
    engine_sources = _sources(source_dir / "engine")
    runtime_sources = _sources(source_dir / "runtime")
    includes = (f"-I{nvcc.include}",)
    stubs = _generated_stubs(source_dir / "runtime", runtime_sources, nvcc, cache)
    engine_flags = (*_ENGINE_FLAGS, *isa_flags())
    engine_units = _units(engine_sources, source_dir / "engine", engine_flags, cxx, None, cache)
    runtime_flags = (*_RUNTIME_FLAGS, *includes)
    runtime_units = _units(
        [*runtime_sources, *stubs], source_dir / "runtime", runtime_flags, cxx, nvcc, cache
    )
    label = "building the virtual GPU (once)"
    objects = compile_units(
        [*engine_units, *runtime_units], cache=cache, label=label, timeout=_TIMEOUT_SECONDS
    )
    engine, runtime = objects[: len(engine_units)], objects[len(engine_units) :]
    engine_entry, engine_linked = link(
        [str(cxx.path), "-pthread"],
        engine,
        output=ENGINE_NAME,
        libraries=["-ldl", "-lrt"],
        fingerprint=cxx.fingerprint,
        cache=cache,
    )
    runtime_entry, runtime_linked = link(
        [str(cxx.path), "-pthread", *_RUNTIME_LINK],
        runtime,
        output=RUNTIME_NAME,
        libraries=["-ldl", "-lrt"],
        fingerprint=cxx.fingerprint,
        cache=cache,
    )
    together = _side_by_side(key, [engine_entry.path / ENGINE_NAME, runtime_entry.path / RUNTIME_NAME], cache)
    cached = engine_linked and runtime_linked and all(compiled.cached for compiled in objects)
    return _paths(together, cached=cached)


def _paths(folder: Path, *, cached: bool) -> EnginePaths:
    return EnginePaths(engine=folder / ENGINE_NAME, runtime=folder / RUNTIME_NAME, cached=cached)


def _key(source_dir: Path, cxx: HostCompiler, nvcc: Nvcc) -> str:
    """Of what the sources say and not of where they lie: another copy of the course need not build again."""
    contents = hashed_sources(source_dir, (".cpp", ".h", _STUBS_SCRIPT))
    flags = [*_ENGINE_FLAGS, *isa_flags(), *_RUNTIME_FLAGS, *_RUNTIME_LINK, *map(repr, GROUPS)]
    return digest(
        "virtual GPU", cxx.fingerprint, nvcc.fingerprint, *compiler_variables(), *flags, "--", *contents
    )


def _side_by_side(key: str, binaries: Sequence[Path], cache: Cache) -> Path:
    """A folder that holds the binaries together, so that a program finds the engine beside its runtime
    library, and always the one that was built with it."""

    def gather(made: Path) -> None:
        for binary in binaries:
            try:
                os.link(binary, made / binary.name)
            except OSError:  # another file system, or one without hard links
                shutil.copy2(binary, made / binary.name)

    return make_entry(key, gather, cache).path


def isa_flags() -> tuple[str, ...]:
    """Compiler flags for the vector instructions this CPU has; none where one of them is missing."""
    if os.environ.get("VGPU_ISA") == "portable" or platform.machine() != "x86_64":
        return ()
    return tuple(_FAST_ISA.values()) if cpu_features() >= _FAST_ISA.keys() else ()


def cpu_features() -> set[str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    line = next((line for line in text.splitlines() if line.startswith(("flags", "Features"))), "")
    return set(line.partition(":")[2].split())


def _sources(folder: Path) -> list[Path]:
    found = sorted(folder.rglob("*.cpp"))
    if not found:
        raise CourseError(f"there are no .cpp files in {folder}: the course's own files are incomplete")
    return found


def _units(
    sources: Sequence[Path],
    folder: Path,
    flags: Sequence[str],
    cxx: HostCompiler,
    nvcc: Nvcc | None,
    cache: Cache,
) -> list[Unit]:
    return [
        Unit(
            source=source.path,
            precompiled=standard_headers(folder, cxx),
            command=(str(cxx.path), "-c", *flags, *source.flags, f"-I{folder}", f"-I{folder.parent}"),
            fingerprint=digest(cxx.fingerprint, nvcc.fingerprint if nvcc else ""),
            toolchain_root=nvcc.root if nvcc else None,
        )
        for source in grouped(sources, folder, cache)
    ]


def standard_headers(folder: Path, cxx: HostCompiler) -> Path | None:
    """What the files in `folder` are compiled faster with; clang++ does without."""
    header = folder / _STANDARD_HEADERS
    return header if header.is_file() and "clang" not in cxx.version else None


def _generated_stubs(folder: Path, sources: Sequence[Path], nvcc: Nvcc, cache: Cache) -> list[Path]:
    """Answers for every runtime function nobody has written, made from the toolkit's own header."""
    script = folder / _STUBS_SCRIPT
    if not script.is_file():
        return []

    def generate(made: Path) -> None:
        command = [sys.executable, str(script), "--cuda-include", str(nvcc.include)]
        command += ["--sources", *map(str, sources), "--output", str(made / "stubs.cpp")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise BuildError(f"{script.name} failed", [], done.stdout + done.stderr)

    inputs = [hash_file(path) for path in (script, *sources)]
    entry = make_entry(digest("stubs", nvcc.fingerprint, *inputs), generate, cache)
    return [entry.path / "stubs.cpp"]
