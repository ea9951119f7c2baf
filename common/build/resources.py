"""What ptxas says a kernel costs on real hardware: registers, shared memory, stack and spills."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from common.build.cache import Cache, default_cache
from common.build.compile import TIMEOUT_SECONDS, compile_units, make_entry
from common.build.language import LANGUAGE_FLAGS, compile_cuda
from common.build.toolchain import find_host_compiler, find_nvcc
from common.build.unit import Compiled, Unit, digest
from common.build.walled import CompilerWalls
from common.machine_code.cubin import NotACubin, read
from common.machine_code.embedded_ptx import embedded_ptx
from common.machine_code.listing import Listing, listing

ARCHES = ("sm_80", "sm_89", "sm_90")

_ENTRY = re.compile(r"Compiling entry function '(\S+)' for '(\w+)'")
_FUNCTION = re.compile(r"Function properties for (\S+)")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_CONSTANT = re.compile(r"(\d+) bytes cmem\[\d+\]")


@dataclass(frozen=True)
class KernelResources:
    """One kernel's resources, bytes except for registers. `shared` is the static part only."""

    name: str
    demangled: str
    arch: str
    registers: int
    shared: int
    stack: int
    spill_stores: int
    spill_loads: int
    constant: int
    machine: Listing | None = field(default=None, repr=False, compare=False)


def resources(
    source: Path,
    *,
    arches: Sequence[str] = ARCHES,
    defines: Sequence[str] = (),
    include_dirs: Sequence[Path] = (),
    extra_flags: Sequence[str] = (),
    cache: Cache | None = None,
    timeout: float = TIMEOUT_SECONDS,
    walls: CompilerWalls | None = None,
) -> dict[str, list[KernelResources]]:
    """Compile `source` for each architecture and report every kernel in it, in the file's order."""
    flags = (
        *LANGUAGE_FLAGS,
        *(f"-D{define}" for define in defines),
        *(f"-I{folder.absolute()}" for folder in include_dirs),
        *extra_flags,
    )
    units = [_unit(source.absolute(), arch, flags, str(source), walls) for arch in arches]
    label = f"measuring registers of {source.name}"
    compiled = compile_cuda(units, cache=cache or default_cache(), label=label, timeout=timeout, walls=walls)
    return {
        arch: _with_machine_code(parse_ptxas(one.log), one.path)
        for arch, one in zip(arches, compiled, strict=True)
    }


def resources_in(
    library: Path, arch: str, *, cache: Cache | None = None, walls: CompilerWalls | None = None
) -> list[KernelResources] | None:
    """The same of a library that was built for the virtual GPU from one source, without reading the source a
    second time: ptxas gets the PTX that the virtual GPU runs. None where the library does not show it."""
    compiled = cubin_of(library, arch, cache=cache, walls=walls)
    return _with_machine_code(parse_ptxas(compiled.log), compiled.path) if compiled else None


def cubin_of(
    library: Path, arch: str, *, cache: Cache | None = None, walls: CompilerWalls | None = None
) -> Compiled | None:
    """What ptxas makes of the PTX inside such a library; None where the library does not show it."""
    ptx = embedded_ptx(library.read_bytes())
    if ptx is None:
        return None

    def write(folder: Path, text: bytes = ptx) -> None:
        (folder / "kernels.ptx").write_bytes(text)

    cache = cache or default_cache()
    entry = make_entry(digest("embedded PTX", hashlib.sha256(ptx).hexdigest()), write, cache)
    unit = _unit(entry.path / "kernels.ptx", arch, (), library.name, walls)
    (compiled,) = compile_units([unit], cache=cache, label="measuring registers", walls=walls)
    return compiled


def resources_of(
    built: Path,
    source: Path,
    arch: str,
    *,
    defines: Sequence[str] = (),
    include_dirs: Sequence[Path] = (),
    walls: CompilerWalls | None = None,
) -> list[KernelResources]:
    """Every kernel of what was built for the virtual GPU from `source`, for the same architecture and with
    these flags: from the PTX inside, which is most of the work, or else from the source."""
    found = resources_in(built, arch, walls=walls)
    if found is not None:
        return found
    return resources(source, arches=[arch], defines=defines, include_dirs=include_dirs, walls=walls)[arch]


def _unit(source: Path, arch: str, flags: Sequence[str], spelled: str, walls: CompilerWalls | None) -> Unit:
    """CUDA or PTX to a cubin; nvcc knows which from the name."""
    nvcc, cxx = find_nvcc(), find_host_compiler()
    return Unit(
        source=source,
        command=(
            *(str(nvcc.path), "-ccbin", str(cxx.path), "-cubin", "-O3", "-lineinfo", "-Xptxas", "-v"),
            *("-Xptxas", "-split-compile=2"),  # several kernels at once; what it makes is the same
            *("-gencode", f"arch=compute_{_number(arch)},code={arch}"),
            *flags,
        ),
        fingerprint=digest(nvcc.fingerprint, cxx.fingerprint, *([walls.fingerprint()] if walls else [])),
        spelled=spelled,
        output="unit.cubin",
        toolchain_root=nvcc.root,
    )


def write_for_engine(
    kernels: Sequence[KernelResources], folder: Path, device_code: bytes | None = None
) -> Path:
    """The file from which the engine learns what ptxas made of the kernels that it runs as PTX. With
    `device_code`, it runs that PTX alone: figures go by kernels' names, and others may have the same."""
    path = folder / "resources.json"
    known = {
        kernel.name: {
            "registers": kernel.registers,
            **({"machine": kernel.machine.plain()} if kernel.machine else {}),
        }
        for kernel in kernels
    }
    only = {} if device_code is None else {"device_code": device_code.decode("latin-1")}  # byte by byte
    path.write_text(json.dumps({"kernels": known, **only}))
    return path


def _with_machine_code(kernels: list[KernelResources], cubin: Path) -> list[KernelResources]:
    try:
        texts = {text.name: text for text in read(cubin.read_bytes())}
    except NotACubin:
        return kernels
    return [
        dataclasses.replace(kernel, machine=listing(texts[kernel.name])) if kernel.name in texts else kernel
        for kernel in kernels
    ]


def parse_ptxas(log: str) -> list[KernelResources]:
    """The kernels in a `ptxas -v` report. Functions that were not inlined have no registers of their own."""
    found: list[KernelResources] = []
    entry: re.Match[str] | None = None
    properties = ""
    stacks: dict[str, tuple[int, ...]] = {}
    for line in log.splitlines():
        if match := _ENTRY.search(line):
            entry = match
        elif match := _FUNCTION.search(line):
            properties = match[1]
        elif match := _STACK.search(line):
            stacks[properties] = tuple(int(number) for number in match.groups())
        elif entry is not None and (match := _REGISTERS.search(line)):
            stack, stores, loads = stacks.get(entry[1], (0, 0, 0))
            found.append(
                KernelResources(
                    name=entry[1],
                    demangled=demangle(entry[1]),
                    arch=entry[2],
                    registers=int(match[1]),
                    shared=sum(map(int, _SHARED.findall(line))),
                    stack=stack,
                    spill_stores=stores,
                    spill_loads=loads,
                    constant=sum(map(int, _CONSTANT.findall(line))),
                )
            )
            entry = None
    return found


def demangle(name: str) -> str:
    """The C++ signature behind a mangled name; the name itself where libstdc++ does not know it."""
    function = _cxa_demangle()
    if function is None or not name.startswith("_Z"):
        return name
    status = ctypes.c_int()
    answer = function(name.encode(), None, None, ctypes.byref(status))
    if status.value != 0 or not answer:
        return name
    text = ctypes.string_at(answer).decode(errors="replace")
    ctypes.CDLL(None).free(ctypes.c_void_p(answer))
    return text


@functools.cache
def _cxa_demangle() -> ctypes._NamedFuncPointer | None:
    try:
        function = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
    return function


def _number(arch: str) -> str:
    return arch.removeprefix("sm_")
