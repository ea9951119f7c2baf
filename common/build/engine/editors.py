"""compile_commands.json: editors read from it how each file of the virtual GPU is compiled (clangd does)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from common.build.engine.groups import group_of
from common.core.files import write_json
from common.core.paths import REPOSITORY

COMPILE_COMMANDS = REPOSITORY / "compile_commands.json"


def compile_commands(sources: Sequence[Path], folder: Path, command: Sequence[str]) -> list[dict[str, Any]]:
    """One entry per file: an editor knows nothing of groups, which are compiled as one file."""
    entries: list[dict[str, Any]] = []
    for source in sources:
        group = group_of(source, folder)
        arguments = [*command, *(group.flags if group else ()), str(source)]
        entries.append({"directory": str(folder), "file": str(source), "arguments": arguments})
    return entries


def write_compile_commands(entries: Sequence[dict[str, Any]]) -> None:
    with suppress(OSError):  # a course that may only be read has no editors
        write_json(COMPILE_COMMANDS, list(entries))
