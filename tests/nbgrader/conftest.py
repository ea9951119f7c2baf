"""A class in a temporary folder, with an exercise that nothing has to be compiled for."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.class_grading import Graded, make_assignments
from grader.spec import registry
from tests.nbgrader.small_course import FIRST, autograde_class, make_course, use_course
from tests.nbgrader.tiny_notebook import write_tiny_notebook


class SmallClass:
    """What a test does with a class, in words."""

    def __init__(self, folder: ClassFolder) -> None:
        self.folder = folder

    @property
    def released(self) -> NotebookNode:
        return nbformat.read(self.folder.release / FIRST / f"{FIRST}.ipynb", as_version=4)

    def hand_in(
        self, name: str, notebook: NotebookNode | bytes | None, kernel: str | None = "// fine"
    ) -> Path:
        place = self.folder.handed_in(name, FIRST)
        place.mkdir(parents=True)
        if isinstance(notebook, bytes):
            (place / f"{FIRST}.ipynb").write_bytes(notebook)
        elif notebook is not None:
            # Not by nbformat, which mends some of what is wrong with a notebook.
            (place / f"{FIRST}.ipynb").write_text(json.dumps(notebook))
        if kernel is not None:
            (place / "kernel.cu").write_text(kernel)
        return place

    def autograde(self) -> dict[str, Graded]:
        return {one.student: one for one in autograde_class(self.folder)}

    def autograded(self, name: str) -> NotebookNode:
        path = self.folder.root / "autograded" / name / FIRST / f"{FIRST}.ipynb"
        return nbformat.read(path, as_version=4)


@pytest.fixture(scope="session", autouse=True)
def one_version_of_the_database() -> Iterator[None]:
    """nbgrader starts a process to ask which version its database has, for every class that is made."""
    import nbgrader.api

    with pytest.MonkeyPatch.context() as patch:
        asked_once = functools.cache(nbgrader.api.get_alembic_version)
        patch.setattr(nbgrader.api, "get_alembic_version", asked_once)
        yield


@pytest.fixture(scope="module")
def small_class(tmp_path_factory: pytest.TempPathFactory):
    """One class per module: nbgrader takes a second to make a gradebook."""
    root = tmp_path_factory.mktemp("course")
    with pytest.MonkeyPatch.context() as patch:
        make_course(root)
        use_course(root, patch.setattr)
        write_tiny_notebook(registry.find(FIRST), root / "notebooks")
        folder = ClassFolder(root / "class")
        make_assignments(folder, [FIRST])
        yield SmallClass(folder)
