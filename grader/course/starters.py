"""Makes starters from solutions: each region marked as solution becomes the TODO that asks for it.

    // BEGIN SOLUTION  TODO 2: wait for this thread's copies
    // TODO: one wait is enough for K and V together.
    // STARTER: (void)stage;
    __pipeline_wait_prior(0);
    // END SOLUTION

becomes

    // TODO 2: wait for this thread's copies
    // one wait is enough for K and V together.
    (void)stage;
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from common.core.errors import CourseError

_BEGIN = re.compile(r"^(?P<indent>\s*)//\s*BEGIN SOLUTION\b(?P<todo>.*)$")
_END = re.compile(r"^\s*//\s*END SOLUTION\s*$")
_MORE = re.compile(r"^\s*//\s*TODO:(?P<text>.*)$")
_KEPT = re.compile(r"^(?P<indent>\s*)//\s*STARTER:\s?(?P<code>.*)$")
_MARKED = re.compile(r"\b(?:BEGIN|END) SOLUTION\b")
_TODO = re.compile(r"//\s*(?P<text>TODO\b.*)$")
_NUMBER = re.compile(r"TODO (\d+)")
_COMMENT = re.compile(r"//\s*(?P<text>\S.*)$")
_MORE_LINES = 3  # lines that are read to the end of a task's sentence


@dataclass(frozen=True)
class Todo:
    """A task that is still in a file."""

    line: int
    text: str


@dataclass
class _Region:
    """The region that is being read."""

    begun: int
    indent: str
    more_text: bool = True  # until the first line that is not `// TODO:`


def starter_text(solution: str, name: str = "the solution") -> str:
    """The starter of a solution's text; `name` is for error messages about misplaced marks."""
    made: list[str] = []
    region: _Region | None = None
    for number, line in enumerate(solution.split("\n"), 1):
        if begin := _BEGIN.match(line):
            if region is not None:
                raise _misplaced(name, number, f"a region begins inside the one of line {region.begun}")
            todo = begin["todo"].strip()
            if not todo.startswith("TODO"):
                raise _misplaced(name, number, "BEGIN SOLUTION must be followed by its task: TODO 1: …")
            region = _Region(number, begin["indent"])
            made.append(f"{region.indent}// {todo}")
        elif _END.match(line):
            if region is None:
                raise _misplaced(name, number, "END SOLUTION without a BEGIN SOLUTION before it")
            region = None
        elif _MARKED.search(line):
            raise _misplaced(name, number, "the mark must be alone after // on its line")
        elif region is None:
            made.append(line)
        else:
            made += _of_region(region, line)
    if region is not None:
        raise _misplaced(name, region.begun, "this region has no END SOLUTION")
    return "\n".join(made)


def gaps(solution: str, name: str = "the solution") -> list[range]:
    """The lines of each region, counted from 1, without its marks and the tasks that follow the first."""
    starter_text(solution, name)  # reports misplaced marks
    found: list[range] = []
    begun = 0
    for number, line in enumerate(solution.split("\n"), 1):
        if _BEGIN.match(line):
            begun = number + 1
        elif _END.match(line):
            found.append(range(begun, number))
        elif begun == number and (_MORE.match(line) or _KEPT.match(line)):
            begun = number + 1
    return found


def todo_numbers(solution: str) -> dict[int, int]:
    """Of every line inside a region the number of its task."""
    found = {}
    number = None
    for line_number, line in enumerate(solution.split("\n"), 1):
        if begin := _BEGIN.match(line):
            number = _NUMBER.search(begin["todo"])
        elif _END.match(line):
            number = None
        elif number:
            found[line_number] = int(number[1])
    return found


def _of_region(region: _Region, line: str) -> list[str]:
    """The starter's lines for one line of a region."""
    if kept := _KEPT.match(line):
        region.more_text = False
        return [(kept["indent"] + kept["code"]).rstrip()]
    more = _MORE.match(line) if region.more_text else None
    region.more_text = more is not None
    return [f"{region.indent}// {more['text'].strip()}".rstrip()] if more else []


def _misplaced(name: str, line: int, what: str) -> CourseError:
    return CourseError(
        f"{name}:{line}: {what}. A region runs from // BEGIN SOLUTION TODO n: text to // END SOLUTION"
    )


def open_todos(text: str, step: int | None = None) -> list[Todo]:
    """The tasks that a file still names, with their lines; with `step`, those of that number alone. A
    solution has its own in comments, done."""
    lines = text.split("\n")
    done = todo_numbers(text)
    found = ((number, _TODO.search(line)) for number, line in enumerate(lines, 1) if number not in done)
    todos = [Todo(number, _sentence(match, lines[number:])) for number, match in found if match]
    return [todo for todo in todos if step is None or _step_of(todo) in (None, step)]


def _step_of(todo: Todo) -> int | None:
    """The number of the task; None for a task without one."""
    number = _NUMBER.search(todo.text.partition(":")[0])
    return int(number[1]) if number else None


def _sentence(todo: re.Match[str], below: Sequence[str]) -> str:
    """A task's text to the end of a sentence, with the comment's next lines if needed."""
    said = todo["text"].strip()
    for line in below[:_MORE_LINES]:
        more = _COMMENT.match(line, todo.start()) if not line[: todo.start()].strip() else None
        if said.endswith((".", "?", "!")) or not more or more["text"].startswith("TODO"):
            break
        said = f"{said} {more['text'].strip()}"
    return said


def is_untouched(text: str, starter: str) -> bool:
    """Whether a file is still the starter, but for blank space and line endings."""
    return text.split() == starter.split()


def difference(solution: Path, starter: Path) -> str:
    """How the starter on disk differs from the one its solution makes; empty when it does not."""
    wanted = starter_text(solution.read_text(), str(solution))
    there = starter.read_text() if starter.exists() else ""
    lines = difflib.unified_diff(
        there.splitlines(keepends=True),
        wanted.splitlines(keepends=True),
        str(starter),
        f"made from {solution}",
    )
    return "".join(lines)
