"""Plain `nbgrader …` in this folder works on the class in work/class; see docs/teaching.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from grader.nbgrader.class_folder import default_folder
from grader.nbgrader.config import configure

configure(get_config(), default_folder().root)  # type: ignore[name-defined]  # noqa: F821
