"""The zip that Gradescope makes an autograder from, for one exercise.

setup.sh, run_autograder     Gradescope's two scripts
autograder.json              the exercise, and who sees what
course/                      the student bundle: it can grade, and has no solutions
grades/.secret               draws the hidden cases, the same for every submission

https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

from common.core.errors import CourseError
from common.core.files import write_whole
from common.core.paths import REPOSITORY
from grader.building.scratch_folder import scratch_folder
from grader.classes.class_run import SECRET
from grader.nbgrader.bundle import write_bundle
from grader.render.gradescope import Visibility
from grader.spec import Exercise, seeds

_SCRIPTS = Path(__file__).parent / "for_gradescope"
_ABOUT = "autograder.json"


@dataclass(frozen=True)
class Autograder:
    """What an instructor chose when the zip was made."""

    exercise: str
    visibility: Visibility = "visible"
    hidden_cases: Visibility = "visible"
    leaderboard: bool = False


@dataclass(frozen=True)
class Folders:
    """Gradescope's folders below its root, which is /autograder."""

    root: Path

    @property
    def source(self) -> Path:
        return self.root / "source"

    @property
    def submission(self) -> Path:
        return self.root / "submission"

    @property
    def results(self) -> Path:
        return self.root / "results" / "results.json"

    @property
    def grades(self) -> Path:
        return self.source / "grades"

    def autograder(self) -> Autograder:
        path = self.source / _ABOUT
        try:
            found = Autograder(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError) as problem:
            raise CourseError(
                f"{path} cannot be read: {problem}. `./course gradescope NN` makes the zip that has it."
            ) from problem
        for name in (found.visibility, found.hidden_cases):
            if name not in get_args(Visibility):
                raise CourseError(f"{path}: {name!r} is not one of {', '.join(get_args(Visibility))}")
        return found


def write_autograder(
    exercise: Exercise, path: Path, chosen: Autograder, *, secret: str = "", with_engine: bool = False
) -> int:
    """Write the zip; returns how many files it has. `secret` is the class's, else a new one."""
    if path.exists():
        raise CourseError(f"{path} exists already: name another file, or remove it")
    with scratch_folder() as scratch:
        write_bundle(scratch / "course", with_engine=with_engine)
        settings = REPOSITORY / "course.toml"
        if settings.is_file():
            shutil.copyfile(settings, scratch / "course" / settings.name)
        for script in ("setup.sh", "run_autograder"):
            shutil.copy2(_SCRIPTS / script, scratch / script)
        (scratch / _ABOUT).write_text(json.dumps(asdict(chosen), indent=1) + "\n")
        write_whole(scratch / "grades" / SECRET, secret or seeds.fresh(), private=True)
        files = sorted(file for file in scratch.rglob("*") if file.is_file())
        try:
            path.touch(mode=0o600, exist_ok=False)  # it has the secret
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as made:
                for file in files:
                    made.write(file, file.relative_to(scratch))
        except OSError as problem:
            raise CourseError(f"{path} cannot be written: {problem.strerror}") from problem
    return len(files)
