"""What a student calls in a notebook's cell: `from grader.notebook import Lab`, then `lab = Lab("01")`.

`run_file("name.cu")` runs a program with a main() of its own on the virtual GPU. May import
the actions, the labs, the questions and what renders; nothing of the command line or nbgrader.
"""

from grader.notebook.lab import Lab
from grader.notebook.program import run_file

__all__ = ["Lab", "run_file"]
