"""Run compilers on a stranger's text: behind walls, with limits of their own.

A source can make a compiler read any file (`#include`, `.incbin`), run for ever (templates), eat all memory
or write gigabytes. Here it may read the toolchain, the system's headers and libraries, the include folders
it was given and the files that were listed, and write into its workspace.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from common.build.diagnostics import Diagnostic
from common.build.toolchain import compiler_environment, find_host_compiler, find_ninja, find_nvcc
from common.core.cpu_time import COUNTED
from common.core.process import Finished, run_contained
from common.sandbox import walls as walls_module
from common.sandbox.watchdog import Limits, Watchdog

_SYSTEM = (
    *("/bin", "/lib", "/lib64", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/include"),
    *("/usr/local/bin", "/usr/local/lib", "/usr/local/lib64", "/usr/local/libexec", "/usr/local/include"),
    *("/etc/ld.so.cache", "/etc/localtime", "/usr/share/locale", "/proc/sys/vm/overcommit_memory"),
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
# All that compilers find in their environment: a source could have them read the rest from /proc.
_ENVIRONMENT = ("PATH", "LC_ALL", "TMPDIR", "CCACHE_DISABLE", "MALLOC_CONF")
_MOST_OPEN_FILES = 512
_REFUSED_FILE = (
    "a submission may include the headers of CUDA, of the C++ library and those the exercise offers; "
    "no other file can be read while it is compiled"
)
_TOO_BIG = "write less code, or let less of it be generated: smaller tables, fewer instances of templates"
_FOR_REFUSED_FILES = re.compile(r"Permission denied|^file not found: ")
# The assembler names a temporary file, which helps nobody: its messages are reported at the source.
_ASSEMBLER = re.compile(r"^\S+\.s:(?:\d+:)? (?:Fatal error|Error): (?P<message>.*)$", re.MULTILINE)
_FILE_LIMIT_MET = re.compile(r"File too large|File size limit exceeded")


@dataclass(frozen=True)
class CompilerWalls:
    """What compiling one submission may read, beside its sources and include folders, and use."""

    files: tuple[Path, ...] = ()
    seconds: float = 180.0
    memory_bytes: int = 4 << 30
    written_bytes: int = 512 << 20
    processes: int = 64

    def fingerprint(self) -> str:
        """For cache keys: what was compiled in the open may hold what a submission must not read."""
        return json.dumps(["walls", *sorted(str(path.absolute()) for path in self.files)])


def run_compiler(
    command: Sequence[str],
    *,
    cwd: Path,
    scratch: Path,
    timeout: float,
    walls: CompilerWalls | None,
    read: Iterable[Path] = (),
    on_tick: Callable[[str], None] | None = None,
) -> Finished:
    """Run a compiler or a build in `cwd`, with temporary files in `scratch`; behind `walls` if any are given.

    Behind walls `cwd` is all that it can write, and of the user's files it reads those in `read`. Its memory
    lies at the same addresses every time, so that one file compiles to one code.
    """
    environment = compiler_environment(scratch)
    if walls is None:
        return run_contained(
            command, cwd=cwd, env=environment, timeout=timeout, on_tick=on_tick, fixed_addresses=True
        )
    limits = Limits(
        memory_bytes=walls.memory_bytes, folder_bytes=walls.written_bytes, processes=walls.processes
    )
    watchdogs: list[Watchdog] = []
    try:
        finished = run_contained(
            _behind(_policy(walls, cwd, read), command),
            cwd=cwd,
            env={name: environment[name] for name in _ENVIRONMENT if name in environment},
            timeout=min(timeout, walls.seconds),
            on_tick=on_tick,
            on_start=lambda leader: watchdogs.append(Watchdog(leader, limits, folder=cwd)),
            fixed_addresses=True,
        )
    finally:
        reasons = [watchdog.stop() for watchdog in watchdogs]
    if finished.status is None:
        return replace(finished, stopped=f"ran for more than {min(timeout, walls.seconds):g} s {COUNTED}")
    return replace(finished, stopped=next(iter(reasons), None))


def reading(command: Sequence[str], file: Path) -> list[str]:
    """The command that runs one of the system's tools on a stranger's file, behind walls: it may read that
    file's folder and write nothing."""
    policy = {"read": [*_SYSTEM, str(file.absolute().parent)], "devices": ["/dev/null"], "children": True}
    return _behind(policy, command)


def _behind(policy: Mapping[str, object], command: Sequence[str]) -> list[str]:
    return [sys.executable, "-I", "-S", str(walls_module.__file__), json.dumps(policy), *command]


def with_reasons(
    diagnostics: Sequence[Diagnostic], log: str, stopped: str | None, walls: CompilerWalls, source: str
) -> list[Diagnostic]:
    """The diagnostics of a compile behind walls, with what the walls and limits had to do with them."""
    if stopped is None and _FILE_LIMIT_MET.search(log):
        stopped = f"wrote a file of more than {walls.written_bytes >> 20} MiB"
    if stopped is not None:
        excess = Diagnostic("error", source, None, None, f"the compiler {stopped} and was ended", _TOO_BIG)
        return [excess, *diagnostics]
    from_assembler = (Diagnostic("error", source, None, None, found[1]) for found in _ASSEMBLER.finditer(log))
    return [
        replace(one, hint=_REFUSED_FILE) if _FOR_REFUSED_FILES.search(one.message) else one
        for one in (*diagnostics, *dict.fromkeys(from_assembler))
    ]


def _policy(walls: CompilerWalls, workspace: Path, read: Iterable[Path]) -> dict[str, object]:
    listed = (path.absolute() for path in (*_toolchain(), *walls.files, *read))
    return {
        "read": [*_SYSTEM, *dict.fromkeys(map(str, listed))],
        "write": [str(workspace)],
        "folders": True,
        "devices": list(_DEVICES),
        "children": True,
        "threads": True,
        "umask": 0o022,  # results may be shared through the build cache
        "limits": {"FSIZE": walls.written_bytes, "NOFILE": _MOST_OPEN_FILES, "CORE": 0},
    }


def _toolchain() -> list[Path]:
    nvcc, cxx = find_nvcc(), find_host_compiler()
    compiler = Path(os.path.realpath(cxx.path))
    prefix = compiler.parent.parent
    # A compiler of an environment such as conda's has its parts beside it; the system's are listed already.
    parts = [prefix] if (prefix / "lib" / "gcc").is_dir() and prefix not in (Path("/"), Path("/usr")) else []
    return [nvcc.path, nvcc.root, cxx.path, compiler, *parts, find_ninja().path]
