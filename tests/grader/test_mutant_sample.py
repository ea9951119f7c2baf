"""A few mutants of every solution, with fresh hidden cases: none keeps all points without a reason on file.

`./course mutants NN` tries them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.actions.mutants import try_all
from grader.classes.class_run import ClassRun
from grader.devices.device import VirtualDevice
from grader.mutants.making import all_mutants, sampled
from grader.mutants.reasons import read_reasons
from grader.mutants.trial import GRADER
from grader.spec import Exercise, registry

SEED, EACH = 3, 2


@pytest.mark.parametrize("exercise", registry.all_exercises(), ids=lambda exercise: exercise.id)
def test_no_mutant_of_the_sample_survives_without_a_reason(exercise: Exercise, tmp_path: Path) -> None:
    chosen = sampled(all_mutants(exercise.solution.read_text()), EACH, SEED)
    run = ClassRun(VirtualDevice().info, {exercise.id: exercise}, tmp_path, jobs=1, grader=GRADER)
    table = try_all(run, exercise, chosen, read_reasons(exercise))
    assert [(one.mutant.line, one.mutant.before, one.mutant.after) for one in table.survivors] == []
