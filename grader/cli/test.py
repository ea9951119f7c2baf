"""`./course test [PYTEST ARGUMENTS]`: the linters, the type checker and the test suite.

Every step runs even if one before it failed. A tool that is not installed is named and skipped, so that a
machine with torch alone can still run the tests. With arguments, pytest gets exactly those; without, the
whole suite runs over all cores. The tests in a browser need this machine's Chromium; what drives it is
installed first if it is missing.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass

from common.cache import REPOSITORY
from grader import registry
from grader.cli.browser_tools import install_browser_driver

_CPP_SUFFIXES = (".cu", ".cuh", ".cpp", ".h")
_CPP_FOLDERS = ("common", "exercises", "solutions", "tests", "benchmarks")
_NOT_CODE = ("does_not_compile.cu",)  # on purpose
_NAMES = REPOSITORY / ".mypy_cache" / "names"  # mypy_path in pyproject.toml


@dataclass(frozen=True)
class Step:
    """One check. `command` gets pytest's arguments and answers None when its tool is not installed."""

    name: str
    command: Callable[[list[str]], list[str] | None]
    essential: bool = False


def main(arguments: list[str]) -> int:
    if arguments and arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    concerned = not arguments or any("browser" in argument for argument in arguments)
    if concerned and (done := install_browser_driver()):
        print(done, flush=True)
    results = [(step.name, *_run(step, arguments)) for step in STEPS]
    print("\nstep             seconds  result")
    for name, seconds, verdict in results:
        print(f"{name:<16} {seconds:7.1f}  {verdict}")
    return 1 if any(verdict.startswith("FAILED") for _, _, verdict in results) else 0


def _run(step: Step, arguments: list[str]) -> tuple[float, str]:
    command = step.command(arguments)
    if command is None:
        return 0.0, "FAILED (not installed here)" if step.essential else "skipped: not installed here"
    print(f"\n== {step.name}", flush=True)
    started = time.monotonic()
    status = subprocess.run(command, cwd=REPOSITORY, check=False).returncode
    return time.monotonic() - started, "passed" if status == 0 else f"FAILED (exit status {status})"


def _module(name: str, *rest: str) -> Callable[[list[str]], list[str] | None]:
    """A step that is a Python module with fixed arguments."""
    return lambda _: [sys.executable, "-m", name, *rest] if importlib.util.find_spec(name) else None


def _mypy_exercises(_: list[str]) -> list[str] | None:
    """Exercises and their tests, through links with names that packages can have.

    An exercise is called as the registry calls it; its tests are exercise_tests.of_NN_name.
    """
    if importlib.util.find_spec("mypy") is None:
        return None
    shutil.rmtree(_NAMES, ignore_errors=True)
    (_NAMES / "exercise_tests").mkdir(parents=True)
    for folder in registry.exercise_folders():
        (_NAMES / f"exercise_{folder.name}").symlink_to(folder)
        if (tests := REPOSITORY / "tests" / "exercises" / folder.name).is_dir():
            (_NAMES / "exercise_tests" / f"of_{folder.name}").symlink_to(tests)
    links = sorted(str(path.relative_to(REPOSITORY)) for path in _NAMES.iterdir())
    return [sys.executable, "-m", "mypy", *links]


def _clang_format(_: list[str]) -> list[str] | None:
    tool = shutil.which("clang-format", path=sysconfig.get_path("scripts")) or shutil.which("clang-format")
    files = sorted(
        str(path.relative_to(REPOSITORY))
        for folder in _CPP_FOLDERS
        for path in (REPOSITORY / folder).rglob("*")
        if path.suffix in _CPP_SUFFIXES and path.name not in _NOT_CODE
    )
    return [tool, "--dry-run", "--Werror", "--ferror-limit=1", *files] if tool and files else None


def _pytest(arguments: list[str]) -> list[str] | None:
    if importlib.util.find_spec("pytest") is None:
        return None
    spread = ["-n", str(len(os.sched_getaffinity(0))), "--dist", "worksteal"]
    if arguments or importlib.util.find_spec("xdist") is None:
        spread = []
    return [sys.executable, "-m", "pytest", *spread, *arguments]


STEPS = (
    Step("ruff", _module("ruff", "check", ".")),
    Step("ruff format", _module("ruff", "format", "--check", ".")),
    Step("mypy", _module("mypy")),
    Step("mypy, exercises", _mypy_exercises),
    Step("clang-format", _clang_format),
    Step("pytest", _pytest, essential=True),
)
