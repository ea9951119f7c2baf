"""Sessions on a CUDA device: its memory, CUDA graphs and clocks. May import what `grader.devices` holds."""
