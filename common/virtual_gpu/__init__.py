"""The virtual GPU: unmodified CUDA programs on a CPU, with checks and counters. May import the
core, the build, the walls and the worker; nothing of a real GPU."""
