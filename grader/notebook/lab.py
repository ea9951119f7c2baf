"""An exercise in a notebook. Every answer is shown when it is the last value of a cell.

from grader.notebook import Lab
lab = Lab("01")

lab.check()                     # grades kernel.cu beside the notebook
lab.profile()                   # what each line costs; show="stalls" colours by another measure
lab.timeline()                  # loads beside work, warp by warp
lab.part("correct")             # the points of one part so far
lab.hints()                     # the exercise's hints, folded
lab.predict()                   # what to predict
lab.compare({"launches": 1})    # your numbers beside the counted ones
lab.answers("answers.toml")     # a file of answers beside the notebook, graded
"""

from __future__ import annotations

import hashlib
import numbers as python_numbers
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from grader.classes.submissions import KERNEL
from grader.notebook.progress import line
from grader.notebook.rpc import call_grader
from grader.notebook.views.display import Display, Earning, sentence
from grader.records.device_info import KINDS
from grader.spec import BASELINE, registry

_MINE = "mine"
_FOLLOWED_WARPS = 4  # in a profile, for the share of stalls, and in a timeline: one run serves both
_MOST_WARPS = 16
_MOST_SEEN = 4  # cached runs
_NOTHING: dict[str, dict[str, Any]] = {"values": {}, "missing": {}}


class LabError(CourseError):
    """A notebook shows only its message, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Lab:
    """One exercise and the student's `file` for it, by default `kernel.cu` beside the notebook."""

    def __init__(self, exercise: str, file: str = KERNEL) -> None:
        try:
            self._exercise = registry.find(str(exercise))
        except CourseError as problem:
            raise LabError(str(problem)) from None
        self._folder = Path.cwd()
        self._file = str(file)
        self._checked: tuple[str, Display] | None = None  # the file's digest, and its result
        self._seen_before: dict[tuple[object, ...], Any] = {}  # runs by digest of the file, newest last

    def __repr__(self) -> str:
        return f"{self._exercise.id}: {self._exercise.title}, with {self._file}"

    def check(self, step: int | None = None, device: str | None = None) -> Display:
        """Grade the kernel: build errors, cases, findings at their lines, points. `step` checks one step."""

        def show() -> Display:
            if step is not None and type(step) is not int:
                raise CourseError(f"step is a number, such as step=1, not {step!r}")
            _one_of("device", device, (None, *KINDS))
            return self._check(step, device)

        return shown_or_error(show)

    def part(self, name: str) -> Display:
        """The points of one part: its row of the check of the current kernel.cu."""

        def show() -> Display:
            from grader.notebook.views.part_view import PartView

            part = self._exercise.former_parts.get(name, name)
            _one_of("a part", part, tuple(self._exercise.rubric))
            if self._checked is None or self._checked[0] != self._digest():
                self._check(None, None)
            assert self._checked is not None
            return PartView(part, self._exercise.rubric[part], self._checked[1])

        return shown_or_error(show, Earning)

    def hints(self, number: int | None = None) -> Display:
        """The exercise's hints, each opens by a click; with `number`, only that one."""

        def show() -> Display:
            from grader.notebook.views.hints_view import Hints

            return Hints(self._exercise, number)

        return shown_or_error(show)

    def profile(self, case: str | None = None, show: str = "sectors", of: str = _MINE) -> Display:
        """Run one call on the virtual GPU and count: by line, in total, against the roofline.

        `case` is a bench case, `show` the measure that colours the source, `of` "mine" or "baseline".
        """

        def profiled() -> Display:
            from grader.notebook.views.line_costs import MEASURES
            from grader.notebook.views.profile_view import ProfileView

            _one_of("show", show, tuple(MEASURES))
            return ProfileView(self._seen(case, of, _FOLLOWED_WARPS), show)

        return shown_or_error(profiled)

    def timeline(self, case: str | None = None, warps: int = _FOLLOWED_WARPS, of: str = _MINE) -> Display:
        """Follow a few warps of one block through the model: data in flight, work, and waits."""

        def followed() -> Display:
            from grader.notebook.views.timeline_view import TimelineView

            if type(warps) is not int or not 1 <= warps <= _MOST_WARPS:
                raise CourseError(f"warps is a number from 1 to {_MOST_WARPS}, not {warps!r}")
            return TimelineView(self._seen(case, of, warps), warps)

        return shown_or_error(followed)

    def predict(self) -> Display:
        """What to predict, and an answer cell to start from."""

        def asked() -> Display:
            from grader.notebook.views.answers_view import Questions

            self._must_ask()
            return Questions(self._exercise.predictions)

        return shown_or_error(asked)

    def compare(self, predictions: Mapping[str, object]) -> Display:
        """Your numbers beside counted ones, and measured ones where there is a GPU, with their points."""

        def compared() -> Display:
            from grader.course.settings import choose_device, read_settings
            from grader.notebook.views.answers_view import Answers
            from grader.questions.grading import asked_on, grade
            from grader.render.answers import answers_title

            self._must_ask()
            device = choose_device(None, read_settings())
            asked = self._exercise.predictions
            answers = _plain_numbers(predictions)
            # Quantities without a prediction are not shown, so they need not be counted.
            names = [one.name for one in asked_on(device, asked) if _is_answered(answers, one.name)]
            found = (
                self._call_grader("measure", "predictions", needs_file=False, names=names)
                if names
                else _NOTHING
            )
            results = grade(asked, answers, found["values"], device)
            return Answers(answers_title("Predictions", results), results, found["missing"])

        return shown_or_error(compared, Earning)

    def answers(self, file: str) -> Display:
        """The points for answers in a file beside the notebook: answers.toml, or the functions of a .py."""

        def graded() -> Display:
            from grader.notebook.views.answers_view import Answers
            from grader.questions.sheets import grade_file
            from grader.render.answers import answers_title

            results = grade_file(self._exercise, self._folder / str(file))
            return Answers(answers_title(str(file), results), results)

        return shown_or_error(graded, Earning)

    def _check(self, step: int | None, device: str | None) -> Display:
        from grader.course.starters import Todo
        from grader.notebook.views.check_view import Check, Untouched
        from grader.records.record import Record

        self._must_exist()
        digest = self._digest()
        found = self._call_grader("check", f"checking {self._file}", device=device, step=step)
        todos = [Todo(**todo) for todo in found["todos"]]
        shown: Display
        if found["record"] is None:
            shown = Untouched(self._exercise, todos, self._file)
        else:
            record = Record.from_dict(found["record"])
            shown = Check(self._exercise, record, todos, found["remark"], Path(self._file).name)
        if step is None:
            self._checked = digest, shown
        return shown

    def _digest(self) -> str:
        """The digest of the current file, or of an empty one."""
        try:
            return hashlib.sha256((self._folder / self._file).read_bytes()).hexdigest()
        except OSError:
            return ""

    def _must_exist(self) -> None:
        if not (self._folder / self._file).is_file():
            raise CourseError(f"there is no {self._file} in {self._folder}. {self._way_back()}")

    def _way_back(self) -> str:
        if self._file != KERNEL:
            return "Is it saved under that name?"
        return (
            "Does it have another name, or was the notebook opened from another folder than "
            f"work/{self._exercise.id}/? `./course notebook {self._exercise.number} --only-copy` puts a "
            "missing starter back there."
        )

    def _must_ask(self) -> None:
        if not self._exercise.predictions:
            raise CourseError(f"{self._exercise.id} asks for no predictions")

    def _seen(self, case: str | None, of: str, timeline: int) -> Any:
        from grader.notebook.seen import Seen

        _one_of("of", of, (_MINE, BASELINE))
        if case is not None and not isinstance(case, str):
            raise CourseError(f"case is the name of a bench case, in quotes, not {case!r}")
        needs = of == _MINE
        run = (of, case, timeline, self._digest() if needs else "")
        seen = self._seen_before.pop(run, None)
        if seen is None:
            label = f"profiling {self._file if needs else 'the baseline'}"
            found = self._call_grader("profile", label, needs_file=needs, of=of, case=case, timeline=timeline)
            seen = Seen.from_dict(found)
        self._seen_before[run] = seen
        while len(self._seen_before) > _MOST_SEEN:
            del self._seen_before[next(iter(self._seen_before))]
        return seen

    def _call_grader(
        self, name: str, label: str, *, needs_file: bool = True, **arguments: Any
    ) -> dict[str, Any]:
        if needs_file:
            self._must_exist()
        order = {"exercise": self._exercise.id, "file": self._file, **arguments}
        with line(label) as shown:
            return call_grader(name, order, self._folder, shown.update)


def shown_or_error(make: Callable[[], Display], kind: type[Display] = Display) -> Display:
    """Errors that a student can fix become one sentence, without a traceback."""
    try:
        return make()
    except CourseError as problem:
        return sentence(str(problem), kind)


def _one_of(name: str, value: object, known: tuple[object, ...]) -> None:
    if value not in known:
        raise CourseError(f"{name} is one of {', '.join(repr(one) for one in known)}, not {value!r}")


def _is_answered(answers: object, name: str) -> bool:
    return isinstance(answers, dict) and answers.get(name) not in (None, ...)


def _plain_numbers(predictions: object) -> object:
    """NumPy's numbers count as numbers, too: convert them before they leave the notebook."""
    if not isinstance(predictions, dict):
        return predictions
    return {name: _plain_number(value) for name, value in predictions.items()}


def _plain_number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, python_numbers.Real):
        return value
    return int(value) if isinstance(value, python_numbers.Integral) else float(value)
