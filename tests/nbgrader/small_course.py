"""An exercise with predictions, graded by a stand-in."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

from grader.course import student
from grader.nbgrader import class_folder
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.class_grading import Graded, autograde, handed_in
from grader.nbgrader.kernels import class_run
from grader.spec import registry
from tests.grader import fake_pipeline
from tests.nbgrader.stand_in import GRADER

FIRST = "01_first"
SEED = fake_pipeline.SEED

_SPEC = textwrap.dedent(
    '''
    """An exercise for tests."""

    from grader.spec.question import Counted, Factor, Question
    from grader.spec import Exact, Exercise, Points, Speedup, case

    exercise = Exercise(
        title="The first exercise",
        entry="first",
        inputs=lambda size, rng: None,
        reference=lambda size, buffers: None,
        compare=Exact(),
        cases=(case("one token", tokens=1),),
        hidden=lambda rng: (),
        bench=(case("64 tokens", tokens=64),),
        bytes_moved=lambda size: size.tokens * 4096,
        mechanisms=(),
        targets=(Speedup(cases=("64 tokens",), passing=1.15, full=1.4),),
        points=Points(correct=5, clean=0, mechanism=0, speed=5),
        predictions=(
            Question("launches", "launches in a call", Factor(1.0, 1.0), Counted("launches", "64 tokens")),
            Question("bytes", "bytes written", Factor(1.0, 4.0), Counted("bytes_written", "64 tokens")),
        ),
    )
    '''
)


def make_course(root: Path) -> None:
    folder, solutions = root / "exercises" / FIRST, root / "solutions" / FIRST
    folder.mkdir(parents=True)
    solutions.mkdir(parents=True)
    (folder / "exercise.py").write_text(_SPEC)
    (folder / "kernel.cu").write_text("// wrong: the starter\n")
    (solutions / "kernel.cu").write_text("// the secret of the solution\n")


def use_course(root: Path, put: Callable[[object, str, Path], None] = setattr) -> None:
    """Make it the course of this process."""
    put(registry, "EXERCISES", root / "exercises")
    put(registry, "SOLUTIONS", root / "solutions")
    put(student, "WORK", root / "work")
    put(class_folder, "NOTEBOOKS", root / "notebooks")


def autograde_class(folder: ClassFolder) -> list[Graded]:
    run = class_run(folder, device="virtual", jobs=2, grader=GRADER)
    return autograde(folder, run, handed_in(folder, [FIRST]))


if __name__ == "__main__":  # a run that can be killed
    use_course(Path(sys.argv[1]))
    autograde_class(ClassFolder(Path(sys.argv[1]) / "class"))
