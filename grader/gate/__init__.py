"""Decides whether a kernel may replace the baseline, by measurements and criteria, with reasons."""
