"""Known mistakes without a kernel: each makes its answer, and the comparison must name it."""

from __future__ import annotations

from grader.answers.compare import answer, difference
from grader.spec import Exercise
from grader.spec.random_inputs import Random


def must_be_named(exercise: Exercise, words: str, step: str, cases: tuple[str, ...]) -> None:
    """The mistake whose name begins with these words, in cases of a step, or of the whole for ""."""
    task = next((one for one in exercise.steps if one.name == step), exercise)
    assert (task is exercise) == (step == "")
    (name,) = (one for one in task.known_mistakes if one.startswith(words))
    for wanted_case in cases:
        (case,) = (one for one in task.cases if one.name == wanted_case)
        call = task.inputs(case.size, Random("a mistake"))
        wanted = answer(task, case.size, call)
        after = {buffer: tensor.clone() for buffer, tensor in call.kept.items()}
        task.known_mistakes[name](case.size, after)
        found = difference(task, case.size, call, wanted, after)
        assert found is not None, case.name
        assert f"It looks like this: {name}" in found.message
