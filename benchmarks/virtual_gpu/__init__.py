"""The virtual GPU compared with an H200, program by program: its answers, its counters, its findings."""
