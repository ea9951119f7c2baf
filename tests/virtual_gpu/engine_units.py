"""The engine's own files, compiled as the engine is, for drivers that test one part of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from common.build.cache import default_cache
from common.build.engine.build import (
    _ENGINE_FLAGS,
    _MOVED_MEMORY,
    SOURCE_DIR,
    _built_in_profiles,
    _sanitizer_flags,
    _units,
    build_engine,
    isa_flags,
)
from common.build.toolchain import find_host_compiler
from common.build.unit import Unit

ENGINE = SOURCE_DIR / "engine"


def engine_units(sources: Sequence[Path], more: Sequence[str] = ()) -> list[Unit]:
    """`sources` with the engine's flags, and `more`. Whole groups of the engine's are compiled already.

    The engine is built first, because a build waits for another of the same files as a whole, but not for one
    that shares some of them: on an empty cache both would compile the same.
    """
    build_engine()
    sanitizer = _sanitizer_flags()
    flags = (*_ENGINE_FLAGS, *isa_flags(), *((_MOVED_MEMORY,) if sanitizer else ()))
    return _units(sources, ENGINE, flags, find_host_compiler(), None, default_cache(), (*sanitizer, *more))


def linker() -> list[str]:
    """What links such files: a sanitizer has a library of its own."""
    return [str(find_host_compiler().path), "-pthread", *_sanitizer_flags()]


def all_but_main() -> list[Path]:
    """The engine's sources, for drivers that have a main() of their own."""
    sources = sorted(path for path in ENGINE.rglob("*.cpp") if path.name != "main.cpp")
    return [*sources, *_built_in_profiles(SOURCE_DIR, default_cache())]
