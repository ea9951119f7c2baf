"""Small edits of a solution, graded as submissions are, to see what an exercise's cases do not catch.

Imports the class run, the pipeline and the course's texts; nothing that draws.
"""
