"""Submissions in Python, from the file to its points, for the one exercise that takes them. May import what
the pipeline imports, and the stages themselves."""
