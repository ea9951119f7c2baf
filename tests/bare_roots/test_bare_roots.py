"""From nothing to a graded kernel on minimal Debians: a clone, a student bundle, and the container's steps.

Logs, with times and sizes, are left in work/bare_roots/.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from common.core.paths import REPOSITORY
from grader.course import jupyter_kernel
from grader.nbgrader.bundle import write_bundle
from tests.bare_roots.debian import Root, Spent

LOGS = REPOSITORY / "work" / "bare_roots"
DEBIANS = {"12": "bookworm", "13": "trixie"}
NOTEBOOK = json.dumps(
    {
        "cells": [
            {
                "cell_type": "code",
                "execution_count": None,
                "id": "where",
                "metadata": {},
                "outputs": [],
                "source": "import grader; print(grader.__path__)",
            }
        ],
        "metadata": {"kernelspec": jupyter_kernel.SPEC},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
)
CHECK = "./course check 01 solutions/01_kv_store/kernel.cu"


def clone(root: Root, place: str = "course") -> None:
    target = root.folder / place
    subprocess.run(["git", "clone", "--quiet", str(REPOSITORY), str(target)], check=True)


def fetched(spent: Spent) -> set[str]:
    """The packages that pip installed, by name."""
    lines = re.findall(r"^Successfully installed (.*)$", spent.of_pip, re.MULTILINE)
    return {word.rpartition("-")[0] for line in lines for word in line.split()}


def complaints(check: Spent) -> list[str]:
    """Of `pip check`. Some of NVIDIA's wheels for aarch64 name their platform as pip does not know it."""
    lines = check.output.splitlines() if check.status else []
    return [line for line in lines if not re.match(r"nvidia-\S+ \S+ is not supported on this platform", line)]


@pytest.fixture
def folder(tmp_path):
    """A root is of several GB: none is kept after its test."""
    yield tmp_path / "root"
    shutil.rmtree(tmp_path / "root", ignore_errors=True)


@pytest.mark.parametrize("debian", DEBIANS)
def test_a_clone_grades_the_reference(folder, debian):
    root = Root(folder, DEBIANS[debian])
    clone(root)
    try:
        doctor = root.run("./course doctor", cwd="/course")
        assert doctor.status == 0, doctor.output[-3000:]
        assert "nothing essential is missing" in doctor.output
        assert "from NVIDIA's wheels" in doctor.output, "a bare root has no nvcc of its own"
        assert not {"mypy", "ruff", "pytest", "optuna", "nbgrader"} & fetched(doctor)
        check = root.run(CHECK, cwd="/course")
        assert check.status == 0, check.output[-3000:]
        assert fetched(check) == set(), "all was there after the first command"
        sound = root.run(".venv/bin/python -m pip check", cwd="/course")
        assert complaints(sound) == []
        (root.folder / "elsewhere").mkdir()
        (root.folder / "elsewhere" / "note.ipynb").write_text(NOTEBOOK)
        run = root.run("/course/.venv/bin/jupyter execute --inplace note.ipynb", cwd="/elsewhere")
        assert run.status == 0, run.output
        assert "/course/grader" in (root.folder / "elsewhere" / "note.ipynb").read_text()
    finally:
        root.write_log(LOGS / f"debian-{debian}.log")


@pytest.mark.parametrize("with_engine", [False, True], ids=["as it is", "with its engine"])
def test_a_student_bundle_from_nothing_to_the_first_check(folder, with_engine):
    """The starter, touched and still wrong: the answer is its first failing case, with exit status 1."""
    root = Root(folder, DEBIANS["12"])
    write_bundle(root.folder / "bundle", with_engine=with_engine)
    try:
        start = root.run("./course start 01", cwd="/bundle", pip_cache=False)
        assert start.status == 0, start.output[-3000:]
        assert not {"mypy", "ruff", "pytest", "optuna", "nbgrader", "playwright"} & fetched(start)
        with (root.folder / "bundle" / "work" / "01_kv_store" / "kernel.cu").open("a") as kernel:
            kernel.write("// Mine.\n")
        check = root.run("./course check 01", cwd="/bundle", pip_cache=False)
        assert check.status == 1, check.output[-3000:]
        assert "Nothing was written" in check.output
        assert ("building the virtual GPU" in check.output) is not with_engine
    finally:
        root.write_log(LOGS / f"student-bundle{'-with-engine' if with_engine else ''}.log")


def container_steps() -> list[str]:
    text = (REPOSITORY / "Containerfile").read_text().replace("\\\n", " ")
    return [line.removeprefix("RUN ") for line in text.splitlines() if line.startswith("RUN ")]


def devcontainer_steps() -> list[str]:
    settings = json.loads((REPOSITORY / ".devcontainer" / "devcontainer.json").read_text())
    return [settings["onCreateCommand"], settings["postCreateCommand"]]


@pytest.mark.parametrize("steps", [container_steps, devcontainer_steps])
def test_the_containers_steps_set_the_course_up(folder, steps):
    root = Root(folder, DEBIANS["13"], packages=())
    clone(root)
    try:
        for step in steps():
            done = root.run(step, cwd="/course")
            assert done.status == 0, done.output[-3000:]
        assert "100" in done.output, "the last step grades the references"
    finally:
        root.write_log(LOGS / f"{steps.__name__}.log")
