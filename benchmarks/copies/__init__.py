"""Exercises 02 and 03: the choices of a copy kernel, and what a fused copy saves in a whole decoding step."""
