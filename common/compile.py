"""Compile sources to cached objects, in parallel through ninja.

An object is found again without running a compiler: source, command and toolchain name a manifest, and the
manifest lists the headers that each earlier compile read, with their hashes. The first list that still holds
leads to the object.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.build_errors import BuildError, raise_if_full
from common.cache import Cache, Entry, translated_errors
from common.diagnostics import Diagnostic, parse_diagnostics, place_ptx_diagnostics
from common.errors import CourseError
from common.precompiled import Precompiled, made_from, ninja_path
from common.process import Finished
from common.progress import Progress
from common.sandbox.compiler import CompilerWalls, run_compiler, with_reasons
from common.toolchain import find_ninja
from common.unit import Compiled, Unit, digest, hash_file, listed, spelled_names

_REMEMBERED_HEADER_LISTS = 8
_ATTEMPTS = 3
_MOST_LOG = 256 << 10  # characters
# Headers under these belong to the compilers, whose fingerprint is in the key already.
_SYSTEM_FOLDERS = ("/usr/include/", "/usr/lib/", "/usr/lib64/")
# nvcc passes paths through a shell of its own without quoting these.
_UNSAFE_IN_PATHS = re.compile(r'["$\\`\n]')
TIMEOUT_SECONDS = 900.0


@dataclass(frozen=True)
class _Job:
    """A unit that must be compiled, and where in the workspace that happens."""

    unit: Unit
    folder: Path
    manifest: str

    def read(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(errors="replace")
        except OSError:
            return ""

    def log(self) -> str:
        """What the compiler said; of a very long log (a source can provoke one) both ends."""
        text = self.read("log")
        if len(text) <= _MOST_LOG:
            return text
        return f"{text[: _MOST_LOG // 2]}\n[…]\n{text[-_MOST_LOG // 2 :]}"


def compile_units(
    units: Sequence[Unit],
    *,
    cache: Cache,
    label: str,
    timeout: float = TIMEOUT_SECONDS,
    walls: CompilerWalls | None = None,
) -> list[Compiled]:
    """Every unit's output, from the cache or compiled now. Raises BuildError with all that was wrong.

    With `walls` the compilers run behind them; the units' fingerprints must then include the walls'.
    """
    for unit in units:
        if not unit.source.is_file():
            raise CourseError(f"there is no source file {unit.spelled or unit.source}")
        if _UNSAFE_IN_PATHS.search(str(unit.source)):
            raise CourseError(f"nvcc cannot read paths with quotes, $, ` or \\: move or rename {unit.source}")
    entries = _find_all(units, cache)
    if None in entries:
        progress = Progress(label)
        # One lock for the set and its flags, whatever the sources hold now: two processes that want the same
        # build do it once, and one that comes while a source was edited still finds all the rest done.
        names = sorted(digest(str(unit.source), *unit.command) for unit in units)
        with cache.lock(
            digest("lock", *names),
            lambda _: progress.update("waiting for another process that builds the same"),
        ):
            return _compile_missing(units, cache, progress, timeout, walls)
    return [Compiled(unit, entry, True) for unit, entry in zip(units, entries, strict=True) if entry]


def make_entry(key: str, make: Callable[[Path], None], cache: Cache) -> Entry:
    """The entry `key`, filled by `make(folder)` if it is not there yet."""
    if (entry := cache.find(key)) is not None:
        return entry
    with cache.lock(key), cache.workspace() as workspace, translated_errors(cache):
        if (entry := cache.find(key)) is None:
            folder = workspace / "made"
            folder.mkdir()
            make(folder)
            entry = cache.store(key, folder, {})
        return entry


def parallel_jobs() -> int:
    return len(os.sched_getaffinity(0))


def _find_all(units: Sequence[Unit], cache: Cache) -> list[Entry | None]:
    """What the cache holds for each unit. Each header is hashed once, however many units read it."""

    @functools.cache
    def hash_or_none(path: str) -> str | None:
        try:
            return hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except OSError:
            return None

    def find(unit: Unit) -> Entry | None:
        for headers, key in cache.read_manifest(unit.manifest_key()):
            unchanged = all(hash_or_none(path) == wanted for path, wanted in headers.items())
            if unchanged and (entry := cache.find(key)) is not None:
                return entry
        return None

    return [find(unit) for unit in units]


def _compile_missing(
    units: Sequence[Unit], cache: Cache, progress: Progress, timeout: float, walls: CompilerWalls | None
) -> list[Compiled]:
    built: set[Unit] = set()
    for _ in range(_ATTEMPTS):
        # Looked up again under the lock: another process may have built it while we waited.
        entries = dict(zip(units, _find_all(units, cache), strict=True))
        missing = [unit for unit, entry in entries.items() if entry is None]
        if not missing:
            return [Compiled(unit, entry, unit not in built) for unit in units if (entry := entries[unit])]
        _run_ninja(missing, cache, progress, timeout, walls)
        built.update(missing)
    raise CourseError(f"{listed(missing)} or its headers kept changing while being compiled: run it again")


def _run_ninja(
    missing: Sequence[Unit], cache: Cache, progress: Progress, timeout: float, walls: CompilerWalls | None
) -> None:
    with cache.workspace() as workspace, translated_errors(cache):
        scratch = workspace / "tmp"
        scratch.mkdir()
        jobs = [_Job(unit, workspace / str(n), unit.manifest_key()) for n, unit in enumerate(missing)]
        for job in jobs:
            (job.folder / "out").mkdir(parents=True)
        (workspace / "build.ninja").write_text(_ninja_file(jobs, workspace))
        unfinished = list(jobs)

        def store_finished(output: str = "") -> None:
            """As objects appear, so that a build stopped half way keeps what it had."""
            unfinished[:] = [job for job in unfinished if not _store(job, cache)]
            progress.update(f"{len(jobs) - len(unfinished)} of {len(jobs)} files")

        finished = run_compiler(
            [str(find_ninja().path), "-k", "0", "-j", str(parallel_jobs())],
            cwd=workspace,
            scratch=scratch,
            timeout=timeout,
            walls=walls,
            read=_inputs_of(missing),
            on_tick=store_finished,
        )
        store_finished()
        progress.finish("failed" if unfinished else "done")
        if unfinished:
            raise _failure(unfinished, finished, timeout, cache, scratch, walls)


def _inputs_of(units: Sequence[Unit]) -> list[Path]:
    """The user's files that compiling needs: the sources, and the include folders of their commands."""
    flags = (flag for unit in units for flag in unit.command if flag.startswith("-I"))
    return [*(unit.source for unit in units), *(Path(flag[2:]) for flag in dict.fromkeys(flags))]


def _ninja_file(jobs: Sequence[_Job], workspace: Path) -> str:
    """One edge a job. What a compiler says goes to a file, so that each message stays with its source."""
    text = ["rule compile", "  command = $command", "  description = $out"]
    precompiled = Precompiled([job.unit for job in jobs], workspace)
    text += precompiled.edges
    for job in jobs:
        target = job.folder / "out" / job.unit.output
        partial = str(job.folder / "partial")  # renamed when whole: what is seen at `target` is finished
        places = ("-MD", "-MF", str(job.folder / "headers.d"), "-o", partial)
        header = precompiled.for_unit(job.unit)
        included = ("-include", str(header)) if header else ()
        compiling = shlex.join([*job.unit.command, *included, *places, str(job.unit.source)])
        renaming = shlex.join(["mv", partial, str(target)])
        started, log = (shlex.quote(str(job.folder / name)) for name in ("started", "log"))
        shell = f": > {started} && {compiling} > {log} 2>&1 && {renaming}"
        after = f" | {ninja_path(made_from(header))}" if header else ""
        text.append(f"build {ninja_path(target)}: compile {ninja_path(job.unit.source)}{after}")
        text.append(f"  command = {shell.replace('$', '$$')}")
    return "\n".join(text) + "\n"


def _store(job: _Job, cache: Cache) -> bool:
    """Put a finished job's output into the cache and remember the headers it read."""
    out = job.folder / "out"
    if not (out / job.unit.output).is_file():
        return False
    headers = _local_headers(job)
    hashes = {str(path): hash_file(path) for path in headers}
    if _changed_meanwhile(job, headers):
        return True  # not remembered, so it is compiled again
    key = digest("object", job.manifest, json.dumps(hashes, sort_keys=True))
    cache.store(key, out, {"log": job.log()})
    remembered = [pair for pair in cache.read_manifest(job.manifest) if pair != [hashes, key]]
    cache.write_manifest(job.manifest, [[hashes, key], *remembered][:_REMEMBERED_HEADER_LISTS])
    return True


def _changed_meanwhile(job: _Job, headers: Sequence[Path]) -> bool:
    """Whether a file was written after the compile began: the object may come from neither version."""
    if job.unit.manifest_key() != job.manifest:
        return True
    started = (job.folder / "started").stat().st_mtime_ns
    now = time.time_ns()  # times in the future are a wrong clock, not a change
    return any(started <= header.stat().st_mtime_ns <= now for header in headers)


def _local_headers(job: _Job) -> list[Path]:
    """The headers of a dependency file that belong neither to the system, the toolchain nor the workspace."""
    text = job.read("headers.d").replace("\\\n", " ")
    _, _, listed = text.partition(": ")
    words = re.findall(r"(?:\\.|[^\s\\])+", listed)
    names = [re.sub(r"\\([ #])", r"\1", word).replace("$$", "$") for word in words]
    workspace = job.folder.parent
    ours = [workspace.resolve(), *([job.unit.toolchain_root] if job.unit.toolchain_root else [])]
    system = (*_SYSTEM_FOLDERS, *(f"{folder}/" for folder in ours))
    headers = {Path(os.path.normpath(workspace / name)) for name in names}
    return sorted(h for h in headers if h != job.unit.source and not str(h.resolve()).startswith(system))


def _failure(
    failed: Sequence[_Job],
    finished: Finished,
    timeout: float,
    cache: Cache,
    scratch: Path,
    walls: CompilerWalls | None,
) -> BuildError:
    names = spelled_names([job.unit for job in failed])
    log = "".join(job.log() for job in failed)
    raise_if_full(log, cache)
    diagnostics: list[Diagnostic] = []
    for job in failed:
        found = parse_diagnostics(job.log(), names)
        if any((diagnostic.file or "").endswith(".ptx") for diagnostic in found):
            found = place_ptx_diagnostics(found, _ptx_of(job, scratch, walls), names)
        diagnostics += found
    sources = listed([job.unit for job in failed])
    diagnostics = list(dict.fromkeys(diagnostics))  # one source may be compiled for several architectures
    if walls is not None:
        timeout = min(timeout, walls.seconds)
        diagnostics = with_reasons(diagnostics, log, finished.stopped, walls, sources)
    if finished.status is None:
        message = f"compiling {sources} did not end within {timeout:.0f} s and was stopped"
        return BuildError(message, diagnostics, log)
    return BuildError(f"{sources} did not compile", diagnostics, log or finished.output)


def _ptx_of(job: _Job, scratch: Path, walls: CompilerWalls | None) -> str:
    """The PTX that ptxas complained about, made once more, to read its line marks."""
    target = job.folder / "again.ptx"
    kept = [flag for flag in job.unit.command if flag not in ("-c", "-cubin")]
    code = [re.sub(r"code=sm_(\w+)", r"code=compute_\1", flag) for flag in kept]
    run_compiler(
        [*code, "-ptx", str(job.unit.source), "-o", str(target)],
        cwd=scratch.parent,
        scratch=scratch,
        timeout=120,
        walls=walls,
        read=_inputs_of([job.unit]),
    )
    return job.read("again.ptx")
