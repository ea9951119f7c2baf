"""Sessions on a CUDA device: its memory, CUDA graphs and clocks. May import the rest of `grader.devices`."""
