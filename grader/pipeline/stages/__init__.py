"""The stages of a grading, one module each: build, steps, correctness, checks, mechanism, speed, points. A
stage imports how things are judged, and of other stages their results alone."""
