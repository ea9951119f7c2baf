"""The compilers: which nvcc, g++ and ninja are used, where they came from, and a fingerprint to hash by."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from common.core.errors import CourseError

CUDA_MAJOR = 13
_USUAL_CUDA = "/usr/local/cuda"
# How they are run decides what they make: common/core/addresses.py says why.
_ADDRESSES = "at fixed addresses, under fixed names"
# cicc allocates with jemalloc, orders some things by their addresses, and so makes PTX that differs by an
# instruction here and there. The addresses depend on when unused memory is given back, which jemalloc decides
# by the clock, and on its caches; and on the lengths of names, which common/build/nvcc/fixed_names.py fixes.
SAME_MEMORY = "dirty_decay_ms:-1,muzzy_decay_ms:-1,narenas:1,tcache:false"
_VERSION = re.compile(r"release (\d+)\.(\d+), V([\d.]+)")
_TOP = re.compile(r"^#\$ TOP=(.*)$", re.MULTILINE)
# What nvcc cannot compile without, relative to its root; the five wheels bring one or two of these each.
_PARTS = {
    "bin/ptxas": "nvidia-cuda-nvcc",
    "nvvm/bin/cicc": "nvidia-nvvm",
    "include/crt/host_config.h": "nvidia-cuda-crt",
    "include/cuda_runtime.h": "nvidia-cuda-runtime",
    "include/cccl/cuda/std/version": "nvidia-cuda-cccl",
}
# Variables the compilers read themselves: a different value can give a different object.
_HOST_VARIABLES = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH")
NVCC_VARIABLES = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")


class ToolchainError(CourseError):
    """A compiler is missing or unusable."""


@dataclass(frozen=True)
class Nvcc:
    """NVIDIA's compiler. `origin` is where it came from: `COURSE_NVCC`, `machine` or `wheels`."""

    path: Path
    version: str
    origin: str
    root: Path
    include: Path
    library: Path
    fingerprint: str


@dataclass(frozen=True)
class HostCompiler:
    """The C++ compiler: g++, or what CXX names."""

    path: Path
    version: str
    fingerprint: str


@dataclass(frozen=True)
class Ninja:
    path: Path
    version: str


def find_nvcc() -> Nvcc:
    """The nvcc to use: `COURSE_NVCC`, else the machine's CUDA 13, else the wheels in site-packages."""
    rejected = []
    for origin, path in _nvcc_candidates():
        found = _inspect_nvcc(path, origin, _stamp(path)) if path.is_file() else "there is no such file"
        if isinstance(found, Nvcc):
            return found
        if origin == "COURSE_NVCC":
            raise ToolchainError(f"COURSE_NVCC={path}: {found}. Point it at an nvcc of CUDA {CUDA_MAJOR}.")
        rejected.append(f"\n  {path}: {found}")
    raise ToolchainError(
        f"no nvcc of CUDA {CUDA_MAJOR} was found: not in COURSE_NVCC, on PATH, in {_machine_cuda()}, nor as "
        f"wheels in {sys.prefix}. Install the CUDA {CUDA_MAJOR} toolkit, or let the course fetch "
        "NVIDIA's compiler wheels: COURSE_WHEELS=1 ./course doctor" + "".join(rejected)
    )


def library_headers() -> list[Path]:
    """Where headers of NVIDIA's other libraries lie that were installed as wheels, beside any nvcc."""
    folders = (nvidia / f"cu{CUDA_MAJOR}" / "include" for nvidia in _nvidia_packages())
    return [folder for folder in folders if folder.is_dir()]


def find_host_compiler() -> HostCompiler:
    """The C++ compiler that CXX names, else g++."""
    name = os.environ.get("CXX") or "g++"
    located = shutil.which(name)
    if located is None:
        raise ToolchainError(
            f"the C++ compiler {name!r} was not found. nvcc and the virtual GPU need one: install g++ "
            "(Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++), or set CXX to the path of one."
        )
    path = Path(located)
    return _inspect_host_compiler(path, _stamp(path))


def find_ninja() -> Ninja:
    """ninja, from the Python package of that name or from PATH."""
    beside_python = Path(sysconfig.get_path("scripts")) / "ninja"
    located = str(beside_python) if os.access(beside_python, os.X_OK) else shutil.which("ninja")
    if located is None:
        raise ToolchainError(
            "ninja was not found. Install it: pip install ninja (or apt install ninja-build)."
        )
    path = Path(located)
    return Ninja(path, _first_line(path, "--version"))


def compiler_variables(compiler: str) -> list[str]:
    """The user's own settings that this compiler obeys, to be hashed with the rest."""
    unread = NVCC_VARIABLES if compiler == str(find_host_compiler().path) else ()
    names = (*_HOST_VARIABLES, *NVCC_VARIABLES)
    return [f"{name}={'' if name in unread else os.environ.get(name, '')}" for name in names]


def compiler_environment(scratch: Path) -> dict[str, str]:
    """The environment compilers run in: messages in English, temporary files where they are swept up, and
    memory that is laid out the same every time."""
    return {
        **os.environ,
        "LC_ALL": "C",
        "TMPDIR": str(scratch),
        "CCACHE_DISABLE": "1",
        "MALLOC_CONF": SAME_MEMORY,
    }


def _nvcc_candidates() -> Iterator[tuple[str, Path]]:
    if chosen := os.environ.get("COURSE_NVCC"):
        yield "COURSE_NVCC", Path(shutil.which(chosen) or chosen)
        return
    if on_path := shutil.which("nvcc"):
        yield "machine", Path(on_path)
    if (usual := _machine_cuda() / "bin" / "nvcc").is_file():
        yield "machine", usual
    for nvidia in _nvidia_packages():
        if (wheel := nvidia / f"cu{CUDA_MAJOR}" / "bin" / "nvcc").is_file():
            yield "wheels", wheel


def _machine_cuda() -> Path:
    return Path(os.environ.get("CUDA_HOME") or _USUAL_CUDA)


def _nvidia_packages() -> list[Path]:
    """Folders of the namespace package `nvidia`, which NVIDIA's wheels share."""
    spec = importlib.util.find_spec("nvidia")
    return [Path(folder) for folder in (spec.submodule_search_locations or [])] if spec else []


@functools.cache
def _inspect_nvcc(path: Path, origin: str, stamp: str) -> Nvcc | str:
    """The compiler at `path`, or why it cannot be used. `stamp` makes a replaced file a new question."""
    said = _output(path, "--version")
    match = _VERSION.search(said)
    if match is None:
        return f"`{path} --version` does not answer as nvcc does"
    if int(match[1]) != CUDA_MAJOR:
        return f"it is CUDA {match[1]}.{match[2]}, and CUDA {CUDA_MAJOR} is needed"
    root = _root_of(path)
    missing = [f"{part} ({wheel})" for part, wheel in _PARTS.items() if not _inside(root, part).exists()]
    if missing:
        return f"it is incomplete: {root} lacks {', '.join(missing)}"
    library = next((f for f in _library_folders(root) if (f / "libcudart_static.a").exists()), root / "lib")
    tools = (path, *(root / part for part in ("bin/nvcc", "bin/ptxas", "bin/cudafe++", "nvvm/bin/cicc")))
    return Nvcc(
        path=path,
        version=match[3],
        origin=origin,
        root=root,
        include=_inside(root, "include/cuda_runtime.h").parent,
        library=library,
        fingerprint=_digest(match[3], _ADDRESSES, SAME_MEMORY, *(_stamp(tool) for tool in tools)),
    )


def _root_of(path: Path) -> Path:
    """The toolkit nvcc belongs to. On PATH there is often a wrapper script, so nvcc itself is asked."""
    resolved = path.resolve()
    if (resolved.parent.parent / "nvvm").is_dir():
        return resolved.parent.parent
    top = _TOP.search(_output(path, "--dryrun", "-E", "-x", "cu", "/dev/null"))
    return Path(top[1]).resolve() if top else resolved.parent.parent


def _inside(root: Path, part: str) -> Path:
    """`root/part`; toolkits keep headers under targets/ and may lack the link at their top."""
    usual = root / part
    return usual if usual.exists() else root / "targets" / _target_name() / part


def _library_folders(root: Path) -> tuple[Path, ...]:
    return (root / "lib64", root / "lib", root / "targets" / _target_name() / "lib")


def library_folders(root: Path) -> tuple[Path, ...]:
    """Where NVIDIA's libraries may lie: in the toolkit at `root`, and in the wheels."""
    return (*_library_folders(root), *(nvidia / f"cu{CUDA_MAJOR}" / "lib" for nvidia in _nvidia_packages()))


def _target_name() -> str:
    return {"aarch64": "sbsa-linux"}.get(platform.machine(), f"{platform.machine()}-linux")


@functools.cache
def _inspect_host_compiler(path: Path, stamp: str) -> HostCompiler:
    version = _first_line(path, "--version")
    return HostCompiler(path, version, _digest(version, stamp))


def _stamp(path: Path) -> str:
    """Path, size and time of a file: a compiler that was replaced in place gets another one."""
    try:
        stat = path.stat()
    except OSError:
        return f"{path} absent"
    return f"{path.resolve()} {stat.st_size} {stat.st_mtime_ns}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _first_line(path: Path, argument: str) -> str:
    return (_output(path, argument).splitlines() or ["unknown version"])[0].strip()


def _output(path: Path, *arguments: str) -> str:
    """Both output streams of a short question to a tool; empty when it cannot be run at all."""
    try:
        answer = subprocess.run(
            [path, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.decode(errors="replace")
