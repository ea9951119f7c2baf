"""Times measured on a GPU: interleaved with the baseline, and checked by a second clock. May import the other
modules of `grader.timing`."""
