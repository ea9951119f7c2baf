"""What a verb does, as functions for command lines, notebooks, nbgrader and tests. May import everything but
those front ends, and nothing that renders."""
