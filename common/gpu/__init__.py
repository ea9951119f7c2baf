"""A real GPU, as the harness uses it: memory shared with a worker, clocks, one user at a time."""
