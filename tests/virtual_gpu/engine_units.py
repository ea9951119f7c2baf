"""The engine's own files, compiled as the engine is, for drivers that test one part of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from common.build.cache import default_cache
from common.build.engine.build import _ENGINE_FLAGS, SOURCE_DIR, _units, build_engine, isa_flags
from common.build.toolchain import find_host_compiler
from common.build.unit import Unit

ENGINE = SOURCE_DIR / "engine"


def engine_units(sources: Sequence[Path]) -> list[Unit]:
    """`sources` with the engine's flags. Whole groups of the engine's are compiled already.

    The engine is built first, because a build waits for another of the same files as a whole, but not for one
    that shares some of them: on an empty cache both would compile the same.
    """
    build_engine()
    flags = (*_ENGINE_FLAGS, *isa_flags())
    return _units(sources, ENGINE, flags, find_host_compiler(), None, default_cache())
