"""Attention for Hopper: exercise 06 beside exercise 05 and torch's own kernels."""
