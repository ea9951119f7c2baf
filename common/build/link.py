"""Link compiled objects into a program or a library, once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from common.build.cache import Cache, Entry, translated_errors
from common.build.compile import TIMEOUT_SECONDS
from common.build.diagnostics import parse_diagnostics
from common.build.errors import BuildError, raise_if_full
from common.build.toolchain import compiler_variables
from common.build.unit import Compiled, digest, listed, spelled_names
from common.build.walled import CompilerWalls, run_compiler, with_reasons


def link(
    command: Sequence[str],
    objects: Sequence[Compiled],
    *,
    output: str,
    libraries: Sequence[str],
    fingerprint: str,
    cache: Cache,
    timeout: float = TIMEOUT_SECONDS,
    walls: CompilerWalls | None = None,
) -> tuple[Entry, bool]:
    """Link objects into `output` inside a cache entry; the flag says whether it was there already."""
    inputs = [*command, "--", *libraries, "--", *(compiled.key for compiled in objects)]
    key = digest("link", fingerprint, output, *compiler_variables(command[0]), *inputs)
    if (entry := cache.find(key)) is not None:
        return entry, True
    with cache.lock(key):
        if (entry := cache.find(key)) is not None:
            return entry, True
        with cache.workspace() as workspace, translated_errors(cache):
            folder = workspace / "linked"
            folder.mkdir()
            paths = [str(o.path) for o in objects]
            finished = run_compiler(
                [*command, "-o", str(folder / output), *paths, *libraries],
                cwd=workspace,
                scratch=workspace,
                timeout=timeout,
                walls=walls,
                read=[*(Path(path).parent for path in paths), *_folders_of(libraries)],
            )
            if finished.status != 0:
                raise_if_full(finished.output, cache)
                what = "did not end in time" if finished.status is None else "failed"
                units = [compiled.unit for compiled in objects]
                diagnostics = parse_diagnostics(finished.output, spelled_names(units))
                if walls is not None:
                    said, names = finished.output, listed(units)
                    diagnostics = with_reasons(diagnostics, said, finished.stopped, walls, names)
                raise BuildError(f"linking {listed(units)} {what}", diagnostics, finished.output)
            os.chmod(folder / output, 0o755)  # behind walls no linker can
            return cache.store(key, folder, {"log": finished.output}), False


def _folders_of(libraries: Sequence[str]) -> list[Path]:
    named = [Path(word.removeprefix("-L")) for word in libraries if word.startswith(("/", "-L"))]
    return [path if path.is_dir() else path.parent for path in named]
