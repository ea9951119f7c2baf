"""What a student calls in a notebook's cell: `from grader.notebook import Lab`, then `lab = Lab("01")`."""

from grader.notebook.lab import Lab

__all__ = ["Lab"]
