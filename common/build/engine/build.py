"""Build the virtual GPU itself: the engine process and the runtime library that programs link."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from common.build.cache import Cache, default_cache
from common.build.compile import compile_units, make_entry
from common.build.engine.editors import compile_commands, write_compile_commands
from common.build.engine.groups import GROUPS, grouped
from common.build.engine.prebuilt import (
    MANIFEST,
    PREBUILT,
    Identity,
    Misfit,
    check_prebuilt,
    copy_others,
    store_prebuilt,
)
from common.build.engine.source_tree import hashed_sources
from common.build.errors import BuildError
from common.build.link import link
from common.build.toolchain import HostCompiler, Nvcc, compiler_variables, find_host_compiler, find_nvcc
from common.build.unit import Unit, digest, hash_file
from common.core.errors import CourseError
from common.core.paths import REPOSITORY

SOURCE_DIR = REPOSITORY / "common" / "virtual_gpu"
ENGINE_NAME = "vgpu-engine"
RUNTIME_NAME = "libvgpu_runtime.so.1"
# The runtime library has the driver API, too: a program that opens the driver by its name finds it so.
_DRIVER_NAMES = ("libcuda.so.1", "libcuda.so")

_FLAGS = ("-O3", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra", "-pthread")
_ENGINE_FLAGS = ("-std=c++20", *_FLAGS)
_RUNTIME_FLAGS = ("-std=c++17", *_FLAGS, "-fPIC", "-fvisibility=hidden")
# With a symbol version of its own, a program bound to this runtime can never be given the functions of an
# NVIDIA runtime that the same process loaded first, as a CUDA build of torch does; nor the other way round. A
# compiler that links libstdc++ statically must not have it exported.
_RUNTIME_LINK = ("-shared", f"-Wl,-soname,{RUNTIME_NAME}", "-Wl,--default-symver", "-Wl,--exclude-libs,ALL")
# What the fast path needs, as /proc/cpuinfo spells it, and the flag that lets the compiler use it.
_FAST_ISA = {"avx2": "-mavx2", "fma": "-mfma", "f16c": "-mf16c", "bmi2": "-mbmi2"}
Isa = Literal["avx2", "portable"]
_ISA_FLAGS: dict[Isa, tuple[str, ...]] = {"avx2": tuple(_FAST_ISA.values()), "portable": ()}
# Sanitizers keep tables where the device's memory lies otherwise: with them it lies elsewhere.
_SANITIZED = ("-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all")
_SANITIZERS = {
    "": (),
    "address": ("-fsanitize=address,undefined", *_SANITIZED),
    "thread": ("-fsanitize=thread", *_SANITIZED),
}
_MOVED_MEMORY = "-DVGPU_BESIDE_A_SANITIZER"
_STANDARD_HEADERS = "standard_headers.h"
_STUBS_SCRIPT = "gen_stubs.py"
_PROFILES = "profiles.json"
_TIMEOUT_SECONDS = 3600.0  # some minutes on a laptop; a single slow core may take much longer


@dataclass(frozen=True)
class EnginePaths:
    """The two binaries of the virtual GPU; `cached` when nothing had to be built."""

    engine: Path
    runtime: Path
    cached: bool

    @property
    def prebuilt(self) -> bool:
        """Whether they came with the course and were not built here."""
        return (self.engine.parent / MANIFEST).is_file()


class EngineError(CourseError):
    """The virtual GPU itself cannot be built. No submission caused it, so it is not a BuildError."""


def build_engine(
    source_dir: Path = SOURCE_DIR,
    *,
    cache: Cache | None = None,
    isa: Isa | None = None,
    prebuilt: Path | None = PREBUILT,
) -> EnginePaths:
    """Build `source_dir`/engine into the engine and `source_dir`/runtime into the runtime library, or take
    those in `prebuilt` if they fit.

    VGPU_ISA=portable builds without AVX2, as on machines that have none. VGPU_SANITIZER=address or =thread
    builds an engine that checks itself.
    """
    try:
        usable = prebuilt if not _sanitizer_flags() else None
        return _build(source_dir, cache or default_cache(), isa or isa_name(), usable)
    except BuildError as problem:
        raise EngineError(f"the virtual GPU cannot be built here: {problem}") from problem


def find_engine(source_dir: Path = SOURCE_DIR, *, cache: Cache | None = None) -> EnginePaths | None:
    """What `build_engine` would return without building anything."""
    key = _key(source_dir, find_host_compiler(), find_nvcc(), isa_name())
    found = (cache or default_cache()).find(key)
    return _paths(found.path, cached=True) if found else None


def release_engine(folder: Path) -> None:
    """Put every variant that this machine can build into `folder`, and those of other machines that were made
    from the same sources and lie in PREBUILT."""
    nvcc = find_nvcc()
    for isa in isas():
        paths = build_engine(isa=isa, prebuilt=None)
        store_prebuilt(folder, _identity(SOURCE_DIR, nvcc, isa), [paths.engine, paths.runtime])
    copy_others(PREBUILT, folder, _identity(SOURCE_DIR, nvcc, "portable"))


def _build(source_dir: Path, cache: Cache, isa: Isa, prebuilt: Path | None) -> EnginePaths:
    cxx, nvcc = find_host_compiler(), find_nvcc()
    key = _key(source_dir, cxx, nvcc, isa)
    if (found := cache.find(key)) is not None:
        return _paths(found.path, cached=True)
    if prebuilt is not None and (binaries := _fitting(prebuilt, _identity(source_dir, nvcc, isa), cxx)):
        return _paths(_copied(key, binaries, cache), cached=True)
    engine_sources = _sources(source_dir / "engine")
    runtime_sources = _sources(source_dir / "runtime")
    includes = (f"-I{nvcc.include}",)
    stubs = _generated_stubs(source_dir / "runtime", runtime_sources, nvcc, cache)
    sanitizer = _sanitizer_flags()
    moved = (_MOVED_MEMORY,) if sanitizer else ()
    engine_flags = (*_ENGINE_FLAGS, *_ISA_FLAGS[isa], *moved)
    profiles = _built_in_profiles(source_dir, cache)
    engine_units = _units(
        [*engine_sources, *profiles], source_dir / "engine", engine_flags, cxx, None, cache, sanitizer
    )
    runtime_flags = (*_RUNTIME_FLAGS, *includes, *moved)
    runtime_units = _units(
        [*runtime_sources, *stubs], source_dir / "runtime", runtime_flags, cxx, nvcc, cache
    )
    if source_dir == SOURCE_DIR:
        engine_command = _command(cxx, engine_flags, source_dir / "engine")
        runtime_command = _command(cxx, runtime_flags, source_dir / "runtime")
        write_compile_commands(
            [
                *compile_commands(engine_sources, source_dir / "engine", engine_command),
                *compile_commands(runtime_sources, source_dir / "runtime", runtime_command),
            ]
        )
    label = "building the virtual GPU (once)"
    objects = compile_units(
        [*engine_units, *runtime_units], cache=cache, label=label, timeout=_TIMEOUT_SECONDS
    )
    engine, runtime = objects[: len(engine_units)], objects[len(engine_units) :]
    linker = [str(cxx.path), "-pthread"]
    linked = partial(link, libraries=["-ldl", "-lrt"], fingerprint=cxx.fingerprint, cache=cache)
    engine_entry, engine_linked = linked([*linker, *sanitizer], engine, output=ENGINE_NAME)
    runtime_entry, runtime_linked = linked([*linker, *_RUNTIME_LINK], runtime, output=RUNTIME_NAME)
    together = _side_by_side(key, [engine_entry.path / ENGINE_NAME, runtime_entry.path / RUNTIME_NAME], cache)
    cached = engine_linked and runtime_linked and all(compiled.cached for compiled in objects)
    return _paths(together, cached=cached)


def _paths(folder: Path, *, cached: bool) -> EnginePaths:
    return EnginePaths(engine=folder / ENGINE_NAME, runtime=folder / RUNTIME_NAME, cached=cached)


def _key(source_dir: Path, cxx: HostCompiler, nvcc: Nvcc, isa: Isa) -> str:
    """Of what the sources say and not of where they lie: another copy of the course need not build again."""
    variant = (*_ISA_FLAGS[isa], *_sanitizer_flags())
    fingerprints = (cxx.fingerprint, nvcc.fingerprint, *compiler_variables(str(cxx.path)), *variant)
    return digest("virtual GPU", *_DRIVER_NAMES, *fingerprints, "--", *_contents(source_dir))


def _contents(source_dir: Path) -> list[str]:
    """The sources, and how every machine compiles them."""
    flags = [*_ENGINE_FLAGS, *_RUNTIME_FLAGS, *_RUNTIME_LINK, *map(repr, GROUPS)]
    return [*flags, "--", *hashed_sources(source_dir, (".cpp", ".h", ".def", _STUBS_SCRIPT, _PROFILES))]


def _identity(source_dir: Path, nvcc: Nvcc, isa: Isa) -> Identity:
    return Identity(
        machine=platform.machine(),
        isa=isa,
        cuda=".".join(nvcc.version.split(".")[:2]),
        sources=digest("sources", *_contents(source_dir)),
    )


def _fitting(prebuilt: Path, identity: Identity, cxx: HostCompiler) -> list[Path]:
    """The prebuilt binaries for this machine, with their manifest; none where there are none that fit."""
    folder = prebuilt / identity.folder
    if not folder.is_dir():
        return []
    try:
        return [*check_prebuilt(folder, identity, cxx), folder / MANIFEST]
    except Misfit as reason:
        print(
            f"the prebuilt virtual GPU in {folder} is not used, because {reason}: it is built from source",
            file=sys.stderr,
        )
        return []


def _side_by_side(key: str, binaries: Sequence[Path], cache: Cache) -> Path:
    """A folder that holds the binaries together, so that a program finds the engine beside its runtime
    library, and always the one that was built with it."""

    def gather(made: Path) -> None:
        for binary in binaries:
            try:
                os.link(binary, made / binary.name)
            except OSError:  # another file system, or one without hard links
                shutil.copy2(binary, made / binary.name)
        _name_driver(made)

    return make_entry(key, gather, cache).path


def _copied(key: str, files: Sequence[Path], cache: Cache) -> Path:
    """The same with copies: files of the course may be changed later, those in the cache never are."""

    def copy(made: Path) -> None:
        for file in files:
            shutil.copy(file, made / file.name)
        _name_driver(made)

    return make_entry(key, copy, cache).path


def _name_driver(folder: Path) -> None:
    for name in _DRIVER_NAMES:
        (folder / name).symlink_to(RUNTIME_NAME)


def isa_name() -> Isa:
    """The variant for this CPU: the portable one where one of the vector instructions is missing."""
    if os.environ.get("VGPU_ISA") == "portable" or "avx2" not in isas():
        return "portable"
    return "avx2" if cpu_features() >= _FAST_ISA.keys() else "portable"


def _sanitizer_flags() -> tuple[str, ...]:
    chosen = os.environ.get("VGPU_SANITIZER", "")
    if chosen not in _SANITIZERS:
        raise CourseError(f"VGPU_SANITIZER is {chosen!r}; there are {', '.join(filter(None, _SANITIZERS))}")
    return _SANITIZERS[chosen]


def isas() -> tuple[Isa, ...]:
    """The variants that this machine can build."""
    return ("avx2", "portable") if platform.machine() == "x86_64" else ("portable",)


def isa_flags() -> tuple[str, ...]:
    """Compiler flags for the vector instructions this CPU has; none where one of them is missing."""
    return _ISA_FLAGS[isa_name()]


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
    last_flags: Sequence[str] = (),
) -> list[Unit]:
    return [
        Unit(
            source=source.path,
            precompiled=standard_headers(folder, cxx),
            command=_command(cxx, (*flags, *source.flags, *last_flags), folder),
            fingerprint=digest(cxx.fingerprint, nvcc.fingerprint if nvcc else ""),
            toolchain_root=nvcc.root if nvcc else None,
        )
        for source in grouped(sources, folder, cache)
    ]


def _command(cxx: HostCompiler, flags: Sequence[str], folder: Path) -> tuple[str, ...]:
    return (str(cxx.path), "-c", *flags, f"-I{folder}", f"-I{folder.parent}")


def standard_headers(folder: Path, cxx: HostCompiler) -> Path | None:
    """What the files in `folder` are compiled faster with; clang++ does without."""
    header = folder / _STANDARD_HEADERS
    return header if header.is_file() and "clang" not in cxx.version else None


def _built_in_profiles(source_dir: Path, cache: Cache) -> list[Path]:
    """profiles.json as a string of C++, for engines that are started without a file of profiles."""
    profiles = source_dir / _PROFILES
    if not profiles.is_file():
        return []
    text = f"""\
#include "device/profile.h"
const char* const vgpu::kBuiltInProfiles = R"json({profiles.read_text()})json";
"""

    def write(made: Path) -> None:
        (made / "built_in_profiles.cpp").write_text(text)

    return [make_entry(digest("profiles", text), write, cache).path / "built_in_profiles.cpp"]


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
