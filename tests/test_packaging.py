"""One list of dependencies, in pyproject.toml; the lock and all that is made from it agree with it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from common.core.paths import REPOSITORY
from requirements import make

PROJECT = make.project()
LOCK = make.parse_lock(make.LOCK.read_text())
GROUPS = make.groups(LOCK)
# Every supported Python at its first and a late release, and those that Debian 12 and the tests have.
RELEASES = [f"{python}.{patch}" for python in make.PYTHONS for patch in (0, 2, 4, 5, 7, 99)]
TOOLS = {
    "pytest",
    "pytest-xdist",
    "hypothesis",
    "ruff",
    "mypy",
    "clang-format",
    "optuna",
    "nbgrader",
    "playwright",
}


@pytest.mark.parametrize("path", make.files(), ids=lambda path: path.name)
def test_made_files_are_what_the_script_makes(path: Path):
    assert path.read_text() == make.files()[path], "run `python -m requirements.make`"


def test_the_lock_reads_as_it_was_written():
    assert make.render_lock(LOCK) == make.LOCK.read_text()


def test_every_dependency_is_pinned_and_locked_at_the_same_version():
    listed = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]
    assert {*listed} <= {package.pin for package in LOCK}, "run `python -m requirements.lock`"


@pytest.mark.parametrize("machine", make.MACHINES)
@pytest.mark.parametrize("python", RELEASES)
def test_no_locked_package_excludes_a_python_that_is_promised(python: str, machine: str):
    """One version of each package applies, its own requires-python allows this Python, and it has a wheel."""
    markers = pytest.importorskip("packaging.markers")
    specifiers = pytest.importorskip("packaging.specifiers")
    chosen: dict[str, make.Package] = {}
    for package in LOCK:
        if package.applies(python, machine, markers.Marker):
            assert package.name not in chosen, f"{package.pin} and {chosen[package.name].pin}"
            chosen[package.name] = package
            assert python in specifiers.SpecifierSet(package.python), f"{package.pin} needs {package.python}"
            assert dict(package.sizes)[machine] > 0, f"{package.pin} has no wheel for {machine}"
            assert package.hashes
    direct = [requirement.partition("==")[0] for requirement in PROJECT["dependencies"]]
    assert set(direct) <= set(chosen)


def test_a_pin_that_excludes_a_promised_python_would_be_found():
    """The lock that failed on Debian 12: soupsieve 4.1 for every Python, though it needs 3.11.5."""
    specifiers = pytest.importorskip("packaging.specifiers")
    newest = next(package for package in LOCK if package.pin == "soupsieve==4.1")
    assert newest.marker == "python_full_version >= '3.11.5'"
    assert "3.11.2" not in specifiers.SpecifierSet(newest.python)


def test_groups_are_whole_and_students_get_no_tools():
    base = {package.name for package in GROUPS["base"]}
    assert not base & TOOLS
    assert "torch" not in base
    assert not [name for name in base if name.startswith(("nvidia-", "cuda-", "triton"))], "no GPU is needed"
    for group, packages in GROUPS.items():
        names = {package.name for package in packages} | base
        for package in LOCK:
            if package.via & names - {"torch"}:
                assert package.name in names | {"torch"}, f"{group} lacks {package.name}"


def test_nothing_that_is_made_names_an_index_or_a_machine():
    for path in (make.LOCK, *make.files()):
        assert not re.search(r"https?:|--index|--find-links|file:|^# .* /", path.read_text(), re.MULTILINE), (
            path
        )


def test_importing_the_grader_is_light():
    heavy = "torch numpy rich matplotlib asyncio"
    script = f"import sys, grader.cli; print([m for m in {heavy.split()} if m in sys.modules])"
    command = [sys.executable, "-c", script]
    assert (
        subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout == "[]\n"
    )


def test_the_entries_can_be_executed():
    for name in ("course", ".ci/run"):
        assert os.access(REPOSITORY / name, os.X_OK)
