"""Small edits of a solution, graded as submissions are, to see what an exercise's cases do not catch.

May import the pipeline, the course and the build of a submission; nothing that draws.
"""
