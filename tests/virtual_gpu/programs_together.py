"""The programs of a folder compiled as one, because nine tenths of a compile are CUDA's own headers.

A made source includes each program in a namespace of its own, where main() is a function like any other, and
has a main() that calls the one its first argument names. Files and lines stay the programs' own, and a run is
still a process with one program in it; only the names of kernels have the namespace before them.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from common.build.diagnostics import Diagnostic
from common.build.program import Target, build_program
from common.virtual_gpu.engine import Options
from common.virtual_gpu.session import RunReport, run_program
from tests.made_source import made_source

_INCLUDE = re.compile(r'^#include [<"].*$', re.MULTILINE)


@dataclass(frozen=True)
class ProgramsTogether:
    """Several programs in one executable, and what the compiler had to say about them."""

    path: Path
    diagnostics: list[Diagnostic]

    def run(self, name: str, *, timeout: float, options: Options | None = None) -> RunReport:
        """Run the program whose file has this name, without its ending."""
        return run_program(
            self.path,
            [name],
            options=options,
            timeout=timeout,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


def build_together(
    programs: Sequence[Path],
    *,
    cc: str = "90",
    defines: Sequence[str] = (),
    flags: Sequence[str] = (),
    host_optimisation: str | None = None,
) -> ProgramsTogether:
    """Build programs, whose names must differ, for the virtual GPU. Their `int main()` must end in a return:
    in a namespace none is implied. To optimise the host code of many takes longer than all that they do."""
    source = made_source("together.cu", _source(programs))
    built = build_program(
        [source],
        Target.virtual(cc),
        defines=defines,
        extra_flags=flags,
        host_optimisation=host_optimisation,
    )
    return ProgramsTogether(built.path, built.diagnostics)


def _source(programs: Sequence[Path]) -> str:
    headers = dict.fromkeys(header for program in programs for header in _headers(program))
    included = [f'namespace {_namespace(program)} {{\n#include "{program}"\n}}' for program in programs]
    rows = [f'    {{"{program.stem}", {_namespace(program)}::main}},' for program in programs]
    return "\n".join(
        [
            "#include <map>",
            "#include <string>",
            *headers,  # here first: inside of a namespace their guards leave nothing of them
            *included,
            "int main(int, char** arguments) {",
            "  const std::map<std::string, int (*)()> programs = {",
            *rows,
            "  };",
            "  return programs.at(arguments[1])();",
            "}\n",
        ]
    )


def _headers(program: Path) -> list[str]:
    """Its `#include` lines, with the whole path of those that lie beside it."""
    lines = _INCLUDE.findall(program.read_text())
    return [re.sub(r'"(.*)"', lambda name: f'"{program.parent / name[1]}"', line) for line in lines]


def _namespace(program: Path) -> str:
    return f"program_{program.stem}"
