"""Compile sources to cached objects, in parallel through ninja.

An object is found again without running a compiler: source, command and toolchain name a manifest, and the
manifest lists the headers that each earlier compile read, with their hashes. The first list that still holds
leads to the object.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import re
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.build.cache import Cache, Entry, translated_errors
from common.build.diagnostics import Diagnostic, errors_of, parse_diagnostics, place_ptx_diagnostics
from common.build.errors import BuildError, raise_if_full
from common.build.nvcc_steps import SILENT, STEPS_FOLDER, Step, dependency_files, steps_of
from common.build.precompiled import Precompiled, made_from, ninja_path
from common.build.toolchain import find_ninja
from common.build.unit import Compiled, Unit, digest, hash_file, listed, spelled_names
from common.build.walled import CompilerWalls, run_compiler, with_reasons
from common.core.cpu_time import COUNTED
from common.core.errors import CourseError
from common.core.process import Finished
from common.core.progress import Progress

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
    steps: Sequence[Step]  # nvcc's, in its order; none where the command is run as it is

    @property
    def partial(self) -> Path:
        """Where the output is written; it is renamed when whole."""
        return self.folder / "partial"

    def read(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(errors="replace")
        except OSError:
            return ""

    def log(self) -> str:
        """What the compiler said; of a very long log (a source can provoke one) both ends."""
        text = "".join(self._logs())
        if len(text) <= _MOST_LOG:
            return text
        return f"{text[: _MOST_LOG // 2]}\n[…]\n{text[-_MOST_LOG // 2 :]}"

    def _logs(self) -> Iterator[str]:
        """As nvcc writes them, which stops at the first step that fails. Host and device code are parsed
        apart: what is wrong with the file would be said twice."""
        if not self.steps:
            yield self.read("log")
        for number, step in enumerate(self.steps):
            if step.name not in SILENT:
                yield step.in_true_names(self.read(f"log{number}"))
            if not (self.folder / f"done{number}").exists():
                return

    def edges(self, precompiled: Precompiled) -> list[str]:
        """What the ninja file needs to make the output. What a compiler says goes to a file, so that each
        message stays with its source."""
        target = self.folder / "out" / self.unit.output
        renaming = shlex.join(["mv", str(self.partial), str(target)])
        if not self.steps:
            header = precompiled.for_unit(self.unit)
            included = ("-include", str(header)) if header else ()
            places = ("-MD", "-MF", str(self.folder / "headers.d"), "-o", str(self.partial))
            compiling = shlex.join([*self.unit.command, *included, *places, str(self.unit.source)])
            after = [self.unit.source, *([made_from(header)] if header else [])]
            return _edge(target, after, f"{self._marked(compiling, 'log')} && {renaming}")
        done = {step.name: self.folder / f"done{number}" for number, step in enumerate(self.steps)}
        edges: list[str] = []
        for number, step in enumerate(self.steps):
            made = done[step.name]
            after = [done[name] for name in step.after] or [self.unit.source]
            command = self._marked(f"{{ {step.command} ; }}", f"log{number}")
            edges += _edge(made, after, f"{command} && : > {shlex.quote(str(made))}")
        return [*edges, *_edge(target, list(done.values()), renaming)]

    def _marked(self, command: str, log: str) -> str:
        """With a file whose time is that of the first command's start, and another for what it says."""
        started, said = (shlex.quote(str(self.folder / name)) for name in ("started", log))
        return f"{{ [ -e {started} ] || : > {started} ; }} && {command} > {said} 2>&1"


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
    """How many compilers may run at once: COURSE_JOBS, else one per core of this process."""
    chosen = os.environ.get("COURSE_JOBS", "")
    return int(chosen) if chosen.isdecimal() and int(chosen) > 0 else len(os.sched_getaffinity(0))


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
    ended = False
    for _ in range(_ATTEMPTS):
        # Looked up again under the lock: another process may have built it while we waited.
        entries = dict(zip(units, _find_all(units, cache), strict=True))
        missing = [unit for unit, entry in entries.items() if entry is None]
        if not missing:
            return [Compiled(unit, entry, unit not in built) for unit in units if (entry := entries[unit])]
        try:
            _run_ninja(missing, cache, progress, timeout, walls)
        except BuildError as problem:
            # A compiler that fails and complains of nothing was ended from outside, by a machine without
            # memory for one: nobody's source is at fault until that has happened twice.
            if walls is None or errors_of(problem.diagnostics) or ended:
                raise
            ended = True
        built.update(missing)
    raise CourseError(f"{listed(missing)} or its headers kept changing while being compiled: run it again")


def _run_ninja(
    missing: Sequence[Unit], cache: Cache, progress: Progress, timeout: float, walls: CompilerWalls | None
) -> None:
    with cache.workspace() as workspace, translated_errors(cache):
        scratch = workspace / "tmp"
        scratch.mkdir()
        jobs = [
            _job(unit, workspace / str(number), alone=walls is not None)
            for number, unit in enumerate(missing)
        ]
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


def _job(unit: Unit, folder: Path, *, alone: bool) -> _Job:
    """Behind walls a program has one source."""
    (folder / "out").mkdir(parents=True)
    job = _Job(unit, folder, unit.manifest_key(), ())
    steps = steps_of(unit, folder, job.partial, one_at_a_time=parallel_jobs() == 1, alone=alone)
    return dataclasses.replace(job, steps=steps or ())


def _ninja_file(jobs: Sequence[_Job], workspace: Path) -> str:
    text = ["rule compile", "  command = $command", "  description = $out"]
    precompiled = Precompiled([job.unit for job in jobs], workspace)
    text += precompiled.edges
    for job in jobs:
        text += job.edges(precompiled)
    return "\n".join(text) + "\n"


def _edge(target: Path, after: Sequence[Path], command: str) -> list[str]:
    waits = " ".join(map(ninja_path, after))
    return [f"build {ninja_path(target)}: compile {waits}", f"  command = {command.replace('$', '$$')}"]


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
    """The headers of the dependency files that belong neither to the system, the toolchain nor the
    workspace."""
    files = dependency_files(job.folder) if job.steps else [job.folder / "headers.d"]
    workspace = job.folder.parent
    ours = [workspace.resolve(), *([job.unit.toolchain_root] if job.unit.toolchain_root else [])]
    system = (*_SYSTEM_FOLDERS, *(f"{folder}/" for folder in ours))
    names = [name for file in files for name in _listed_in(job.read(file.name))]
    headers = {Path(os.path.normpath(workspace / name)) for name in names}
    return sorted(h for h in headers if h != job.unit.source and not str(h.resolve()).startswith(system))


def _listed_in(dependency_file: str) -> list[str]:
    _, _, listed = dependency_file.replace("\\\n", " ").partition(": ")
    words = re.findall(r"(?:\\.|[^\s\\])+", listed)
    return [re.sub(r"\\([ #])", r"\1", word).replace("$$", "$") for word in words]


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
        message = f"compiling {sources} did not end within {timeout:.0f} s {COUNTED} and was stopped"
        return BuildError(message, diagnostics, log)
    return BuildError(f"{sources} did not compile", diagnostics, log or finished.output)


def _ptx_of(job: _Job, scratch: Path, walls: CompilerWalls | None) -> str:
    """The PTX that ptxas complained about, to read its line marks; made once more where nvcc kept none."""
    if job.steps:
        return job.read(f"{STEPS_FOLDER}/{job.unit.source.stem}.ptx")
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
