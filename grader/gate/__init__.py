"""Acceptance: may a kernel take the place of the one it was written to replace? Measurements, criteria and a
verdict with reasons."""
