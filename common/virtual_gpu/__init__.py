"""The virtual GPU: unmodified CUDA programs on a CPU, with checks and counters."""
