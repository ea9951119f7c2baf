"""Students get all they need to work, and nothing that would do the work for them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.build.cache import default_cache
from common.build.engine.build import build_engine
from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.course.starters import _BEGIN, _END
from grader.lab.lab import all_labs
from grader.lab.sealed import sealed_key
from grader.nbgrader.bundle import write_bundle
from tests.waiting import LONG

_RUN = 5  # so many lines of a solution, one after the other, are a piece of it


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("students") / "bundle"
    write_bundle(folder)
    return folder


def test_solutions_tests_and_the_instructors_part_stay_here(bundle):
    names = {path.name for path in bundle.iterdir()}
    assert names.isdisjoint(
        {"solutions", "tests", "work", "grades", "nbgrader_config.py", "course.toml", ".ci"}
    )
    kept = {"mark_scheme.md", "answers.md", "gradebook.db", "configurations.json"}
    assert [path for path in bundle.rglob("*") if path.name in kept] == []


def test_no_piece_of_a_solution_is_in_it(bundle):
    secrets = {run: path for path, lines in solved_lines() for run in runs(lines)}
    assert len(secrets) > 100
    leaks = {
        f"{path.relative_to(bundle)}: {run[0]} (of {secrets[run]})"
        for path in bundle.rglob("*")
        if path.is_file() and path.suffix not in (".png", ".svg")
        for run in runs(path.read_text(errors="replace").splitlines())
        if run in secrets
    }
    assert leaks == set()


def solved_lines() -> Iterator[tuple[Path, list[str]]]:
    """The regions of every solution that its starter has not, and whole pages that are for instructors."""
    solutions = REPOSITORY / "solutions"
    for path in solutions.rglob("*.cu"):
        inside: list[str] | None = None
        for line in path.read_text().splitlines():
            if _BEGIN.match(line):
                inside = []
            elif _END.match(line) and inside is not None:
                yield path.relative_to(REPOSITORY), inside
                inside = None
            elif inside is not None and "// STARTER:" not in line and "// TODO:" not in line:
                inside.append(line)
    for path in solutions.rglob("*.md"):
        yield path.relative_to(REPOSITORY), path.read_text().splitlines()


def runs(lines: list[str]) -> Iterator[tuple[str, ...]]:
    """Consecutive lines that say something, without their spaces."""
    plain = [
        text for line in lines if len(text := " ".join(line.split())) > 12 and not text.startswith("| -")
    ]
    yield from zip(*(plain[start:] for start in range(_RUN)), strict=False)


def test_pages_link_to_what_is_there(bundle):
    for page in (*bundle.glob("*.md"), *bundle.glob("docs/*.md")):
        links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
        assert [link for link in links if not (page.parent / link).exists()] == []


def test_pages_that_notebooks_send_to_are_there(bundle):
    for notebook in bundle.glob("notebooks/*/*.ipynb"):
        named = re.findall(r"\bdocs/[\w-]+\.md", notebook.read_text())
        assert [page for page in named if not (bundle / page).is_file()] == []


@pytest.mark.parametrize("verb", [["grade"], ["gate", "05"]])
def test_what_takes_a_solution_says_that_there_is_none(bundle, verb):
    answer = subprocess.run(
        [sys.executable, "-m", "grader", *verb], cwd=bundle, capture_output=True, text=True, timeout=LONG
    )
    assert answer.returncode != 0
    assert answer.stderr.startswith("error: there are no reference solutions here"), answer.stderr


def test_every_lab_has_its_sealed_key_and_no_other(bundle):
    sealed = {path.relative_to(bundle) for path in bundle.rglob("sealed.json")}
    assert sealed == {sealed_key(lab).relative_to(REPOSITORY) for lab in all_labs()}
    assert [*bundle.rglob("key.toml")] == []


@pytest.mark.parametrize("lab", all_labs(), ids=lambda lab: lab.exercise)
def test_a_sheet_can_be_compared(bundle, lab):
    answer = subprocess.run(
        [sys.executable, "-m", "grader", "lab", lab.number, str(bundle / lab.sheet.relative_to(REPOSITORY))],
        cwd=bundle,
        capture_output=True,
        text=True,
        timeout=LONG,
    )
    assert answer.returncode == 0, answer.stderr
    assert "0 of 7 kernels" in answer.stdout


def test_every_notebook_has_its_starter_beside_it(bundle):
    for notebook in bundle.glob("notebooks/*/*.ipynb"):
        exercise = bundle / "exercises" / notebook.stem
        if exercise.is_dir():
            starter = notebook.with_name("kernel.cu").read_bytes()
            assert starter == (exercise / "kernel.cu").read_bytes()


def test_a_student_can_check_a_kernel_with_the_bundle_alone(bundle, tmp_path):
    kernel = tmp_path / "kernel.cu"
    kernel.write_bytes((bundle / "exercises" / "01_kv_store" / "baseline.cu").read_bytes())
    # The sources of its virtual GPU are the repository's, and so is what was built of them.
    engine = build_engine().engine
    answer = subprocess.run(
        [sys.executable, "-m", "grader", "check", "01", str(kernel), "--device", "virtual"],
        cwd=bundle,
        env={**os.environ, "COURSE_CACHE": str(default_cache().root)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert "Correctness: PASSED" in answer.stdout, answer.stderr
    assert str(REPOSITORY) not in answer.stdout
    assert build_engine(bundle / "common" / "virtual_gpu").engine == engine


def test_a_folder_with_something_in_it_is_left_alone(bundle):
    with pytest.raises(CourseError, match="exists already and is not empty"):
        write_bundle(bundle)
