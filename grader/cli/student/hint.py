"""`./course hint NN`: open the exercise's next hint; they come one at a time."""

from __future__ import annotations

import json

from common.core.errors import CourseError
from grader.cli import options as shared
from grader.cli.parser import Parser
from grader.course import student
from grader.spec import Exercise, registry
from grader.words.text import wrapped


def main(arguments: list[str]) -> int:
    parser = Parser("./course hint", __doc__)
    shared.add_exercise(parser)
    shared.add_json(parser)
    parser.add_argument("--again", action="store_true", help="repeat the hints opened so far")
    options = parser.parse_args(arguments)
    exercise = registry.find(options.exercise)
    if not exercise.hints:
        raise CourseError(f"{exercise.id} has no hints")
    opened = _opened(student.read_state(exercise, "hints"), len(exercise.hints))
    if options.again:
        if opened == 0:
            raise CourseError(f"no hint of {exercise.id} is open yet: leave out --again")
        chosen = range(opened)
    else:
        chosen = range(opened, min(opened + 1, len(exercise.hints)))
        student.write_state(exercise, "hints", {"opened": max(opened, chosen.stop)})
    print(_as_json(exercise, chosen) if options.json else _as_text(exercise, chosen))
    return 0


def _as_json(exercise: Exercise, chosen: range) -> str:
    hints = [{"number": index + 1, "text": exercise.hints[index]} for index in chosen]
    return json.dumps({"exercise": exercise.id, "of": len(exercise.hints), "hints": hints}, indent=1)


def _as_text(exercise: Exercise, chosen: range) -> str:
    total = len(exercise.hints)
    if not chosen:
        all_open = "The only hint is open" if total == 1 else f"All {total} hints are open"
        return f"{all_open}; `./course hint {exercise.number} --again` shows what is open."
    return "\n".join(f"Hint {i + 1} of {total}:\n{wrapped(exercise.hints[i], '  ')}" for i in chosen)


def _opened(state: dict[str, object], most: int) -> int:
    """How many hints are open, within limits: a state file may have been edited."""
    opened = state.get("opened", 0)
    return min(max(opened, 0), most) if isinstance(opened, int) else 0
