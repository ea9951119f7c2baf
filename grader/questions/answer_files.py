"""Reads the files that students answer in. Every problem is one sentence: the file, its line if known, what
was expected and what to do."""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from grader.questions.student_code import line_of
from grader.words.text import one_line

_MOST_BYTES = 1 << 20  # ordinary files have hundreds or thousands
_FORM = 'write answers as `name = 0.75` or `name = "word"`, with a digit before the point'


def read_text(path: Path, remedy: str) -> str:
    """`remedy` is how to get a good file."""
    try:
        if not path.exists():
            raise CourseError(f"there is no {path}: {remedy}")
        if not path.is_file():
            raise CourseError(f"{path} is a folder or a device, not a text file: {remedy}")
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as problem:
        raise CourseError(f"{path} cannot be read ({problem.strerror}): {remedy}") from problem
    if len(data) > _MOST_BYTES:
        raise CourseError(f"{path} has more than {_MOST_BYTES:,} bytes, but needs a few hundred: {remedy}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        reason = f"{path}:{line}: this is not UTF-8 text: save it as UTF-8, or {remedy}"
        raise CourseError(reason) from problem


def read_answers(path: Path, starter: Path) -> dict[str, Any]:
    """The answers as TOML has them. `starter` is the file to copy and fill in."""
    text = read_text(path, f"copy {starter} and fill it in")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", str(problem))
        place, what = (f"{path}:{found[2]}:{found[3]}", found[1]) if found else (str(path), str(problem))
        raise CourseError(f"{place}: this is not TOML ({one_line(what)}): {_FORM}") from problem
    except (ValueError, RecursionError) as problem:  # thousands of digits, thousands of brackets
        raise CourseError(f"{path}: a value in it is too long for an answer: {_FORM}") from problem


def read_functions(path: Path, starter: Path) -> dict[str, Any]:
    """The names that a student's Python file defines; the file is run."""
    read_text(path, f"copy {starter} and fix it")
    try:
        return runpy.run_path(str(path), run_name=path.stem)
    except Exception as problem:
        said = problem.msg if isinstance(problem, SyntaxError) else str(problem)
        reason = one_line(f"{type(problem).__name__}: {said}")
        line = line_of(problem, str(path))
        place = f"{path}:{line}" if line else str(path)
        raise CourseError(f"{place}: Python stops here ({reason}): fix that first") from problem


def read_measurement(path: Path, remedy: str) -> Any:
    text = read_text(path, remedy)
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        place = f"{path}:{problem.lineno}:{problem.colno}"
        raise CourseError(f"{place}: this is not JSON ({problem.msg}): {remedy}") from problem
    except (ValueError, RecursionError) as problem:
        raise CourseError(f"{path}: this is too large for a measurement: {remedy}") from problem
