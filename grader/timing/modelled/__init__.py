"""Times from the cost model, and its margin of error. May import the other modules of `grader.timing`."""
