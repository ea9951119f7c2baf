"""Sessions on a CUDA device: its memory, CUDA graphs and clocks. May import the other modules of
`grader.devices`."""
