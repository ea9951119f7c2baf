"""Finds the exercises: every folder of `exercises/` with an exercise.py is one."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import sys
import types
from pathlib import Path

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.spec import Exercise
from grader.spec.names import is_named

EXERCISES = REPOSITORY / "exercises"
SOLUTIONS = REPOSITORY / "solutions"


def exercise_folders() -> list[Path]:
    return sorted(path.parent for path in EXERCISES.glob("*/exercise.py"))


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
    exercise: Exercise = importlib.import_module(f"{package_of(folder)}.exercise").exercise
    return dataclasses.replace(exercise, folder=folder, solution=SOLUTIONS / folder.name / "kernel.cu")


def all_exercises() -> list[Exercise]:
    return [load(folder) for folder in exercise_folders()]


def find(text: str) -> Exercise:
    """By number ("01", "1"), by name ("kv_store") or by the folder's name ("01_kv_store")."""
    for folder in exercise_folders():
        if is_named(folder.name, text):
            return load(folder)
    known = ", ".join(folder.name for folder in exercise_folders()) or "none yet"
    raise CourseError(f"there is no exercise {text!r}; the exercises are {known}")
