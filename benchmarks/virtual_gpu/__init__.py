"""The virtual GPU held against an H200, program by program: its answers, its counters, its findings."""
