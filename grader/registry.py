"""Finds the exercises: every folder of `exercises/` with an exercise.py is one."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import sys
import types
from pathlib import Path

from common.cache import REPOSITORY
from common.errors import CourseError
from grader.spec import Exercise

EXERCISES = REPOSITORY / "exercises"
SOLUTIONS = REPOSITORY / "solutions"


def exercise_folders() -> list[Path]:
    return sorted(path.parent for path in EXERCISES.glob("*/exercise.py"))


@functools.cache
def load(folder: Path) -> Exercise:
    """The exercise of a folder, with its paths filled in. Its files may import each other as `.name`."""
    package = f"exercise_{folder.name}"
    sys.modules[package] = module = types.ModuleType(package)
    module.__path__ = [str(folder)]
    exercise: Exercise = importlib.import_module(f"{package}.exercise").exercise
    return dataclasses.replace(exercise, folder=folder, solution=SOLUTIONS / folder.name / "kernel.cu")


def all_exercises() -> list[Exercise]:
    return [load(folder) for folder in exercise_folders()]


def find(text: str) -> Exercise:
    """By number ("01", "1"), by name ("kv_store") or by the folder's name ("01_kv_store")."""
    wanted = text.strip().rstrip("/").lower()
    for folder in exercise_folders():
        number, _, name = folder.name.partition("_")
        if wanted in (folder.name, name, number, number.lstrip("0")):
            return load(folder)
    known = ", ".join(folder.name for folder in exercise_folders()) or "none yet"
    raise CourseError(f"there is no exercise {text!r}; the exercises are {known}")
