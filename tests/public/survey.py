"""`python -m tests.public.survey FOLDER`: build and run every program below a folder, and write a table.

Programs are built where they lie: give it a copy. It fetches nothing. A program is a folder with a Makefile
(its target `run`, if it has one, runs it), a CMakeLists.txt, or CUDA sources with a main(). --arguments names
a TOML file with the arguments of some: "folder/name" = "100 10".
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.public.outcomes import NOT_BUILT, Outcome, judge_build, judge_run, table
from tests.public.programs import BIN, COURSE, Program, find_programs

_MOST_OUTPUT = 1 << 20
_ELF = b"\x7fELF"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.public.survey",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, metavar="TABLE.md", help="default: standard output")
    parser.add_argument("--arguments", type=Path, metavar="FILE.toml")
    parser.add_argument("--only", default="", metavar="REGEX", help="programs whose names match")
    parser.add_argument("--seconds", type=float, default=300.0, help="for each build and for each run")
    options = parser.parse_args()
    arguments = tomllib.loads(options.arguments.read_text()) if options.arguments else {}
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as work:
        for program in find_programs(options.folder.resolve(), Path(work), arguments):
            if not re.search(options.only, program.name):
                continue
            outcomes.append(survey(program, options.seconds))
            one = outcomes[-1]
            print(f"{one.name}: {one.outcome} {one.what}", file=sys.stderr, flush=True)
            if options.output:  # as far as it has come
                options.output.write_text(table(outcomes))
    if not options.output:
        print(table(outcomes), end="")
    return 0


def survey(program: Program, seconds: float) -> Outcome:
    """Build and run one program, each for at most so many seconds."""
    started = time.monotonic()
    for command in program.build:
        status, output = _run(command, program.folder, seconds)
        if status != 0 and "clean" not in command:
            outcome, what = judge_build(output) if status is not None else (NOT_BUILT, "out of time")
            return Outcome(program.name, outcome, what, time.monotonic() - started)
    built = time.monotonic() - started
    words = _command(program)
    if words is None:
        return Outcome(program.name, NOT_BUILT, "the build leaves no program", built)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        started = time.monotonic()
        if words[:2] == [str(COURSE), "run"]:
            words = [*words[:2], "--json", file.name, *words[2:]]
        status, output = _run(words, program.folder, seconds, VGPU_REPORT=file.name)
        outcome, what = judge_run(status, output, _read(Path(file.name)))
    return Outcome(program.name, outcome, what, built, time.monotonic() - started)


def _command(program: Program) -> Sequence[str] | None:
    """What runs it: the first program that the build has left, where nothing else is said."""
    if program.executables_in is None:
        return program.run
    found = [path for path in sorted(program.executables_in.rglob("*")) if _is_program(path)]
    return [str(found[0]), *(program.run or ())] if found else None


def _is_program(path: Path) -> bool:
    inside = "CMakeFiles" in path.parts or ".so" in path.name or not path.is_file()
    if inside or not os.access(path, os.X_OK):
        return False
    with path.open("rb") as file:
        return file.read(4) == _ELF


def _read(report: Path) -> Mapping[str, Any]:
    try:
        read: Mapping[str, Any] = json.loads(report.read_bytes())
    except ValueError:
        return {}
    return read


def _run(command: Sequence[str], folder: Path, seconds: float, **variables: str) -> tuple[int | None, str]:
    """The status, None if its time was up, and what it wrote."""
    path = f"{BIN}:{os.environ.get('PATH', '')}"
    environment = {**os.environ, "COURSE_PYTHON": sys.executable, "PATH": path, **variables}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        try:
            os.killpg(process.pid, signal.SIGKILL)  # with whatever it left running
        except ProcessLookupError:
            pass
        process.wait()
        output.seek(0)
        return status, output.read(_MOST_OUTPUT).decode(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
