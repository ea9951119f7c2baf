"""Build CUDA programs and libraries for the GPU or for the virtual GPU, from one unchanged source."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from common.build.cache import Cache, default_cache
from common.build.compile import TIMEOUT_SECONDS
from common.build.diagnostics import Diagnostic, parse_diagnostics
from common.build.engine.build import build_engine
from common.build.language import LANGUAGE_FLAGS, compile_cuda
from common.build.link import link
from common.build.toolchain import HostCompiler, Nvcc, find_host_compiler, find_nvcc
from common.build.unit import Compiled, Unit, digest, spelled_names
from common.build.walled import CompilerWalls
from common.core.errors import CourseError

Kind = Literal["exe", "shared"]
_OUTPUT: dict[Kind, str] = {"exe": "program", "shared": "library.so"}
# Host lines must be those of the calls: a tail call would leave its caller's line behind.
_COMMON_FLAGS = (*LANGUAGE_FLAGS, "-lineinfo", "-Xcompiler", "-g1,-fno-optimize-sibling-calls")
# Of host code; nvcc compiles device code at its best whatever is said here. The host code of a library only
# launches, and on the virtual GPU nobody times it: it is compiled in two thirds of the time.
_HOST_OPTIMISATION = {(True, "shared"): "-O1"}  # by whether it is for the virtual GPU, and by kind
_KIND_FLAGS: dict[Kind, tuple[str, ...]] = {"exe": (), "shared": ("-Xcompiler", "-fPIC")}


@dataclass(frozen=True)
class Target:
    """What a program is built for: the virtual GPU or a CUDA device, of a compute capability such as "90"."""

    on_virtual: bool
    cc: str

    @staticmethod
    def virtual(cc: str = "90") -> Target:
        """The virtual GPU: PTX as plain text in the fat binary, and our runtime in place of NVIDIA's."""
        return Target(True, cc)

    @staticmethod
    def gpu(cc: str) -> Target:
        """A CUDA device: machine code for it, and NVIDIA's runtime linked in."""
        return Target(False, cc)

    def compile_flags(self) -> tuple[str, ...]:
        code = "compute" if self.on_virtual else "sm"
        plain_text = ("-no-compress", "-cudart", "none") if self.on_virtual else ()
        return (*plain_text, "-gencode", f"arch=compute_{self.cc},code={code}_{self.cc}")


@dataclass(frozen=True)
class BuildResult:
    """A built program or library; `diagnostics` are the compiler's warnings."""

    path: Path
    diagnostics: list[Diagnostic]
    seconds: float
    cached: bool
    log: str
    objects: tuple[Path, ...] = ()  # one for each source


def build_program(
    sources: Sequence[Path],
    target: Target,
    *,
    kind: Kind = "exe",
    defines: Mapping[str, str] | Sequence[str] = (),
    include_dirs: Sequence[Path] = (),
    extra_flags: Sequence[str] = (),
    host_optimisation: str | None = None,
    cache: Cache | None = None,
    timeout: float = TIMEOUT_SECONDS,
    walls: CompilerWalls | None = None,
) -> BuildResult:
    """Build `sources` for `target`, or find the same build in the cache.

    `defines` is a mapping or a list of "NAME" and "NAME=VALUE". `host_optimisation` is for programs of which
    nobody wants the host code to be fast, such as "-O0". Raises BuildError with diagnostics that
    name the sources as they are spelled here. With `walls`, for sources nobody vouches for, compilers and
    linker run behind them.
    """
    started = time.monotonic()
    if not sources:
        raise CourseError("nothing to build: no source file was given")
    cache = cache or default_cache()
    nvcc, cxx = find_nvcc(), find_host_compiler()
    command = (
        str(nvcc.path),
        "-ccbin",
        str(cxx.path),
        "-c",
        *_COMMON_FLAGS,
        host_optimisation or _HOST_OPTIMISATION.get((target.on_virtual, kind), "-O3"),
        *_KIND_FLAGS[kind],
        *target.compile_flags(),
        *(f"-D{define}" for define in _defines(defines)),
        *(f"-I{folder.absolute()}" for folder in include_dirs),
        *extra_flags,
    )
    units = [
        Unit(
            source=source.absolute(),
            command=command,
            fingerprint=digest(nvcc.fingerprint, cxx.fingerprint, *([walls.fingerprint()] if walls else [])),
            spelled=str(source),
            toolchain_root=nvcc.root,
        )
        for source in sources
    ]
    label = f"building {', '.join(source.name for source in sources)}"
    objects = compile_cuda(units, cache=cache, label=label, timeout=timeout, walls=walls)
    path, linked_before = _link(objects, target, kind, nvcc, cxx, cache, walls)
    log = "".join(compiled.log for compiled in objects)
    return BuildResult(
        path=path,
        diagnostics=parse_diagnostics(log, spelled_names(units)),
        seconds=time.monotonic() - started,
        cached=linked_before and all(compiled.cached for compiled in objects),
        log=log,
        objects=tuple(compiled.path for compiled in objects),
    )


def _link(
    objects: Sequence[Compiled],
    target: Target,
    kind: Kind,
    nvcc: Nvcc,
    cxx: HostCompiler,
    cache: Cache,
    walls: CompilerWalls | None,
) -> tuple[Path, bool]:
    """g++ links, not nvcc: from wheels nvcc looks for its libraries in a lib64 that is not there."""
    if target.on_virtual:
        runtime = build_engine(cache=cache).runtime
        libraries = [str(runtime), f"-Wl,-rpath,{runtime.parent}"]
    else:
        libraries = [f"-L{nvcc.library}", "-lcudart_static", "-lrt", "-ldl"]
    entry, cached = link(
        [str(cxx.path), *(["-shared"] if kind == "shared" else []), "-pthread"],
        objects,
        output=_OUTPUT[kind],
        libraries=libraries,
        fingerprint=digest(nvcc.fingerprint, cxx.fingerprint),
        cache=cache,
        walls=walls,
    )
    return entry.path / _OUTPUT[kind], cached


def _defines(defines: Mapping[str, str] | Sequence[str]) -> list[str]:
    if isinstance(defines, Mapping):
        return [f"{name}={value}" if value else name for name, value in defines.items()]
    return list(defines)
