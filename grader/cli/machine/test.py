"""`./course test [--quick] [PYTEST ARGUMENTS]`: the linters, the type checker and the test suite.

What runs on one core runs beside the tests. Every step runs even if one before it failed. A tool that is not
installed is named and skipped, so that a machine with only torch can still run the tests. `--quick` leaves
out every test that needs a compiler, the virtual GPU, a browser or a GPU. With other arguments, such as a
path, pytest gets exactly those; without, the whole suite runs over all cores. Tests that make whole systems
run with `-m root` alone. The tests in a browser need this machine's Chromium; what drives it is installed
first if it is missing.
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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from common.build.engine.build import build_engine
from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.cli.machine.browser_tools import install_browser_driver
from grader.spec import registry

_CPP_SUFFIXES = (".cu", ".cuh", ".cpp", ".h", ".def")
_CPP_FOLDERS = ("common", "exercises", "solutions", "tests", "benchmarks")
_NOT_CODE = ("does_not_compile.cu",)  # on purpose
_QUICK = "--quick"
_NEEDS_NOTHING = "not (engine or compiler or browser or gpu or root)"  # the markers of pyproject.toml
_SLOW_SECONDS = 1  # the slowest twenty are shown, but none that is quicker
_NAMES = REPOSITORY / ".mypy_cache" / "names"  # mypy_path in pyproject.toml


@dataclass(frozen=True)
class Step:
    """One check. `command` gets pytest's arguments and returns None when its tool is not installed."""

    name: str
    command: Callable[[list[str]], list[str] | None]
    essential: bool = False
    aside: bool = False  # runs on one core, beside the others; its output is shown when it is done


@dataclass(frozen=True)
class Result:
    name: str
    seconds: float
    verdict: str


def main(arguments: list[str]) -> int:
    if arguments and arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    concerned = not arguments or any("browser" in argument for argument in arguments)
    if concerned and (done := install_browser_driver()):
        print(done, flush=True)
    if not arguments:
        _build_engine()
    with ThreadPoolExecutor(1) as pool:  # one: the type checker's second run uses the cache of its first
        asides = [pool.submit(_run, step, arguments) for step in STEPS if step.aside]
        results = [_run(step, arguments) for step in STEPS if not step.aside]
        results = [aside.result() for aside in asides] + results
    print("\nstep             seconds  result")
    for result in results:
        print(f"{result.name:<16} {result.seconds:7.1f}  {result.verdict}")
    return 1 if any(result.verdict.startswith("FAILED") for result in results) else 0


def _build_engine() -> None:
    """Build on all cores, before tests that compile on one core each wait for it. If it cannot be built, the
    tests that need it fail with the reason."""
    try:
        build_engine()
    except CourseError as problem:
        print(f"warning: {problem}", flush=True)


def _run(step: Step, arguments: list[str]) -> Result:
    command = step.command(arguments)
    if command is None:
        verdict = "FAILED (not installed here)" if step.essential else "skipped: not installed here"
        return Result(step.name, 0.0, verdict)
    if not step.aside:
        print(f"\n== {step.name}", flush=True)
    started = time.monotonic()
    kept = subprocess.PIPE if step.aside else None
    done = subprocess.run(
        command, cwd=REPOSITORY, check=False, stdout=kept, stderr=subprocess.STDOUT if kept else None
    )
    if step.aside and (done.returncode != 0 or done.stdout.strip()):
        print(f"\n== {step.name}\n{done.stdout.decode(errors='replace').rstrip()}", flush=True)
    verdict = "passed" if done.returncode == 0 else f"FAILED (exit status {done.returncode})"
    return Result(step.name, time.monotonic() - started, verdict)


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


def _tool(name: str) -> str | None:
    return shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)


def _imports(_: list[str]) -> list[str] | None:
    """Who imports whom, by the contracts in pyproject.toml."""
    tool = _tool("lint-imports")
    return [tool, "--no-cache", "--no-logo"] if tool else None


def _clang_format(_: list[str]) -> list[str] | None:
    tool = _tool("clang-format")
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
    given = [argument for argument in arguments if argument != _QUICK]
    options = [] if given else ["--durations=20", f"--durations-min={_SLOW_SECONDS}"]
    if not given and importlib.util.find_spec("xdist"):
        # By items, in the order and the groups of tests/spread.py, which has the scheduler. One process more
        # than there are cores: a test in six waits for something else than a core.
        processes = len(os.sched_getaffinity(0)) + 1
        options += ["-n", str(processes), "--dist=loadscope", "--no-loadscope-reorder"]
    if _QUICK in arguments:
        options += ["-m", _NEEDS_NOTHING]
    return [sys.executable, "-m", "pytest", *options, *given]


STEPS = (
    Step("ruff", _module("ruff", "check", "."), aside=True),
    Step("ruff format", _module("ruff", "format", "--check", "."), aside=True),
    Step("mypy", _module("mypy"), aside=True),
    Step("mypy, exercises", _mypy_exercises, aside=True),
    Step("imports", _imports, aside=True),
    Step("clang-format", _clang_format, aside=True),
    Step("pytest", _pytest, essential=True),
)
