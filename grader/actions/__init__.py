"""What a verb does, as functions that anyone may call: command lines, notebooks, nbgrader, tests. May import
everything but those front ends, and nothing that draws."""
