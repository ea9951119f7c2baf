"""`run_file("name.cu")`: a small CUDA program on the virtual GPU, with findings and counters, in a cell."""

from __future__ import annotations

from pathlib import Path

from common.core.errors import CourseError
from grader.notebook.lab import shown_or_error
from grader.notebook.progress import line
from grader.notebook.rpc import call_grader
from grader.notebook.views.display import Display

_MOST_SECONDS = 60.0


def run_file(file: str, show: str = "sectors") -> Display:
    """Build and run a program; `show` is the measure that colours its source, as in Lab.profile."""

    def ran() -> Display:
        from grader.notebook.views.line_costs import MEASURES
        from grader.notebook.views.program_view import ProgramView

        if show not in MEASURES:
            raise CourseError(f"show is one of {', '.join(map(repr, MEASURES))}, not {show!r}")
        folder = Path.cwd()
        if not (folder / file).is_file():
            raise CourseError(f"there is no {file} in {folder}: run the cell that writes it first")
        with line(f"running {file}") as progress:
            found = call_grader("run", {"file": str(file), "seconds": _MOST_SECONDS}, folder, progress.update)
        return ProgramView(found, show)

    return shown_or_error(ran)
