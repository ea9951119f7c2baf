"""Checks an exercise when it is found: every field, case, target, point and hint. A mistake in an exercise.py
is a sentence with its line, not a traceback in the middle of a grading."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, get_args

from common.build.architecture import is_architecture
from grader.spec.case import Case
from grader.spec.comparison import Comparison
from grader.spec.exercise import Exercise, PythonTrack, Step
from grader.spec.question import Answer, Counted, Question, Sheet
from grader.spec.target import BASELINE, CopyBandwidth, HostTime, Points, Speedup, Target, TimingProtocol

# A field, with numbers for the elements of tuples ("targets[1].passing"), and what is wrong with it.
Problem = tuple[str, str]

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ROUNDING = 1e-9


def problems(exercise: Exercise) -> Iterator[Problem]:
    """All that is wrong with it; nothing where it can be used."""
    yield from _text("title", exercise.title)
    yield from _task("", exercise)
    yield from _cases("bench", exercise.bench)
    yield from _moved("", exercise)
    yield from _points(exercise)
    for place, target in _each("targets", exercise.targets):
        yield from _target(place, target, exercise)
    yield from _shares(exercise)
    for place, hint in _each("hints", exercise.hints):
        yield from _text(place, hint)
    yield from _hint_is_one_text(exercise.hints)
    for name in ("alternatives", "yardsticks"):
        yield from _functions(name, getattr(exercise, name))
    yield from _rivals(exercise)
    if exercise.baseline_case is not None:
        yield from _callable("baseline_case", exercise.baseline_case)
    yield from _steps(exercise)
    yield from _questions("predictions", exercise.predictions, exercise)
    for place, sheet in _each("sheets", exercise.sheets):
        if not isinstance(sheet, Sheet):
            yield place, f"is {sheet!r} where a Sheet was expected"
        else:
            yield from _questions(f"{place}.questions", sheet.questions, exercise)
    yield from _python(exercise.python)
    if exercise.arch is not None and not is_architecture(exercise.arch):
        yield "arch", f"is {exercise.arch!r} where an architecture was expected, such as 'sm_90a'"


def _task(prefix: str, task: Exercise | Step) -> Iterator[Problem]:
    """What an exercise and its steps have in common."""
    yield from _identifier(f"{prefix}entry", task.entry)
    for name in ("inputs", "reference", "hidden"):
        yield from _callable(f"{prefix}{name}", getattr(task, name))
    yield from _comparison(f"{prefix}compare", task.compare)
    yield from _cases(f"{prefix}cases", task.cases, least=1)
    yield from _functions(f"{prefix}known_mistakes", task.known_mistakes)
    yield from _mechanisms(f"{prefix}mechanisms", task.mechanisms)
    names = ("mechanism_case", "blocks_share") if isinstance(task, Exercise) else ("blocks_share",)
    for name in names:
        if chosen := getattr(task, name):
            yield from _known(f"{prefix}{name}", [chosen], _names(task.cases), "cases")
    if isinstance(task, Exercise):
        more = task.more_mechanism_cases
        yield from _known(f"{prefix}more_mechanism_cases", more, _names(task.cases), "cases")


def _points(exercise: Exercise) -> Iterator[Problem]:
    points = exercise.points
    if not isinstance(points, Points):
        yield "points", f"is {points!r} where Points(correct=…, clean=…, mechanism=…, speed=…) was expected"
        return
    for name, value in vars(points).items():
        yield from _number(f"points.{name}", value, "of at least 0", lambda number: number >= 0)
    if _is_number(points.speed) and points.speed > 0 and not exercise.targets:
        yield "points.speed", f"is {points.speed:g}, but the exercise has no targets: nobody could earn them"
    if _is_number(points.mechanism) and points.mechanism > 0 and not exercise.mechanisms:
        yield "points.mechanism", f"is {points.mechanism:g}, but the exercise has no mechanisms"
    if all(map(_is_number, vars(points).values())) and points.total <= 0:
        yield "points", "add up to 0: no submission could earn anything"


def _target(place: str, target: Target, exercise: Exercise) -> Iterator[Problem]:
    if isinstance(target, Speedup):
        yield from _speedup(place, target, exercise)
    elif isinstance(target, CopyBandwidth):
        yield from _copy_bandwidth(place, target, exercise)
    elif isinstance(target, HostTime):
        yield from _known(f"{place}.cases", target.cases, _names(exercise.bench), "bench cases")
        yield from _known(f"{place}.against", [target.against], exercise.rivals, "alternatives")
        yield from _number(f"{place}.at_most", target.at_most, "above 0", lambda number: number > 0)
    else:
        yield place, f"is {target!r} where one of {_words(Target)} was expected"
        return
    yield from _number(f"{place}.share", target.share, "above 0 and up to 1", lambda share: 0 < share <= 1)


def _speedup(place: str, target: Speedup, exercise: Exercise) -> Iterator[Problem]:
    yield from _known(f"{place}.cases", target.cases, _names(exercise.bench), "bench cases")
    if not target.cases:
        yield f"{place}.cases", "is empty: a speedup is the mean over at least one bench case"
    numbers = ("passing", "full", "least_each")
    wrong = [
        found
        for name in numbers
        for found in _number(f"{place}.{name}", getattr(target, name), "above 0", lambda number: number > 0)
    ]
    yield from wrong
    if not wrong and target.passing > target.full:
        yield (
            f"{place}.passing",
            f"is {target.passing:g}, above full = {target.full:g}: the pass mark is the lower of the two",
        )
    if target.protocol not in get_args(TimingProtocol):
        yield f"{place}.protocol", f"is {target.protocol!r}; it may be {_listed(get_args(TimingProtocol))}"
    if target.against != BASELINE:
        yield from _known(
            f"{place}.against", [target.against], exercise.rivals, "alternatives and yardsticks"
        )
    yield from _mechanisms(f"{place}.structure", target.structure)


def _copy_bandwidth(place: str, target: CopyBandwidth, exercise: Exercise) -> Iterator[Problem]:
    steps = {step.entry: step for step in exercise.steps if isinstance(step, Step)}
    if target.step and target.step not in steps:
        yield from _known(f"{place}.step", [target.step], steps, "entries of steps")
    else:
        cases = steps[target.step].bench if target.step else exercise.bench
        yield from _known(f"{place}.case", [target.case], _names(cases), "bench cases")
    yield from _number(f"{place}.fraction", target.fraction, "above 0", lambda number: number > 0)


def _shares(exercise: Exercise) -> Iterator[Problem]:
    shares = [getattr(target, "share", None) for target in _elements(exercise.targets)]
    if shares and all(map(_is_number, shares)) and abs(sum(shares) - 1) > _ROUNDING:  # type: ignore[arg-type]
        added = " + ".join(f"{share:g}" for share in shares)
        yield "targets", f"have the shares {added} of the points for speed, which must add up to 1"


def _steps(exercise: Exercise) -> Iterator[Problem]:
    taken = set(vars(exercise.points)) if isinstance(exercise.points, Points) else set()
    entries, steps = {exercise.entry}, list(_each("steps", exercise.steps))
    for place, step in steps:
        if not isinstance(step, Step):
            yield place, f"is {step!r} where a Step was expected"
            continue
        yield from _text(f"{place}.name", step.name)
        if step.name in taken:
            yield f"{place}.name", f"is {step.name!r}, which another part of the points has already"
        if step.entry in entries:
            yield f"{place}.entry", f"is {step.entry!r}, which is an entry already"
        taken.add(step.name)
        entries.add(step.entry)
        yield from _task(f"{place}.", step)
        yield from _cases(f"{place}.bench", step.bench)
        yield from _number(f"{place}.points", step.points, "above 0", lambda number: number > 0)
        if step.bench:
            yield from _moved(f"{place}.", step)


def _moved(prefix: str, task: Exercise | Step) -> Iterator[Problem]:
    place = f"{prefix}bytes_moved"
    if not callable(task.bytes_moved):
        yield place, f"is {task.bytes_moved!r} where a function was expected"
        return
    for case in _elements(task.bench):
        if not isinstance(case, Case):
            return
        try:
            found = task.bytes_moved(case.size)
        except Exception as problem:  # of an instructor's function
            yield place, f"fails for the case {case.name!r}: {problem}"
            return
        if not _is_number(found) or found < 0:
            yield place, f"is {found!r} for the case {case.name!r} where a number of bytes was expected"
            return


def _questions(place: str, questions: Any, exercise: Exercise) -> Iterator[Problem]:
    for where, question in _each(place, questions):
        if not isinstance(question, Question):
            yield where, f"is {question!r} where a Question was expected"
            continue
        yield from _text(f"{where}.name", question.name)
        yield from _text(f"{where}.ask", question.ask)
        if not isinstance(question.answer, get_args(Answer)):
            yield f"{where}.answer", f"is {question.answer!r} where one of {_words(Answer)} was expected"
        if isinstance(question.truth, Counted):
            yield from _known(f"{where}.truth", [question.truth.case], _names(exercise.bench), "bench cases")
        yield from _number(f"{where}.points", question.points, "of at least 0", lambda number: number >= 0)
    asked = [one.name for one in _elements(questions) if isinstance(one, Question)]
    yield from _repeated(place, asked, "questions")
    yield from _a_tuple(place, questions)


def _python(track: PythonTrack | None) -> Iterator[Problem]:
    if track is None:
        return
    if not isinstance(track, PythonTrack):
        yield "python", f"is {track!r} where a PythonTrack was expected"
        return
    yield from _identifier("python.function", track.function)
    for place, name in _each("python.arguments", track.arguments):
        yield from _identifier(place, name)


def _rivals(exercise: Exercise) -> Iterator[Problem]:
    if not isinstance(exercise.alternatives, Mapping) or not isinstance(exercise.yardsticks, Mapping):
        return
    for name in exercise.yardsticks:
        if name in exercise.alternatives:
            yield "yardsticks", f"has {name!r}, which is an alternative already"
    if BASELINE in exercise.rivals:
        yield "alternatives", f"has {BASELINE!r}, which is the exercise's baseline.cu"


def _cases(place: str, cases: Any, least: int = 0) -> Iterator[Problem]:
    yield from _a_tuple(place, cases)
    found = list(_each(place, cases))
    if isinstance(cases, tuple) and len(found) < least:
        yield place, "is empty: an exercise needs at least one case"
    for where, case in found:
        if not isinstance(case, Case):
            yield where, f"is {case!r} where a case was expected: case(name, size=…)"
            continue
        yield from _text(f"{where}.name", case.name)
        for size, value in case.sizes.items():
            if isinstance(value, bool) or not isinstance(value, int):
                yield where, f"has the size {size} = {value!r} where a whole number was expected"
    yield from _repeated(place, _names(cases), "cases")


def _mechanisms(place: str, mechanisms: Any) -> Iterator[Problem]:
    yield from _a_tuple(place, mechanisms)
    for where, mechanism in _each(place, mechanisms):
        if not isinstance(getattr(mechanism, "name", None), str) or not callable(
            getattr(mechanism, "look", None)
        ):
            yield where, f"is {mechanism!r} where a mechanism was expected (grader/spec/mechanisms.py)"
        else:
            yield from _fields(where, mechanism)


def _fields(place: str, made: Any) -> Iterator[Problem]:
    """Those of a dataclass whose type is a plain one or a function's."""
    for field in dataclasses.fields(made) if dataclasses.is_dataclass(made) else ():
        value, kind = getattr(made, field.name), str(field.type)
        if kind == "int" and (not _is_number(value) or not isinstance(value, int)):
            yield f"{place}.{field.name}", f"is {value!r} where a whole number was expected"
        elif kind == "float" and not _is_number(value):
            yield f"{place}.{field.name}", f"is {value!r} where a number was expected"
        elif kind == "str" and not isinstance(value, str):
            yield f"{place}.{field.name}", f"is {value!r} where a text was expected"
        elif kind.startswith("Callable"):
            yield from _callable(f"{place}.{field.name}", value)


def _comparison(place: str, compare: Any) -> Iterator[Problem]:
    if not isinstance(compare, get_args(Comparison)):
        yield place, f"is {compare!r} where one of {_words(Comparison)} was expected, as {_instance(compare)}"
        return
    for name, value in vars(compare).items():
        if name == "cancelling":
            yield from _a_tuple(f"{place}.{name}", value)
        else:
            yield from _number(f"{place}.{name}", value, "of at least 0", lambda number: number >= 0)


def _instance(compare: Any) -> str:
    return f"{compare.__name__}()" if isinstance(compare, type) else "Exact()"


def _hint_is_one_text(hints: Any) -> Iterator[Problem]:
    if isinstance(hints, str):
        yield "hints", "is one text where a tuple was expected: a comma behind it makes a tuple"
    else:
        yield from _a_tuple("hints", hints)


def _functions(place: str, functions: Any) -> Iterator[Problem]:
    if not isinstance(functions, Mapping):
        yield place, f"is {functions!r} where names with functions were expected: {{name: function}}"
        return
    for name, function in functions.items():
        if not isinstance(name, str) or not name.strip() or not callable(function):
            yield place, f"has {name!r}: {function!r} where a name with a function was expected"


def _known(place: str, names: Any, known: Iterable[str], what: str) -> Iterator[Problem]:
    there = list(known)
    if isinstance(names, str):
        yield place, f"is the text {names!r} where a tuple of names was expected: ({names!r},)"
        return
    for name in names:
        if name not in there:
            yield place, f"names {name!r}; the {what} are {', '.join(map(repr, there)) or 'none'}"


def _repeated(place: str, names: Iterable[str], what: str) -> Iterator[Problem]:
    for name, count in Counter(names).items():
        if count > 1:
            yield place, f"has {count} {what} with the name {name!r}: names are how records tell them apart"


def _number(place: str, value: Any, words: str, fits: Callable[[float], bool]) -> Iterator[Problem]:
    if not _is_number(value) or not fits(value):
        yield place, f"is {value!r} where a number {words} was expected"


def _text(place: str, value: Any) -> Iterator[Problem]:
    if not isinstance(value, str) or not value.strip():
        yield place, f"is {value!r} where a text was expected"


def _identifier(place: str, value: Any) -> Iterator[Problem]:
    if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value):
        yield place, f"is {value!r} where a function's name was expected: letters, digits and _"


def _callable(place: str, value: Any) -> Iterator[Problem]:
    if not callable(value):
        yield place, f"is {value!r} where a function was expected"


def _a_tuple(place: str, value: Any) -> Iterator[Problem]:
    if not isinstance(value, tuple):
        yield place, f"is a {type(value).__name__} where a tuple was expected: (…, …)"


def _each(place: str, values: Any) -> Iterator[tuple[str, Any]]:
    for number, value in enumerate(_elements(values)):
        yield f"{place}[{number}]", value


def _elements(values: Any) -> Iterable[Any]:
    return values if isinstance(values, tuple | list) else ()


def _names(cases: Any) -> list[str]:
    return [case.name for case in _elements(cases) if isinstance(case, Case)]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _words(kinds: Any) -> str:
    return _listed([kind.__name__ for kind in get_args(kinds)])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
