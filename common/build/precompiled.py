"""Headers that the compiler reads once for many units, as part of the ninja file that compiles those.

The precompiled form lives as long as that build: it is some 80 MB large and made in three seconds.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from common.build.unit import Unit

_WORTH_IT = 6  # units: reading the headers once more costs about as much as four of them save


class Precompiled:
    """The precompiled headers of a build; `edges` is what its ninja file needs to make them."""

    def __init__(self, units: Sequence[Unit], workspace: Path) -> None:
        self.edges = ["rule precompile", "  command = $command", "  description = $out"]
        self._copies: dict[tuple[Path, tuple[str, ...]], Path] = {}
        wanted = Counter((unit.precompiled, unit.command) for unit in units)
        for (header, command), count in wanted.items():
            if header is not None and count >= _WORTH_IT:
                copy = workspace / f"precompiled{len(self._copies)}" / header.name
                self._copies[header, command] = copy
                self.edges += _edge(header, command, copy)

    def for_unit(self, unit: Unit) -> Path | None:
        """The header that `unit` is to include first."""
        return self._copies.get((unit.precompiled, unit.command)) if unit.precompiled else None


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
