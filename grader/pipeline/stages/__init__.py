"""The stages of a grading, one module each: build, steps, correctness, checks, mechanism, speed, points. A
stage may import `judging`, and of other stages only their results."""
