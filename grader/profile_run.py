"""One call of a file on the virtual GPU, with everything the engine counts: what `profile` shows."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from common.errors import CourseError
from common.virtual_gpu.render import render_findings
from common.virtual_gpu.report import Report
from grader import seeds
from grader.device.virtual import MEASURING, VirtualSession
from grader.libraries import compile_submission
from grader.random_inputs import Random
from grader.render.text import harmless
from grader.spec import Case, Exercise
from grader.stages.correctness import CALL_SECONDS

_ADVICE = "`./course check {}` finds the smallest case that fails; mend that before you look for speed"


def profile(exercise: Exercise, source: Path, case: Case) -> Report:
    """The report of one call. Raises CourseError with a sentence when it cannot be built or run."""
    with TemporaryDirectory(prefix="profile-") as scratch:
        built = compile_submission(source, "virtual", Path(scratch))
        call = exercise.inputs(case.size, Random(seeds.derive("profile", case.name)))
        with VirtualSession(built.path("virtual"), options=MEASURING, resources=built.registers) as session:
            outcome = session.run(exercise.entry, call, CALL_SECONDS)
    if not outcome.ok:
        # The findings name the line; a profile of a call that failed would mislead.
        seen = harmless(render_findings(outcome.report.findings)).rstrip()
        raise CourseError("\n".join(filter(None, (outcome.message, seen, _ADVICE.format(exercise.number)))))
    return outcome.report
