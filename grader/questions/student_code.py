"""The line of a student's Python file that an exception comes from."""

from __future__ import annotations

import traceback


def line_of(problem: BaseException, file: str) -> int | None:
    """The last line of `file` that ran, or the one that cannot be parsed; None where it is in other files."""
    if isinstance(problem, SyntaxError) and problem.filename == file:
        return problem.lineno
    frames = traceback.extract_tb(problem.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == file), None)
