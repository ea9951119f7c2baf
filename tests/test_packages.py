"""What stands apart: exercises from the machinery, programs from data, and everything from its tests.

An exercise may import the words that describe it, the parts it brings in, and what it serves. Who may
import whom inside the grader is in pyproject.toml, for import-linter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.core.paths import REPOSITORY

EXERCISES = sorted((REPOSITORY / "exercises").glob("*/"))
ALLOWED = (
    "grader.spec",
    "grader.words",
    "grader.lab.lab",
    "grader.gate.spec",
    "grader.gate.criteria",
    "grader.gate.measured",
    "grader.tuning.spec",
    "grader.tuning.counters",
    "common.core.errors",
    "common.serving",
    "common.virtual_gpu.report",  # what evidence is made of
)
PACKAGES = [
    path for root in ("common", "grader", "benchmarks") for path in (REPOSITORY / root).rglob("__init__.py")
]
MOST_MODULES = 15
PROGRAMS = {".py", ".cu", ".cuh", ".cpp", ".h", ".sh", ".ipynb"}


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("folder", EXERCISES, ids=lambda path: path.name)
def test_an_exercise_sees_the_words_and_nothing_of_the_machinery(folder: Path) -> None:
    files = folder.rglob("*.py")
    ours = {name for file in files for name in imported(file) if name.split(".")[0] in ("common", "grader")}
    assert {name for name in ours if not f"{name}.".startswith(tuple(f"{one}." for one in ALLOWED))} == set()


@pytest.mark.parametrize("init", PACKAGES, ids=lambda path: str(path.parent.relative_to(REPOSITORY)))
def test_a_package_says_what_it_holds_and_holds_no_more_than_fits(init: Path) -> None:
    assert ast.get_docstring(ast.parse(init.read_text()))
    assert len([path for path in init.parent.glob("*.py") if path != init]) <= MOST_MODULES


@pytest.mark.parametrize(
    "init",
    [init for init in PACKAGES if init.relative_to(REPOSITORY).parts[0] in ("common", "grader")],
    ids=lambda path: str(path.parent.relative_to(REPOSITORY)),
)
def test_a_package_of_the_product_says_what_it_may_import(init: Path) -> None:
    assert re.search(r"\b([Mm]ay\s+import|Imports)\b", ast.get_docstring(ast.parse(init.read_text())) or "")


@pytest.mark.parametrize(
    "folder", ["common", "grader", "exercises", "solutions", "benchmarks", "requirements"]
)
def test_nothing_but_tests_imports_tests(folder: str) -> None:
    files = (REPOSITORY / folder).rglob("*.py")
    assert [str(file) for file in files for name in imported(file) if name.split(".")[0] == "tests"] == []


def test_the_engine_phrases_findings_in_checks_alone() -> None:
    """What runs instructions passes facts; the sentences are in checks/."""
    files = (REPOSITORY / "common" / "virtual_gpu" / "engine" / "exec").glob("*.cpp")
    phrased = re.compile(r'(?:\bchecks::\w+\([^;]*?"[^"\n]* |(?:\.|->)(?:message|advice) *\+?= )')
    assert [(file.name, found[0]) for file in files for found in phrased.finditer(file.read_text())] == []


def test_docs_are_pages_that_nothing_can_import() -> None:
    assert list((REPOSITORY / "docs").rglob("*.py")) == []


@pytest.mark.parametrize("folder", ["benchmarks/data", "common/measured"])
def test_what_was_measured_is_data_alone(folder: str) -> None:
    files = [path for path in (REPOSITORY / folder).rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if path.suffix in PROGRAMS] == []
