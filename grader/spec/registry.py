"""Finds the exercises: every folder of `exercises/` with an exercise.py is one."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import sys
import traceback
import types
from pathlib import Path

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.spec import Exercise
from grader.spec.names import is_named
from grader.spec.source_lines import line_of
from grader.spec.validate import problems

EXERCISES = REPOSITORY / "exercises"
SOLUTIONS = REPOSITORY / "solutions"
_FILE = "exercise.py"


def exercise_folders() -> list[Path]:
    return sorted(path.parent for path in EXERCISES.glob(f"*/{_FILE}"))


def package_of(folder: Path) -> str:
    """The package name for a folder's files. A loaded package of that name from elsewhere is dropped."""
    package = f"exercise_{folder.name}"
    known = sys.modules.get(package)
    if known is None or list(known.__path__) != [str(folder)]:
        for name in [name for name in sys.modules if name.startswith(f"{package}.")]:
            del sys.modules[name]
        sys.modules[package] = module = types.ModuleType(package)
        module.__path__ = [str(folder)]
    return package


@functools.cache
def load(folder: Path) -> Exercise:
    """The exercise of a folder, with its paths filled in. Its files may import each other as `.name`."""
    exercise = _imported(folder)
    if not isinstance(exercise, Exercise):
        raise BadExercise(f"{folder / _FILE}:1: `exercise` is {exercise!r} where an Exercise was expected")
    if wrong := list(problems(exercise)):
        raise BadExercise(
            "\n".join(f"{line_of(folder / _FILE, name)}: {name} {what}" for name, what in wrong)
        )
    return dataclasses.replace(exercise, folder=folder, solution=SOLUTIONS / folder.name / "kernel.cu")


class BadExercise(CourseError):
    """An exercise that cannot be used: a line for each mistake, with its file and line."""


def _imported(folder: Path) -> object:
    file = folder / _FILE
    try:
        return importlib.import_module(f"{package_of(folder)}.exercise").exercise
    except SyntaxError as problem:
        raise BadExercise(f"{problem.filename}:{problem.lineno}: {problem.msg}") from problem
    except AttributeError as problem:
        if problem.name != "exercise":
            raise BadExercise(_where_it_failed(folder, problem)) from problem
        raise BadExercise(f"{file}:1: the file defines no `exercise`: exercise = Exercise(…)") from problem
    except (Exception, SystemExit) as problem:  # of an instructor's file: anything
        raise BadExercise(_where_it_failed(folder, problem)) from problem


def _where_it_failed(folder: Path, problem: BaseException) -> str:
    """The innermost line of the exercise's own files, and the error."""
    frames = traceback.extract_tb(problem.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    place = f"{own[-1].filename}:{own[-1].lineno}" if own else f"{folder / _FILE}:1"
    return f"{place}: {type(problem).__name__}: {problem}"


def all_exercises() -> list[Exercise]:
    """Those that can be used. The mistakes of others are printed once, and they are left out."""
    found = []
    for folder in exercise_folders():
        try:
            found.append(load(folder))
        except BadExercise as problem:
            _say_once(str(problem))
    return found


def bad_exercises() -> dict[str, str]:
    """The mistakes in exercises that cannot be used, by folder."""
    found = {}
    for folder in exercise_folders():
        try:
            load(folder)
        except BadExercise as problem:
            found[folder.name] = str(problem)
    return found


@functools.cache
def _say_once(mistakes: str) -> None:
    print(f"note: an exercise is left out because of mistakes in it:\n{mistakes}", file=sys.stderr)


def find(text: str) -> Exercise:
    """By number ("01", "1"), by name ("kv_store") or by the folder's name ("01_kv_store")."""
    for folder in exercise_folders():
        if is_named(folder.name, text):
            return load(folder)
    known = ", ".join(folder.name for folder in exercise_folders()) or "none yet"
    introduction = ". The introduction is a notebook: ./course notebook 00" if text in ("0", "00") else ""
    raise CourseError(f"there is no exercise {text!r}; the exercises are {known}{introduction}")
