"""The folder of a class: nbgrader's layout, and the files that the course adds.

source/./NN_name/          the notebook of notebooks/NN_name and the exercise's starter beside it
release/ submitted/ autograded/ feedback/      nbgrader's own
gradebook.db               unless the settings name another database
exchange/                  where students fetch and submit, unless the settings name another
grades/                    the kernels' records, and what was found about odd submissions
nbgrader_config.py         made once; then the instructor's
term.toml                  the same: due dates, extensions, dropped questions
"""

from __future__ import annotations

import filecmp
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.classes.submissions import KERNEL
from grader.course import student
from grader.spec import registry
from grader.spec.names import is_named

_PRIVATE = 0o700
NOTEBOOKS = REPOSITORY / "notebooks"
_CONFIG = '''"""Settings of this class for `./course nbgrader` and plain `nbgrader` alike. Yours to extend."""

import sys
from pathlib import Path

sys.path.insert(0, {repository!r})
from grader.nbgrader.config import configure

c = get_config()  # noqa: F821
configure(c, Path(__file__).parent)

# c.CourseDirectory.db_url = "postgresql://user@host/gradebook"
# c.Exchange.root = "/srv/nbgrader/exchange"     # a folder that every student can reach
# c.LatePerDay.percent = 10                      # of the points, for each day begun after the due date
'''
_TERM = """\
# Due dates, extensions and dropped questions of this class. `./course nbgrader autograde --dry-run` says what
# a change here changes, `autograde` applies it. What is not here is as the gradebook has it.

# [due]
# 01 = 2030-01-31T23:59:00Z

# [groups]
# tuesday = ["ada", "ben"]

# [[extension]]
# assignment = "01"
# students = ["cleo"]
# groups = ["tuesday"]
# days = 3                     # or weeks, hours, minutes; the longest one of a student counts

# [dropped]
# 01 = ["q-why"]               # cells by their names in nbgrader: they count for nobody
"""


@dataclass(frozen=True)
class ClassFolder:
    root: Path

    @property
    def source(self) -> Path:
        return self.root / "source"

    @property
    def release(self) -> Path:
        return self.root / "release"

    @property
    def submitted(self) -> Path:
        return self.root / "submitted"

    @property
    def autograded(self) -> Path:
        return self.root / "autograded"

    @property
    def exchange(self) -> Path:
        return self.root / "exchange"

    @property
    def grades(self) -> Path:
        return self.root / "grades"

    @property
    def term(self) -> Path:
        return self.root / "term.toml"

    def released(self, assignment: str) -> Path:
        return self.release / assignment / f"{assignment}.ipynb"

    def handed_in(self, name: str, assignment: str) -> Path:
        return self.submitted / name / assignment

    def prepare(self) -> None:
        """Make what is missing, and update source/ to the course's notebooks and starters."""
        try:
            self.root.parent.mkdir(parents=True, exist_ok=True)
            self.root.mkdir(mode=_PRIVATE, exist_ok=True)
            self.keep_private()
            for folder in (self.source, self.submitted, self.grades):
                folder.mkdir(parents=True, exist_ok=True)
            if not self.exchange.exists():
                self.exchange.mkdir()
                self.exchange.chmod(0o777)  # nbgrader requires it: students put their work there
            config = self.root / "nbgrader_config.py"
            if not config.exists():
                config.write_text(_CONFIG.format(repository=str(REPOSITORY)))
            if not self.term.exists():
                self.term.write_text(_TERM)
            for assignment in assignments():
                put_working_copy(assignment, self.source / assignment, replace=True)
        except OSError as problem:
            raise CourseError(
                f"the class folder {self.root} cannot be filled: {problem.strerror} ({problem.filename})"
            ) from problem

    def keep_private(self) -> None:
        """Records and points are nobody else's. A folder with the setgid bit is shared with its group, as
        nbgrader's `groupshared` makes it: that stays."""
        mode = stat.S_IMODE(self.root.stat().st_mode)
        shared = mode & stat.S_ISGID
        others = stat.S_IRWXO if shared else stat.S_IRWXO | stat.S_IRWXG
        if mode & others:
            self.root.chmod(mode & ~others)
        book = self.root / "gradebook.db"
        if not shared and book.is_file() and stat.S_IMODE(book.stat().st_mode) != 0o600:
            book.chmod(0o600)


def default_folder() -> ClassFolder:
    """`COURSE_CLASS`, else work/class."""
    chosen = os.environ.get("COURSE_CLASS")
    return ClassFolder(Path(chosen).absolute() if chosen else student.WORK / "class")


def assignments() -> list[str]:
    """Every folder of notebooks/ that has a notebook with the folder's name."""
    return sorted(path.parent.name for path in NOTEBOOKS.glob("*/*.ipynb") if path.stem == path.parent.name)


def find_assignment(text: str) -> str:
    """By number ("01", "1"), by name ("kv_store") or by the folder's name ("01_kv_store")."""
    for assignment in assignments():
        if is_named(assignment, text):
            return assignment
    known = ", ".join(assignments()) or "none yet"
    raise CourseError(f"there is no notebook {text!r}; the notebooks are {known}")


def put_working_copy(assignment: str, folder: Path, *, replace: bool) -> list[Path]:
    """Copy the notebook, the starter and other files beside the notebook; returns the files written.

    Without `replace`, existing files stay: they are a student's work.
    """
    files = [path for path in sorted((NOTEBOOKS / assignment).iterdir()) if _handed_out(path)]
    starter = registry.EXERCISES / assignment / KERNEL
    written: list[Path] = []
    folder.mkdir(parents=True, exist_ok=True)
    for source in (*files, *([starter] if starter.is_file() else [])):
        target = folder / source.name
        if target.exists() and (not replace or filecmp.cmp(source, target, shallow=False)):
            continue
        shutil.copyfile(source, target)
        written.append(target)
    return written


def _handed_out(path: Path) -> bool:
    """Not files of editors and Jupyter, nor a kernel that was tried there."""
    return path.is_file() and not path.name.startswith(".") and path.name != KERNEL
