"""Reads what ptxas made of a kernel: its instructions, and where in the PTX they come from. May import
the core alone."""
