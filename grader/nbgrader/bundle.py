"""The student bundle: what a class gets, without solutions, mark schemes, tests or instructors' settings. The
keys of labs are in it as digests."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from common.build.engine.build import release_engine
from common.build.engine.prebuilt import PREBUILT
from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.lab.lab import all_labs
from grader.lab.sealed import seal, sealed_key
from grader.nbgrader.class_folder import assignments, put_working_copy
from grader.spec import registry

# Copied whole. Of the benchmarks, those with which notebook 02 measures a whole step and notebook 03 the
# costs of copies.
_WHOLE = (
    "course",
    "bin",
    "LICENSE",
    "pyproject.toml",
    "environment.yml",
    *(f"requirements/{group}.txt" for group in ("base", "torch", "wheels", "triton", "tune", "nbgrader")),
    "common",
    "grader",
    "exercises",
    *(f"benchmarks/{folder}__init__.py" for folder in ("", "copies/", "timing/")),
    "benchmarks/copies/decode_step.py",
    "benchmarks/copies/reality_check.py",
    "benchmarks/timing/graphs.py",
)
_PAGES = ("programs", "virtual-gpu", "checks", "counters", "cost-model", "grading", "security")
_README = "for-students.md"
# Files of tools, and common/measured/tuned, which reveals the best choices of the solutions.
_LEFT_OUT = ("__pycache__", "*.pyc", ".*", "*.egg-info", "tuned")


def write_bundle(folder: Path, *, with_engine: bool = False) -> list[Path]:
    """Write the bundle into an empty or new folder, and return its files.

    `with_engine` adds the virtual GPU as this machine builds it, for machines that it fits.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CourseError(f"{folder} exists already and is not empty: name a new folder")
    if not _is_whole():
        raise CourseError("this is a student bundle: make a bundle from the whole course")
    try:
        for name in _WHOLE:
            _copy(REPOSITORY / name, folder / name)
        for page in _pages():
            _copy(page, folder / page.relative_to(REPOSITORY))
        (folder / "README.md").write_text(_front_page())
        for assignment in assignments():
            put_working_copy(assignment, folder / "notebooks" / assignment, replace=True)
        for lab in all_labs():
            (folder / sealed_key(lab).relative_to(REPOSITORY)).write_text(seal(lab))
        if with_engine:
            release_engine(folder / PREBUILT.name)
    except OSError as problem:
        raise CourseError(f"{folder} cannot be written: {problem.strerror} ({problem.filename})") from problem
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _is_whole() -> bool:
    return registry.SOLUTIONS.is_dir()


def _pages() -> Iterator[Path]:
    """The pages, and the pictures that they show."""
    for name in _PAGES:
        yield REPOSITORY / "docs" / f"{name}.md"
    yield from sorted((REPOSITORY / "docs").glob("*.svg"))


def _front_page() -> str:
    """The students' page, with links changed: it is in docs/ here and above docs/ in the bundle."""
    text = (REPOSITORY / "docs" / _README).read_text()
    return re.sub(r"\]\((?=[\w-]+\.md)", "](docs/", text)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(*_LEFT_OUT), dirs_exist_ok=True)
    else:
        shutil.copy2(source, target)
