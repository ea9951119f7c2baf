"""Reads what reality_check.py grades: answers.toml, written by hand, and measurement.json.

Either may hold anything at all. Whatever is in the way is told in one sentence: the file, its line where that
is known, what was expected and what to try.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from common.errors import CourseError

from .answers import fits_a_float, problem_of

_MOST_BYTES = 1 << 20  # either file has a few hundred
_FORM = 'write each answer as `launch_us = 0.75` or `decision = "fuse"`, with a digit before the point'
_COPY = "copy answers.toml from exercises/03_batched_copy and fill it in"
_MEASURE = "run reality_check.py without --grade, which writes a whole one"


def read_answers(path: Path) -> dict[str, Any]:
    text = _text(path, remedy=_COPY)
    try:
        answers = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", str(problem))
        place, what = (f"{path}:{found[2]}:{found[3]}", found[1]) if found else (str(path), str(problem))
        raise CourseError(f"{place}: this is not TOML ({what}): {_FORM}") from problem
    except (ValueError, RecursionError) as problem:  # thousands of digits, thousands of brackets
        raise CourseError(f"{path}: this is more than an answer can be: {_FORM}") from problem
    for name, value in answers.items():
        if isinstance(value, int) and not fits_a_float(value):
            where = f"{path}:{_line_of(name, text)}"
            raise CourseError(
                f"{where}: {name} has more digits than a number of microseconds or bytes can: {_FORM}"
            )
    return answers


def read_measurement(path: Path) -> dict[str, Any]:
    text = _text(path, remedy=_MEASURE)
    try:
        measurement = json.loads(text)
    except json.JSONDecodeError as problem:
        raise CourseError(
            f"{path}:{problem.lineno}:{problem.colno}: this is not JSON ({problem.msg}): {_MEASURE}"
        ) from problem
    except (ValueError, RecursionError) as problem:
        raise CourseError(f"{path}: this is more than a measurement can be: {_MEASURE}") from problem
    if told := problem_of(measurement):
        raise CourseError(f"{path}: {told}: {_MEASURE}")
    return dict(measurement)


def _text(path: Path, remedy: str) -> str:
    try:
        if not path.exists():
            raise CourseError(f"there is no {path}: {remedy}")
        if not path.is_file():
            raise CourseError(f"{path} is a folder or a device and no text file: {remedy}")
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as problem:
        raise CourseError(f"{path} cannot be read ({problem.strerror}): {remedy}") from problem
    if len(data) > _MOST_BYTES:
        raise CourseError(f"{path} has more than {_MOST_BYTES:,} bytes, and needs a few hundred: {remedy}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise CourseError(
            f"{path}:{line}: this is not UTF-8 text: save it as UTF-8, or {remedy}"
        ) from problem


def _line_of(name: str, text: str) -> int:
    """Where an answer stands; the first line for a name that is written in an unusual way."""
    found = re.search(rf"^\s*[\"']?{re.escape(name)}[\"']?\s*=", text, re.MULTILINE)
    return text.count("\n", 0, found.end()) + 1 if found else 1
