"""A class in a temporary folder, with an exercise that nothing has to be compiled for."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from grader import registry, student
from grader.nbgrader import class_folder
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.class_grading import Graded, autograde, handed_in, make_assignments
from grader.nbgrader.kernels import class_run
from tests.nbgrader.small_course import FIRST, GRADER, make_course
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

    def autograde(self, **how: object) -> dict[str, Graded]:
        run = class_run(self.folder, device="virtual", jobs=2, grader=GRADER, **how)  # type: ignore[arg-type]
        graded = autograde(self.folder, run, handed_in(self.folder, [FIRST]))
        return {one.student: one for one in graded}

    def autograded(self, name: str) -> NotebookNode:
        path = self.folder.root / "autograded" / name / FIRST / f"{FIRST}.ipynb"
        return nbformat.read(path, as_version=4)


@pytest.fixture(scope="module")
def small_class(tmp_path_factory: pytest.TempPathFactory):
    """One class a module: nbgrader takes a second to make a gradebook."""
    root = tmp_path_factory.mktemp("course")
    with pytest.MonkeyPatch.context() as patch:
        make_course(root)
        patch.setattr(registry, "EXERCISES", root / "exercises")
        patch.setattr(registry, "SOLUTIONS", root / "solutions")
        patch.setattr(student, "WORK", root / "work")
        patch.setattr(class_folder, "NOTEBOOKS", root / "notebooks")
        write_tiny_notebook(registry.find(FIRST), root / "notebooks")
        folder = ClassFolder(root / "class")
        make_assignments(folder, [FIRST])
        yield SmallClass(folder)
