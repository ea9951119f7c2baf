"""Attention forward on a GPU: the steps of exercise 05 and its two kernels beside torch's, and decoding."""
