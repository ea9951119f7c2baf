"""The lab of faulty kernels in a notebook: run them or a fixed copy of one, and keep the sheet of answers.

from grader.notebook.post_mortem import PostMortem
seven = PostMortem("05")

seven.words()           # the words that answers are written in
seven.run()             # every kernel: answers, findings at their lines, figures
seven.run("mine.cu")    # a fixed copy
seven.sheet()           # answers.toml beside the notebook, as it is filled in so far
"""

from __future__ import annotations

from pathlib import Path

from common.core.errors import CourseError
from grader.lab.lab import find_lab
from grader.lab.sheet import questions
from grader.notebook.lab import LabError, shown_or_error
from grader.notebook.progress import line
from grader.notebook.rpc import call_grader
from grader.notebook.views.answers_view import Answers
from grader.notebook.views.display import Display
from grader.notebook.views.post_mortem_view import Runs, Words
from grader.questions.answer_files import read_answers
from grader.questions.grading import grade
from grader.spec import registry

SHEET = "answers.toml"


class PostMortem:
    """An exercise's lab, and the student's sheet for it in the notebook's folder."""

    def __init__(self, exercise: str) -> None:
        try:
            self._exercise = registry.find(str(exercise))
            self._lab = find_lab(self._exercise.id)
        except CourseError as problem:
            raise LabError(str(problem)) from None
        self._folder = Path.cwd()

    def __repr__(self) -> str:
        return f"{self._lab.title}: {', '.join(self._lab.kernels)}, in {self._lab.folder}"

    def words(self) -> Display:
        """The faults, some of which are in no kernel, and the kinds of evidence."""
        return Words(self._lab)

    def run(self, file: str | None = None) -> Display:
        """All kernels on the virtual GPU, or the one file that is named."""

        def ran() -> Display:
            if file is not None and not (self._folder / str(file)).is_file():
                raise CourseError(
                    f"there is no {file} in {self._folder}: copy one of the kernels of {self._lab.folder} "
                    "there and fix it"
                )
            order = {"exercise": self._exercise.id, "file": str(file or "")}
            with line("running the lab's kernels" if file is None else f"running {file}") as shown:
                return Runs(call_grader("post mortem", order, self._folder, shown.update)["runs"])

        return shown_or_error(ran)

    def sheet(self) -> Display:
        """Your answers so far, not compared with the key. Makes an empty sheet beside the notebook if there
        is none."""

        def read() -> Display:
            path = self._folder / SHEET
            if not path.exists():
                path.write_bytes(self._lab.sheet.read_bytes())
            results = grade(questions(self._lab), read_answers(path, self._lab.sheet), {})
            given = sum(one.answered for one in results.graded)
            return Answers(f"{path.name}: {given} of {len(results.graded)} answers given", results)

        return shown_or_error(read)
