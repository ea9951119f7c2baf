"""A source with the command that compiles it, and the keys under which caches keep what came of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from common.build.cache import Entry
from common.build.toolchain import compiler_variables
from common.core.errors import CourseError

_SCHEMA = "1"  # part of every key: change it when the meaning of a cached folder changes


@dataclass(frozen=True)
class Unit:
    """One source and the command that compiles it, up to `source -o output` and the dependency file."""

    source: Path
    command: tuple[str, ...]
    fingerprint: str
    spelled: str | None = None  # the source as the user wrote it, for messages
    output: str = "unit.o"
    toolchain_root: Path | None = None  # headers under it are the compiler's own
    # A header that includes standard headers alone. Where many units are compiled with the same command, the
    # compiler reads it once for all of them; what they compile to is the same with it and without.
    precompiled: Path | None = None

    def manifest_key(self) -> str:
        identity = [str(self.source), hash_file(self.source), *self.command]
        return digest(
            "manifest", self.output, self.fingerprint, *compiler_variables(self.command[0]), *identity
        )


@dataclass(frozen=True)
class Compiled:
    """A compiled unit: the cache entry that holds its output, and what the compiler said."""

    unit: Unit
    entry: Entry
    cached: bool

    @property
    def path(self) -> Path:
        return self.entry.path / self.unit.output

    @property
    def key(self) -> str:
        return self.entry.path.name

    @property
    def log(self) -> str:
        return str(self.entry.notes.get("log", ""))


def digest(*parts: str) -> str:
    """A key for the cache. Hashed as JSON, so that no two lists of parts read the same."""
    return hashlib.sha256(json.dumps([_SCHEMA, *parts]).encode()).hexdigest()[:40]


def hash_file(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise CourseError(f"cannot read {path}: {error.strerror}") from error


def listed(units: Sequence[Unit]) -> str:
    """Their names as the user wrote them, the first few of many."""
    names = list(dict.fromkeys(unit.spelled or unit.source.name for unit in units))
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def spelled_names(units: Sequence[Unit]) -> dict[Path, str]:
    return {unit.source: unit.spelled for unit in units if unit.spelled}
