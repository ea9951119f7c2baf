"""Submissions in Python: a worker that imports them, and the walls around it."""
