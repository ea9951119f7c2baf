"""Build CUDA programs and libraries for the GPU or for the virtual GPU, from one unchanged source."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from common.build.architecture import capability_of
from common.build.cache import Cache, default_cache
from common.build.compile import TIMEOUT_SECONDS, compile_units, make_entry
from common.build.diagnostics import Diagnostic, parse_diagnostics
from common.build.engine.build import build_engine
from common.build.errors import BuildError
from common.build.language import LANGUAGE_FLAGS, compile_cuda
from common.build.link import link
from common.build.nvcc.device_link import device_link_source
from common.build.nvcc.libraries import refusal_of
from common.build.nvcc.options import (
    REPLACED,
    NvccLine,
    absent_libraries,
    flags_of_environment,
    link_words,
    present,
    read_nvcc_line,
)
from common.build.nvcc.static_memory import refuse_excess
from common.build.toolchain import HostCompiler, Nvcc, find_host_compiler, find_nvcc, library_headers
from common.build.unit import Compiled, Unit, digest, hash_file, spelled_names
from common.build.walled import CompilerWalls
from common.core.errors import CourseError
from common.core.paths import REPOSITORY

Kind = Literal["exe", "shared"]
_OUTPUT: dict[Kind, str] = {"exe": "program", "shared": "library.so"}
# Host lines must be those of the calls: a tail call would leave its caller's line behind.
HOST_LINES = ("-Xcompiler", "-g1,-fno-optimize-sibling-calls")
# Options of nvcc's that only its link step reads.
_LINKERS = ("l", "L", "Xlinker")
LINKED_SUFFIXES = (".o", ".a", ".so")
LIBRARY_HEADERS = REPOSITORY / "common" / "virtual_gpu" / "include"
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

    def for_arch(self, arch: str | None) -> Target:
        """The same device and code for an architecture such as "sm_90a"; None is the device's own. Raises
        CourseError if the device does not run it."""
        return self if arch is None else replace(self, cc=capability_of(arch, self.cc))

    def compile_flags(self) -> tuple[str, ...]:
        """Besides what REPLACED of nvcc_options.py takes out of a user's flags."""
        code = "compute" if self.on_virtual else "sm"
        plain_text = ("-no-compress", "-cudart", "none", *last_includes()) if self.on_virtual else ()
        return (*plain_text, "-gencode", f"arch=compute_{self.cc},code={code}_{self.cc}")


def last_includes(*, for_nvcc: bool = True) -> list[str]:
    """Where headers of libraries are looked for last: NVIDIA's of other wheels, then those of the virtual
    GPU's own libraries, for machines that have no other."""
    words = [word for folder in (*library_headers(), LIBRARY_HEADERS) for word in ("-idirafter", str(folder))]
    return ["-Xcompiler", ",".join(words)] if for_nvcc else words


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
    link_flags: Sequence[str] = (),
    host_optimisation: str | None = None,
    cache: Cache | None = None,
    timeout: float = TIMEOUT_SECONDS,
    walls: CompilerWalls | None = None,
) -> BuildResult:
    """Build `sources` for `target`, or find the same build in the cache.

    `sources` may also be objects and libraries, which are linked. `defines` is a mapping or a list of "NAME"
    and "NAME=VALUE". `extra_flags` are any of nvcc's, also those for the linker (-l, -Xlinker, …); with
    -rdc=true the device code of all sources is linked. `link_flags` are the linker's. `host_optimisation`
    is for programs of which nobody wants the host code to be fast, such as "-O0". Raises BuildError with
    diagnostics that name the sources as they are spelled here. With `walls`, for sources nobody vouches
    for, compilers and linker run behind them.
    """
    started = time.monotonic()
    if not sources:
        raise CourseError("nothing to build: no source file was given")
    cache = cache or default_cache()
    nvcc, cxx = find_nvcc(), find_host_compiler()
    line = read_nvcc_line(extra_flags)
    chosen = read_nvcc_line([*extra_flags, *flags_of_environment()])
    optimisation = host_optimisation or _HOST_OPTIMISATION.get((target.on_virtual, kind), "-O3")
    command = (
        str(nvcc.path),
        "-ccbin",
        str(cxx.path),
        "-c",
        *_unless_chosen(chosen, {"std": LANGUAGE_FLAGS, "G": ("-lineinfo",)}),
        *HOST_LINES,
        *_unless_chosen(chosen, {"O": (optimisation,)}),
        *_KIND_FLAGS[kind],
        *(target.compile_flags() if target.on_virtual or not line.has("arch", "gencode") else ()),
        *(f"-D{define}" for define in _defines(defines)),
        *(f"-I{folder.absolute()}" for folder in include_dirs),
        *line.words(without=(*_LINKERS, *(REPLACED if target.on_virtual else ()))),
    )
    compiled_before = [path.absolute() for path in sources if path.suffix in LINKED_SUFFIXES]
    sources = [path for path in sources if path.suffix not in LINKED_SUFFIXES]
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
    if target.on_virtual:
        refuse_excess(units, objects)
    given = [*map(str, compiled_before), *link_words(chosen, on_virtual=target.on_virtual)]
    flags = [*given, *present(link_flags)] if target.on_virtual else [*given, *link_flags]
    try:
        path, linked_before = _link(objects, target, kind, nvcc, cxx, cache, walls, flags)
    except BuildError as problem:
        absent = refusal_of(problem.log) or absent_libraries(chosen, link_flags)
        if absent and target.on_virtual:
            raise BuildError(f"linking failed: {absent}", problem.diagnostics, problem.log) from problem
        raise
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
    flags: Sequence[str],
) -> tuple[Path, bool]:
    """g++ links, not nvcc: from wheels nvcc looks for its libraries in a lib64 that is not there."""
    files = [compiled.path for compiled in objects]
    files += [path for path in _files_in(flags) if path.suffix in (".o", ".a")]
    text = device_link_source(files) if walls is None else None
    if target.on_virtual:
        libraries = [*flags, *runtime_words(cache)]
        if text is not None:
            objects = [*objects, _device_link(text, cxx, cache)]
    elif text is not None:
        raise CourseError(
            "device code of several files (-rdc=true) is linked for the virtual GPU alone: use nvcc for a GPU"
        )
    else:
        libraries = [*flags, f"-L{nvcc.library}", "-lcudart_static", "-lrt", "-ldl"]
    entry, cached = link(
        [str(cxx.path), *(["-shared"] if kind == "shared" else []), "-pthread"],
        objects,
        output=_OUTPUT[kind],
        libraries=libraries,
        fingerprint=digest(nvcc.fingerprint, cxx.fingerprint, *map(hash_file, _files_in(flags))),
        cache=cache,
        walls=walls,
    )
    return entry.path / _OUTPUT[kind], cached


def _files_in(flags: Sequence[str]) -> list[Path]:
    """The user's objects and libraries that these flags of the linker name."""
    folders = [Path(flag[2:]) for flag in flags if flag.startswith("-L")]
    names = [flag[2:] for flag in flags if flag.startswith("-l")]
    libraries = [folder / f"lib{name}{end}" for folder in folders for name in names for end in (".so", ".a")]
    objects = [Path(flag) for flag in flags if flag.endswith(LINKED_SUFFIXES) and not flag.startswith("-")]
    for missing in (path for path in objects if not path.is_file()):
        raise CourseError(f"there is no file {missing} to link")
    return [*objects, *(library for library in libraries if library.is_file())]


def runtime_words(cache: Cache | None = None) -> list[str]:
    """What links a program with the virtual GPU's runtime library, in place of NVIDIA's."""
    runtime = build_engine(cache=cache).runtime
    return [str(runtime), f"-Wl,-rpath,{runtime.parent}"]


def _device_link(text: str, cxx: HostCompiler, cache: Cache) -> Compiled:
    """The object that registers the device code of all others."""

    def write(made: Path) -> None:
        (made / "device_link.c").write_text(text)

    source = make_entry(digest("device link", text), write, cache).path / "device_link.c"
    command = (str(cxx.path), "-x", "c", "-c", "-fPIC")
    unit = Unit(source=source, command=command, fingerprint=cxx.fingerprint)
    return compile_units([unit], cache=cache, label="linking device code")[0]


def _unless_chosen(line: NvccLine, ours: Mapping[str, Sequence[str]]) -> list[str]:
    """Flags of ours, by the option in whose place a user may give another: nvcc takes each of them once."""
    return [flag for name, flags in ours.items() if not line.has(name) for flag in flags]


def _defines(defines: Mapping[str, str] | Sequence[str]) -> list[str]:
    if isinstance(defines, Mapping):
        return [f"{name}={value}" if value else name for name, value in defines.items()]
    return list(defines)
