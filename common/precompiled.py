"""Headers that the compiler reads once for many units, as part of the ninja file that compiles those.

The precompiled form lives as long as that build: it is some 80 MB large and made in three seconds.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from common.unit import Unit

_WORTH_IT = 6  # units: reading the headers once more costs about as much as four of them save
# g++ takes a precompiled header at any of these levels, whichever it was made at. -O0 has other macros.
_OPTIMISED = re.compile(r"-O[123]")

_Shared = tuple[Path | None, tuple[str, ...]]  # a header and the flags that count


class Precompiled:
    """The precompiled headers of a build; `edges` is what its ninja file needs to make them."""

    def __init__(self, units: Sequence[Unit], workspace: Path) -> None:
        self.edges = ["rule precompile", "  command = $command", "  description = $out"]
        self._copies: dict[_Shared, Path] = {}
        wanted = Counter(map(_shared_by, units))
        for unit in units:
            shared = _shared_by(unit)
            if unit.precompiled and wanted[shared] >= _WORTH_IT and shared not in self._copies:
                copy = workspace / f"precompiled{len(self._copies)}" / unit.precompiled.name
                self._copies[shared] = copy
                self.edges += _edge(unit.precompiled, unit.command, copy)

    def for_unit(self, unit: Unit) -> Path | None:
        """The header that `unit` is to include first."""
        return self._copies.get(_shared_by(unit))


def _shared_by(unit: Unit) -> _Shared:
    """What the units that can use the same precompiled header have in common."""
    return unit.precompiled, tuple(flag for flag in unit.command if not _OPTIMISED.fullmatch(flag))


def made_from(header: Path) -> Path:
    """Where g++ looks for the precompiled form of a header."""
    return header.with_name(header.name + ".gch")


def ninja_path(path: Path) -> str:
    return re.sub(r"([$: ])", r"$\1", str(path))


def _edge(header: Path, command: Sequence[str], copy: Path) -> list[str]:
    """Precompiles a copy of `header`. That never fails: without it, the compiler reads the copy as text."""
    copy.parent.mkdir()
    copy.write_bytes(header.read_bytes())
    flags = [flag for flag in command if flag != "-c"]  # the others must be those of the units
    compiling = shlex.join([*flags, "-x", "c++-header", str(copy), "-o", str(made_from(copy))])
    shell = f"{compiling} > {shlex.quote(str(copy.parent / 'log'))} 2>&1 || true"
    return [
        f"build {ninja_path(made_from(copy))}: precompile {ninja_path(header)}",
        f"  command = {shell.replace('$', '$$')}",
    ]
